"""Compact cells: points cut in halves, again and again, across their longer extent."""

from __future__ import annotations

import numpy as np

from ....core.jit import njit
from ....core.points import Array
from ..exact.prune_kernels import sorted_order


@njit(cache=True, nogil=True)
def halved_cells(points: Array, size: int, share: float) -> Array:
    """Return a cell number for every point; cells have at most `size` points.

    Points in more than one cell are cut where this `share` of them is on the lower side. Cells
    are numbered from the lower sides up: neighbours in number are near each other.
    """
    n = points.shape[0]
    cell, order = np.empty(n, np.int64), np.arange(n)
    ends = np.empty(n + 1, np.int64)  # where the parts that wait end, the next one last
    ends[0] = n
    waiting, first, count = 1, 0, 0
    while waiting > 0:
        last = ends[waiting - 1]
        part = order[first:last].copy()
        if part.size <= size:
            cell[part] = count
            count += 1
            waiting -= 1
            first = last
            continue
        wide, high = np.ptp(points[part, 0]), np.ptp(points[part, 1])
        along = points[part, 0] if wide >= high else points[part, 1]
        turned = part[sorted_order(along)]
        for i in range(turned.size):
            order[first + i] = turned[i]
        ends[waiting] = first + min(max(int(share * part.size), 1), part.size - 1)
        waiting += 1
    return cell
