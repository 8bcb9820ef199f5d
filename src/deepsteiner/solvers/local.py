"""`local`: our best classical method, from three points to millions.

A shortest tree is a union of small full Steiner trees. `local` lists those of up to four or five
terminals that Delaunay neighbours can form (`listing`), picks some greedily by what they save, and
then solves overlapping windows of the plane exactly over the list (`windows`): the trees inside a
window are replaced by the shortest choice that connects the same terminals. Up to a few thousand
points the better efforts solve the whole list at once, by the exact solver's concatenation; with
more of them they go on with regions (`regions`), in which all that lies outside is contracted.
Relaxation at the end repairs angles below 120 degrees where chosen trees meet.

Efforts are budgets of work, not of time: the tree depends on neither the machine nor the threads.
Time and memory grow linearly with the number of points, the triangulation's too (it is made in
tiles). The best effort begins with all that the default one does.

A limit is answered by the best tree so far: the list is cut short where it must be to leave time to
choose from it, and before anything is chosen the spanning tree comes back. Above TILED_FROM points
there may be no time for that either: then it is a path through strips, some 45 % longer.

M. Zachariasen and P. Winter, "Concatenation-based greedy heuristics for the Euclidean Steiner tree
problem", Algorithmica 25 (1999) 418-437, doi:10.1007/PL00009287, choose from such lists greedily.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..core.options import EffortName, describe, option
from ..core.points import FloatArray, Frame, IntArray
from ..core.solution import Solution
from ..core.trees import tree_length
from ..fst.enumerate.nearby.ground import Ground
from ..fst.enumerate.nearby.listing import Listing, list_trees, survey, triangulated
from ..fst.select.exact.concatenation import WAITING
from ..fst.select.search.regions import RegionPass, run_pass
from ..fst.select.search.windows import Pass, WindowSearch, first_choice
from ..geometry.relaxation import refine, refine_batch
from ..geometry.spanning_trees import finishing_seconds, minimum_spanning_tree, path_through_strips
from ..geometry.start import start_tree
from ..geometry.triangulation import TILED_FROM
from ..run.method import Batch, BatchTrees, MethodInfo, Run, Tree, pack
from ..run.monitor import Monitor
from ..run.slices import Workers
from ..run.threads import share
from ..run.watch import Stopped, Watch
from .efforts import (
    CHOOSING,
    EFFORTS,
    GROWTH_SLICES,
    GROWTH_SLICES_A_POINT,
    MORE_WHOLE,
    USUAL,
)

# From here on a solve uses every core unless told otherwise.
MANY = 20_000
# Up to here a solve is one kernel call, where the list is narrow enough.
BATCH_LIMIT = 128
# What that call may cost: estimated steps and partitions of the dynamic programme.
SMALL_WORK, SMALL_WIDEST = 4e5, 100_000


@dataclass(frozen=True)
class Options:
    """Local's options."""

    effort: EffortName = option("default", "how much work to spend")
    start: Solution | None = option(None, "a Solution of the same points to begin from")
    threads: int | None = option(
        None, f"threads; None: one, and every core from {MANY} points on", minimum=1
    )


INFO = MethodInfo(
    name="local",
    summary="windows of the plane solved exactly over a list of small full Steiner trees",
    guarantee="never longer than the spanning tree; on uniform points about 0.02 % (fast) or "
    "0.002 % above the optimum",
    options=describe(Options),
    strict=True,
)


def solve(run: Run, options: Options) -> Tree:
    """Solve one instance."""
    n = len(run.points)
    if n <= BATCH_LIMIT and can_batch(options) and run.trace is None:
        small = _Small(run.points[None], options)
        if not run.monitor.report("kernel"):
            return spanned(run)
        small.solve(0, 1)
        if small.solved[0]:
            return small.tree(run)
    threads = options.threads or (1 if n < MANY else os.cpu_count() or 1)
    with Workers(threads) as workers:
        return in_order(run, LocalSearch, options, workers)


def in_order(run: Run, search: type[LocalSearch], options: Any, workers: Workers) -> Tree:
    """Search with the points in an order in which neighbours are near each other."""
    from ..fst.enumerate.nearby.neighbour_kernels import nearby_order

    n = len(run.points)
    watch = Watch(run.monitor, finishing_seconds(run.monitor, n))
    if n <= TILED_FROM:  # beyond the triangulation no step is long enough to be watched
        watch = Watch(Monitor(), patient=False)
    try:
        order = watch.wait("order", lambda: nearby_order(run.points))
    except Stopped:
        return spanned(run)
    tree = search(replace(run, points=run.points[order]), options, order, workers, watch).run()
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
            small.put(int(b), in_order(run, LocalSearch, options, workers))
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
        from ..fst.select.search.batch_kernels import solve_span

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


class LocalSearch:
    """One run: the list, what is picked from it, and what to tell about it."""

    def __init__(
        self, run: Run, options: Options, order: IntArray, workers: Workers, watch: Watch
    ) -> None:
        self.request = run
        self.watch = watch
        self.order = order
        self.options = options
        self.effort = EFFORTS[options.effort]
        self.workers = workers
        self.length = np.inf
        self.spanning = 0.0
        self.slices = self.most = 0.0
        self.weight = 1.0
        self.choosing = 0.0
        self.cut_short = False

    def run(self) -> Tree:
        """Return the best tree that the effort and the limits allow."""
        run, watch = self.request, self.watch
        patient = Watch(run.monitor, watch.reserve)
        try:
            neighbours = triangulated(run.points, self.workers, patient)
        except Stopped:
            return spanned(run)
        if not patient.in_time():
            return spanned(run, neighbours[1])
        self.spanning = self.length = tree_length(run.points, neighbours[1])
        began = run.monitor.elapsed()
        try:
            ground = watch.wait("close pairs", lambda: self._survey(neighbours), self.length)
            self.choosing = CHOOSING * (run.monitor.elapsed() - began)
            listing, picked = self._begin(self._list(ground))
        except Stopped:
            return unimproved(neighbours[1])
        self.length = float(listing.length[picked].sum())
        self._record("start", self.spanning - self.length)
        passes = self._improve(listing, picked, 0, self.effort.passes)
        if len(run.points) > self.effort.whole:
            passes += self._solve_regions(listing, picked, passes, self.effort.regions)
        elif self._going():
            picked = self._settle(listing, picked, self.effort.slices)
        if self.effort.more and self._going():
            listing, picked = self._wider(ground, listing, picked)
            passes += self._improve(listing, picked, passes, self.effort.more)
            if len(run.points) <= MORE_WHOLE and self._going():
                picked = self._settle(listing, picked, self.effort.more_slices)
        info = {"listed": len(listing) - len(run.points) + 1, "passes": passes}
        steiner, edges = self._finish(listing, picked)
        if self.cut_short and run.monitor.stop_reason is None:
            run.monitor.stop_reason = "time_limit"  # there was time to spare after all
        saving = max(0.0, 1.0 - self.length / self.spanning)  # below 0 only by rounding
        return Tree(steiner, edges, info={**info, "saving": saving})

    def _survey(self, neighbours: tuple[IntArray, IntArray]) -> Ground:
        return survey(self.request.points, self.workers, neighbours)

    def _going(self) -> bool:
        return self.request.monitor.stop_reason is None

    def _list(self, ground: Ground) -> Listing:
        largest = self.effort.largest
        return list_trees(ground, self.workers, largest, self._go_on_listing, self.watch)

    def _wider(self, ground: Ground, listing: Listing, picked: Any) -> tuple[Listing, Any]:
        """Return the exact solver's list with the picked trees added, where it can be afforded."""
        grown = self._grow(ground) if len(ground.points) <= self.effort.grown else None
        if grown is None:
            return listing, picked
        longer = grown.extended(*listing.union(picked))
        return longer, np.arange(len(longer)) >= len(grown)

    def _go_on_listing(self, phase: str, done: int, total: int) -> bool:
        """Report; of many points, also leave time to choose from the list."""
        if not self._tell(phase, done, total):
            return False
        monitor = self.request.monitor
        late = monitor.remaining() < self.watch.reserve + self.choosing
        self.cut_short = late and len(self.request.points) > TILED_FROM
        return not self.cut_short

    def _grow(self, ground: Ground) -> Listing | None:
        """Return the exact solver's list, or None where little of it can be afforded.

        Where its work is used up, what it has found so far serves if that goes beyond our own.
        """
        from ..fst.enumerate.complete import generate as exact

        self.slices, self.most = 0.0, GROWTH_SLICES + GROWTH_SLICES_A_POINT * len(ground.points)

        def go_on(phase: str, done: int, total: int) -> bool:
            self.slices += phase != exact.WAITING
            return self._tell(phase, done, total) and self.slices < self.most

        trees = exact.generate(ground.points, max_size=self.effort.grown_largest, keep_going=go_on)
        if self.slices >= self.most and np.diff(trees.start).max() <= self.effort.largest:
            return None
        return Listing(
            ground.points,
            trees.start.astype(np.int64),
            trees.terminals.astype(np.int64),
            np.array(trees.length),
            np.array(trees.steiner),
            trees.edges.astype(np.int64),
        )

    def _begin(self, listing: Listing) -> tuple[Listing, Any]:
        """Return the list and the first choice from it: the start that was given, or greedy's."""
        run, start = self.request, self.options.start
        picked = np.zeros(len(listing), dtype=np.bool_)
        if start is None:
            first_choice(listing, picked, self.workers, self._tell, self.watch)
            return listing, picked
        steiner, edges = refine(run.points, *tree_of(start, run, self.order))
        longer = listing.extended(steiner, edges)
        picked = np.arange(len(longer)) >= len(listing)
        return longer, picked

    def _settle(self, listing: Listing, picked: Any, slices: int) -> Any:
        """Concatenate the whole list at once, within some slices of work."""
        from ..fst.select.exact.concatenation import concatenate
        from ..fst.trees import FullTrees

        self.slices, self.most = 0.0, slices + len(listing.points) / 50
        # Ties, as on drilled boards, leave many trees a terminal: a slice of work takes longer.
        self.weight = max(1.0, (len(listing) / (USUAL * len(listing.points))) ** 2)
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
        saved, self.length = self.length - choice.length, choice.length
        self._record("whole list", saved)
        best = np.zeros(len(listing), dtype=np.bool_)
        best[choice.selected] = True
        return best

    def _slice(self, phase: str, done: int, total: int, length: float, bound: float) -> bool:
        self.slices += 0.0 if phase == WAITING else self.weight
        going = self.request.monitor.report(phase, done, total, min(length, self.length))
        return going and self.slices < self.most

    def _improve(self, listing: Listing, picked: Any, number: int, passes: tuple[Pass, ...]) -> int:
        """Run passes, the first of which has this number; return how many were finished."""
        finished = 0
        try:
            search = WindowSearch(listing, picked, self.workers, self._saved, self.watch)
            for finished, how in enumerate(passes):
                saved = search.run(number + finished, how)
                self._record(f"pass {number + finished + 1}", saved)
                if not self._going():
                    return finished
        except Stopped:
            return finished
        return len(passes)

    def _solve_regions(
        self, listing: Listing, picked: Any, number: int, regions: tuple[RegionPass, ...]
    ) -> int:
        """Run passes of regions, the first with this number; return how many were finished."""
        finished = 0
        for how in regions:
            if not self._going():
                break
            given = (listing, picked, number + finished, how, self.workers, self._saved)
            saved = run_pass(*given, self.watch)
            finished += 1
            self._record(f"pass {number + finished}", saved)
        return finished

    def _finish(self, listing: Listing, picked: Any) -> tuple[FloatArray, IntArray]:
        """Return the union of the picked trees, relaxed where there is time."""
        from .thompson import refine_in_pieces

        try:
            union = self.watch.wait("union", lambda: listing.union(picked), self.length)
        except Stopped:
            return listing.union(picked)
        threads = self.workers.threads
        steiner, edges = refine_in_pieces(self.request, *union, self.watch.reserve, threads)
        before = self.length
        self.length = tree_length(np.concatenate((self.request.points, steiner)), edges)
        self._record("relaxation", before - self.length)
        return steiner, edges

    def _tell(self, phase: str, done: int, total: int) -> bool:
        going = self.request.monitor.report(phase, done, total, self.length)
        return going and self.watch.in_time()

    def _saved(self, phase: str, done: int, total: int, saved: float) -> bool:
        self.length -= saved
        saving = 100.0 * (1.0 - self.length / self.spanning)
        return self._tell(f"{phase}, {saving:.3f} % saved", done, total)

    def _record(self, step: str, saved: float) -> None:
        if self.request.trace is not None and saved > 0.0:
            unit = self.request.frame.unit
            record = {"step": step, "saving": float(saved) * unit, "length": self.length * unit}
            self.request.trace.append(record)


def spanned(run: Run, tree: IntArray | None = None) -> Tree:
    """Return the tree that a limit leaves us with before there is a list: the spanning tree.

    Of few points it is relaxed; of many it is a path where it is not known.
    """
    from .thompson import refine_in_pieces

    if len(run.points) > TILED_FROM:
        return unimproved(path_through_strips(run.points) if tree is None else tree)
    edges = minimum_spanning_tree(run.points) if tree is None else tree
    before = tree_length(run.points, edges)
    steiner, edges = refine_in_pieces(run, np.empty((0, 2)), edges)
    after = tree_length(np.concatenate((run.points, steiner)), edges)
    saving = max(0.0, 1.0 - after / before)
    return Tree(steiner, edges, info={"listed": 0, "passes": 0, "saving": saving})


def unimproved(edges: IntArray) -> Tree:
    """Return the tree that a limit leaves us with before anything was chosen."""
    return Tree(np.empty((0, 2)), edges, info={"listed": 0, "passes": 0, "saving": 0.0})


def tree_of(start: Solution, run: Run, order: IntArray) -> tuple[FloatArray, IntArray]:
    """Return a starting solution in the frame; its terminals, in this order, are the points."""
    points = np.empty_like(run.points)
    points[order] = run.points
    steiner, edges = start_tree(start, points, run.frame)
    names = np.arange(len(order) + len(steiner))
    names[order] = np.arange(len(order))
    return steiner, names[edges]
