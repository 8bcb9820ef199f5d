"""What workers do for tiles: spanning trees, the search of a tile, seams solved again.

They read the sorted points from a file and write trees to files, so that messages stay small; the
folder must be one that all workers see.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ...core.points import FloatArray, IntArray
from ...core.trees import offsets, ranges
from .grid import is_in, members_of

POINTS = "sorted.npy"


class Search(NamedTuple):
    """How trees are found: the folder, the method and its options, and the number n of points."""

    folder: str
    method: str
    options: dict[str, Any]
    n: int


class Grown(NamedTuple):
    """Trees over sorted points: Steiner points are numbered from n on, edges join both."""

    steiner: FloatArray
    edges: IntArray

    def save(self, path: Path) -> None:
        """Write both arrays."""
        np.savez(path, steiner=self.steiner, edges=self.edges)

    @classmethod
    def load(cls, path: Path) -> Grown:
        """Read what `save` wrote."""
        with np.load(path) as data:
            return cls(data["steiner"], data["edges"])


class Seam(NamedTuple):
    """A strip where a tile meets later ones.

    Attributes
    ----------
    tile, runs
        The tile, and the sorted points of the strip.
    lower
        The strips of earlier tiles: what lies in one of them is theirs.
    parts
        The tiles whose trees reach into the strip.
    crossing
        Edges from tile to tile.
    starts
        Where each tile begins among the sorted points.
    """

    tile: int
    runs: IntArray
    lower: list[IntArray]
    parts: list[int]
    crossing: IntArray
    starts: IntArray


def tree_file(folder: str | Path, tile: int) -> Path:
    """Return where the tree of a tile is kept."""
    return Path(folder) / f"tile-{tile:06d}.npz"


def seam_file(folder: str | Path, tile: int) -> Path:
    """Return where the new trees of a seam are kept."""
    return Path(folder) / f"seam-{tile:06d}.npz"


def spanning_edges(folder: str, runs: IntArray, starts: IntArray | None = None) -> IntArray:
    """Return the spanning tree of some sorted points; with `starts`, its edges between tiles."""
    from ...geometry.spanning_trees import minimum_spanning_tree

    members = members_of(runs)
    points = np.load(Path(folder) / POINTS, mmap_mode="r")[members]
    edges: IntArray = members[minimum_spanning_tree(points)]
    if starts is None:
        return edges
    tiles = np.searchsorted(starts, edges, side="right")
    return np.asarray(edges[tiles[:, 0] != tiles[:, 1]])


def solve_tile(search: Search, tile: int, first: int, last: int, forest: IntArray) -> int:
    """Replace the parts of the spanning tree in a tile by Steiner trees; return their number.

    Parts that hang together only outside the tile are solved one by one.
    """
    from ...geometry.triangulation import component_labels

    members = np.arange(first, last)
    label = component_labels(len(members), forest - first)
    groups = _groups(members, label)
    lone = np.bincount(label)[label[forest[:, 0] - first]] == 2
    grown = _solved(search, [one for one in groups if len(one) > 2])
    edges = np.concatenate((forest[lone], grown.edges))
    Grown(grown.steiner, edges).save(tree_file(search.folder, tile))
    return len(groups)


def _groups(members: IntArray, label: IntArray) -> list[IntArray]:
    """Return the members of each label."""
    order = np.argsort(label, kind="stable")
    return np.split(members[order], np.cumsum(np.bincount(label))[:-1])


def _solved(search: Search, groups: Sequence[IntArray]) -> Grown:
    """Return Steiner trees over groups of sorted points, none longer than its spanning tree."""
    from ...batch import solve_many

    if not groups:
        return Grown(np.empty((0, 2)), np.empty((0, 2), dtype=np.int64))
    points = np.load(Path(search.folder) / POINTS, mmap_mode="r")
    batch = [np.array(points[one]) for one in groups]
    trees = solve_many(batch, search.method, **search.options).trees
    names = np.empty(len(trees.coordinates), dtype=np.int64)
    sizes = np.array([len(one) for one in groups])
    names[ranges(trees.node_start[:-1], sizes)] = np.concatenate(groups)
    steiner_at = ranges(trees.node_start[:-1] + sizes, np.diff(trees.steiner_start))
    names[steiner_at] = search.n + np.arange(len(trees.steiner))
    return Grown(trees.steiner, names[trees.flat_edges])


def solve_seam(search: Search, seam: Seam) -> tuple[dict[int, IntArray], IntArray, float]:
    """Solve again what lies in a strip; return the edges that go, by tile, and crossing ones.

    Full components of the tree that lie in the strip, and not in that of an earlier tile, are put
    together where they share a terminal. Each group that reaches over a border becomes one new
    tree over the same terminals if that is shorter, which leaves the whole a tree, whatever
    happens in other strips. The last number is what is saved.
    """
    parts = [Grown.load(tree_file(search.folder, tile)) for tile in seam.parts]
    tree = _Joined(search, parts, seam.crossing)
    inside = tree.all_in(seam.runs)
    for runs in seam.lower:
        inside &= ~tree.all_in(runs)
    groups = [one for one in tree.groups(inside) if _spans_border(one[0], seam.starts)]
    new = [_solved(search, [terminals]) for terminals, _ in groups]
    gains = [
        tree.length_of(edges) - tree.length_of_new(one)
        for (_, edges), one in zip(groups, new, strict=True)
    ]
    better = [k for k, gain in enumerate(gains) if gain > 0.0]
    _joined_trees(search, [new[k] for k in better]).save(seam_file(search.folder, seam.tile))
    gone = np.concatenate([np.empty(0, dtype=np.int64), *(groups[k][1] for k in better)])
    by_part = {
        tile: gone[(gone >= a) & (gone < b)] - a
        for tile, a, b in zip(seam.parts, tree.starts[:-2], tree.starts[1:-1], strict=True)
    }
    return (
        by_part,
        gone[gone >= tree.starts[-2]] - tree.starts[-2],
        float(sum(gains[k] for k in better)),
    )


def _spans_border(terminals: IntArray, starts: IntArray) -> bool:
    tiles = np.searchsorted(starts, terminals, side="right")
    return len(terminals) > 2 and bool(tiles.min() < tiles.max())


def _joined_trees(search: Search, trees: Sequence[Grown]) -> Grown:
    """Return several trees as one, their Steiner points numbered one after the other."""
    shifts = offsets([len(one.steiner) for one in trees])
    edges = [
        np.where(one.edges >= search.n, one.edges + shift, one.edges)
        for one, shift in zip(trees, shifts[:-1], strict=True)
    ]
    return Grown(
        np.concatenate([np.empty((0, 2)), *(one.steiner for one in trees)]),
        np.concatenate([np.empty((0, 2), dtype=np.int64), *edges]),
    )


class _Joined:
    """The trees of some tiles and the edges between them, by their full components."""

    def __init__(self, search: Search, parts: Sequence[Grown], crossing: IntArray) -> None:
        whole = _joined_trees(search, parts)
        self._count, self._steiner = search.n, whole.steiner
        self._edges = np.concatenate((whole.edges, crossing))
        self._points = np.load(Path(search.folder) / POINTS, mmap_mode="r")
        # Where the edges of each part begin, then the crossing ones, then the end.
        self.starts = offsets([*(len(one.edges) for one in parts), len(crossing)])
        self._component = self._components()

    def _components(self) -> IntArray:
        """Return the full component of each edge: Steiner points join edges, terminals do not."""
        from ...geometry.triangulation import component_labels

        is_steiner = self._edges >= self._count
        inner = self._edges[is_steiner.all(axis=1)] - self._count
        label = component_labels(len(self._steiner), inner)
        through = self._edges.max(axis=1) - self._count
        alone = through < 0
        result = np.empty(len(self._edges), dtype=np.int64)
        result[~alone] = label[through[~alone]]
        result[alone] = label.max(initial=-1) + 1 + np.arange(int(alone.sum()))
        return result

    def all_in(self, runs: IntArray) -> IntArray:
        """Return which full components have all their terminals in runs of sorted points."""
        good = np.ones(int(self._component.max(initial=-1)) + 1, dtype=bool)
        for ends in self._edges.T:
            outside = (ends < self._count) & ~is_in(runs, ends)
            good[self._component[outside]] = False
        return good

    def groups(self, chosen: IntArray) -> list[tuple[IntArray, IntArray]]:
        """Return the terminals and the edges of what chosen full components hang together in."""
        from ...geometry.triangulation import component_labels

        rows = np.flatnonzero(chosen[self._component])
        if len(rows) == 0:
            return []
        nodes, ends = np.unique(self._edges[rows], return_inverse=True)
        label = component_labels(len(nodes), ends.reshape(-1, 2))
        of_edge = label[ends.reshape(-1, 2)[:, 0]]
        edges = _groups(rows, of_edge)
        is_terminal = nodes < self._count
        count = len(edges)
        order = np.argsort(label[is_terminal], kind="stable")
        sizes = np.bincount(label[is_terminal], minlength=count)
        terminals = np.split(nodes[is_terminal][order], np.cumsum(sizes)[:-1])
        return list(zip(terminals, edges, strict=True))

    def length_of(self, rows: IntArray) -> float:
        """Return the length of some edges."""
        return float(edge_lengths(self._points, self._steiner, self._edges[rows]).sum())

    def length_of_new(self, tree: Grown) -> float:
        """Return the length of a tree over the same points."""
        return float(edge_lengths(self._points, tree.steiner, tree.edges).sum())


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
