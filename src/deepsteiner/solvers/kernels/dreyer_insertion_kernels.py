"""Kernels of Dreyer and Overton's insertion heuristic: one pass over the spanning tree's edges.

The tree stands in the slots of `thompson_kernels`.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from ...core.points import Array
from ...geometry.spanning_kernels import prim
from .thompson_kernels import ANGLE_SLACK, slots_of, write_edges

# How far into the angle a new point is put, as a share of the shorter edge: it belongs on top of
# the vertex, but edges need a direction.
NUDGE = 1e-3


@njit(cache=True)
def beside(points: Array, start: Array, degree: Array, neighbours: Array, v: int, i: int) -> int:
    """Return the slot at v whose edge makes the smallest angle with slot i, or -1 from 120 on."""
    ax = points[neighbours[i], 0] - points[v, 0]
    ay = points[neighbours[i], 1] - points[v, 1]
    a = math.hypot(ax, ay)
    best, slot = -0.5 + ANGLE_SLACK, -1
    for j in range(start[v], start[v] + degree[v]):
        bx = points[neighbours[j], 0] - points[v, 0]
        by = points[neighbours[j], 1] - points[v, 1]
        scale = a * math.hypot(bx, by)
        if j != i and scale > 0.0 and (ax * bx + ay * by) / scale > best:
            best, slot = (ax * bx + ay * by) / scale, j
    return slot


@njit(cache=True)
def _put_inside(points: Array, new: int, v: int, x: int, z: int) -> None:
    """Place a new point just inside the angle x v z."""
    to_x = math.hypot(points[x, 0] - points[v, 0], points[x, 1] - points[v, 1])
    to_z = math.hypot(points[z, 0] - points[v, 0], points[z, 1] - points[v, 1])
    step = NUDGE * min(to_x, to_z)
    for axis in range(2):
        here = points[v, axis]
        turn = (points[x, axis] - here) / to_x + (points[z, axis] - here) / to_z
        points[new, axis] = here + step * turn


@njit(cache=True)
def insert_along(
    points: Array, start: Array, degree: Array, neighbours: Array, tree: Array, count: int,
    first: int, last: int,
) -> int:  # fmt: skip
    """Go through edges first..last of the spanning tree and insert; return the number of points.

    At each end v of an edge xv, the edge vz that meets it at the smallest angle is found; below 120
    degrees a Steiner point joins x, v and z. It gets its place from the optimisation that follows.
    """
    for e in range(first, last):
        for end in range(2):
            v, x = tree[e, end], tree[e, 1 - end]
            i = start[v]
            while i < start[v] + degree[v] and neighbours[i] != x:
                i += 1
            if i == start[v] + degree[v]:
                continue  # a Steiner point took this edge already
            j = beside(points, start, degree, neighbours, v, i)
            if j < 0:
                continue
            z = neighbours[j]
            _put_inside(points, count, v, x, z)
            for k, other in enumerate((x, v, z)):
                neighbours[start[count] + k] = other
            degree[count] = 3
            for other in (x, z):
                for k in range(start[other], start[other] + degree[other]):
                    if neighbours[k] == v:
                        neighbours[k] = count
            neighbours[i] = count
            neighbours[j] = neighbours[start[v] + degree[v] - 1]
            degree[v] -= 1
            count += 1
    return count


@njit(cache=True)
def longest_first(points: Array, tree: Array) -> Array:
    """Return the edges of the spanning tree, the longest first."""
    lengths = np.empty(tree.shape[0])
    for e in range(tree.shape[0]):
        a, b = tree[e, 0], tree[e, 1]
        lengths[e] = -math.hypot(points[a, 0] - points[b, 0], points[a, 1] - points[b, 1])
    order = np.argsort(lengths, kind="mergesort")
    result = np.empty_like(tree)
    for k in range(tree.shape[0]):
        result[k, 0], result[k, 1] = tree[order[k], 0], tree[order[k], 1]
    return result


@njit(cache=True)
def begin(terminals: Array, tree: Array) -> tuple[Array, Array, Array, Array]:
    """Return (points, start, degree, neighbours) of the spanning tree, with room to insert."""
    n = terminals.shape[0]
    points = np.empty((2 * n, 2))
    for v in range(n):
        points[v, 0], points[v, 1] = terminals[v, 0], terminals[v, 1]
    start, degree, neighbours = slots_of(n, tree)
    return points, start, degree, neighbours


@njit(cache=True, nogil=True)
def insert_batch(
    terminals: Array, counts: Array, steiner: Array, edges: Array, first: int, last: int
) -> None:
    """Run the insertion heuristic on instances first..last; write points and edges."""
    n = terminals.shape[1]
    tree = np.empty((n - 1, 2), dtype=np.int64)
    for b in range(first, last):
        prim(terminals[b], tree)
        ordered = longest_first(terminals[b], tree)
        points, start, degree, neighbours = begin(terminals[b], ordered)
        count = insert_along(points, start, degree, neighbours, ordered, n, 0, n - 1)
        counts[b] = count
        for s in range(n, count):
            steiner[b, s - n, 0], steiner[b, s - n, 1] = points[s, 0], points[s, 1]
        write_edges(start, degree, neighbours, count, edges[b])
