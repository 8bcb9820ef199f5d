"""Small instances of one size on their way through a kernel: the padded arrays that it fills."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.points import FloatArray, IntArray
from ..core.trees import tree_length
from ..geometry.relaxation import refine, refine_batch
from ..run.method import BatchTrees, Run, Tree, pack


class SmallTrees:
    """Trees over (B, n, 2) points; kernels write them to padded rows.

    Attributes
    ----------
    sizes
        Points in all, terminals and Steiner points, of each tree.
    steiner, edges
        (B, n, 2) and (B, 2 n, 2); of row b the first ``sizes[b] - n`` and ``sizes[b] - 1`` count.
    """

    def __init__(self, points: FloatArray) -> None:
        count, n = points.shape[:2]
        self.points = points
        self.sizes = np.empty(count, dtype=np.int64)
        self.steiner = np.empty((count, n, 2))
        self.edges = np.empty((count, 2 * n, 2), dtype=np.int64)

    @property
    def arrays(self) -> tuple[FloatArray, IntArray, FloatArray, IntArray]:
        """What a kernel takes: points, sizes, steiner, edges."""
        return self.points, self.sizes, self.steiner, self.edges

    def put(self, index: int, steiner: FloatArray, edges: IntArray) -> None:
        """Write one tree."""
        self.sizes[index] = self.points.shape[1] + len(steiner)
        self.steiner[index, : len(steiner)] = steiner
        self.edges[index, : len(edges)] = edges

    def get(self, index: int) -> tuple[FloatArray, IntArray]:
        """Return Steiner points and edges of one tree."""
        size = int(self.sizes[index])
        return self.steiner[index, : size - self.points.shape[1]], self.edges[index, : size - 1]

    def packed(self, **claims: Any) -> BatchTrees:
        """Return all trees as they are."""
        return pack(self.points.shape[1], self.sizes, self.steiner, self.edges, **claims)

    def refined(self) -> BatchTrees:
        """Return all trees, refined."""
        trees = self.packed()
        return BatchTrees(
            *refine_batch(self.points, trees.steiner_start, trees.steiner, trees.edges)
        )

    def refined_tree(self, run: Run) -> Tree:
        """Return the only tree, refined."""
        steiner, edges = refine(run.points, *self.get(0))
        nodes = np.concatenate((run.points, steiner))
        run.monitor.report("done", 1, 1, lambda: tree_length(nodes, edges))
        return Tree(steiner, edges)
