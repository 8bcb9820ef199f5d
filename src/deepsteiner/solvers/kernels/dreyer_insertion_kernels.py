"""Kernels of Dreyer and Overton's insertion heuristic: one pass over the spanning tree's edges."""

from __future__ import annotations

import numpy as np
from numba import njit

from ...core.points import Array
from ...geometry.relax_component_kernels import step
from ...geometry.spanning_kernels import prim
from ...run.method import TreeRows
from .slot_kernels import NARROW, SlotTree, cosine, distance, edges_of, insert, put_tree, slots_of

# How far into the angle a new point is put, as a share of the shorter edge: it belongs on top of
# the vertex, but edges need a direction.
NUDGE = 1e-3


@step
def beside(tree: SlotTree, v: int, i: int) -> int:
    """Return the slot at v whose edge makes the smallest angle with slot i, or -1 from 120 on."""
    best, slot = NARROW, -1
    for j in range(tree.start[v], tree.start[v] + tree.degree[v]):
        value = cosine(tree.points, v, tree.neighbours[i], tree.neighbours[j])
        if j != i and value > best:
            best, slot = value, j
    return slot


@njit(cache=True)
def _inside(points: Array, v: int, x: int, z: int) -> tuple[float, float]:
    """Return a place just inside the angle xvz."""
    here_x, here_y = points[v, 0], points[v, 1]
    to_x, to_z = distance(points, x, here_x, here_y), distance(points, z, here_x, here_y)
    step = NUDGE * min(to_x, to_z)
    return (
        here_x + step * ((points[x, 0] - here_x) / to_x + (points[z, 0] - here_x) / to_z),
        here_y + step * ((points[x, 1] - here_y) / to_x + (points[z, 1] - here_y) / to_z),
    )


@njit(cache=True)
def insert_along(tree: SlotTree, edges: Array) -> None:
    """Go through edges of the spanning tree and insert Steiner points.

    At each end v of an edge xv, the edge vz that meets it at the smallest angle is found; below 120
    degrees a Steiner point joins x, v and z. It gets its place from the optimisation that follows.
    """
    for e in range(edges.shape[0]):
        for end in range(2):
            v, x = edges[e, end], edges[e, 1 - end]
            for i in range(tree.start[v], tree.start[v] + tree.degree[v]):
                if tree.neighbours[i] == x:  # no Steiner point took this edge yet
                    j = beside(tree, v, i)
                    if j >= 0:
                        px, py = _inside(tree.points, v, x, tree.neighbours[j])
                        insert(tree, v, i, j, px, py)
                    break


@njit(cache=True)
def longest_first(points: Array, edges: Array) -> Array:
    """Return the edges of the spanning tree, the longest first."""
    spans = points[edges[:, 0]] - points[edges[:, 1]]
    return edges[np.argsort(-np.hypot(spans[:, 0], spans[:, 1]), kind="mergesort")]


@njit(cache=True, nogil=True)
def insert_batch(terminals: Array, rows: TreeRows, first: int, last: int) -> None:
    """Run the insertion heuristic on instances first..last; write their trees."""
    n = terminals.shape[1]
    edges = np.empty((n - 1, 2), dtype=np.int64)
    for b in range(first, last):
        prim(terminals[b], edges)
        ordered = longest_first(terminals[b], edges)
        tree = slots_of(terminals[b], ordered)
        insert_along(tree, ordered)
        put_tree(tree.points, tree.size[0], edges_of(tree), rows, b)
