"""Places and vectors in the plane as complex numbers: products, lengths, and Fermat points."""

from __future__ import annotations

import math

import numpy as np

from ..core.jit import njit
from ..core.points import Array

ROOT3 = math.sqrt(3.0)
# A clockwise turn by 60 degrees.
SIXTH = complex(0.5, -0.5 * ROOT3)


@njit(cache=True)
def norm(v: complex) -> float:
    """Return the length of a vector; `abs` is slower, but its squares never overflow."""
    return math.sqrt(v.real * v.real + v.imag * v.imag)


@njit(cache=True)
def dot(v: complex, w: complex) -> float:
    """Return the scalar product of two vectors."""
    return v.real * w.real + v.imag * w.imag


@njit(cache=True)
def cross(v: complex, w: complex) -> float:
    """Return the area spanned by two vectors, positive where w is to the left of v."""
    return v.real * w.imag - v.imag * w.real


@njit(cache=True)
def places_of(points: Array) -> Array:
    """Return (n, 2) points as n complex numbers, in the same memory."""
    return points.view(np.complex128).reshape(points.shape[0])


@njit(cache=True)
def points_of(places: Array) -> Array:
    """Return n complex numbers as (n, 2) points, in the same memory."""
    return places.view(np.float64).reshape(places.shape[0], 2)


@njit(cache=True)
def with_room(points: Array, room: int) -> Array:
    """Return (n, 2) points as the first of `room` complex numbers."""
    places = np.empty(room, np.complex128)
    for i in range(points.shape[0]):
        places[i] = complex(points[i, 0], points[i, 1])
    return places


@njit(cache=True)
def fermat_point(a: complex, b: complex, c: complex) -> tuple[complex, int]:
    """Return (place, corner): the point with the least sum of distances to a, b and c.

    `corner` is 0, 1 or 2 where the point is that corner (its angle is 120 degrees or more), else
    -1. The point lies on the Simpson line from c to the equilateral point of ab, opposite c.
    """
    p, q, r = a - c, b - a, c - b
    to_p, to_q, to_r = abs(p), abs(q), abs(r)
    if dot(p, q) >= 0.5 * to_p * to_q:
        return a, 0
    if dot(q, r) >= 0.5 * to_q * to_r:
        return b, 1
    if dot(r, p) >= 0.5 * to_r * to_p:
        return c, 2
    # The equilateral point, seen from the middle of ab.
    apex = q * complex(0.0, -0.5 * ROOT3 if cross(q, r) > 0.0 else 0.5 * ROOT3)
    middle = 0.5 * (a + b)
    line = c - middle - apex
    share = -4.0 / 3.0 * dot(apex, line) / dot(line, line)
    return middle + apex + share * line, -1


@njit(cache=True)
def cosine(v: complex, a: complex, b: complex) -> float:
    """Return the cosine of the angle avb; -1 where an edge of length zero has no direction."""
    scale = abs(a - v) * abs(b - v)
    return dot(a - v, b - v) / scale if scale > 0.0 else -1.0
