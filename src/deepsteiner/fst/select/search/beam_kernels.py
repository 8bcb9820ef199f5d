"""Blocks of a window or region: solved exactly where they are narrow, else by a beam.

The frontier programme of the exact solver keeps every partition of its frontier. Lists full of
ties, as on lattices and drilled boards, have too many of them. A beam keeps only the most
promising ones of each step: what a partition has cost, and what joining its components by
two-terminal trees would cost. What it finds is a tree, and mostly the best one; nothing is proven.
"""

from __future__ import annotations

import numpy as np

from ....core.jit import njit
from ..exact.blocks_kernels import ORDER_TRIES
from ..exact.frontier_kernels import (
    ACTIVE,
    COUNT,
    DEAD,
    DONE,
    STATUS,
    TOO_MANY,
    Progress,
    advance,
    best_closing_order,
    set_out,
    trace_back,
    unconstrained,
)
from ..exact.partition_kernels import SLOTS, detour, list_slots
from ..exact.prune_kernels import incidence, sorted_order
from ..exact.subset_kernels import SUBSET_LIMIT, subset_tree
from ..hypergraph import LEAST, Budget, Distances, Flags, Hypergraph


@njit(cache=True, nogil=True)
def improve_block(
    graph: Hypergraph, distances: Distances, known: float, budget: Budget, picked: Flags
) -> int:
    """Look for a tree of a block that is shorter than a known one, which `picked` holds.

    Returns 1 where there is none, 2 where one was found and picked, 0 where it is not known.
    """
    ceiling, beam = known * (1.0 - LEAST), budget.beam
    if graph.n <= SUBSET_LIMIT:
        found = np.zeros_like(picked)
        if subset_tree(graph, found) < ceiling:
            for f in range(found.size):
                picked[f] = found[f]
            return 2
        return 1
    at = incidence(graph, np.ones(picked.size, np.bool_))
    order, work = best_closing_order(graph, at, ORDER_TRIES, budget.work)
    if work == np.inf or (work > budget.work and beam == 0):
        return 0
    problem = unconstrained(graph, order, distances)
    progress = set_out(problem, at.first[1:] - at.first[:-1], ceiling - problem.prices.sum())
    widest = budget.widest if work <= budget.work else 2 * beam
    thinned = work > budget.work
    progress = advance(problem, progress, np.inf, widest)
    while progress.record[STATUS] == TOO_MANY and beam > 0:
        keep_promising(progress, beam)
        thinned = True
        progress = advance(problem, progress, np.inf, 2 * beam)
    if progress.record[STATUS] == DONE:
        trace_back(progress, picked)
        return 2
    return 1 if progress.record[STATUS] == DEAD and not thinned else 0


@njit(cache=True, nogil=True)
def keep_promising(progress: Progress, beam: int) -> None:
    """Keep the most promising partitions of the last layer, in their order."""
    record, (keys, costs, nodes) = progress.record, progress.layer
    slots, label = list_slots(record[ACTIVE]), np.empty(SLOTS, np.int64)
    count = record[COUNT]
    hope = np.empty(count)
    for c in range(count):
        labels = 0
        for a in range(slots.size):
            s = slots[a]
            label[s] = keys[c] >> (4 * s) & 15
            labels |= 1 << label[s]
        hope[c] = costs[c] + detour(label, labels, slots, progress.near)
    stay = np.zeros(count, np.bool_)
    stay[sorted_order(hope)[:beam]] = True
    kept = 0
    for c in range(count):
        if stay[c]:
            keys[kept], costs[kept], nodes[kept] = keys[c], costs[c], nodes[c]
            kept += 1
    record[COUNT] = kept
