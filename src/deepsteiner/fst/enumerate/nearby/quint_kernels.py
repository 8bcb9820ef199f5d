"""Full Steiner trees of five terminals: a pair, a single terminal and another pair in a row.

A branch is a pair a, b with a third terminal e: its equilateral point stands for all three. The
line from there to the equilateral point of a second pair c, d is as long as the tree ab|e|cd.
"""

from __future__ import annotations

import math

import numpy as np

from ....core.jit import njit
from ....core.points import Array
from .ground import Found, Ground
from .listing_kernels import (
    HALF_ROOT3,
    ROUNDING,
    STRICT,
    bounds_among,
    distance,
    edges_fit,
    equilateral,
    first_rows,
    gap_bound,
    kept,
    paired,
    quad_tree,
    room_for,
    side,
    three_otherwise,
)
from .neighbour_kernels import bottleneck, squared

# Terminals tried as the middle one of a pair's branches.
MIDDLES = 24


@njit(cache=True, nogil=True)
def middles(ground: Ground, a: int, b: int, around: Array, reach: Array) -> int:
    """Write the cross neighbours of a pair, their bottleneck distances to both; return how many."""
    tree, (ends, _, first, rows) = ground.bottlenecks, ground.cross
    count = 0
    for u in (a, b):
        for k in range(first[u], first[u + 1]):
            e = ends[rows[k], 0] + ends[rows[k], 1] - u
            known = e in (a, b) or count == MIDDLES
            for i in range(count):
                known = known or around[i] == e
            if not known:
                around[count] = e
                reach[count, 0], reach[count, 1] = bottleneck(a, e, tree), bottleneck(b, e, tree)
                count += 1
    return count


@njit(cache=True, nogil=True)
def branch(
    points: Array, a: int, b: int, e: int, way: int, bound: float, reach: float, shape: Array
) -> bool:
    """Write a branch's shape if some Steiner point of it may be reached: see `close_branch`.

    Seen from the equilateral point of ab, the middle Steiner point lies between a and b, and
    between e and 60 degrees beside it, less where e's own edge may not be longer than `reach`. The
    `way` (0 to 3) says on which side of ab that point is, and on which side of e.
    """
    turn = 1.0 - (way & 2)
    mx, my, hx, hy = equilateral(points, a, b, (1.0 - 2.0 * (way & 1)) * HALF_ROOT3)
    px, py, square = mx + hx, my + hy, squared(points, a, b)
    ex, ey = points[e, 0] - px, points[e, 1] - py
    far = math.sqrt(ex * ex + ey * ey)
    # The edge of e is at most `reach` long. So is the one between the two Steiner points, and the
    # edges of a and b together are at most 2 / sqrt(3) times as long as ab; nor can these three
    # edges be longer than the bottlenecks that would replace them.
    most = reach + min(bound, math.sqrt(4.0 / 3.0 * square))
    if far == 0.0 or far * far > (most * most + reach * reach + most * reach) * (1.0 + ROUNDING):
        return False
    sine = min(HALF_ROOT3, reach * HALF_ROOT3 / far)
    half_cos = math.sqrt(0.5 * (1.0 + math.sqrt(1.0 - sine * sine)))
    half_sin = 0.5 * sine / half_cos
    # The middle of the directions that e allows, against the middle of the pair's wedge.
    ux, uy = half_cos * ex + turn * half_sin * ey, half_cos * ey - turn * half_sin * ex
    wedge = HALF_ROOT3 * math.sqrt(square)
    if -(ux * hx + uy * hy) < (half_cos * HALF_ROOT3 - 0.5 * half_sin) * far * wedge:
        return False
    shape[0], shape[1], shape[2], shape[3] = px, py, hx, hy
    # The equilateral point of (p, e), and the way from the middle of p and e to it.
    gx, gy = -turn * HALF_ROOT3 * ey, turn * HALF_ROOT3 * ex
    shape[4], shape[5] = px + 0.5 * ex + gx, py + 0.5 * ey + gy
    shape[6], shape[7] = gx, gy
    return True


@njit(cache=True, nogil=True)
def branches(
    points: Array, a: int, b: int, e: int, bound: float, reach: float, shapes: Array
) -> int:
    """Write the shapes of the branches of ab and e, of both sides and turns; return how many."""
    count = 0
    for way in range(4):
        if branch(points, a, b, e, way, bound, reach, shapes[count]):
            count += 1
    return count


@njit(cache=True, nogil=True)
def far_end(points: Array, e: int, c: int, d: int) -> tuple[float, float, float, float]:
    """Return the equilateral point of cd away from e, and the way to it from the middle of cd."""
    left = side(points, c, d, e) > 0.0
    mx, my, hx, hy = equilateral(points, c, d, -HALF_ROOT3 if left else HALF_ROOT3)
    return mx + hx, my + hy, hx, hy


@njit(cache=True, nogil=True)
def close_branch(
    points: Array,
    quint: Array,
    shapes: Array,
    way: int,
    far: tuple[float, float, float, float],
    limit: float,
    place: Array,
) -> float:
    """Length of the full tree ab|e|cd if it exists and is below the limit, else infinity.

    Row `way` of `shapes` holds the equilateral point p of ab, the way to it from the middle of ab,
    the equilateral point of (p, e), and the way to that from the middle of p and e; `far` is what
    `far_end` returns.
    """
    lx, ly = far[0] - shapes[way, 4], far[1] - shapes[way, 5]
    square = lx * lx + ly * ly
    # Where the line meets the two circles again, from either end, times the square.
    one = -4.0 / 3.0 * (shapes[way, 6] * lx + shapes[way, 7] * ly)
    two = 4.0 / 3.0 * (far[2] * lx + far[3] * ly)
    if square >= limit * limit or one <= 0.0 or two <= 0.0 or one + two >= square:
        return np.inf
    one, two = one / square, two / square
    sx, sy = shapes[way, 4] + one * lx, shapes[way, 5] + one * ly
    tx, ty = far[0] - two * lx, far[1] - two * ly
    kx, ky = sx - shapes[way, 0], sy - shapes[way, 1]
    first = -4.0 / 3.0 * (shapes[way, 2] * kx + shapes[way, 3] * ky)
    whole = kx * kx + ky * ky
    if first <= 0.0 or first >= whole:
        return np.inf
    e, c, d = quint[2], quint[3], quint[4]
    rx, ry = shapes[way, 0] + first / whole * kx, shapes[way, 1] + first / whole * ky
    total = distance(points, quint[0], rx, ry) + distance(points, quint[1], rx, ry)
    total += math.sqrt((rx - sx) * (rx - sx) + (ry - sy) * (ry - sy)) + distance(points, e, sx, sy)
    line = math.sqrt(square)
    total += (1.0 - one - two) * line + distance(points, c, tx, ty) + distance(points, d, tx, ty)
    if total > line * (1.0 + ROUNDING):
        return np.inf
    place[0], place[1], place[2], place[3], place[4], place[5] = rx, ry, sx, sy, tx, ty
    return float(total)


@njit(cache=True, nogil=True)
def quint_is_useful(ground: Ground, quint: Array, place: Array, total: float) -> bool:
    """Whether no edge exceeds a bottleneck and no smaller trees over the same terminals win."""
    points, bounds, three = ground.points, bounds_among(ground, quint), np.empty(32)
    if not edges_fit(points, quint, place, bounds):
        return False
    for i in range(5):
        for j in range(i):
            for k in range(j):  # stored at the two that are left
                three[31 - (1 << i) - (1 << j) - (1 << k)] = three_otherwise(
                    points, quint[i], quint[j], quint[k], bounds[i, j], bounds[j, k], bounds[k, i]
                )
    for i in range(5):
        for j in range(i):
            # Three by one tree, then i and j by bottlenecks.
            to_i, to_j = np.inf, np.inf
            for k in range(5):
                if k not in (i, j):
                    to_i, to_j = min(to_i, bounds[i, k]), min(to_j, bounds[j, k])
            rest = min(to_i + to_j, min(to_i, to_j) + bounds[i, j])
            if total >= (three[(1 << i) + (1 << j)] + rest) * STRICT:
                return False
            for k in range(5):  # i, j, k by one tree, k and the other two by another
                if k not in (i, j):
                    rest = 31 - (1 << i) - (1 << j) - (1 << k)
                    if total >= (three[rest] + three[(1 << i) + (1 << j)]) * STRICT:
                        return False
    return not _four_and_one(points, quint, total, bounds)


@njit(cache=True, nogil=True)
def _four_and_one(points: Array, quint: Array, total: float, bounds: Array) -> bool:
    """Whether a full tree of four and a bottleneck to the fifth are as short."""
    spare = np.empty(4)
    for i in range(5):
        a, b = quint[(i + 1) % 5], quint[(i + 2) % 5]
        c, d = quint[(i + 3) % 5], quint[(i + 4) % 5]
        limit = total / STRICT - gap_bound(bounds, i, i + 1)
        if (
            quad_tree(points, a, b, c, d, limit, spare) < limit
            or quad_tree(points, a, c, b, d, limit, spare) < limit
            or quad_tree(points, a, d, b, c, limit, spare) < limit
        ):
            return True
    return False


@njit(cache=True, nogil=True)
def list_quints(ground: Ground, stamp: Array, first: int, last: int) -> Found:
    """Return the full trees of five terminals at pairs first..last-1.

    The middle terminal is a cross neighbour of the first pair, and a cross pair leads on to the
    second one. `stamp` is a scratch array, one number for each pair, at first -1.
    """
    points, cross = ground.points, ground.cross
    ends, bound, start, rows = ground.pairs
    cross_ends, cross_bound, cross_start, cross_rows = cross
    found, count = room_for((last - first) // 4 + 8, 5), 0
    around, reach = np.empty(MIDDLES, np.int64), np.empty((MIDDLES, 2))
    quint, shapes, place = np.empty(5, np.int64), np.empty((4, 8)), np.empty(6)
    for pair in range(first, last):
        a, b = ends[pair, 0], ends[pair, 1]
        for index in range(middles(ground, a, b, around, reach)):
            e, to_a, to_b = around[index], reach[index, 0], reach[index, 1]
            ways = branches(points, a, b, e, bound[pair], min(to_a, to_b), shapes)
            if ways == 0:
                continue
            own = three_otherwise(points, a, b, e, bound[pair], to_b, to_a)
            quint[0], quint[1], quint[2] = a, b, e
            mark = -2 - MIDDLES * pair - index  # never one of list_quads'
            for u in (a, b, e):
                for k in range(cross_start[u], cross_start[u + 1]):
                    link = cross_rows[k]
                    c = cross_ends[link, 0] + cross_ends[link, 1] - u
                    if c in (a, b, e):
                        continue
                    for i in range(start[c], start[c + 1]):
                        other = rows[i]
                        d = ends[other, 0] + ends[other, 1] - c
                        if stamp[other] == mark or other == pair or d in (a, b, e):
                            continue
                        stamp[other] = mark
                        limit = (own + bound[other] + cross_bound[link]) * STRICT
                        quint[3], quint[4] = c, d
                        far = far_end(points, e, c, d)
                        for way in range(ways):
                            total = close_branch(points, quint, shapes, way, far, limit, place)
                            if total == np.inf:
                                continue
                            if other < pair and (paired(c, e, cross) or paired(d, e, cross)):
                                continue  # listed from the other pair
                            if quint_is_useful(ground, quint, place, total):
                                found = kept(found, count, quint, place, total)
                                count += 1
    return first_rows(found, count)
