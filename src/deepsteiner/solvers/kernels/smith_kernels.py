"""Kernels of Smith, Lee and Liebman's heuristic: full Steiner trees over Delaunay triangles."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import njit

from ...core.points import Array
from ...core.tree_kernels import find
from ...geometry.gift_wrapping_kernels import triangulate
from ...geometry.relax_tree_kernels import Adjacency, adjacency
from ...geometry.spanning_kernels import prim
from ...run.method import TreeRows
from .slot_kernels import distance, fermat_point

# A rebuilt tree may differ by this share from its Simpson line.
AGREES = 1e-9
# An edge below this share of the whole is none: its Steiner point is a terminal, or the other one.
SHORTEST = 1e-9
ROOT3 = math.sqrt(3.0)


class SmallTrees(NamedTuple):
    """A list of m full Steiner trees of three or four terminals.

    Attributes
    ----------
    terminals
        (m, 4), the fourth -1 where there are three. With four terminals a, b, c, d the first
        Steiner point joins a and b, the second c and d.
    places
        (m, 4), the x, y of one or two Steiner points.
    lengths
        (m,) lengths of the trees.
    replaced
        (m,) lengths of the spanning tree's edges between the same terminals.
    """

    terminals: Array
    places: Array
    lengths: Array
    replaced: Array


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
    to_a, to_b = distance(points, a, sx, sy), distance(points, b, sx, sy)
    to_c, to_d = distance(points, c, tx, ty), distance(points, d, tx, ty)
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
    x, y, corner = fermat_point(points, a, b, c)
    if corner >= 0:
        return np.inf
    to_a, to_b = distance(points, a, x, y), distance(points, b, x, y)
    to_c = distance(points, c, x, y)
    length = to_a + to_b + to_c
    if min(to_a, to_b, to_c) <= SHORTEST * length:
        return np.inf
    place[0], place[1] = x, y
    return length


@njit(cache=True)
def tree_edge(points: Array, edges: Array, around: Adjacency, a: int, b: int) -> float:
    """Return the length of the spanning tree's edge ab, 0 where that is not an edge of it."""
    for k in range(around.start[a], around.start[a + 1]):
        e = around.incident[k]
        if edges[e, 0] + edges[e, 1] - a == b:
            return distance(points, a, points[b, 0], points[b, 1])
    return 0.0


@njit(cache=True)
def list_trees(
    points: Array, edges: Array, triangles: Array, neighbours: Array, count: int
) -> SmallTrees:
    """Return the full Steiner trees worth trying, over the first `count` triangles.

    Three terminals: the triangles with two edges of the spanning tree. Four: pairs of triangles
    with a common edge whose corners three edges of the spanning tree join, in both ways of
    pairing neighbouring corners. Only trees shorter than those edges are kept.
    """
    around = adjacency(edges, edges.shape[0], points.shape[0])
    room = 4 * count
    terminals = np.empty((room, 4), dtype=np.int64)
    places = np.zeros((room, 4))
    lengths, replaced = np.empty(room), np.empty(room)
    found = 0
    side = np.empty(3)  # side[k]: the spanning tree's edge opposite corner k, or 0
    for t in range(count):
        for k in range(3):
            a, b = triangles[t, (k + 1) % 3], triangles[t, (k + 2) % 3]
            side[k] = tree_edge(points, edges, around, a, b)
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
            one = tree_edge(points, edges, around, s, q)
            two = tree_edge(points, edges, around, s, r)
            if joined + (one > 0.0) + (two > 0.0) != 3:
                continue
            for b, d in ((q, r), (r, q)):
                length = four_tree(points, p, b, s, d, places[found])
                if length < total + one + two:
                    terminals[found, 0], terminals[found, 1] = p, b
                    terminals[found, 2], terminals[found, 3] = s, d
                    lengths[found], replaced[found] = length, total + one + two
                    found += 1
    return SmallTrees(terminals[:found], places[:found], lengths[:found], replaced[:found])


@njit(cache=True)
def choose(trees: SmallTrees, parent: Array) -> Array:
    """Return the rows taken: least ratio of length to replaced first, never closing a cycle."""
    order = np.argsort(trees.lengths / trees.replaced, kind="mergesort")
    taken = np.empty(order.shape[0], dtype=np.int64)
    count = 0
    roots = np.empty(4, dtype=np.int64)
    for row in order:
        size = 4 if trees.terminals[row, 3] >= 0 else 3
        free = True
        for i in range(size):
            roots[i] = find(parent, trees.terminals[row, i])
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
    trees: SmallTrees, taken: Array, tree: Array, parent: Array, steiner: Array, edges: Array
) -> int:
    """Write the Steiner points and edges of the trees taken; return the number of points.

    Edges of the spanning tree join the parts that are left.
    """
    n = parent.shape[0]
    count, row = n, 0
    for k in taken:
        corners = trees.terminals[k]
        second = count if corners[3] < 0 else count + 1
        steiner[count - n, 0], steiner[count - n, 1] = trees.places[k, 0], trees.places[k, 1]
        edges[row, 0], edges[row, 1] = corners[0], count
        edges[row + 1, 0], edges[row + 1, 1] = corners[1], count
        edges[row + 2, 0], edges[row + 2, 1] = corners[2], second
        row += 3
        if second > count:
            steiner[second - n, 0], steiner[second - n, 1] = trees.places[k, 2], trees.places[k, 3]
            edges[row, 0], edges[row, 1] = corners[3], second
            edges[row + 1, 0], edges[row + 1, 1] = count, second
            row += 2
        count = second + 1
    for e in range(tree.shape[0]):
        a, b = find(parent, tree[e, 0]), find(parent, tree[e, 1])
        if a != b:
            parent[a] = b
            edges[row, 0], edges[row, 1] = tree[e, 0], tree[e, 1]
            row += 1
    return int(count)


@njit(cache=True, nogil=True)
def solve_batch(terminals: Array, rows: TreeRows, first: int, last: int) -> None:
    """Solve instances first..last with the O(n^2) triangulation; write their trees."""
    n = terminals.shape[1]
    tree = np.empty((n - 1, 2), dtype=np.int64)
    triangles = np.empty((2 * n, 3), dtype=np.int64)
    neighbours = np.empty((2 * n, 3), dtype=np.int64)
    for b in range(first, last):
        prim(terminals[b], tree)
        count = triangulate(terminals[b], triangles, neighbours)
        trees = list_trees(terminals[b], tree, triangles, neighbours, count)
        parent = np.arange(n)
        taken = choose(trees, parent)
        rows.sizes[b] = concatenate(trees, taken, tree, parent, rows.steiner[b], rows.edges[b])
