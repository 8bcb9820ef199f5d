"""Full Steiner trees of five and six terminals: two partial trees whose open edges meet.

A tree of five is a branch and a pair, a tree of six two branches; see `partial_tree_kernels`.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from ....core.points import Array
from ....geometry.spanning_kernels import heaviest_between
from .listing_kernels import HALF_ROOT3, ROUNDING, STRICT
from .partial_tree_kernels import closed_length, place_end
from .quint_kernels import quint_is_useful


@njit(cache=True, nogil=True)
def _place_branch(
    rows: Array, names: Array, k: int, two: Array, ux: float, uy: float, place: Array, inner: int,
    outer: int,
) -> None:  # fmt: skip
    """Write a branch's two Steiner points for a direction of its open edge."""
    place_end(rows, k, ux, uy, place, outer)
    turn = HALF_ROOT3 if names[k, 2] == 0 else -HALF_ROOT3
    place_end(two, names[k, 0], 0.5 * ux - turn * uy, 0.5 * uy + turn * ux, place, inner)


@njit(cache=True, nogil=True)
def _pair_of(pairs: Array, r: int) -> tuple[int, int]:
    """Return the right and the left terminal of a pair's row."""
    return pairs[r >> 1, r & 1], pairs[r >> 1, 1 - (r & 1)]


@njit(cache=True, nogil=True)
def close_quints(
    points: Array,
    pairs: Array,
    up: Array,
    rank: Array,
    weight: Array,
    two: Array,
    rows: Array,
    names: Array,
    instead: Array,
    at: Array,
    on: Array,
    first: int,
    last: int,
) -> tuple[Array, Array, Array]:
    """Return (names, places, lengths) of the full trees of five around terminals first..last-1.

    Both ends of such a tree are branches with the same third terminal, which one of them has on
    its right and the other on its left.
    """
    room = (last - first) // 4 + 16
    while True:  # until there is room for all of them
        found, places = np.empty((room, 6), np.int64), np.zeros((room, 8))
        lengths = np.empty(room)
        count = _fill_quints(
            points,
            pairs,
            up,
            rank,
            weight,
            two,
            rows,
            names,
            instead,
            at,
            on,
            first,
            last,
            found,
            places,
            lengths,
        )
        if count >= 0:
            return found[:count].copy(), places[:count].copy(), lengths[:count].copy()
        room *= 2


@njit(cache=True, nogil=True)
def _fill_quints(
    points: Array,
    pairs: Array,
    up: Array,
    rank: Array,
    weight: Array,
    two: Array,
    rows: Array,
    names: Array,
    instead: Array,
    at: Array,
    on: Array,
    first: int,
    last: int,
    found: Array,
    places: Array,
    lengths: Array,
) -> int:
    """Write the trees; return how many, or -1 where there is no room for all."""
    quint, bounds, three = np.empty(5, np.int64), np.zeros((5, 5)), np.empty(32)
    place, spare = np.zeros(8), np.empty(4)
    count = 0
    for e in range(first, last):
        for x in range(at[e], at[e + 1]):
            k = on[x]
            if names[k, 2] == 1:
                continue
            a, b = _pair_of(pairs, names[k, 0])
            for y in range(at[e], at[e + 1]):
                m = on[y]
                end = names[m, 0]
                if names[m, 2] == 0:
                    continue
                total = closed_length(rows, k, two, end, np.inf)
                if total >= (instead[k] + instead[m]) * STRICT:
                    continue
                c, d = _pair_of(pairs, end)
                if a in (c, d) or b in (c, d):
                    continue
                ux, uy = (two[end, 0] - rows[k, 0]) / total, (two[end, 1] - rows[k, 1]) / total
                _place_branch(rows, names, k, two, ux, uy, place, 0, 2)
                place_end(two, end, -ux, -uy, place, 4)
                quint[0], quint[1], quint[2], quint[3], quint[4] = a, b, e, c, d
                if not quint_is_useful(
                    points, quint, place, total, up, rank, weight, bounds, three, spare
                ):
                    continue
                if count == lengths.size:
                    return -1
                found[count, :5], found[count, 5] = quint, -1
                places[count, :6], places[count, 6:] = place[:6], 0.0
                lengths[count] = total
                count += 1
    return count


@njit(cache=True, nogil=True)
def close_hexes(
    points: Array,
    pairs: Array,
    cross: Array,
    cross_bound: Array,
    cross_start: Array,
    cross_rows: Array,
    up: Array,
    rank: Array,
    weight: Array,
    two: Array,
    rows: Array,
    names: Array,
    instead: Array,
    at: Array,
    on: Array,
    first: int,
    last: int,
) -> tuple[Array, Array, Array]:
    """Return (names, places, lengths) of the full trees of six: two branches.

    Their third terminals, the first of which is one of first..last-1, are cross neighbours.
    """
    room = (last - first) // 4 + 16
    while True:  # until there is room for all of them
        found, places = np.empty((room, 6), np.int64), np.zeros((room, 8))
        lengths = np.empty(room)
        count = _fill_hexes(
            points,
            pairs,
            cross,
            cross_bound,
            cross_start,
            cross_rows,
            up,
            rank,
            weight,
            two,
            rows,
            names,
            instead,
            at,
            on,
            first,
            last,
            found,
            places,
            lengths,
        )
        if count >= 0:
            return found[:count].copy(), places[:count].copy(), lengths[:count].copy()
        room *= 2


@njit(cache=True, nogil=True)
def _fill_hexes(
    points: Array,
    pairs: Array,
    cross: Array,
    cross_bound: Array,
    cross_start: Array,
    cross_rows: Array,
    up: Array,
    rank: Array,
    weight: Array,
    two: Array,
    rows: Array,
    names: Array,
    instead: Array,
    at: Array,
    on: Array,
    first: int,
    last: int,
    found: Array,
    places: Array,
    lengths: Array,
) -> int:
    """Write the trees; return how many, or -1 where there is no room for all."""
    six, place, bounds = np.empty(6, np.int64), np.zeros(8), np.zeros((6, 6))
    count = 0
    for e in range(first, last):
        for i in range(cross_start[e], cross_start[e + 1]):
            link = cross_rows[i]
            f = cross[link, 0] + cross[link, 1] - e
            if f < e:
                continue
            for x in range(at[e], at[e + 1]):
                k = on[x]
                a, b = _pair_of(pairs, names[k, 0])
                if f in (a, b):
                    continue
                for y in range(at[f], at[f + 1]):
                    m = on[y]
                    total = closed_length(rows, k, rows, m, cross_bound[link])
                    if total >= (instead[k] + instead[m] + cross_bound[link]) * STRICT:
                        continue
                    c, d = _pair_of(pairs, names[m, 0])
                    if e in (c, d) or a in (c, d) or b in (c, d):
                        continue
                    ux, uy = (rows[m, 0] - rows[k, 0]) / total, (rows[m, 1] - rows[k, 1]) / total
                    _place_branch(rows, names, k, two, ux, uy, place, 0, 2)
                    _place_branch(rows, names, m, two, -ux, -uy, place, 6, 4)
                    six[0], six[1], six[2], six[3], six[4], six[5] = a, b, e, f, c, d
                    if not row_is_useful(points, six, place, total, up, rank, weight, bounds):
                        continue
                    if count == lengths.size:
                        return -1
                    found[count], places[count], lengths[count] = six, place, total
                    count += 1
    return count


@njit(cache=True, nogil=True)
def row_is_useful(
    points: Array,
    six: Array,
    place: Array,
    total: float,
    up: Array,
    rank: Array,
    weight: Array,
    bounds: Array,
) -> bool:
    """Whether no edge of a tree of six is longer than a bottleneck, and no simple other wins.

    Tried: the two halves by three terminals each, and each end cut off by a bottleneck.
    """
    size = six.size
    for i in range(size):
        for j in range(i):
            bounds[i, j] = bounds[j, i] = weight[heaviest_between(six[i], six[j], up, rank)]
    for i in range(size):
        nearest = np.inf
        for j in range(size):
            if j != i:
                nearest = min(nearest, bounds[i, j])
        k = 2 * min(max(i - 1, 0), size - 3)
        dx, dy = points[six[i], 0] - place[k], points[six[i], 1] - place[k + 1]
        if dx * dx + dy * dy > nearest * nearest * (1.0 + ROUNDING):
            return False
    for cut in range(2, size - 1):
        nearest = np.inf
        for i in range(cut):
            for j in range(cut, size):
                nearest = min(nearest, bounds[i, j])
        k = 2 * cut - 4
        dx, dy = place[k] - place[k + 2], place[k + 1] - place[k + 3]
        if dx * dx + dy * dy > nearest * nearest * (1.0 + ROUNDING):
            return False
    return total < _spanned(bounds) * STRICT


@njit(cache=True, nogil=True)
def _spanned(bounds: Array) -> float:
    """Length of the minimum spanning tree under bottleneck distances."""
    size = bounds.shape[0]
    near = np.full(size, np.inf)
    done = np.zeros(size, np.bool_)
    total, last = 0.0, 0
    done[0] = True
    for _ in range(size - 1):
        best = -1
        for j in range(size):
            if not done[j]:
                near[j] = min(near[j], bounds[last, j])
                if best < 0 or near[j] < near[best]:
                    best = j
        done[best] = True
        total += near[best]
        last = best
    return total
