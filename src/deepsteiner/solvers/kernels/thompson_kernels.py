"""Kernels of edge insertion: Fermat points, and Steiner points put into the narrowest angles.

The tree under insertion stands in slots: vertex v keeps its neighbours in
neighbours[start[v] : start[v] + degree[v]]. Replacing two edges at v by one never raises a degree,
so the slots that the starting tree needs, and three for each Steiner point, are enough.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from ...core.points import Array
from ...geometry.spanning_kernels import prim

# Cosine above that of 120 degrees at which two edges count as meeting below 120 degrees.
ANGLE_SLACK = 1e-7


@njit(cache=True)
def fermat_point(
    ax: float, ay: float, bx: float, by: float, cx: float, cy: float
) -> tuple[float, float, int]:
    """Return (x, y, corner): the point with the least sum of distances to three points.

    `corner` is 0, 1 or 2 where the point is that corner (its angle is 120 degrees or more), else
    -1. The point lies on the Simpson line from c to the equilateral point of ab, opposite c.
    """
    px, py, qx, qy, rx, ry = ax - cx, ay - cy, bx - ax, by - ay, cx - bx, cy - by
    p, q, r = math.hypot(px, py), math.hypot(qx, qy), math.hypot(rx, ry)
    if px * qx + py * qy >= 0.5 * p * q:
        return ax, ay, 0
    if qx * rx + qy * ry >= 0.5 * q * r:
        return bx, by, 1
    if rx * px + ry * py >= 0.5 * r * p:
        return cx, cy, 2
    side = 1.0 if qx * ry - qy * rx > 0.0 else -1.0
    height = -0.5 * math.sqrt(3.0) * side
    # The equilateral point and the circle's centre, both seen from the middle of ab.
    ex, ey = -height * qy, height * qx
    mx, my = 0.5 * (ax + bx), 0.5 * (ay + by)
    dx, dy = cx - mx - ex, cy - my - ey
    share = -4.0 / 3.0 * (ex * dx + ey * dy) / (dx * dx + dy * dy)
    return mx + ex + share * dx, my + ey + share * dy, -1


@njit(cache=True)
def slots_of(n: int, edges: Array) -> tuple[Array, Array, Array]:
    """Return (start, degree, neighbours) of a spanning tree, with room for n Steiner points."""
    start = np.zeros(2 * n, dtype=np.int64)
    degree = np.zeros(2 * n, dtype=np.int64)
    for e in range(n - 1):
        degree[edges[e, 0]] += 1
        degree[edges[e, 1]] += 1
    for v in range(1, n):
        start[v] = start[v - 1] + degree[v - 1]
    for v in range(n, 2 * n):
        start[v] = 2 * (n - 1) + 3 * (v - n)
    neighbours = np.empty(2 * (n - 1) + 3 * n, dtype=np.int64)
    degree[:n] = 0
    for e in range(n - 1):
        for end in range(2):
            v = edges[e, end]
            neighbours[start[v] + degree[v]] = edges[e, 1 - end]
            degree[v] += 1
    return start, degree, neighbours


@njit(cache=True)
def narrowest(
    points: Array, start: Array, degree: Array, neighbours: Array, v: int
) -> tuple[float, int, int]:
    """Return (cosine, slot, slot) of the narrowest angle at v; a cosine of -1 where there is none.

    Edges of length zero have no direction and are left out.
    """
    best, best_i, best_j = -1.0, -1, -1
    for i in range(start[v], start[v] + degree[v]):
        ax = points[neighbours[i], 0] - points[v, 0]
        ay = points[neighbours[i], 1] - points[v, 1]
        a = math.hypot(ax, ay)
        for j in range(i + 1, start[v] + degree[v]):
            bx = points[neighbours[j], 0] - points[v, 0]
            by = points[neighbours[j], 1] - points[v, 1]
            scale = a * math.hypot(bx, by)
            if scale > 0.0 and (ax * bx + ay * by) / scale > best:
                best, best_i, best_j = (ax * bx + ay * by) / scale, i, j
    return best, best_i, best_j


@njit(cache=True)
def _push(heap: Array, size: int, cosine: float, vertex: int) -> int:
    """Put (cosine, vertex) into the heap, largest cosine on top and lower vertices first."""
    k = size
    while k > 0:
        up = (k - 1) // 2
        if heap[up, 0] > cosine or (heap[up, 0] == cosine and heap[up, 1] <= vertex):
            break
        heap[k, 0], heap[k, 1] = heap[up, 0], heap[up, 1]
        k = up
    heap[k, 0], heap[k, 1] = cosine, vertex
    return size + 1


@njit(cache=True)
def _pop(heap: Array, size: int) -> int:
    """Remove the top of the heap; return the new size."""
    size -= 1
    cosine, vertex = heap[size, 0], heap[size, 1]
    k = 0
    while 2 * k + 1 < size:
        child = 2 * k + 1
        other = child + 1
        if other < size and (
            heap[other, 0] > heap[child, 0]
            or (heap[other, 0] == heap[child, 0] and heap[other, 1] < heap[child, 1])
        ):
            child = other
        if heap[child, 0] < cosine or (heap[child, 0] == cosine and heap[child, 1] >= vertex):
            break
        heap[k, 0], heap[k, 1] = heap[child, 0], heap[child, 1]
        k = child
    heap[k, 0], heap[k, 1] = cosine, vertex
    return size


@njit(cache=True)
def begin(terminals: Array, edges: Array) -> tuple[Array, Array, Array, Array, Array, Array]:
    """Return (points, start, degree, neighbours, heap, counts) for `insert_some`.

    counts[0] is the number of points, counts[1] the size of the heap.
    """
    n = terminals.shape[0]
    points = np.empty((2 * n, 2))
    for v in range(n):
        points[v, 0], points[v, 1] = terminals[v, 0], terminals[v, 1]
    start, degree, neighbours = slots_of(n, edges)
    heap = np.empty((4 * n, 2))  # every insertion adds at most three entries
    counts = np.array([n, 0], dtype=np.int64)
    for v in range(n):
        _note(points, start, degree, neighbours, heap, counts, v)
    return points, start, degree, neighbours, heap, counts


@njit(cache=True)
def _note(
    points: Array,
    start: Array,
    degree: Array,
    neighbours: Array,
    heap: Array,
    counts: Array,
    v: int,
) -> None:
    """Put the narrowest angle at v into the heap where it is below 120 degrees."""
    cosine, _, _ = narrowest(points, start, degree, neighbours, v)
    if cosine > -0.5 + ANGLE_SLACK:
        counts[1] = _push(heap, counts[1], cosine, v)


@njit(cache=True)
def _redirect(start: Array, degree: Array, neighbours: Array, v: int, old: int, new: int) -> None:
    """Replace one neighbour of v by another."""
    for i in range(start[v], start[v] + degree[v]):
        if neighbours[i] == old:
            neighbours[i] = new
            return


@njit(cache=True)
def insert_some(
    n: int, points: Array, start: Array, degree: Array, neighbours: Array, heap: Array,
    counts: Array, most: int,
) -> float:  # fmt: skip
    """Insert up to `most` Steiner points, narrowest angle first; return what they saved.

    Entries of the heap that no longer hold are dropped: the angle they tell of has changed. When
    counts[1] is 0 afterwards no two edges meet below 120 degrees at a terminal.
    """
    saved = 0.0
    # Every turn takes an entry off the heap; only insertions add any, and each takes an edge away
    # from a terminal that has two.
    while most > 0 and counts[1] > 0:
        cosine, v = heap[0, 0], int(heap[0, 1])
        counts[1] = _pop(heap, counts[1])
        now, i, j = narrowest(points, start, degree, neighbours, v)
        if now != cosine:
            continue
        a, b, new = neighbours[i], neighbours[j], counts[0]
        x, y, _ = fermat_point(
            points[a, 0], points[a, 1], points[b, 0], points[b, 1], points[v, 0], points[v, 1]
        )
        points[new, 0], points[new, 1] = x, y
        counts[0] = new + 1
        neighbours[i] = new
        neighbours[j] = neighbours[start[v] + degree[v] - 1]
        degree[v] -= 1
        degree[new] = 3
        for k, other in enumerate((a, b, v)):
            neighbours[start[new] + k] = other
            saved -= math.hypot(points[other, 0] - x, points[other, 1] - y)
        for other in (a, b):
            saved += math.hypot(points[other, 0] - points[v, 0], points[other, 1] - points[v, 1])
            _redirect(start, degree, neighbours, other, v, new)
        for other in (a, b, v):
            if other < n:
                _note(points, start, degree, neighbours, heap, counts, other)
        most -= 1
    return saved


@njit(cache=True)
def write_edges(start: Array, degree: Array, neighbours: Array, count: int, edges: Array) -> None:
    """Write the edges of the tree over `count` points, each once."""
    row = 0
    for v in range(count):
        for i in range(start[v], start[v] + degree[v]):
            if neighbours[i] > v:
                edges[row, 0], edges[row, 1] = v, neighbours[i]
                row += 1


@njit(cache=True, nogil=True)
def insert_batch(
    terminals: Array, sizes: Array, steiner: Array, edges: Array, first: int, last: int
) -> None:
    """Run insertion over the spanning trees of instances first..last; write points and edges."""
    n = terminals.shape[1]
    tree = np.empty((n - 1, 2), dtype=np.int64)
    for b in range(first, last):
        prim(terminals[b], tree)
        points, start, degree, neighbours, heap, counts = begin(terminals[b], tree)
        insert_some(n, points, start, degree, neighbours, heap, counts, n)
        sizes[b] = counts[0]
        for s in range(n, counts[0]):
            steiner[b, s - n, 0], steiner[b, s - n, 1] = points[s, 0], points[s, 1]
        write_edges(start, degree, neighbours, counts[0], edges[b])


@njit(cache=True, nogil=True)
def piece_labels(n: int, edges: Array, size: int) -> Array:
    """Return a label per edge that cuts a tree, at terminals 0..n-1, into connected pieces.

    Pieces have about `size` edges or more. Seen from terminal 0, a terminal with that many edges
    below it, not counting pieces already cut off, becomes the top of a piece.
    """
    count = edges.shape[0] + 1
    first = np.zeros(count + 2, dtype=np.int64)
    for e in range(count - 1):
        first[edges[e, 0] + 2] += 1
        first[edges[e, 1] + 2] += 1
    for v in range(count):
        first[v + 2] += first[v + 1]
    at = np.empty(2 * (count - 1), dtype=np.int64)
    for e in range(count - 1):
        for end in range(2):
            v = edges[e, end] + 1
            at[first[v]] = e
            first[v] += 1
    order, above = np.empty(count, dtype=np.int64), np.full(count, -1, dtype=np.int64)
    order[0] = 0
    reached = 1
    for k in range(count):
        v = order[k]
        for i in range(first[v], first[v + 1]):
            if at[i] != above[v]:
                other = edges[at[i], 0] + edges[at[i], 1] - v
                above[other] = at[i]
                order[reached] = other
                reached += 1
    below, top = np.zeros(count, dtype=np.int64), np.zeros(count, dtype=np.bool_)
    top[0] = True
    for k in range(count - 1, 0, -1):
        v = order[k]
        top[v] = v < n and below[v] >= size
        parent = edges[above[v], 0] + edges[above[v], 1] - v
        below[parent] += 1 if top[v] else below[v] + 1
    labels, piece = np.empty(count - 1, dtype=np.int64), np.zeros(count, dtype=np.int64)
    pieces = 1
    for k in range(1, count):
        v = order[k]
        labels[above[v]] = piece[edges[above[v], 0] + edges[above[v], 1] - v]
        piece[v] = labels[above[v]]
        if top[v]:
            piece[v] = pieces
            pieces += 1
    return labels
