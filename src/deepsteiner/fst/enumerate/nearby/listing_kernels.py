"""Full Steiner trees of three and four terminals that neighbours form, by closed formulas.

A list under construction is `names` (room, 4) int64, the terminals with -1 as fourth of a triple;
`places` (room, 4), the x and y of one or two Steiner points; `lengths` (room,). With four
terminals a, b, c, d the first Steiner point joins a and b, the second c and d.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from ....core.points import Array
from ....geometry.spanning_kernels import heaviest_between

HALF_ROOT3 = 0.5 * math.sqrt(3.0)
ROUNDING = 1e-9
# A tree must beat what it replaces by this share, or it is only a tie. What replaces it, here and
# in the modules of larger trees, is several smaller trees over the same terminals (links along the
# spanning tree, a smaller full tree and a link), so no two trees can rule out each other.
STRICT = 1.0 - 1e-10


@njit(cache=True, nogil=True)
def triple_length(p: float, q: float, r: float) -> float:
    """Length of the full Steiner tree of a triangle with squared sides p, q, r, or infinity."""
    largest = max(p, q, r)
    rest = p + q + r - largest
    # An angle of 120 degrees or more: c^2 >= a^2 + b^2 + a b.
    product = p * q * r / largest if largest > 0.0 else 0.0
    if largest - rest >= 0.0 and (largest - rest) * (largest - rest) >= product:
        return np.inf
    total = p + q + r
    area = 4.0 * (p * q + q * r + r * p) - total * total  # 16 area^2
    return math.sqrt(0.5 * (total + math.sqrt(3.0 * max(area, 0.0))))


@njit(cache=True, nogil=True)
def squared(points: Array, a: int, b: int) -> float:
    """Squared distance of two points."""
    dx, dy = points[a, 0] - points[b, 0], points[a, 1] - points[b, 1]
    return float(dx * dx + dy * dy)


@njit(cache=True, nogil=True)
def triple_place(points: Array, a: int, b: int, c: int, place: Array) -> bool:
    """Write the Steiner point of three terminals; False where rounding hides it."""
    ax, ay = points[a, 0] - points[c, 0], points[a, 1] - points[c, 1]
    bx, by = points[b, 0] - points[c, 0], points[b, 1] - points[c, 1]
    dx, dy = bx - ax, by - ay
    height = HALF_ROOT3 if dy * ax - dx * ay > 0.0 else -HALF_ROOT3
    # The equilateral point of ab away from c, and the way to it from the middle of ab.
    hx, hy = height * dy, -height * dx
    ex, ey = 0.5 * (ax + bx) + hx, 0.5 * (ay + by) + hy
    line = ex * ex + ey * ey
    if line == 0.0:
        return False
    share = 4.0 / 3.0 * (hx * ex + hy * ey) / line
    place[0] = points[c, 0] + (1.0 - share) * ex
    place[1] = points[c, 1] + (1.0 - share) * ey
    return True


@njit(cache=True, nogil=True)
def _bound(a: int, b: int, up: Array, rank: Array, weight: Array) -> float:
    return float(weight[heaviest_between(a, b, up, rank)])


@njit(cache=True, nogil=True)
def doubled(names: Array, places: Array, lengths: Array) -> tuple[Array, Array, Array]:
    """Return the same lists with twice the room."""
    room = lengths.size
    more, spots, longer = (
        np.empty((2 * room, 4), np.int64),
        np.zeros((2 * room, 4)),
        np.empty(2 * room),
    )
    more[:room], spots[:room], longer[:room] = names, places, lengths
    return more, spots, longer


@njit(cache=True, nogil=True)
def list_triples(
    points: Array,
    pairs: Array,
    bound: Array,
    start: Array,
    rows: Array,
    up: Array,
    rank: Array,
    weight: Array,
    first: int,
    last: int,
) -> tuple[Array, Array, Array]:
    """Return (names, places, lengths) of the full trees of three terminals around first..last-1.

    A triple is met from each terminal that is paired with both others; the lowest one lists it.
    """
    room = 2 * (last - first) + 8
    names, places, lengths = np.empty((room, 4), np.int64), np.zeros((room, 4)), np.empty(room)
    found = 0
    for b in range(first, last):
        for i in range(start[b], start[b + 1]):
            one = rows[i]
            a = pairs[one, 0] + pairs[one, 1] - b
            p = squared(points, a, b)
            for j in range(start[b], i):
                two = rows[j]
                c = pairs[two, 0] + pairs[two, 1] - b
                q, r = squared(points, b, c), squared(points, a, c)
                total = triple_length(p, q, r)
                if total >= (bound[one] + bound[two]) * STRICT:
                    continue
                other = _bound(a, c, up, rank, weight)
                if r > 3.0 * (1.0 + ROUNDING) * other * other:
                    continue
                longest = max(bound[one], bound[two], other)
                if total >= (bound[one] + bound[two] + other - longest) * STRICT:
                    continue
                if (a < b or c < b) and _paired(a, c, pairs, start, rows):
                    continue
                if found == lengths.size:
                    names, places, lengths = doubled(names, places, lengths)
                if triple_place(points, a, b, c, places[found]):
                    names[found, 0], names[found, 1], names[found, 2] = a, b, c
                    names[found, 3] = -1
                    lengths[found] = total
                    found += 1
    return names[:found].copy(), places[:found].copy(), lengths[:found].copy()


@njit(cache=True, nogil=True)
def _paired(a: int, c: int, pairs: Array, start: Array, rows: Array) -> bool:
    for k in range(start[a], start[a + 1]):
        if pairs[rows[k], 0] + pairs[rows[k], 1] - a == c:
            return True
    return False


@njit(cache=True, nogil=True)
def _side(points: Array, a: int, b: int, c: int) -> float:
    """Positive where c lies left of the line from a to b."""
    dx, dy = points[b, 0] - points[a, 0], points[b, 1] - points[a, 1]
    return float(dx * (points[c, 1] - points[a, 1]) - dy * (points[c, 0] - points[a, 0]))


@njit(cache=True, nogil=True)
def quad_tree(points: Array, a: int, b: int, c: int, d: int, limit: float, place: Array) -> float:
    """Length of the full Steiner tree ab|cd if it exists and is below the limit, else infinity."""
    c_side, d_side = _side(points, a, b, c), _side(points, a, b, d)
    if c_side * d_side <= 0.0:
        return np.inf
    a_side = _side(points, c, d, a)
    if a_side * _side(points, c, d, b) <= 0.0:
        return np.inf
    height = -HALF_ROOT3 if c_side > 0.0 else HALF_ROOT3
    dx, dy = points[b, 0] - points[a, 0], points[b, 1] - points[a, 1]
    mx, my = 0.5 * (points[a, 0] + points[b, 0]), 0.5 * (points[a, 1] + points[b, 1])
    hx, hy = -height * dy, height * dx  # from the middle of ab to its equilateral point
    height = -HALF_ROOT3 if a_side > 0.0 else HALF_ROOT3
    dx, dy = points[d, 0] - points[c, 0], points[d, 1] - points[c, 1]
    nx, ny = 0.5 * (points[c, 0] + points[d, 0]), 0.5 * (points[c, 1] + points[d, 1])
    gx, gy = -height * dy, height * dx
    lx, ly = nx + gx - mx - hx, ny + gy - my - hy
    square = lx * lx + ly * ly
    if square >= limit * limit or square == 0.0:
        return np.inf
    # The line meets each circle again at twice the projection of the centre.
    one = -4.0 / 3.0 * (hx * lx + hy * ly) / square
    two = 4.0 / 3.0 * (gx * lx + gy * ly) / square
    if one <= 0.0 or two <= 0.0 or one + two >= 1.0:
        return np.inf
    sx, sy = mx + hx + one * lx, my + hy + one * ly
    tx, ty = nx + gx - two * lx, ny + gy - two * ly
    line = math.sqrt(square)
    total = (1.0 - one - two) * line
    total += _reach(points, a, sx, sy) + _reach(points, b, sx, sy)
    total += _reach(points, c, tx, ty) + _reach(points, d, tx, ty)
    if total > line * (1.0 + ROUNDING):
        return np.inf
    place[0], place[1], place[2], place[3] = sx, sy, tx, ty
    return float(total)


@njit(cache=True, nogil=True)
def _reach(points: Array, v: int, x: float, y: float) -> float:
    dx, dy = points[v, 0] - x, points[v, 1] - y
    return math.sqrt(dx * dx + dy * dy)


@njit(cache=True, nogil=True)
def quad_is_useful(
    points: Array,
    quad: Array,
    place: Array,
    total: float,
    up: Array,
    rank: Array,
    weight: Array,
    bounds: Array,
) -> bool:
    """Whether no edge exceeds a bottleneck and no smaller trees over the same terminals win."""
    near = np.inf
    for i in range(4):
        for j in range(i):
            bounds[i, j] = bounds[j, i] = _bound(quad[i], quad[j], up, rank, weight)
    for i in range(2):
        near = min(near, bounds[i, 2], bounds[i, 3])
    if math.hypot(place[0] - place[2], place[1] - place[3]) > near * (1.0 + ROUNDING):
        return False
    for i in range(4):
        nearest = min(bounds[i, (i + 1) % 4], bounds[i, (i + 2) % 4], bounds[i, (i + 3) % 4])
        k = 0 if i < 2 else 2
        if _reach(points, quad[i], place[k], place[k + 1]) > nearest * (1.0 + ROUNDING):
            return False
        b, c, d = (i + 1) % 4, (i + 2) % 4, (i + 3) % 4
        # The other three by a full tree or two bottlenecks, and this one by a bottleneck.
        p = squared(points, quad[b], quad[c])
        q = squared(points, quad[c], quad[d])
        r = squared(points, quad[d], quad[b])
        x, y, z = bounds[b, c], bounds[c, d], bounds[d, b]
        three = min(triple_length(p, q, r), x + y + z - max(x, y, z))
        if total >= (three + nearest) * STRICT:
            return False
    return True


@njit(cache=True, nogil=True)
def list_quads(
    points: Array,
    pairs: Array,
    bound: Array,
    start: Array,
    rows: Array,
    cross: Array,
    cross_bound: Array,
    cross_start: Array,
    cross_rows: Array,
    up: Array,
    rank: Array,
    weight: Array,
    stamp: Array,
    first: int,
    last: int,
) -> tuple[Array, Array, Array]:
    """Return (names, places, lengths) of the full trees of four terminals at pairs first..last-1.

    Two pairs are tried together where a cross pair joins them; the lower one lists them. `stamp`
    is a scratch array of -1, one for each pair.
    """
    room = last - first + 8
    names, places, lengths = np.empty((room, 4), np.int64), np.zeros((room, 4)), np.empty(room)
    quad, place, bounds = np.empty(4, np.int64), np.empty(4), np.zeros((4, 4))
    found = 0
    for pair in range(first, last):
        a, b = pairs[pair, 0], pairs[pair, 1]
        for end in range(2):
            u = a if end == 0 else b
            for k in range(cross_start[u], cross_start[u + 1]):
                link = cross_rows[k]
                c = cross[link, 0] + cross[link, 1] - u
                if c in (a, b):
                    continue
                for i in range(start[c], start[c + 1]):
                    other = rows[i]
                    d = pairs[other, 0] + pairs[other, 1] - c
                    if other <= pair or d in (a, b) or stamp[other] == pair:
                        continue
                    stamp[other] = pair
                    limit = (bound[pair] + bound[other] + cross_bound[link]) * STRICT
                    total = quad_tree(points, a, b, c, d, limit, place)
                    if total == np.inf:
                        continue
                    quad[0], quad[1], quad[2], quad[3] = a, b, c, d
                    if quad_is_useful(points, quad, place, total, up, rank, weight, bounds):
                        if found == lengths.size:
                            names, places, lengths = doubled(names, places, lengths)
                        for q in range(4):
                            names[found, q], places[found, q] = quad[q], place[q]
                        lengths[found] = total
                        found += 1
    return names[:found].copy(), places[:found].copy(), lengths[:found].copy()
