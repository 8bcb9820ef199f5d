"""Violated subtour inequalities where some nodes are optional.

With y_v = 1 for terminals and 0 or 1 for optional nodes, the inequality of a set S and one of its
nodes w reads  sum_F max(0, |F & S| - 1) x_F <= y(S) - y_w.  With d_i the sum of x_F over the trees
at node i, its violation is
    y_w + sum_{i in S} (d_i - y_i) - sum_{F meets S} x_F ,
the same minimum cut problem as in `exact.cutting.separation_kernels`: node i sends d_i - y_i units
through its trees, and a set through w is violated exactly when y_w more units cannot leave w.
"""

from __future__ import annotations

import numpy as np

from ....core.jit import njit
from ...grouping_kernels import grouped
from ..exact.cutting.separation_kernels import (
    Network,
    Search,
    core_network,
    push_flow,
    store_set,
    support_components,
)
from ..exact.cutting.subtour_kernels import Inequalities
from ..hypergraph import Floats, Hypergraph, Ints, Rows

SLACK = 1e-9


@njit(cache=True)
def trim(members: Ints, x: Floats, y: Floats, at: Rows, within: Ints) -> tuple[Ints, float]:
    """Drop nodes whose degree inside the set is at most their y; what is left, and the violation.

    Dropping them does not lower the violation. The first member is w and stays. `within` is
    scratch, zero before and after.
    """
    first, lists = at
    size = members.size
    for v in members:
        for j in range(first[v], first[v + 1]):
            within[lists[j]] += 1
    changed = True
    while changed:
        changed = False
        kept = 1
        for k in range(1, size):
            v = members[k]
            degree = 0.0
            for j in range(first[v], first[v + 1]):
                if within[lists[j]] > 1:
                    degree += x[lists[j]]
            if degree <= y[v] + SLACK:
                changed = True
                for j in range(first[v], first[v + 1]):
                    within[lists[j]] -= 1
            else:
                members[kept] = v
                kept += 1
        size = kept
    violation = 0.0
    for k in range(size):
        v = members[k]
        violation -= y[v] if k > 0 else 0.0
        for j in range(first[v], first[v + 1]):
            f = lists[j]
            violation += x[f] * (within[f] - 1) / within[f]
    for k in range(size):
        v = members[k]
        for j in range(first[v], first[v + 1]):
            within[lists[j]] = 0
    return members[:size], violation


@njit(cache=True)
def most_first(members: Ints, y: Floats) -> None:
    """Move the member with the largest y to the front: the best choice of w.

    Of equal ones the first node: y is 1 at terminals, which come first, whatever else changes.
    """
    for k in range(1, members.size):
        v, w = members[k], members[0]
        if y[v] > y[w] or (y[v] == y[w] and v < w):
            members[0], members[k] = v, w


@njit(cache=True)
def violated_sets(
    graph: Hypergraph, x: Floats, y: Floats, at: Rows, least: float, sets: Rows
) -> int:
    """Collect violated sets of a point (x, y) into `sets`; returns how many.

    When none is returned no inequality is violated by `least` or more.
    """
    n = graph.n
    sets.first[0] = 0
    count = int(np.int64(0))  # a literal 0 would compile callees twice
    label, scratch = np.zeros(n, np.int64), np.zeros(x.size, np.int64)
    part, parts = support_components(graph, x)
    first, members = grouped(part, parts)
    for c in range(parts):
        some = members[first[c] : first[c + 1]]
        most_first(some, y)
        some, violation = trim(some, x, y, at, scratch)
        if some.size > 1 and violation > least:
            count = store_set(some, sets, count, label)
    within = np.zeros(x.size, np.int64)
    degree = np.zeros(n)
    for f in range(x.size):
        if x[f] > 0.0:
            within[f] = graph.start[f + 1] - graph.start[f]
            for k in range(graph.start[f], graph.start[f + 1]):
                degree[graph.terminals[k]] += x[f]
    network = core_network(graph, x, np.ones(n, np.bool_), within)
    search = Search(
        np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n, np.int64),
        np.zeros(n, np.int64), np.zeros(network.room.size, np.int64), np.zeros(1, np.int64),
    )  # fmt: skip
    for extra in range(2):  # all nodes send what they must, then each tries its y more
        for v in range(n):
            amount, used = degree[v] - y[v], network
            if extra == 1:
                amount = y[v]
                used = Network(
                    network.start, network.terminals, network.owner, network.at,
                    network.flow.copy(), network.room.copy(),
                )  # fmt: skip
            sent, reached = push_flow(v, amount, used, search)
            if reached.size > 1 and amount - sent > 0.5 * least:
                some = reached.copy()
                most_first(some, y)  # the set is violated through v, through this node even more
                some, violation = trim(some, x, y, at, scratch)
                if some.size > 1 and violation > least:
                    count = store_set(some, sets, count, label)
    return count


@njit(cache=True)
def set_rows(graph: Hypergraph, at: Rows, column: Ints, sets: Rows, count: int) -> Inequalities:
    """The inequalities of some sets; w is the first member of each.

    column[v] is the column of y_v, -1 for terminals.
    """
    first, lists = at
    within = np.zeros(graph.length.size, np.int64)
    room = 0
    for k in range(sets.first[count]):
        v = sets.items[k]
        room += first[v + 1] - first[v] + 1
    columns, values = np.empty(room, np.int64), np.empty(room)
    start, upper = np.zeros(count + 1, np.int64), np.zeros(count)
    entry = 0
    for c in range(count):
        members = sets.items[sets.first[c] : sets.first[c + 1]]
        for v in members:
            for j in range(first[v], first[v + 1]):
                within[lists[j]] += 1
        for v in members:
            for j in range(first[v], first[v + 1]):
                f = lists[j]
                if within[f] > 1:
                    columns[entry], values[entry] = f, within[f] - 1.0
                    entry += 1
                within[f] = 0
            if v == members[0]:
                continue
            if column[v] < 0:
                upper[c] += 1.0
            else:
                columns[entry], values[entry] = column[v], -1.0
                entry += 1
        start[c + 1] = entry
    lower = np.full(count, -np.inf)
    return Inequalities(start, columns[:entry], values[:entry], lower, upper)
