"""`thompson`: Steiner points inserted where edges of the spanning tree meet below 120 degrees.

E. A. Thompson, "The method of minimum evolution", Annals of Human Genetics 36 (1973) 333-340,
doi:10.1111/j.1469-1809.1973.tb00595.x. Start from the minimum spanning tree; where two edges meet
at a terminal below 120 degrees, join their three ends by a Steiner point; relax; repeat until no
such angle is left.

Choices made here: the narrowest angle of the whole tree comes first, the new point is put at once
at the Fermat point of its three neighbours, and the joint relaxation (with the contraction of
edges that it shrinks to nothing, and insertion where it opens new angles) follows when no angle
below 120 degrees is left.

Guarantee: never longer than the spanning tree; every step only shortens. Time O(n log n): a heap
of angles over at most n - 2 insertions, then relaxations that are linear in n for the small full
components that occur.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np

from ..core.options import NoOptions as Options
from ..core.points import FloatArray, IntArray
from ..core.trees import tree_length
from ..geometry.relaxation import refine, refine_batch
from ..geometry.spanning_trees import monitored_spanning_tree
from ..run.method import Batch, BatchTrees, MethodInfo, Run, Tree, pack
from ..run.threads import share
from ..run.watch import Stopped, Watch

INFO = MethodInfo(
    name="thompson",
    summary="inserts Steiner points where spanning-tree edges meet below 120 degrees",
    guarantee="never longer than the spanning tree; on uniform points about 0.4 % above "
    "the optimum",
    strict=True,
)

__all__ = ["BATCH_LIMIT", "INFO", "Options", "refine_in_pieces", "solve", "solve_batch"]

BATCH_LIMIT = 256
# Insertions between two reports: some milliseconds.
_SPAN = 2_000
# Edges of a tree that is refined in one go, and of the pieces of larger ones: some 20 ms.
_PIECE = 10_000


def solve(run: Run, options: Options) -> Tree:
    """Insert, then relax, one instance."""
    from .kernels.thompson_kernels import begin, insert_some, write_edges

    n = len(run.points)
    run.monitor.report("spanning tree", 0, 1)
    tree = monitored_spanning_tree(run.points, run.monitor)
    length = tree_length(run.points, tree)
    state = begin(run.points, tree)
    points, counts = state[0], state[5]
    span = 1 if run.trace is not None else _SPAN
    while run.monitor.report("inserting", int(counts[0]) - n, n - 2, length) and counts[1] > 0:
        before = int(counts[0])
        saved = insert_some(n, *state, span)
        length -= saved
        if run.trace is not None and counts[0] > before:
            record = {
                "chosen": run.frame.back(points[before : before + 1])[0].tolist(),
                "neighbours": state[3][state[1][before] :][:3].tolist(),
                "saving": saved * run.frame.unit,
                "length": length * run.frame.unit,
            }
            run.trace.append(record)
    count = int(counts[0])
    edges = np.empty((count - 1, 2), dtype=np.int64)
    write_edges(*state[1:4], count, edges)
    steiner, edges = refine_in_pieces(run, points[n:count].copy(), edges)
    return Tree(steiner, edges, info={"insertions": count - n})


def solve_batch(batch: Batch, options: Options) -> BatchTrees:
    """Do the same to many instances of one size."""
    from .kernels.thompson_kernels import insert_batch

    count, n = batch.points.shape[:2]
    sizes = np.empty(count, dtype=np.int64)
    steiner, edges = np.empty((count, n, 2)), np.empty((count, 2 * n, 2), dtype=np.int64)
    share(count, lambda *span: insert_batch(batch.points, sizes, steiner, edges, *span))
    packed = pack(n, sizes, steiner, edges)
    return BatchTrees(
        *refine_batch(batch.points, packed.steiner_start, packed.steiner, packed.edges)
    )


def refine_in_pieces(
    run: Run, steiner: FloatArray, edges: IntArray, reserve: float = 0.0, threads: int = 1
) -> tuple[FloatArray, IntArray]:
    """Refine a tree over `run.points`, reporting on the way; return its Steiner points and edges.

    Trees of more than _PIECE edges are cut at terminals and refined piece by piece, so that limits
    hold at any size; angles between edges of different pieces then stay as they are, and pieces
    that a limit leaves out (`reserve` seconds before it) come back unrefined.
    """
    if len(edges) <= _PIECE:
        steiner, edges = refine(run.points, steiner, edges)
    else:
        watch = Watch(run.monitor, reserve)
        try:
            pieces = watch.wait("refining", lambda: _pieces(len(run.points), edges))
        except Stopped:
            return steiner, edges
        steiner, edges = _refine_each(run, steiner, pieces, watch, threads)
    length = tree_length(np.concatenate((run.points, steiner)), edges)
    run.monitor.report("done", 1, 1, length)
    return steiner, edges


def _pieces(n: int, edges: IntArray) -> list[IntArray]:
    """Return the edges of connected pieces of a tree, cut at terminals."""
    from .kernels.thompson_kernels import piece_labels

    labels = piece_labels(n, edges, _PIECE)
    order = np.argsort(labels, kind="stable")
    bounds = np.flatnonzero(np.diff(labels[order])) + 1
    return [edges[rows] for rows in np.split(order, bounds)]


def _refine_each(
    run: Run, steiner: FloatArray, pieces: list[IntArray], watch: Watch, threads: int
) -> tuple[FloatArray, IntArray]:
    """Refine connected pieces of a tree, some at a time, and put them together again."""
    n = len(run.points)
    placed: list[FloatArray] = []
    linked: list[IntArray] = []
    total, going = n, True

    def refined(piece: IntArray) -> tuple[IntArray, FloatArray, IntArray]:
        nodes, inverse = np.unique(piece, return_inverse=True)
        terminals = nodes[nodes < n]
        own, local = steiner[nodes[nodes >= n] - n], inverse.reshape(-1, 2).astype(np.int64)
        if going:
            own, local = refine(run.points[terminals], own, local)
        return terminals, own, local

    with ThreadPoolExecutor(threads) as pool:
        for done in range(0, len(pieces), threads):
            going = watch.go_on("refining", done, len(pieces))
            some = pieces[done : done + threads]
            for terminals, own, local in (map if threads == 1 else pool.map)(refined, some):
                names = np.concatenate((terminals, total + np.arange(len(own))))
                linked.append(names[local])
                placed.append(own)
                total += len(own)
    return np.concatenate(placed), np.concatenate(linked)
