"""Walks through trees: vertices breadth first, and a large tree cut into pieces."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...core.jit import njit
from ...core.points import Array
from ...geometry.relax_tree_kernels import adjacency


class Walk(NamedTuple):
    """A tree's vertices breadth first from vertex 0, each with its parent and the edge to it.

    `order` lists the vertices; parent[v] and above[v] are -1 at vertex 0.
    """

    order: Array
    parent: Array
    above: Array


@njit(cache=True, nogil=True)
def breadth_first(edges: Array) -> Walk:
    """Return the walk through the tree of all `edges`; neighbours come in the order of edges."""
    count = edges.shape[0] + 1
    start, incident = adjacency(edges, count - 1, count)
    order = np.zeros(count, dtype=np.int64)
    parent, above = np.full(count, -1, dtype=np.int64), np.full(count, -1, dtype=np.int64)
    reached = 1
    for k in range(count):
        v = order[k]
        for e in incident[start[v] : start[v + 1]]:
            if e != above[v]:
                other = edges[e, 0] + edges[e, 1] - v
                parent[other], above[other] = v, e
                order[reached] = other
                reached += 1
    return Walk(order, parent, above)


@njit(cache=True, nogil=True)
def piece_labels(n: int, edges: Array, size: int) -> Array:
    """Return a label per edge that cuts a tree, at terminals 0..n-1, into connected pieces.

    Pieces have about `size` edges or more. Seen from terminal 0, a terminal with that many edges
    below it, not counting pieces already cut off, becomes the top of a piece.
    """
    order, parent, above = breadth_first(edges)
    count = order.shape[0]
    below, top = np.zeros(count, dtype=np.int64), np.zeros(count, dtype=np.bool_)
    for v in order[:0:-1]:
        top[v] = v < n and below[v] >= size
        below[parent[v]] += 1 if top[v] else below[v] + 1
    labels, piece = np.empty(count - 1, dtype=np.int64), np.zeros(count, dtype=np.int64)
    pieces = 1
    for v in order[1:]:
        labels[above[v]] = piece[v] = piece[parent[v]]
        if top[v]:
            piece[v] = pieces
            pieces += 1
    return labels
