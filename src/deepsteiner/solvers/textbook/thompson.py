"""`thompson`: Steiner points inserted where edges of the spanning tree meet below 120 degrees.

Start from the minimum spanning tree; where two edges meet at a terminal below 120 degrees, join
their three ends by a Steiner point; relax; repeat until no such angle is left.

Choices made here: the narrowest angle of the whole tree comes first, the new point is put at once
at the Fermat point of its three neighbours, and the joint relaxation (which contracts edges that
shrink to nothing, and inserts points where it opens new angles) follows when no angle below 120
degrees is left. There are no options.

Guarantee: never longer than the spanning tree; every step only shortens. Time O(n log n): a heap
of angles over at most n - 2 insertions, then relaxations that are linear in n for the small full
components that occur.

E. A. Thompson, "The method of minimum evolution", Annals of Human Genetics 36 (1973) 333-340,
doi:10.1111/j.1469-1809.1973.tb00595.x.

>>> import deepsteiner as ds
>>> round(ds.solve([[0, 0], [1, 0], [0, 1], [1, 1]], "thompson").length, 5)
2.73205
"""

from __future__ import annotations

from ...core.options import NoOptions as Options
from ...core.trees import tree_length
from ...geometry.spanning_trees import monitored_spanning_tree
from ...run.method import Batch, BatchTrees, MethodInfo, Run, Tree
from ..batches import points_of, refine_in_pieces, refined, solve_rows

INFO = MethodInfo(
    name="thompson",
    summary="inserts Steiner points where spanning-tree edges meet below 120 degrees",
    guarantee="never longer than the spanning tree; on uniform points about 0.4 % above "
    "the optimum",
    strict=True,
)

__all__ = ["BATCH_LIMIT", "INFO", "Options", "solve", "solve_batch"]

BATCH_LIMIT = 256
# Insertions between two reports: some milliseconds.
_SPAN = 2_000


def solve(run: Run, options: Options) -> Tree:
    """Insert, then relax, one instance."""
    from ..kernels.slot_kernels import edges_of
    from ..kernels.thompson_kernels import begin, insert_some

    n = len(run.points)
    run.monitor.report("spanning tree", 0, 1)
    edges = monitored_spanning_tree(run.points, run.monitor)
    length = tree_length(run.points, edges)
    state = begin(run.points, edges)
    tree, count = state.tree, n
    span = 1 if run.trace is not None else _SPAN
    while run.monitor.report("inserting", count - n, n - 2, length) and state.waiting[0] > 0:
        saved = insert_some(n, state, span)
        length -= saved
        if run.trace is not None and tree.size[0] > count:
            record = {
                "chosen": run.frame.back(points_of(tree.places[count]))[0].tolist(),
                "neighbours": tree.neighbours[tree.start[count] :][:3].tolist(),
                "saving": saved * run.frame.unit,
                "length": length * run.frame.unit,
            }
            run.trace.append(record)
        count = int(tree.size[0])
    steiner, edges = refine_in_pieces(run, points_of(tree.places[n:count]), edges_of(tree))
    return Tree(steiner, edges, info={"insertions": count - n})


def solve_batch(batch: Batch, options: Options) -> BatchTrees:
    """Do the same to many instances of one size."""
    from ..kernels.thompson_kernels import insert_batch

    return refined(batch.points, solve_rows(batch.points, insert_batch))
