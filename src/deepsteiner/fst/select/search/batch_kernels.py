"""A whole solve of a small instance in one call: list, choose exactly, and write the union."""

from __future__ import annotations

import numpy as np

from ....core.jit import njit
from ....core.points import Array
from ....geometry.relax_tree_kernels import put_tree
from ....run.method import TreeRows
from ...enumerate.nearby.gap_kernels import list_with_gaps
from ...enumerate.nearby.small_listing_kernels import list_small
from ...union_kernels import caterpillar_edges, union
from ..exact.blocks_kernels import settle
from ..exact.prune_kernels import own_distances
from ..hypergraph import Budget, Hypergraph


@njit(cache=True, nogil=True)
def solve_span(
    points: Array,
    largest: int,
    budget: Budget,
    rows: TreeRows,
    solved: Array,
    first: int,
    last: int,
) -> None:
    """Solve instances first..last-1 of (B, n, 2) points by the best choice from their lists.

    Writes whether each list was narrow enough to be solved, and the trees of those that were.
    """
    n = points.shape[1]
    for b in range(first, last):
        trees = (
            list_with_gaps(points[b], largest) if largest > 4 else list_small(points[b], largest)
        )
        _, start, terminals, length, places = trees
        chosen = np.zeros(length.size, np.bool_)
        graph = Hypergraph(n, start, terminals, length)
        near = own_distances(graph, ~chosen)
        settled = settle(graph, near, ~chosen, chosen, np.arange(n), budget)
        solved[b] = settled.blocks.number >= 0 and settled.solved.all()
        if solved[b]:
            links = caterpillar_edges(start)
            put_tree(rows, b, *union(n, start, terminals, places, links, chosen))
