"""Regrets: how much longer a tree becomes, about, where a full Steiner tree is forced into it.

A full tree that comes in closes cycles, and a link of each has to go. What links cost is known of
two-terminal trees only. The length of a larger tree is shared out to links between its terminals,
as in a spanning tree of them, each by its own length: a fair price of one of them, though it can
not be sold alone.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ....core.jit import njit
from ....core.points import Array
from ....geometry.spanning_kernels import heaviest_between, merge_tree
from ..exact.prune_kernels import sorted_order
from ..hypergraph import Flags, Floats, Hypergraph, Ints


class Priced(NamedTuple):
    """The links of a tree in the order in which Kruskal's rule meets them.

    up, rank: the merge tree over the terminals, see `heaviest_between`.
    price: that of every link, from the cheapest on, and infinity.
    """

    up: Ints
    rank: Ints
    price: Floats


@njit(cache=True, nogil=True)
def _share_out(
    points: Array, names: Ints, length: float, first: int, ends: Ints, price: Floats
) -> None:
    """Write the links of one full tree and their prices from a row on: Prim over its terminals."""
    count = names.size
    near, gap = np.zeros(count, np.int64), np.full(count, np.inf)
    last, total = 0, 0.0
    gap[0] = -1.0
    for k in range(count - 1):
        best = -1
        for i in range(count):
            if gap[i] < 0.0:
                continue
            dx = points[names[i], 0] - points[names[last], 0]
            dy = points[names[i], 1] - points[names[last], 1]
            way = math.sqrt(dx * dx + dy * dy)
            if way < gap[i]:
                near[i], gap[i] = last, way
            if best < 0 or gap[i] < gap[best]:
                best = i
        ends[first + k, 0], ends[first + k, 1] = names[near[best]], names[best]
        price[first + k] = gap[best]
        total += gap[best]
        gap[best] = -1.0
        last = best
    for k in range(first, first + count - 1):
        price[k] *= length / total


@njit(cache=True, nogil=True)
def priced_links(points: Array, graph: Hypergraph, picked: Flags) -> Priced:
    """Return the links of the picked trees, which form a tree over all terminals."""
    n, start, terminals, length = graph
    ends, price = np.empty((n - 1, 2), np.int64), np.empty(n - 1)
    row = 0
    for f in range(picked.size):
        if picked[f]:
            names = terminals[start[f] : start[f + 1]]
            _share_out(points, names, length[f], row, ends, price)
            row += names.size - 1
    order = sorted_order(price)
    up, rank = np.empty(n, np.int64), np.empty(n, np.int64)
    merge_tree(n, ends, order, up, rank)
    return Priced(up, rank, np.append(price[order], np.inf))


@njit(cache=True, nogil=True)
def measure_regrets(
    graph: Hypergraph, links: Priced, regret: Floats, first: int, last: int
) -> None:
    """Write the regrets of the trees first..last-1: their lengths without the links that may go.

    Those are the dearest on the ways between their terminals: Prim over bottlenecks.
    """
    _, start, terminals, length = graph
    up, rank, price = links
    near = np.empty(np.max(start[first + 1 : last + 1] - start[first:last]))
    for f in range(first, last):
        low, count = start[f], start[f + 1] - start[f]
        near[1:count] = np.inf
        latest, total = 0, 0.0
        for _ in range(1, count):
            best = -1
            for i in range(1, count):
                if near[i] < 0.0:
                    continue
                link = heaviest_between(terminals[low + latest], terminals[low + i], up, rank)
                near[i] = min(near[i], price[link])
                if best < 0 or near[i] < near[best]:
                    best = i
            total += near[best]
            near[best] = -1.0
            latest = best
        regret[f] = length[f] - total
