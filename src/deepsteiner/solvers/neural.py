"""`neural`: a learned choice among small full Steiner trees, from three points to millions.

Like `local` it lists the full Steiner trees that neighbours can form, here of up to six
terminals. A graph network then scores them: every tree hears from those it competes with or may
stand beside, in a few rounds, and gets one logit: is it part of the shortest tree? Trees with low
logits are dropped. Of the rest a tree is picked greedily by what each saves times how likely it is;
single trees and pairs of doubtful ones are forced in and out, and pieces of at most a third of the
terminals are solved exactly over the few trees that are left.

The network is small and was trained on proven shortest trees of up to 100 points; messages are
local, so it serves any size, distribution and scale. Efforts are budgets of work, not of time.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

import numpy as np

from ..core.device import Place
from ..core.options import EffortName, describe, option
from ..core.points import FloatArray, IntArray
from ..core.solution import Solution
from ..core.trees import tree_length
from ..fst.enumerate.nearby.ground import Ground
from ..fst.enumerate.nearby.listing import Listing, survey
from ..fst.select.search.regions import RegionPass
from ..fst.select.search.windows import Pass
from ..geometry.relaxation import refine, refine_batch
from ..run.method import Batch, BatchTrees, MethodInfo, Run, Tree, pack
from ..run.slices import Workers
from ..run.threads import share
from ..run.watch import Watch, hurried, never
from ..scoring.device_network import ScoredLists, forward_on
from ..scoring.listing import likely_choice, list_grown_trees, score_list, thinned
from ..scoring.weights import load_weights
from .efforts import Effort
from .local import MANY, LocalSearch, in_order, spanned
from .local import Options as LocalOptions

# Up to here a solve is one kernel call,
BATCH_LIMIT = 256
# and up to here one that is too short to be worth a report.
QUICK = 40
# What an exactly solved piece may cost: estimated steps and partitions of the dynamic programme.
SMALL_WORK, SMALL_WIDEST = 4e5, 50_000
# Slices of work (some 20 ms each) when a whole list is solved at once.
SLICES = 60


@dataclass(frozen=True)
class Learned:
    """What an effort spends: trees are listed up to `largest` terminals and kept from `drop` on.

    Small instances get more trees across wide `gaps`, up to `pairs` pairs of flips, `trials` with a
    disturbed choice and `sweeps` of regions; large ones `windows`, which run in parallel, and
    `regions` after them. Where pieces may be of any size, lists of up to `whole` points are then
    solved at once.
    """

    largest: int
    gaps: bool
    drop: float
    pairs: int
    trials: int
    sweeps: int
    windows: tuple[Pass, ...]
    regions: tuple[RegionPass, ...]
    whole: int = 0


_NARROW, _WIDE = 3 * (RegionPass(120),), 3 * (RegionPass(300, 1e6, 50_000),)
_WIDEST = 4 * (RegionPass(1000, 1e7, 200_000),)

EFFORTS: dict[EffortName, Learned] = {
    "fast": Learned(5, False, -7.0, 80, 0, 1, (Pass(60),), _NARROW[:2]),
    "default": Learned(6, True, -10.0, 1000, 10, 3, (Pass(60),), (*_NARROW, *_WIDE), 12_000),
    "best": Learned(6, True, -14.0, 4000, 60, 8, (Pass(60),), (*_NARROW, *_WIDE, *_WIDEST), 50_000),
}


@dataclass(frozen=True)
class Options:
    """Neural's options."""

    effort: EffortName = option("default", "how much work to spend")
    pieces: Literal["none", "third", "any"] = option(
        "third", "what is solved exactly: nothing, pieces of up to a third of the points, or any"
    )
    start: Solution | None = option(None, "a Solution of the same points to begin from")
    model: str = option("neural", "a shipped model or the folder of one", models="neural")
    threads: int | None = option(
        None, f"threads; None: one, and every core from {MANY} points on", minimum=1
    )


INFO = MethodInfo(
    name="neural",
    summary="full Steiner trees scored by a graph network, the likely ones put together",
    guarantee="never longer than the spanning tree; on uniform points about 0.005 % above "
    "the optimum",
    options=describe(Options),
    strict=True,
    devices=("cpu", "cuda"),
)


def solve(run: Run, options: Options) -> Tree:
    """Solve one instance."""
    n = len(run.points)
    if n <= BATCH_LIMIT and can_batch(options) and run.trace is None:
        small = _Small(run.points[None], options, run.device)
        if not run.monitor.report("kernel"):
            return spanned(run)
        if n <= QUICK or not run.monitor.is_watched:
            small.run(never())
        else:
            hurried(small.run, lambda: run.monitor.report("kernel"))
        return small.tree(run)
    threads = options.threads or (1 if n < MANY else os.cpu_count() or 1)
    with Workers(threads) as workers:
        return in_order(run, _Neural, options, workers)


def can_batch(options: Options) -> bool:
    """Return whether `solve_batch` serves these options."""
    return options.start is None


def solve_batch(batch: Batch, options: Options) -> BatchTrees:
    """Solve many small instances of one size, each by one kernel call."""
    small = _Small(batch.points, options, batch.device)
    small.run(never())
    packed = pack(batch.points.shape[1], *small.out)
    return BatchTrees(
        *refine_batch(batch.points, packed.steiner_start, packed.steiner, packed.edges)
    )


class _Small:
    """Instances of one size on their way through the kernel, in padded arrays."""

    def __init__(self, points: FloatArray, options: Options, device: Place) -> None:
        from ..scoring.small_instance_kernels import Plan, Solved

        (count, n, _), how = points.shape, EFFORTS[options.effort]
        self.points, self.device = points, device
        piece = {"none": 0, "third": n // 3, "any": n}[options.pieces]
        self.plan = Plan(
            how.largest, how.gaps, how.drop, piece, SMALL_WORK, SMALL_WIDEST, how.sweeps, how.pairs,
            how.trials,
        )  # fmt: skip
        self.weights = load_weights(options.model)
        self.out = Solved(
            np.empty(count, dtype=np.int64),
            np.empty((count, n, 2)),
            np.empty((count, 2 * n, 2), dtype=np.int64),
        )

    def run(self, stop: IntArray) -> None:
        """Solve all instances, on the threads given; in haste once stop[0] is set."""
        if self.device != "cuda":
            share(len(self.points), partial(self._solve, stop))
            return
        forward = forward_on(self.device, self.weights)
        scored = ScoredLists(self.points, self.plan.largest, forward)
        share(len(self.points), partial(self._choose, stop, scored))

    def _choose(self, stop: IntArray, scored: ScoredLists, first: int, last: int) -> None:
        """Choose from the scored lists first..last."""
        from ..scoring.small_instance_kernels import decide

        n, (sizes, steiner, edges) = self.points.shape[1], self.out
        for b in range(first, last):
            spots, links = decide(*scored[b], self.plan, stop)
            sizes[b] = n + len(spots)
            steiner[b, : len(spots)], edges[b, : len(links)] = spots, links

    def _solve(self, stop: IntArray, first: int, last: int) -> None:
        """Solve the instances first..last by one kernel call."""
        from ..scoring.small_instance_kernels import solve_learned

        solve_learned(self.points, self.weights, self.plan, self.out, first, last, stop)

    def tree(self, run: Run) -> Tree:
        """Return the only instance's tree."""
        size = int(self.out.sizes[0])
        steiner = self.out.steiner[0, : size - len(run.points)]
        edges = self.out.edges[0, : size - 1]
        steiner, edges = refine(run.points, steiner, edges)
        nodes = np.concatenate((run.points, steiner))
        run.monitor.report("done", 1, 1, lambda: tree_length(nodes, edges))
        return Tree(steiner, edges)


class _Neural(LocalSearch):
    """One run over a large instance: `local`'s, on the learned list."""

    def __init__(
        self, run: Run, options: Options, order: IntArray, workers: Workers, watch: Watch
    ) -> None:
        like = LocalOptions(options.effort, options.start, options.threads)
        super().__init__(run, like, order, workers, watch)
        self.how = EFFORTS[options.effort]
        self.weights = load_weights(options.model)
        self.logits: Any = None
        self.forward = forward_on(run.device, self.weights) if run.device == "cuda" else None
        some = options.pieces != "none"
        third, quarter = len(run.points) // 3, len(run.points) // 4
        self.regions = tuple(
            replace(one, size=min(one.size, third)) for one in self.how.regions if some
        )
        # A window reaches a little beyond its cell.
        windows = [replace(one, size=min(one.size, quarter)) for one in self.how.windows if some]
        whole = self.how.whole if options.pieces == "any" else 0
        self.effort = Effort(self.how.largest, tuple(windows), whole, SLICES)

    def _survey(self, neighbours: tuple[IntArray, IntArray]) -> Ground:
        from ..fst.enumerate.nearby.neighbour_kernels import CLOSE

        return survey(self.request.points, self.workers, neighbours, CLOSE)

    def _list(self, ground: Ground) -> Listing:
        from ..scoring.small_instance_kernels import CROWDED

        listing = list_grown_trees(
            ground, self.workers, self.how.largest, self._go_on_listing, self.watch
        )
        logits = score_list(
            listing, self.weights, self.workers, self._go_on_listing, self.watch, self.forward
        )
        if logits is None:
            return listing
        if len(listing) > CROWDED * len(ground.points):
            logits = np.zeros_like(logits)
        keep = logits >= self.how.drop
        keep[: len(ground.points) - 1] = True
        self.logits = logits[keep]
        return self.watch.wait("list", lambda: listing.part(keep))

    def _begin(self, listing: Listing) -> tuple[Listing, Any]:
        """Return the trees to choose from and the first choice: the one given, or a likely one."""
        if self.logits is None or self.options.start is not None:
            return super()._begin(listing)
        workers, watch, logits = self.workers, self.watch, self.logits
        picked = likely_choice(listing, logits, workers, self._tell, watch)
        return watch.wait("list", lambda: thinned(listing, logits, picked, self.how.drop))

    def _improve(self, listing: Listing, picked: Any, number: int, passes: tuple[Pass, ...]) -> int:
        """Run the windows and then the regions; return how many passes were finished."""
        finished = super()._improve(listing, picked, number, passes)
        return finished + self._solve_regions(listing, picked, number + finished, self.regions)
