"""One independent part of a concatenation problem, what is known about it, and those still open."""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..hypergraph import Bottlenecks, Distances, Hypergraph

if TYPE_CHECKING:
    from .cutting.subtour_kernels import Inequalities


@dataclass(frozen=True)
class Piece:
    """A list over terminals 0 to n-1; ``trees`` are the FSTs' indices in the full list.

    ``known`` are bottleneck distances of the list that it is a part of, where there is one.
    """

    n: int
    start: NDArray[np.int64]
    terminals: NDArray[np.int64]
    length: NDArray[np.float64]
    trees: NDArray[np.int64]
    known: Distances | None = None

    @property
    def graph(self) -> Hypergraph:
        """The list as kernels take it."""
        return Hypergraph(self.n, self.start, self.terminals, self.length)

    @cached_property
    def distances(self) -> Distances:
        """Bottleneck distances: those known, or those of the piece's own two-terminal FSTs."""
        from .prune_kernels import own_distances

        if self.known is not None:
            return self.known
        return own_distances(self.graph, np.ones(self.length.size, np.bool_))

    def restrict(self, keep: NDArray[np.bool_]) -> Piece:
        """The same terminals with some of the FSTs."""
        sizes = np.diff(self.start)
        start = np.concatenate([[0], np.cumsum(sizes[keep])])
        members = self.terminals[np.repeat(keep, sizes)]
        return Piece(self.n, start, members, self.length[keep], self.trees[keep], self.known)


@dataclass(frozen=True)
class Answer:
    """A tree of a piece (flags over its FSTs), its length and a bound for the piece."""

    picked: NDArray[np.bool_]
    length: float
    bound: float
    optimal: bool


@dataclass(frozen=True)
class Fallback:
    """A tree of a piece that fell into parts, of which some have no tree of their own.

    What was dropped from the parts is in no better tree of the piece. So where nothing is left in
    one of them, this tree is a shortest one. ``trees`` are all FSTs of the piece, ``guess`` those
    of its tree, as indices in the full list.
    """

    trees: NDArray[np.int64]
    guess: NDArray[np.int64]


@dataclass
class Job:
    """A piece still to be solved, the level it has reached, its best tree and its bound.

    A piece that has no tree of its own (hypergraphs have trees that no greedy order meets) has a
    fallback, and may have a ceiling: where nothing in it is as short, the best tree of the whole
    list is shortest, or the fallback's tree of its piece. Cuts are those of the programmes that it
    comes from, over the whole list.
    """

    piece: Piece
    level: int
    guess: NDArray[np.bool_]
    bound: float
    programmed: bool = False
    ceiling: float = np.inf
    fallback: Fallback | None = None
    cuts: Inequalities | None = None

    @cached_property
    def length(self) -> float:
        """Length of the best tree known for the piece."""
        return float(self.piece.length[self.guess].sum()) if self.guess.any() else np.inf

    @property
    def most(self) -> float:
        """What a tree of the piece may cost to matter."""
        return min(self.length, self.ceiling)


@dataclass
class OpenJobs:
    """The open jobs, the easiest first, and sums over them.

    What is easy is settled before a linear programme needs to know how short all other parts can
    be: of a piece without a tree of its own it drops only what is too long beside them.
    """

    heap: list[tuple[int, int, int, Job]] = field(default_factory=list)
    length: float = 0.0  # of those that have a tree
    treeless: int = 0
    bound: float = 0.0
    undecided: int = 0  # terminals still to be joined
    opened: int = 0  # so far

    def __bool__(self) -> bool:
        return bool(self.heap)

    @property
    def jobs(self) -> list[Job]:
        """The open jobs in no special order."""
        return [job for *_, job in self.heap]

    def push(self, job: Job) -> None:
        """Open a job."""
        heapq.heappush(self.heap, (job.level, job.piece.length.size, self.opened, job))
        self.opened += 1
        self._count(job, 1)

    def pop(self) -> Job:
        """Take the job of the lowest level, of these the smallest."""
        *_, job = heapq.heappop(self.heap)
        self._count(job, -1)
        return job

    def drop(self, trees: NDArray[np.bool_]) -> None:
        """Leave out the jobs on flagged FSTs."""
        for job in self.jobs:
            if trees[job.piece.trees[0]]:
                self._count(job, -1)
        self.heap = [entry for entry in self.heap if not trees[entry[-1].piece.trees[0]]]
        heapq.heapify(self.heap)

    def _count(self, job: Job, sign: int) -> None:
        if np.isfinite(job.length):
            self.length += sign * job.length
        else:
            self.treeless += sign
        self.bound += sign * job.bound
        self.undecided += sign * (job.piece.n - 1)


def distances_among(forest: Bottlenecks, names: NDArray[np.int64]) -> Distances:
    """Bottleneck distances of some vertices, without the rest of the forest."""
    parent, weight = forest
    vertices = level = np.unique(names)
    while True:
        level = np.setdiff1d(parent[level], vertices)
        if not level.size:
            break
        vertices = np.union1d(vertices, level)
    above = np.searchsorted(vertices, parent[vertices])
    return Distances(Bottlenecks(above, weight[vertices]), np.searchsorted(vertices, names))
