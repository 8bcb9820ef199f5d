"""Minimum spanning trees of points: dense for few, over a Delaunay triangulation for many."""

from __future__ import annotations

from typing import Any

import numpy as np

from .points import FloatArray, IntArray, merge_equal
from .threads import share

# Up to here the O(n^2) kernel beats the triangulation.
DENSE_LIMIT = 1500
# Edges below this share of the extent are too short for the triangulation to be trusted; clusters
# of edges below the other are then spanned at their own scale.
_PRECISE = 1e-6
_CLUSTER = 1e-4
# Neighbours tried along the line when all points lie on (or very near) one.
_LINE_WINDOW = 8


def minimum_spanning_tree(points: FloatArray) -> IntArray:
    """Return the edges (n-1, 2) of a minimum spanning tree; equal points are fine.

    O(n^2) up to DENSE_LIMIT points; beyond, O(n log n) over the Delaunay triangulation, whose
    single call cannot be interrupted (about 14 microseconds a point at a million points).

    >>> import numpy as np
    >>> minimum_spanning_tree(np.array([[0.0, 0.0], [3.0, 0.0], [1.0, 0.0]])).tolist()
    [[0, 2], [2, 1]]
    """
    from . import mst_kernels as kernels

    n = len(points)
    edges = np.empty((max(n - 1, 0), 2), dtype=np.int64)
    if n <= DENSE_LIMIT:
        if n > 1:
            kernels.prim(np.ascontiguousarray(points), edges)
        return edges
    owner, first = merge_equal(points)
    distinct = len(first)
    if distinct <= DENSE_LIMIT:
        edges[: distinct - 1] = first[minimum_spanning_tree(points[first])]
    else:
        edges[: distinct - 1] = first[_sparse_tree(points[first])]
    repeated = np.flatnonzero(np.arange(n) != first[owner])
    edges[distinct - 1 :, 0] = first[owner[repeated]]
    edges[distinct - 1 :, 1] = repeated
    return edges


def _sparse_tree(points: FloatArray) -> IntArray:
    """Return the spanning tree of many distinct points by Kruskal over sparse candidates."""
    from . import mst_kernels as kernels

    inside = np.ascontiguousarray(points - points[0])
    pairs = sparse_candidates(inside)
    squared = kernels.squared_lengths(inside, pairs)
    order = np.argsort(squared, kind="stable")
    tree = np.empty((len(points) - 1, 2), dtype=np.int64)
    kernels.kruskal(len(points), pairs, order, tree)
    extent = float(np.ptp(inside, axis=0).max())
    if squared[order[0]] < (_PRECISE * extent) ** 2:
        _redo_clusters(inside, tree, extent)
    return tree


def _redo_clusters(points: FloatArray, tree: IntArray, extent: float) -> None:
    """Replace the edges inside tight clusters by spanning trees made at the cluster's own scale.

    The triangulation is lifted to a paraboloid, so rounding blurs it at distances below about
    1e-7 of the extent. Points joined by edges shorter than _CLUSTER of it form a cluster, whose
    part of the tree is the cluster's own minimum spanning tree.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    difference = points[tree[:, 0]] - points[tree[:, 1]]
    short = np.flatnonzero(np.hypot(difference[:, 0], difference[:, 1]) < _CLUSTER * extent)
    ones = np.ones(len(short), dtype=np.int8)
    graph = coo_array((ones, tuple(tree[short].T)), shape=(len(points), len(points)))
    label = connected_components(graph, directed=False)[1]
    nodes = np.argsort(label, kind="stable")
    edges = short[np.argsort(label[tree[short, 0]], kind="stable")]
    sizes = np.bincount(label)
    node_end, edge_end = np.cumsum(sizes), np.cumsum(sizes - 1)
    for cluster in np.flatnonzero(sizes > 2):
        members = nodes[node_end[cluster] - sizes[cluster] : node_end[cluster]]
        if np.ptp(points[members], axis=0).max() < 0.1 * extent:
            own = edges[edge_end[cluster] - sizes[cluster] + 1 : edge_end[cluster]]
            tree[own] = members[minimum_spanning_tree(points[members] - points[members[0]])]


def mst_batch(points: FloatArray) -> IntArray:
    """Return the spanning trees (B, n-1, 2) of a batch (B, n, 2)."""
    from . import mst_kernels as kernels

    count, n = points.shape[:2]
    edges = np.empty((count, n - 1, 2), dtype=np.int64)
    if n <= DENSE_LIMIT:
        contiguous = np.ascontiguousarray(points)
        share(count, lambda first, last: kernels.prim_batch(contiguous, edges, first, last))
        return edges
    for b in range(count):
        edges[b] = minimum_spanning_tree(points[b])
    return edges


def sparse_candidates(points: FloatArray) -> IntArray:
    """Return O(n) edges that contain a minimum spanning tree of distinct points."""
    from scipy.spatial import QhullError

    try:
        return _triangulated(points)
    except QhullError:
        return _along_line(points)


def _triangulated(points: FloatArray) -> IntArray:
    from scipy.spatial import Delaunay

    from . import mst_kernels as kernels

    triangulation = Delaunay(points)
    pairs: IntArray = kernels.triangle_edges(triangulation.simplices, triangulation.neighbors)
    if len(triangulation.coplanar) == 0:
        return pairs
    # Qhull leaves out points that rounding makes coincide with another: tie each to the vertex
    # it was merged with, and to its own nearest neighbours.
    dropped = triangulation.coplanar
    return np.concatenate((pairs, dropped[:, [0, 2]], _nearest(points, dropped[:, 0])))


def _nearest(points: FloatArray, rows: Any) -> IntArray:
    from scipy.spatial import cKDTree

    neighbours = cKDTree(points).query(points[rows], k=_LINE_WINDOW)[1]
    tails = np.repeat(rows, neighbours.shape[1])
    return np.stack((tails, neighbours.ravel()), axis=1)


def _along_line(points: FloatArray) -> IntArray:
    """Return edges between near positions along the main direction of (nearly) collinear points."""
    centred = points - points.mean(axis=0)
    direction = np.linalg.svd(centred, full_matrices=False)[2][0]
    order = np.argsort(centred @ direction, kind="stable")
    windows = [
        np.stack((order[:-shift], order[shift:]), axis=1) for shift in range(1, _LINE_WINDOW + 1)
    ]
    return np.concatenate(windows)
