"""Generation of full Steiner trees: the driver that calls the kernels slice by slice."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ....core.errors import PointsError
from ....run.watch import Stopped, waited
from ...trees import FullTrees

KeepGoing = Callable[[str, int, int], bool]

DENSE_LIMIT = 1500
"""Up to here looking at all pairs is the fastest way to a spanning tree."""
SLICE = 30_000
"""Candidates per slice: a few milliseconds, and below 50 ms on a busy machine."""
LONG_COPY = 50_000
"""Branches from which on it takes long to copy them."""
WAITING = "making room"
"""What is told meanwhile, which does not count as work."""


def generate(
    points: ArrayLike,
    *,
    max_size: int | None = None,
    keep_going: KeepGoing | None = None,
) -> FullTrees:
    """List full Steiner trees of which some shortest Steiner tree is composed.

    Branches (rooted halves of full trees) grow level by level from pairs of smaller ones; tests
    cut the directions in which a branch may be left until most have none. The branches of each
    size are then closed by terminals into full trees.

    Args:
        points: (n, 2) distinct finite coordinates, centred and scaled so that all are in [-1, 1].
        max_size: largest number of terminals of a tree; None for no limit.
        keep_going: called as (phase, done, total) every few milliseconds; False stops.

    Returns:
        The trees, shortest of each terminal set. ``complete`` is False after a stop or when
        ``max_size`` cut something off.

    References:
        P. Winter and M. Zachariasen, Euclidean Steiner minimum trees: an improved exact
        algorithm, Networks 30 (1997). D. Juhl, D. M. Warme, P. Winter and M. Zachariasen, The
        GeoSteiner software package for computing Steiner trees in the plane: an updated
        computational study, Mathematical Programming Computation 10 (2018).
    """
    array = _checked(points)
    begin = time.perf_counter()
    run = _Generation(array, keep_going)
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
    """State of one run between slices; grows the arrays when a kernel asks for room."""

    def __init__(self, points: NDArray[np.float64], keep_going: KeepGoing | None) -> None:
        from . import bottleneck_kernels as bottleneck
        from . import forest_kernels as store
        from . import growth_kernels as growth

        self.points = points
        self.keep_going = keep_going
        n = len(points)
        self.edges, self.lengths = _spanning_tree(points)
        self.order, gaps = bottleneck.merge_order(n, self.edges, self.lengths)
        ordered = points[self.order]
        self.ground = bottleneck.Ground(ordered, *bottleneck.prepare_ground(ordered, gaps))
        rows = max(256, 16 * n)
        work = 2 * store.WORK_SIZE
        self.forest = store.Forest(
            np.empty((rows, store.SHAPE_COLUMNS)),
            np.empty((rows, store.LINK_COLUMNS), np.int64),
            np.empty(4 * rows, np.int64),
            np.empty((n + 1, 3), np.int64),
            np.empty((work + 1, work, 3)),
        )
        room = 8 * n + 64
        self.trees = store.Trees(
            np.empty((room, 3), np.int64), np.empty(room), np.zeros(_table_size(room), np.int64)
        )
        cells = int(self.ground.frame[bottleneck.COLUMNS] * self.ground.frame[bottleneck.ROWS])
        self.levels = growth.Levels(
            np.zeros(n + 2, np.int64),
            np.zeros((8, growth.SECTORS * cells + 1), np.int64),
            np.empty(rows, np.int64),
            np.empty((rows, 4)),
            np.empty(rows, np.int64),
            np.zeros((n + 2, 3)),
        )
        self.state = np.zeros(growth.STATE_ENTRIES, np.int64)
        self.state[growth.BRANCH_COUNT] = self.state[growth.MEMBER_COUNT] = n
        shape, link, members = self.forest[:3]
        growth.plant(ordered, self.ground.frame, shape, link, members)
        self._finish(1)

    def _finish(self, size: int) -> None:
        from . import growth_kernels as growth

        shape, link = self.forest.shape, self.forest.link
        growth.finish_level(self.ground.frame, shape, link, *self.levels, self.state, size)

    def grow(self, max_size: int | None) -> bool:
        """Grow and close level after level; whether nothing was left out."""
        from . import growth_kernels as growth

        for size in range(2, len(self.points)):
            if max_size is not None and size >= max_size:
                return False
            if size >= len(self.levels.lines):
                lines = _enlarged(self.levels.lines, 2 * size)
                self.levels = self.levels._replace(lines=lines)
            first = self.levels.first
            first[size] = self.state[growth.BRANCH_COUNT]
            if not self._run(self._grow_slice, f"growing branches of {size} terminals", size):
                return False
            self._finish(size)
            if not self._run(self._close_slice, f"closing trees of {size + 1} terminals", size):
                return False
            # The larger child of a branch of size s + 1 or more has over s / 2 terminals.
            if first[(size + 2) // 2] == first[size + 1]:
                break
        return True

    def _grow_slice(self, size: int) -> int:
        from . import growth_kernels as growth

        kernel: Any = growth.grow_level
        arrays = (*self.ground, *self.forest, *self.trees, *self.levels)
        return int(kernel(*arrays, self.state, size, SLICE))

    def _close_slice(self, size: int) -> int:
        from .closing_kernels import close_level

        kernel: Any = close_level
        arrays = (*self.ground, *self.forest[:4], *self.trees)
        return int(kernel(*arrays, self.levels.first, self.state, size, SLICE))

    def _run(self, kernel: Callable[[int], int], phase: str, size: int) -> bool:
        """Call one kernel until its level is finished; False when asked to stop."""
        from . import growth_kernels as growth

        while True:
            status = kernel(size)
            if status == growth.BRANCHES_FULL:
                try:
                    self.forest, self.levels = self._waited(self._with_branch_room)
                except Stopped:
                    return False
            elif status == growth.TREES_FULL:
                self._add_tree_room()
            if not self._go_on(phase):
                return False
            if status == growth.DONE:
                return True

    def _go_on(self, phase: str) -> bool:
        from . import growth_kernels as growth

        if self.keep_going is None:
            return True
        done, total = self.state[[growth.POSITION, growth.BRANCH_COUNT]].tolist()
        return self.keep_going(phase, done, total)

    def _waited(self, copy: Callable[[], tuple[Any, Any]]) -> tuple[Any, Any]:
        """Return what a call copies; where that is much, the user hears of it meanwhile."""
        if self.keep_going is None or len(self.forest.link) < LONG_COPY:
            return copy()
        return waited(copy, lambda: self._go_on(WAITING))

    def _with_branch_room(self) -> tuple[Any, Any]:
        """Return forest and levels with room for more branches; nothing is changed."""
        from . import growth_kernels as growth

        forest, rows, members = self.forest, len(self.forest.link), len(self.forest.members)
        few_rows = self.state[growth.BRANCH_COUNT] > 0.8 * rows
        few_members = self.state[growth.MEMBER_COUNT] > 0.8 * members
        # Copy only what is nearly full, if that is clear.
        if few_members or not few_rows:
            forest = forest._replace(members=_enlarged(forest.members, 2 * members))
        if few_members and not few_rows:
            return forest, self.levels
        rows *= 2
        forest = forest._replace(
            shape=_enlarged(forest.shape, rows), link=_enlarged(forest.link, rows)
        )
        levels = self.levels._replace(
            items=_enlarged(self.levels.items, rows),
            spots=_enlarged(self.levels.spots, rows),
            filters=_enlarged(self.levels.filters, rows),
        )
        return forest, levels

    def _add_tree_room(self) -> None:
        from . import forest_kernels as store
        from . import growth_kernels as growth

        trees, room = self.trees, 2 * len(self.trees.tree_link)
        self.trees = trees._replace(
            tree_link=_enlarged(trees.tree_link, room),
            tree_length=_enlarged(trees.tree_length, room),
            table=np.zeros(_table_size(room), np.int64),
        )
        store.rehash(self.trees.tree_link, self.trees.table, self.state[growth.TREE_COUNT])

    def collect(self, complete: bool) -> FullTrees:
        """Rebuild every tree found and put the spanning-tree edges in front."""
        from . import growth_kernels as growth
        from . import rebuild_kernels as rebuild

        count = int(self.state[growth.TREE_COUNT])
        shape, link, members, stack, _ = self.forest
        tree_link = self.trees.tree_link
        start, terminals, length, steiner, edges = rebuild.collect_trees(
            self.ground.points, shape, link, members, stack, tree_link, count, self.order,
            self.edges, self.lengths,
        )  # fmt: skip
        stats: dict[str, float | int] = {
            "branches": int(self.state[growth.BRANCH_COUNT]) - len(self.points),
            "candidates": int(self.state[growth.CANDIDATES]),
            "merges": int(self.state[growth.MERGES]),
            "trees": len(length),
            "largest_tree": int(np.diff(start).max(initial=0)),
        }
        return FullTrees(self.points, start, terminals, length, steiner, edges, complete, stats)


def _spanning_tree(points: NDArray[np.float64]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Edges and lengths of a minimum spanning tree, sorted by length."""
    from ....geometry.spanning_trees import minimum_spanning_tree
    from .bottleneck_kernels import spanning_tree

    if len(points) <= DENSE_LIMIT:
        edges, lengths = spanning_tree(points)
        return edges, lengths
    edges = minimum_spanning_tree(points)
    lengths = np.sqrt(((points[edges[:, 0]] - points[edges[:, 1]]) ** 2).sum(axis=1))
    order = np.argsort(lengths, kind="stable")
    return edges[order], lengths[order]


def _table_size(room: int) -> int:
    return 1 << int(2 * room).bit_length()


def _enlarged(array: NDArray[Any], rows: int) -> NDArray[Any]:
    larger = np.empty((rows, *array.shape[1:]), array.dtype)
    larger[: len(array)] = array
    return larger
