"""Which terminals may share a Steiner point: a sparse graph with bottleneck distances.

The bottleneck distance of two terminals is the longest edge between them in the minimum spanning
tree; no edge on the way between them in a shortest tree is longer. Two terminals that hang on one
Steiner point are therefore at most sqrt(3) bottlenecks apart.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from ....core.points import Array
from ....geometry.spanning_kernels import heaviest_between, merge_tree
from ...select.exact.prune_kernels import sorted_order

# Pairs kept at a terminal.
MOST = 12
# How many bottlenecks two terminals can be apart: on one Steiner point, and on two adjacent ones.
ON_ONE = math.sqrt(3.0) * (1.0 + 1e-9)
ON_TWO = math.sqrt(7.0) * (1.0 + 1e-9)
# How many bottlenecks they are apart in shortest trees, rare pairs between clusters aside: see
# benchmarks/learned/close_pairs.py.
CLOSE = 1.4


@njit(cache=True, nogil=True)
def bottleneck_tree(points: Array, edges: Array, order: Array) -> tuple[Array, Array, Array]:
    """Return (up, rank, weight) of the spanning tree whose edges stand by length in `order`.

    `weight[heaviest_between(u, v, up, rank)]` is the bottleneck distance of u and v.
    """
    n = points.shape[0]
    up, rank = np.empty(n, np.int64), np.empty(n, np.int64)
    merge_tree(n, edges, order, up, rank)
    weight = np.empty(n)
    for k in range(n - 1):
        a, b = edges[order[k], 0], edges[order[k], 1]
        weight[k] = math.hypot(points[a, 0] - points[b, 0], points[a, 1] - points[b, 1])
    weight[n - 1] = np.inf
    return up, rank, weight


@njit(cache=True, nogil=True)
def pair_bounds(
    points: Array, pairs: Array, up: Array, rank: Array, weight: Array, first: int, last: int
) -> tuple[Array, Array]:
    """Return the bottleneck distances of the pairs first..last-1, and their lengths over them."""
    bound, stretch = np.empty(last - first), np.empty(last - first)
    for k in range(first, last):
        a, b = pairs[k, 0], pairs[k, 1]
        w = weight[heaviest_between(a, b, up, rank)]
        bound[k - first] = w
        dx, dy = points[a, 0] - points[b, 0], points[a, 1] - points[b, 1]
        stretch[k - first] = math.sqrt(dx * dx + dy * dy) / w
    return bound, stretch


@njit(cache=True, nogil=True)
def few_pairs(n: int, pairs: Array, stretch: Array, limit: float) -> Array:
    """Flag pairs within a stretch, at most MOST at a terminal: the first, so give them by length.

    Only stars (a hub inside a circle) have more; their time would grow quadratically.
    """
    degree = np.zeros(n, np.int64)
    keep = np.zeros(pairs.shape[0], np.bool_)
    for k in range(pairs.shape[0]):
        a, b = pairs[k, 0], pairs[k, 1]
        if stretch[k] <= limit and degree[a] < MOST and degree[b] < MOST:
            keep[k] = True
            degree[a] += 1
            degree[b] += 1
    return keep


@njit(cache=True, nogil=True)
def shortest_pairs(points: Array, pairs: Array, stretch: Array, limit: float) -> Array:
    """Do what `few_pairs` does to pairs in any order, of which the shortest come first.

    Only pairs at terminals that have too many need to be brought in order.
    """
    n = points.shape[0]
    degree, taken = np.zeros(n, np.int64), np.zeros(n, np.int64)
    keep = np.zeros(pairs.shape[0], np.bool_)
    for k in range(pairs.shape[0]):
        if stretch[k] <= limit:
            keep[k] = True
            degree[pairs[k, 0]] += 1
            degree[pairs[k, 1]] += 1
    rows, squared = np.empty(pairs.shape[0], np.int64), np.empty(pairs.shape[0])
    count = 0
    for k in range(pairs.shape[0]):
        a, b = pairs[k, 0], pairs[k, 1]
        if keep[k] and max(degree[a], degree[b]) > MOST:
            dx, dy = points[a, 0] - points[b, 0], points[a, 1] - points[b, 1]
            rows[count], squared[count] = k, dx * dx + dy * dy
            count += 1
    order = sorted_order(squared[:count])
    for i in range(count):
        k = rows[order[i]]
        a, b = pairs[k, 0], pairs[k, 1]
        keep[k] = (degree[a] <= MOST or taken[a] < MOST) and (degree[b] <= MOST or taken[b] < MOST)
        if keep[k]:
            taken[a] += 1
            taken[b] += 1
    return keep


@njit(cache=True, nogil=True)
def placed_pairs(n: int, pairs: Array, bound: Array, keep: Array) -> tuple[Array, Array]:
    """Return the flagged pairs by their second and then their first terminal, and their bounds.

    By place rather than by length, for the sake of the processor's caches.
    """
    order = np.empty(pairs.shape[0], np.int64)
    count = 0
    for k in range(pairs.shape[0]):
        if keep[k]:
            order[count] = k
            count += 1
    order = order[:count].copy()
    for side in range(2):
        start = np.zeros(n + 1, np.int64)
        for k in range(count):
            start[pairs[order[k], side] + 1] += 1
        for v in range(n):
            start[v + 1] += start[v]
        after = np.empty(count, np.int64)
        for k in range(count):
            v = pairs[order[k], side]
            after[start[v]] = order[k]
            start[v] += 1
        order = after
    placed, bounds = np.empty((count, 2), np.int64), np.empty(count)
    for k in range(count):
        placed[k, 0], placed[k, 1] = pairs[order[k], 0], pairs[order[k], 1]
        bounds[k] = bound[order[k]]
    return placed, bounds


@njit(cache=True, nogil=True)
def incident_pairs(n: int, pairs: Array) -> tuple[Array, Array]:
    """Return the numbers of the pairs at every terminal, in compressed rows."""
    start = np.zeros(n + 1, np.int64)
    for k in range(pairs.shape[0]):
        for side in range(2):
            start[pairs[k, side] + 1] += 1
    for v in range(n):
        start[v + 1] += start[v]
    fill = start[:n].copy()
    rows = np.empty(start[n], np.int64)
    for k in range(pairs.shape[0]):
        for side in range(2):
            v = pairs[k, side]
            rows[fill[v]] = k
            fill[v] += 1
    return start, rows


@njit(cache=True, nogil=True)
def nearby_order(points: Array) -> Array:
    """Return an order of points in [-1, 1] squared in which neighbours stand near each other.

    By the interleaved binary digits of their coordinates: memory is then used in the order in
    which the plane is.
    """
    n = points.shape[0]
    code = np.empty(n, np.int64)
    for v in range(n):
        x = min(max(int((points[v, 0] + 1.0) * 32768.0), 0), 65535)
        y = min(max(int((points[v, 1] + 1.0) * 32768.0), 0), 65535)
        code[v] = 0
        for bit in range(16):
            code[v] |= ((x >> bit) & 1) << (2 * bit) | ((y >> bit) & 1) << (2 * bit + 1)
    return np.argsort(code, kind="mergesort")
