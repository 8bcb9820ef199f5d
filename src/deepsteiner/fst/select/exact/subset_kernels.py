"""Exact concatenation of small lists without a linear programme: dynamic programme over subsets.

A hypertree can be grown from any terminal by adding FSTs that each touch the grown set in exactly
one terminal, so the shortest tree of every set follows from smaller sets. Prices per terminal bound
what the missing terminals must still cost and cut off most sets.
"""

import numpy as np
from numba import njit

from .prune_kernels import Flags, Floats, Ints, merge_tree, sorted_order

SUBSET_LIMIT = 10  # terminals of a block that the subset programme takes
SLACK = 1e-12


@njit(cache=True)
def greedy_tree(
    n: int, start: Ints, terminals: Ints, length: Floats, order: Ints, picked: Flags
) -> float:
    """Kruskal over FSTs in the given order: their length and the picked ones.

    A hypergraph may have trees that no greedy order meets: then nothing is picked and the length
    is infinite.
    """
    parent = np.arange(n)
    missing = n - 1
    total = 0.0
    for k in range(order.size):
        f = order[k]
        picked[f] = missing > 0 and merge_tree(parent, terminals, start[f], start[f + 1])
        if picked[f]:
            missing -= start[f + 1] - start[f] - 1
            total += length[f]
    if missing > 0:
        picked[:] = False
        return np.inf
    return total


@njit(cache=True)
def terminal_prices(n: int, start: Ints, terminals: Ints, length: Floats) -> Floats:
    """Least cost per joined terminal over the FSTs at each terminal."""
    prices = np.full(n, np.inf)
    for f in range(length.size):
        share = length[f] / (start[f + 1] - start[f] - 1)
        for i in range(start[f], start[f + 1]):
            if share < prices[terminals[i]]:
                prices[terminals[i]] = share
    return prices


@njit(cache=True)
def subset_tree(n: int, start: Ints, terminals: Ints, length: Floats, picked: Flags) -> float:
    """Shortest concatenation over all terminals by the subset programme (n <= SUBSET_LIMIT).

    ``picked`` receives the chosen FSTs. The list must connect the terminals.
    """
    m = length.size
    prices = terminal_prices(n, start, terminals, length)
    root = 0
    for v in range(n):  # the root's own price is never paid: leave out the dearest
        if prices[v] > prices[root]:
            root = v
    masks = np.zeros(m, np.int64)
    excess = np.empty(m)  # length beyond the prices of all its terminals
    ratio = np.empty(m)
    for f in range(m):
        excess[f] = length[f]
        for i in range(start[f], start[f + 1]):
            v = terminals[i]
            excess[f] -= prices[v]
            bit = 0 if v == root else (root if v == 0 else v)  # the root becomes bit 0
            masks[f] |= 1 << bit
        ratio[f] = length[f] / (start[f + 1] - start[f] - 1)
    price_at = prices.copy()
    price_at[0], price_at[root] = prices[root], prices[0]
    base = 0.0
    for v in range(1, n):
        base += price_at[v]
    ceiling = greedy_tree(n, start, terminals, length, sorted_order(ratio), picked)
    # Costs are kept net of prices, so one number cuts every set alike.
    net_ceiling = (ceiling - base) + SLACK * (abs(ceiling) + 1.0)
    full = (1 << n) - 1
    best = np.full(full + 1, np.inf)
    last = np.full(full + 1, -1, np.int32)
    best[1] = 0.0
    for grown in range(1, full, 2):
        cost = best[grown]
        if cost > net_ceiling:
            continue
        for f in range(m):
            shared = masks[f] & grown
            if shared == 0 or shared & (shared - 1) != 0:
                continue
            touch = 0
            while shared >> (touch + 1) != 0:
                touch += 1
            bigger = masks[f] | grown
            total = cost + excess[f] + price_at[touch]
            if total < best[bigger]:
                best[bigger] = total
                last[bigger] = f
    if not best[full] < np.inf:
        return float(ceiling)
    picked[:] = False
    grown = full
    summed = 0.0
    while grown != 1:  # every step leaves out a terminal
        f = last[grown]
        picked[f] = True
        summed += length[f]
        grown = _before(grown, masks[f], best, excess[f], price_at, n)
    return summed


@njit(cache=True)
def _before(grown: int, mask: int, best: Floats, excess: float, price_at: Floats, n: int) -> int:
    """The set from which adding ``mask`` reached ``grown`` at its recorded cost."""
    rest = grown & ~mask
    choice = -1
    gap = np.inf
    for v in range(n):
        if mask >> v & 1:
            earlier = rest | (1 << v)
            if earlier & 1 and best[earlier] < np.inf:
                d = abs(best[earlier] + excess + price_at[v] - best[grown])
                if d < gap:
                    gap = d
                    choice = earlier
    return choice
