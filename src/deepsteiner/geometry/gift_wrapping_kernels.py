"""The Delaunay triangulation of few points by gift wrapping, in O(n^2) and without set-up cost."""

from __future__ import annotations

import numpy as np

from ..core.jit import njit
from ..core.points import Array
from .vector_kernels import cross, dot, places_of

# Sine of the angle below which three points count as lying on one line.
FLAT = 1e-13


@njit(cache=True)
def nearest_to(places: Array, v: int) -> int:
    """Return the point nearest to point v."""
    best, nearest = np.inf, -1
    for u in range(places.shape[0]):
        gap = places[u] - places[v]
        if u != v and dot(gap, gap) < best:
            best, nearest = dot(gap, gap), u
    return nearest


@njit(cache=True)
def apex(places: Array, a: int, b: int) -> int:
    """Return the point left of ab that sees ab under the widest angle, or -1.

    No point left of ab lies inside the circle through a, b and that point.
    """
    best, top = np.inf, -1
    for c in range(places.shape[0]):
        if c in (a, b):
            continue
        to_a, to_b = places[a] - places[c], places[b] - places[c]
        sine, cosine = cross(to_a, to_b), dot(to_a, to_b)
        # The smaller the cotangent of the angle at c, the wider the angle.
        if sine > FLAT * (abs(cosine) + sine) and cosine < best * sine:
            best, top = cosine / sine, c
    return top


@njit(cache=True)
def triangulate(points: Array) -> tuple[Array, Array]:
    """Return the Delaunay triangles (at most 2n) and their neighbours.

    Corners stand counterclockwise; neighbours[t, k] is the triangle across the edge opposite
    corner k, or -1. From an edge to the nearest neighbour, which every triangulation has, triangles
    are found one by one across the edges already known. Where four points share a circle rounding
    may pick overlapping triangles: the list is then still one of triangles with empty circles.
    """
    n, places = points.shape[0], places_of(points)
    triangles, neighbours = np.empty((2 * n, 3), np.int64), np.empty((2 * n, 3), np.int64)
    owner = np.full((n, n), -1, dtype=np.int64)  # the triangle left of each directed edge
    pending = np.empty((4 * n + 2, 2), dtype=np.int64)
    pending[0, 0], pending[0, 1] = 0, nearest_to(places, 0)
    pending[1, 0], pending[1, 1] = pending[0, 1], 0
    waiting, count = 2, 0
    # Every turn takes an edge off; only a new triangle, at most 2n of them, adds any.
    while waiting > 0 and count < 2 * n:
        waiting -= 1
        a, b = pending[waiting, 0], pending[waiting, 1]
        if owner[a, b] >= 0:
            continue
        c = apex(places, a, b)
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
    return triangles[:count], neighbours[:count]
