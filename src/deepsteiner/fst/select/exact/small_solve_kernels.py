"""Generation and concatenation in one kernel call, for instances of up to some sixteen points."""

from __future__ import annotations

import numpy as np
from numba import njit

from ....core.points import Array
from ....core.proofs import CONTRADICTED
from ...enumerate.complete.small_generate_kernels import generate_small
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
        wide = np.empty(terminals.size, np.int64)
        for i in range(terminals.size):
            wide[i] = terminals[i]
        chosen = np.zeros(length.size, np.bool_)
        total = concatenate_small(n, start, wide, length, chosen)
        spanning = wide[: 2 * (n - 1)].reshape((n - 1, 2))  # the first n - 1 FSTs of the list
        witness = witness_length(points[b], spanning)
        proven[b] = 0.0 <= total <= witness * (1.0 + CONTRADICTED)
        lengths[b] = total
        listed[b] = length.size
        if proven[b]:
            counts[b] = _copy_union(n, start, wide, places, links, chosen, steiner[b], edges[b])


@njit(cache=True)
def _copy_union(
    n: int,
    start: Array,
    terminals: Array,
    places: Array,
    links: Array,
    chosen: Array,
    steiner: Array,
    edges: Array,
) -> int:
    """Write Steiner points and edges of the chosen FSTs; return the number of points."""
    count, row = n, 0
    for f in range(chosen.size):
        if not chosen[f]:
            continue
        low, size = start[f], start[f + 1] - start[f]
        for i in range(size - 2):
            steiner[count - n + i, 0] = places[low - 2 * f + i, 0]
            steiner[count - n + i, 1] = places[low - 2 * f + i, 1]
        for i in range(2 * size - 3):
            for side in range(2):
                local = links[2 * low - 3 * f + i, side]
                if local < size:
                    edges[row, side] = terminals[low + local]
                else:
                    edges[row, side] = count + local - size
            row += 1
        count += size - 2
    return count
