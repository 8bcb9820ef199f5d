"""Lists of full Steiner trees put together, and unions of them as plain trees."""

from __future__ import annotations

import numpy as np

from ..core.jit import njit
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


@njit(cache=True, nogil=True)
def count_names(names: Array) -> int:
    """Return how many names there are; rows are filled up with -1."""
    count = 0
    for k in range(names.shape[0]):
        for i in range(names.shape[1]):
            count += names[k, i] >= 0
    return count


@njit(cache=True, nogil=True)
def put_edges(edges: Array, lengths: Array, start: Array, terminals: Array, length: Array) -> None:
    """Write edges as the first trees of a list."""
    start[0] = 0
    for k in range(lengths.size):
        terminals[2 * k], terminals[2 * k + 1] = edges[k, 0], edges[k, 1]
        start[k + 1] = 2 * k + 2
        length[k] = lengths[k]


@njit(cache=True, nogil=True)
def put_trees(
    names: Array,
    places: Array,
    lengths: Array,
    tree: int,
    start: Array,
    terminals: Array,
    length: Array,
    steiner: Array,
) -> None:
    """Write trees, one a row, into a list whose next tree has this number."""
    for k in range(lengths.size):
        at = start[tree + k]
        spot = at - 2 * (tree + k)
        for i in range(names.shape[1]):
            if names[k, i] >= 0:
                terminals[at] = names[k, i]
                at += 1
        for i in range(at - start[tree + k] - 2):
            steiner[spot + i, 0], steiner[spot + i, 1] = places[k, 2 * i], places[k, 2 * i + 1]
        start[tree + k + 1] = at
        length[tree + k] = lengths[k]


@njit(cache=True, nogil=True)
def part(
    start: Array, terminals: Array, length: Array, steiner: Array, keep: Array
) -> tuple[Array, Array, Array, Array]:
    """Return (start, terminals, length, steiner) of the flagged trees of a list."""
    trees, size = 0, 0
    for f in range(keep.size):
        if keep[f]:
            trees += 1
            size += start[f + 1] - start[f]
    begin, inside = np.empty(trees + 1, np.int64), np.empty(size, np.int64)
    lengths, places = np.empty(trees), np.empty((size - 2 * trees, 2))
    tree, at, spot = 0, 0, 0
    begin[0] = 0
    for f in range(keep.size):
        if not keep[f]:
            continue
        for i in range(start[f], start[f + 1]):
            inside[at] = terminals[i]
            at += 1
        for i in range(start[f] - 2 * f, start[f + 1] - 2 * f - 2):
            places[spot, 0], places[spot, 1] = steiner[i, 0], steiner[i, 1]
            spot += 1
        lengths[tree] = length[f]
        tree += 1
        begin[tree] = at
    return begin, inside, lengths, places
