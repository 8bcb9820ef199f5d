"""Relaxation: the best positions of Steiner points for a topology, and local repair of topologies.

A tree is given as in the rest of the package: `terminals` (n, 2), `steiner` (s, 2) and `edges`
(n + s - 1, 2) over terminals 0..n-1 and Steiner points n..n+s-1. Steiner points may have any
degree and start anywhere, also on top of each other. Inputs are never changed.

The numerical work is in `relax_component_kernels` (one full component), `relax_tree_kernels` (all
components of a tree) and `refine_kernels` (repair of the topology).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..core.points import FloatArray, IntArray
from ..core.trees import PackedTrees, check_tree, pack_one
from ..run.method import TreeRows
from ..run.threads import share

# Relative gap between length and lower bound up to which a relaxation counts as converged.
CONVERGED = 1e-12
MAX_ROUNDS = 50


@dataclass(frozen=True)
class Relaxed:
    """The best tree of one topology.

    `lower_bound` comes from a feasible dual solution: no tree with this topology is shorter, up to
    rounding. `iterations` is the largest number of Newton steps over the full components, 0 when
    all had a closed form. `converged` means that length and bound agree to 1e-12.
    """

    steiner: FloatArray
    length: float
    lower_bound: float
    iterations: int
    converged: bool

    @property
    def gap(self) -> float:
        """Certified relative gap, (length - lower_bound) / length."""
        return (self.length - self.lower_bound) / self.length if self.length > 0.0 else 0.0


def relax(terminals: Any, steiner: Any, edges: Any) -> Relaxed:
    """Move the Steiner points to where the tree with these edges is shortest.

    The problem is convex and is solved to a certified relative gap of about 1e-14, one full
    component at a time, in O(s) time a Newton step and a few dozen steps. The result is never
    longer than the tree given. Raises TreeError when the edges are not a tree.

    >>> corners = [[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]]
    >>> edges = [[0, 4], [3, 4], [4, 5], [1, 5], [2, 5]]
    >>> result = relax(corners, [[0.4, 0.2], [0.5, 0.9]], edges)
    >>> round(result.length, 6), result.converged
    (2.732051, True)
    """
    from .relax_tree_kernels import relax_tree

    tree = _as_tree(terminals, steiner, edges)
    placed, (length, bound, iterations, _) = relax_tree(tree.terminals, tree.steiner, tree.edges)
    converged = bool(length - bound <= CONVERGED * length)
    return Relaxed(placed, length, bound, int(iterations), converged)


def refine(terminals: Any, steiner: Any, edges: Any) -> tuple[FloatArray, IntArray]:
    """Return Steiner points and edges of a strict tree that is locally best around this one.

    Rounds of relaxing, contracting collapsed edges, removing Steiner points of degree 1 and 2, and
    splitting every vertex where two edges meet below 120 degrees, until nothing changes. Then each
    Steiner point has degree 3 and angles of 120 degrees to within rounding of the coordinates, and
    terminals have no angle below 120 degrees - 2e-7. Only when MAX_ROUNDS stops it early can
    other degrees be left. The result is never longer than the tree given (to 1e-14). Raises
    TreeError when the edges are not a tree.

    >>> steiner, edges = refine([[0.0, 0.0], [2.0, 0.0], [1.0, 1.8]], [], [[0, 1], [1, 2]])
    >>> steiner.round(6).tolist()
    [[1.0, 0.57735]]
    """
    fresh, _, links = _refine_packed(_as_tree(terminals, steiner, edges))
    return fresh, links


def refine_batch(
    terminals: Any, steiner_start: Any, steiner: Any, edges: Any
) -> tuple[FloatArray, IntArray, IntArray]:
    """Refine B trees over n terminals each; return (steiner, steiner_start, edges), packed.

    `terminals` is (B, n, 2). Tree b owns the Steiner points steiner_start[b]:steiner_start[b + 1]
    and the next n - 1 + its number of Steiner points rows of `edges`, which use its own indices.
    Each tree comes out as from `refine`, whatever the number of threads.
    """
    points = np.ascontiguousarray(terminals, dtype=np.float64)
    batch, n = points.shape[:2]
    trees = PackedTrees(
        points.reshape(-1, 2),
        np.arange(batch + 1, dtype=np.int64) * n,
        _pairs(steiner, np.float64),
        np.ascontiguousarray(steiner_start, dtype=np.int64),
        _pairs(edges, np.int64),
    )
    trees.check()
    return _refine_packed(trees)


def _refine_packed(trees: PackedTrees) -> tuple[FloatArray, IntArray, IntArray]:
    """Refine checked trees over equally many terminals; one kernel serves one tree and many."""
    from .refine_kernels import RefinedRows, TreeBatch, refine_trees

    batch = len(trees)
    n = int(trees.terminal_start[1]) if batch else 0
    terminals = trees.terminals.reshape(batch, n, 2)
    most = len(trees.steiner) if batch == 1 else int(np.diff(trees.steiner_start).max(initial=0))
    room = max(n, most)
    points, links = np.empty((batch, room, 2)), np.empty((batch, n + room, 2), dtype=np.int64)
    counts = np.zeros(batch, dtype=np.int64)
    given = TreeBatch(terminals, trees.steiner_start, trees.steiner, trees.edges)
    fresh = RefinedRows(points, links, counts)
    share(batch, lambda first, last: refine_trees(given, MAX_ROUNDS, fresh, first, last))
    if batch == 1:
        count = int(counts[0])
        start = np.array([0, count], dtype=np.int64)
        return points[0, :count].copy(), start, links[0, : count + n - 1].copy()
    packed = TreeRows(n + counts, points, links).packed(n)
    return packed.steiner, packed.steiner_start, packed.edges


def _pairs(values: Any, dtype: Any) -> Any:
    """Return an (m, 2) contiguous array; an empty list becomes (0, 2).

    Those of a solution are read-only, and numba would compile every kernel again for that.
    """
    array = np.ascontiguousarray(values, dtype=dtype)
    array = array.reshape(-1, 2) if array.size == 0 else array
    return array if array.flags.writeable else array.copy()


def _as_tree(terminals: Any, steiner: Any, edges: Any) -> PackedTrees:
    """Return a checked tree: kernels walk along its edges and need them to form one."""
    tree = pack_one(
        _pairs(terminals, np.float64), _pairs(steiner, np.float64), _pairs(edges, np.int64)
    )
    check_tree(tree.terminals, tree.steiner, tree.edges)
    return tree
