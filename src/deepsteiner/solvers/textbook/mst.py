"""`mst`: the minimum spanning tree, the yardstick that every Steiner tree is measured against.

No Steiner points and no options. Up to 10,000 points Prim's algorithm looks at all pairs; beyond,
Kruskal's algorithm takes the edges of the Delaunay triangulation, which contain a minimum spanning
tree. There a limit can stop it: a path through strips then comes back, which is a tree but not a
minimum one, and the status says so.

Guarantee: at most 1/0.82416 = 1.2134 times as long as the shortest tree (the conjectured bound is
2/sqrt(3) = 1.1547). Time O(n^2) up to 10,000 points, O(n log n) beyond; memory O(n).

R. C. Prim, "Shortest connection networks and some generalizations", Bell System Technical Journal
36 (1957) 1389-1401. M. I. Shamos and D. Hoey, "Closest-point problems", 16th Annual Symposium on
Foundations of Computer Science (1975) 151-162. F. R. K. Chung and R. L. Graham, "A new bound for
Euclidean Steiner minimal trees", Annals of the New York Academy of Sciences 440 (1985) 328-346.

>>> import deepsteiner as ds
>>> ds.solve([[0, 0], [1, 0], [0, 1], [1, 1]], "mst").length
3.0
"""

from __future__ import annotations

import numpy as np

from ...core.options import NoOptions as Options
from ...core.trees import tree_length
from ...run.method import Batch, BatchTrees, MethodInfo, Run, Tree

INFO = MethodInfo(
    name="mst",
    summary="the minimum spanning tree, without Steiner points",
    guarantee="at most 1/0.82416 = 1.2134 times the optimum (Chung and Graham 1985)",
    strict=True,
    supports=frozenset({"obstacles", "existing"}),
)
BATCH_LIMIT = 1500

__all__ = ["BATCH_LIMIT", "INFO", "Options", "solve", "solve_batch"]


def solve(run: Run, options: Options) -> Tree:
    """Return the minimum spanning tree of the points (see monitored_spanning_tree for limits)."""
    from ...geometry.spanning_trees import monitored_spanning_tree

    if run.network is not None and run.plane is not None:
        from ..both.search import solve_mst as solve_both

        return solve_both(run)
    if run.network is not None:
        from ..joining.case import solve_mst as solve_joining

        return solve_joining(run)
    if run.plane is not None:
        from ..around.repair import solve_mst

        return solve_mst(run)
    edges = monitored_spanning_tree(run.points, run.monitor)
    length = tree_length(run.points, edges)
    run.monitor.report("done", 1, 1, length)
    if run.trace is not None:
        run.trace.append({"step": "spanning tree", "length": length * run.frame.unit})
    return Tree(np.empty((0, 2)), edges)


def solve_batch(batch: Batch, options: Options) -> BatchTrees:
    """Return the spanning trees of many instances of one size."""
    from ...geometry.spanning_trees import mst_batch

    edges = mst_batch(batch.points).reshape(-1, 2)
    return BatchTrees(np.empty((0, 2)), np.zeros(len(batch.points) + 1, dtype=np.int64), edges)
