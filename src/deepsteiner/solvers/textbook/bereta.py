"""`bereta`: a memetic algorithm over sets of Steiner points, in the manner of Bereta.

Chromosomes are sets of Steiner points; two local searches, *correction* (degrees and angles made to
satisfy the optimality conditions) and *improvement* (more Steiner points), work on each; what they
find is written back into the chromosome with a chosen probability, from Baldwin's 0 (only the
fitness learns) to Lamarck's 1. This is a reconstruction from the abstract of the article: the
author's population, operators and meaning of an iteration are not public.

Options: `iterations`, `population` and `write_back`, the probability just named.

Choices made here:

* A chromosome is worth the length of the minimum spanning tree over terminals and Steiner points
  after the local searches. All begin without Steiner points.
* An iteration makes one child. Parents come from tournaments of two; with probability 0.3 the
  child takes one parent's points on one side of a random line through a terminal and another's
  on the other side. Then a point is deleted (0.1), moved by a normal step of a tenth of the
  bounding box (0.3), or added uniformly in the box (0.6).
* Correction: up to three rounds of dropping points of degree below 3 and moving those of degree 3
  to their Fermat point. Improvement (0.7): the Fermat point of two random edges with a common end,
  then correction again.
* The child replaces the worst member if it is better and no member has its length.
* The best tree ever seen is returned, each full component relaxed; Steiner points are not inserted
  between components, so that `iterations` stays the measure of effort.

One setting serves all data: about twenty were tried on a few hundred instances each of 10 and 20
uniform and 10 normal points, and the rates kept for which 10, 20 and 50 iterations come near the
published gaps there. Those figures are a calibration, not a test.

Guarantee: never longer than the spanning tree. Time O(n^2) an iteration. The number of iterations
needed grows with n: 50 are few for more than 20 points.

M. Bereta, "Baldwin effect and Lamarckian evolution in a memetic algorithm for Euclidean Steiner
tree problem", Memetic Computing 11 (2019) 35-52, doi:10.1007/s12293-018-0256-7.

>>> import numpy as np, deepsteiner as ds
>>> points = np.random.default_rng(0).random((20, 2))
>>> ds.solve(points, "bereta", seed=1).length < ds.solve(points, "mst").length
True
"""

from __future__ import annotations

from dataclasses import dataclass

from ...core.errors import PointsError
from ...core.options import describe, option
from ...run.method import Batch, BatchTrees, MethodInfo, Run, Tree
from ..batches import SmallTrees, points_of, solve_rows

BATCH_LIMIT = 64
# An iteration spans all points several times over, in O(n^2): beyond, one alone takes too long.
SIZE_LIMIT = 2_000
# Iterations between two reports are this number divided by n^2: some 10 ms.
_SPAN = 200_000


@dataclass(frozen=True)
class Options:
    """The memetic algorithm's options."""

    iterations: int = option(50, "children to make, one an iteration", minimum=0)
    population: int = option(6, "chromosomes kept", minimum=1, maximum=10_000)
    write_back: float = option(
        0.5,
        "probability that what local search found enters the chromosome: 0 Baldwin, 1 Lamarck",
        minimum=0.0,
        maximum=1.0,
    )


INFO = MethodInfo(
    name="bereta",
    summary="evolves sets of Steiner points with two local searches (after Bereta's memetic one)",
    guarantee="never longer than the spanning tree; about 0.5 % above the optimum for 10 points",
    options=describe(Options),
    strict=True,
    random=True,
)


def solve(run: Run, options: Options) -> Tree:
    """Evolve one instance."""
    from ..kernels.bereta_kernels import begin, evolve, finish

    n = len(run.points)
    if n > SIZE_LIMIT:
        raise PointsError(
            f"method {INFO.name!r} takes at most {SIZE_LIMIT} distinct points, got {n}; "
            "'smith' takes any number"
        )
    evolution = begin(run.points, options.population, run.seed)
    lengths = evolution.lengths  # the best tree's is the last
    span = 1 if run.trace is not None else max(1, _SPAN // n**2)
    done, total, length = 0, options.iterations, float(lengths[-1])
    while run.monitor.report("evolving", done, total, length) and done < total:
        step = min(span, total - done)
        evolve(evolution, options.write_back, step)
        done += step
        if run.trace is not None and lengths[-1] < length:
            steiner = points_of(evolution.genes[-1, : evolution.counts[-1]])
            record = {
                "iteration": done,
                "length": float(lengths[-1]) * run.frame.unit,
                "steiner": run.frame.back(steiner).tolist(),
            }
            run.trace.append(record)
        length = float(lengths[-1])
    small = SmallTrees(run.points[None])
    finish(run.points, evolution, small.rows, 0)
    steiner, edges = small.get(0)
    run.monitor.report("done", done, total, run.length(steiner, edges))
    return Tree(steiner, edges, info={"iterations": done})


def solve_batch(batch: Batch, options: Options) -> BatchTrees:
    """Do the same to many instances of one size."""
    from ..kernels import bereta_kernels as kernels

    plan = kernels.Plan(options.population, options.write_back, options.iterations)
    return solve_rows(batch.points, kernels.solve_batch, batch.seeds, plan)
