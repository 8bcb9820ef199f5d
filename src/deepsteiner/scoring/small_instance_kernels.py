"""A whole learned solve of a small instance in one call: list, score, drop, choose, unite."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ..core.jit import njit
from ..core.points import Array
from ..fst.enumerate.nearby.gap_kernels import with_trees_across_gaps
from ..fst.enumerate.nearby.ground import TreeList
from ..fst.enumerate.nearby.small_listing_kernels import list_grown
from ..fst.select.exact.blocks_kernels import solve_block, total_length
from ..fst.select.exact.prune_kernels import (
    distances_in_block,
    incidence,
    list_of_block,
    merge_tree,
    own_distances,
    reduce_list,
    sorted_order,
)
from ..fst.select.hypergraph import LEAST, Budget, Hypergraph
from ..fst.select.search.flip_kernels import (
    disturbed_search,
    doubt_order,
    flip_search,
    price_keys,
)
from ..fst.select.search.greedy_kernels import complete, measure, take
from ..fst.select.search.region_kernels import nearby, solve_region
from ..fst.select.search.window_kernels import Selection, by_first_terminal
from ..fst.union_kernels import caterpillar_edges, union
from ..geometry.relax_tree_kernels import put_tree
from ..run.method import TreeRows
from .network_kernels import Savings, scores
from .weights import Weights

# Rounds of greedy picking.
ROUNDS = 4
# How much lower the bar is for edges of the spanning tree.
CAUTION = 4.0
# Trees for each terminal from which on the network has seen nothing like it: lattices full of ties.
CROWDED = 6
# Regions of fewer terminals find nothing that flips do not.
LEAST_PIECE = 9
# Regions of more terminals are often too wide to be solved.
WIDEST_PIECE = 42


class Plan(NamedTuple):
    """What the solve of a small instance may spend.

    largest: the terminals of the largest trees on the list.
    gaps: whether trees across wide gaps come to the list.
    drop: the least logit of a tree that is kept.
    piece: the terminals of the largest piece that is solved exactly.
    work, widest: what that may cost: estimated steps, and partitions of the dynamic programme.
    sweeps: how often all regions are solved.
    pairs: how many pairs of doubtful trees are flipped.
    trials: how often the choice is disturbed.
    """

    largest: int
    gaps: bool
    drop: float
    piece: int
    work: float
    widest: int
    sweeps: int
    pairs: int
    trials: int


@njit(cache=True, nogil=True)
def keep_likely(trees: TreeList, logits: Array, saved: Savings, drop: float) -> Array:
    """Flag the trees to keep: those with a logit of `drop` or more, and enough to span.

    Edges of the spanning tree hold everything together, so their bar is lower by CAUTION; they
    also stay where no kept tree would replace them.
    """
    n, m, start, terminals = trees.points.shape[0], logits.size, trees.start, trees.terminals
    keep, covered = np.zeros(m, np.bool_), np.zeros(n, np.bool_)
    for f in range(n - 1, m):
        if logits[f] >= drop:
            keep[f] = True
            for i in range(saved.first[f], saved.first[f + 1]):
                covered[saved.gone[i]] = True
    for e in range(n - 1):
        keep[e] = logits[e] >= drop - CAUTION or not covered[e]
    order = likely_order(logits)
    parent = np.arange(n)
    for k in range(m):
        f = order[k]
        if (f < n - 1 or keep[f]) and merge_tree(parent, terminals, start[f], start[f + 1]):
            keep[f] = True
    return keep


@njit(cache=True, nogil=True)
def likely_order(logits: Array) -> Array:
    """Return the trees by falling logit."""
    return sorted_order(-logits.astype(np.float64))


@njit(cache=True, nogil=True)
def likely_start(trees: TreeList, logits: Array, keep: Array) -> Array:
    """Pick kept trees greedily by what they save times how likely they are; return the flags."""
    m, graph = trees.length.size, graph_of(trees)
    picked, saving = np.zeros(m, np.bool_), np.empty(m)
    for _ in range(ROUNDS):
        merges = complete(graph, picked)
        measure(graph, picked, merges, saving, 0, m)
        for f in range(m):
            if saving[f] > 0.0:
                saving[f] = saving[f] / (1.0 + math.exp(-logits[f])) if keep[f] else 0.0
        if take(graph, picked, merges, saving) == 0:
            break
    complete(graph, picked)
    return picked


@njit(cache=True, nogil=True)
def graph_of(trees: TreeList) -> Hypergraph:
    """Return a list as kernels that select from it take it."""
    return Hypergraph(trees.points.shape[0], trees.start, trees.terminals, trees.length)


@njit(cache=True, nogil=True)
def region_search(graph: Hypergraph, plan: Plan, now: Array, stop: Array) -> None:
    """Re-solve regions, every terminal in the inner half of one.

    A sweep ends the search where it gained nothing, or once stop[0] is set.
    """
    n, budget = graph.n, Budget(plan.work, plan.widest, 0)
    selection = Selection(graph, by_first_terminal(graph), now)
    at = incidence(graph, np.ones(now.size, np.bool_))
    limit = min(plan.piece, WIDEST_PIECE)
    stamp, members = np.full(n, -1, np.int64), np.empty(n, np.int64)
    local, seen = np.full(n, -1, np.int64), np.zeros(n, np.bool_)
    for sweep in range(plan.sweeps):
        gained = 0.0
        stamp[:], seen[:] = -1, False
        for step in range(n):
            seed = step if sweep % 2 == 0 else n - 1 - step
            if seen[seed] or stop[0] != 0:
                continue
            count = nearby(graph, at, seed, limit, stamp, members)
            for k in range((count + 1) // 2):
                seen[members[k]] = True
            gained += solve_region(selection, members[:count], budget, local)
        if gained == 0.0 and sweep > 0:
            break


@njit(cache=True, nogil=True)
def choose(trees: TreeList, logits: Array, keep: Array, plan: Plan, stop: Array) -> Array:
    """Flag the chosen trees among the kept ones.

    What is left undecided falls into blocks. Small blocks are solved exactly, others are searched.
    Once stop[0] is set, what is left is completed in the first way.
    """
    graph, budget = graph_of(trees), Budget(plan.work, plan.widest, 0)
    begun, chosen = likely_start(trees, logits, keep), np.zeros(logits.size, np.bool_)
    blocks = reduce_list(graph, own_distances(graph, keep), keep, chosen, np.arange(graph.n))
    if blocks.number < 0:
        return begun
    for b in range(blocks.number):
        own = blocks.trees[blocks.first[b] : blocks.first[b + 1]]
        block, now = list_of_block(blocks, b, graph.length), np.zeros(own.size, np.bool_)
        solved = False
        if block.n <= plan.piece and stop[0] == 0:
            solved = solve_block(block, distances_in_block(blocks, b), budget, now)
        if not solved:
            now = begun[own]
            if not search_block(block, logits[own], plan, now, stop):
                return begun
        chosen[own] |= now
    if total_length(graph.length, begun) < total_length(graph.length, chosen):
        return begun
    return chosen


@njit(cache=True, nogil=True)
def search_block(graph: Hypergraph, logits: Array, plan: Plan, now: Array, stop: Array) -> bool:
    """Improve a choice without solving large pieces; False where it can not span.

    Single trees are flipped, regions solved, then pairs flipped and the choice disturbed; where
    that helped, regions are solved again.
    """
    keys = price_keys(graph, logits)
    order, rank = sorted_order(keys), doubt_order(logits)
    total = np.inf
    for turn in range(2):
        if total == np.inf:
            if turn > 0:  # what was begun with holds trees that the reduction ruled out
                now[:] = False
            total = flip_search(graph, order, rank, -1, -1, True, 0, now, stop)
    if total == np.inf:
        return False
    if plan.piece >= LEAST_PIECE:
        region_search(graph, plan, now, stop)
    begun = total_length(graph.length, now)
    gained = begun < total * (1.0 - LEAST)  # or no single flip helps, as before
    total = flip_search(graph, order, rank, -1, -1, gained, plan.pairs, now, stop)
    total = disturbed_search(graph, keys, rank, plan.trials, now, total, stop)
    if plan.piece >= LEAST_PIECE and total < begun * (1.0 - LEAST):
        region_search(graph, plan, now, stop)
    return True


@njit(cache=True, nogil=True)
def is_crowded_list(trees: TreeList) -> bool:
    """Whether the network has seen nothing like this list."""
    return bool(trees.length.size > CROWDED * trees.points.shape[0])


@njit(cache=True, nogil=True)
def decide(trees: TreeList, logits: Array, plan: Plan, stop: Array) -> tuple[Array, Array]:
    """Return Steiner points and edges of the tree chosen from a scored list.

    All edges of the spanning tree stay on the list. Once stop[0] is set it makes haste.
    """
    n = trees.points.shape[0]
    if plan.gaps:
        trees, logits = with_trees_across_gaps(trees, logits)
    keep = logits >= plan.drop
    keep[: n - 1] = True
    chosen = choose(trees, logits, keep, plan, stop)
    edges = caterpillar_edges(trees.start)
    return union(n, trees.start, trees.terminals, trees.steiner, edges, chosen)


@njit(cache=True, nogil=True)
def solve_learned(
    points: Array, weights: Weights, plan: Plan, out: TreeRows, solved: Array, first: int,
    last: int, stop: Array,
) -> None:  # fmt: skip
    """Solve instances first..last-1 of (B, n, 2) points; write whether each was solved.

    A crowded list is left to others. Once stop[0] is set it makes haste: no network, no search.
    """
    for b in range(first, last):
        trees = list_grown(points[b], plan.largest)
        solved[b] = stop[0] != 0 or not is_crowded_list(trees)
        if not solved[b]:
            continue
        logits = np.zeros(trees.length.size, np.float32)
        if stop[0] == 0:
            logits = scores(trees, weights)
        put_tree(out, b, *decide(trees, logits, plan, stop))
