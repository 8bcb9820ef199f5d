"""What a tile of a large instance needs: the pairs around it, and its branches by terminal."""

from __future__ import annotations

import numpy as np

from ....core.jit import njit
from ....core.points import Array
from ...select.hypergraph import Rows
from .ground import ClosePairs, Ground


@njit(cache=True, nogil=True)
def _pairs_at(nodes: Array, pairs: ClosePairs) -> Array:
    """Return the pairs at some terminals, each once, in order."""
    count = 0
    for v in nodes:
        count += pairs.first[v + 1] - pairs.first[v]
    found = np.empty(count, np.int64)
    count = 0
    for v in nodes:
        for i in range(pairs.first[v], pairs.first[v + 1]):
            found[count] = pairs.rows[i]
            count += 1
    return np.unique(found)


@njit(cache=True, nogil=True)
def _with_neighbours(nodes: Array, cross: ClosePairs) -> Array:
    """Return terminals and their cross neighbours, each once, in order."""
    ends = cross.ends[_pairs_at(nodes, cross)]
    return np.unique(np.concatenate((nodes, ends.ravel())))


@njit(cache=True, nogil=True)
def pairs_around(ground: Ground, first: int, last: int, wide: bool) -> tuple[Array, Array]:
    """Return (thirds, rows): third terminals of a tile's branches, and the pairs of all of these.

    The terminals first..last-1, with their cross neighbours where the tile is `wide`. The branches
    at such a terminal are of pairs at its cross neighbours.
    """
    thirds = np.arange(first, last)
    if wide:
        thirds = _with_neighbours(thirds, ground.cross)
    return thirds, _pairs_at(_with_neighbours(thirds, ground.cross), ground.pairs)


@njit(cache=True, nogil=True)
def by_third(thirds: Array, third: Array, at: Array, count: Array) -> Rows:
    """Return branches by their third terminal; the groups of `thirds` and of all that occur.

    Where they begin and end is written into `at`, one entry more than terminals. `count` is a
    scratch array of 0, one for each terminal, left as it was found.
    """
    for v in third:
        count[v] += 1
    spot = 0
    for v in np.unique(np.concatenate((thirds, third))):
        at[v] = spot
        spot += count[v]
        at[v + 1] = spot
    on = np.empty(third.size, np.int64)
    for k in range(third.size - 1, -1, -1):  # backwards: what is left of the count is the place
        v = third[k]
        count[v] -= 1
        on[at[v] + count[v]] = k
    return Rows(at, on)
