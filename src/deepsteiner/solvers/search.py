"""The search behind `local` and `neural`: enumerate full Steiner trees, score them, select.

A shortest tree is a union of full Steiner trees, most of them small. A `Pipeline` says how the list
of small ones is made, how its trees are scored, and how much work is spent on choosing from it:

1. windows of the plane are solved exactly over the list: the trees inside a window are replaced by
   the shortest choice that connects the same terminals (`fst.select.search.windows`);
2. regions, in which all that lies outside is contracted (`fst.select.search.regions`); crowded
   lists, full of ties as on lattices and drilled boards, have many passes of small regions instead
   of both, from several first choices, over the trees that are regretted least
   (`fst.select.search.crowded`), since large ones are too wide to be solved;
3. up to some number of points the whole list at once, by the exact solver's concatenation;
4. the exact solver's own list of larger trees, where that is asked for.

Relaxation at the end repairs angles below 120 degrees where chosen trees meet.

Budgets are of work, not of time: the tree depends on neither the machine nor the threads. Time and
memory grow linearly with the number of points, the triangulation's too (it is made in tiles).

A limit is answered by the best tree so far: the list is cut short where it must be to leave time to
choose from it, and before anything is chosen the spanning tree comes back. Above TILED_FROM points
there may be no time for that either: then it is a path through strips, some 45 % longer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from ..core.options import EffortName
from ..core.points import FloatArray, IntArray
from ..core.solution import Solution
from ..core.trees import tree_length
from ..fst.enumerate.nearby.ground import Ground
from ..fst.enumerate.nearby.grown import Grown
from ..fst.enumerate.nearby.listing import ClosedForms, triangulated
from ..fst.select.exact.concatenation import SLICES
from ..fst.select.search.crowded import NOTHING, Crowded, CrowdedSearch
from ..fst.select.search.regions import RegionPass, run_pass
from ..fst.select.search.windows import Flags, Pass, WindowSearch
from ..fst.trees import FullTrees
from ..geometry.relaxation import refine
from ..geometry.spanning_trees import finishing_seconds, minimum_spanning_tree, path_through_strips
from ..geometry.start import start_tree
from ..geometry.triangulation import TILED_FROM
from ..run.method import Run, Tree
from ..run.monitor import Monitor, Report
from ..run.threads import Workers
from ..run.watch import Stopped, Watch
from ..scoring.scores import HandScore, NetworkScore, Score, Weighed, is_crowded

# What the exact solver's list may cost, in slices of about 1 ms: in all, and for each point.
GROWTH_SLICES = 1000
GROWTH_SLICES_A_POINT = 3
# Full trees a terminal in a list up to which a slice of work counts as one.
USUAL = 2.5
# Points up to which crowded lists are solved at once, too.
FEW = 256
# How long the first choice takes, in times of finding close pairs.
CHOOSING = 8.0
# Points up to which `more` ends with the whole list at once.
MORE_WHOLE = 50_000


class Enumerate(Protocol):
    """What `Pipeline` asks of an enumerator; `largest` is its largest tree, in terminals."""

    @property
    def largest(self) -> int: ...  # noqa: D102

    def survey(
        self, points: FloatArray, workers: Workers, neighbours: tuple[IntArray, IntArray]
    ) -> Ground:
        """Find which terminals are close, among neighbours in a triangulation."""

    def list(self, ground: Ground, workers: Workers, report: Report, watch: Watch) -> FullTrees:
        """List full Steiner trees; when `report` says no, the list ends early."""


@dataclass(frozen=True)
class Select:
    """How much work is spent on choosing from the list.

    Passes of `windows`; passes of `regions` where there are more than `regions_above` points; the
    whole list at once where there are at most `whole`, in at most `slices` slices of work (some
    10 ms each) and one more for every 50 points. Of a crowded list, passes of regions as `crowded`
    says come instead, and it is solved at once only where there are at most FEW points. Then
    `more`: further passes (`more_crowded` before them) and slices, up to `grown` points over the
    exact solver's own list of up to `grown_largest` terminals.
    """

    windows: tuple[Pass, ...]
    crowded: Crowded = NOTHING
    regions: tuple[RegionPass, ...] = ()
    regions_above: int = 0
    whole: int = 0
    slices: int = 0
    more: tuple[Pass, ...] = ()
    more_crowded: Crowded = NOTHING
    more_slices: int = 0
    grown: int = 0
    grown_largest: int = 0


@dataclass(frozen=True)
class Pipeline:
    """A search: which full Steiner trees are listed, how they are scored, and how selected."""

    enumerate: Enumerate
    score: Score
    select: Select


# Enumerators and scores by the names that `local` knows them under: what they do, in words for its
# help, and how they are made for an effort. A new one is a class in a module of its own and a line.
ENUMERATORS: Mapping[str, tuple[str, Callable[[EffortName], Enumerate]]] = {
    "mixed": (
        "the quicker of both: closed for fast, grown for more",
        lambda effort: ClosedForms(4) if effort == "fast" else Grown(6),
    ),
    "closed": (
        "small trees by closed formulas",
        lambda effort: ClosedForms(4 if effort == "fast" else 5),
    ),
    "grown": (
        "trees grown from partial trees",
        lambda effort: Grown(5 if effort == "fast" else 6),
    ),
}
SCORES: Mapping[str, tuple[str, Callable[[EffortName], Score]]] = {
    "hand": ("what a tree saves", lambda effort: HandScore()),
    "network": ("that, and what a network says", NetworkScore.shipped),
}


def search(
    run: Run, pipeline: Pipeline, start: Solution | None, threads: int, *, refined: bool = True
) -> Tree:
    """Search with the points in an order in which neighbours are near each other.

    Unless `refined`, the union of the chosen trees comes back as it is.
    """
    from ..fst.enumerate.nearby.neighbour_kernels import nearby_order

    n = len(run.points)
    watch = Watch(run.monitor, finishing_seconds(run.monitor, n))
    if n <= TILED_FROM:  # beyond the triangulation no step is long enough to be watched
        watch = Watch(Monitor(), patient=False)
    try:
        order = watch.wait("order", lambda: nearby_order(run.points))
    except Stopped:
        return spanned(run)
    placed = None if start is None else start_tree(start, run.points, run.frame)
    if placed is not None:
        names = np.arange(n + len(placed[0]))
        names[order] = np.arange(n)
        placed = (placed[0], names[placed[1]])
    with Workers(threads) as workers:
        ordered = replace(run, points=run.points[order])
        tree = Search(ordered, pipeline, placed, workers, watch, refined).run()
    names = np.concatenate((order, np.arange(n, n + len(tree.steiner))))
    return replace(tree, edges=names[tree.edges])


class Search:
    """One run of a pipeline: the list, what is picked from it, and what to report about it.

    `start` is a tree to begin from: its Steiner points and edges.
    """

    def __init__(
        self,
        run: Run,
        pipeline: Pipeline,
        start: tuple[FloatArray, IntArray] | None,
        workers: Workers,
        watch: Watch,
        refined: bool = True,
    ) -> None:
        self.request = run
        self.refined = refined
        self.pipeline = pipeline
        self.start = start
        self.workers = workers
        self.watch = watch
        self.length = np.inf
        self.spanning = 0.0
        self.slices = self.most = 0.0
        self.weight = 1.0
        self.choosing = 0.0
        self.cut_short = False
        self.crowded = False

    def run(self) -> Tree:
        """Return the best tree that the pipeline and the limits allow."""
        run = self.request
        patient = Watch(run.monitor, self.watch.reserve)
        try:
            neighbours = triangulated(run.points, self.workers, patient)
        except Stopped:
            return spanned(run)
        if not patient.in_time():
            return spanned(run, neighbours[1])
        self.spanning = self.length = tree_length(run.points, neighbours[1])
        try:
            ground, trees, picked = self._begin(neighbours)
        except Stopped:
            return unimproved(neighbours[1])
        self.length = float(trees.length[picked].sum())
        self._record("start", self.spanning - self.length)
        trees, picked, passes = self._improve(ground, trees, picked)
        info = {
            "listed": len(trees) - len(run.points) + 1,
            "passes": passes,
            "crowded": self.crowded,
        }
        steiner, edges = self._finish(trees, picked)
        if self.cut_short and run.monitor.stop_reason is None:
            run.monitor.stop_reason = "time_limit"  # there was time to spare after all
        saving = max(0.0, 1.0 - self.length / self.spanning)  # below 0 only by rounding
        return Tree(steiner, edges, info={**info, "saving": saving})

    def _begin(self, neighbours: tuple[IntArray, IntArray]) -> tuple[Ground, FullTrees, Flags]:
        """Return the ground, the list, and the first choice: the start that was given, or new."""
        run, watch, workers, pipeline = self.request, self.watch, self.workers, self.pipeline
        began = run.monitor.elapsed()
        survey = pipeline.enumerate.survey
        ground = watch.wait(
            "close pairs", lambda: survey(run.points, workers, neighbours), self.length
        )
        self.choosing = CHOOSING * (run.monitor.elapsed() - began)
        trees = pipeline.enumerate.list(ground, workers, self._go_on_listing, watch)
        weighed = pipeline.score.weigh(trees, workers, self._go_on_listing, watch)
        if self.start is not None:
            return ground, *self._started(weighed, self.start)
        return ground, *pipeline.score.choose(weighed, workers, self._tell, watch)

    def _started(
        self, weighed: Weighed, start: tuple[FloatArray, IntArray]
    ) -> tuple[FullTrees, Flags]:
        """Return the list with the full trees of the start added, which are picked."""
        longer = weighed.trees.extended(*refine(self.request.points, *start))
        return longer, np.arange(len(longer)) >= len(weighed.trees)

    def _improve(
        self, ground: Ground, trees: FullTrees, picked: Flags
    ) -> tuple[FullTrees, Flags, int]:
        """Spend the budget; return the list, what is picked from it and the passes made."""
        n, how = len(self.request.points), self.pipeline.select
        self.crowded = crowded = is_crowded(trees)
        whole = how.whole
        if crowded:
            trees, picked, passes = self._solve_crowded(trees, picked, how.crowded)
            whole = min(whole, FEW)
        else:
            passes = self._solve_windows(trees, picked, 0, how.windows)
        if n > how.regions_above and not crowded:
            passes += self._solve_regions(trees, picked, passes, how.regions)
        if n <= whole and self._going():
            picked = self._settle(trees, picked, how.slices)
        if how.more and self._going():
            trees, picked = self._wider(ground, trees, picked)
            if crowded:
                trees, picked, further = self._solve_crowded(trees, picked, how.more_crowded)
                passes += further
            passes += self._solve_windows(trees, picked, passes, how.more)
            if n <= MORE_WHOLE and self._going():
                picked = self._settle(trees, picked, how.more_slices)
        return trees, picked, passes

    def _going(self) -> bool:
        return self.request.monitor.stop_reason is None

    def _wider(self, ground: Ground, trees: FullTrees, picked: Flags) -> tuple[FullTrees, Flags]:
        """Return the exact solver's list with the picked trees added, where it can be afforded."""
        affordable = len(ground.points) <= self.pipeline.select.grown
        grown = self._grow(ground) if affordable else None
        if grown is None:
            return trees, picked
        longer = grown.extended(*trees.union(picked))
        return longer, np.arange(len(longer)) >= len(grown)

    def _grow(self, ground: Ground) -> FullTrees | None:
        """Return the exact solver's list, or None where little of it can be afforded.

        Where its work is used up, what it has found so far serves if it has trees as large as our
        own: of smaller ones it misses none.
        """
        from ..fst.enumerate.complete import generate as exact

        self.slices, self.most = 0.0, GROWTH_SLICES + GROWTH_SLICES_A_POINT * len(ground.points)

        def go_on(phase: str, done: int, total: int) -> bool:
            self.slices += phase != exact.WAITING
            return self._tell(phase, done, total) and self.slices < self.most

        largest = self.pipeline.select.grown_largest
        trees = exact.generate(ground.points, max_size=largest, keep_going=go_on)
        if (
            self.slices >= self.most
            and np.diff(trees.start).max() < self.pipeline.enumerate.largest
        ):
            return None
        return trees

    def _settle(self, trees: FullTrees, picked: Flags, slices: int) -> Flags:
        """Concatenate the whole list at once, within some slices of work."""
        from ..fst.select.exact.concatenation import concatenate

        self.slices, self.most = 0.0, slices + len(trees.points) / 50
        # Ties, as on drilled boards, leave many trees a terminal: a slice of work takes longer.
        self.weight = max(1.0, (len(trees) / (USUAL * len(trees.points))) ** 2)
        if len(trees.points) <= FEW:
            self.weight = 1.0
        choice = concatenate(trees, keep_going=self._slice, start=np.flatnonzero(picked))
        saved, self.length = self.length - choice.length, choice.length
        self._record("whole list", saved)
        best = np.zeros(len(trees), dtype=np.bool_)
        best[choice.selected] = True
        return best

    def _solve_windows(
        self, trees: FullTrees, picked: Flags, number: int, passes: tuple[Pass, ...]
    ) -> int:
        """Run passes, the first of which has this number; return how many were finished."""
        finished = 0
        try:
            windows = WindowSearch(trees, picked, self.workers, self._shorter, self.watch)
            for finished, how in enumerate(passes):
                saved = windows.run(number + finished, how)
                self._record(f"pass {number + finished + 1}", saved)
                if not self._going():
                    return finished
        except Stopped:
            return finished
        return len(passes)

    def _solve_crowded(
        self, trees: FullTrees, picked: Flags, plan: Crowded
    ) -> tuple[FullTrees, Flags, int]:
        """Choose from a crowded list; return it, longer maybe, the choice and the passes made."""
        if self.start is not None:
            plan = replace(plan, starts=1)
        given = (trees, picked, self.workers, self._shorter, self._record, self.watch)
        choosing = CrowdedSearch(*given)
        choosing.run(plan)
        return choosing.trees, choosing.picked, choosing.passes

    def _solve_regions(
        self, trees: FullTrees, picked: Flags, number: int, regions: tuple[RegionPass, ...]
    ) -> int:
        """Run passes of regions, the first with this number; return how many were finished."""
        finished = 0
        for how in regions:
            if not self._going():
                break
            given = (trees, picked, number + finished, how, self.workers, self._shorter)
            saved = run_pass(*given, self.watch)
            finished += 1
            self._record(f"pass {number + finished}", saved)
        return finished

    def _finish(self, trees: FullTrees, picked: Flags) -> tuple[FloatArray, IntArray]:
        """Return the union of the picked trees, relaxed where there is time."""
        from .batches import refine_in_pieces

        try:
            union = self.watch.wait("union", lambda: trees.union(picked), self.length)
        except Stopped:
            return trees.union(picked)
        if not self.refined:
            return union
        threads = self.workers.threads
        steiner, edges = refine_in_pieces(self.request, *union, self.watch.reserve, threads)
        before = self.length
        self.length = tree_length(np.concatenate((self.request.points, steiner)), edges)
        self._record("relaxation", before - self.length)
        return steiner, edges

    def _tell(self, phase: str, done: int, total: int) -> bool:
        going = self.request.monitor.report(phase, done, total, self.length)
        return going and self.watch.in_time()

    def _go_on_listing(self, phase: str, done: int, total: int) -> bool:
        """Report; of many points, also leave time to choose from the list."""
        if not self._tell(phase, done, total):
            return False
        monitor = self.request.monitor
        late = monitor.remaining() < self.watch.reserve + self.choosing
        self.cut_short = late and len(self.request.points) > TILED_FROM
        return not self.cut_short

    def _slice(self, phase: str, done: int, total: int, length: float, bound: float) -> bool:
        # A round of cuts is a slice; reports of probes and narrow blocks come more often.
        self.slices += self.weight * SLICES[phase] / SLICES["cut"]
        going = self.request.monitor.report(phase, done, total, min(length, self.length))
        return going and self.slices < self.most

    def _shorter(self, phase: str, done: int, total: int, length: float) -> bool:
        self.length = length
        saving = 100.0 * (1.0 - self.length / self.spanning)
        return self._tell(f"{phase}, {saving:.3f} % saved", done, total)

    def _record(self, step: str, saved: float) -> None:
        if self.request.trace is not None and saved > 0.0:
            unit = self.request.frame.unit
            record: dict[str, Any] = {"step": step, "saving": float(saved) * unit}
            self.request.trace.append({**record, "length": self.length * unit})


def spanned(run: Run, tree: IntArray | None = None) -> Tree:
    """Return the tree that a limit leaves us with before there is a list: the spanning tree.

    Of few points it is relaxed; of many it is a path where it is not known.
    """
    from .batches import refine_in_pieces

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
