"""Windows: overlapping parts of the plane, each solved exactly over the list."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ....core.points import FloatArray, IntArray
from ....run.monitor import Monitor, Report
from ....run.threads import Workers
from ....run.watch import Watch
from ...trees import FullTrees
from ..hypergraph import Budget, Hypergraph, Rows

# Trees of a list up to which a window that takes long works on a copy, to be left behind at need.
FEW = 200_000
Flags = NDArray[np.bool_]
_NOWHERE = np.empty(0, dtype=np.int64)


@dataclass(frozen=True)
class Pass:
    """One round of windows: terminals in a cell, and how much work a window may take.

    `work` and `widest` limit the dynamic programme (its estimated steps and its partitions).
    """

    size: int
    work: float = 1e5
    widest: int = 20_000


def cells_of(points: FloatArray, size: int, number: int) -> IntArray:
    """Return a cell number for every point: cells of about `size` points, shifted by `number`.

    Strips along one axis, cut across into cells: as many points in each, however they lie.
    """
    n = len(points)
    axis = number % 2
    strip = max(size, int(np.sqrt(n * size)))
    shift = (0.0, 0.5, 0.25, 0.75)[number // 2 % 4]
    order = np.argsort(points[:, axis], kind="stable")
    column = np.empty(n, dtype=np.int64)
    column[order] = (np.arange(n) + int(shift * strip)) // strip
    order = np.lexsort((points[:, 1 - axis], column))
    begin = np.searchsorted(column[order], np.arange(column.max() + 1))
    place = np.arange(n) - begin[column[order]]
    cell = np.empty(n, dtype=np.int64)
    cell[order] = column[order] * (strip // size + 2) + (place + int(shift * size)) // size
    return cell


class WindowSearch:
    """The picked trees and the passes of windows over them."""

    def __init__(
        self,
        listing: FullTrees,
        picked: Flags,
        workers: Workers,
        report: Report,
        watch: Watch | None = None,
    ) -> None:
        from .window_kernels import by_first_terminal

        self.listing = listing
        self.picked = picked
        self.workers = workers
        self.report = report
        self.length = float(listing.length[picked].sum())
        self.watch = watch or Watch(Monitor(), patient=False)
        n = len(listing.points)
        self.graph = Hypergraph.of(listing)
        self.own = self.watch.wait("windows", lambda: by_first_terminal(self.graph))
        self._scratch = workers.scratch(lambda: np.full(n, -1, dtype=np.int64))

    def run(self, number: int, how: Pass) -> float:
        """Solve all windows of one pass; return what they saved.

        `report` hears of the length that is reached.
        Raises Stopped where the watch stops the preparations.
        """
        from .window_kernels import Selection, connected_windows, solve_windows

        listing = self.listing

        def cut() -> Rows:
            cell = cells_of(listing.points, how.size, number)
            return connected_windows(self.graph, self.picked, cell)

        phase = f"windows, pass {number + 1}"
        found = self.watch.wait(phase, cut)
        saved = np.zeros(len(found.first) - 1)
        told = 0

        heavy = how.work > Pass.work
        leave = heavy and len(listing) <= FEW

        def solve(low: int, high: int) -> IntArray:
            flags = self.picked.copy() if leave else self.picked
            selection, budget = Selection(self.graph, self.own, flags), Budget(how.work, how.widest)
            solve_windows(selection, found, low, high, budget, self._scratch(), saved)
            return changed(flags, self.picked)

        def tell(phase: str, done: int, total: int) -> bool:
            nonlocal told
            fresh, told = float(saved[told:done].sum()), done
            self.length -= fresh
            return self.report(phase, done, total, self.length)

        at_once = max(1, 300 // how.size)
        for flips in self.workers.map(solve, len(saved), at_once, tell, phase, heavy, leave):
            self.picked[flips] = ~self.picked[flips]
        return float(saved[:told].sum())


def changed(flags: Flags, picked: Flags) -> IntArray:
    """Return where a copy of the flags differs from them; nowhere where it is none."""
    return _NOWHERE if flags is picked else np.flatnonzero(flags != picked)
