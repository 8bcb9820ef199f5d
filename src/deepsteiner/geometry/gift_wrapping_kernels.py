"""The Delaunay triangulation of few points by gift wrapping, in O(n^2) and without set-up cost."""

from __future__ import annotations

import numpy as np
from numba import njit

from ..core.points import Array

# Sine of the angle below which three points count as lying on one line.
FLAT = 1e-13


@njit(cache=True)
def nearest_to(points: Array, v: int) -> int:
    """Return the point nearest to point v."""
    best, nearest = np.inf, -1
    for u in range(points.shape[0]):
        dx, dy = points[u, 0] - points[v, 0], points[u, 1] - points[v, 1]
        if u != v and dx * dx + dy * dy < best:
            best, nearest = dx * dx + dy * dy, u
    return nearest


@njit(cache=True)
def apex(points: Array, a: int, b: int) -> int:
    """Return the point left of ab that sees ab under the widest angle, or -1.

    No point left of ab lies inside the circle through a, b and that point.
    """
    ax, ay, bx, by = points[a, 0], points[a, 1], points[b, 0], points[b, 1]
    best, top = np.inf, -1
    for c in range(points.shape[0]):
        if c in (a, b):
            continue
        px, py = ax - points[c, 0], ay - points[c, 1]
        qx, qy = bx - points[c, 0], by - points[c, 1]
        cross, dot = px * qy - py * qx, px * qx + py * qy
        # The smaller the cotangent of the angle at c, the wider the angle.
        if cross > FLAT * (abs(dot) + cross) and dot < best * cross:
            best, top = dot / cross, c
    return top


@njit(cache=True)
def triangulate(points: Array, triangles: Array, neighbours: Array) -> int:
    """Write the Delaunay triangles (at most 2n) and return their number.

    Corners stand counterclockwise; neighbours[t, k] is the triangle across the edge opposite
    corner k, or -1. From an edge to the nearest neighbour, which every triangulation has, triangles
    are found one by one across the edges already known. Where four points share a circle rounding
    may pick overlapping triangles: the list is then still one of triangles with empty circles.
    """
    n = points.shape[0]
    owner = np.full((n, n), -1, dtype=np.int64)  # the triangle left of each directed edge
    pending = np.empty((2 * triangles.shape[0] + 2, 2), dtype=np.int64)
    pending[0, 0], pending[0, 1] = 0, nearest_to(points, 0)
    pending[1, 0], pending[1, 1] = pending[0, 1], 0
    waiting, count = 2, 0
    # Every turn takes an edge off; only a new triangle, at most 2n of them, adds any.
    while waiting > 0 and count < triangles.shape[0]:
        waiting -= 1
        a, b = pending[waiting, 0], pending[waiting, 1]
        if owner[a, b] >= 0:
            continue
        c = apex(points, a, b)
        if c < 0:
            continue
        triangles[count, 0], triangles[count, 1], triangles[count, 2] = a, b, c
        owner[a, b] = owner[b, c] = owner[c, a] = count
        count += 1
        for tail, head in ((c, b), (a, c)):
            if owner[tail, head] < 0:
                pending[waiting, 0], pending[waiting, 1] = tail, head
                waiting += 1
    for t in range(count):
        for k in range(3):
            tail, head = triangles[t, (k + 1) % 3], triangles[t, (k + 2) % 3]
            neighbours[t, k] = owner[head, tail]
    return count
