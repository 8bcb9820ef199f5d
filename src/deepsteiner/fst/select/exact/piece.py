"""One independent part of a concatenation problem and what is known about it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..hypergraph import Hypergraph


@dataclass(frozen=True)
class Piece:
    """A list over terminals 0 to n-1; ``trees`` are the FSTs' indices in the full list."""

    n: int
    start: NDArray[np.int64]
    terminals: NDArray[np.int64]
    length: NDArray[np.float64]
    trees: NDArray[np.int64]

    @property
    def graph(self) -> Hypergraph:
        """The list as kernels take it."""
        return Hypergraph(self.n, self.start, self.terminals, self.length)

    def restrict(self, keep: NDArray[np.bool_]) -> Piece:
        """The same terminals with some of the FSTs."""
        sizes = np.diff(self.start)
        start = np.concatenate([[0], np.cumsum(sizes[keep])])
        members = self.terminals[np.repeat(keep, sizes)]
        return Piece(self.n, start, members, self.length[keep], self.trees[keep])


@dataclass(frozen=True)
class Answer:
    """A tree of a piece (flags over its FSTs), its length and a bound for the piece."""

    picked: NDArray[np.bool_]
    length: float
    bound: float
    optimal: bool
