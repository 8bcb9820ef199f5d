"""Partial trees: pairs and branches, from which full Steiner trees of five and six are made.

A partial tree is a full Steiner tree with one edge still open: a pair of terminals on a Steiner
point, or a pair and a third terminal on two. Its row holds

    0, 1   its equilateral point: the open edge leads straight away from it
    2, 3   the centre of the circle on which its last Steiner point lies
    4..7   the directions that the open edge may have: counter-clockwise from one unit vector to
           another, at most 60 degrees further

A terminal is its own equilateral point and centre, with zeros for directions. Two edges meet under
120 degrees, so the open edge's direction u is the right child's turned by -60 degrees and the left
child's turned by 60. A circle's chord from its equilateral point in direction u is 2 (c - q).u
long: every edge length is linear in u, and each rule cuts directions by a half-plane.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ....core.jit import njit
from ....core.points import Array
from .ground import Ground
from .listing_kernels import HALF_ROOT3, ROUNDING, side, three_otherwise
from .quint_kernels import MIDDLES, middles

WIDTH = 8


class GrownPairs(NamedTuple):
    """Pairs of terminals as partial trees.

    ends: (m, 2), the terminals of each pair.
    bound: their bottleneck distances.
    rows: (2 m, WIDTH); row 2 p + s has terminal s of pair p on the right, and zeros where its open
        edge has no direction.
    """

    ends: Array
    bound: Array
    rows: Array


class Branches(NamedTuple):
    """Pairs joined by a third terminal, as partial trees.

    rows: (m, WIDTH), the partial trees.
    pair: the row of the pair's partial tree.
    third: the third terminal.
    right: whether that is on the right (1) or on the left (0).
    instead: the length that connects the three terminals otherwise.
    """

    rows: Array
    pair: Array
    third: Array
    right: Array
    instead: Array


@njit(cache=True, nogil=True)
def _clipped(
    ax: float, ay: float, bx: float, by: float, wx: float, wy: float, most: float
) -> tuple[float, float, float, float]:
    """Return the directions u from a to b with 0 <= w.u <= most; zeros where none is left.

    Where both ends of an interval fit, what lies between is not cut.
    """
    one, two = wx * ax + wy * ay, wx * bx + wy * by
    if one < 0.0 or two < 0.0:
        if one < 0.0 and two < 0.0:
            return 0.0, 0.0, 0.0, 0.0
        size = math.sqrt(wx * wx + wy * wy)
        if one < 0.0:
            ax, ay = wy / size, -wx / size
        else:
            bx, by = -wy / size, wx / size
    if one > most or two > most:
        if one > most and two > most:
            return 0.0, 0.0, 0.0, 0.0
        square = wx * wx + wy * wy
        side = math.sqrt(max(square - most * most, 0.0))
        if one > most:
            ax, ay = (most * wx - side * wy) / square, (most * wy + side * wx) / square
        else:
            bx, by = (most * wx + side * wy) / square, (most * wy - side * wx) / square
    if ax * by - ay * bx > 0.0:
        return ax, ay, bx, by
    return 0.0, 0.0, 0.0, 0.0


@njit(cache=True, nogil=True)
def join(rows: Array, r: int, right: Array, i: int, left: Array, j: int, most: float) -> bool:
    """Write the partial tree of right[i] and left[j], whose two new edges are at most `most` long.

    One of the two is a terminal. Returns whether its open edge has any direction left; if none,
    nothing is written.
    """
    dx, dy = right[i, 0] - left[j, 0], right[i, 1] - left[j, 1]
    # From the left child to the equilateral point, and from there to the right child.
    ex, ey = 0.5 * dx + HALF_ROOT3 * dy, 0.5 * dy - HALF_ROOT3 * dx
    fx, fy = dx - ex, dy - ey
    h = HALF_ROOT3
    lx, ly, hx, hy = 0.0, 0.0, 0.0, 0.0
    if right[i, 4] != 0.0 or right[i, 5] != 0.0:
        lx, ly = 0.5 * right[i, 4] + h * right[i, 5], 0.5 * right[i, 5] - h * right[i, 4]
        hx, hy = 0.5 * right[i, 6] + h * right[i, 7], 0.5 * right[i, 7] - h * right[i, 6]
    elif left[j, 4] != 0.0 or left[j, 5] != 0.0:
        lx, ly = 0.5 * left[j, 4] - h * left[j, 5], 0.5 * left[j, 5] + h * left[j, 4]
        hx, hy = 0.5 * left[j, 6] - h * left[j, 7], 0.5 * left[j, 7] + h * left[j, 6]
    # Most are ruled out here: the child's directions end before the wedge begins, or the reverse.
    if ex * ly - ey * lx < 0.0 or hx * fy - hy * fx > 0.0:
        return False
    size = math.sqrt(dx * dx + dy * dy)
    if size == 0.0:
        return False
    qx, qy = left[j, 0] + ex, left[j, 1] + ey
    cx, cy = (right[i, 0] + left[j, 0] + qx) / 3.0, (right[i, 1] + left[j, 1] + qy) / 3.0
    ax, ay, bx, by = fx / size, fy / size, -ex / size, -ey / size
    if lx != 0.0 or ly != 0.0:
        if ax * lx + ay * ly < 0.5 - ROUNDING:
            return False
        if ax * ly - ay * lx > 0.0:
            ax, ay = lx, ly
        if hx * by - hy * bx > 0.0:
            bx, by = hx, hy
        if ax * by - ay * bx <= 0.0:
            return False
    wx, wy = 2.0 * (cx - right[i, 2]), 2.0 * (cy - right[i, 3])
    ax, ay, bx, by = _clipped(ax, ay, bx, by, 0.5 * wx + h * wy, 0.5 * wy - h * wx, most)
    if ax == 0.0 and ay == 0.0:
        return False
    wx, wy = 2.0 * (cx - left[j, 2]), 2.0 * (cy - left[j, 3])
    ax, ay, bx, by = _clipped(ax, ay, bx, by, 0.5 * wx - h * wy, 0.5 * wy + h * wx, most)
    if ax == 0.0 and ay == 0.0:
        return False
    rows[r, 0], rows[r, 1], rows[r, 2], rows[r, 3] = qx, qy, cx, cy
    rows[r, 4], rows[r, 5], rows[r, 6], rows[r, 7] = ax, ay, bx, by
    return True


@njit(cache=True, nogil=True)
def closed_length(one: Array, i: int, two: Array, j: int, most: float) -> float:
    """Length of the full tree that joins two partial trees by an edge of at most `most`.

    Infinite where their directions do not allow it.
    """
    dx, dy = two[j, 0] - one[i, 0], two[j, 1] - one[i, 1]
    if one[i, 4] * dy - one[i, 5] * dx <= 0.0 or dx * one[i, 7] - dy * one[i, 6] <= 0.0:
        return np.inf
    if two[j, 5] * dx - two[j, 4] * dy <= 0.0 or dy * two[j, 6] - dx * two[j, 7] <= 0.0:
        return np.inf
    square = dx * dx + dy * dy
    near = 2.0 * ((one[i, 2] - one[i, 0]) * dx + (one[i, 3] - one[i, 1]) * dy)
    far = -2.0 * ((two[j, 2] - two[j, 0]) * dx + (two[j, 3] - two[j, 1]) * dy)
    rest = square - near - far
    if near <= 0.0 or far <= 0.0 or rest <= 0.0:
        return np.inf
    if rest * rest > most * most * square * (1.0 + ROUNDING):
        return np.inf
    return math.sqrt(square)


@njit(cache=True, nogil=True)
def place_end(rows: Array, r: int, ux: float, uy: float, place: Array, at: int) -> None:
    """Write a partial tree's last Steiner point for a direction of its open edge."""
    chord = 2.0 * ((rows[r, 2] - rows[r, 0]) * ux + (rows[r, 3] - rows[r, 1]) * uy)
    place[at], place[at + 1] = rows[r, 0] + chord * ux, rows[r, 1] + chord * uy


@njit(cache=True, nogil=True)
def terminal_rows(points: Array) -> Array:
    """Return the terminals as partial trees."""
    rows = np.zeros((points.shape[0], WIDTH))
    for v in range(points.shape[0]):
        rows[v, 0] = rows[v, 2] = points[v, 0]
        rows[v, 1] = rows[v, 3] = points[v, 1]
    return rows


@njit(cache=True, nogil=True)
def grow_pairs(own: Array, ends: Array, bound: Array) -> GrownPairs:
    """Return the partial trees of pairs; `own` are those of the terminals."""
    rows = np.zeros((2 * bound.size, WIDTH))
    for p in range(bound.size):
        for s in range(2):
            join(rows, 2 * p + s, own, ends[p, s], own, ends[p, 1 - s], bound[p])
    return GrownPairs(ends, bound, rows)


@njit(cache=True, nogil=True)
def _is_short(points: Array, rows: Array, r: int, a: int, b: int, e: int, instead: float) -> bool:
    """Whether, somewhere, the partial tree is shorter than what connects the same otherwise.

    `instead` connects a, b and e; the way from the last Steiner point to the nearest of them
    connects the rest. Tried at both ends and in the middle of the directions.
    """
    for k in range(3):
        ux, uy = rows[r, 4], rows[r, 5]
        if k == 1:
            ux, uy = rows[r, 6], rows[r, 7]
        elif k == 2:
            ux, uy = ux + rows[r, 6], uy + rows[r, 7]
            size = math.sqrt(ux * ux + uy * uy)
            ux, uy = ux / size, uy / size
        chord = 2.0 * ((rows[r, 2] - rows[r, 0]) * ux + (rows[r, 3] - rows[r, 1]) * uy)
        sx, sy = rows[r, 0] + chord * ux, rows[r, 1] + chord * uy
        nearest = np.inf
        for v in (a, b, e):
            dx, dy = points[v, 0] - sx, points[v, 1] - sy
            nearest = min(nearest, dx * dx + dy * dy)
        if instead + math.sqrt(nearest) > chord:
            return True
    return False


@njit(cache=True, nogil=True)
def grow_branches(ground: Ground, own: Array, pairs: GrownPairs) -> Branches:
    """Return the branches of pairs and their cross neighbours; `own` are the terminals' rows."""
    room = 8 * pairs.bound.size + 64
    while True:  # until there is room for all of them
        rows, instead = np.empty((room, WIDTH)), np.empty(room)
        names = np.empty((3, room), np.int64)
        found = Branches(rows, names[0], names[1], names[2], instead)
        count = _fill_branches(ground, own, pairs, found)
        if count >= 0:
            pair, third, right = names[0, :count], names[1, :count], names[2, :count]
            return Branches(rows[:count], pair, third, right, instead[:count])
        room *= 2


@njit(cache=True, nogil=True)
def _fill_branches(ground: Ground, own: Array, pairs: GrownPairs, found: Branches) -> int:
    """Write the branches; return how many, or -1 where there is no room for all.

    Arrays that grow inside the loop would make the compiler count references in it.
    """
    around, reach = np.empty(MIDDLES, np.int64), np.empty((MIDDLES, 2))
    points, (ends, bound, two) = ground.points, pairs
    rows, pair, third, on_right, instead = found
    count = 0
    for p in range(bound.size):
        a, b = ends[p, 0], ends[p, 1]
        near = middles(ground, a, b, around, reach)
        if count + 2 * near > instead.size:
            return -1
        for k in range(near):
            e, most = around[k], min(reach[k, 0], reach[k, 1])
            other = -1.0
            # The open edge turns by 60 degrees towards e, so e lies on its side of the pair.
            r = 2 * p + (1 if side(points, a, b, e) > 0.0 else 0)
            if two[r, 4] == 0.0 and two[r, 5] == 0.0:
                continue
            for right in range(2):
                if right == 1:
                    some = join(rows, count, own, e, two, r, most)
                else:
                    some = join(rows, count, two, r, own, e, most)
                if not some:
                    continue
                if other < 0.0:
                    other = three_otherwise(points, a, b, e, bound[p], reach[k, 1], reach[k, 0])
                if _is_short(points, rows, count, a, b, e, other):
                    pair[count], third[count], on_right[count] = r, e, right
                    instead[count] = other
                    count += 1
    return count
