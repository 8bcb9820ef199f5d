"""Exact concatenation of small lists without a linear programme: dynamic programme over subsets.

A hypertree can be grown from any terminal by adding FSTs that each touch the grown set in exactly
one terminal, so the shortest tree of every set follows from smaller sets, in the manner of Dreyfus
and Wagner (1971). Prices per terminal bound what the missing terminals must still cost and cut off
most sets.
"""

import numpy as np

from ....core.jit import njit
from ..hypergraph import LEAST, Flags, Floats, Hypergraph, Ints
from .prune_kernels import merge_tree, shares, sorted_order

SUBSET_LIMIT = 10  # terminals of a block that the subset programme takes


@njit(cache=True)
def share_order(graph: Hypergraph) -> Ints:
    """FSTs by their cost per joined terminal."""
    return sorted_order(shares(graph))


@njit(cache=True)
def greedy_tree(graph: Hypergraph, order: Ints, picked: Flags) -> float:
    """Kruskal over FSTs in the given order: their length and the picked ones.

    A hypergraph may have trees that no greedy order meets: then nothing is picked and the length
    is infinite.
    """
    start = graph.start
    parent = np.arange(graph.n)
    missing = graph.n - 1
    total = 0.0
    for k in range(order.size):
        f = order[k]
        picked[f] = missing > 0 and merge_tree(parent, graph.terminals, start[f], start[f + 1])
        if picked[f]:
            missing -= start[f + 1] - start[f] - 1
            total += graph.length[f]
    if missing > 0:
        picked[:] = False
        return np.inf
    return total


@njit(cache=True)
def terminal_prices(graph: Hypergraph) -> Floats:
    """Least cost per joined terminal over the FSTs at each terminal."""
    prices = np.full(graph.n, np.inf)
    share = shares(graph)
    for f in range(share.size):
        for i in range(graph.start[f], graph.start[f + 1]):
            v = graph.terminals[i]
            prices[v] = min(prices[v], share[f])
    return prices


@njit(cache=True)
def subset_tree(graph: Hypergraph, picked: Flags) -> float:
    """Shortest concatenation over all terminals by the subset programme (n <= SUBSET_LIMIT).

    ``picked`` receives the chosen FSTs. The list must connect the terminals.
    """
    n, start, terminals, length = graph
    m = length.size
    prices = terminal_prices(graph)
    root = 0
    for v in range(n):  # the root's own price is never paid: leave out the dearest
        if prices[v] > prices[root]:
            root = v
    masks = np.zeros(m, np.int64)
    excess = np.empty(m)  # length beyond the prices of all its terminals
    for f in range(m):
        excess[f] = length[f]
        for i in range(start[f], start[f + 1]):
            v = terminals[i]
            excess[f] -= prices[v]
            bit = 0 if v == root else (root if v == 0 else v)  # the root becomes bit 0
            masks[f] |= 1 << bit
    price_at = prices.copy()
    price_at[0], price_at[root] = prices[root], prices[0]
    base = 0.0
    for v in range(1, n):
        base += price_at[v]
    ceiling = greedy_tree(graph, share_order(graph), picked)
    # Costs are kept net of prices, so one number cuts every set alike.
    net_ceiling = (ceiling - base) + LEAST * (abs(ceiling) + 1.0)
    full = (1 << n) - 1
    best = np.full(full + 1, np.inf)
    last, before = np.empty(full + 1, np.int64), np.empty(full + 1, np.int64)
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
                last[bigger], before[bigger] = f, grown
    if not best[full] < np.inf:
        return float(ceiling)
    picked[:] = False
    grown = full
    summed = 0.0
    while grown != 1:  # every step leaves out a terminal
        f = last[grown]
        picked[f] = True
        summed += length[f]
        grown = before[grown]
    return summed
