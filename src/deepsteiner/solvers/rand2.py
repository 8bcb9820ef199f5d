"""`rand2`: the paper's second random baseline, Algorithm 1 with candidates drawn at random."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..core.options import describe, option
from ..core.trees import tree_length
from ..geometry.candidates import KINDS, CandidateOptions
from ..run.method import Batch, BatchTrees, MethodInfo, Run, Tree, pack
from ..run.threads import share
from .greedy import BATCH_LIMIT, check_size, grid_of, grids_of, starting_tree, step_record


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
    from .kernels.greedy_kernels import allocate, begin
    from .kernels.rand_kernels import random_step

    n = len(run.points)
    check_size(n, options, INFO.name)
    kind, k_star, near = KINDS.index(options.candidates), options.k_star, options.k_neighbors
    work = allocate(n, kind, k_star, near, grid_of(run.points, run.frame, options))
    cells = begin(work, run.points, starting_tree(run))
    state = new_state(run.seed)
    length, count, saving = tree_length(run.points, work[1][: n - 1]), n, 0.0
    while saving >= 0.0 and count < 2 * n - 2:
        if not run.monitor.report("random steps", count - n, n - 2, length):
            break
        before = work[1][: count - 1].copy()
        saving = random_step(work, count, cells, state, kind, k_star, near)
        if run.trace is not None:
            run.trace.append(step_record(run.frame, work[0][count], saving, length - saving))
        if saving >= 0.0 or options.keep_worsening:
            length, count = length - saving, count + 1
        else:
            work[1][: count - 1] = before
    run.monitor.report("done", count - n, n - 2, length)
    return Tree(work[0][n:count].copy(), work[1][: count - 1].copy(), info={"steps": count - n})


def solve_batch(batch: Batch, options: Options) -> BatchTrees:
    """Do the same to many instances of one size."""
    from .kernels.rand_kernels import rand2_batch

    count, n = batch.points.shape[:2]
    sizes = np.empty(count, dtype=np.int64)
    steiner, edges = np.empty((count, n, 2)), np.empty((count, 2 * n, 2), dtype=np.int64)
    kind, grids = KINDS.index(options.candidates), grids_of(batch, options)
    call = (batch.points, batch.seeds, grids, kind, options.k_star, options.k_neighbors)
    rest = (options.keep_worsening, sizes, steiner, edges)
    share(count, lambda first, last: rand2_batch(*call, *rest, first, last))
    return pack(n, sizes, steiner, edges)
