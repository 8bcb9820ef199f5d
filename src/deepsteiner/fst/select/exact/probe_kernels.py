"""Decide FSTs locally: grow a region, keep its undominated boundary partitions, compare them.

After all FSTs around a terminal have been tried, an FST that no undominated partition uses is in no
better tree, and one that all of them use is needed by every better tree. The idea is ours; it is
the frontier programme stopped early.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from ..hypergraph import Bottlenecks, Flags, Floats, Hypergraph
from .frontier_kernels import COUNT, STEP, Problem, advance, closing_order, set_out
from .prune_kernels import incidence


class Probes(NamedTuple):
    """A list and what probes know and find out about it.

    graph, forest, prices: the list, its bottleneck distances and the prices of its terminals.
    ceiling: the length of a known tree; only trees at most as long matter.
    alive: FSTs that a better tree may use; probes clear what is in none.
    forced: FSTs that every better tree uses; probes set these.
    settled: terminals well inside a region that was probed.
    """

    graph: Hypergraph
    forest: Bottlenecks
    prices: Floats
    ceiling: float
    alive: Flags
    forced: Flags
    settled: Flags


@njit(cache=True)
def probe(probes: Probes, root: int, size: int, most: int) -> int:
    """Grow a region of up to ``size`` FSTs from a terminal and decide what it can.

    The region ends where a layer has more than ``most`` partitions. Returns how many FSTs were
    dropped or newly forced, -1 when nothing is at most the ceiling.
    """
    graph, alive, forced = probes.graph, probes.alive, probes.forced
    at = incidence(graph, alive)
    order = np.empty(graph.length.size, np.int64)
    placed, _ = closing_order(graph, at, root, size, order)
    problem = Problem(graph, order[:placed], forced, probes.forest, probes.prices)
    progress = advance(problem, set_out(problem, at, probes.ceiling), np.inf, most)
    count, steps = progress.record[COUNT], progress.record[STEP]
    if count == 0:
        return -1
    uses = np.zeros(graph.length.size, np.int64)
    for c in range(count):
        node = progress.layer.nodes[c]
        while node >= 0:
            uses[progress.taken[node]] += 1
            node = progress.before[node]
    decided = 0
    for k in range(steps):
        f = order[k]
        if uses[f] == 0:
            alive[f] = False
            decided += 1
        elif uses[f] == count and not forced[f]:
            forced[f] = True
            decided += 1
        if 2 * k < steps:
            for i in range(graph.start[f], graph.start[f + 1]):
                v = graph.terminals[i]
                if progress.left[v] == 0:
                    probes.settled[v] = True
    probes.settled[root] = True
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
