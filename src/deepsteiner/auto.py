"""`auto`: the best that is installed for the size and the time given.

Without a time limit: `exact` up to EXACT_SIZE points, as long as it stays within a budget of work
that takes about a second (structured points can be far harder than random ones of the same
number); `local` where it does not, and beyond: with its default effort up to DEFAULT_SIZE points,
fast above. With a time limit: `local` first, then `exact` with all the time that is left, and the
shorter tree.
"""

from __future__ import annotations

from dataclasses import replace

from .core.errors import MissingDependencyError
from .core.method import Batch, BatchTrees, MethodInfo, Run, Tree
from .core.options import NoOptions as Options
from .core.trees import tree_length
from .exact import solver as exact
from .search import local

# Uniform points of this number take about a second (see docs/benchmarks.md).
EXACT_SIZE = 500
# Slices of generation that take about a second.
EXACT_WORK = 800
# `local` with its default effort takes about a second here.
DEFAULT_SIZE = 5_000
# With a time limit, larger instances than this are not worth starting `exact` on.
LIMITED_EXACT_SIZE = 5_000
BATCH_LIMIT = exact.BATCH_LIMIT

INFO = MethodInfo(
    name="auto",
    summary="exact where that takes about a second, else local; or what a time limit allows",
    guarantee="that of the method it used, which the solution names",
    strict=True,
)

__all__ = ["BATCH_LIMIT", "INFO", "Options", "solve", "solve_batch"]


def solve(run: Run, options: Options) -> Tree:
    """Solve with the best method for the number of points and the time."""
    n = len(run.points)
    if run.monitor.time_limit is not None and n <= LIMITED_EXACT_SIZE:
        return _within_limit(run)
    if n <= EXACT_SIZE:
        tree = _try_exact(run, exact.Options(max_work=EXACT_WORK if n > BATCH_LIMIT else None))
        if tree is not None and (tree.optimal or run.monitor.stop_reason is not None):
            return tree
    return _heuristic(run)


def solve_batch(batch: Batch, options: Options) -> BatchTrees:
    """Solve many small instances, exactly."""
    return replace(exact.solve_batch(batch, exact.Options()), method="exact")


def _heuristic(run: Run) -> Tree:
    effort = "default" if len(run.points) <= DEFAULT_SIZE else "fast"
    return replace(local.solve(run, local.Options(effort=effort)), method="local")


def _try_exact(run: Run, options: exact.Options) -> Tree | None:
    try:
        return replace(exact.solve(run, options), method="exact")
    except MissingDependencyError:
        return None  # no linear programming code: another method serves


def _within_limit(run: Run) -> Tree:
    first = _heuristic(run)
    if run.monitor.stop_reason is not None:
        return first
    second = _try_exact(run, exact.Options())
    if second is None or (not second.optimal and _length(run, first) <= _length(run, second)):
        bound = None if second is None else second.lower_bound
        return replace(first, lower_bound=bound)
    return second


def _length(run: Run, tree: Tree) -> float:
    import numpy as np

    return tree_length(np.concatenate((run.points, tree.steiner)), tree.edges)
