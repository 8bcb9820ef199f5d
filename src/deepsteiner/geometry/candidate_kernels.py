"""Candidate kernels: points on 120-degree arcs over given pairs, and which pairs to take."""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from ..core.points import Array


@njit(cache=True)
def arc_points(points: Array, pairs: Array, count: int, k_star: int, out: Array) -> None:
    """Write 2 * k_star points for each of the first `count` pairs into `out`.

    From a point on the arc the segment ab is seen under 120 degrees. The arc's circle has radius
    |ab| / sqrt(3), its centre lies |ab| / (2 sqrt(3)) beyond the midpoint on the other side, and
    the arc itself covers 120 degrees of it; its k_star interior points are equally spaced.
    """
    radius = 1.0 / math.sqrt(3.0)
    row = 0
    for e in range(count):
        ax, ay = points[pairs[e, 0], 0], points[pairs[e, 0], 1]
        bx, by = points[pairs[e, 1], 0], points[pairs[e, 1], 1]
        mx, my = 0.5 * (ax + bx), 0.5 * (ay + by)
        ux, uy = bx - ax, by - ay
        for side in (1.0, -1.0):
            for i in range(1, k_star + 1):
                # Angle from the direction of the arc's top: -60 degrees is a, +60 degrees is b.
                angle = (i / (k_star + 1) - 0.5) * (2.0 * math.pi / 3.0)
                along = radius * math.sin(angle)
                across = side * (radius * math.cos(angle) - 0.5 * radius)
                out[row, 0] = mx + along * ux - across * uy
                out[row, 1] = my + along * uy + across * ux
                row += 1


@njit(cache=True)
def neighbour_pairs(points: Array, n: int, k: int, pairs: Array) -> int:
    """Write (v, u) for the k nearest u of every v among the first n points; return the count."""
    k = min(k, n - 1)
    near = np.empty(k, dtype=np.int64)
    distance = np.empty(k)
    row = 0
    for v in range(n):
        held = 0
        for u in range(n):
            if u == v:
                continue
            dx, dy = points[u, 0] - points[v, 0], points[u, 1] - points[v, 1]
            d = dx * dx + dy * dy
            if held == k and d >= distance[k - 1]:
                continue
            slot = held if held < k else k - 1
            while slot > 0 and distance[slot - 1] > d:
                distance[slot] = distance[slot - 1]
                near[slot] = near[slot - 1]
                slot -= 1
            distance[slot] = d
            near[slot] = u
            held = min(held + 1, k)
        for i in range(held):
            pairs[row, 0] = v
            pairs[row, 1] = near[i]
            row += 1
    return row


@njit(cache=True)
def all_pairs(n: int, pairs: Array) -> int:
    """Write every pair a < b; return the count."""
    row = 0
    for a in range(n):
        for b in range(a + 1, n):
            pairs[row, 0] = a
            pairs[row, 1] = b
            row += 1
    return row
