"""How many relays are needed to be in all rings around groups of terminals.

Terminals within the radius R of each other form groups. Let d(x) be the distance of x to the
nearest terminal of group g, and let no terminal of another group have d <= t R. Then every network
has a relay with (t - 1) R < d <= t R: it connects g to another group; on the way there take the
first node with d > (t - 1) R. The node before it has d <= (t - 1) R, so this one has d <= t R. It
is no terminal, since those of g have d = 0 and those of other groups d > t R: it is a relay. For
t = 1 no condition is needed, for all other groups are farther than R.

So relays form a cover of these rings, and the least fractional cover bounds their number from
below. The circles of radius t R around all terminals cut the plane into cells, and what a relay
covers depends on its cell only: one ring of each group at most. In the closure of every cell there
is a place where two circles meet, or a whole circle that meets no other. So take those places, and
for each group on whose ring's border the place lies both rings that meet there, in all
combinations (or both at once, where there are many such groups): the cells around the place are
among them, and sets that no relay covers can only make the bound smaller. Borders are taken a
little wide for rounding. The bound is read from the prices of the linear programme, scaled so that
no set costs more than one.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ..core.points import FloatArray, IntArray

MOST_CIRCLES = 600
"""Circles up to which the places where they meet are looked at."""
MOST_RINGS = 6
"""Rings around a group."""
SLICE = 20_000
"""Places whose sets are found at a time."""
WIDE = 1e-8
"""A place this close to the border of a ring, in radii, may be on either side."""
MOST_BORDERS = 3
"""Borders at one place up to which all combinations are taken."""
PROVEN = 1e-9


def relays_in_rings(points: FloatArray, group: IntArray, radius: float) -> int:
    """Return how many relays there are at least in the rings of the groups; 0 if there are many."""
    nearest, count = _distances(points, points, group), int(group.max()) + 1
    if len(points) > MOST_CIRCLES or count < 2:
        return 0
    apart = np.array([nearest[group != g, g].min() for g in range(count)])
    free = np.ceil(apart / radius * (1.0 - WIDE)) - 1.0
    rings = np.clip(free, 1, MOST_RINGS).astype(np.int64)
    centre, size = _circles(group, rings)
    if len(centre) > MOST_CIRCLES:
        rings = np.ones(count, np.int64)
        centre, size = _circles(group, rings)
    covers = _covers(points, group, radius, rings, _meetings(points[centre], size * radius))
    return math.ceil(_fractional_cover(covers) - PROVEN)


def _circles(group: IntArray, rings: IntArray) -> tuple[IntArray, FloatArray]:
    """Return the centre of every circle, a terminal, and its size in radii."""
    centre = np.repeat(np.arange(len(group)), rings[group])
    size = np.concatenate([np.arange(1.0, rings[g] + 1.0) for g in group])
    return centre, size


def _distances(places: FloatArray, points: FloatArray, group: IntArray) -> FloatArray:
    """Return the distance of each place to the nearest terminal of each group."""
    away = np.hypot(*(places[:, None] - points[None]).transpose(2, 0, 1))
    order = np.argsort(group, kind="stable")
    first = np.searchsorted(group[order], np.arange(int(group.max()) + 1))
    result: FloatArray = np.minimum.reduceat(away[:, order], first, axis=1)
    return result


def _meetings(centre: FloatArray, size: FloatArray) -> FloatArray:
    """Return where circles meet, and a place on each of them."""
    one, two = np.triu_indices(len(centre), 1)
    way = centre[two] - centre[one]
    gap = np.hypot(*way.T)
    meet = (gap > 0.0) & (gap <= size[one] + size[two]) & (gap >= np.abs(size[one] - size[two]))
    one, two, way, gap = one[meet], two[meet], way[meet], gap[meet]
    along = (gap**2 + size[one] ** 2 - size[two] ** 2) / (2.0 * gap)
    aside = np.sqrt(np.maximum(size[one] ** 2 - along**2, 0.0))
    unit = way / gap[:, None]
    foot = centre[one] + along[:, None] * unit
    turned = np.stack((-unit[:, 1], unit[:, 0]), axis=1) * aside[:, None]
    lowest = centre - np.stack((np.zeros(len(size)), size), axis=1)
    return np.concatenate((foot + turned, foot - turned, lowest))


def _covers(
    points: FloatArray, group: IntArray, radius: float, rings: IntArray, places: FloatArray
) -> FloatArray:
    """Return sets of rings (columns) that relays at some places, or beside them, may cover."""
    found = []
    for first in range(0, len(places), SLICE):
        away = _distances(places[first : first + SLICE], points, group) / radius
        inner = np.ceil(away - WIDE).astype(np.int64)
        outer = np.ceil(away + WIDE).astype(np.int64)
        border = outer > inner
        rank = np.cumsum(border, axis=1) - 1
        borders = border.sum(axis=1)
        for choice in range(2**MOST_BORDERS):
            rows = (borders <= MOST_BORDERS) & (choice < 2**borders)
            ring = np.where(
                border[rows] & (choice >> rank[rows] & 1 == 1), outer[rows], inner[rows]
            )
            found.append(np.unique(_in_rings(ring, rings), axis=0))
        rest = borders > MOST_BORDERS
        both = _in_rings(inner[rest], rings) | _in_rings(outer[rest], rings)
        found.append(np.unique(both, axis=0))
    return np.unique(np.concatenate(found), axis=0).astype(np.float64)


def _in_rings(ring: IntArray, rings: IntArray) -> NDArray[np.bool_]:
    """Return a column for every ring of every group, given the ring of each that a place is in."""
    parts = [ring[:, [g]] == np.arange(1, rings[g] + 1) for g in range(len(rings))]
    return np.concatenate(parts, axis=1)


def _fractional_cover(covers: FloatArray) -> float:
    """Return prices of the rings in all, such that no set of them costs more than one."""
    from scipy.optimize import linprog

    count = covers.shape[1]
    answer = linprog(-np.ones(count), A_ub=covers, b_ub=np.ones(len(covers)), method="highs")
    if answer.x is None:
        return 1.0
    prices = np.maximum(answer.x, 0.0)
    return float(prices.sum() / max(float((covers @ prices).max()), 1.0))
