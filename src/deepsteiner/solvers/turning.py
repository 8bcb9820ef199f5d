"""Further searches on the points turned, and the best of all that they find.

Where many trees are nearly equal, as on lattices and drilled boards, a search gets stuck where the
order of its steps leads it. The points turned by some angle have the same shortest trees, but ties
fall otherwise, and the cells in which neighbours are sought and regions are cut lie elsewhere. What
the trees found so have in common is most of each; all their full Steiner trees together are hardly
more than one for each terminal, so that concatenation mostly finds the best choice to the end.
Tours are merged alike: W. Cook and P. Seymour, "Tour merging via branch-decomposition", INFORMS
Journal on Computing 15 (2003) 233-248.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, cast

import numpy as np

from ..core.errors import OptionError
from ..core.options import option
from ..core.points import FloatArray, IntArray
from ..fst.select.exact.concatenation import SLICES, concatenate
from ..fst.trees import FullTrees
from ..geometry.spanning_trees import finishing_seconds, minimum_spanning_tree
from ..run.method import Run, Tree
from ..run.monitor import Monitor, Progress
from .batches import refine_in_pieces

# Multiples of the golden angle fill the circle evenly, and none of them is a symmetry of a lattice.
GOLDEN_ANGLE = np.pi * (3.0 - np.sqrt(5.0))
# What putting trees together may cost: rounds of cuts, and one more for every 50 points.
ROUNDS = 100


def turns_option(in_best: int) -> int | None:
    """Declare the option, with what None means."""
    words = (
        "further searches, each on the points turned, and the best of all trees put together; "
        f"None: {in_best} for best where the list is crowded, else 0"
    )
    return cast("int | None", option(None, words, minimum=0))


Solve = Callable[[Run, Any], Tree]


def turns_of(run: Run, options: Any, in_best: int) -> int:
    """Return how many turned searches there may be; refuse what they do not go with."""
    bare = run.plane is None and run.network is None
    if options.turns is None:
        return in_best if options.effort == "best" and bare and is_free(options) else 0
    if options.turns and not bare:
        raise OptionError("turns goes with neither obstacles nor an existing network; leave it out")
    if options.turns and not is_free(options):
        raise OptionError("turns does not go with junction_cost; leave one of them out")
    return int(options.turns)


def is_free(options: Any) -> bool:
    """Return whether Steiner points cost nothing."""
    return not getattr(options, "junction_cost", 0.0)


def search_turned(run: Run, options: Any, solve: Solve, again: Solve, in_best: int) -> Tree:
    """Solve, then solve the points turned, as often as the options say.

    The best that all trees make together is returned. `solve` does the first search and `again`
    each of the others, which need not be as thorough; their trees are strict. The `options` have
    `turns`, `effort` and `start`, which only the first search heeds; where they leave it open,
    `best` turns crowded points `in_best` times.
    """
    turns, once = turns_of(run, options, in_best), replace(options, turns=0)
    if not turns:
        return solve(run, once)
    reserve = finishing_seconds(run.monitor, len(run.points))
    first = solve(run, once)
    enough = options.turns is None and not first.info.get("crowded")
    if enough or _is_stopped(run):
        return first
    unstarted = replace(once, start=None)
    merged = _Merged(run, first, reserve)
    for turn in range(1, turns + 1):
        tree = _solved_turned(run, turn, merged.length, lambda one: again(one, unstarted))
        if _is_stopped(run):  # and so the tree may be unfinished
            break
        merged.add(*tree)
        merged.turns = turn
    steiner, edges = merged.tree
    info = {**first.info, "saving": merged.saving, "turns": merged.turns}
    return replace(first, steiner=steiner, edges=edges, info=info)


class _Merged:
    """The full Steiner trees of all trees so far, and the best tree they make."""

    def __init__(self, run: Run, first: Tree, reserve: float) -> None:
        self._run, self._reserve = run, reserve
        self._list = _spanning_list(run.points)
        self._picked = np.arange(len(self._list))
        self._spanning = float(self._list.length.sum())
        self.tree = (first.steiner, first.edges)
        self.length = run.length(*self.tree)
        self.turns = 0
        self._spent = 0.0
        self._include(*self.tree)

    @property
    def saving(self) -> float:
        """How much shorter the tree is than the spanning tree, as a share."""
        return max(0.0, 1.0 - self.length / self._spanning)

    def add(self, steiner: FloatArray, edges: IntArray) -> None:
        """Take a tree in; find the best choice among all full Steiner trees so far."""
        self._include(steiner, edges)
        before, self._spent = self.length, 0.0
        choice = concatenate(self._list, keep_going=self._go_on, start=self._picked)
        if choice.length < self._list.length[self._picked].sum():
            self._picked = choice.selected
        union = self._list.union(np.isin(np.arange(len(self._list)), self._picked))
        tree = refine_in_pieces(self._run, *union, self._reserve)
        length = self._run.length(*tree)
        if length < before:
            self.tree, self.length = tree, length
            self._record(before - length)
            self._include(*tree)  # where relaxation split a corner, there are new trees

    def _include(self, steiner: FloatArray, edges: IntArray) -> None:
        self._list, numbers = self._list.including(steiner, edges)
        if self._list.length[numbers].sum() < self._list.length[self._picked].sum():
            self._picked = numbers

    def _go_on(self, phase: str, done: int, total: int, length: float, bound: float) -> bool:
        self._spent += SLICES[phase] / SLICES["cut"]
        going = self._run.monitor.report("merging", done, total, min(length, self.length))
        return going and self._spent < ROUNDS + len(self._run.points) / 50

    def _record(self, saved: float) -> None:
        run = self._run
        if run.trace is not None:
            unit = run.frame.unit
            step = {"step": "turn", "saving": saved * unit, "length": self.length * unit}
            run.trace.append(step)


def _is_stopped(run: Run) -> bool:
    return run.monitor.stop_reason is not None


def _solved_turned(
    run: Run, turn: int, length: float, solve: Callable[[Run], Tree]
) -> tuple[FloatArray, IntArray]:
    """Return the tree of the points turned, turned back; reports tell of the best `length`.

    The points are made half as large, to stay in the frame however they are turned.
    """
    cos, sin = np.cos(turn * GOLDEN_ANGLE), np.sin(turn * GOLDEN_ANGLE)
    turned = np.array([[cos, sin], [-sin, cos]])

    def told(one: Progress) -> bool:
        best = length if one.length is None else min(2.0 * one.length, length)
        return run.monitor.report(f"turn {turn}: {one.phase}", one.done, one.total, best)

    remaining = run.monitor.remaining()
    limit = remaining if np.isfinite(remaining) else None
    monitor = Monitor(limit, told if run.monitor.on_progress is not None else None)
    smaller = replace(run.frame, exponent=run.frame.exponent - 1)
    points = 0.5 * run.points @ turned
    tree = solve(replace(run, points=points, frame=smaller, monitor=monitor, trace=None))
    if monitor.stop_reason is not None and run.monitor.stop_reason is None:
        run.monitor.stop_reason = monitor.stop_reason
    return 2.0 * tree.steiner @ turned.T, tree.edges


def _spanning_list(points: FloatArray) -> FullTrees:
    """Return the edges of a minimum spanning tree, by length, as full Steiner trees."""
    edges = np.sort(minimum_spanning_tree(points), axis=1)
    length = np.hypot(*(points[edges[:, 0]] - points[edges[:, 1]]).T)
    order = np.argsort(length, kind="stable")
    count = len(edges)
    return FullTrees(
        points, 2 * np.arange(count + 1), edges[order].ravel(), length[order], np.empty((0, 2)),
        np.tile(np.array([[0, 1]]), (count, 1)),
    )  # fmt: skip
