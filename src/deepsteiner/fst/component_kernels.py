"""A strict Steiner tree cut at its terminals into full Steiner trees."""

from __future__ import annotations

import math

import numpy as np

from ..core.jit import njit
from ..core.points import Array
from ..core.tree_kernels import find


@njit(cache=True, nogil=True)
def components(
    points: Array, steiner: Array, links: Array
) -> tuple[Array, Array, Array, Array, Array]:
    """Return (start, terminals, length, steiner, edges) of the full trees of a strict tree."""
    n, s = points.shape[0], steiner.shape[0]
    parent = np.arange(s)
    for k in range(links.shape[0]):
        if links[k, 0] >= n and links[k, 1] >= n:
            parent[find(parent, links[k, 0] - n)] = find(parent, links[k, 1] - n)
    number = np.full(s, -1, np.int64)  # of the component, at its root
    owner = np.empty(links.shape[0], np.int64)
    count = 0
    for k in range(links.shape[0]):
        end = max(links[k, 0], links[k, 1]) - n
        if end < 0:
            owner[k] = count
            count += 1
            continue
        root = find(parent, end)
        if number[root] < 0:
            number[root] = count
            count += 1
        owner[k] = number[root]
    size = np.full(count, 0, np.int64)
    for k in range(links.shape[0]):
        for side in range(2):
            size[owner[k]] += links[k, side] < n
    start = np.zeros(count + 1, np.int64)
    for f in range(count):
        start[f + 1] = start[f] + size[f]
    terminals, length = np.empty(start[count], np.int64), np.zeros(count)
    places, edges = np.empty((s, 2)), np.empty((links.shape[0], 2), np.int64)
    local = np.full(s, -1, np.int64)
    filled, placed, linked = np.zeros(count, np.int64), np.zeros(count, np.int64), start.copy()
    for f in range(count):
        linked[f] = 2 * start[f] - 3 * f
    for k in range(links.shape[0]):
        f = owner[k]
        x, y = np.empty(2), np.empty(2)
        for side in range(2):
            v = links[k, side]
            if v < n:
                terminals[start[f] + filled[f]] = v
                edges[linked[f], side] = filled[f]
                filled[f] += 1
                x[side], y[side] = points[v, 0], points[v, 1]
                continue
            if local[v - n] < 0:
                local[v - n] = placed[f]
                row = start[f] - 2 * f + placed[f]
                places[row, 0], places[row, 1] = steiner[v - n, 0], steiner[v - n, 1]
                placed[f] += 1
            edges[linked[f], side] = size[f] + local[v - n]
            x[side], y[side] = steiner[v - n, 0], steiner[v - n, 1]
        linked[f] += 1
        length[f] += math.hypot(x[0] - x[1], y[0] - y[1])
    return start, terminals, length, places, edges
