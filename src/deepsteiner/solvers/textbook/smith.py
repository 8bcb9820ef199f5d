"""`smith`: small full Steiner trees over Delaunay triangles, combined greedily.

The Delaunay triangulation gives three terminals (triangles) and four (pairs of triangles with a
common edge) at a time. Their full Steiner trees are sorted by length divided by the length of the
spanning-tree edges between the same terminals, and taken in that order unless they close a cycle;
edges of the minimum spanning tree join what is left.

Choices made here: only terminals that edges of the spanning tree join are considered (sorting
*all* Delaunay triangles picks long ones along the hull and gives trees half as long again); both
pairings of four terminals are tried; and the tree is relaxed at the end, with Steiner points
inserted where the chosen trees meet below 120 degrees.

Option: `refine=False` leaves out this last step and gives the published heuristic, whose trees have
120 degrees at every Steiner point too.

Guarantee: never longer than the spanning tree, since each full Steiner tree taken replaces longer
edges of it and two of them never the same edge. Time O(n log n) over Qhull's triangulation; up to
BATCH_LIMIT points gift wrapping, in O(n^2), is faster.

J. M. Smith, D. T. Lee and J. S. Liebman, "An O(n log n) heuristic for Steiner minimal tree
problems on the Euclidean metric", Networks 11 (1981) 23-39, doi:10.1002/net.3230110104.

>>> import deepsteiner as ds
>>> round(ds.solve([[0, 0], [1, 0], [0, 1], [1, 1]], "smith").length, 5)
2.73205
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...core.options import describe, option
from ...core.points import FloatArray, IntArray
from ...core.trees import tree_length
from ...geometry.spanning_trees import monitored_spanning_tree
from ...geometry.triangulation import triangulate
from ...run.method import Batch, BatchTrees, MethodInfo, Run, Tree
from ...run.watch import Stopped, Watch
from ..batches import points_of, refine_in_pieces, refined, solve_rows

BATCH_LIMIT = 256


@dataclass(frozen=True)
class Options:
    """Smith, Lee and Liebman's options."""

    refine: bool = option(True, "relax the tree and repair angles below 120 degrees at the end")


INFO = MethodInfo(
    name="smith",
    summary="combines full Steiner trees over Delaunay triangles greedily (Smith, Lee, Liebman)",
    guarantee="never longer than the spanning tree; on uniform points about 0.25 % above "
    "the optimum",
    options=describe(Options),
    strict=True,
)


def solve(run: Run, options: Options) -> Tree:
    """Run the heuristic on one instance."""
    from ..kernels.smith_kernels import choose, concatenate, list_trees

    n = len(run.points)
    run.monitor.report("spanning tree", 0, 3)
    tree = monitored_spanning_tree(run.points, run.monitor)
    triangles = neighbours = np.empty((0, 3), dtype=np.int64)
    if run.monitor.report("triangulation", 1, 3, tree_length(run.points, tree)):
        triangles, neighbours = triangulation(run.points, Watch(run.monitor))
    trees = list_trees(run.points, tree, triangles, neighbours)
    parent = np.arange(n)
    taken = choose(trees, parent)
    steiner, edges = np.empty((n, 2)), np.empty((2 * n, 2), dtype=np.int64)
    count = concatenate(trees, taken, tree, parent, steiner, edges)
    steiner, edges = steiner[: count - n].copy(), edges[: count - 1].copy()
    length = run.length(steiner, edges)
    if run.trace is not None:
        run.trace.extend(_chosen(run, trees, taken))
    run.monitor.report("concatenated", 2, 3, length)
    if options.refine:
        steiner, edges = refine_in_pieces(run, steiner, edges)
    return Tree(steiner, edges, info={"listed": len(trees.lengths), "chosen": len(taken)})


def solve_batch(batch: Batch, options: Options) -> BatchTrees:
    """Do the same to many instances of one size."""
    from ..kernels import smith_kernels as kernels

    trees = solve_rows(batch.points, kernels.solve_batch)
    return refined(batch.points, trees) if options.refine else trees


def triangulation(points: FloatArray, watch: Watch | None = None) -> tuple[IntArray, IntArray]:
    """Return Delaunay triangles and, for each, the ones across its edges.

    None on a line, nor where the watch stops it.
    """
    n = len(points)
    if n <= BATCH_LIMIT:
        from ...geometry.gift_wrapping_kernels import triangulate as wrap

        triangles, neighbours = wrap(points)
        return triangles, neighbours
    from scipy.spatial import QhullError

    try:
        found = triangulate(points, watch=watch)
    except (QhullError, Stopped):
        nothing = np.empty((0, 3), dtype=np.int64)
        return nothing, nothing
    return found.triangles, found.adjacency(n)[0]


def _chosen(run: Run, trees: Any, taken: IntArray) -> list[dict[str, Any]]:
    """Return the full Steiner trees taken, for the trace, in the user's coordinates."""
    records = []
    for row in taken:
        size = 3 if trees.terminals[row, 3] < 0 else 4
        length, replaced = float(trees.lengths[row]), float(trees.replaced[row])
        records.append(
            {
                "terminals": trees.terminals[row, :size].tolist(),
                "steiner": run.frame.back(points_of(trees.places[row, : size - 2])).tolist(),
                "ratio": length / replaced,
                "saving": (replaced - length) * run.frame.unit,
            }
        )
    return records
