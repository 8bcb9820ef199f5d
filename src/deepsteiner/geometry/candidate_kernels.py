"""Candidate kernels: points on 120-degree arcs over given pairs, and which pairs to take."""

from __future__ import annotations

import math

import numpy as np

from ..core.jit import njit
from ..core.points import Array
from .vector_kernels import dot


@njit(cache=True)
def arc_points(places: Array, pairs: Array, count: int, k_star: int, out: Array) -> None:
    """Write 2 * k_star points for each of the first `count` pairs into `out`.

    From a point on the arc the segment ab is seen under 120 degrees. The arc's circle has radius
    |ab| / sqrt(3), its centre lies |ab| / (2 sqrt(3)) beyond the midpoint on the other side, and
    the arc itself covers 120 degrees of it; its k_star interior points are equally spaced.
    """
    radius = 1.0 / math.sqrt(3.0)
    row = 0
    for e in range(count):
        a, b = places[pairs[e, 0]], places[pairs[e, 1]]
        m, u = 0.5 * (a + b), b - a
        for side in (1.0, -1.0):
            for i in range(1, k_star + 1):
                # Angle from the direction of the arc's top: -60 degrees is a, +60 degrees is b.
                angle = (i / (k_star + 1) - 0.5) * (2.0 * math.pi / 3.0)
                along = radius * math.sin(angle)
                across = side * (radius * math.cos(angle) - 0.5 * radius)
                x = m.real + along * u.real - across * u.imag
                out[row] = complex(x, m.imag + along * u.imag + across * u.real)
                row += 1


@njit(cache=True)
def insert_sorted(u: int, d: float, found: int, near: Array, distance: Array) -> int:
    """Put u into a list by (distance, number) of `found` members; return how many it has now."""
    slot = found
    while slot > 0 and (distance[slot - 1] > d or (distance[slot - 1] == d and near[slot - 1] > u)):
        distance[slot], near[slot] = distance[slot - 1], near[slot - 1]
        slot -= 1
    distance[slot], near[slot] = d, u
    return found + 1


@njit(cache=True)
def neighbour_pairs(places: Array, n: int, k: int, pairs: Array) -> int:
    """Write (v, u) for the k nearest u of every v among the first n points; return the count."""
    k = min(k, n - 1)
    near, distance = np.empty(k + 1, dtype=np.int64), np.empty(k + 1)
    row = 0
    for v in range(n):
        held = 0
        for u in range(n):
            if u != v:
                d = places[u] - places[v]
                held = min(insert_sorted(u, dot(d, d), held, near, distance), k)
        for i in range(held):
            pairs[row, 0], pairs[row, 1] = v, near[i]
            row += 1
    return row


@njit(cache=True)
def all_pairs(n: int, pairs: Array) -> int:
    """Write every pair a < b; return the count."""
    row = 0
    for a in range(n):
        for b in range(a + 1, n):
            pairs[row, 0], pairs[row, 1] = a, b
            row += 1
    return row
