"""The list of a small instance in one call: neighbours, close pairs, full Steiner trees."""

from __future__ import annotations

import numpy as np

from ....core.jit import njit
from ....core.points import Array
from ....geometry.gift_wrapping_kernels import triangulate
from ....geometry.spanning_kernels import prim, squared_lengths
from ...grouping_kernels import grouped
from ...select.exact.prune_kernels import sorted_order
from .ground import Bottlenecks, Found, Ground, TreeList
from .listing_kernels import list_quads, list_triples
from .neighbour_kernels import (
    CLOSE,
    MOST,
    ON_ONE,
    ON_TWO,
    bottleneck_tree,
    close_pairs,
    pair_bounds,
)
from .partial_tree_kernels import grow_branches, grow_pairs, terminal_rows
from .quint_kernels import list_quints
from .sextet_kernels import close_hexes, close_quints


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
    triangles, _ = triangulate(points)
    near = np.zeros((n, n), np.bool_)
    for e in range(n - 1):
        near[min(tree[e, 0], tree[e, 1]), max(tree[e, 0], tree[e, 1])] = True
    for t in range(triangles.shape[0]):
        for k in range(3):
            a, b = triangles[t, k], triangles[t, (k + 1) % 3]
            near[min(a, b), max(a, b)] = True
    cells = np.flatnonzero(near)
    pairs = np.empty((cells.size, 2), np.int64)
    for row in range(cells.size):
        pairs[row, 0], pairs[row, 1] = cells[row] // n, cells[row] % n
    return pairs[sorted_order(squared_lengths(points, pairs))]


@njit(cache=True, nogil=True)
def with_close_pairs(
    points: Array, edges: Array, tree: Bottlenecks, graph: Array, one: float, two: float, most: int
) -> Ground:
    """Return the ground of a spanning tree and of neighbours, given by length.

    Terminals on one Steiner point are at most `one` bottlenecks apart, on adjacent ones at most
    `two`; at a terminal there are at most so many pairs of either kind.
    """
    n = points.shape[0]
    bound, stretch = pair_bounds(points, graph, tree, 0, graph.shape[0])
    near = close_pairs(n, graph, bound, stretch, one, most)
    cross = near if one == two else close_pairs(n, graph, bound, stretch, two, most)
    return Ground(points, edges, tree.length[: n - 1], tree, near, cross)


@njit(cache=True, nogil=True)
def survey(points: Array, one: float, two: float) -> Ground:
    """Return what the list of a small instance is made from: see `with_close_pairs`."""
    edges = np.empty((points.shape[0] - 1, 2), np.int64)
    prim(points, edges)
    edges = edges[sorted_order(squared_lengths(points, edges))]
    graph, tree = neighbour_pairs(points, edges), bottleneck_tree(points, edges)
    return with_close_pairs(points, edges, tree, graph, one, two, MOST)


@njit(cache=True, nogil=True)
def list_up_to_four(ground: Ground) -> TreeList:
    """Return the list of the spanning tree's edges and the full trees of three and four."""
    n, count = ground.points.shape[0], ground.pairs.bound.size
    trees = TreeList(
        ground.points, 2 * np.arange(n), ground.tree.ravel(), ground.tree_lengths, np.empty((0, 2))
    )
    trees = extended(trees, list_triples(ground, 0, n))
    return extended(trees, list_quads(ground, np.full(count, -1, np.int64), 0, count))


@njit(cache=True, nogil=True)
def list_small(points: Array, largest: int) -> TreeList:
    """Return the list that `local` chooses from: trees of up to `largest` (4 or 5) terminals."""
    ground = survey(points, ON_ONE, ON_TWO)
    trees, count = list_up_to_four(ground), ground.pairs.bound.size
    if largest > 4:
        trees = extended(trees, list_quints(ground, np.full(count, -1, np.int64), 0, count))
    return trees


@njit(cache=True, nogil=True)
def list_grown(points: Array, largest: int, one: float = CLOSE, two: float = CLOSE) -> TreeList:
    """Return the list that `neural` chooses from: trees of up to `largest` (4 to 6) terminals.

    Terminals on one Steiner point are at most `one` bottlenecks apart, on adjacent ones at most
    `two`.
    """
    return list_on(survey(points, one, two), largest)


@njit(cache=True, nogil=True)
def list_on(ground: Ground, largest: int) -> TreeList:
    """Return the list of trees of up to `largest` (4 to 6) terminals over close pairs."""
    n, trees = ground.points.shape[0], list_up_to_four(ground)
    if largest > 4:
        own = terminal_rows(ground.points)
        pairs = grow_pairs(own, ground.pairs.ends, ground.pairs.bound)
        branches = grow_branches(ground, own, pairs)
        at = grouped(branches.third, n)
        trees = extended(trees, close_quints(ground, pairs, branches, at, 0, n))
        if largest > 5:
            trees = extended(trees, close_hexes(ground, pairs, branches, at, 0, n))
    return trees
