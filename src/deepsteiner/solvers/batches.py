"""What methods share at the end: trees of a batch side by side, and large trees in pieces."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from ..core.points import FloatArray, IntArray
from ..geometry.relaxation import refine, refine_batch
from ..run.method import BatchTrees, Run, Tree, TreeRows
from ..run.threads import share
from ..run.watch import Stopped, Watch

# Edges of a tree that is refined in one go, and of the pieces of larger ones: some 20 ms.
_PIECE = 10_000


class SmallTrees:
    """Instances of one size, (B, n, 2) points, and their trees, which a kernel writes."""

    def __init__(self, points: FloatArray) -> None:
        count, n = points.shape[:2]
        self.points = points
        self.rows = TreeRows(
            np.empty(count, dtype=np.int64),
            np.empty((count, n, 2)),
            np.empty((count, 2 * n, 2), dtype=np.int64),
        )

    def put(self, index: int, steiner: FloatArray, edges: IntArray) -> None:
        """Write one tree."""
        self.rows.sizes[index] = self.points.shape[1] + len(steiner)
        self.rows.steiner[index, : len(steiner)] = steiner
        self.rows.edges[index, : len(edges)] = edges

    def get(self, index: int) -> tuple[FloatArray, IntArray]:
        """Return Steiner points and edges of one tree."""
        sizes, steiner, edges = self.rows
        size = int(sizes[index])
        return steiner[index, : size - self.points.shape[1]], edges[index, : size - 1]

    def packed(self, **claims: Any) -> BatchTrees:
        """Return all trees as they are."""
        return self.rows.packed(self.points.shape[1], **claims)

    def refined(self) -> BatchTrees:
        """Return all trees, refined."""
        return refined(self.points, self.packed())

    def refined_tree(self, run: Run) -> Tree:
        """Return the only tree, refined."""
        steiner, edges = refine(run.points, *self.get(0))
        run.monitor.report("done", 1, 1, lambda: run.length(steiner, edges))
        return Tree(steiner, edges)


def points_of(places: Any) -> FloatArray:
    """Return places that kernels hold as complex numbers as (n, 2) points."""
    return np.array(places, ndmin=1).view(np.float64).reshape(-1, 2)


def solve_rows(points: FloatArray, kernel: Callable[..., None], *options: Any) -> BatchTrees:
    """Let `kernel(points, *options, rows, first, last)` write a batch's trees; return them packed.

    The threads share the batch: each calls the kernel for a span of instances.
    """
    small = SmallTrees(points)
    share(len(points), lambda first, last: kernel(points, *options, small.rows, first, last))
    return small.packed()


def refined(points: FloatArray, trees: BatchTrees) -> BatchTrees:
    """Return the trees of a batch, each refined."""
    return BatchTrees(*refine_batch(points, trees.steiner_start, trees.steiner, trees.edges))


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
    run.monitor.report("done", 1, 1, run.length(steiner, edges))
    return steiner, edges


def _pieces(n: int, edges: IntArray) -> list[IntArray]:
    """Return the edges of connected pieces of a tree, cut at terminals."""
    from .kernels.walk_kernels import piece_labels

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

    def refined_piece(piece: IntArray) -> tuple[IntArray, FloatArray, IntArray]:
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
            for terminals, own, local in (map if threads == 1 else pool.map)(refined_piece, some):
                names = np.concatenate((terminals, total + np.arange(len(own))))
                linked.append(names[local])
                placed.append(own)
                total += len(own)
    return np.concatenate(placed), np.concatenate(linked)
