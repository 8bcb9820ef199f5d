"""Spanning-tree kernels: dense Prim, Kruskal over given edges, and bottleneck queries."""

from __future__ import annotations

import numpy as np

from ..core.jit import njit
from ..core.points import Array
from ..core.tree_kernels import find


@njit(cache=True)
def prim(points: Array, edges: Array) -> None:
    """Write the minimum spanning tree of all points into `edges` (n-1, 2), in O(n^2)."""
    n = points.shape[0]
    # What is outside the tree stands in front, without gaps: place, link to the tree, its square.
    x, y, name = np.empty(n), np.empty(n), np.arange(n)
    best, link = np.full(n, np.inf), np.zeros(n, dtype=np.int64)
    bits = best.view(np.int64)  # squares are not negative: the same order, found by faster code
    for i in range(n):
        x[i], y[i] = points[i, 0], points[i, 1]
    spot, count = 0, n
    for step in range(n - 1):
        current, cx, cy = name[spot], x[spot], y[spot]
        count -= 1
        x[spot], y[spot], name[spot] = x[count], y[count], name[count]
        best[spot], link[spot] = best[count], link[count]
        for k in range(count):
            dx, dy = x[k] - cx, y[k] - cy
            distance = dx * dx + dy * dy
            closer = distance < best[k]
            best[k] = distance if closer else best[k]
            link[k] = current if closer else link[k]
        least = bits[0]
        for k in range(count):
            least = min(least, bits[k])
        spot = -1
        for k in range(count):
            # Ties go to the lower index, whatever order the list is in.
            if bits[k] == least and (spot < 0 or name[k] < name[spot]):
                spot = k
        edges[step, 0] = link[spot]
        edges[step, 1] = name[spot]


@njit(cache=True)
def spanning_tree(points: Array) -> Array:
    """Return the minimum spanning tree of all points, in O(n^2)."""
    edges = np.empty((points.shape[0] - 1, 2), dtype=np.int64)
    prim(points, edges)
    return edges


@njit(cache=True, nogil=True)
def prim_batch(points: Array, edges: Array, first: int, last: int) -> None:
    """Write the trees of instances first..last of (B, n, 2) points into `edges` (B, n-1, 2)."""
    for b in range(first, last):
        prim(points[b], edges[b])


@njit(cache=True, nogil=True)
def kruskal(n: int, pairs: Array, order: Array, edges: Array) -> int:
    """Take `pairs` in `order`, keep those that join two parts; return how many were kept."""
    parent = np.arange(n)
    kept = 0
    for k in range(order.shape[0]):
        a, b = pairs[order[k], 0], pairs[order[k], 1]
        root_a, root_b = find(parent, a), find(parent, b)
        if root_a != root_b:
            parent[root_a] = root_b
            edges[kept, 0] = a
            edges[kept, 1] = b
            kept += 1
            if kept == n - 1:
                break
    return kept


@njit(cache=True, nogil=True)
def triangle_edges(simplices: Array, neighbors: Array) -> Array:
    """Return every edge of a triangulation once, as (E, 2)."""
    edges = np.empty((3 * simplices.shape[0], 2), dtype=np.int64)
    row = 0
    for t in range(simplices.shape[0]):
        for k in range(3):
            if neighbors[t, k] < t:
                edges[row, 0] = simplices[t, (k + 1) % 3]
                edges[row, 1] = simplices[t, (k + 2) % 3]
                row += 1
    return edges[:row].copy()


@njit(cache=True, nogil=True)
def squared_lengths(points: Array, pairs: Array) -> Array:
    """Return the squared length of every pair."""
    result = np.empty(pairs.shape[0])
    for k in range(pairs.shape[0]):
        dx = points[pairs[k, 0], 0] - points[pairs[k, 1], 0]
        dy = points[pairs[k, 0], 1] - points[pairs[k, 1], 1]
        result[k] = dx * dx + dy * dy
    return result


@njit(cache=True)
def merge_tree(n: int, edges: Array, order: Array, up: Array, rank: Array) -> None:
    """Build the union-by-size tree of a spanning tree whose edges are taken in `order`.

    `up[v]` is v's parent (itself at the root) and `rank[v]` the position in `order` of the edge
    that hung v there. Positions grow towards the root, so the heaviest edge between two nodes is
    met by climbing from both, lighter link first; depth is at most log2(n).
    """
    size = np.ones(n, dtype=np.int64)
    for v in range(n):
        up[v] = v
        rank[v] = n  # above every edge: the root is never left
    for k in range(n - 1):
        a, b = edges[order[k], 0], edges[order[k], 1]
        while up[a] != a:
            a = up[a]
        while up[b] != b:
            b = up[b]
        if size[a] > size[b]:
            a, b = b, a
        up[a] = b
        rank[a] = k
        size[b] += size[a]


@njit(cache=True)
def heaviest_between(u: int, v: int, up: Array, rank: Array) -> int:
    """Return the position in the merge order of the heaviest edge between u and v (-1: u is v)."""
    heaviest = -1
    while u != v:  # ends in the common root of a spanning tree at the latest
        if rank[u] < rank[v]:
            heaviest = rank[u]
            u = up[u]
        else:
            heaviest = rank[v]
            v = up[v]
    return heaviest
