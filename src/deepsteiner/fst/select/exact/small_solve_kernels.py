"""Generation and concatenation in one kernel call, for instances of up to some sixteen points."""

from __future__ import annotations

import numpy as np

from ....core.jit import njit
from ....core.points import Array
from ....core.proofs import CONTRADICTED
from ....geometry.relax_tree_kernels import put_tree
from ....run.method import TreeRows
from ...enumerate.complete.small_generate_kernels import generate_small
from ...union_kernels import union
from ..hypergraph import Claims, Hypergraph
from .blocks_kernels import concatenate_small
from .witness_kernels import witness_length


@njit(cache=True, nogil=True)
def solve_span(points: Array, rows: TreeRows, claims: Claims, first: int, last: int) -> None:
    """Solve instances first..last of (B, n, 2) points; write claims, and trees that are proven."""
    n = points.shape[1]
    for b in range(first, last):
        start, terminals, length, places, links = generate_small(points[b])
        graph = Hypergraph(n, start, terminals, length)
        chosen = np.zeros(length.size, np.bool_)
        total = concatenate_small(graph, chosen)
        # The first n - 1 FSTs are the edges of a spanning tree.
        spanning = terminals[: 2 * (n - 1)].reshape((n - 1, 2))
        witness = witness_length(points[b], spanning)
        claims.lengths[b], claims.listed[b] = total, length.size
        claims.proven[b] = 0.0 <= total <= witness * (1.0 + CONTRADICTED)
        if claims.proven[b]:
            put_tree(rows, b, *union(n, start, terminals, places, links, chosen))
