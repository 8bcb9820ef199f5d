"""Generation of full Steiner trees: the driver that calls the kernels slice by slice."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ....core.errors import PointsError
from ....core.points import FloatArray, IntArray
from ....run.threads import Workers
from ....run.watch import Stopped, waited
from ...order import in_list_order
from ...trees import FullTrees

if TYPE_CHECKING:
    from .generation_kernels import Generation
    from .growth_kernels import Grown, Span

KeepGoing = Callable[[str, int, int], bool]

DENSE_LIMIT = 1500
"""Up to here looking at all pairs is the fastest way to a spanning tree."""
SLICE = 30_000
"""Candidates per slice: a few milliseconds, and below 50 ms on a busy machine."""
LONG_COPY = 50_000
"""Branches from which on it takes long to copy them."""
WAITING = "making room"
"""What is told meanwhile, which does not count as work."""
FIRST_SHARE, PARTS = 64, 4
"""Branches that each thread takes at first, and the parts they are split into."""
SHARE_SECONDS = 0.08
"""What a share should take: reports come in between."""
PAIRS_A_PART = 4096
"""Room for pairs that each part should have, at first."""
ROWS_A_PART = 4096
"""Room for new branches that each part should have."""
PLANTED_ALONE = 4096
"""Branches of a level below which one thread alone puts them into the index."""
UNLIMITED = 1 << 60


def generate(
    points: ArrayLike,
    *,
    max_size: int | None = None,
    keep_going: KeepGoing | None = None,
    threads: int = 1,
    spanning: IntArray | None = None,
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
    spanning : (n - 1, 2) array, optional
        Edges of a minimum spanning tree, where that is known.

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
        run = Growth(array, begun(array, spanning), keep_going, workers)
        complete = run.grow(max_size)
    middle = time.perf_counter()
    trees = in_list_order(run.collect(complete), run.state.order)
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


def begun(points: NDArray[np.float64], spanning: IntArray | None = None) -> Generation:
    """Return a generation of all points, before it has grown."""
    from .generation_kernels import begin

    return begin(points, *sorted_spanning_tree(points, spanning))


def sorted_spanning_tree(
    points: NDArray[np.float64], known: IntArray | None = None
) -> tuple[IntArray, FloatArray]:
    """Return the minimum spanning tree that generation stands on: edges and lengths, by length.

    The edges `known` to be one are taken for many points; for few, those come from a kernel that
    says which of equal lengths is first.
    """
    from ....geometry.spanning_trees import minimum_spanning_tree
    from .bottleneck_kernels import by_length, spanning_tree

    if len(points) <= DENSE_LIMIT:
        edges, lengths = spanning_tree(points)
    else:
        edges, lengths = by_length(
            points, minimum_spanning_tree(points) if known is None else known
        )
    return edges, lengths


class Growth:
    """One run between slices; makes more room when a kernel asks for it."""

    def __init__(
        self,
        points: NDArray[np.float64],
        state: Generation,
        keep_going: KeepGoing | None,
        workers: Workers,
    ) -> None:
        from .forest_kernels import new_scratch
        from .generation_kernels import BRANCHES_FULL, with_room

        self.points = points
        self.keep_going = keep_going
        self.workers = workers
        self.room = PAIRS_A_PART
        self.found: list[IntArray] = []
        self.shares: dict[str, int] = {}
        self.scratch = workers.scratch(lambda: new_scratch(len(points)))
        # Room that is never used takes no memory, and to make it now saves copies of millions.
        self.state = with_room(state, BRANCHES_FULL)
        self._finish_level(1)

    def grow(self, max_size: int | None) -> bool:
        """Grow and close level after level; whether nothing was left out."""
        first = self.state.first
        for size in range(2, len(self.points)):
            if max_size is not None and size >= max_size:
                return False
            first[size] = self.state.progress[0]["branches"]
            if not self._grow_level(size):
                return False
            self._finish_level(size)
            if not self._close_level(size) or not self._search_level(size):
                return False
            if first[size] == first[size + 1] and self.state.progress[0]["pairs"] == 0:
                break
        return True

    def _grow_level(self, size: int) -> bool:
        """Make the branches of one size; False when asked to stop."""
        from .generation_kernels import take_pairs
        from .growth_kernels import grow_by_terminals, grow_level, grow_pairs

        phase, first = f"growing branches of {size} terminals", self.state.first
        if self.workers.threads == 1:
            return self._run(grow_level, phase, size)

        def by_terminals(span: Span) -> Grown:
            return grow_by_terminals(self.state, self.scratch(), size, span, UNLIMITED)

        def by_pairs(span: Span) -> Grown:
            return grow_pairs(self.state, self.scratch(), size, pairs, span, UNLIMITED)

        low, high = int(first[size - 1]), int(first[size])
        if not self._shared(
            "terminals", lambda *some: self._grow(by_terminals, size, *some), low, high, phase
        ):
            return False
        pairs = take_pairs(self.state, size, UNLIMITED)
        return self._shared(
            "pairs", lambda *some: self._grow(by_pairs, size, *some), 0, len(pairs), phase
        )

    def _finish_level(self, size: int) -> None:
        """Put the branches of one size into the index."""
        from .growth_kernels import finish_level

        first, progress = self.state.first, self.state.progress[0]
        low, high = int(first[size]), int(progress["branches"])
        if self.workers.threads == 1 or high - low < PLANTED_ALONE:
            finish_level(self.state, size)
        else:
            first[size + 1] = high
            enter_in_threads(self.state, low, high, self.workers)
            progress["stage"] = 0

    def _close_level(self, size: int) -> bool:
        """Close the branches of one size into trees; False when asked to stop."""
        from .closing_kernels import close_level

        phase, first = f"closing trees of {size + 1} terminals", self.state.first
        if self.workers.threads == 1:
            return self._run(close_level, phase, size)
        return self._shared("close", self._close, int(first[size]), int(first[size + 1]), phase)

    def _search_level(self, size: int) -> bool:
        """Find what the branches of one size can be joined with; False when asked to stop."""
        from .growth_kernels import search_level

        phase, first = f"pairing branches of {size} terminals", self.state.first
        if self.workers.threads == 1:
            return self._run(search_level, phase, size)
        roots, trees = self.state.lookup.roots, int(self.state.lookup.trees[0])
        low, high = int(roots[trees - 1]), int(roots[trees])
        if first[size] == first[size + 1]:
            return True
        return self._shared("search", lambda *some: self._search(size, *some), low, high, phase)

    def _shared(
        self, kind: str, work: Callable[[int, int], int], low: int, high: int, phase: str
    ) -> bool:
        """Let threads work on branches low..high, some at a time; False when asked to stop.

        `work` takes a range of branches and returns how far it came. How many it takes at once
        is known from work of its kind in the level before; one there may take several times as
        long, so a level begins with fewer.
        """
        many = max(self.shares.get(kind, 0) // 4, FIRST_SHARE * self.workers.threads)
        while low < high:
            self.state.progress[0]["position"] = low
            began = time.perf_counter()
            aim = min(low + many, high)
            reached = work(low, aim)
            seconds = max(time.perf_counter() - began, 1e-6)
            if reached == aim and (aim < high or seconds > SHARE_SECONDS):
                aimed = (aim - low) * min(4.0, SHARE_SECONDS / seconds)
                many = self.shares[kind] = max(self.workers.threads, int(aimed))
            low = reached
            if not self._go_on(phase):
                return False
        return True

    def _parts(self, low: int, high: int) -> list[tuple[int, int]]:
        """Split a range into a few parts for each thread: some take longer than others."""
        count = min(PARTS * self.workers.threads, high - low)
        bounds = [low + (high - low) * k // count for k in range(count + 1)]
        return list(itertools.pairwise(bounds))

    def _grow(self, kernel: Callable[[Span], Grown], size: int, low: int, high: int) -> int:
        """Grow from low..high by a kernel, each part in rows of its own."""
        from .generation_kernels import BRANCHES_FULL
        from .growth_kernels import adopt

        spans = self._spans(low, high, size, ROWS_A_PART)
        if not spans:
            return low
        for span, result in zip(spans, self.workers.each(kernel, spans), strict=True):
            adopt(self.state, span, result)
            if result.position < span.high:  # there was no room: what later parts grew is dropped
                self.state = self._with_room(BRANCHES_FULL)
                return int(result.position)
        return high

    def _spans(self, low: int, high: int, size: int, rows: int) -> list[Span]:
        """Split a range into parts that each have room for so many branches of a size.

        Without that there are none, and room for more is made.
        """
        from .generation_kernels import BRANCHES_FULL
        from .growth_kernels import Span

        parts, progress = self._parts(low, high), self.state.progress[0]
        free_rows, free = self._room(len(parts))
        if min(free_rows, free // size) < rows:
            self.state = self._with_room(BRANCHES_FULL)
            return []
        row, member = int(progress["branches"]), int(progress["members"])
        return [
            Span(*part, row + k * free_rows, row + (k + 1) * free_rows,
                 member + k * free, member + (k + 1) * free)
            for k, part in enumerate(parts)
        ]  # fmt: skip

    def _room(self, parts: int) -> tuple[int, int]:
        """Return how many rows and members there are for each of some parts."""
        progress, forest = self.state.progress[0], self.state.forest
        rows = len(forest.branches) - int(progress["branches"])
        return rows // parts, (len(forest.members) - int(progress["members"])) // parts

    def _search(self, size: int, low: int, high: int) -> int:
        """Find pairs for the boxes low..high of the index; they wait in the order of these."""
        from .generation_kernels import PAIRS_FULL, enter_pairs
        from .growth_kernels import search_some

        def search(span: Span, found: IntArray) -> Any:
            return search_some(self.state, self.scratch(), size, span, UNLIMITED, found)

        # Each part tries pairs in one row of its own; mates have at most as many terminals.
        spans = self._spans(low, high, 2 * size, 1)
        if not spans:
            return low
        while len(self.found) < len(spans):
            self.found.append(np.empty((self.room, 2), np.int64))
        given = list(zip(spans, self.found, strict=False))
        results = self.workers.each(lambda one: search(*one), given)
        for (span, found), searched in zip(given, results, strict=True):
            while not enter_pairs(self.state, found, searched.pairs):
                self.state = self._with_room(PAIRS_FULL)
            self.state.progress[0]["candidates"] += searched.candidates
            if (
                searched.position < span.high
            ):  # there was no room: what later parts found is dropped
                self.room *= 2
                self.found.clear()
                return int(searched.position)
        return high

    def _close(self, low: int, high: int) -> int:
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

    def _run(self, kernel: Callable[..., int], phase: str, size: int) -> bool:
        """Call one kernel until its level is finished; False when asked to stop."""
        from .generation_kernels import DONE, MORE

        while True:
            status = kernel(self.state, size, SLICE)
            if status not in (DONE, MORE):
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


def enter_in_threads(state: Generation, low: int, high: int, workers: Workers) -> None:
    """Put the branches low..high into the index; the threads halve boxes of one depth together."""
    from .index_kernels import begin_tree, boxes_of, depth_of, end_tree, enter_items, plant, split

    index, branches = state.lookup, state.forest.branches
    bounds = [low + (high - low) * k // workers.threads for k in range(workers.threads + 1)]
    workers.each(lambda part: enter_items(index, branches, *part), list(itertools.pairwise(bounds)))
    begin = begin_tree(index, low, high)
    waiting = [(begin, high, depth_of(high - begin), int(index.roots[index.trees[0]]))]
    while len(waiting) < 2 * workers.threads and waiting[0][2] > 0:
        middles = workers.each(lambda one: split(index, *one), waiting)
        inner = []
        for (first, last, depth, root), middle in zip(waiting, middles, strict=True):
            inner.append((first, middle, depth - 1, root + 1))
            inner.append((middle, last, depth - 1, root + 1 + boxes_of(depth - 1)))
        waiting = inner
    workers.each(lambda one: plant(index, *one), waiting)
    end_tree(index, begin, high)
