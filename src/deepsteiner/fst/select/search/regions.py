"""Passes of regions over a large instance; see `region_kernels` and `region_pass_kernels`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ....core.points import FloatArray, IntArray
from ....run.monitor import Monitor, Report
from ....run.threads import Workers
from ....run.watch import Stopped, Watch
from ...trees import FullTrees
from ..hypergraph import Budget, Hypergraph, Rows
from .windows import FEW, Flags, cells_of, changed

# By how much compact cells turn from one pass to the next, and where they are cut.
TURN = 0.65
SHARES = (0.5, 0.42, 0.58)


@dataclass(frozen=True)
class RegionPass:
    """One round of regions of about `size` terminals; `work`, `widest` and `beam` limit each.

    `compact` regions suit clusters, cells of strips suit rows of points. Of a list that is to be
    thinned first (`thinning`), about `thin` trees a terminal are left; 0 leaves all.
    """

    size: int
    work: float = 1e5
    widest: int = 20_000
    beam: int = 0
    compact: bool = False
    thin: float = 0.0


@dataclass(frozen=True)
class Changes:
    """Changes to a tree that may not go together; each would save its `gains`.

    Change c is to pick or drop the trees changed[rows[c] : rows[c + 1]].
    """

    gains: FloatArray
    rows: IntArray
    changed: IntArray

    @classmethod
    def of(cls, parts: list[Any]) -> Changes:
        """Put those of several calls together."""
        rows = np.cumsum(np.concatenate([[0], *(np.diff(part[1]) for part in parts)]))
        gains, changed = (np.concatenate([part[k] for part in parts]) for k in (0, 2))
        return cls(gains, rows.astype(np.int64), changed)


def run_pass(
    listing: FullTrees,
    picked: Any,
    number: int,
    how: RegionPass,
    workers: Workers,
    report: Report,
    watch: Watch | None = None,
) -> float:
    """Solve the regions of one pass, all against the same tree; return what they saved.

    `report` hears of the length that is reached. Where it or the watch says no, the rest is left
    out. Of changes that do not go together, which is rare,
    those of later regions are left to the next pass.
    """
    from . import region_pass_kernels as kernels
    from .window_kernels import Selection

    n, phase = len(listing.points), f"regions, pass {number + 1}"
    graph = listing.graph
    wait = (watch or Watch(Monitor(), patient=False)).wait
    try:
        own, cells = wait(phase, lambda: _cut(listing, how, number))
        hung = wait(phase, lambda: kernels.hang(graph, picked))
    except Stopped:
        return 0.0
    regions, heard = len(cells.first) - 1, 0
    length = float(listing.length[picked].sum())
    saved = np.zeros(regions)
    scratch = workers.scratch(lambda: np.full(n, -1, dtype=np.int64))
    heavy = how.work > RegionPass.work
    leave = heavy and len(listing) <= FEW

    def solve(first: int, last: int) -> Any:
        flags = picked.copy() if leave else picked
        selection, budget = Selection(graph, own, flags), Budget(how.work, how.widest, how.beam)
        given = (selection, cells, first, last, budget, hung, scratch(), saved[first:last])
        return *kernels.solve_apart(*given), changed(flags, picked)

    def tell(phase: str, done: int, total: int) -> bool:
        nonlocal heard, length
        fresh, heard = float(saved[heard:done].sum()), done
        length -= fresh
        return report(phase, done, total, length)

    parts = workers.map(solve, regions, max(1, 500 // how.size), tell, phase, heavy, leave)
    if not parts:
        return 0.0
    for *_, flips in parts:
        picked[flips] = ~picked[flips]
    changes = Changes.of(parts)
    take = acceptable(changes, graph, picked, hung)
    flips = changes.changed[np.repeat(take, np.diff(changes.rows))]
    picked[flips] = ~picked[flips]
    more = float(changes.gains[take].sum())
    report(phase, heard, regions, length - more)
    return float(saved[:heard].sum()) + more


def compact_cells(points: FloatArray, size: int, number: int) -> IntArray:
    """Return a cell number for every point: compact cells of at most `size` points.

    Those of every `number` lie differently: the plane is turned, and cut at other shares.
    """
    from .cell_kernels import halved_cells

    sine, cosine = np.sin(TURN * number), np.cos(TURN * number)
    turned = points @ np.array([[cosine, sine], [-sine, cosine]])
    cells: IntArray = halved_cells(turned, size, SHARES[number % len(SHARES)])
    return cells


def _cut(listing: FullTrees, how: RegionPass, number: int) -> tuple[Rows, Rows]:
    """Return the trees by their first terminal, and the terminals by region."""
    from .window_kernels import by_first_terminal

    cell = (compact_cells if how.compact else cells_of)(listing.points, how.size, number)
    order = np.argsort(cell, kind="stable")
    bounds = np.flatnonzero(np.diff(cell[order])) + 1
    return by_first_terminal(listing.graph), Rows(np.concatenate(([0], bounds, [len(cell)])), order)


def acceptable(changes: Changes, graph: Hypergraph, picked: Flags, hung: Any) -> Flags:
    """Return which changes to make: of those that close a cycle together, the first ones."""
    from . import region_pass_kernels as kernels

    took = np.zeros(len(changes.gains), dtype=np.bool_)
    rows = changes.rows

    def settle(first: int, last: int, parts: int, at: IntArray, names: IntArray, new: Any) -> None:
        """Decide on the changes first..last-1, over the parts that all others leave connected."""
        if kernels.is_forest(parts, at, names, new):
            took[first:last] = True
            return
        if last - first == 1:
            return
        middle = (first + last) // 2
        cut = rows[middle] - rows[first]
        there = np.arange(len(new)) >= cut
        less = kernels.contracted(parts, at, names, there & ~new, 0, cut)
        settle(first, middle, *less, new[:cut])
        here = np.repeat(took[first:middle], np.diff(rows[first : middle + 1]))
        here = np.concatenate((here == new[:cut], np.zeros(len(new) - cut, dtype=np.bool_)))
        less = kernels.contracted(parts, at, names, here, cut, len(new))
        settle(middle, last, *less, new[cut:])

    if len(took):
        settle(0, len(took), *kernels.changes_as_parts(graph, picked, changes.changed, hung))
    return took
