"""Generation of full Steiner trees: the driver that calls the kernels slice by slice."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ....core.errors import PointsError
from ....run.threads import Workers
from ....run.watch import Stopped, waited
from ...trees import FullTrees

if TYPE_CHECKING:
    from .generation_kernels import Generation

KeepGoing = Callable[[str, int, int], bool]

DENSE_LIMIT = 1500
"""Up to here looking at all pairs is the fastest way to a spanning tree."""
SLICE = 30_000
"""Candidates per slice: a few milliseconds, and below 50 ms on a busy machine."""
FIRST_SIZES = 8
"""Sizes of branches for which there is room at first."""
LONG_COPY = 50_000
"""Branches from which on it takes long to copy them."""
WAITING = "making room"
"""What is told meanwhile, which does not count as work."""
FIRST_SHARE, PARTS = 64, 4
"""Branches that each thread takes at first, and the parts they are split into."""
SHARE_SECONDS = 0.05
"""What a share should take: reports come in between."""
ROWS_A_PART = 4096
"""Room for new branches that each part should have."""
UNLIMITED = 1 << 60


def generate(
    points: ArrayLike,
    *,
    max_size: int | None = None,
    keep_going: KeepGoing | None = None,
    threads: int = 1,
) -> FullTrees:
    """List full Steiner trees of which some shortest Steiner tree is composed.

    Branches (rooted halves of full trees) grow level by level from pairs of smaller ones; tests
    cut the directions in which a branch may be left until most have none. The branches of each
    size are then closed by terminals into full trees.

    Parameters
    ----------
    points : (n, 2) array_like
        Distinct finite coordinates, centred and scaled so that all are in [-1, 1].
    max_size : int, optional
        Largest number of terminals of a tree; no limit by default.
    keep_going : callable, optional
        Called as (phase, done, total) every few milliseconds; False stops.
    threads : int, optional
        Threads that share the work; the list does not depend on their number.

    Returns
    -------
    FullTrees
        The trees, shortest of each terminal set. ``complete`` is False after a stop or when
        ``max_size`` cut something off.

    Raises
    ------
    PointsError
        Where the points are not as said.

    References
    ----------
    P. Winter and M. Zachariasen, Euclidean Steiner minimum trees: an improved exact algorithm,
    Networks 30 (1997). D. M. Warme, P. Winter and M. Zachariasen, Exact algorithms for plane
    Steiner tree problems: a computational study, in Advances in Steiner Trees (2000). D. Juhl,
    D. M. Warme, P. Winter and M. Zachariasen, The GeoSteiner software package for computing
    Steiner trees in the plane: an updated computational study, Mathematical Programming
    Computation 10 (2018).
    """
    array = _checked(points)
    begin = time.perf_counter()
    with Workers(threads) as workers:
        run = _Generation(array, keep_going, workers)
        complete = run.grow(max_size)
    middle = time.perf_counter()
    trees = run.collect(complete)
    trees.stats["seconds_growing"] = middle - begin
    trees.stats["seconds_collecting"] = time.perf_counter() - middle
    return trees


def _checked(points: ArrayLike) -> NDArray[np.float64]:
    array = np.array(points, dtype=np.float64, order="C")
    if array.ndim != 2 or array.shape[1] != 2 or len(array) == 0:
        raise PointsError(f"Expected points of shape (n, 2) with n >= 1, got {array.shape}.")
    if not (np.abs(array) <= 1.0).all():
        raise PointsError("Expected finite coordinates between -1 and 1.")
    order = np.lexsort(array.T)
    if (array[order[1:]] == array[order[:-1]]).all(axis=1).any():
        raise PointsError("Expected distinct points, got duplicates.")
    return array


class _Generation:
    """One run between slices; makes more room when a kernel asks for it."""

    def __init__(
        self, points: NDArray[np.float64], keep_going: KeepGoing | None, workers: Workers
    ) -> None:
        from ....geometry.spanning_trees import minimum_spanning_tree
        from .bottleneck_kernels import by_length, spanning_tree
        from .forest_kernels import new_scratch
        from .generation_kernels import begin
        from .growth_kernels import finish_level

        self.points = points
        self.keep_going = keep_going
        self.workers = workers
        self.scratch = workers.scratch(lambda: new_scratch(len(points)))
        if len(points) <= DENSE_LIMIT:
            edges, lengths = spanning_tree(points)
        else:
            edges, lengths = by_length(points, minimum_spanning_tree(points))
        self.state = begin(points, edges, lengths, FIRST_SIZES)
        finish_level(self.state, 1)

    def grow(self, max_size: int | None) -> bool:
        """Grow and close level after level; whether nothing was left out."""
        from .growth_kernels import finish_level

        first = self.state.levels.first
        for size in range(2, len(self.points)):
            if max_size is not None and size >= max_size:
                return False
            if size >= len(self.state.levels.lines):
                self._add_sizes()
            first[size] = self.state.progress[0]["branches"]
            if not self._grow_level(size):
                return False
            finish_level(self.state, size)
            if not self._close_level(size):
                return False
            # The larger child of a branch of size s + 1 or more has over s / 2 terminals.
            if first[(size + 2) // 2] == first[size + 1]:
                break
        return True

    def _grow_level(self, size: int) -> bool:
        """Make the branches of one size; False when asked to stop."""
        from .growth_kernels import grow_level

        phase = f"growing branches of {size} terminals"
        if self.workers.threads == 1:
            return self._run(grow_level, phase, size)
        first = self.state.levels.first
        for larger in range(size - 1, (size - 1) // 2, -1):
            if first[size - larger] < first[size - larger + 1] and not self._shared(
                lambda low, high: self._grow_together(size, low, high),
                int(first[larger]), int(first[larger + 1]), phase,
            ):  # fmt: skip
                return False
        return True

    def _close_level(self, size: int) -> bool:
        """Close the branches of one size into trees; False when asked to stop."""
        from .closing_kernels import close_level

        phase, first = f"closing trees of {size + 1} terminals", self.state.levels.first
        if self.workers.threads == 1:
            return self._run(close_level, phase, size)
        low, high = int(first[size]), int(first[size + 1])
        return self._shared(self._close_together, low, high, phase)

    def _shared(self, work: Callable[[int, int], int], low: int, high: int, phase: str) -> bool:
        """Let threads work on branches low..high, some at a time; False when asked to stop.

        `work` takes a range of branches and returns how far it came.
        """
        many = FIRST_SHARE * self.workers.threads
        while low < high:
            self.state.progress[0]["position"] = low
            began = time.perf_counter()
            aim = min(low + many, high)
            reached = work(low, aim)
            if reached == aim:
                seconds = max(time.perf_counter() - began, 1e-6)
                many = max(self.workers.threads, int(many * min(4.0, SHARE_SECONDS / seconds)))
            low = reached
            if not self._go_on(phase):
                return False
        return True

    def _parts(self, low: int, high: int) -> list[tuple[int, int]]:
        """Split a range into a few parts for each thread: some take longer than others."""
        count = min(PARTS * self.workers.threads, high - low)
        bounds = [low + (high - low) * k // count for k in range(count + 1)]
        return list(itertools.pairwise(bounds))

    def _grow_together(self, size: int, low: int, high: int) -> int:
        """Pair branches low..high with smaller ones, each part in rows of its own."""
        from .generation_kernels import BRANCHES_FULL
        from .growth_kernels import Span, adopt, grow_some

        parts = self._parts(low, high)
        rows, members = self._room(len(parts))
        if min(rows, members // size) < ROWS_A_PART:
            self.state = self._with_room(BRANCHES_FULL)
            return low
        row, member = (int(self.state.progress[0][name]) for name in ("branches", "members"))
        spans = [
            Span(*part, row + k * rows, row + (k + 1) * rows,
                 member + k * members, member + (k + 1) * members)
            for k, part in enumerate(parts)
        ]  # fmt: skip
        grown = self.workers.each(
            lambda span: grow_some(self.state, self.scratch(), size, span, UNLIMITED), spans
        )
        for span, result in zip(spans, grown, strict=True):
            adopt(self.state, span, result)
            if result.position < span.high:  # there was no room: what later parts grew is dropped
                self.state = self._with_room(BRANCHES_FULL)
                return int(result.position)
        return high

    def _room(self, parts: int) -> tuple[int, int]:
        """Return how many rows and members there are for each of some parts."""
        progress, forest = self.state.progress[0], self.state.forest
        rows = len(forest.branches) - int(progress["branches"])
        return rows // parts, (len(forest.members) - int(progress["members"])) // parts

    def _close_together(self, low: int, high: int) -> int:
        """Close branches low..high; what is found is entered in their order."""
        from .closing_kernels import ROOM, close_some, enter_trees
        from .forest_kernels import TREE
        from .generation_kernels import TREES_FULL

        def close(part: tuple[int, int]) -> Any:
            found = np.empty(ROOM + len(self.points), TREE)
            return close_some(self.state, self.scratch(), *part, UNLIMITED, found), found

        parts = self._parts(low, high)
        for part, (closed, found) in zip(parts, self.workers.each(close, parts), strict=True):
            while not enter_trees(self.state, found, closed.trees):
                self.state = self._with_room(TREES_FULL)
            if closed.position < part[1]:  # there was no room: what later parts found is dropped
                return int(closed.position)
        return high

    def _add_sizes(self) -> None:
        """Make room for twice as many sizes."""
        lines = self.state.levels.lines
        levels = self.state.levels._replace(lines=np.concatenate((lines, np.zeros_like(lines))))
        self.state = self.state._replace(levels=levels)

    def _run(self, kernel: Callable[..., int], phase: str, size: int) -> bool:
        """Call one kernel until its level is finished; False when asked to stop."""
        from .generation_kernels import BRANCHES_FULL, DONE, TREES_FULL

        while True:
            status = kernel(self.state, size, SLICE)
            if status in (BRANCHES_FULL, TREES_FULL):
                try:
                    self.state = self._with_room(status)
                except Stopped:
                    return False
            if not self._go_on(phase):
                return False
            if status == DONE:
                return True

    def _go_on(self, phase: str) -> bool:
        if self.keep_going is None:
            return True
        progress = self.state.progress[0]
        return self.keep_going(phase, int(progress["position"]), int(progress["branches"]))

    def _with_room(self, status: int) -> Generation:
        """Return a state with room; where much is copied, the user hears of it meanwhile."""
        from .generation_kernels import with_room

        if self.keep_going is None or len(self.state.forest.branches) < LONG_COPY:
            return with_room(self.state, status)
        return waited(lambda: with_room(self.state, status), lambda: self._go_on(WAITING))

    def collect(self, complete: bool) -> FullTrees:
        """Rebuild every tree found and put the spanning-tree edges in front."""
        from .rebuild_kernels import collect_trees

        progress = self.state.progress[0]
        start, terminals, length, steiner, edges = collect_trees(self.state)
        stats: dict[str, float | int] = {
            "branches": int(progress["branches"]) - len(self.points),
            "candidates": int(progress["candidates"]),
            "merges": int(progress["merges"]),
            "trees": len(length),
            "largest_tree": int(np.diff(start).max(initial=0)),
        }
        return FullTrees(self.points, start, terminals, length, steiner, edges, complete, stats)
