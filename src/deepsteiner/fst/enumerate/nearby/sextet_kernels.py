"""Full Steiner trees of five and six terminals: two partial trees whose open edges meet.

A tree of five is a branch and a pair, a tree of six two branches; see `partial_tree_kernels`.
"""

from __future__ import annotations

import numpy as np

from ....core.jit import njit
from ....core.points import Array
from ...select.hypergraph import Rows
from .ground import Found, Ground
from .listing_kernels import HALF_ROOT3, STRICT, bounds_among, edges_fit, first_rows, kept, room_for
from .partial_tree_kernels import Branches, GrownPairs, closed_length, place_end
from .quint_kernels import quint_is_useful


@njit(cache=True, nogil=True)
def _place_branch(
    pairs: GrownPairs, branches: Branches, k: int, ux: float, uy: float, place: Array, inner: int,
    outer: int,
) -> None:  # fmt: skip
    """Write a branch's two Steiner points for a direction of its open edge."""
    place_end(branches.rows, k, ux, uy, place, outer)
    turn = HALF_ROOT3 if branches.right[k] == 0 else -HALF_ROOT3
    vx, vy = 0.5 * ux - turn * uy, 0.5 * uy + turn * ux
    place_end(pairs.rows, branches.pair[k], vx, vy, place, inner)


@njit(cache=True, nogil=True)
def _pair_of(ends: Array, r: int) -> tuple[int, int]:
    """Return the right and the left terminal of a pair's row."""
    return ends[r >> 1, r & 1], ends[r >> 1, 1 - (r & 1)]


@njit(cache=True, nogil=True)
def close_quints(
    ground: Ground, pairs: GrownPairs, branches: Branches, by_third: Rows, first: int, last: int
) -> Found:
    """Return the full trees of five terminals around the terminals first..last-1.

    Both ends of such a tree are branches with the same third terminal, which one of them has on
    its right and the other on its left.
    """
    ends, _, two = pairs
    rows, pair, _, right, instead = branches
    at, on = by_third
    found, count = room_for((last - first) // 4 + 16, 5), 0
    quint, place = np.empty(5, np.int64), np.empty(6)
    for e in range(first, last):
        for x in range(at[e], at[e + 1]):
            k = on[x]
            if right[k] == 1:
                continue
            a, b = _pair_of(ends, pair[k])
            for y in range(at[e], at[e + 1]):
                m = on[y]
                if right[m] == 0:
                    continue
                end = pair[m]
                total = closed_length(rows, k, two, end, np.inf)
                if total >= (instead[k] + instead[m]) * STRICT:
                    continue
                c, d = _pair_of(ends, end)
                if a in (c, d) or b in (c, d):
                    continue
                ux, uy = (two[end, 0] - rows[k, 0]) / total, (two[end, 1] - rows[k, 1]) / total
                _place_branch(pairs, branches, k, ux, uy, place, 0, 2)
                place_end(two, end, -ux, -uy, place, 4)
                quint[0], quint[1], quint[2], quint[3], quint[4] = a, b, e, c, d
                if quint_is_useful(ground, quint, place, total):
                    found = kept(found, count, quint, place, total)
                    count += 1
    return first_rows(found, count)


@njit(cache=True, nogil=True)
def close_hexes(
    ground: Ground, pairs: GrownPairs, branches: Branches, by_third: Rows, first: int, last: int
) -> Found:
    """Return the full trees of six terminals: two branches.

    Their third terminals, the first of which is one of first..last-1, are cross neighbours.
    """
    ends, rows, pair, instead = pairs.ends, branches.rows, branches.pair, branches.instead
    cross_ends, cross_bound, cross_at, cross_rows = ground.cross
    at, on = by_third
    found, count = room_for((last - first) // 4 + 16, 6), 0
    six, place = np.empty(6, np.int64), np.empty(8)
    for e in range(first, last):
        for i in range(cross_at[e], cross_at[e + 1]):
            link = cross_rows[i]
            f = cross_ends[link, 0] + cross_ends[link, 1] - e
            if f < e:
                continue
            for x in range(at[e], at[e + 1]):
                k = on[x]
                a, b = _pair_of(ends, pair[k])
                if f in (a, b):
                    continue
                for y in range(at[f], at[f + 1]):
                    m = on[y]
                    total = closed_length(rows, k, rows, m, cross_bound[link])
                    if total >= (instead[k] + instead[m] + cross_bound[link]) * STRICT:
                        continue
                    c, d = _pair_of(ends, pair[m])
                    if e in (c, d) or a in (c, d) or b in (c, d):
                        continue
                    ux, uy = (rows[m, 0] - rows[k, 0]) / total, (rows[m, 1] - rows[k, 1]) / total
                    _place_branch(pairs, branches, k, ux, uy, place, 0, 2)
                    _place_branch(pairs, branches, m, -ux, -uy, place, 6, 4)
                    six[0], six[1], six[2], six[3], six[4], six[5] = a, b, e, f, c, d
                    bounds = bounds_among(ground, six)
                    if not edges_fit(ground.points, six, place, bounds):
                        continue
                    if total < _spanned(bounds) * STRICT:
                        found = kept(found, count, six, place, total)
                        count += 1
    return first_rows(found, count)


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
