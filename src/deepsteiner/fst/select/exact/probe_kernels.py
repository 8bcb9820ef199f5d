"""Decide FSTs locally: grow a region, keep its undominated boundary partitions, compare them.

After all FSTs around a terminal have been tried, an FST that no undominated partition uses is in no
better tree, and one that all of them use is needed by every better tree. The idea is ours; it is
the frontier programme stopped early.
"""

from typing import NamedTuple

import numpy as np

from ....core.jit import njit
from ...grouping_kernels import grouped
from ..hypergraph import Distances, Flags, Floats, Hypergraph, Ints, Rows
from .frontier_kernels import (
    COUNT,
    STEP,
    Closing,
    Problem,
    Progress,
    advance,
    closing_order,
    nothing_closed,
    reopen,
    set_out,
)
from .prune_kernels import incidence


class Probes(NamedTuple):
    """A list and what probes know and find out about it.

    graph, at: the list and its incidence.
    distances: its bottleneck distances.
    prices: the prices of its terminals.
    room: what a known tree costs beyond all prices; only trees at most as long matter.
    alive: FSTs that a better tree may use; probes clear what is in none.
    forced: FSTs that every better tree uses; probes set these.
    settled: terminals well inside a region that was probed.
    closing: what orders are made with; FSTs that are not alive count as placed.
    number: a number for each terminal of the region being probed, -1 elsewhere.
    """

    graph: Hypergraph
    at: Rows
    distances: Distances
    prices: Floats
    room: float
    alive: Flags
    forced: Flags
    settled: Flags
    closing: Closing
    number: Ints


@njit(cache=True)
def begin_probes(
    graph: Hypergraph, distances: Distances, prices: Floats, ceiling: float, alive: Flags
) -> Probes:
    """Set out to probe the alive FSTs of a list; a tree as long as the ceiling is known."""
    n = graph.n
    at = incidence(graph, alive)
    return Probes(
        graph, at, distances, prices, ceiling - prices.sum(), alive,
        np.zeros(alive.size, np.bool_), np.zeros(n, np.bool_),
        nothing_closed(n, at, alive), np.full(n, -1, np.int64),
    )  # fmt: skip


@njit(cache=True)
def region(probes: Probes, count: int) -> tuple[Problem, Ints]:
    """The first FSTs of the closing order as a problem of their own, and its terminals.

    Terminals are numbered as they are met, FSTs by their place in the order.
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
    near = Distances(probes.distances.forest, probes.distances.names[names])
    problem = Problem(
        Hypergraph(n, start, members, length), np.arange(count), forced, near, probes.prices[names]
    )
    return problem, names


@njit(cache=True)
def probe(probes: Probes, root: int, size: int, most: int) -> int:
    """Grow a region of up to ``size`` FSTs from a terminal and decide what it can.

    The region ends where a layer has more than ``most`` partitions. Returns how many FSTs were
    dropped or newly forced, -1 when nothing is at most the ceiling. Where the region would meet
    terminals that it may not, nothing is done. The time it takes depends on the region, not on the
    list.
    """
    closing = probes.closing
    count, work = closing_order(probes.graph, probes.at, closing, root, size, np.inf)
    reopen(probes.graph, closing, count, root)
    if work == np.inf:
        return 0  # the region would leave what may be met
    problem, names = region(probes, count)
    left = closing.undecided[names]  # some FSTs of the last terminals are outside
    progress = advance(problem, set_out(problem, left, probes.room), np.inf, most)
    if progress.record[COUNT] == 0:
        return -1
    probes.settled[root] = True
    return decide(probes, problem, progress, names)


@njit(cache=True)
def decide(probes: Probes, problem: Problem, progress: Progress, names: Ints) -> int:
    """Drop the FSTs that no partition of a region uses, force those that all use; how many.

    ``names`` are the region's terminals in the list.
    """
    graph, closing = problem.graph, probes.closing
    count, steps = progress.record[COUNT], progress.record[STEP]
    uses = np.zeros(graph.length.size, np.int64)
    for c in range(count):
        node = progress.layer.nodes[c]
        while node >= 0:
            uses[progress.taken[node]] += 1
            node = progress.before[node]
    decided = 0
    for k in range(steps):
        f = closing.order[k]
        inside = 2 * k < steps
        for i in range(graph.start[k], graph.start[k + 1]):
            v = graph.terminals[i]
            if inside and progress.left[v] == 0:
                probes.settled[names[v]] = True
            if uses[k] == 0:
                closing.undecided[names[v]] -= 1
        if uses[k] == 0:
            probes.alive[f], closing.placed[f] = False, True
            decided += 1
        elif uses[k] == count and not probes.forced[f]:
            probes.forced[f] = True
            decided += 1
    return decided


@njit(cache=True)
def probe_everywhere(
    probes: Probes, size: int, most: int, begin: int, limit: int
) -> tuple[int, int]:
    """Probe from every terminal that is not settled yet, beginning at ``begin``.

    Stops after ``limit`` probes; returns the terminal to go on with (n when finished) and the
    number of FSTs decided (-1 when nothing is at most the ceiling).
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
        decided = probe(probes, v, size, most)
        if decided < 0:
            return n, -1
        total += decided
    return n, total


class Parts(NamedTuple):
    """Parts of a list that threads may probe at the same time.

    roots: the terminals of every part from which it is worth probing.
    inside: terminals all of whose FSTs are in one part. A region of such terminals alone shares
        nothing with a region in another part but terminals whose FSTs it leaves alone.
    """

    roots: Rows
    inside: Flags


@njit(cache=True)
def grow_parts(probes: Probes, size: int, turn: int) -> Parts:
    """Parts of up to ``size`` terminals, grown around terminals that are not settled.

    What lies at their borders is for another turn, whose parts begin elsewhere.
    """
    (n, start, terminals, _), alive, settled = probes.graph, probes.alive, probes.settled
    part, queue = np.full(n, -1, np.int64), np.empty(n, np.int64)
    count = 0
    for k in range(n):
        root = k if turn % 2 == 0 else n - 1 - k
        if settled[root] or part[root] >= 0:
            continue
        part[root], queue[0] = count, root
        head, tail = 0, 1
        while head < tail:
            v = queue[head]
            head += 1
            for j in range(probes.at.first[v], probes.at.first[v + 1]):
                f = probes.at.items[j]
                if not alive[f]:
                    continue
                for i in range(start[f], start[f + 1]):
                    u = terminals[i]
                    if part[u] < 0 and tail < size:
                        part[u], queue[tail] = count, u
                        tail += 1
        count += 1
    inside = np.ones(n, np.bool_)
    for f in range(alive.size):
        across = False
        for i in range(start[f], start[f + 1]):
            across |= alive[f] and part[terminals[i]] != part[terminals[start[f]]]
        if across:
            inside[terminals[start[f] : start[f + 1]]] = False
    part[settled | ~inside] = -1
    return Parts(grouped(part, count), inside)


@njit(cache=True, nogil=True)
def probe_part(
    probes: Probes, parts: Parts, size: int, most: int, clock: int, p: int
) -> tuple[int, int]:
    """Probe inside one part; threads may do so in several parts at once.

    What a probe reads and writes belongs to its part, so the outcome does not depend on what is
    done elsewhere meanwhile. Marks of earlier turns are below the ``clock``. Returns the number of
    probes and of FSTs decided (-1 when nothing is at most the ceiling).
    """
    graph, shared = probes.graph, probes.closing
    closing = Closing(
        shared.placed, shared.undecided, shared.touched, shared.marks, np.full(1, clock),
        np.empty(graph.n, np.int64), np.empty(graph.length.size, np.int64), parts.inside,
    )  # fmt: skip
    own = Probes(
        graph, probes.at, probes.distances, probes.prices, probes.room, probes.alive,
        probes.forced, probes.settled, closing, probes.number,
    )  # fmt: skip
    total = 0
    done = 0
    for k in range(parts.roots.first[p], parts.roots.first[p + 1]):
        root = parts.roots.items[k]
        if probes.settled[root]:
            continue
        done += 1
        decided = probe(own, root, size, most)
        if decided < 0:
            return done, -1
        total += decided
    return done, total
