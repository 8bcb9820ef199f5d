"""Arcs of directions, held by their two end vectors, and the cuts that tests make in them.

Vectors and places are complex numbers. Every edge length of a growing full Steiner tree is w · u,
with u the unit direction in which the tree leaves its last Steiner point and w a fixed vector. A
test "at most c" or "at least c" is therefore an arc of directions, and cutting needs square roots
only.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar, cast

import numpy as np

from ....core.jit import njit

Kernel = TypeVar("Kernel", bound=Callable[..., Any])


def lean(function: Kernel) -> Kernel:
    """Compile a kernel that allocates nothing, without reference counting.

    Counting references to the many arrays that are passed around costs as much as the work.
    """
    compile_lean: Any = njit
    return cast(Kernel, compile_lean(cache=True, error_model="numpy", _nrt=False)(function))


HALF_ROOT3 = math.sqrt(3.0) / 2.0
RIGHT_UP, LEFT_UP = complex(0.5, HALF_ROOT3), complex(-0.5, HALF_ROOT3)
SIXTHS = np.array([1.0, RIGHT_UP, LEFT_UP, -1.0, -RIGHT_UP, -LEFT_UP])
"""The sixth roots of one: multiples of 60 degrees."""


class Arc(NamedTuple):
    """Directions from a counter-clockwise to b, unit vectors at most 60 degrees apart."""

    exists: bool  # False: no direction is left, and a and b mean nothing
    a: complex
    b: complex


NOWHERE = Arc(False, 0j, 0j)


@lean
def dot(v: complex, w: complex) -> float:
    """Scalar product of two vectors."""
    return v.real * w.real + v.imag * w.imag


@lean
def cross(v: complex, w: complex) -> float:
    """Area spanned by two vectors: positive if w is to the left of v."""
    return v.real * w.imag - v.imag * w.real


@lean
def norm(v: complex) -> float:
    """Length of a vector whose square cannot overflow (much faster than hypot)."""
    return math.sqrt(dot(v, v))


@lean
def unit(v: complex) -> complex:
    """The direction of a vector."""
    return v * (1.0 / norm(v))


@lean
def turn(v: complex, sixths: int) -> complex:
    """Rotate a vector counter-clockwise by a number of sixths of a full turn (any integer)."""
    return complex(v * SIXTHS[sixths % 6])


@lean
def meet(one: Arc, two: Arc) -> Arc:
    """Common part of two arcs."""
    if dot(one.a, two.a) <= 0.0:
        return NOWHERE
    a = two.a if cross(one.a, two.a) > 0.0 else one.a
    b = two.b if cross(one.b, two.b) < 0.0 else one.b
    return Arc(cross(a, b) >= 0.0, a, b)


@lean
def keep_at_least(w: complex, c: float, arc: Arc) -> Arc:
    """Directions u of an arc with w · u >= c, for c >= 0."""
    at_a, at_b = dot(w, arc.a) >= c, dot(w, arc.b) >= c
    if not arc.exists or (at_a and at_b):
        return arc
    square = dot(w, w)
    rest = square - c * c
    if rest <= 0.0:
        return NOWHERE
    if not at_a and not at_b and (cross(arc.a, w) < 0.0 or cross(w, arc.b) < 0.0):
        return NOWHERE
    along, across = c / square, math.sqrt(rest) / square
    a = arc.a if at_a else complex(along, -across) * w
    b = arc.b if at_b else complex(along, across) * w
    return Arc(True, a, b)


@lean
def keep_at_most(w: complex, c: float, arc: Arc) -> Arc:
    """Smallest arc around the directions u of an arc with w · u <= c."""
    over_a, over_b = dot(w, arc.a) > c, dot(w, arc.b) > c
    if not arc.exists or not (over_a or over_b):
        return arc
    if (over_a and over_b) or c < 0.0:
        return NOWHERE
    square = dot(w, w)
    along, across = c / square, math.sqrt(max(square - c * c, 0.0)) / square
    a = complex(along, across) * w if over_a else arc.a
    b = complex(along, -across) * w if over_b else arc.b
    return Arc(cross(a, b) >= 0.0, a, b)
