"""Full Steiner trees of three and four terminals that neighbours form, by Melzak's construction.

Z. A. Melzak, On the problem of Steiner, Canadian Mathematical Bulletin 4 (1961): two terminals of a
common Steiner point are replaced by their equilateral point; the line between the last two points
(the Simpson line) is as long as the tree, and meets the circles of its Steiner points in them.

With four terminals a, b, c, d the first Steiner point joins a and b, the second c and d.
"""

from __future__ import annotations

import math

import numpy as np

from ....core.jit import njit
from ....core.points import Array
from .ground import ClosePairs, Found, Ground
from .neighbour_kernels import bottleneck, squared

HALF_ROOT3 = 0.5 * math.sqrt(3.0)
ROUNDING = 1e-9
# A tree must beat what it replaces by this share, or it is only a tie. What replaces it, here and
# in the modules of larger trees, is several smaller trees over the same terminals (links along the
# spanning tree, a smaller full tree and a link), so no two trees can rule out each other.
STRICT = 1.0 - 1e-10


@njit(cache=True, nogil=True)
def room_for(rows: int, size: int) -> Found:
    """Return an empty list with room for trees of `size` terminals."""
    return Found(np.empty((rows, size), np.int64), np.empty((rows, 2 * size - 4)), np.empty(rows))


@njit(cache=True, nogil=True)
def kept(found: Found, row: int, names: Array, place: Array, length: float) -> Found:
    """Write a tree into a row of a list; return the list, with twice the room where it was full."""
    if row == found.length.size:
        found = Found(
            np.concatenate((found.names, found.names)),
            np.concatenate((found.places, found.places)),
            np.concatenate((found.length, found.length)),
        )
    found.names[row], found.places[row], found.length[row] = names, place, length
    return found


@njit(cache=True, nogil=True)
def first_rows(found: Found, count: int) -> Found:
    """Return a copy of the first rows of a list."""
    return Found(
        found.names[:count].copy(), found.places[:count].copy(), found.length[:count].copy()
    )


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
def list_triples(ground: Ground, first: int, last: int) -> Found:
    """Return the full trees of three terminals around first..last-1.

    A triple is met from each terminal that is paired with both others; the lowest one lists it.
    """
    points, near = ground.points, ground.pairs
    ends, bound, start, rows = near
    found, count = room_for(2 * (last - first) + 8, 3), 0
    names, place = np.empty(3, np.int64), np.empty(2)
    for b in range(first, last):
        for i in range(start[b], start[b + 1]):
            one = rows[i]
            a = ends[one, 0] + ends[one, 1] - b
            p = squared(points, a, b)
            for j in range(start[b], i):
                two = rows[j]
                c = ends[two, 0] + ends[two, 1] - b
                r = squared(points, a, c)
                total = triple_length(p, squared(points, b, c), r)
                if total >= (bound[one] + bound[two]) * STRICT:
                    continue
                other = bottleneck(a, c, ground.bottlenecks)
                if r > 3.0 * (1.0 + ROUNDING) * other * other:
                    continue
                longest = max(bound[one], bound[two], other)
                if total >= (bound[one] + bound[two] + other - longest) * STRICT:
                    continue
                if (a < b or c < b) and paired(a, c, near):
                    continue
                if triple_place(points, a, b, c, place):
                    names[0], names[1], names[2] = a, b, c
                    found = kept(found, count, names, place, total)
                    count += 1
    return first_rows(found, count)


@njit(cache=True, nogil=True)
def paired(a: int, b: int, pairs: ClosePairs) -> bool:
    """Whether two terminals are a close pair."""
    for k in range(pairs.first[a], pairs.first[a + 1]):
        if pairs.ends[pairs.rows[k], 0] + pairs.ends[pairs.rows[k], 1] - a == b:
            return True
    return False


@njit(cache=True, nogil=True)
def side(points: Array, a: int, b: int, c: int) -> float:
    """Positive where c lies left of the line from a to b."""
    dx, dy = points[b, 0] - points[a, 0], points[b, 1] - points[a, 1]
    return float(dx * (points[c, 1] - points[a, 1]) - dy * (points[c, 0] - points[a, 0]))


@njit(cache=True, nogil=True)
def equilateral(points: Array, a: int, b: int, height: float) -> tuple[float, float, float, float]:
    """Return the middle of ab, and the way from there to the equilateral point of ab.

    That lies left of the line from a to b for a height of HALF_ROOT3, right of it for -HALF_ROOT3.
    """
    dx, dy = points[b, 0] - points[a, 0], points[b, 1] - points[a, 1]
    mx, my = 0.5 * (points[a, 0] + points[b, 0]), 0.5 * (points[a, 1] + points[b, 1])
    return mx, my, -height * dy, height * dx


@njit(cache=True, nogil=True)
def quad_tree(points: Array, a: int, b: int, c: int, d: int, limit: float, place: Array) -> float:
    """Length of the full Steiner tree ab|cd if it exists and is below the limit, else infinity."""
    c_side, a_side = side(points, a, b, c), side(points, c, d, a)
    if c_side * side(points, a, b, d) <= 0.0 or a_side * side(points, c, d, b) <= 0.0:
        return np.inf
    mx, my, hx, hy = equilateral(points, a, b, -HALF_ROOT3 if c_side > 0.0 else HALF_ROOT3)
    nx, ny, gx, gy = equilateral(points, c, d, -HALF_ROOT3 if a_side > 0.0 else HALF_ROOT3)
    lx, ly = nx + gx - mx - hx, ny + gy - my - hy  # the Simpson line
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
    total += distance(points, a, sx, sy) + distance(points, b, sx, sy)
    total += distance(points, c, tx, ty) + distance(points, d, tx, ty)
    if total > line * (1.0 + ROUNDING):
        return np.inf
    place[0], place[1], place[2], place[3] = sx, sy, tx, ty
    return float(total)


@njit(cache=True, nogil=True)
def distance(points: Array, v: int, x: float, y: float) -> float:
    """Distance of a terminal from a place."""
    dx, dy = points[v, 0] - x, points[v, 1] - y
    return math.sqrt(dx * dx + dy * dy)


@njit(cache=True, nogil=True)
def three_otherwise(
    points: Array, a: int, b: int, c: int, ab: float, bc: float, ca: float
) -> float:
    """Length that connects three terminals by a full tree or by two of their bottlenecks."""
    full = triple_length(squared(points, a, b), squared(points, b, c), squared(points, c, a))
    return float(min(full, ab + bc + ca - max(ab, bc, ca)))


@njit(cache=True, nogil=True)
def bounds_among(ground: Ground, names: Array) -> Array:
    """Return the bottleneck distances between the terminals of a tree."""
    bounds = np.zeros((names.size, names.size))
    for i in range(names.size):
        for j in range(i):
            bounds[i, j] = bounds[j, i] = bottleneck(names[i], names[j], ground.bottlenecks)
    return bounds


@njit(cache=True, nogil=True)
def gap_bound(bounds: Array, low: int, high: int) -> float:
    """Return the shortest bottleneck between terminals low..high-1 of a tree and its others."""
    least = np.inf
    for i in range(low, high):
        for j in range(bounds.shape[0]):
            if j < low or j >= high:
                least = min(least, bounds[i, j])
    return least


@njit(cache=True, nogil=True)
def edges_fit(points: Array, names: Array, place: Array, bounds: Array) -> bool:
    """Whether no edge is longer than the bottlenecks between its two sides."""
    size = names.size
    for i in range(size):
        k = 2 * min(max(i - 1, 0), size - 3)
        outer = distance(points, names[i], place[k], place[k + 1])
        if outer > gap_bound(bounds, i, i + 1) * (1.0 + ROUNDING):
            return False
    for cut in range(2, size - 1):
        k = 2 * cut - 4
        inner = math.hypot(place[k] - place[k + 2], place[k + 1] - place[k + 3])
        if inner > gap_bound(bounds, 0, cut) * (1.0 + ROUNDING):
            return False
    return True


@njit(cache=True, nogil=True)
def quad_is_useful(ground: Ground, quad: Array, place: Array, total: float) -> bool:
    """Whether no edge exceeds a bottleneck and no smaller trees over the same terminals win."""
    points, bounds = ground.points, bounds_among(ground, quad)
    if not edges_fit(points, quad, place, bounds):
        return False
    for i in range(4):
        b, c, d = (i + 1) % 4, (i + 2) % 4, (i + 3) % 4
        # The other three by themselves, and this one by a bottleneck.
        three = three_otherwise(
            points, quad[b], quad[c], quad[d], bounds[b, c], bounds[c, d], bounds[d, b]
        )
        if total >= (three + gap_bound(bounds, i, i + 1)) * STRICT:
            return False
    return True


@njit(cache=True, nogil=True)
def list_quads(ground: Ground, stamp: Array, first: int, last: int) -> Found:
    """Return the full trees of four terminals at pairs first..last-1.

    Two pairs are tried together where a cross pair joins them; the lower one lists them. `stamp`
    is a scratch array of -1, one for each pair.
    """
    points = ground.points
    ends, bound, start, rows = ground.pairs
    cross_ends, cross_bound, cross_start, cross_rows = ground.cross
    found, count = room_for(last - first + 8, 4), 0
    quad, place = np.empty(4, np.int64), np.empty(4)
    for pair in range(first, last):
        a, b = ends[pair, 0], ends[pair, 1]
        for u in (a, b):
            for k in range(cross_start[u], cross_start[u + 1]):
                link = cross_rows[k]
                c = cross_ends[link, 0] + cross_ends[link, 1] - u
                if c in (a, b):
                    continue
                for i in range(start[c], start[c + 1]):
                    other = rows[i]
                    d = ends[other, 0] + ends[other, 1] - c
                    if other <= pair or d in (a, b) or stamp[other] == pair:
                        continue
                    stamp[other] = pair
                    limit = (bound[pair] + bound[other] + cross_bound[link]) * STRICT
                    total = quad_tree(points, a, b, c, d, limit, place)
                    if total == np.inf:
                        continue
                    quad[0], quad[1], quad[2], quad[3] = a, b, c, d
                    if quad_is_useful(ground, quad, place, total):
                        found = kept(found, count, quad, place, total)
                        count += 1
    return first_rows(found, count)
