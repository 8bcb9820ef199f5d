"""Minimum spanning trees of points: dense for few, over a Delaunay triangulation for many."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.coincident import merge_equal
from ..core.points import FloatArray, IntArray
from ..run.monitor import Monitor
from ..run.threads import share
from ..run.watch import Stopped, Watch
from .triangulation import TILED_FROM, Triangulation, component_labels, triangulate, unwatched

# Up to here the O(n^2) kernel beats the triangulation, and it takes as long wherever points lie:
# on a circle or a ladder the triangulation of 5,000 takes half a second.
DENSE_LIMIT = TILED_FROM
# Edges below this share of the extent are too short for the triangulation to be trusted; clusters
# of edges below the other are then spanned at their own scale.
_PRECISE = 1e-6
_CLUSTER = 1e-4
# Neighbours tried along the line when all points lie on (or very near) one.
_LINE_WINDOW = 8


def minimum_spanning_tree(points: FloatArray, *, threads: int = 1) -> IntArray:
    """Return the edges (n-1, 2) of a minimum spanning tree; equal points are fine.

    O(n^2) up to DENSE_LIMIT points; beyond, O(n log n) over the Delaunay triangulation, whose
    tiles the threads share.

    >>> import numpy as np
    >>> minimum_spanning_tree(np.array([[0.0, 0.0], [3.0, 0.0], [1.0, 0.0]])).tolist()
    [[0, 2], [2, 1]]
    """
    from . import spanning_kernels as kernels

    n = len(points)
    edges = np.empty((max(n - 1, 0), 2), dtype=np.int64)
    if n <= DENSE_LIMIT:
        if n > 1:
            kernels.prim(np.ascontiguousarray(points), edges)
        return edges
    return _tree_with_repeats(points, *merge_equal(points), threads=threads)


def monitored_spanning_tree(
    points: FloatArray, monitor: Monitor, *, distinct: bool = True
) -> IntArray:
    """Return a minimum spanning tree, or a path where there is no time for one.

    Up to TILED_FROM points it is always the minimum spanning tree. Beyond, the monitor hears of
    the work at least every 50 ms, and where it stops it the points are joined strip by strip: a
    tree too, about 45 % longer on uniform points. `distinct` says that no points are equal.
    """
    if len(points) <= TILED_FROM:
        monitor.report("spanning tree")
        return minimum_spanning_tree(points)
    watch = Watch(monitor, finishing_seconds(monitor, len(points)))
    try:
        if distinct:
            return _sparse_tree(points, watch)
        names = watch.wait("spanning tree", lambda: merge_equal(points))
        return _tree_with_repeats(points, *names, watch)
    except Stopped:
        return path_through_strips(points)


def _tree_with_repeats(
    points: FloatArray,
    owner: IntArray,
    first: IntArray,
    watch: Watch | None = None,
    threads: int = 1,
) -> IntArray:
    """Return a minimum spanning tree of the distinct points, repeated ones tied to their first."""
    distinct = points[first]
    few = len(distinct) <= DENSE_LIMIT
    tree = minimum_spanning_tree(distinct) if few else _sparse_tree(distinct, watch, threads)
    repeated = np.flatnonzero(np.arange(len(points)) != first[owner])
    return np.concatenate((first[tree], np.stack((first[owner[repeated]], repeated), axis=1)))


def finishing_seconds(monitor: Monitor, n: int) -> float:
    """Return the seconds to keep back for building and checking a solution of many points.

    Call it when a method begins: reading and checking the points took about half as long.
    """
    return min(2.5 * monitor.elapsed(), 4e-6 * n) if n > TILED_FROM else 0.0


def path_through_strips(points: FloatArray) -> IntArray:
    """Return the edges of a path through all points, up one strip and down the next."""
    low, high = points.min(axis=0), points.max(axis=0)
    strips = max(1.0, np.sqrt(len(points) / 3.0))
    width = max((high[0] - low[0]) / strips, np.finfo(np.float64).tiny)
    strip = np.minimum((points[:, 0] - low[0]) / width, strips).astype(np.int64)
    order = np.lexsort((np.where(strip % 2, -points[:, 1], points[:, 1]), strip))
    return np.stack((order[:-1], order[1:]), axis=1)


def _sparse_tree(points: FloatArray, watch: Watch | None = None, threads: int = 1) -> IntArray:
    """Return the spanning tree of many distinct points by Kruskal over sparse candidates."""
    inside = np.ascontiguousarray(points - points[0])
    watch = watch or unwatched()
    pairs = sparse_candidates(inside, threads=threads, watch=watch)
    return watch.wait("spanning tree", lambda: spanning_tree_among(inside, pairs))


def spanning_tree_among(points: FloatArray, pairs: IntArray) -> IntArray:
    """Return the spanning tree among candidates, exact inside tight clusters too."""
    from . import spanning_kernels as kernels

    squared = kernels.squared_lengths(points, pairs)
    order = np.argsort(squared, kind="stable")
    tree = np.empty((len(points) - 1, 2), dtype=np.int64)
    kernels.kruskal(len(points), pairs, order, tree)
    extent = float(np.ptp(points, axis=0).max())
    if squared[order[0]] < (_PRECISE * extent) ** 2:
        _redo_clusters(points, tree, extent)
    return tree


def _redo_clusters(points: FloatArray, tree: IntArray, extent: float) -> None:
    """Replace the edges inside tight clusters by spanning trees made at the cluster's own scale.

    The triangulation is lifted to a paraboloid, so rounding blurs it at distances below about
    1e-7 of the extent. Points joined by edges shorter than _CLUSTER of it form a cluster, whose
    part of the tree is the cluster's own minimum spanning tree.
    """
    difference = points[tree[:, 0]] - points[tree[:, 1]]
    short = np.flatnonzero(np.hypot(difference[:, 0], difference[:, 1]) < _CLUSTER * extent)
    label = component_labels(len(points), tree[short])
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
    """Return the spanning trees (B, n-1, 2) of a batch (B, n, 2), each in O(n^2)."""
    from . import spanning_kernels as kernels

    count, n = points.shape[:2]
    edges = np.empty((count, n - 1, 2), dtype=np.int64)
    contiguous = np.ascontiguousarray(points)
    share(count, lambda first, last: kernels.prim_batch(contiguous, edges, first, last))
    return edges


def sparse_candidates(
    points: FloatArray, *, threads: int = 1, watch: Watch | None = None
) -> IntArray:
    """Return O(n) edges, each once, that contain a minimum spanning tree of distinct points.

    Those of the triangulation. A watch hears of the tiles, and may stop them: see `triangulate`.
    """
    from scipy.spatial import QhullError

    try:
        found = triangulate(points, threads=threads, watch=watch)
    except QhullError:
        return _along_line(points)
    if watch is None or len(points) <= TILED_FROM:
        return _edges_of(points, found)
    return watch.wait("spanning tree", lambda: _edges_of(points, found))


def _edges_of(points: FloatArray, found: Triangulation) -> IntArray:
    """Return the edges of a triangulation and ties, joined by nearest neighbours if need be."""
    from .spanning_kernels import kruskal

    n = len(points)
    pairs = found.adjacency(n)[1]
    left_out = np.concatenate((found.ties[:, 0], found.loose))
    if len(left_out):
        # Qhull leaves out points that rounding makes coincide with another: tie each to the vertex
        # it was merged with, and to its own nearest neighbours.
        pairs = np.concatenate((pairs, found.ties, _nearest(points, left_out)))
        pairs = unique_pairs(n, pairs)
    elif n <= TILED_FROM:
        return pairs
    # Where rounding decides which points are on a line or a circle, there may be a gap.
    forest = np.empty((n - 1, 2), dtype=np.int64)
    if kruskal(n, pairs, np.arange(len(pairs)), forest) == n - 1:
        return pairs
    label = component_labels(n, pairs)
    apart = np.flatnonzero(label != np.argmax(np.bincount(label)))
    return np.concatenate((pairs, _nearest(points, apart), _chain(label)))


def unique_pairs(n: int, pairs: IntArray) -> IntArray:
    """Return every pair of 0..n-1 once, the lower first, in order.

    One number a pair sorts many times faster than rows do (or than np.unique hashes), and without
    the interpreter's lock.
    """
    keys = np.minimum(pairs[:, 0], pairs[:, 1]) * n + np.maximum(pairs[:, 0], pairs[:, 1])
    keys.sort()
    keys = keys[np.diff(keys, prepend=-1) > 0]
    return np.stack((keys // n, keys % n), axis=1)


def _chain(label: Any) -> IntArray:
    """Return edges from one point of each part to one of the next."""
    first = np.unique(label, return_index=True)[1]
    return np.stack((first[:-1], first[1:]), axis=1)


def _nearest(points: FloatArray, rows: Any) -> IntArray:
    from scipy.spatial import cKDTree

    neighbours = cKDTree(points).query(points[rows], k=_LINE_WINDOW)[1]
    tails, heads = np.repeat(rows, neighbours.shape[1]), neighbours.ravel()
    pairs: IntArray = np.stack((tails, heads), axis=1)[tails != heads]
    return pairs


def _along_line(points: FloatArray) -> IntArray:
    """Return edges between near positions along the main direction of (nearly) collinear points."""
    centred = points - points.mean(axis=0)
    direction = np.linalg.svd(centred, full_matrices=False)[2][0]
    order = np.argsort(centred @ direction, kind="stable")
    shifts = range(1, _LINE_WINDOW + 1)
    return np.concatenate([np.stack((order[:-k], order[k:]), axis=1) for k in shifts])
