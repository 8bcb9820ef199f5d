"""What workers do for tiles: spanning trees, the search of a tile.

They read the sorted points from a file and write trees to files, so that messages stay small; the
folder must be one that all workers see.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ...core.points import FloatArray, IntArray
from ...core.trees import ranges
from .grid import members_of
from .pieces import Pieces

POINTS = "sorted.npy"


class Search(NamedTuple):
    """How trees are found: the folder, the method and its options."""

    folder: str
    method: str
    options: dict[str, Any]

    def points(self) -> FloatArray:
        """Return the sorted points, mapped from their file."""
        points: FloatArray = np.load(Path(self.folder) / POINTS, mmap_mode="r")
        return points


def tree_file(folder: str | Path, tile: int) -> Path:
    """Return where the tree of a tile is kept."""
    return Path(folder) / f"tile-{tile:06d}.npz"


def area_file(folder: str | Path, area: int) -> Path:
    """Return where the new components of an area are kept."""
    return Path(folder) / f"area-{area:06d}.npz"


def spanning_edges(search: Search, runs: IntArray, starts: IntArray | None = None) -> IntArray:
    """Return the spanning tree of some sorted points; with `starts`, its edges between tiles."""
    from ...geometry.spanning_trees import minimum_spanning_tree

    members = members_of(runs)
    edges: IntArray = members[minimum_spanning_tree(search.points()[members])]
    if starts is None:
        return edges
    tiles = np.searchsorted(starts, edges, side="right")
    return np.asarray(edges[tiles[:, 0] != tiles[:, 1]])


def solve_tile(search: Search, tile: int, first: int, last: int, forest: IntArray) -> int:
    """Replace the parts of the spanning tree in a tile by Steiner trees; return their number.

    Parts that hang together only outside the tile are solved one by one.
    """
    from ...geometry.triangulation import component_labels

    points = np.array(search.points()[first:last])
    label = component_labels(len(points), forest - first)
    order = np.argsort(label, kind="stable")
    groups = np.split(order, np.cumsum(np.bincount(label))[:-1])
    lone = np.bincount(label)[label[forest[:, 0] - first]] == 2
    steiner, edges = _solved(search, points, [one for one in groups if len(one) > 2])
    edges = np.concatenate((forest[lone] - first, edges))
    Pieces.of(points, steiner, edges, np.arange(first, last)).save(tree_file(search.folder, tile))
    return len(groups)


def _solved(
    search: Search, points: FloatArray, groups: Sequence[IntArray]
) -> tuple[FloatArray, IntArray]:
    """Return Steiner points and edges over groups of points, each no longer than spanned."""
    from ...batch import solve_many

    if not groups:
        return np.empty((0, 2)), np.empty((0, 2), dtype=np.int64)
    trees = solve_many([points[one] for one in groups], search.method, **search.options).trees
    names = np.empty(len(trees.coordinates), dtype=np.int64)
    sizes = np.array([len(one) for one in groups])
    names[ranges(trees.node_start[:-1], sizes)] = np.concatenate(groups)
    steiner_at = ranges(trees.node_start[:-1] + sizes, np.diff(trees.steiner_start))
    names[steiner_at] = len(points) + np.arange(len(trees.steiner))
    return trees.steiner, names[trees.flat_edges]


def edge_lengths(points: FloatArray, steiner: FloatArray, edges: IntArray) -> Any:
    """Return the lengths of edges over points and Steiner points, numbered in that order."""
    n = len(points)
    ends = np.empty((len(edges), 2, 2))
    flat, numbers = ends.reshape(-1, 2), edges.ravel()
    is_steiner = numbers >= n
    flat[is_steiner] = steiner[numbers[is_steiner] - n]
    flat[~is_steiner] = points[numbers[~is_steiner]]
    difference = ends[:, 0] - ends[:, 1]
    return np.hypot(difference[:, 0], difference[:, 1])
