"""The list of a small instance in one call: neighbours, close pairs, full Steiner trees."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from ....core.points import Array
from ....geometry.gift_wrapping_kernels import triangulate
from ....geometry.spanning_kernels import prim, squared_lengths
from ...select.exact.prune_kernels import sorted_order
from .listing_kernels import Found, list_quads, list_triples
from .neighbour_kernels import (
    CLOSE,
    MOST,
    ON_ONE,
    ON_TWO,
    Bottlenecks,
    ClosePairs,
    Neighbours,
    bottleneck_tree,
    close_pairs,
    grouped,
    pair_bounds,
)
from .partial_tree_kernels import grow_branches, grow_pairs, terminal_rows
from .quint_kernels import list_quints
from .sextet_kernels import close_hexes, close_quints


class TreeList(NamedTuple):
    """`FullTrees` whose Steiner points form paths, as kernels take them.

    points: (n, 2), the terminals.
    start, terminals: tree f joins ``terminals[start[f] : start[f + 1]]``.
    length: that of every tree.
    steiner: the Steiner points of tree f begin at row ``start[f] - 2 * f``.
    """

    points: Array
    start: Array
    terminals: Array
    length: Array
    steiner: Array


@njit(cache=True, nogil=True)
def extended(trees: TreeList, found: Found) -> TreeList:
    """Return a list with more trees at its end."""
    ends = trees.start[-1] + found.names.shape[1] * np.arange(1, found.length.size + 1)
    return TreeList(
        trees.points,
        np.concatenate((trees.start, ends)),
        np.concatenate((trees.terminals, found.names.ravel())),
        np.concatenate((trees.length, found.length)),
        np.concatenate((trees.steiner, found.places.reshape(-1, 2))),
    )


@njit(cache=True, nogil=True)
def neighbour_pairs(points: Array, tree: Array) -> Array:
    """Return the edges of the Delaunay triangulation and of the spanning tree, by length."""
    n = points.shape[0]
    triangles, across = np.empty((2 * n, 3), np.int64), np.empty((2 * n, 3), np.int64)
    count = triangulate(points, triangles, across)
    near = np.zeros((n, n), np.bool_)
    for e in range(n - 1):
        near[min(tree[e, 0], tree[e, 1]), max(tree[e, 0], tree[e, 1])] = True
    for t in range(count):
        for k in range(3):
            a, b = triangles[t, k], triangles[t, (k + 1) % 3]
            near[min(a, b), max(a, b)] = True
    cells = np.flatnonzero(near)
    pairs = np.empty((cells.size, 2), np.int64)
    for row in range(cells.size):
        pairs[row, 0], pairs[row, 1] = cells[row] // n, cells[row] % n
    return pairs[sorted_order(squared_lengths(points, pairs))]


@njit(cache=True, nogil=True)
def measured(points: Array, pairs: Array, tree: Bottlenecks) -> Neighbours:
    """Return pairs with their bottleneck distances and stretches."""
    bound, stretch = pair_bounds(points, pairs, tree, 0, pairs.shape[0])
    return Neighbours(pairs, bound, stretch)


@njit(cache=True, nogil=True)
def begun(points: Array) -> tuple[TreeList, Bottlenecks, Neighbours]:
    """Return the list of the spanning tree's edges by length, its bottlenecks, and neighbours."""
    n = points.shape[0]
    edges = np.empty((n - 1, 2), np.int64)
    prim(points, edges)
    edges = edges[sorted_order(squared_lengths(points, edges))]
    tree = bottleneck_tree(points, edges)
    graph = measured(points, neighbour_pairs(points, edges), tree)
    nothing = np.empty((0, 2))
    trees = TreeList(points, 2 * np.arange(n), edges.ravel(), tree.length[: n - 1], nothing)
    return trees, tree, graph


@njit(cache=True, nogil=True)
def with_small_trees(
    trees: TreeList, near: ClosePairs, cross: ClosePairs, tree: Bottlenecks
) -> TreeList:
    """Return a list with the full trees of three and four terminals added."""
    points, count = trees.points, near.bound.size
    stamp = np.full(count, -1, np.int64)
    trees = extended(trees, list_triples(points, near, tree, 0, points.shape[0]))
    return extended(trees, list_quads(points, near, cross, tree, stamp, 0, count))


@njit(cache=True, nogil=True)
def list_small(points: Array, largest: int) -> TreeList:
    """Return the list that `local` chooses from: trees of up to `largest` (4 or 5) terminals."""
    n = points.shape[0]
    trees, tree, graph = begun(points)
    near, cross = close_pairs(n, graph, ON_ONE, MOST), close_pairs(n, graph, ON_TWO, MOST)
    trees = with_small_trees(trees, near, cross, tree)
    if largest > 4:
        count = near.bound.size
        stamp = np.full(count, -1, np.int64)
        trees = extended(trees, list_quints(points, near, cross, tree, stamp, 0, count))
    return trees


@njit(cache=True, nogil=True)
def list_grown(points: Array, largest: int, one: float = CLOSE, two: float = CLOSE) -> TreeList:
    """Return the list that `neural` chooses from: trees of up to `largest` (4 to 6) terminals.

    Terminals on one Steiner point are at most `one` bottlenecks apart, on adjacent ones at most
    `two`.
    """
    n = points.shape[0]
    trees, tree, graph = begun(points)
    near = close_pairs(n, graph, one, MOST)
    cross = near if one == two else close_pairs(n, graph, two, MOST)
    trees = with_small_trees(trees, near, cross, tree)
    if largest > 4:
        own = terminal_rows(points)
        pairs = grow_pairs(own, near.ends, near.bound)
        branches = grow_branches(points, own, pairs, cross, tree)
        at = grouped(branches.third, n)
        trees = extended(trees, close_quints(points, tree, pairs, branches, at, 0, n))
        if largest > 5:
            trees = extended(trees, close_hexes(points, cross, tree, pairs, branches, at, 0, n))
    return trees
