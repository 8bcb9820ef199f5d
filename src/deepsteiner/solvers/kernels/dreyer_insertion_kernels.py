"""Kernels of Dreyer and Overton's insertion heuristic: one pass over the spanning tree's edges."""

from __future__ import annotations

import numpy as np

from ...core.jit import njit
from ...core.points import Array
from ...geometry.relax_component_kernels import step
from ...geometry.spanning_kernels import spanning_tree
from ...geometry.vector_kernels import cosine
from ...run.method import TreeRows
from .slot_kernels import NARROW, SlotTree, insert, put_slots, slots_of

# How far into the angle a new point is put, as a share of the shorter edge: it belongs on top of
# the vertex, but edges need a direction.
NUDGE = 1e-3


@step
def beside(tree: SlotTree, v: int, i: int) -> int:
    """Return the slot at v whose edge makes the smallest angle with slot i, or -1 from 120 on."""
    best, slot = NARROW, -1
    places, near = tree.places, tree.neighbours
    for j in range(tree.start[v], tree.start[v] + tree.degree[v]):
        value = cosine(places[v], places[near[i]], places[near[j]])
        if j != i and value > best:
            best, slot = value, j
    return slot


@njit(cache=True)
def _inside(v: complex, x: complex, z: complex) -> complex:
    """Return a place just inside the angle xvz."""
    to_x, to_z = abs(x - v), abs(z - v)
    return v + NUDGE * min(to_x, to_z) * ((x - v) / to_x + (z - v) / to_z)


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
                        z = tree.places[tree.neighbours[j]]
                        insert(tree, v, i, j, _inside(tree.places[v], tree.places[x], z))
                    break


@njit(cache=True)
def longest_first(points: Array, edges: Array) -> Array:
    """Return the edges of the spanning tree, the longest first."""
    spans = points[edges[:, 0]] - points[edges[:, 1]]
    return edges[np.argsort(-np.hypot(spans[:, 0], spans[:, 1]), kind="mergesort")]


@njit(cache=True, nogil=True)
def insert_batch(terminals: Array, rows: TreeRows, first: int, last: int) -> None:
    """Run the insertion heuristic on instances first..last; write their trees."""
    for b in range(first, last):
        edges = longest_first(terminals[b], spanning_tree(terminals[b]))
        tree = slots_of(terminals[b], edges)
        insert_along(tree, edges)
        put_slots(rows, b, tree)
