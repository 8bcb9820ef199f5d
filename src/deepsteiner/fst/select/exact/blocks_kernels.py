"""Concatenation without a linear programme: reduce, split into blocks, solve the narrow ones."""

from typing import NamedTuple

import numpy as np

from ....core.jit import njit
from ..hypergraph import STRICT, Budget, Distances, Flags, Floats, Hypergraph, Ints
from .frontier_kernels import (
    DONE,
    STATUS,
    advance,
    best_closing_order,
    set_out,
    trace_back,
    unconstrained,
)
from .prune_kernels import (
    Blocks,
    distances_in_block,
    incidence,
    list_of_block,
    own_distances,
    reduce_list,
)
from .subset_kernels import SUBSET_LIMIT, greedy_tree, share_order, subset_tree

ORDER_TRIES = 4
GENEROUS = Budget(work=1e9, widest=1 << 20)  # seconds, for small instances that hardly need it


class Settled(NamedTuple):
    """A list after its reduction, with its narrow blocks solved.

    blocks: what the reduction left undecided; its number is -1 where the list does not span.
    solved: which of the blocks are solved.
    guess: for every FST of ``blocks.trees`` whether it is in the tree of its block: a shortest one
        where that is solved, a heuristic one (or none) elsewhere.
    """

    blocks: Blocks
    solved: Flags
    guess: Flags


@njit(cache=True)
def total_length(length: Floats, picked: Flags) -> float:
    """Sum of the picked lengths."""
    total = 0.0
    for f in range(length.size):
        if picked[f]:
            total += length[f]
    return total


@njit(cache=True)
def solve_block(graph: Hypergraph, distances: Distances, budget: Budget, picked: Flags) -> bool:
    """Solve one block exactly if it is narrow enough; ``picked`` receives the chosen FSTs.

    When it is not, returns False and ``picked`` holds a heuristic tree.
    """
    if graph.n <= SUBSET_LIMIT:
        return subset_tree(graph, picked) < np.inf  # no tree: others will say so
    at = incidence(graph, np.ones(graph.length.size, np.bool_))
    # A known tree as ceiling must not lose ties to rounding.
    ceiling = greedy_tree(graph, share_order(graph), picked) * STRICT
    order, work = best_closing_order(graph, at, ORDER_TRIES, budget.work)
    if work > budget.work or work == np.inf:
        return False
    problem = unconstrained(graph, order, distances)
    room = ceiling - problem.prices.sum()
    progress = set_out(problem, at.first[1:] - at.first[:-1], room)
    progress = advance(problem, progress, np.inf, budget.widest)
    if progress.record[STATUS] != DONE:
        return False
    trace_back(progress, picked)
    return True


@njit(cache=True, nogil=True)
def settle(
    graph: Hypergraph,
    distances: Distances,
    alive: Flags,
    chosen: Flags,
    merged: Ints,
    budget: Budget,
) -> Settled:
    """Reduce a list, split it and solve its narrow blocks.

    ``alive`` flags the FSTs that may be chosen, ``merged`` is a union-find forest of terminals that
    are connected already. ``chosen`` gains the compulsory FSTs and those of solved blocks.
    """
    blocks = reduce_list(graph, distances, alive, chosen, merged)
    first, trees = blocks.first, blocks.trees
    solved = np.zeros(first.size - 1, np.bool_)
    guess = np.zeros(trees.size, np.bool_)
    for b in range(solved.size):
        block = list_of_block(blocks, b, graph.length)
        picked = guess[first[b] : first[b + 1]]
        solved[b] = solve_block(block, distances_in_block(blocks, b), budget, picked)
        if solved[b]:
            for k in range(first[b], first[b + 1]):
                if guess[k]:
                    chosen[trees[k]] = True
    return Settled(blocks, solved, guess)


@njit(cache=True)
def concatenate_small(graph: Hypergraph, chosen: Flags) -> float:
    """Shortest concatenation of a list whose blocks are narrow (any list of up to 16 terminals).

    ``chosen`` flags its FSTs. Returns the length; infinite when the list does not connect the
    terminals, -1 when a block is too wide to be solved here.
    """
    chosen[:] = False
    if graph.n > 1:
        alive = np.ones(graph.length.size, np.bool_)
        near, merged = own_distances(graph, alive), np.arange(graph.n)
        settled = settle(graph, near, alive, chosen, merged, GENEROUS)
        if settled.blocks.number < 0:
            return np.inf
        for is_solved in settled.solved:
            if not is_solved:
                return -1.0
    return total_length(graph.length, chosen)
