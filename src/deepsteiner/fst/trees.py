"""`FullTrees`: the list of full Steiner trees that is enumerated, scored and selected from."""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..core.points import FloatArray, IntArray
from ..core.trees import offsets
from .select.hypergraph import Hypergraph

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True)
class FullTrees:
    """Full Steiner trees over common terminals, in compressed rows.

    Tree f has k terminals, ``terminals[start[f]:start[f + 1]]``. Its k - 2 Steiner points are the
    rows of ``steiner`` from ``start[f] - 2 * f``, its 2 k - 3 edges the rows of ``edges`` from
    ``2 * start[f] - 3 * f``; edges count the terminals of the tree as 0..k-1 and its Steiner points
    from k on. Where no ``links`` are given, Steiner points form paths (see `caterpillar_edges`).

    The first n - 1 trees are the edges of a minimum spanning tree by length. When ``complete``,
    some shortest Steiner tree of the points is a union of trees of the list. ``doubt`` says why a
    list that was loaded as complete is not believed to be.
    """

    points: FloatArray
    start: IntArray
    terminals: IntArray
    length: FloatArray
    steiner: FloatArray
    links: IntArray | None = None
    complete: bool = False
    stats: dict[str, float | int] = field(default_factory=dict)
    doubt: str = ""

    def __len__(self) -> int:
        return len(self.length)

    @cached_property
    def edges(self) -> IntArray:
        """The edges of all trees."""
        from .union_kernels import caterpillar_edges

        edges: IntArray = caterpillar_edges(self.start) if self.links is None else self.links
        return edges

    @property
    def graph(self) -> Hypergraph:
        """The list as kernels that select from it take it."""
        return Hypergraph(len(self.points), self.start, self.terminals, self.length)

    def size(self, tree: int) -> int:
        """Return the number of terminals of one tree."""
        return int(self.start[tree + 1] - self.start[tree])

    def tree(self, tree: int) -> tuple[IntArray, FloatArray, IntArray]:
        """Return terminals, Steiner points and edges (in local numbers) of one tree."""
        low, high = int(self.start[tree]), int(self.start[tree + 1])
        steiner = self.steiner[low - 2 * tree : high - 2 * (tree + 1)]
        edges = self.edges[2 * low - 3 * tree : 2 * high - 3 * (tree + 1)]
        return self.terminals[low:high], steiner, edges

    def part(self, keep: Any) -> FullTrees:
        """Return the flagged trees; nothing is said to be complete."""
        from .union_kernels import part

        if self.links is None:
            rows = part(self.start, self.terminals, self.length, self.steiner, keep)
            return FullTrees(self.points, *rows)
        sizes = np.diff(self.start)
        return FullTrees(
            self.points,
            offsets(sizes[keep]),
            self.terminals[np.repeat(keep, sizes)],
            self.length[keep],
            self.steiner[np.repeat(keep, sizes - 2)],
            self.links[np.repeat(keep, 2 * sizes - 3)],
        )

    def union(self, picked: Any) -> tuple[FloatArray, IntArray]:
        """Return Steiner points and edges of the union of the flagged trees."""
        from .union_kernels import union

        chosen, flags = self, picked
        if self.links is None:
            chosen = self.part(picked)
            flags = np.ones(len(chosen), dtype=np.bool_)
        trees = (chosen.start, chosen.terminals, chosen.steiner, chosen.edges)
        return union(len(self.points), *trees, flags)

    def extended(self, steiner: FloatArray, edges: IntArray) -> FullTrees:
        """Return the list with the full Steiner trees of a strict tree over the points added."""
        from .component_kernels import components

        start, terminals, length, places, links = components(self.points, steiner, edges)
        return FullTrees(
            self.points,
            np.concatenate((self.start, self.start[-1] + start[1:])),
            np.concatenate((self.terminals, terminals)),
            np.concatenate((self.length, length)),
            np.concatenate((self.steiner, places)),
            np.concatenate((self.edges, links)),
        )

    def including(self, steiner: FloatArray, edges: IntArray) -> tuple[FullTrees, IntArray]:
        """Return the list with the full trees of a strict tree added, and where those stand in it.

        What the list knows is not added again: equal trees would be chosen from in vain.
        """
        longer = self.extended(steiner, edges)
        ours, added = np.split(_set_keys(longer), [len(self)])
        order = np.argsort(ours, kind="stable")
        place = np.minimum(np.searchsorted(ours[order], added), len(self) - 1)
        known = ours[order[place]] == added
        numbers = np.where(known, order[place], len(self) + np.cumsum(~known) - 1)
        if known.all():
            return self, numbers
        keep = np.concatenate((np.ones(len(self), dtype=np.bool_), ~known))
        return replace(longer.part(keep), complete=self.complete, stats=self.stats), numbers

    def plot(self, ax: Axes | None = None, *, chosen: Any = None) -> Axes:
        """Draw every tree thinly, and those whose numbers are `chosen` boldly; return the axes."""
        from .draw import plot_full_trees

        return plot_full_trees(self, ax, chosen=chosen)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything to one ``.npz`` file; a reader never sees half of it."""
        from .files import save_trees

        save_trees(self, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> FullTrees:
        """Read a file written by `save`; see `fst.files` for what is checked and believed."""
        from .files import load_trees

        return load_trees(path)


def _set_keys(trees: FullTrees) -> NDArray[np.uint64]:
    """Return a number for every tree that equal terminal sets share, and others hardly ever do."""
    random = np.random.default_rng(0).integers(0, 2**64, len(trees.points), dtype=np.uint64)
    return np.add.reduceat(random[trees.terminals], trees.start[:-1])
