"""The list of full Steiner trees that `local` chooses from.

Two terminals of one small full Steiner tree are nearly always joined by short chains of edges of
the Delaunay triangulation. Trees of three and four terminals over such neighbours follow from
closed formulas; bottleneck distances and shorter combinations of smaller trees leave about one
useful tree for each terminal, practically all that an exact generation would find.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..core.mst import (
    minimum_spanning_tree,
    spanning_tree_among,
    sparse_candidates,
    unique_pairs,
)
from ..core.points import FloatArray, IntArray
from ..core.progress import Monitor
from ..core.triangulation import TILED_FROM
from ..core.waiting import Watch
from .workers import Workers

# Below this share of the extent, the triangulation is blurred and the spanning tree is made apart.
_PRECISE = 1e-6
# Terminals or pairs of terminals in one uninterrupted call.
SLICE = 500
# Up to here a triangulation without set-up cost is faster.
SMALL = 150

Tell = Callable[[str, int, int], bool]


@dataclass(frozen=True)
class Listing:
    """Full Steiner trees over common terminals, in compressed rows.

    Tree f has the terminals t[0..k-1] = ``terminals[start[f]:start[f + 1]]`` and k - 2 Steiner
    points s[0..], the rows of ``steiner`` from ``start[f] - 2 * f``. ``edges`` holds its 2 k - 3
    edges from row ``2 * start[f] - 3 * f`` on, over t and then s. The first n - 1 trees are the
    edges of a minimum spanning tree by length.
    """

    points: FloatArray
    start: IntArray
    terminals: IntArray
    length: FloatArray
    steiner: FloatArray
    edges: IntArray

    def __len__(self) -> int:
        return len(self.length)

    def union(self, picked: Any) -> tuple[FloatArray, IntArray]:
        """Return Steiner points and edges of the union of the picked trees."""
        from .union_kernels import union

        return union(len(self.points), self.start, self.terminals, self.steiner, self.edges, picked)

    def extended(self, steiner: FloatArray, edges: IntArray) -> Listing:
        """Return the list with the full trees of a strict tree over the same points added."""
        from .component_kernels import components

        start, terminals, length, places, links = components(self.points, steiner, edges)
        return Listing(
            self.points,
            np.concatenate((self.start, self.start[-1] + start[1:])),
            np.concatenate((self.terminals, terminals)),
            np.concatenate((self.length, length)),
            np.concatenate((self.steiner, places)),
            np.concatenate((self.edges, links)),
        )


@dataclass(frozen=True)
class Ground:
    """Terminals with their spanning tree, bottleneck distances and close pairs.

    ``pairs`` may share a Steiner point, ``cross`` may hang on adjacent ones; both come with
    their bottleneck distances and with the numbers of the pairs at every terminal.
    """

    points: FloatArray
    tree: IntArray
    tree_lengths: FloatArray
    bottlenecks: tuple[IntArray, IntArray, FloatArray]
    pairs: tuple[IntArray, FloatArray, IntArray, IntArray]
    cross: tuple[IntArray, FloatArray, IntArray, IntArray]


def survey(
    points: FloatArray, workers: Workers, neighbours: tuple[IntArray, IntArray] | None = None
) -> Ground:
    """Find which terminals are close, among neighbours as `triangulated` gives them."""
    from . import neighbour_kernels as kernels

    n = len(points)
    graph, tree = neighbours or triangulated(points, workers)
    difference = points[tree[:, 0]] - points[tree[:, 1]]
    lengths = np.hypot(difference[:, 0], difference[:, 1])
    order = np.argsort(lengths, kind="stable")
    tree = tree[order]
    bottlenecks = kernels.bottleneck_tree(points, tree, np.arange(n - 1))
    parts = workers.map(
        lambda first, last: kernels.pair_bounds(points, graph, *bottlenecks, first, last),
        len(graph),
        8 * SLICE,
    )
    bound = np.concatenate([part[0] for part in parts])
    stretch = np.concatenate([part[1] for part in parts])
    close = []
    for limit in (kernels.ON_ONE, kernels.ON_TWO):
        rows = np.flatnonzero(kernels.few_pairs(n, graph, stretch, limit))
        rows = rows[np.lexsort(graph[rows].T)]  # by place, for the sake of the processor's caches
        chosen = graph[rows]
        close.append((chosen, bound[rows], *kernels.incident_pairs(n, chosen)))
    return Ground(points, tree, lengths[order], bottlenecks, close[0], close[1])


def triangulated(
    points: FloatArray, workers: Workers, watch: Watch | None = None
) -> tuple[IntArray, IntArray]:
    """Return neighbour pairs by length, and a minimum spanning tree among them.

    Raises Stopped where the watch stops it, which it can from some ten thousand points on.
    """
    from ..core import mst_kernels as kernels

    n = len(points)
    if n <= SMALL:
        from ..classic.delaunay_kernels import triangulate

        triangles, neighbours = np.empty((2, 2 * n, 3), dtype=np.int64)
        count = triangulate(points, triangles, neighbours)
        pairs = kernels.triangle_edges(triangles[:count], neighbours[:count])
        return _spanned(points, pairs)
    patient = watch if n > TILED_FROM else None
    pairs = sparse_candidates(points, threads=workers.threads, watch=patient)
    if patient is None:
        return _spanned(points, pairs)
    return patient.wait("spanning tree", lambda: _spanned(points, pairs))


def _spanned(points: FloatArray, pairs: IntArray) -> tuple[IntArray, IntArray]:
    """Return pairs by length, and a minimum spanning tree among them."""
    from ..core import mst_kernels as kernels

    n = len(points)
    squared = kernels.squared_lengths(points, pairs)
    order = np.argsort(squared, kind="stable")
    pairs, squared = pairs[order], squared[order]
    tree = np.empty((n - 1, 2), dtype=np.int64)
    extent = float(np.ptp(points, axis=0).max())
    if n > SMALL and squared[0] >= (_PRECISE * extent) ** 2:
        kernels.kruskal(n, pairs, np.arange(len(pairs)), tree)
        return pairs, tree
    tree = spanning_tree_among(points, pairs) if n > SMALL else minimum_spanning_tree(points)
    both = unique_pairs(n, np.concatenate((pairs, tree)))
    squared = kernels.squared_lengths(points, both)
    return both[np.argsort(squared, kind="stable")], tree


def list_trees(
    ground: Ground, workers: Workers, largest: int, tell: Tell, watch: Watch | None = None
) -> Listing:
    """List full Steiner trees of up to `largest` terminals (3 to 5).

    `tell(phase, done, total)` hears about progress; when it says no, the list ends early. Where
    the watch says no, Stopped is raised.
    """
    from . import listing_kernels as kernels
    from .quint_kernels import list_quints

    n, pairs = len(ground.points), ground.pairs[0]
    scratch = workers.scratch(lambda: np.full(len(pairs), -1, dtype=np.int64))
    head = (ground.points, *ground.pairs)

    def triples(first: int, last: int) -> Any:
        return kernels.list_triples(*head, *ground.bottlenecks, first, last)

    def quads(first: int, last: int) -> Any:
        stamp = scratch()
        return kernels.list_quads(*head, *ground.cross, *ground.bottlenecks, stamp, first, last)

    def quints(first: int, last: int) -> Any:
        stamp = scratch()
        return list_quints(*head, *ground.cross, *ground.bottlenecks, stamp, first, last)

    found = workers.map(triples, n, 4 * SLICE, tell, "trees of 3 terminals")
    if largest >= 4:
        found += workers.map(quads, len(pairs), SLICE, tell, "trees of 4 terminals")
    if largest >= 5:
        found += workers.map(quints, len(pairs), SLICE // 4, tell, "trees of 5 terminals")
    wait = (watch or Watch(Monitor(), patient=False)).wait
    return wait("list", lambda: _assemble(ground, found))


def _assemble(ground: Ground, found: list[Any]) -> Listing:
    """Put the spanning-tree edges and what was found into one list."""
    from .union_kernels import caterpillar_edges

    blocks = [[part[k] for part in found] for k in range(3)]
    width = max((names.shape[1] for names in blocks[0]), default=4)
    names = np.concatenate(
        [np.empty((0, width), dtype=np.int64), *(_padded(part, width, -1) for part in blocks[0])]
    )
    places = np.concatenate(
        [np.empty((0, 2 * width - 4)), *(_padded(part, 2 * width - 4, 0) for part in blocks[1])]
    )
    sizes = (names >= 0).sum(axis=1)
    n = len(ground.points)
    start = np.concatenate((2 * np.arange(n), 2 * n - 2 + np.cumsum(sizes)))
    inside = np.arange(width - 2) < sizes[:, None] - 2
    return Listing(
        ground.points,
        start,
        np.concatenate((ground.tree.ravel(), names[names >= 0])),
        np.concatenate((ground.tree_lengths, *blocks[2])),
        places.reshape(len(places), width - 2, 2)[inside],
        caterpillar_edges(start),
    )


def _padded(rows: Any, width: int, value: int) -> Any:
    return np.pad(rows, ((0, 0), (0, width - rows.shape[1])), constant_values=value)
