"""Unions of full Steiner trees as plain trees."""

from __future__ import annotations

import numpy as np
from numba import njit

from ..core.points import Array


@njit(cache=True, nogil=True)
def caterpillar_edges(start: Array) -> Array:
    """Return the edges of trees whose Steiner points form a path.

    Of k terminals the first and the second hang on the first Steiner point, the last two on the
    last one, the others in order between them.
    """
    m = start.size - 1
    edges = np.empty((2 * start[m] - 3 * m, 2), np.int64)
    row = 0
    for f in range(m):
        size = start[f + 1] - start[f]
        if size == 2:
            edges[row, 0], edges[row, 1] = 0, 1
            row += 1
            continue
        for i in range(size):
            edges[row, 0] = i
            edges[row, 1] = size + min(max(i - 1, 0), size - 3)
            row += 1
        for i in range(size - 3):
            edges[row, 0], edges[row, 1] = size + i, size + i + 1
            row += 1
    return edges


@njit(cache=True, nogil=True)
def union(
    n: int, start: Array, terminals: Array, steiner: Array, edges: Array, picked: Array
) -> tuple[Array, Array]:
    """Return Steiner points and edges of the union of the picked trees, which span n terminals."""
    total = 0
    for f in range(picked.size):
        if picked[f]:
            total += start[f + 1] - start[f] - 2
    points, links = np.empty((total, 2)), np.empty((n + total - 1, 2), np.int64)
    count, row = 0, 0
    for f in range(picked.size):
        if not picked[f]:
            continue
        low, size = start[f], start[f + 1] - start[f]
        for i in range(2 * size - 3):
            for side in range(2):
                local = edges[2 * low - 3 * f + i, side]
                if local < size:
                    links[row, side] = terminals[low + local]
                else:
                    links[row, side] = n + count + local - size
            row += 1
        for i in range(size - 2):
            points[count, 0] = steiner[low - 2 * f + i, 0]
            points[count, 1] = steiner[low - 2 * f + i, 1]
            count += 1
    return points, links
