"""A whole solve of a small instance in one call: list, choose exactly, and write the union."""

from __future__ import annotations

import numpy as np
from numba import njit

from ....core.points import Array
from ....geometry.gift_wrapping_kernels import triangulate
from ....geometry.spanning_kernels import prim, squared_lengths
from ...enumerate.nearby.listing_kernels import list_quads, list_triples
from ...enumerate.nearby.neighbour_kernels import (
    ON_ONE,
    ON_TWO,
    bottleneck_tree,
    few_pairs,
    incident_pairs,
    pair_bounds,
)
from ...enumerate.nearby.quint_kernels import list_quints
from ...union_kernels import caterpillar_edges, union
from ..exact.blocks_kernels import settle
from ..exact.prune_kernels import sorted_order
from ..hypergraph import Budget, Hypergraph


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
    low, high = np.nonzero(near)
    pairs = np.stack((low, high), axis=1)
    return pairs[sorted_order(squared_lengths(points, pairs))]


@njit(cache=True, nogil=True)
def close_pairs(
    n: int, pairs: Array, bound: Array, stretch: Array, limit: float
) -> tuple[Array, Array]:
    """Return the pairs within a stretch of their bottleneck."""
    keep = np.flatnonzero(few_pairs(n, pairs, stretch, limit))
    return pairs[keep], bound[keep]


@njit(cache=True, nogil=True)
def append_trees(
    names: Array, places: Array, lengths: Array, at: int, start: Array, terminals: Array,
    length: Array, steiner: Array,
) -> int:  # fmt: skip
    """Copy found trees into a list in compressed rows from tree `at` on; return the next."""
    for f in range(lengths.size):
        size = 0
        while size < names.shape[1] and names[f, size] >= 0:
            terminals[start[at] + size] = names[f, size]
            size += 1
        for i in range(size - 2):
            row = start[at] - 2 * at + i
            steiner[row, 0], steiner[row, 1] = places[f, 2 * i], places[f, 2 * i + 1]
        length[at] = lengths[f]
        start[at + 1] = start[at] + size
        at += 1
    return at


@njit(cache=True, nogil=True)
def surroundings(
    points: Array,
) -> tuple[Array, Array, Array, Array, Array, Array, Array]:
    """Return the spanning tree by length, its bottlenecks (up, rank, weight), and neighbours.

    The latter are pairs by length, their bottleneck distances, and their lengths over these.
    """
    n = points.shape[0]
    tree = np.empty((n - 1, 2), np.int64)
    prim(points, tree)
    tree = tree[sorted_order(squared_lengths(points, tree))]
    up, rank, weight = bottleneck_tree(points, tree, np.arange(n - 1))
    graph = neighbour_pairs(points, tree)
    bounds, stretch = pair_bounds(points, graph, up, rank, weight, 0, graph.shape[0])
    return tree, up, rank, weight, graph, bounds, stretch


@njit(cache=True, nogil=True)
def put_tree(tree: Array, weight: Array, start: Array, terminals: Array, length: Array) -> None:
    """Write the edges of the spanning tree as the first trees of a list."""
    start[0] = 0
    for e in range(tree.shape[0]):
        terminals[2 * e], terminals[2 * e + 1] = tree[e, 0], tree[e, 1]
        length[e] = weight[e]
        start[e + 1] = 2 * e + 2


@njit(cache=True, nogil=True)
def list_small(points: Array, largest: int) -> tuple[Hypergraph, Array]:
    """Return the list over one small instance, and its Steiner points."""
    n = points.shape[0]
    tree, up, rank, weight, graph, bounds, stretch = surroundings(points)
    pairs, bound = close_pairs(n, graph, bounds, stretch, ON_ONE)
    cross, cross_bound = close_pairs(n, graph, bounds, stretch, ON_TWO)
    at, rows = incident_pairs(n, pairs)
    cross_at, cross_rows = incident_pairs(n, cross)
    names, places, lengths = list_triples(points, pairs, bound, at, rows, up, rank, weight, 0, n)
    stamp = np.full(bound.size, -1, np.int64)
    names4, places4, lengths4 = list_quads(
        points, pairs, bound, at, rows, cross, cross_bound, cross_at, cross_rows, up, rank,
        weight, stamp, 0, bound.size,
    )  # fmt: skip
    names5, places5, lengths5 = list_quints(
        points, pairs, bound, at, rows, cross, cross_bound, cross_at, cross_rows, up, rank,
        weight, stamp, 0, bound.size if largest > 4 else 0,
    )  # fmt: skip
    m = n - 1 + lengths.size + lengths4.size + lengths5.size
    start = np.empty(m + 1, np.int64)
    terminals = np.empty(2 * n + 3 * lengths.size + 4 * lengths4.size + 5 * lengths5.size, np.int64)
    length = np.empty(m)
    steiner = np.empty((lengths.size + 2 * lengths4.size + 3 * lengths5.size, 2))
    put_tree(tree, weight, start, terminals, length)
    done = append_trees(names, places, lengths, n - 1, start, terminals, length, steiner)
    done = append_trees(names4, places4, lengths4, done, start, terminals, length, steiner)
    append_trees(names5, places5, lengths5, done, start, terminals, length, steiner)
    return Hypergraph(n, start, terminals[: start[m]].copy(), length), steiner


@njit(cache=True, nogil=True)
def solve_span(
    points: Array,
    sizes: Array,
    steiner: Array,
    edges: Array,
    solved: Array,
    largest: int,
    work: float,
    widest: int,
    first: int,
    last: int,
) -> None:
    """Solve instances first..last-1 of (B, n, 2) points by the best choice from their lists.

    Writes the number of points of each tree (terminals and Steiner points), its Steiner points
    and edges, and whether the list was narrow enough to be solved; nothing else where it was not.
    """
    n, budget = points.shape[1], Budget(work, widest)
    for b in range(first, last):
        graph, places = list_small(points[b], largest)
        chosen = np.zeros(graph.length.size, np.bool_)
        settled = settle(graph, ~chosen, chosen, np.arange(n), budget)
        solved[b] = settled.blocks.number >= 0 and settled.solved.all()
        if solved[b]:
            start, terminals = graph.start, graph.terminals
            spots, links = union(n, start, terminals, places, caterpillar_edges(start), chosen)
            sizes[b] = n + spots.shape[0]
            steiner[b, : spots.shape[0]] = spots
            edges[b, : links.shape[0]] = links
