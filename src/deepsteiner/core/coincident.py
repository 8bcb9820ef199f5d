"""Points that coincide up to rounding: the one place that decides which terminals are one point.

Tolerance
---------
Two points of the frame, whose larger side is between 1 and 2, count as one when they are at most
`COINCIDENT` = 2**-36, about 1.5e-11, apart. It follows from the numbers the proofs rest on:

- Coordinates in the frame carry a rounding error of about 1e-16, and what is built from them, such
  as the equilateral points of large full Steiner trees, of up to 1e-14.
- `exact` therefore calls alternatives equal that differ by less than `TIE` = 1e-13, and leaves
  edges shorter than `MIN_EDGE` = 1e-12 to trees without them.
- Terminals that stay distinct must be so far apart that neither can hide one behind the other:
  14 `MIN_EDGE`, or 145 `TIE`.

What it costs
-------------
Each point that is left out is joined to one that coincides with it, by an edge of at most
`COINCIDENT`. The shortest tree of the points that are left is no longer than that of all, because
a tree of all points spans them too, and no shorter than that of all less the joining edges. So a
lower bound for the points that are left is one for the points as given, and a shortest tree of
them is too long by at most the sum of the joining edges.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from .points import FloatArray, IntArray

COINCIDENT = 2.0**-36


def merge_coincident(points: FloatArray) -> tuple[IntArray, IntArray, IntArray]:
    """Return (owner, first, ties) for the points of one instance, in its frame.

    `first` lists the points that are left, in order, any two more than COINCIDENT apart, and
    `owner[i]` says which of them stands for point i. The pairs in `ties`, each at most COINCIDENT
    apart, join all others to them: len(first) + len(ties) is the number of points.
    """
    n = len(points)
    identity = np.arange(n, dtype=np.int64)
    if not _share_a_cell(points[None])[0]:
        return identity, identity, np.empty((0, 2), dtype=np.int64)
    owner, first = merge_equal(points)
    repeated = np.flatnonzero(identity != first[owner])
    ties = [np.stack((first[owner[repeated]], repeated), axis=1)]
    while len(close := _nearest_pairs(points[first])):
        label, joined = _join(len(first), close)
        ties.append(first[joined])
        kept = np.sort(np.unique(label, return_index=True)[1])  # the first of each group
        number = np.empty(len(kept), dtype=np.int64)
        number[label[kept]] = np.arange(len(kept))
        owner, first = number[label[owner]], first[kept]
    return owner, first, np.concatenate(ties)


def has_coincident(points: FloatArray) -> NDArray[np.bool_]:
    """Return, for every instance of a (B, n, 2) batch, whether two of its points coincide."""
    suspect = _share_a_cell(points)
    for index in np.flatnonzero(suspect):
        suspect[index] = len(merge_coincident(points[index])[2]) > 0
    return suspect


def merge_equal(points: FloatArray) -> tuple[IntArray, IntArray]:
    """Return (owner, first): which distinct point each row is, and where each first appears."""
    n = len(points)
    order = np.lexsort((np.arange(n), points[:, 1], points[:, 0]))
    sorted_points = points[order]
    new = np.ones(n, dtype=bool)
    new[1:] = (sorted_points[1:] != sorted_points[:-1]).any(axis=1)
    first_of_group = order[new]
    rank = np.argsort(np.argsort(first_of_group))
    owner = np.empty(n, dtype=np.int64)
    owner[order] = rank[np.cumsum(new) - 1]
    return owner, np.sort(first_of_group).astype(np.int64)


def _share_a_cell(points: FloatArray) -> NDArray[np.bool_]:
    """Return which instances of a (B, n, 2) batch have two points in one column and one row.

    Columns are parted by gaps of more than COINCIDENT between sorted abscissae, rows by gaps
    between the sorted ordinates of a column. Points that coincide are never parted; most
    instances are done after one sort.
    """
    x = np.sort(points[..., 0], axis=1)
    found = np.asarray((x[:, 1:] - x[:, :-1] <= COINCIDENT).any(axis=1))
    if found.any():
        cells = _cells(points[found])
        found[found] = _neighbours_in(np.sort(cells, axis=1)).any(axis=1)
    return found


def _cells(points: FloatArray) -> NDArray[np.complex128]:
    """Return column + 1j * ordinate of every point of (B, n, 2): numpy sorts them in that order."""
    order = np.argsort(points[..., 0], axis=1)
    x = np.take_along_axis(points[..., 0], order, axis=1)
    parted = np.zeros(x.shape)
    np.cumsum(x[:, 1:] - x[:, :-1] > COINCIDENT, axis=1, out=parted[:, 1:])
    cells = np.empty(x.shape, dtype=np.complex128)
    np.put_along_axis(cells, order, parted, axis=1)
    cells.imag = points[..., 1]
    return cells


def _neighbours_in(ordered: NDArray[np.complex128]) -> NDArray[np.bool_]:
    """Return whether each sorted cell and the next are in one column and row."""
    step = ordered[:, 1:] - ordered[:, :-1]
    return np.asarray((step.real == 0.0) & (step.imag <= COINCIDENT))


def _in_shared_cells(points: FloatArray) -> IntArray:
    """Return the points that share their column and row with another one."""
    cells = _cells(points[None])[0]
    order = np.argsort(cells)
    near = _neighbours_in(cells[order][None])[0]
    shared = np.zeros(len(points), dtype=bool)
    shared[order[1:][near]] = True
    shared[order[:-1][near]] = True
    return np.flatnonzero(shared)


def _nearest_pairs(points: FloatArray) -> IntArray:
    """Return, for every distinct point within COINCIDENT of another, it and its nearest."""
    some = _in_shared_cells(points)
    if len(some) < 2:
        return np.empty((0, 2), dtype=np.int64)
    from scipy.spatial import cKDTree

    # The tree measures squares, which underflow below 1e-154: one COINCIDENT is one there.
    places = (points[some] - points[some[0]]) / COINCIDENT
    distance, nearest = cKDTree(places).query(places, k=2, distance_upper_bound=1.5)
    # A point is its own nearest, unless others are too close for the difference to be seen.
    other = np.where(nearest[:, 0] == np.arange(len(some)), nearest[:, 1], nearest[:, 0])
    reached = np.where(other == nearest[:, 1], distance[:, 1], distance[:, 0]) <= 1.0
    return np.stack((some[reached], some[other[reached]]), axis=1)


def _join(count: int, pairs: IntArray) -> tuple[IntArray, IntArray]:
    """Return the group of each of `count` points and those pairs that join them without cycles."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components, minimum_spanning_tree

    ends = pairs.min(axis=1), pairs.max(axis=1)
    graph = coo_array((np.ones(len(pairs)), ends), shape=(count, count)).tocsr()
    forest = minimum_spanning_tree(graph).tocoo()
    label = connected_components(graph, directed=False)[1]
    return label.astype(np.int64), np.stack((forest.row, forest.col), axis=1).astype(np.int64)
