"""`mst`: the minimum spanning tree, the yardstick that every Steiner tree is measured against.

Above 10,000 points a limit can stop it: a path through strips then comes back, which is a tree but
not a minimum one, and the status says so.
"""

from __future__ import annotations

import numpy as np

from ..core.options import NoOptions as Options
from ..core.trees import tree_length
from ..run.method import Batch, BatchTrees, MethodInfo, Run, Tree

INFO = MethodInfo(
    name="mst",
    summary="the minimum spanning tree, without Steiner points",
    guarantee="at most 1/0.82416 = 1.2134 times the optimum (Chung and Graham 1985)",
    strict=True,
)
BATCH_LIMIT = 1500

__all__ = ["BATCH_LIMIT", "INFO", "Options", "solve", "solve_batch"]


def solve(run: Run, options: Options) -> Tree:
    """Return the minimum spanning tree of the points (see monitored_spanning_tree for limits)."""
    from ..geometry.spanning_trees import monitored_spanning_tree

    edges = monitored_spanning_tree(run.points, run.monitor)
    length = tree_length(run.points, edges)
    run.monitor.report("done", 1, 1, length)
    if run.trace is not None:
        run.trace.append({"step": "spanning tree", "length": length * run.frame.unit})
    return Tree(np.empty((0, 2)), edges)


def solve_batch(batch: Batch, options: Options) -> BatchTrees:
    """Return the spanning trees of many instances of one size."""
    from ..geometry.spanning_trees import mst_batch

    edges = mst_batch(batch.points).reshape(-1, 2)
    return BatchTrees(np.empty((0, 2)), np.zeros(len(batch.points) + 1, dtype=np.int64), edges)
