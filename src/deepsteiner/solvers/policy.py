"""`policy`: the paper's learned system, Deep-Steiner, with a trained model choosing the points.

The model sees the instance in its training box, the unit square; Steiner points are chosen there,
and the tree is the spanning tree of terminals and Steiner points, made anew in double precision.
`policy.play` does the work, with torch; this module only describes it.

Guarantee: never longer than the spanning tree, unless `keep_worsening`. Time: a step is one pass of
the network over all points and candidates, O(m^2) in their number m; there are at most n - 2 steps.

S. Wang, Y. Wang and G. Tong, "Deep-Steiner: Learning to Solve the Euclidean Steiner Tree Problem"
(2022), arXiv:2209.09983.
"""

from __future__ import annotations

from ..core.device import load_torch
from ..core.options import describe
from ..policy.settings import PlayOptions as Options
from ..run.method import Batch, BatchTrees, MethodInfo, Run, Tree

BATCH_LIMIT = 64

INFO = MethodInfo(
    name="policy",
    summary="a trained network adds points one by one (the paper's Deep-Steiner)",
    guarantee="never longer than the spanning tree, unless keep_worsening",
    options=describe(Options),
    needs=("torch",),
    devices=("cpu", "cuda"),
)


def solve(run: Run, options: Options) -> Tree:
    """Run the policy on one instance."""
    load_torch("method 'policy'")
    from ..policy.play import play_one

    return play_one(run, options)


def solve_batch(batch: Batch, options: Options) -> BatchTrees:
    """Run the policy on many instances of one size."""
    load_torch("method 'policy'")
    from ..policy.play import play_batch

    return play_batch(batch, options)
