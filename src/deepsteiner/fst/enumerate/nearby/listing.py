"""Full Steiner trees of up to five terminals, by closed formulas over Delaunay neighbours.

Two terminals of one small full Steiner tree are nearly always joined by short chains of edges of
the Delaunay triangulation. Trees of three and four terminals over such neighbours follow from
closed formulas; bottleneck distances and shorter combinations of smaller trees leave about one
useful tree for each terminal, practically all that an exact generation would find.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ....core.points import FloatArray, IntArray
from ....geometry.spanning_trees import (
    minimum_spanning_tree,
    spanning_tree_among,
    sparse_candidates,
    unique_pairs,
)
from ....geometry.triangulation import PHASE, TILED_FROM
from ....run.monitor import Monitor, Report
from ....run.threads import Workers
from ....run.watch import Stopped, Watch
from ...trees import FullTrees
from .ground import Found, Ground

# Below this share of the extent, the triangulation is blurred and the spanning tree is made apart.
_PRECISE = 1e-6
# Terminals or pairs of terminals in one uninterrupted call.
SLICE = 500
# Up to here a triangulation without set-up cost is faster.
SMALL = 150


def survey(
    points: FloatArray,
    workers: Workers,
    neighbours: tuple[IntArray, IntArray] | None = None,
    limit: float | None = None,
) -> Ground:
    """Find which terminals are close, among neighbours as `triangulated` gives them.

    Close are those that can be on common or adjacent Steiner points, or all within a `limit` in
    bottlenecks.
    """
    from . import gap_kernels as gaps
    from . import neighbour_kernels as kernels

    n = len(points)
    graph, tree = neighbours or triangulated(points, workers)
    difference = points[tree[:, 0]] - points[tree[:, 1]]
    lengths = np.hypot(difference[:, 0], difference[:, 1])
    order = np.argsort(lengths, kind="stable")
    tree = tree[order]
    bottlenecks = kernels.bottleneck_tree(points, tree)
    wider = gaps.pairs_across_gaps(points, graph, bottlenecks)
    at_most = kernels.MOST if len(wider) == len(graph) else gaps.MOST
    graph = wider
    parts = workers.map(
        lambda first, last: kernels.pair_bounds(points, graph, bottlenecks, first, last),
        len(graph),
        8 * SLICE,
    )
    bound = np.concatenate([part[0] for part in parts])
    stretch = np.concatenate([part[1] for part in parts])
    close = []
    for most in (kernels.ON_ONE, kernels.ON_TWO) if limit is None else (limit,):
        keep = kernels.shortest_pairs(points, graph, stretch, most, at_most)
        close.append(kernels.placed_pairs(n, graph, bound, keep))
    return Ground(points, tree, lengths[order], bottlenecks, close[0], close[-1])


def triangulated(
    points: FloatArray, workers: Workers, watch: Watch | None = None
) -> tuple[IntArray, IntArray]:
    """Return neighbour pairs and a minimum spanning tree among them.

    Raises Stopped where the watch stops it.
    """
    from ....geometry import spanning_kernels as kernels

    n = len(points)
    if watch is not None and not watch.go_on(PHASE):
        raise Stopped
    if n <= SMALL:
        from ....geometry.gift_wrapping_kernels import triangulate

        return _spanned(points, kernels.triangle_edges(*triangulate(points)))
    pairs = sparse_candidates(points, threads=workers.threads, watch=watch)
    if watch is None or n <= TILED_FROM:
        return _spanned(points, pairs)
    return watch.wait("spanning tree", lambda: _spanned(points, pairs))


def _spanned(points: FloatArray, pairs: IntArray) -> tuple[IntArray, IntArray]:
    """Return pairs that contain a minimum spanning tree, and that tree."""
    from ....geometry import spanning_kernels as kernels

    n = len(points)
    squared = kernels.squared_lengths(points, pairs)
    extent = float(np.ptp(points, axis=0).max())
    if n > SMALL and squared.min() >= (_PRECISE * extent) ** 2:
        tree = np.empty((n - 1, 2), dtype=np.int64)
        kernels.kruskal(n, pairs, np.argsort(squared, kind="stable"), tree)
        return pairs, tree
    tree = spanning_tree_among(points, pairs) if n > SMALL else minimum_spanning_tree(points)
    return unique_pairs(n, np.concatenate((pairs, tree))), tree


@dataclass(frozen=True)
class ClosedForms:
    """Trees of up to `largest` terminals (3 to 5), by closed formulas over neighbours."""

    largest: int

    def survey(
        self, points: FloatArray, workers: Workers, neighbours: tuple[IntArray, IntArray]
    ) -> Ground:
        """Find which terminals can hang on common or on adjacent Steiner points."""
        return survey(points, workers, neighbours)

    def list(self, ground: Ground, workers: Workers, report: Report, watch: Watch) -> FullTrees:
        """List the trees; when `report` says no, the list ends early."""
        return list_trees(ground, workers, self.largest, report, watch)


def list_trees(
    ground: Ground, workers: Workers, largest: int, report: Report, watch: Watch | None = None
) -> FullTrees:
    """List full Steiner trees of up to `largest` terminals (3 to 5).

    `report(phase, done, total)` hears about progress; when it says no, the list ends early. Where
    the watch says no, Stopped is raised.
    """
    found = find_trees(ground, workers, largest, report)
    wait = (watch or Watch(Monitor(), patient=False)).wait
    return wait("list", lambda: assembled(ground, found))


def find_trees(ground: Ground, workers: Workers, largest: int, report: Report) -> list[Found]:
    """Return the full Steiner trees of every slice."""
    from . import listing_kernels as kernels
    from .quint_kernels import list_quints

    n, count = len(ground.points), len(ground.pairs.bound)
    scratch = workers.scratch(lambda: np.full(count, -1, dtype=np.int64))

    def triples(first: int, last: int) -> Found:
        return kernels.list_triples(ground, first, last)

    def quads(first: int, last: int) -> Found:
        return kernels.list_quads(ground, scratch(), first, last)

    def quints(first: int, last: int) -> Found:
        return list_quints(ground, scratch(), first, last)

    found = workers.map(triples, n, 4 * SLICE, report, "trees of 3 terminals")
    if largest >= 4:
        found += workers.map(quads, count, SLICE, report, "trees of 4 terminals")
    if largest >= 5:
        found += workers.map(quints, count, SLICE // 4, report, "trees of 5 terminals")
    return found


def assembled(ground: Ground, found: list[Found]) -> FullTrees:
    """Put the spanning-tree edges and what was found into one list."""
    from ...union_kernels import count_names, put_edges, put_trees

    n = len(ground.points)
    m = n - 1 + sum(len(lengths) for _, _, lengths in found)
    size = 2 * n - 2 + sum(count_names(names) for names, _, _ in found)
    start, terminals = np.empty(m + 1, dtype=np.int64), np.empty(size, dtype=np.int64)
    length, steiner = np.empty(m), np.empty((size - 2 * m, 2))
    arrays = (start, terminals, length, steiner)
    put_edges(ground.tree, ground.tree_lengths, *arrays[:3])
    tree = n - 1
    for names, places, lengths in found:
        put_trees(names, places, lengths, tree, *arrays)
        tree += len(lengths)
    return FullTrees(ground.points, *arrays)
