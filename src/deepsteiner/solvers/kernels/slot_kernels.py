"""A tree under insertion: Fermat points, angles, and Steiner points put between two edges.

Replacing two edges at a vertex by one never raises a degree, so the slots that the spanning tree
needs, and three for each Steiner point, are enough.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import njit

from ...core.points import Array
from ...geometry.relax_component_kernels import step
from ...geometry.relax_tree_kernels import copy_rows
from ...run.method import TreeRows

# Two edges meet below 120 degrees where the cosine exceeds that of 120 degrees by this much.
ANGLE_SLACK = 1e-7
NARROW = -0.5 + ANGLE_SLACK


class SlotTree(NamedTuple):
    """A tree over n terminals with room for n Steiner points.

    Attributes
    ----------
    points
        (2n, 2) terminals, then Steiner points.
    start, degree, neighbours
        Vertex v keeps its neighbours in neighbours[start[v] : start[v] + degree[v]].
    size
        (1,) number of points in use.
    """

    points: Array
    start: Array
    degree: Array
    neighbours: Array
    size: Array


@njit(cache=True)
def fermat_point(points: Array, a: int, b: int, c: int) -> tuple[float, float, int]:
    """Return (x, y, corner): the point with the least sum of distances to points a, b and c.

    `corner` is 0, 1 or 2 where the point is that corner (its angle is 120 degrees or more), else
    -1. The point lies on the Simpson line from c to the equilateral point of ab, opposite c.
    """
    ax, ay, bx, by = points[a, 0], points[a, 1], points[b, 0], points[b, 1]
    cx, cy = points[c, 0], points[c, 1]
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
def distance(points: Array, v: int, x: float, y: float) -> float:
    """Return how far point v is from (x, y)."""
    return math.hypot(points[v, 0] - x, points[v, 1] - y)


@njit(cache=True)
def cosine(points: Array, v: int, a: int, b: int) -> float:
    """Return the cosine of the angle avb; -1 where an edge of length zero has no direction."""
    ax, ay = points[a, 0] - points[v, 0], points[a, 1] - points[v, 1]
    bx, by = points[b, 0] - points[v, 0], points[b, 1] - points[v, 1]
    scale = math.hypot(ax, ay) * math.hypot(bx, by)
    return (ax * bx + ay * by) / scale if scale > 0.0 else -1.0


@njit(cache=True)
def slots_of(terminals: Array, edges: Array) -> SlotTree:
    """Return a spanning tree of the terminals in slots."""
    n = terminals.shape[0]
    points = np.empty((2 * n, 2))
    copy_rows(terminals, points, n)
    start, degree = np.zeros(2 * n, dtype=np.int64), np.zeros(2 * n, dtype=np.int64)
    for e in range(n - 1):
        degree[edges[e, 0]] += 1
        degree[edges[e, 1]] += 1
    for v in range(1, 2 * n):
        start[v] = start[v - 1] + (degree[v - 1] if v <= n else 3)
    neighbours = np.empty(2 * (n - 1) + 3 * n, dtype=np.int64)
    degree[:n] = 0
    for e in range(n - 1):
        for end in range(2):
            v = edges[e, end]
            neighbours[start[v] + degree[v]] = edges[e, 1 - end]
            degree[v] += 1
    return SlotTree(points, start, degree, neighbours, np.full(1, n))


@step
def insert(tree: SlotTree, v: int, i: int, j: int, x: float, y: float) -> None:
    """Join v and its neighbours in slots i and j by a new Steiner point at (x, y)."""
    points, start, degree, neighbours, size = tree
    new, a, b = size[0], neighbours[i], neighbours[j]
    size[0] += 1
    points[new, 0], points[new, 1] = x, y
    neighbours[i] = new
    neighbours[j] = neighbours[start[v] + degree[v] - 1]
    degree[v] -= 1
    degree[new] = 3
    for k, other in enumerate((a, b, v)):
        neighbours[start[new] + k] = other
    for other in (a, b):
        for k in range(start[other], start[other] + degree[other]):
            if neighbours[k] == v:
                neighbours[k] = new


@njit(cache=True)
def edges_of(tree: SlotTree) -> Array:
    """Return the edges of the tree, each once."""
    edges = np.empty((tree.size[0] - 1, 2), dtype=np.int64)
    row = 0
    for v in range(tree.size[0]):
        for i in range(tree.start[v], tree.start[v] + tree.degree[v]):
            if tree.neighbours[i] > v:
                edges[row, 0], edges[row, 1] = v, tree.neighbours[i]
                row += 1
    return edges


@njit(cache=True)
def put_tree(points: Array, size: int, edges: Array, rows: TreeRows, b: int) -> None:
    """Write instance b's tree: `size` points, terminals first, and its edges."""
    n = rows.steiner.shape[1]
    rows.sizes[b] = size
    copy_rows(points[n:], rows.steiner[b], size - n)
    copy_rows(edges, rows.edges[b], size - 1)
