"""Decide trees locally where some nodes may be left out: `exact.probe_kernels` for such lists.

A region is grown from a terminal, its boundary partitions are compared, and a tree that none of
those uses which may be part of a shortest solution is in none.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ....core.jit import njit
from ..exact.frontier_kernels import COUNT, Closing, closing_order, nothing_closed, reopen
from ..exact.probe_kernels import decide
from ..exact.prune_kernels import incidence
from ..hypergraph import Flags, Floats, Hypergraph, Ints, Rows
from .frontier_kernels import Problem, decide_next, depart, prices_beside_optional


class Probes(NamedTuple):
    """A list and what probes know and find out about it.

    graph, at: the list and its incidence.
    optional: which nodes may be left out.
    special, names: special distances, see `frontier_kernels.Problem`.
    prices: the prices of its terminals.
    room: what a known tree costs beyond all prices; only trees at most as long matter.
    alive: trees that a better solution may use; probes clear what is in none.
    forced: trees that every better solution uses; probes set these.
    settled: nodes well inside a region that was probed, and optional ones: no region begins there.
    closing: what orders are made with; trees that are not alive count as placed.
    number: a number for each node of the region being probed, -1 elsewhere.
    """

    graph: Hypergraph
    at: Rows
    optional: Flags
    special: Floats
    names: Ints
    prices: Floats
    room: float
    alive: Flags
    forced: Flags
    settled: Flags
    closing: Closing
    number: Ints


@njit(cache=True)
def set_up_probes(
    graph: Hypergraph, optional: Flags, special: Floats, names: Ints, ceiling: float, alive: Flags
) -> Probes:
    """Set out to probe the alive trees of a list; a solution as long as the ceiling is known."""
    n = graph.n
    at = incidence(graph, alive)
    prices = prices_beside_optional(graph, optional)
    return Probes(
        graph, at, optional, special, names, prices, ceiling - prices.sum(), alive,
        np.zeros(alive.size, np.bool_), optional.copy(),
        nothing_closed(n, at, alive), np.full(n, -1, np.int64),
    )  # fmt: skip


@njit(cache=True)
def region_of(probes: Probes, count: int) -> tuple[Problem, Ints]:
    """The first trees of the closing order as a problem of their own, and its nodes.

    Nodes are numbered as they are met, trees by their place in the order.
    """
    graph, order, number = probes.graph, probes.closing.order, probes.number
    start = np.zeros(count + 1, np.int64)
    length, forced = np.empty(count), np.empty(count, np.bool_)
    for k in range(count):
        f = order[k]
        start[k + 1] = start[k] + graph.start[f + 1] - graph.start[f]
        length[k], forced[k] = graph.length[f], probes.forced[f]
    members, names = np.empty(start[count], np.int64), np.empty(start[count], np.int64)
    n = 0
    for k in range(count):
        for i in range(start[k + 1] - start[k]):
            v = graph.terminals[graph.start[order[k]] + i]
            if number[v] < 0:
                number[v], names[n] = n, v
                n += 1
            members[start[k] + i] = number[v]
    names = names[:n].copy()
    for v in names:
        number[v] = -1
    problem = Problem(
        Hypergraph(n, start, members, length), np.arange(count), forced, probes.optional[names],
        probes.prices[names], probes.special, probes.names[names],
    )  # fmt: skip
    return problem, names


@njit(cache=True)
def probe_from(probes: Probes, root: int, size: int, most: int) -> int:
    """Grow a region of up to ``size`` trees from a terminal and decide what it can.

    The region ends where a layer has more than ``most`` partitions. Returns how many trees were
    dropped or newly forced, -1 when nothing is at most the ceiling.
    """
    closing = probes.closing
    count, _ = closing_order(probes.graph, probes.at, closing, root, size, np.inf)
    reopen(probes.graph, closing, count, root)
    problem, names = region_of(probes, count)
    left = closing.undecided[names]  # some trees of the last nodes are outside
    unmet = probes.optional.size - probes.optional.sum()
    progress = decide_next(problem, depart(problem, left, probes.room, unmet), np.inf, most)
    if progress.record[COUNT] == 0:
        return -1
    probes.settled[root] = True
    # It reads fields that these have in common with those of `exact`.
    return decide(probes, problem, progress, names)  # type: ignore[arg-type]


@njit(cache=True)
def probe_all(probes: Probes, size: int, most: int, begin: int, limit: int) -> tuple[int, int]:
    """Probe from every terminal that is not settled yet, beginning at ``begin``.

    Stops after ``limit`` probes; returns the node to go on with (n when finished) and the number of
    trees decided (-1 when nothing is at most the ceiling).
    """
    n = probes.graph.n
    total = 0
    done = 0
    for v in range(begin, n):
        if probes.settled[v]:
            continue
        if done == limit:
            return v, total
        done += 1
        decided = probe_from(probes, v, size, most)
        if decided < 0:
            return n, -1
        total += decided
    return n, total
