"""Spanning-tree kernels: dense Prim, Kruskal over given edges, and bottleneck queries."""

from __future__ import annotations

import numpy as np
from numba import njit

from .points import Array


@njit(cache=True)
def prim(points: Array, edges: Array) -> None:
    """Write the minimum spanning tree of all points into `edges` (n-1, 2), in O(n^2)."""
    n = points.shape[0]
    best = np.full(n, np.inf)
    link = np.zeros(n, dtype=np.int64)
    outside = np.arange(n)
    count = n
    current = 0
    for step in range(n - 1):
        # Remove `current` from the dense list of outside nodes, keeping the scan contiguous.
        position = 0
        while outside[position] != current:
            position += 1
        count -= 1
        outside[position] = outside[count]
        x, y = points[current, 0], points[current, 1]
        nearest = -1
        nearest_distance = np.inf
        for k in range(count):
            node = outside[k]
            dx, dy = points[node, 0] - x, points[node, 1] - y
            distance = dx * dx + dy * dy
            if distance < best[node]:
                best[node] = distance
                link[node] = current
            # Ties go to the lower index, whatever order the list is in.
            if best[node] < nearest_distance or (best[node] == nearest_distance and node < nearest):
                nearest_distance = best[node]
                nearest = node
        edges[step, 0] = link[nearest]
        edges[step, 1] = nearest
        current = nearest


@njit(cache=True, nogil=True)
def prim_batch(points: Array, edges: Array, first: int, last: int) -> None:
    """Write the trees of instances first..last of (B, n, 2) points into `edges` (B, n-1, 2)."""
    for b in range(first, last):
        prim(points[b], edges[b])


@njit(cache=True, nogil=True)
def find(parent: Array, node: int) -> int:
    """Return the representative of `node`, halving the path on the way."""
    while parent[node] != node:
        parent[node] = parent[parent[node]]
        node = parent[node]
    return node


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
    count = 0
    for t in range(simplices.shape[0]):
        for k in range(3):
            if neighbors[t, k] < t:
                count += 1
    edges = np.empty((count, 2), dtype=np.int64)
    row = 0
    for t in range(simplices.shape[0]):
        for k in range(3):
            if neighbors[t, k] < t:
                edges[row, 0] = simplices[t, (k + 1) % 3]
                edges[row, 1] = simplices[t, (k + 2) % 3]
                row += 1
    return edges


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
    while u != v:
        if rank[u] < rank[v]:
            heaviest = rank[u]
            u = up[u]
        else:
            heaviest = rank[v]
            v = up[v]
    return heaviest
