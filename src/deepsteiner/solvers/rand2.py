"""`rand2`: the paper's second random baseline, Algorithm 1 with candidates drawn at random."""

from __future__ import annotations

from dataclasses import dataclass

from ..core.options import describe, option
from ..core.trees import tree_length
from ..geometry.candidates import CandidateOptions
from ..run.method import Batch, BatchTrees, MethodInfo, Run, Tree
from .batches import solve_rows
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
    from ..geometry.random_kernels import new_state
    from .kernels.rand_kernels import random_step

    n = len(run.points)
    check_size(n, options, INFO.name)
    work, rules = begin_work(run, options)
    points, ends = work.tree.points, work.tree.ends
    state = new_state(run.seed)
    length, count, saving = tree_length(run.points, ends[: n - 1]), n, 0.0
    while saving >= 0.0 and count < 2 * n - 2:
        if not run.monitor.report("random steps", count - n, n - 2, length):
            break
        before = ends[: count - 1].copy()
        saving = random_step(work, count, rules, state)
        if run.trace is not None:
            run.trace.append(step_record(run.frame, points[count], saving, length - saving))
        if saving >= 0.0 or options.keep_worsening:
            length, count = length - saving, count + 1
        else:
            ends[: count - 1] = before
    run.monitor.report("done", count - n, n - 2, length)
    return Tree(points[n:count].copy(), ends[: count - 1].copy(), info={"steps": count - n})


def solve_batch(batch: Batch, options: Options) -> BatchTrees:
    """Do the same to many instances of one size."""
    from .kernels.rand_kernels import rand2_batch

    rules, grids = rules_of(options), grids_of(batch, options)
    call = (rand2_batch, batch.seeds, grids, rules, options.keep_worsening)
    return solve_rows(batch.points, *call)
