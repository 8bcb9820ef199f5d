"""Kernels of Smith, Lee and Liebman's heuristic: full Steiner trees over Delaunay triangles."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...core.jit import njit
from ...core.points import Array
from ...core.tree_kernels import find
from ...geometry.gift_wrapping_kernels import triangulate
from ...geometry.relax_tree_kernels import Adjacency, adjacency
from ...geometry.spanning_kernels import spanning_tree
from ...geometry.vector_kernels import ROOT3, cross, dot, fermat_point, places_of
from ...run.method import TreeRows

# A rebuilt tree may differ by this share from its Simpson line.
AGREES = 1e-9
# An edge below this share of the whole is none: its Steiner point is a terminal, or the other one.
SHORTEST = 1e-9

Corners = tuple[int, int, int, int]
Pair = tuple[complex, complex]


class SmallTrees(NamedTuple):
    """A list of m full Steiner trees of three or four terminals.

    Attributes
    ----------
    terminals
        (m, 4), the fourth -1 where there are three. With four terminals a, b, c, d the first
        Steiner point joins a and b, the second c and d.
    places
        (m, 2), one or two Steiner points as complex numbers.
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
def _equilateral(a: complex, b: complex, away: complex) -> tuple[complex, complex]:
    """Return the equilateral point of ab on the side away from a point, and the circle's centre."""
    height = -0.5 * ROOT3 if cross(b - a, away - a) > 0.0 else 0.5 * ROOT3
    middle, apex = a + 0.5 * (b - a), (b - a) * complex(0.0, height)
    return middle + apex, middle + apex / 3.0


@njit(cache=True)
def four_tree(a: complex, b: complex, c: complex, d: complex) -> tuple[float, complex, complex]:
    """Return the length of the full Steiner tree ab|cd and its two Steiner points.

    They lie where the line between the equilateral points of ab and of cd meets the two circles;
    the tree exists when it, rebuilt, is as long as that line. The length is infinite where there is
    none.
    """
    e, e_centre = _equilateral(a, b, c)
    f, f_centre = _equilateral(c, d, a)
    way = f - e
    line = abs(way)
    if line == 0.0:
        return np.inf, e, f
    s = e + 2.0 * dot(e_centre - e, way) / (line * line) * way
    t = f + 2.0 * dot(f_centre - f, way) / (line * line) * way
    to_a, to_b, to_c, to_d, between = abs(a - s), abs(b - s), abs(c - t), abs(d - t), abs(s - t)
    length = to_a + to_b + to_c + to_d + between
    none = length > line * (1.0 + AGREES)
    none = none or min(to_a, to_b, to_c, to_d, between) <= SHORTEST * length
    return np.inf if none else length, s, t


@njit(cache=True)
def three_tree(a: complex, b: complex, c: complex) -> tuple[float, complex]:
    """Return the length of the full Steiner tree of three terminals, or infinity, and its place."""
    place, corner = fermat_point(a, b, c)
    to_a, to_b, to_c = abs(a - place), abs(b - place), abs(c - place)
    length = to_a + to_b + to_c
    none = corner >= 0 or min(to_a, to_b, to_c) <= SHORTEST * length
    return np.inf if none else length, place


@njit(cache=True)
def tree_edge(places: Array, edges: Array, around: Adjacency, a: int, b: int) -> float:
    """Return the length of the spanning tree's edge ab, 0 where that is not an edge of it."""
    for k in range(around.start[a], around.start[a + 1]):
        e = around.incident[k]
        if edges[e, 0] + edges[e, 1] - a == b:
            return float(abs(places[a] - places[b]))
    return 0.0


@njit(cache=True)
def _put(
    trees: SmallTrees, row: int, corners: Corners, length: float, replaced: float, places: Pair
) -> int:
    """Write a tree into a row if it is shorter than what it replaces; return the next free row."""
    if not length < replaced:
        return row
    for i, v in enumerate(corners):
        trees.terminals[row, i] = v
    trees.places[row, 0], trees.places[row, 1] = places
    trees.lengths[row], trees.replaced[row] = length, replaced
    return row + 1


@njit(cache=True)
def list_trees(points: Array, edges: Array, triangles: Array, neighbours: Array) -> SmallTrees:
    """Return the full Steiner trees worth trying over a triangulation.

    Three terminals: the triangles with two edges of the spanning tree. Four: pairs of triangles
    with a common edge whose corners three edges of the spanning tree join, in both ways of
    pairing neighbouring corners. Only trees shorter than those edges are kept.
    """
    z, around = places_of(points), adjacency(edges, edges.shape[0], points.shape[0])
    room = 4 * triangles.shape[0]
    terminals, places = np.empty((room, 4), np.int64), np.empty((room, 2), np.complex128)
    trees = SmallTrees(terminals, places, np.empty(room), np.empty(room))
    found = 0
    side = np.empty(3)  # side[k]: the spanning tree's edge opposite corner k, or 0
    for t in range(triangles.shape[0]):
        for k in range(3):
            a, b = triangles[t, (k + 1) % 3], triangles[t, (k + 2) % 3]
            side[k] = tree_edge(z, edges, around, a, b)
        joined = (side[0] > 0.0) + (side[1] > 0.0) + (side[2] > 0.0)
        total = side[0] + side[1] + side[2]
        if joined == 2:
            a, b, c = triangles[t, 0], triangles[t, 1], triangles[t, 2]
            length, place = three_tree(z[a], z[b], z[c])
            found = _put(trees, found, (a, b, c, -1), length, total, (place, place))
        for k in range(3):
            other = neighbours[t, k]
            if other < t:  # every pair once; -1 is the outside
                continue
            p, q, r = triangles[t, k], triangles[t, (k + 1) % 3], triangles[t, (k + 2) % 3]
            s = triangles[other, 0] + triangles[other, 1] + triangles[other, 2] - q - r
            one, two = tree_edge(z, edges, around, s, q), tree_edge(z, edges, around, s, r)
            if joined + (one > 0.0) + (two > 0.0) != 3:
                continue
            for b, d in ((q, r), (r, q)):
                length, first, second = four_tree(z[p], z[b], z[s], z[d])
                spots = (first, second)
                found = _put(trees, found, (p, b, s, d), length, total + one + two, spots)
    lengths, replaced = trees.lengths[:found], trees.replaced[:found]
    return SmallTrees(terminals[:found], places[:found], lengths, replaced)


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
    n, places = parent.shape[0], places_of(steiner)
    count, row = n, 0
    for k in taken:
        size = 4 if trees.terminals[k, 3] >= 0 else 3
        second = count + size - 3
        for i in range(size):
            edges[row, 0], edges[row, 1] = trees.terminals[k, i], count if i < 2 else second
            row += 1
        for i in range(size - 2):
            places[count - n + i] = trees.places[k, i]
        if second > count:
            edges[row, 0], edges[row, 1] = count, second
            row += 1
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
    for b in range(first, last):
        tree = spanning_tree(terminals[b])
        trees = list_trees(terminals[b], tree, *triangulate(terminals[b]))
        parent = np.arange(terminals.shape[1])
        taken = choose(trees, parent)
        rows.sizes[b] = concatenate(trees, taken, tree, parent, rows.steiner[b], rows.edges[b])
