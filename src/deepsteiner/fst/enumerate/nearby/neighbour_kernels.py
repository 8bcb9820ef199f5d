"""Which terminals may share a Steiner point: a sparse graph with bottleneck distances.

The bottleneck distance of two terminals is the longest edge between them in the minimum spanning
tree; no edge on the way between them in a shortest tree is longer. Two terminals that hang on one
Steiner point are therefore at most sqrt(3) bottlenecks apart. (P. Winter and M. Zachariasen,
Euclidean Steiner minimum trees: an improved exact algorithm, Networks 30, 1997.)
"""

from __future__ import annotations

import math

import numpy as np

from ....core.jit import njit
from ....core.points import Array
from ....geometry.spanning_kernels import heaviest_between, merge_tree, squared_lengths
from ...grouping_kernels import grouped
from ...select.exact.prune_kernels import sorted_order
from .ground import Bottlenecks, ClosePairs

# Pairs kept at a terminal.
MOST = 12
# How many bottlenecks two terminals can be apart: on one Steiner point, and on two adjacent ones.
ON_ONE = math.sqrt(3.0) * (1.0 + 1e-9)
ON_TWO = math.sqrt(7.0) * (1.0 + 1e-9)
# How many bottlenecks they are apart in shortest trees, rare pairs between clusters aside: see
# benchmarks/learned/close_pairs.py.
CLOSE = 1.4


@njit(cache=True, nogil=True)
def bottleneck_tree(points: Array, edges: Array) -> Bottlenecks:
    """Return the bottlenecks of a spanning tree whose edges stand by length."""
    n = points.shape[0]
    up, rank, length = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n)
    merge_tree(n, edges, np.arange(n - 1), up, rank)
    for k in range(n - 1):
        a, b = edges[k, 0], edges[k, 1]
        length[k] = math.hypot(points[a, 0] - points[b, 0], points[a, 1] - points[b, 1])
    length[n - 1] = np.inf
    return Bottlenecks(up, rank, length)


@njit(cache=True, nogil=True)
def bottleneck(a: int, b: int, tree: Bottlenecks) -> float:
    """Return the bottleneck distance of two terminals; infinite for one and the same."""
    return float(tree.length[heaviest_between(a, b, tree.up, tree.rank)])


@njit(cache=True, nogil=True)
def squared(points: Array, a: int, b: int) -> float:
    """Squared distance of two points."""
    dx, dy = points[a, 0] - points[b, 0], points[a, 1] - points[b, 1]
    return float(dx * dx + dy * dy)


@njit(cache=True, nogil=True)
def pair_bounds(
    points: Array, pairs: Array, tree: Bottlenecks, first: int, last: int
) -> tuple[Array, Array]:
    """Return the bottleneck distances of the pairs first..last-1, and their lengths over them."""
    bound, stretch = np.empty(last - first), np.empty(last - first)
    for k in range(last - first):
        a, b = pairs[first + k, 0], pairs[first + k, 1]
        bound[k] = bottleneck(a, b, tree)
        stretch[k] = math.sqrt(squared(points, a, b)) / bound[k]
    return bound, stretch


@njit(cache=True, nogil=True)
def close_pairs(
    n: int, pairs: Array, bound: Array, stretch: Array, limit: float, most: int
) -> ClosePairs:
    """Return the pairs within a stretch, at most so many at a terminal.

    The first ones stay, so give them by length. Only stars (a hub inside a circle) have more; their
    time would grow quadratically.
    """
    degree, keep = np.zeros(n, np.int64), np.zeros(bound.size, np.bool_)
    for k in range(bound.size):
        a, b = pairs[k, 0], pairs[k, 1]
        if stretch[k] <= limit and max(degree[a], degree[b]) < most:
            degree[a] += 1
            degree[b] += 1
            keep[k] = True
    kept = np.flatnonzero(keep)
    return with_incidence(n, pairs[kept], bound[kept])


@njit(cache=True, nogil=True)
def shortest_pairs(points: Array, pairs: Array, stretch: Array, limit: float, most: int) -> Array:
    """Flag what `close_pairs` keeps of pairs in any order, of which the shortest come first.

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
    rows = np.empty(pairs.shape[0], np.int64)
    count = 0
    for k in range(pairs.shape[0]):
        if keep[k] and max(degree[pairs[k, 0]], degree[pairs[k, 1]]) > most:
            rows[count] = k
            count += 1
    rows = rows[:count]
    for k in rows[sorted_order(squared_lengths(points, pairs[rows]))]:
        a, b = pairs[k, 0], pairs[k, 1]
        keep[k] = (degree[a] <= most or taken[a] < most) and (degree[b] <= most or taken[b] < most)
        if keep[k]:
            taken[a] += 1
            taken[b] += 1
    return keep


@njit(cache=True, nogil=True)
def placed_pairs(n: int, pairs: Array, bound: Array, keep: Array) -> ClosePairs:
    """Return the flagged pairs by their second and then their first terminal.

    By place rather than by length, for the sake of the processor's caches.
    """
    order = np.flatnonzero(keep)
    for side in range(2):
        order = order[grouped(pairs[order, side], n).items]
    return with_incidence(n, pairs[order], bound[order])


@njit(cache=True, nogil=True)
def with_incidence(n: int, ends: Array, bound: Array) -> ClosePairs:
    """Return pairs together with those at every terminal."""
    first, sides = grouped(ends.ravel(), n)
    return ClosePairs(ends, bound, first, sides // 2)


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
