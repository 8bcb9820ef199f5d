"""Kernels of the tiled triangulation: which triangles of a tile hold everywhere, and adjacency."""

from __future__ import annotations

import math

import numpy as np

from ..core.jit import njit
from ..core.points import Array

# A circle that comes this close to the rim, as a share of its radius, is not trusted.
ROUNDING = 1e-9
# A point this share of the extent inside a line counts as lying on it.
FLAT = 1e-13


@njit(cache=True, nogil=True)
def certified(
    points: Array, own: int, triangles: Array, across: Array, area: Array, bounds: Array
) -> tuple[Array, Array]:
    """Return (complete, kept): own points whose triangles are all certain, and those triangles.

    `area` (x low, x high, y low, y high) is where the tile knows every point, infinite beyond the
    outermost ones, and `bounds` the rectangle of all points. A triangle whose circle lies in the
    area is in the whole triangulation too. A point is complete when that is true of all triangles
    around it and it is not on the hull, except along a side of the bounds. The first `own` points
    are the tile's.
    """
    m = triangles.shape[0]
    complete = np.zeros(points.shape[0], np.bool_)
    for t in range(m):
        for k in range(3):
            complete[triangles[t, k]] = True
    certain = np.empty(m, np.bool_)
    for t in range(m):
        certain[t] = _circle_inside(points, triangles[t], area)
        for k in range(3):
            a, b = triangles[t, (k + 1) % 3], triangles[t, (k + 2) % 3]
            if across[t, k] < 0 and not _on_one_side(points, a, b, bounds):
                complete[a] = complete[b] = False
        if not certain[t]:
            for k in range(3):
                complete[triangles[t, k]] = False
    kept = np.zeros(m, np.bool_)
    for t in range(m):
        for k in range(3):
            v = triangles[t, k]
            kept[t] = kept[t] or (v < own and complete[v])
    return complete[:own].copy(), kept


@njit(cache=True, nogil=True)
def rim(points: Array, order: Array) -> tuple[int, int]:
    """Return how many points lie on the lower and on the upper rim of the hull, or nearly.

    `order` sorts the points by x, then y.
    """
    extent = 0.0
    for axis in range(2):
        extent = max(extent, np.ptp(points[:, axis]))
    chain = np.empty(order.size, np.int64)
    sizes = np.zeros(2, np.int64)
    for side in range(2):
        sign = 1.0 - 2.0 * side
        size = 0
        for k in order:
            while size > 1:
                a, b = chain[size - 2], chain[size - 1]
                dx, dy = points[k, 0] - points[a, 0], points[k, 1] - points[a, 1]
                ex, ey = points[b, 0] - points[a, 0], points[b, 1] - points[a, 1]
                if sign * (ex * dy - ey * dx) >= -FLAT * extent * math.hypot(dx, dy):
                    break
                size -= 1
            chain[size] = k
            size += 1
        sizes[side] = size
    return sizes[0], sizes[1]


@njit(cache=True, nogil=True)
def _circle_inside(points: Array, triangle: Array, area: Array) -> bool:
    """Whether the circle through three points lies in the area; False where it is too flat."""
    x, y = points[triangle[0], 0], points[triangle[0], 1]
    bx, by = points[triangle[1], 0] - x, points[triangle[1], 1] - y
    cx, cy = points[triangle[2], 0] - x, points[triangle[2], 1] - y
    double = 2.0 * (bx * cy - by * cx)
    if double == 0.0:
        return False
    b, c = bx * bx + by * by, cx * cx + cy * cy
    ux, uy = (cy * b - by * c) / double, (bx * c - cx * b) / double
    radius = math.sqrt(ux * ux + uy * uy) * (1.0 + ROUNDING)
    x, y = x + ux, y + uy
    across = x - radius > area[0] and x + radius < area[1]
    return bool(across and y - radius > area[2] and y + radius < area[3])


@njit(cache=True, nogil=True)
def _on_one_side(points: Array, a: int, b: int, bounds: Array) -> bool:
    """Whether two points lie on the same side of the rectangle of all points."""
    found = False
    for k in range(4):
        found = found or (points[a, k // 2] == bounds[k] and points[b, k // 2] == bounds[k])
    return found


@njit(cache=True, nogil=True)
def link(n: int, triangles: Array) -> tuple[Array, Array]:
    """Return (across, edges): the triangle across each side (-1: none), and every edge once.

    Side k of a triangle is opposite its corner k.
    """
    m = triangles.shape[0]
    across = np.full(3 * m, -1, np.int64)
    edges = np.empty((3 * m, 2), np.int64)
    count = 0
    order = _by_corner(n, triangles, _by_corner(n, triangles, np.arange(3 * m), 1), 0)
    for i in range(3 * m):
        side, before = order[i], order[i - 1]
        a, b = _corner(triangles, side, 0), _corner(triangles, side, 1)
        if count == 0 or a != edges[count - 1, 0] or b != edges[count - 1, 1]:
            edges[count, 0], edges[count, 1] = a, b
            count += 1
        elif across[before] < 0:  # always, unless tiles disagree about points on a circle
            across[before], across[side] = side // 3, before // 3
    return across.reshape(m, 3), edges[:count].copy()


@njit(cache=True, nogil=True)
def _corner(triangles: Array, side: int, which: int) -> int:
    """Return the lower (0) or the higher (1) corner of a side."""
    t, k = side // 3, side % 3
    a, b = triangles[t, (k + 1) % 3], triangles[t, (k + 2) % 3]
    return int(max(a, b) if which else min(a, b))


@njit(cache=True, nogil=True)
def _by_corner(n: int, triangles: Array, sides: Array, which: int) -> Array:
    """Return the sides sorted by one of their corners, otherwise in the order given."""
    start = np.zeros(n + 1, np.int64)
    for i in range(sides.size):
        start[_corner(triangles, sides[i], which) + 1] += 1
    for v in range(n):
        start[v + 1] += start[v]
    result = np.empty(sides.size, np.int64)
    for i in range(sides.size):
        v = _corner(triangles, sides[i], which)
        result[start[v]] = sides[i]
        start[v] += 1
    return result
