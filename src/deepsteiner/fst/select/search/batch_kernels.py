"""A whole solve of a small instance in one call: list, choose exactly, and write the union."""

from __future__ import annotations

import numpy as np
from numba import njit

from ....core.points import Array
from ...enumerate.nearby.small_listing_kernels import list_small
from ...union_kernels import caterpillar_edges, union
from ..exact.blocks_kernels import settle
from ..hypergraph import Budget, Hypergraph


@njit(cache=True, nogil=True)
def solve_span(
    points: Array,
    sizes: Array,
    steiner: Array,
    edges: Array,
    solved: Array,
    largest: int,
    work: float,
    widest: int,
    first: int,
    last: int,
) -> None:
    """Solve instances first..last-1 of (B, n, 2) points by the best choice from their lists.

    Writes the number of points of each tree (terminals and Steiner points), its Steiner points
    and edges, and whether the list was narrow enough to be solved; nothing else where it was not.
    """
    n, budget = points.shape[1], Budget(work, widest)
    for b in range(first, last):
        _, start, terminals, length, places = list_small(points[b], largest)
        chosen = np.zeros(length.size, np.bool_)
        graph = Hypergraph(n, start, terminals, length)
        settled = settle(graph, ~chosen, chosen, np.arange(n), budget)
        solved[b] = settled.blocks.number >= 0 and settled.solved.all()
        if solved[b]:
            spots, links = union(n, start, terminals, places, caterpillar_edges(start), chosen)
            sizes[b] = n + spots.shape[0]
            steiner[b, : spots.shape[0]] = spots
            edges[b, : links.shape[0]] = links
