"""`auto`: the best that is installed for the size and the time given.

Without a time limit: `exact` where a proof is predicted to take about a second, as for a thousand
random points (structured ones can be far harder, see `predicted_work`), and gives it up at twice
the work; else what CHOICES names for the size: whichever of `neural` and `local` has the shorter
tree at equal time, and `local` for points that fill a lattice. No clock decides. With a time limit:
that first, then `exact` with all the time that is left, and the shorter tree.

>>> import deepsteiner as ds
>>> ds.solve([[0, 0], [1, 0], [0.5, 1]]).method
'exact'
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..core.errors import MissingDependencyError
from ..core.options import NoOptions as Options
from ..core.points import FloatArray
from ..run.method import Batch, BatchTrees, MethodInfo, Run, Tree
from . import exact, local, neural
from .predicted_work import predicted_work

# Slices of work that take about a second at the reference calibration; about as many as there are
# uniform points.
EXACT_WORK = 2_000
# No more points than this can have a proof with that.
EXACT_SIZE = 2 * EXACT_WORK
# With a time limit, `exact` is begun up to this size, and beyond it where the time seems enough.
LIMITED_EXACT_SIZE = 5_000
# With obstacles or existing networks: about half a minute at most.
OBSTACLE_SIZE = 100
BATCH_LIMIT = exact.BATCH_LIMIT
# Batches of small instances are solved exactly, which no accelerator helps.
BATCH_DEVICE = "cpu"


@dataclass(frozen=True)
class Choice:
    """A method module and its options, for instances of at most `most` points."""

    most: float
    method: Any
    options: Any


# Where `neural` and `local` take about as long, the one with the shorter tree on uniform and on
# structured points (benchmarks/pipelines.py, benchmarks/learned/neural_curves.py). `neural` leads
# at every size; up to 5,000 points there is time, about a second, to solve its whole list exactly.
CHOICES = (
    Choice(5_000, neural, neural.Options(effort="best", pieces="any")),
    Choice(20_000, neural, neural.Options(effort="default")),
    Choice(math.inf, neural, neural.Options(effort="fast")),
)
# On lattices all trees of a kind save the same, and the network tells them apart for no reason:
# of 50,000 points `neural` then saves 7.1 % where `local` saves 8.5; at 5,000 they tie, and `local`
# is the simpler one and takes a quarter of the time.
LATTICE_CHOICES = (
    Choice(5_000, local, local.Options(effort="default")),
    Choice(math.inf, local, local.Options(effort="fast")),
)
# At least one in so many places of a lattice is taken.
FULL = 2.0

INFO = MethodInfo(
    name="auto",
    summary="exact where that takes about a second, else neural or local; within any time limit",
    guarantee="that of the method it used, which the solution names",
    strict=True,
    devices=("cpu", "cuda"),
    supports=frozenset({"obstacles", "existing", "soft regions"}),
)

__all__ = ["BATCH_DEVICE", "BATCH_LIMIT", "INFO", "Options", "solve", "solve_batch"]


def solve(run: Run, options: Options) -> Tree:
    """Solve with the best method for the number of points and the time."""
    n = len(run.points)
    if run.plane is not None or run.network is not None:
        soft = run.plane is not None and run.plane.soft is not None
        chosen: Any = exact if n <= OBSTACLE_SIZE and not soft else local
        found: Tree = chosen.solve(run, chosen.Options())
        return replace(found, method=chosen.INFO.name)
    if run.monitor.time_limit is not None:
        return _within_limit(run)
    if n <= EXACT_SIZE and _foreseen(run, EXACT_WORK) <= EXACT_WORK:
        most = 2 * EXACT_WORK if n > BATCH_LIMIT else None
        tree = _try_exact(run, exact.Options(max_work=most))
        if tree is not None and (tree.optimal or run.monitor.stop_reason is not None):
            return tree
    return _heuristic(run)


def solve_batch(batch: Batch, options: Options) -> BatchTrees:
    """Solve many small instances, exactly."""
    return replace(exact.solve_batch(batch, exact.Options()), method="exact")


def _heuristic(run: Run) -> Tree:
    choices = LATTICE_CHOICES if fills_lattice(run.points) else CHOICES
    choice = next(one for one in choices if len(run.points) <= one.most)
    tree: Tree = choice.method.solve(run, choice.options)
    return replace(tree, method=choice.method.INFO.name)


def fills_lattice(points: FloatArray) -> bool:
    """Return whether the rows and columns of the points cross in few more places than points."""
    columns, rows = (len(np.unique(points[:, axis])) for axis in (0, 1))
    return columns > 1 and rows > 1 and columns * rows <= FULL * len(points)


def _try_exact(run: Run, options: exact.Options, known: Tree | None = None) -> Tree | None:
    try:
        return replace(exact.solve(run, options, known), method="exact")
    except MissingDependencyError:
        return None  # no linear programming code: another method serves


def _within_limit(run: Run) -> Tree:
    first = _heuristic(run)
    if run.monitor.stop_reason is not None or not _has_time_for_proof(run):
        return first
    second = _try_exact(run, exact.Options(), known=first)
    if second is None or (not second.optimal and _length(run, first) <= _length(run, second)):
        bound = None if second is None else second.lower_bound
        return replace(first, lower_bound=bound)
    return second


def _has_time_for_proof(run: Run) -> bool:
    n, slices = len(run.points), EXACT_WORK * run.monitor.remaining()
    if n <= LIMITED_EXACT_SIZE:
        return True
    return n <= 2.0 * slices and _foreseen(run, slices) <= slices


def _foreseen(run: Run, limit: float) -> float:
    """Return the predicted work, and report while it is found out."""
    return predicted_work(run.points, limit, lambda: run.monitor.report("foreseeing the work"))


def _length(run: Run, tree: Tree) -> float:
    return run.length(tree.steiner, tree.edges)
