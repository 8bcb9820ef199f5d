"""What a tile of a large instance needs: the pairs around it, and its branches by terminal."""

from __future__ import annotations

import numpy as np
from numba import njit

from ....core.points import Array


@njit(cache=True, nogil=True)
def _with_neighbours(nodes: Array, cross: Array, cross_start: Array, cross_rows: Array) -> Array:
    """Return terminals and their cross neighbours, each once, in order."""
    count = nodes.size
    for k in range(nodes.size):
        count += cross_start[nodes[k] + 1] - cross_start[nodes[k]]
    found = np.empty(count, np.int64)
    found[: nodes.size] = nodes
    count = nodes.size
    for k in range(nodes.size):
        for i in range(cross_start[nodes[k]], cross_start[nodes[k] + 1]):
            link = cross_rows[i]
            found[count] = cross[link, 0] + cross[link, 1] - nodes[k]
            count += 1
    return np.unique(found)


@njit(cache=True, nogil=True)
def pairs_around(
    first: int,
    last: int,
    wide: bool,
    cross: Array,
    cross_start: Array,
    cross_rows: Array,
    pair_start: Array,
    pair_rows: Array,
) -> tuple[Array, Array]:
    """Return (thirds, rows): third terminals of a tile's branches, and the pairs of all of these.

    The terminals first..last-1, with their cross neighbours where the tile is `wide`. The branches
    at such a terminal are of pairs at its cross neighbours.
    """
    thirds = np.arange(first, last)
    if wide:
        thirds = _with_neighbours(thirds, cross, cross_start, cross_rows)
    around = _with_neighbours(thirds, cross, cross_start, cross_rows)
    count = 0
    for k in range(around.size):
        count += pair_start[around[k] + 1] - pair_start[around[k]]
    rows = np.empty(count, np.int64)
    count = 0
    for k in range(around.size):
        for i in range(pair_start[around[k]], pair_start[around[k] + 1]):
            rows[count] = pair_rows[i]
            count += 1
    return thirds, np.unique(rows)


@njit(cache=True, nogil=True)
def by_third(thirds: Array, names: Array, at: Array, count: Array) -> Array:
    """Return the branches by their third terminal; write where those of each begin and end.

    Written are at[v] and at[v + 1] for the `thirds` and for all others that occur. `count` is a
    scratch array of 0, one for each terminal, left as it was found.
    """
    m = names.shape[0]
    nodes, size = np.empty(thirds.size + m, np.int64), thirds.size
    nodes[:size] = thirds
    for k in range(m):
        v = names[k, 1]
        if count[v] == 0:
            nodes[size] = v
            size += 1
        count[v] += 1
    nodes = np.unique(nodes[:size])
    spot = 0
    for k in range(nodes.size):
        at[nodes[k]] = spot
        spot += count[nodes[k]]
        at[nodes[k] + 1] = spot
    on = np.empty(m, np.int64)
    for k in range(m - 1, -1, -1):  # backwards: what is left of the count is the place
        v = names[k, 1]
        count[v] -= 1
        on[at[v] + count[v]] = k
    return on
