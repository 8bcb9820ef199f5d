"""The list of full Steiner trees that generation hands to pruning and concatenation."""

from __future__ import annotations

import os
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class FullTrees:
    """Full Steiner trees over common terminals, in compressed rows.

    Tree f has the terminals ``terminals[start[f]:start[f + 1]]``, say k of them. Its k - 2 Steiner
    points are the rows of ``steiner`` from ``start[f] - 2 * f``, its 2 k - 3 edges the rows of
    ``edges`` from ``2 * start[f] - 3 * f``; edges count the terminals of the tree as 0..k-1 and
    its Steiner points from k on. The first n - 1 trees are the edges of a minimum spanning tree;
    larger ones follow by size. When ``complete``, some shortest Steiner tree of the points is a
    union of trees of the list. ``doubt`` says why a list that was loaded as complete is not
    believed to be.
    """

    points: NDArray[np.float64]
    start: NDArray[np.int64]
    terminals: NDArray[np.int32]
    length: NDArray[np.float64]
    steiner: NDArray[np.float64]
    edges: NDArray[np.int32]
    complete: bool
    stats: dict[str, float | int] = field(default_factory=dict)
    doubt: str = ""

    def __len__(self) -> int:
        return len(self.length)

    def size(self, tree: int) -> int:
        """Return the number of terminals of one tree."""
        return int(self.start[tree + 1] - self.start[tree])

    def tree(self, tree: int) -> tuple[NDArray[np.int32], NDArray[np.float64], NDArray[np.int32]]:
        """Return terminals, Steiner points and edges (in local numbers) of one tree."""
        low, high = int(self.start[tree]), int(self.start[tree + 1])
        steiner = self.steiner[low - 2 * tree : high - 2 * (tree + 1)]
        edges = self.edges[2 * low - 3 * tree : 2 * high - 3 * (tree + 1)]
        return self.terminals[low:high], steiner, edges

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything to one ``.npz`` file; a reader never sees half of it."""
        from .files import save_trees

        save_trees(self, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> FullTrees:
        """Read a file written by `save`; see `fst.files` for what is checked and believed."""
        from .files import load_trees

        return load_trees(path)
