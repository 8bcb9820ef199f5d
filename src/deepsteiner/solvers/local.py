"""`local`: our best classical method, from three points to millions.

The search of `solvers.search` over full Steiner trees of up to four (`fast`) or six terminals that
Delaunay neighbours can form, scored by hand: what a tree saves. Up to BATCH_LIMIT points a solve is
one kernel call, where the list is narrow enough to be solved to the end.

Guarantee: never longer than the spanning tree. Time O(n log n), memory O(n).

M. Zachariasen and P. Winter, "Concatenation-based greedy heuristics for the Euclidean Steiner tree
problem", Algorithmica 25 (1999) 418-437, doi:10.1007/PL00009287, choose from such lists greedily;
windows and regions are ours.

>>> import numpy as np, deepsteiner as ds
>>> points = np.random.default_rng(0).random((200, 2))
>>> ds.solve(points, "local").length < 0.98 * ds.solve(points, "mst").length
True
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..core.options import EffortName, describe, option
from ..core.solution import Solution
from ..fst.select.hypergraph import Budget
from ..fst.select.search.crowded import Crowded
from ..fst.select.search.regions import RegionPass
from ..fst.select.search.windows import Flags, Pass
from ..run.method import Batch, BatchTrees, MethodInfo, Run, Tree
from ..run.threads import cores, share
from .batches import SmallTrees
from .search import ENUMERATORS, SCORES, Pipeline, Select, search, spanned
from .turning import search_turned, turns_option

# From here on a solve uses every core unless told otherwise.
MANY = 20_000
# Up to here a solve is one kernel call, where the list is narrow enough.
BATCH_LIMIT = 128
# What that call may cost.
SMALL_BUDGET = Budget(4e5, 100_000)
# Points up to which the better efforts solve the whole list at once; beyond come regions.
WHOLE = 12_000
# How often `best` turns crowded points.
TURNS_OF_BEST = 4

_NARROW = (Pass(60), Pass(60), Pass(200))
_WIDE = (*_NARROW, Pass(200, 1e6), Pass(1000, 1e6), Pass(1000, 1e6))
_WIDEST = (Pass(3000, 1e7), Pass(3000, 1e7))
_REGIONS = 2 * (RegionPass(120),) + 2 * (RegionPass(300, 1e6, 50_000),)


def crowded_passes(
    sizes: tuple[int, ...], rounds: int, work: float, widest: int, beam: int
) -> tuple[RegionPass, ...]:
    """Return passes of small regions of these sizes, each in cells of strips and compact.

    Now these and now those come first: strips lie along one axis in passes of even number.
    """
    return tuple(
        RegionPass(size, work, widest, beam, compact)
        for number, size in enumerate(rounds * sizes)
        for compact in (number % 2 == 1, number % 2 == 0)
    )


def thinned_passes(
    shares: tuple[float, ...],
    sizes: tuple[int, ...],
    number: int = 0,
    limits: tuple[float, int, int] = (1e6, 4000, 50),
) -> tuple[RegionPass, ...]:
    """Return passes of regions of these sizes for each share of a list, now compact, now not.

    `limits` are those of a region: its work, how wide it may be, and the beam beyond.
    """
    every = [(share, size) for share in shares for size in sizes]
    return tuple(
        RegionPass(size, *limits, (number + k) % 2 == 1, share)
        for k, (share, size) in enumerate(every)
    )


# Crowded lists: over all trees first, then over those that are regretted least; after relaxation,
# or over what was chosen from any start, again.
_ALL = crowded_passes((30, 40, 60), 1, 1e6, 4000, 50)
_THIN, _THIN_TOO = (thinned_passes((2.0, 3.0, 4.0), (60, 120), number) for number in (0, 1))
_MERGED = thinned_passes((1.0,), (60, 120, 60, 200)) + _THIN
# A list of trees of four terminals at most is narrow enough to do without a beam.
_QUICK = thinned_passes(2 * (2.0, 3.0, 4.0), (60,), 0, (1e5, 1000, 0))
_QUICK_BEAM = thinned_passes((*2 * (2.0, 3.0, 4.0), 4.0), (60,), 0, (2e5, 1000, 50))
CROWDED: dict[EffortName, Crowded] = {
    "fast": Crowded(_QUICK_BEAM),
    "default": Crowded(_ALL[:4] + _THIN, 1, _THIN_TOO + _THIN),
    "best": Crowded(_ALL + _THIN, 2, _MERGED),
}

# The best effort begins with all that the default one does.
EFFORTS: dict[EffortName, Select] = {
    "fast": Select(_NARROW, Crowded(_QUICK)),
    "default": Select(_WIDE, CROWDED["default"], _REGIONS, WHOLE, WHOLE, slices=60),
    "best": Select(
        _WIDE, CROWDED["best"], _REGIONS, WHOLE, WHOLE, 60, _WIDEST,
        Crowded(_ALL + _THIN, 1, _MERGED), 400, grown=2000, grown_largest=10,
    ),
}  # fmt: skip


def _in_words(parts: Mapping[str, tuple[str, Any]]) -> str:
    return "; ".join(f"{name}: {words}" for name, (words, _) in parts.items())


@dataclass(frozen=True)
class Options:
    """Local's options."""

    effort: EffortName = option("default", "how much work to spend")
    start: Solution | None = option(None, "a Solution of the same points to begin from")
    threads: int | None = option(
        None, f"threads; None: one, and every core from {MANY} points on", minimum=1
    )
    enumerate: str = option(
        "mixed", f"what is listed: {_in_words(ENUMERATORS)}", choices=ENUMERATORS
    )
    junction_cost: float = option(
        0.0, "what a Steiner point costs, as a length: length + cost is minimised", minimum=0.0
    )
    score: str = option("hand", f"what trees are worth: {_in_words(SCORES)}", choices=SCORES)
    turns: int | None = turns_option(TURNS_OF_BEST)


INFO = MethodInfo(
    name="local",
    summary="windows of the plane solved exactly over a list of small full Steiner trees",
    guarantee="never longer than the spanning tree; on uniform points about 0.02 % (fast) or "
    "0.002 % above the optimum",
    options=describe(Options),
    strict=True,  # a crossing of two lines is a Steiner point of degree 4 where junctions cost
    supports=frozenset({"obstacles", "existing", "soft regions"}),
)


def solve(run: Run, options: Options) -> Tree:
    """Solve one instance."""
    return search_turned(run, options, _solve_once, _solve_turned, TURNS_OF_BEST)


def _solve_once(run: Run, options: Options) -> Tree:
    """Search once."""
    if options.junction_cost > 0.0:
        from .junctions import solve_with_cost

        free = replace(options, junction_cost=0.0)
        threads = threads_for(options.threads, len(run.points))
        return solve_with_cost(
            run, options, lambda one: _solve_once(one, free), pipeline(options), threads
        )
    if run.network is not None and run.plane is not None:
        from .both.search import solve_local as solve_both

        return solve_both(run, options)
    if run.network is not None:
        from .joining.search import solve_local as solve_joining

        return solve_joining(run, options)
    if run.plane is not None:
        from .around.repair import solve_local
        from .around.soft import solve_soft

        return (solve_local if run.plane.soft is None else solve_soft)(run, options)
    if len(run.points) <= BATCH_LIMIT and can_batch(options) and run.trace is None:
        if not run.monitor.report("kernel"):
            return spanned(run)
        small, solved = SmallTrees(run.points[None]), np.zeros(1, dtype=np.bool_)
        _solve_small(small, solved, options, 0, 1)
        if solved[0]:
            return small.refined_tree(run)
    threads = threads_for(options.threads, len(run.points))
    return search(run, pipeline(options), options.start, threads)


def _solve_turned(run: Run, options: Options) -> Tree:
    """Search points that were turned; `best` leaves out what it does beyond passes."""
    if options.effort != "best":
        return _solve_once(run, options)
    whole = pipeline(options)
    quicker = replace(whole.select, more=())
    threads = threads_for(options.threads, len(run.points))
    return search(run, replace(whole, select=quicker), None, threads)


def pipeline(options: Options) -> Pipeline:
    """Return the search that the options describe."""
    effort = options.effort
    listed, scored = ENUMERATORS[options.enumerate][1](effort), SCORES[options.score][1](effort)
    return Pipeline(listed, scored, EFFORTS[effort])


def threads_for(asked: int | None, n: int) -> int:
    """Return how many threads a solve of n points uses."""
    return asked or (1 if n < MANY else cores())


def can_batch(options: Options) -> bool:
    """Return whether `solve_batch` serves these options."""
    plain = (options.enumerate, options.score) == (Options.enumerate, Options.score)
    free = options.start is None and options.junction_cost == 0.0 and not options.turns
    return options.effort != "best" and free and plain


def solve_batch(batch: Batch, options: Options) -> BatchTrees:
    """Solve many small instances of one size, each by one kernel call."""
    small, solved = SmallTrees(batch.points), np.zeros(len(batch.points), dtype=np.bool_)
    share(len(solved), lambda *span: _solve_small(small, solved, options, *span))
    for b in np.flatnonzero(~solved).tolist():
        tree = search(batch.run(b), pipeline(options), None, threads=1)
        small.put(b, tree.steiner, tree.edges)
    return small.refined()


def _solve_small(small: SmallTrees, solved: Flags, options: Options, first: int, last: int) -> None:
    """Solve the instances first..last by one kernel call; `solved` says where it sufficed."""
    from ..fst.select.search.batch_kernels import solve_span

    largest = pipeline(options).enumerate.largest
    solve_span(small.points, largest, SMALL_BUDGET, small.rows, solved, first, last)
