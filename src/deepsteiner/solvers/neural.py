"""`neural`: a learned choice among small full Steiner trees, from three points to millions.

The search of `solvers.search`, like `local`, over full Steiner trees of up to six terminals, scored
by a graph network: every tree hears from those it competes with or may stand beside, in a few
rounds, and gets one logit: is it part of the shortest tree? Trees with low logits are dropped. Of
the rest a tree is picked greedily by what each saves times how likely it is; single trees and pairs
of doubtful ones are forced in and out, and pieces of at most a third of the terminals are solved
exactly over the few trees that are left. Up to BATCH_LIMIT points a solve is one kernel call. Where
the list is crowded, as on lattices and drilled boards, the network stands back: nothing is dropped,
and trees are chosen as `local` does, with less work for `best`.

The network is small and was trained on proven shortest trees of up to 100 points; messages are
local, so it serves any size, distribution and scale. Efforts are budgets of work, not of time.

Guarantee: never longer than the spanning tree. Time O(n log n), memory O(n). The method is ours.

>>> import numpy as np, deepsteiner as ds
>>> points = np.random.default_rng(0).random((200, 2))
>>> ds.solve(points, "neural").length < 0.98 * ds.solve(points, "mst").length
True
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Literal

import numpy as np

from ..core.device import Place
from ..core.options import EffortName, describe, option
from ..core.points import IntArray
from ..core.solution import Solution
from ..fst.enumerate.nearby.grown import Grown
from ..fst.select.search.crowded import NOTHING, Crowded
from ..fst.select.search.regions import RegionPass
from ..fst.select.search.windows import Flags, Pass
from ..run.method import Batch, BatchTrees, MethodInfo, Run, Tree
from ..run.threads import share
from ..run.watch import hurried, never
from ..scoring.device_network import ScoredLists, forward_on
from ..scoring.scores import DROP, NetworkScore
from ..scoring.weights import load_weights
from .batches import SmallTrees
from .local import CROWDED, MANY, threads_for
from .search import FEW, Pipeline, Select, search, spanned
from .turning import search_turned, turns_option

if TYPE_CHECKING:
    from ..scoring.small_instance_kernels import Plan

# Up to here a solve is one kernel call,
BATCH_LIMIT = 256
# and up to here one that is too short to be worth a report.
QUICK = 40
# What an exactly solved piece may cost: estimated steps and partitions of the dynamic programme.
SMALL_WORK, SMALL_WIDEST = 4e5, 50_000
# Slices of work (some 20 ms each) when a whole list is solved at once.
SLICES = 60
# How often `best` turns crowded points.
TURNS_OF_BEST = 4


@dataclass(frozen=True)
class Learned:
    """What an effort spends: trees are listed up to `largest` terminals and kept from `drop` on.

    Small instances get more trees across wide `gaps`, up to `pairs` pairs of flips, `trials` with a
    disturbed choice and `sweeps` of regions; large ones `windows`, which run in parallel, and
    `regions` after them, or what `crowded` says where the list is. Where pieces may be of
    any size, lists of up to `whole` points are then solved at once.
    """

    largest: int
    gaps: bool
    drop: float
    pairs: int
    trials: int
    sweeps: int
    windows: tuple[Pass, ...]
    regions: tuple[RegionPass, ...]
    crowded: Crowded
    whole: int = 0


_NARROW, _WIDE = 3 * (RegionPass(120),), 3 * (RegionPass(300, 1e6, 50_000),)
_WIDEST = 4 * (RegionPass(1000, 1e7, 200_000),)

EFFORTS: dict[EffortName, Learned] = {
    "fast": Learned(
        5, False, DROP["fast"], 80, 0, 1, (Pass(60),), _NARROW[:2], CROWDED["fast"],
    ),
    "default": Learned(
        6, True, DROP["default"], 1000, 10, 3, (Pass(60),), (*_NARROW, *_WIDE),
        CROWDED["default"], 12_000,
    ),
    "best": Learned(
        6, True, DROP["best"], 4000, 60, 8, (Pass(60),), (*_NARROW, *_WIDE, *_WIDEST),
        CROWDED["best"], 50_000,
    ),
}  # fmt: skip


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
    turns: int | None = turns_option(TURNS_OF_BEST)


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
    return search_turned(run, options, _solve_once, _solve_once, TURNS_OF_BEST)


def _solve_once(run: Run, options: Options) -> Tree:
    """Search once."""
    n = len(run.points)
    if n <= BATCH_LIMIT and can_batch(options) and run.trace is None:
        if not run.monitor.report("kernel"):
            return spanned(run)
        small, solved = SmallTrees(run.points[None]), np.zeros(1, dtype=np.bool_)
        solve_small = partial(_solve_small, small, solved, options, run.device)
        if n <= QUICK or not run.monitor.is_watched:
            solve_small(never())
        else:
            hurried(solve_small, lambda: run.monitor.report("kernel"))
        if solved[0]:
            return small.refined_tree(run)
    return _search(run, options, threads_for(options.threads, n))


def _search(run: Run, options: Options, threads: int) -> Tree:
    """Search a large instance, or one whose list the network can not judge."""
    how = pipeline(options, len(run.points), run.device)
    return search(run, how, options.start, threads)


def can_batch(options: Options) -> bool:
    """Return whether `solve_batch` serves these options."""
    return options.start is None and not options.turns


def solve_batch(batch: Batch, options: Options) -> BatchTrees:
    """Solve many small instances of one size, each by one kernel call."""
    small, solved = SmallTrees(batch.points), np.zeros(len(batch.points), dtype=np.bool_)
    _solve_small(small, solved, options, batch.device, never())
    for b in np.flatnonzero(~solved).tolist():
        alone = partial(_search, threads=1)
        tree = search_turned(batch.run(b), options, alone, alone, TURNS_OF_BEST)
        small.put(b, tree.steiner, tree.edges)
    return small.refined()


def pipeline(options: Options, n: int, device: Place) -> Pipeline:
    """Return the search over a large instance of n points."""
    how, some = EFFORTS[options.effort], options.pieces != "none"
    weights = load_weights(options.model)
    forward = forward_on(device, weights) if device == "cuda" else None
    # A window reaches a little beyond its cell.
    piece = max(1, n // 4)
    windows = tuple(replace(one, size=min(one.size, piece)) for one in how.windows if some)
    regions = tuple(replace(one, size=min(one.size, n // 3)) for one in how.regions if some)
    crowded = how.crowded.within(n // 3) if some else NOTHING
    whole = how.whole if options.pieces == "any" else FEW if some else 0
    return Pipeline(
        Grown(how.largest),
        NetworkScore(weights, how.drop, forward),
        Select(windows, crowded, regions, whole=whole, slices=SLICES),
    )


def small_plan(options: Options, n: int) -> Plan:
    """Return what the solve of a small instance of n points may spend."""
    from ..scoring.small_instance_kernels import Plan

    how = EFFORTS[options.effort]
    piece = {"none": 0, "third": n // 3, "any": n}[options.pieces]
    return Plan(
        how.largest, how.gaps, how.drop, piece, SMALL_WORK, SMALL_WIDEST, how.sweeps, how.pairs,
        how.trials,
    )  # fmt: skip


def _solve_small(
    small: SmallTrees, solved: Flags, options: Options, device: Place, stop: IntArray
) -> None:
    """Solve instances, on the threads given; in haste once stop[0] is set.

    `solved` says which: crowded lists are left to the search.
    """
    from ..scoring.small_instance_kernels import decide, is_crowded_list, solve_learned

    points, weights = small.points, load_weights(options.model)
    plan = small_plan(options, points.shape[1])
    if device != "cuda":
        share(
            len(points),
            lambda first, last: solve_learned(
                points, weights, plan, small.rows, solved, first, last, stop
            ),
        )
        return
    scored = ScoredLists(points, plan.largest, forward_on(device, weights))

    def choose_span(first: int, last: int) -> None:
        for b in range(first, last):
            trees, logits = scored[b]
            solved[b] = not is_crowded_list(trees)
            if solved[b]:
                small.put(b, *decide(trees, logits, plan, stop))

    share(len(points), choose_span)
