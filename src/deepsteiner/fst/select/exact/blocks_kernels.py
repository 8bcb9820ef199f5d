"""Concatenation without a linear programme: reduce, split into blocks, solve the narrow ones."""

import numpy as np
from numba import njit

from .frontier_kernels import DONE, STATUS, advance, best_closing_order, fresh_record
from .prune_kernels import (
    Flags,
    Floats,
    Ints,
    bottleneck_forest,
    edge_order,
    incidence,
    reduce_list,
    sorted_order,
    split_blocks,
)
from .subset_kernels import SUBSET_LIMIT, greedy_tree, subset_tree, terminal_prices

ORDER_TRIES = 4
CEILING = 1.0 + 1e-12  # a known tree as ceiling must not lose ties to rounding


@njit(cache=True)
def share_order(start: Ints, length: Floats) -> Ints:
    """FSTs by their cost per joined terminal."""
    keys = np.empty(length.size)
    for f in range(length.size):
        keys[f] = length[f] / (start[f + 1] - start[f] - 1)
    return sorted_order(keys)


@njit(cache=True)
def trace_back(node: int, taken: Ints, before: Ints, picked: Flags) -> None:
    """Flag the FSTs on a state's history."""
    picked[:] = False
    while node >= 0:
        picked[taken[node]] = True
        node = before[node]


@njit(cache=True)
def total_length(length: Floats, picked: Flags) -> float:
    """Sum of the picked lengths."""
    total = 0.0
    for f in range(length.size):
        if picked[f]:
            total += length[f]
    return total


@njit(cache=True)
def solve_block(
    n: int,
    start: Ints,
    terminals: Ints,
    length: Floats,
    work_limit: float,
    most: int,
    picked: Flags,
) -> bool:
    """Solve one block exactly if it is narrow enough; ``picked`` receives the chosen FSTs.

    When it is not, returns False and ``picked`` holds a heuristic tree.
    """
    if n <= SUBSET_LIMIT:
        subset_tree(n, start, terminals, length, picked)
        return True
    m = length.size
    everything = np.ones(m, np.bool_)
    first, lists = incidence(n, start, terminals, everything)
    ceiling = greedy_tree(n, start, terminals, length, share_order(start, length), picked)
    order, work = best_closing_order(n, start, terminals, first, lists, ORDER_TRIES)
    if work > work_limit or work == np.inf:
        return False
    parent, weight = bottleneck_forest(
        n, start, terminals, length, everything, edge_order(start, length)
    )
    prices = terminal_prices(n, start, terminals, length)
    room = np.empty(1)
    room[0] = ceiling * CEILING
    left = np.empty(n, np.int64)
    forever = int(np.int64(1 << 60))  # a literal would compile the callee twice
    for v in range(n):
        room[0] -= prices[v]
        left[v] = first[v + 1] - first[v]
    record, keys, costs, nodes, taken, before = fresh_record()
    keys, costs, nodes, taken, before = advance(
        start, terminals, length, order, np.zeros(m, np.bool_), parent, weight, prices, room,
        np.full(n, -1, np.int64), left, np.zeros(16, np.int64), np.empty(256),
        record, keys, costs, nodes, taken, before, forever, most,
    )  # fmt: skip
    if record[STATUS] != DONE:
        return False
    trace_back(nodes[0], taken, before, picked)
    return True


@njit(cache=True, nogil=True)
def settle(
    n: int,
    start: Ints,
    terminals: Ints,
    length: Floats,
    alive: Flags,
    chosen: Flags,
    merged: Ints,
    work_limit: float,
    most: int,
) -> tuple[int, Ints, Ints, Ints, Ints, Ints, Flags, Flags]:
    """Reduce a list, split it and solve its narrow blocks.

    ``chosen`` gains the compulsory FSTs and those of solved blocks. Returns the number of blocks
    (-1: the list does not connect the terminals), the blocks as ``split_blocks`` gives them, which
    are solved, and a heuristic choice (per listed FST) for the others.
    """
    contracted, blocks, block = reduce_list(n, start, terminals, length, alive, chosen, merged)
    first, trees, begin, local, sizes = split_blocks(
        n, start, contracted, alive, max(blocks, 0), block
    )
    solved = np.zeros(max(blocks, 0), np.bool_)
    guess = np.zeros(trees.size, np.bool_)
    for b in range(blocks):
        low, high = first[b], first[b + 1]
        offsets = np.empty(high - low + 1, np.int64)
        lengths = np.empty(high - low)
        offsets[0] = 0
        for k in range(low, high):
            offsets[k - low + 1] = begin[k + 1] - begin[low]
            lengths[k - low] = length[trees[k]]
        members = local[begin[low] : begin[high]]
        solved[b] = solve_block(
            sizes[b], offsets, members, lengths, work_limit, most, guess[low:high]
        )
        if solved[b]:
            for k in range(low, high):
                if guess[k]:
                    chosen[trees[k]] = True
    return blocks, first, trees, begin, local, sizes, solved, guess


@njit(cache=True)
def concatenate_small(n: int, start: Ints, terminals: Ints, length: Floats, chosen: Flags) -> float:
    """Shortest concatenation of a list whose blocks are narrow (any list of up to 16 terminals).

    ``chosen`` flags its FSTs. Returns the length; infinite when the list does not connect the
    terminals, -1 when a block is too wide to be solved here.
    """
    chosen[:] = False
    if n > 1:
        blocks, _, _, _, _, _, solved, _ = settle(
            n, start, terminals, length, np.ones(length.size, np.bool_), chosen, np.arange(n),
            1e9, int(np.int64(1 << 20)),
        )  # fmt: skip
        if blocks < 0:
            return np.inf
        for b in range(blocks):
            if not solved[b]:
                return -1.0
    return total_length(length, chosen)
