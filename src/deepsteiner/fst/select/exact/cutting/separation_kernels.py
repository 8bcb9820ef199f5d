"""Violated subtour inequalities of fractional points, found exactly by local augmentations.

For a terminal set S the inequality reads  sum_F max(0, |F & S| - 1) x_F <= |S| - 1.  With
d_i = sum of x_F over the FSTs at terminal i its violation is
    1 + sum_{i in S} (d_i - 1) - sum_{F meets S} x_F ,
a minimum cut problem: terminal i sends d_i - 1 units through its FSTs, each of which absorbs x_F. A
set through t is violated exactly when one more unit cannot leave t. The augmenting paths stay near
t, so all terminals together cost little more than one flow. The inequalities are those of Warme
(1998), the reduction to a flow is that of Padberg and Wolsey (1983) for subtours in graphs.
"""

from typing import NamedTuple

import numpy as np

from .....core.jit import njit
from .....core.tree_kernels import find
from ....grouping_kernels import grouped
from ...hypergraph import Flags, Floats, Hypergraph, Ints, Rows
from ..prune_kernels import incidence

FLOW_EPS = 1e-11
DEGREE_EPS = 1e-9


class Network(NamedTuple):
    """The flow network of a congested core. A slot is one pair of an FST and a terminal in it.

    start: the slots of FST f are start[f] to start[f + 1] - 1.
    terminals: the terminal of every slot.
    owner: the FST of every slot.
    at: the slots at every terminal.
    flow: what each slot carries from its terminal to its FST.
    room: what each FST still absorbs.
    """

    start: Ints
    terminals: Ints
    owner: Ints
    at: Rows
    flow: Floats
    room: Floats


class Search(NamedTuple):
    """Scratch of the searches for augmenting paths.

    queue: the terminals reached, in order.
    entered: the slot by which a search entered the FST before a terminal; -1 at the source.
    returned: the slot whose flow it then pushed back to that terminal.
    stamp, tree_stamp: the last search that reached a terminal or an FST.
    clock: in its only entry, the number of the last search.
    """

    queue: Ints
    entered: Ints
    returned: Ints
    stamp: Ints
    tree_stamp: Ints
    clock: Ints


@njit(cache=True)
def support_components(graph: Hypergraph, x: Floats) -> tuple[Ints, int]:
    """Label the components of the terminals under the FSTs with x > 0; also returns how many."""
    n, start, terminals, _ = graph
    parent = np.arange(n)
    for f in range(x.size):
        if x[f] > 0.0:
            a = find(parent, terminals[start[f]])
            for i in range(start[f] + 1, start[f + 1]):
                parent[find(parent, terminals[i])] = a
    count = 0
    label = np.full(n, -1, np.int64)
    for v in range(n):
        r = find(parent, v)
        if label[r] < 0:
            label[r] = count
            count += 1
        label[v] = label[r]
    return label, count


@njit(cache=True)
def trim_set(members: Ints, x: Floats, at: Rows, within: Ints) -> tuple[Ints, float]:
    """Drop terminals whose degree inside the set is at most 1: the violation does not fall.

    ``within`` is scratch, zero per FST before and after. Returns what is left of ``members``, which
    is overwritten, and the violation.
    """
    first, lists = at
    size = members.size
    for k in range(size):
        v = members[k]
        for j in range(first[v], first[v + 1]):
            within[lists[j]] += 1
    changed = True
    while changed:
        changed = False
        kept = 0
        for k in range(size):
            v = members[k]
            degree = 0.0
            for j in range(first[v], first[v + 1]):
                if within[lists[j]] > 1:
                    degree += x[lists[j]]
            if degree <= 1.0 + DEGREE_EPS:
                changed = True
                for j in range(first[v], first[v + 1]):
                    within[lists[j]] -= 1
            else:
                members[kept] = v
                kept += 1
        size = kept
    violation = 1.0 - size
    for k in range(size):
        v = members[k]
        for j in range(first[v], first[v + 1]):
            f = lists[j]
            violation += x[f] * (within[f] - 1) / within[f]
    for k in range(size):
        v = members[k]
        for j in range(first[v], first[v + 1]):
            within[lists[j]] = 0
    return members[:size], violation


@njit(cache=True)
def congested_core(graph: Hypergraph, x: Floats, at: Rows) -> tuple[Flags, Ints]:
    """Peel off terminals of degree at most 1: no violated set needs them.

    Returns which terminals stay and how many of each FST's terminals do (0 where x is 0).
    """
    n, start, terminals, _ = graph
    first, lists = at
    inside = np.ones(n, np.bool_)
    within = np.zeros(x.size, np.int64)
    degree = np.zeros(n)
    stack = np.empty(n, np.int64)
    for f in range(x.size):
        if x[f] > 0.0:
            within[f] = start[f + 1] - start[f]
            for i in range(start[f], start[f + 1]):
                degree[terminals[i]] += x[f]
    height = 0
    for v in range(n):
        if degree[v] <= 1.0 + DEGREE_EPS:
            inside[v] = False
            stack[height] = v
            height += 1
    while height > 0:
        height -= 1
        v = stack[height]
        for j in range(first[v], first[v + 1]):
            f = lists[j]
            if x[f] <= 0.0:
                continue
            within[f] -= 1
            if within[f] != 1:
                continue
            for i in range(start[f], start[f + 1]):  # the one left over loses this FST
                u = terminals[i]
                if inside[u]:
                    degree[u] -= x[f]
                    if degree[u] <= 1.0 + DEGREE_EPS:
                        inside[u] = False
                        stack[height] = u
                        height += 1
    return inside, within


@njit(cache=True)
def core_network(graph: Hypergraph, x: Floats, inside: Flags, within: Ints) -> Network:
    """The flow network of the FSTs with at least two terminals in the core."""
    kept = np.flatnonzero(within > 1)
    start = np.zeros(kept.size + 1, np.int64)
    for k in range(kept.size):
        start[k + 1] = start[k] + within[kept[k]]
    slots = start[kept.size]
    terminals, owner = np.empty(slots, np.int64), np.empty(slots, np.int64)
    slot = 0
    for k in range(kept.size):
        for i in range(graph.start[kept[k]], graph.start[kept[k] + 1]):
            if inside[graph.terminals[i]]:
                terminals[slot] = graph.terminals[i]
                owner[slot] = k
                slot += 1
    at = grouped(terminals, graph.n)
    return Network(start, terminals, owner, at, np.zeros(slots), x[kept])


@njit(cache=True)
def push_flow(source: int, amount: float, network: Network, search: Search) -> tuple[float, Ints]:
    """Send ``amount`` units out of a terminal by shortest augmenting paths (Edmonds, Karp 1972).

    Returns what was sent and the terminals reached by a failed search: the cut set, empty on
    success.
    """
    start, terminals, owner, at, flow, room = network
    queue, entered, returned, stamp, tree_stamp, counter = search
    sent = 0.0
    # Every path fills an FST or empties a slot, more than FLOW_EPS at a time; shortest paths do so
    # at most once for each pair of a terminal and a slot.
    while sent < amount - FLOW_EPS:
        counter[0] += 1
        clock = counter[0]
        head = 0
        tail = 1
        queue[0] = source
        stamp[source] = clock
        entered[source] = -1
        goal = -1
        while head < tail and goal < 0:
            v = queue[head]
            head += 1
            for j in range(at.first[v], at.first[v + 1]):
                slot = at.items[j]
                f = owner[slot]
                if tree_stamp[f] == clock:
                    continue
                tree_stamp[f] = clock
                if room[f] > FLOW_EPS:
                    goal = slot
                    break
                for i in range(start[f], start[f + 1]):
                    u = terminals[i]
                    if stamp[u] != clock and flow[i] > FLOW_EPS:
                        stamp[u] = clock
                        entered[u] = slot
                        returned[u] = i
                        queue[tail] = u
                        tail += 1
        if goal < 0:
            return sent, queue[:tail]
        push = min(amount - sent, room[owner[goal]])
        v = terminals[goal]
        while entered[v] >= 0:
            push = min(push, flow[returned[v]])
            v = terminals[entered[v]]
        room[owner[goal]] -= push
        flow[goal] += push
        v = terminals[goal]
        while entered[v] >= 0:
            flow[returned[v]] -= push
            flow[entered[v]] += push
            v = terminals[entered[v]]
        sent += push
    return sent, queue[:0]


@njit(cache=True)
def store_set(members: Ints, sets: Rows, count: int, label: Ints) -> int:
    """Append a set to the output unless an equal one is there or the output is full.

    ``label`` is scratch, zero per terminal before and after. Returns the new number of sets.
    """
    bounds, items = sets
    low, size = bounds[count], members.size
    if count + 1 >= bounds.size or low + size > items.size:
        return count
    for v in members:
        label[v] = 1
    fresh = True
    for c in range(count):
        if bounds[c + 1] - bounds[c] == size:
            equal = True
            for k in range(bounds[c], bounds[c + 1]):
                if label[items[k]] != 1:
                    equal = False
                    break
            if equal:
                fresh = False
                break
    for v in members:
        label[v] = 0
    if not fresh:
        return count
    for k in range(size):
        items[low + k] = members[k]
    bounds[count + 1] = low + size
    return count + 1


@njit(cache=True)
def violated_sets(graph: Hypergraph, x: Floats, least: float, sets: Rows) -> tuple[int, int]:
    """Collect violated terminal sets of a point x into ``sets``, as many as there is room for.

    Entries of x must be exactly 0 where they mean 0: nothing but the others is looked at. Returns
    the number of sets and how many of them came from disconnected supports. When none is returned
    no subtour inequality is violated by ``least`` or more.
    """
    n = graph.n
    at = incidence(graph, x > 0.0)  # on boards a hundredth of all FSTs
    sets.first[0] = 0
    count = int(np.int64(0))  # a literal 0 would compile callees twice
    label = np.zeros(n, np.int64)
    scratch = np.zeros(x.size, np.int64)
    part, parts = support_components(graph, x)
    if parts > 1:
        first, members = grouped(part, parts)
        for c in range(parts):
            trimmed, violation = trim_set(members[first[c] : first[c + 1]], x, at, scratch)
            if trimmed.size > 1 and violation > least:
                count = store_set(trimmed, sets, count, label)
    from_parts = count
    inside, within = congested_core(graph, x, at)
    network = core_network(graph, x, inside, within)
    _, terminals, owner, slots, flow, room = network
    if room.size == 0:
        return count, from_parts
    degree = np.zeros(n)
    for slot in range(owner.size):
        degree[terminals[slot]] += room[owner[slot]]
    search = Search(
        np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n, np.int64),
        np.zeros(n, np.int64), np.zeros(room.size, np.int64), np.zeros(1, np.int64),
    )  # fmt: skip
    for extra in range(2):  # all terminals send what they must, then each tries one unit more
        for v in range(n):
            if not inside[v]:
                continue
            amount = degree[v] - 1.0
            used = network
            if extra == 1:
                amount = 1.0
                used = Network(network.start, terminals, owner, slots, flow.copy(), room.copy())
            sent, reached = push_flow(v, amount, used, search)
            if reached.size > 1 and amount - sent > 0.5 * least:
                trimmed, violation = trim_set(reached, x, at, scratch)
                if trimmed.size > 1 and violation > least:
                    count = store_set(trimmed, sets, count, label)
    return count, from_parts
