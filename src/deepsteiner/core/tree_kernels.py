"""Which edges connect what: a union-find structure, components, and whether edges form a tree."""

from __future__ import annotations

import numpy as np

from .jit import njit
from .points import Array


@njit(cache=True, nogil=True)
def find(parent: Array, node: int) -> int:
    """Return the root of a node, halving its path on the way."""
    while parent[node] != node:
        parent[node] = parent[parent[node]]
        node = parent[node]
    return node


@njit(cache=True, nogil=True)
def component_count(edges: Array, size: int) -> int:
    """Return the number of connected components of a graph over the nodes 0..size-1."""
    parent = np.arange(size)
    count = size
    for e in range(edges.shape[0]):
        a, b = find(parent, edges[e, 0]), find(parent, edges[e, 1])
        if a != b:
            parent[a] = b
            count -= 1
    return count


@njit(cache=True, nogil=True)
def is_tree(edges: Array, size: int) -> bool:
    """Whether size - 1 edges form a tree over the nodes 0..size-1; their ends may be anything."""
    for e in range(size - 1):
        if min(edges[e, 0], edges[e, 1]) < 0 or max(edges[e, 0], edges[e, 1]) >= size:
            return False
    return component_count(edges[: size - 1], size) == 1


@njit(cache=True, nogil=True)
def unite(parent: Array, edges: Array) -> int:
    """Join the ends of edges in a union-find structure; return how many joined two components."""
    joined = 0
    for e in range(edges.shape[0]):
        a, b = find(parent, edges[e, 0]), find(parent, edges[e, 1])
        if a != b:
            parent[a] = b
            joined += 1
    return joined
