"""Intervals of directions, held as two unit vectors, and the cuts that tests make in them.

Every edge length of a growing full Steiner tree is w · u, with u the unit direction in which the
tree leaves its last Steiner point and w a fixed vector. A test "at most c" or "at least c" is
therefore an arc of directions, and cutting needs square roots only.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeVar, cast

from numba import njit

Kernel = TypeVar("Kernel", bound=Callable[..., Any])


def lean(function: Kernel) -> Kernel:
    """Compile a kernel that allocates nothing, without reference counting.

    Counting references to the many arrays that are passed around costs as much as the work.
    """
    compile_lean: Any = njit
    return cast(Kernel, compile_lean(cache=True, error_model="numpy", _nrt=False)(function))


HALF_ROOT3 = math.sqrt(3.0) / 2.0

Interval = tuple[bool, float, float, float, float]
"""Not empty?, then the clockwise and the counter-clockwise end."""


@lean
def norm(x: float, y: float) -> float:
    """Length of a vector whose square cannot overflow (much faster than hypot)."""
    return math.sqrt(x * x + y * y)


@lean
def turn(x: float, y: float, sixths: int) -> tuple[float, float]:
    """Rotate a vector counter-clockwise by a number of sixths of a full turn (any integer)."""
    m = sixths % 6
    if m == 0:
        return x, y
    if m == 1:
        return 0.5 * x - HALF_ROOT3 * y, HALF_ROOT3 * x + 0.5 * y
    if m == 2:
        return -0.5 * x - HALF_ROOT3 * y, HALF_ROOT3 * x - 0.5 * y
    if m == 3:
        return -x, -y
    if m == 4:
        return -0.5 * x + HALF_ROOT3 * y, -HALF_ROOT3 * x - 0.5 * y
    return 0.5 * x + HALF_ROOT3 * y, -HALF_ROOT3 * x + 0.5 * y


@lean
def meet(
    ax: float, ay: float, bx: float, by: float, cx: float, cy: float, dx: float, dy: float
) -> Interval:
    """Common part of the intervals [a, b] and [c, d], each at most a sixth of a turn wide."""
    if ax * cx + ay * cy <= 0.0:
        return False, ax, ay, bx, by
    if ax * cy - ay * cx > 0.0:
        ax, ay = cx, cy
    if bx * dy - by * dx < 0.0:
        bx, by = dx, dy
    return ax * by - ay * bx >= 0.0, ax, ay, bx, by


@lean
def keep_at_least(
    wx: float, wy: float, c: float, ax: float, ay: float, bx: float, by: float
) -> Interval:
    """Directions u of [a, b] with w · u >= c, for c >= 0."""
    at_a = wx * ax + wy * ay >= c
    at_b = wx * bx + wy * by >= c
    if at_a and at_b:
        return True, ax, ay, bx, by
    square = wx * wx + wy * wy
    rest = square - c * c
    if rest <= 0.0:
        return False, ax, ay, bx, by
    if not at_a and not at_b and (ax * wy - ay * wx < 0.0 or wx * by - wy * bx < 0.0):
        return False, ax, ay, bx, by
    along = c / square
    across = math.sqrt(rest) / square
    if not at_a:
        ax, ay = along * wx + across * wy, along * wy - across * wx
    if not at_b:
        bx, by = along * wx - across * wy, along * wy + across * wx
    return True, ax, ay, bx, by


@lean
def keep_at_most(
    wx: float, wy: float, c: float, ax: float, ay: float, bx: float, by: float
) -> Interval:
    """Smallest interval around the directions u of [a, b] with w · u <= c."""
    over_a = wx * ax + wy * ay > c
    over_b = wx * bx + wy * by > c
    if not over_a and not over_b:
        return True, ax, ay, bx, by
    if (over_a and over_b) or c < 0.0:
        return False, ax, ay, bx, by
    square = wx * wx + wy * wy
    along = c / square
    across = math.sqrt(max(square - c * c, 0.0)) / square
    if over_a:
        ax, ay = along * wx - across * wy, along * wy + across * wx
    else:
        bx, by = along * wx + across * wy, along * wy - across * wx
    return ax * by - ay * bx >= 0.0, ax, ay, bx, by
