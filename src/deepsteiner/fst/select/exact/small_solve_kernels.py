"""Generation and concatenation in one kernel call, for instances of up to some sixteen points."""

from __future__ import annotations

import numpy as np
from numba import njit

from ....core.points import Array
from ....core.proofs import CONTRADICTED
from ...enumerate.complete.small_generate_kernels import generate_small
from ...union_kernels import union
from ..hypergraph import Hypergraph
from .blocks_kernels import concatenate_small
from .witness_kernels import witness_length


@njit(cache=True, nogil=True)
def solve_span(
    points: Array,
    counts: Array,
    steiner: Array,
    edges: Array,
    lengths: Array,
    proven: Array,
    listed: Array,
    first: int,
    last: int,
) -> None:
    """Solve instances first..last of (B, n, 2) points.

    Writes whether each was solved (its tree is then proven shortest; it is not where the list of
    FSTs is too wide for a dynamic programme, or where a witness contradicts it), its length, the
    number of FSTs listed, the number of points of the tree (terminals and Steiner points), its
    Steiner points and its edges.
    """
    n = points.shape[1]
    for b in range(first, last):
        start, terminals, length, places, links = generate_small(points[b])
        graph = Hypergraph(n, start, terminals, length)
        chosen = np.zeros(length.size, np.bool_)
        total = concatenate_small(graph, chosen)
        # The first n - 1 FSTs are the edges of a spanning tree.
        spanning = terminals[: 2 * (n - 1)].reshape((n - 1, 2))
        witness = witness_length(points[b], spanning)
        proven[b] = 0.0 <= total <= witness * (1.0 + CONTRADICTED)
        lengths[b] = total
        listed[b] = length.size
        if proven[b]:
            spots, edges_found = union(n, start, terminals, places, links, chosen)
            counts[b] = n + spots.shape[0]
            steiner[b, : spots.shape[0]] = spots
            edges[b, : edges_found.shape[0]] = edges_found
