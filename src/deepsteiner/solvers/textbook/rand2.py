"""`rand2`: the paper's second random baseline, Algorithm 1 with candidates drawn at random.

Each step adds a candidate point drawn uniformly, until the spanning tree gets longer (that point is
taken back) or n - 2 points were added. The seed decides.

Options: those of the candidates, as `greedy` explains them, and `keep_worsening`, which keeps the
point that made the tree longer, as the indices of Algorithm 1 are printed.

Guarantee: never longer than the spanning tree, unless `keep_worsening`. Time O(n) a step beside
the list of candidates, which is O(n) to O(n^2) long; there are at most n - 2 steps.

S. Wang, Y. Wang and G. Tong, "Deep-Steiner: Learning to Solve the Euclidean Steiner Tree Problem"
(2022), arXiv:2209.09983, Rand-2.

>>> import numpy as np, deepsteiner as ds
>>> points = np.random.default_rng(0).random((20, 2))
>>> ds.solve(points, "rand2", seed=1).length <= ds.solve(points, "mst").length
True
"""

from __future__ import annotations

from dataclasses import dataclass

from ...core.options import describe, option
from ...core.trees import tree_length
from ...geometry.candidates import CandidateOptions
from ...run.method import Batch, BatchTrees, MethodInfo, Run, Tree
from ..batches import points_of, solve_rows
from .greedy import BATCH_LIMIT, begin_work, check_size, grids_of, rules_of, step_record


@dataclass(frozen=True)
class Options(CandidateOptions):
    """Rand-2's options."""

    keep_worsening: bool = option(
        False, "keep the point that made the tree longer, as Algorithm 1's indices print it"
    )


INFO = MethodInfo(
    name="rand2",
    summary="adds random candidate points until the tree gets longer (the paper's Rand-2)",
    guarantee="never longer than the spanning tree, unless keep_worsening",
    options=describe(Options),
    random=True,
)

__all__ = ["BATCH_LIMIT", "INFO", "Options", "solve", "solve_batch"]


def solve(run: Run, options: Options) -> Tree:
    """Run Algorithm 1 with random choices on one instance."""
    from ...geometry.random_kernels import new_state
    from ..kernels.rand_kernels import random_step

    n = len(run.points)
    check_size(n, options, INFO.name)
    work, rules = begin_work(run, options)
    places, ends = work.tree.places, work.tree.ends
    state = new_state(run.seed)
    length, count, saving = tree_length(run.points, ends[: n - 1]), n, 0.0
    while saving >= 0.0 and count < 2 * n - 2:
        if not run.monitor.report("random steps", count - n, n - 2, length):
            break
        saving = random_step(work, count, rules, state, options.keep_worsening)
        if run.trace is not None:
            run.trace.append(step_record(run.frame, places[count], saving, length - saving))
        if saving >= 0.0 or options.keep_worsening:
            length, count = length - saving, count + 1
    run.monitor.report("done", count - n, n - 2, length)
    return Tree(points_of(places[n:count]), ends[: count - 1].copy(), info={"steps": count - n})


def solve_batch(batch: Batch, options: Options) -> BatchTrees:
    """Do the same to many instances of one size."""
    from ..kernels.rand_kernels import rand2_batch

    rules, grids = rules_of(options), grids_of(batch, options)
    call = (rand2_batch, batch.seeds, grids, rules, options.keep_worsening)
    return solve_rows(batch.points, *call)
