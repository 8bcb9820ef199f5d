"""`local`: our best classical method, from three points to millions.

A shortest tree is a union of small full Steiner trees. `local` lists those of up to four or five
terminals that Delaunay neighbours can form (`listing`), picks some greedily by what they save, and
then solves overlapping windows of the plane exactly over the list (`windows`): the trees inside a
window are replaced by the shortest choice that connects the same terminals. Up to a few thousand
points the better efforts solve the whole list at once, by the exact solver's concatenation.
Relaxation at the end repairs angles below 120 degrees where chosen trees meet.

Efforts are budgets of work, not of time: the tree depends on neither the machine nor the threads.
Time and memory grow linearly with the number of points, after the triangulation.

M. Zachariasen and P. Winter, "Concatenation-based greedy heuristics for the Euclidean Steiner tree
problem", Algorithmica 25 (1999) 418-437, doi:10.1007/PL00009287, choose from such lists greedily.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..core.errors import OptionError
from ..core.method import Batch, BatchTrees, MethodInfo, Run, Tree, pack
from ..core.options import describe, option
from ..core.points import FloatArray, Frame, IntArray
from ..core.progress import Monitor
from ..core.relax import refine, refine_batch
from ..core.solution import Solution
from ..core.threads import share
from ..core.trees import tree_length
from .listing import Ground, Listing, list_trees, survey
from .windows import Pass, WindowSearch, first_choice
from .workers import Workers

# From here on a solve uses every core unless told otherwise.
MANY = 20_000
# Up to here a solve is one kernel call, where the list is narrow enough.
BATCH_LIMIT = 128
# What that call may cost: estimated steps and partitions of the dynamic programme.
SMALL_WORK, SMALL_WIDEST = 4e5, 100_000


# What the exact solver's list may cost, in slices of about 1 ms.
GROWTH_SLICES = 10_000


@dataclass(frozen=True)
class Effort:
    """What an effort spends.

    Full trees of up to `largest` terminals, `passes` of windows, then the whole list at once where
    there are at most `whole` points, in at most `slices` slices of work (some 20 ms each) and one
    more for every 50 points. Up to `grown` points the exact solver's own list of up to
    `grown_largest` terminals is used.
    """

    largest: int
    passes: tuple[Pass, ...]
    whole: int = 0
    slices: int = 0
    grown: int = 0
    grown_largest: int = 0


_NARROW = (Pass(60), Pass(60), Pass(200))
_WIDE = (*_NARROW, Pass(200, 1e6), Pass(1000, 1e6), Pass(1000, 1e6))

EFFORTS = {
    "fast": Effort(4, _NARROW),
    "default": Effort(5, _WIDE, 12_000, 60),
    "best": Effort(5, (*_WIDE, Pass(3000, 1e7), Pass(3000, 1e7)), 50_000, 400, 2000, 10),
}


@dataclass(frozen=True)
class Options:
    """Local's options."""

    effort: str = option("default", "how much work to spend", choices=tuple(EFFORTS))
    start: Solution | None = option(None, "a Solution of the same points to begin from")
    threads: int | None = option(
        None, f"threads; None: one, and every core from {MANY} points on", minimum=1
    )


INFO = MethodInfo(
    name="local",
    summary="windows of the plane solved exactly over a list of small full Steiner trees",
    guarantee="never longer than the spanning tree; about 0.02 % (fast) or 0.002 % above the "
    "optimum in practice",
    options=describe(Options),
    strict=True,
)


def solve(run: Run, options: Options) -> Tree:
    """Solve one instance."""
    n = len(run.points)
    if n <= BATCH_LIMIT and can_batch(options) and run.trace is None:
        small = _Small(run.points[None], options)
        if run.monitor.report("kernel"):
            small.solve(0, 1)
        if small.solved[0]:
            return small.tree(run)
    threads = options.threads or (1 if n < MANY else os.cpu_count() or 1)
    with Workers(threads) as workers:
        return _in_order(run, options, workers)


def _in_order(run: Run, options: Options, workers: Workers) -> Tree:
    """Solve with the points in an order in which neighbours are near each other."""
    from .neighbour_kernels import nearby_order

    order = nearby_order(run.points)
    tree = _Local(replace(run, points=run.points[order]), options, order, workers).run()
    names = np.concatenate((order, np.arange(len(order), len(order) + len(tree.steiner))))
    return replace(tree, edges=names[tree.edges])


def can_batch(options: Options) -> bool:
    """Return whether `solve_batch` serves these options."""
    return options.effort != "best" and options.start is None


def solve_batch(batch: Batch, options: Options) -> BatchTrees:
    """Solve many small instances of one size, each by one kernel call."""
    small = _Small(batch.points, options)
    share(len(batch.points), small.solve)
    for b in np.flatnonzero(~small.solved):
        frame = Frame(batch.shifts[b], int(batch.exponents[b]))
        run = Run(batch.points[b], frame, Monitor(), int(batch.seeds[b]))
        with Workers(1) as workers:
            small.put(int(b), _in_order(run, options, workers))
    packed = pack(batch.points.shape[1], small.sizes, small.steiner, small.edges)
    return BatchTrees(
        *refine_batch(batch.points, packed.steiner_start, packed.steiner, packed.edges)
    )


class _Small:
    """Instances of one size on their way through the kernel, in padded arrays."""

    def __init__(self, points: FloatArray, options: Options) -> None:
        count, n = points.shape[:2]
        self.points = points
        self.largest = EFFORTS[options.effort].largest
        self.sizes = np.empty(count, dtype=np.int64)
        self.solved = np.zeros(count, dtype=np.bool_)
        self.steiner = np.empty((count, n, 2))
        self.edges = np.empty((count, 2 * n, 2), dtype=np.int64)

    def solve(self, first: int, last: int) -> None:
        """Solve the instances first..last."""
        from .batch_kernels import solve_span

        solve_span(
            self.points, self.sizes, self.steiner, self.edges, self.solved, self.largest,
            SMALL_WORK, SMALL_WIDEST, first, last,
        )  # fmt: skip

    def put(self, index: int, tree: Tree) -> None:
        """Replace one instance's tree."""
        self.sizes[index] = self.points.shape[1] + len(tree.steiner)
        self.steiner[index, : len(tree.steiner)] = tree.steiner
        self.edges[index, : len(tree.edges)] = tree.edges

    def tree(self, run: Run) -> Tree:
        """Return the only instance's tree."""
        nodes = int(self.sizes[0])
        steiner, edges = self.steiner[0, : nodes - len(run.points)], self.edges[0, : nodes - 1]
        steiner, edges = refine(run.points, steiner, edges)
        length = tree_length(np.concatenate((run.points, steiner)), edges)
        run.monitor.report("done", 1, 1, length)
        return Tree(steiner, edges)


class _Local:
    """One run: the list, what is picked from it, and what to tell about it."""

    def __init__(self, run: Run, options: Options, order: IntArray, workers: Workers) -> None:
        self.request = run
        self.order = order
        self.options = options
        self.effort = EFFORTS[options.effort]
        self.workers = workers
        self.length = np.inf
        self.spanning = 0.0
        self.slices = 0

    def run(self) -> Tree:
        run = self.request
        run.monitor.report("triangulation")
        ground = survey(run.points, self.workers)
        self.spanning = self.length = float(ground.tree_lengths.sum())
        listing = self._list(ground)
        listing, picked = self._begin(listing)
        self.length = float(listing.length[picked].sum())
        self._record("start", self.spanning - self.length)
        info = {"listed": len(listing) - len(run.points) + 1}
        info["passes"] = self._improve(listing, picked)
        if len(run.points) <= self.effort.whole and run.monitor.stop_reason is None:
            picked = self._settle(listing, picked)
        steiner, edges = self._finish(*listing.union(picked))
        return Tree(steiner, edges, info={**info, "saving": 1.0 - self.length / self.spanning})

    def _list(self, ground: Ground) -> Listing:
        """List full Steiner trees: the exact solver's where the effort affords it, or ours."""
        grown = self._grow(ground) if len(ground.points) <= self.effort.grown else None
        return grown or list_trees(ground, self.workers, self.effort.largest, self._tell)

    def _grow(self, ground: Ground) -> Listing | None:
        """Return the exact solver's list, or None where it would take too many slices of work."""
        from ..exact.generate import generate

        self.slices = 0

        def go_on(phase: str, done: int, total: int) -> bool:
            self.slices += 1
            return self._tell(phase, done, total) and self.slices < GROWTH_SLICES

        trees = generate(ground.points, max_size=self.effort.grown_largest, keep_going=go_on)
        if self.slices >= GROWTH_SLICES:
            return None
        return Listing(
            ground.points,
            trees.start.astype(np.int64),
            trees.terminals.astype(np.int64),
            np.array(trees.length),
            np.array(trees.steiner),
            trees.edges.astype(np.int64),
        )

    def _most_slices(self) -> int:
        return self.effort.slices + len(self.request.points) // 50

    def _begin(self, listing: Listing) -> tuple[Listing, Any]:
        """Return the list and the first choice from it: the start that was given, or greedy's."""
        run, start = self.request, self.options.start
        picked = np.zeros(len(listing), dtype=np.bool_)
        if start is None:
            first_choice(listing, picked, self.workers, self._tell)
            return listing, picked
        steiner, edges = refine(run.points, *tree_of(start, run, self.order))
        longer = listing.extended(steiner, edges)
        picked = np.arange(len(longer)) >= len(listing)
        return longer, picked

    def _settle(self, listing: Listing, picked: Any) -> Any:
        """Concatenate the whole list at once, within the effort's slices."""
        from ..exact.concat import concatenate
        from ..exact.fst import FullTrees

        self.slices = 0
        trees = FullTrees(
            listing.points,
            listing.start,
            listing.terminals.astype(np.int32),
            listing.length,
            listing.steiner,
            listing.edges.astype(np.int32),
            complete=False,
        )
        choice = concatenate(trees, keep_going=self._slice, start=np.flatnonzero(picked))
        self._record("whole list", self.length - choice.length)
        self.length = choice.length
        best = np.zeros(len(listing), dtype=np.bool_)
        best[choice.selected] = True
        return best

    def _slice(self, phase: str, done: int, total: int, length: float, bound: float) -> bool:
        self.slices += 1
        going = self.request.monitor.report(phase, done, total, min(length, self.length))
        return going and self.slices < self._most_slices()

    def _improve(self, listing: Listing, picked: Any) -> int:
        """Run the effort's passes; return how many were finished."""
        search = WindowSearch(listing, picked, self.workers, self._saved)
        for number, how in enumerate(self.effort.passes):
            saved = search.run(number, how)
            self._record(f"pass {number + 1}", saved)
            if self.request.monitor.stop_reason is not None:
                return number
        return len(self.effort.passes)

    def _finish(self, steiner: FloatArray, edges: IntArray) -> tuple[FloatArray, IntArray]:
        from ..classic.thompson import refine_in_pieces

        steiner, edges = refine_in_pieces(self.request, steiner, edges)
        before = self.length
        self.length = tree_length(np.concatenate((self.request.points, steiner)), edges)
        self._record("relaxation", before - self.length)
        return steiner, edges

    def _tell(self, phase: str, done: int, total: int) -> bool:
        return self.request.monitor.report(phase, done, total, self.length)

    def _saved(self, phase: str, done: int, total: int, saved: float) -> bool:
        self.length -= saved
        saving = 100.0 * (1.0 - self.length / self.spanning)
        return self._tell(f"{phase}, {saving:.3f} % saved", done, total)

    def _record(self, step: str, saved: float) -> None:
        if self.request.trace is not None and saved > 0.0:
            unit = self.request.frame.unit
            record = {"step": step, "saving": float(saved) * unit, "length": self.length * unit}
            self.request.trace.append(record)


def tree_of(start: Solution, run: Run, order: IntArray) -> tuple[FloatArray, IntArray]:
    """Return a starting solution in the frame; its terminals, in this order, are the points."""
    inside = run.frame.into(start.terminals)
    if inside.shape != run.points.shape or not (inside[order] == run.points).all():
        raise OptionError("start must be a Solution of the same points, without duplicates")
    names = np.arange(len(order) + len(start.steiner_points))
    names[order] = np.arange(len(order))
    return run.frame.into(start.steiner_points), names[start.edges]
