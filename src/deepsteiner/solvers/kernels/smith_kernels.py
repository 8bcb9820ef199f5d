"""Kernels of Smith, Lee and Liebman's heuristic: full Steiner trees over Delaunay triangles.

A list of full Steiner trees is (terminals (m, 4), fourth -1 for three terminals; places (m, 4),
the x, y of one or two Steiner points; lengths (m,); replaced (m,), the length of the spanning-tree
edges between the same terminals). With four terminals a, b, c, d the first Steiner point joins
a and b, the second c and d.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from ...core.points import Array
from ...core.tree_kernels import find
from ...geometry.gift_wrapping_kernels import triangulate
from ...geometry.relax_tree_kernels import adjacency
from ...geometry.spanning_kernels import prim
from .thompson_kernels import fermat_point

# A rebuilt tree may differ by this share from its Simpson line.
AGREES = 1e-9
# An edge below this share of the whole is none: its Steiner point is a terminal, or the other one.
SHORTEST = 1e-9
ROOT3 = math.sqrt(3.0)


@njit(cache=True)
def _equilateral(points: Array, a: int, b: int, away: int) -> tuple[float, float, float, float]:
    """Return the equilateral point of ab on the side away from a point, and the circle's centre."""
    ax, ay = points[a, 0], points[a, 1]
    dx, dy = points[b, 0] - ax, points[b, 1] - ay
    side = dx * (points[away, 1] - ay) - dy * (points[away, 0] - ax)
    height = -0.5 * ROOT3 if side > 0.0 else 0.5 * ROOT3
    mx, my = ax + 0.5 * dx, ay + 0.5 * dy
    return mx - height * dy, my + height * dx, mx - height * dy / 3.0, my + height * dx / 3.0


@njit(cache=True)
def _distance(points: Array, v: int, x: float, y: float) -> float:
    return math.hypot(points[v, 0] - x, points[v, 1] - y)


@njit(cache=True)
def four_tree(points: Array, a: int, b: int, c: int, d: int, place: Array) -> float:
    """Return the length of the full Steiner tree ab|cd, or infinity where there is none.

    Its two Steiner points lie where the line between the equilateral points of ab and of cd meets
    the two circles; the tree exists when it, rebuilt, is as long as that line.
    """
    ex, ey, ox, oy = _equilateral(points, a, b, c)
    fx, fy, qx, qy = _equilateral(points, c, d, a)
    dx, dy = fx - ex, fy - ey
    line = math.hypot(dx, dy)
    if line == 0.0:
        return np.inf
    one = 2.0 * ((ox - ex) * dx + (oy - ey) * dy) / (line * line)
    two = 2.0 * ((qx - fx) * dx + (qy - fy) * dy) / (line * line)
    sx, sy, tx, ty = ex + one * dx, ey + one * dy, fx + two * dx, fy + two * dy
    to_a, to_b = _distance(points, a, sx, sy), _distance(points, b, sx, sy)
    to_c, to_d = _distance(points, c, tx, ty), _distance(points, d, tx, ty)
    between = math.hypot(sx - tx, sy - ty)
    length = to_a + to_b + to_c + to_d + between
    if length > line * (1.0 + AGREES):
        return np.inf
    if min(min(to_a, to_b), min(to_c, to_d), between) <= SHORTEST * length:
        return np.inf
    place[0], place[1], place[2], place[3] = sx, sy, tx, ty
    return length


@njit(cache=True)
def three_tree(points: Array, a: int, b: int, c: int, place: Array) -> float:
    """Return the length of the full Steiner tree of three terminals, or infinity."""
    x, y, corner = fermat_point(
        points[a, 0], points[a, 1], points[b, 0], points[b, 1], points[c, 0], points[c, 1]
    )
    if corner >= 0:
        return np.inf
    to_a, to_b = _distance(points, a, x, y), _distance(points, b, x, y)
    to_c = _distance(points, c, x, y)
    length = to_a + to_b + to_c
    if min(to_a, to_b, to_c) <= SHORTEST * length:
        return np.inf
    place[0], place[1] = x, y
    return length


@njit(cache=True)
def _tree_edge(points: Array, tree: Array, start: Array, incident: Array, a: int, b: int) -> float:
    """Return the length of the spanning tree's edge ab, 0 where that is not an edge of it."""
    for k in range(start[a], start[a + 1]):
        if tree[incident[k], 0] + tree[incident[k], 1] - a == b:
            return _distance(points, a, points[b, 0], points[b, 1])
    return 0.0


@njit(cache=True)
def list_trees(
    points: Array, tree: Array, triangles: Array, neighbours: Array, count: int
) -> tuple[int, Array, Array, Array, Array]:
    """Return (number, terminals, places, lengths, replaced) of the full Steiner trees worth trying.

    Three terminals: the triangles with two edges of the spanning tree. Four: pairs of triangles
    with a common edge whose corners three edges of the spanning tree join, in both ways of
    pairing neighbouring corners. Only trees shorter than those edges are kept.
    """
    start, incident = adjacency(tree, tree.shape[0], points.shape[0])
    room = 4 * count
    terminals = np.empty((room, 4), dtype=np.int64)
    places = np.zeros((room, 4))
    lengths, replaced = np.empty(room), np.empty(room)
    found = 0
    side = np.empty(3)  # side[k]: the spanning tree's edge opposite corner k, or 0
    for t in range(count):
        for k in range(3):
            a, b = triangles[t, (k + 1) % 3], triangles[t, (k + 2) % 3]
            side[k] = _tree_edge(points, tree, start, incident, a, b)
        joined = (side[0] > 0.0) + (side[1] > 0.0) + (side[2] > 0.0)
        total = side[0] + side[1] + side[2]
        a, b, c = triangles[t, 0], triangles[t, 1], triangles[t, 2]
        if joined == 2:
            length = three_tree(points, a, b, c, places[found])
            if length < total:
                terminals[found, 0], terminals[found, 1], terminals[found, 2] = a, b, c
                terminals[found, 3] = -1
                lengths[found], replaced[found] = length, total
                found += 1
        for k in range(3):
            other = neighbours[t, k]
            if other < t:  # every pair once; -1 is the outside
                continue
            p, q, r = triangles[t, k], triangles[t, (k + 1) % 3], triangles[t, (k + 2) % 3]
            s = triangles[other, 0] + triangles[other, 1] + triangles[other, 2] - q - r
            one = _tree_edge(points, tree, start, incident, s, q)
            two = _tree_edge(points, tree, start, incident, s, r)
            if joined + (one > 0.0) + (two > 0.0) != 3:
                continue
            for turn in range(2):
                b, d = (q, r) if turn == 0 else (r, q)
                length = four_tree(points, p, b, s, d, places[found])
                if length < total + one + two:
                    terminals[found, 0], terminals[found, 1] = p, b
                    terminals[found, 2], terminals[found, 3] = s, d
                    lengths[found], replaced[found] = length, total + one + two
                    found += 1
    return found, terminals, places, lengths, replaced


@njit(cache=True)
def choose(number: int, terminals: Array, lengths: Array, replaced: Array, parent: Array) -> Array:
    """Return the rows taken: least ratio of length to replaced first, never closing a cycle."""
    order = np.argsort(lengths[:number] / replaced[:number], kind="mergesort")
    taken = np.empty(number, dtype=np.int64)
    count = 0
    roots = np.empty(4, dtype=np.int64)
    for row in order:
        size = 4 if terminals[row, 3] >= 0 else 3
        free = True
        for i in range(size):
            roots[i] = find(parent, terminals[row, i])
            for j in range(i):
                free = free and roots[i] != roots[j]
        if free:
            for i in range(1, size):
                parent[roots[i]] = roots[0]
            taken[count] = row
            count += 1
    return taken[:count]


@njit(cache=True)
def concatenate(
    n: int, tree: Array, terminals: Array, places: Array, taken: Array, parent: Array,
    steiner: Array, edges: Array,
) -> int:  # fmt: skip
    """Write the Steiner points and edges of the trees taken; return the number of points.

    Edges of the spanning tree join the parts that are left.
    """
    count, row = n, 0
    for k in taken:
        a, b, c, d = terminals[k, 0], terminals[k, 1], terminals[k, 2], terminals[k, 3]
        second = count if d < 0 else count + 1
        steiner[count - n, 0], steiner[count - n, 1] = places[k, 0], places[k, 1]
        edges[row, 0], edges[row, 1] = a, count
        edges[row + 1, 0], edges[row + 1, 1] = b, count
        edges[row + 2, 0], edges[row + 2, 1] = c, second
        row += 3
        if d >= 0:
            steiner[second - n, 0], steiner[second - n, 1] = places[k, 2], places[k, 3]
            edges[row, 0], edges[row, 1] = d, second
            edges[row + 1, 0], edges[row + 1, 1] = count, second
            row += 2
        count = second + 1
    for e in range(tree.shape[0]):
        a, b = find(parent, tree[e, 0]), find(parent, tree[e, 1])
        if a != b:
            parent[a] = b
            edges[row, 0], edges[row, 1] = tree[e, 0], tree[e, 1]
            row += 1
    return count


@njit(cache=True)
def solve_small(terminals: Array, tree: Array, steiner: Array, edges: Array) -> int:
    """Run the heuristic on few points, with the O(n^2) triangulation; return the point count."""
    n = terminals.shape[0]
    triangles, neighbours = (
        np.empty((2 * n, 3), dtype=np.int64),
        np.empty((2 * n, 3), dtype=np.int64),
    )
    count = triangulate(terminals, triangles, neighbours)
    number, sets, places, lengths, replaced = list_trees(
        terminals, tree, triangles, neighbours, count
    )
    parent = np.arange(n)
    taken = choose(number, sets, lengths, replaced, parent)
    return concatenate(n, tree, sets, places, taken, parent, steiner, edges)


@njit(cache=True, nogil=True)
def solve_batch(
    terminals: Array, sizes: Array, steiner: Array, edges: Array, first: int, last: int
) -> None:
    """Solve instances first..last; write their point counts, Steiner points and edges."""
    n = terminals.shape[1]
    tree = np.empty((n - 1, 2), dtype=np.int64)
    for b in range(first, last):
        prim(terminals[b], tree)
        sizes[b] = solve_small(terminals[b], tree, steiner[b], edges[b])
