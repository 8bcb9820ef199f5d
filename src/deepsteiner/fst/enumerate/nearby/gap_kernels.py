"""Pairs of terminals and small trees across wide gaps, beyond the neighbours of a triangulation.

Between tight clusters all pairs are about as long as the gap is wide, and only few of them are
neighbours in the triangulation; a shortest tree may cross from many a terminal at the rim.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from ....core.points import Array
from ....geometry.spanning_kernels import heaviest_between, squared_lengths
from ...select.exact.prune_kernels import sorted_order
from ...select.search.batch_kernels import append_trees, neighbour_pairs
from .listing_kernels import list_quads, list_triples
from .neighbour_kernels import ON_ONE, ON_TWO, bottleneck_tree, incident_pairs, pair_bounds

# A gap is wide where it is this many times the distance to the nearest terminal on either side.
WIDE = 5.0
# Pairs kept at a terminal.
MOST = 30
# The logit of trees that the network has not seen.
DOUBTFUL = -3.0


@njit(cache=True, nogil=True)
def pairs_across_gaps(points: Array, pairs: Array, up: Array, rank: Array, weight: Array) -> Array:
    """Return pairs by length with those added that a common neighbour joins across a wide gap."""
    n = points.shape[0]
    near = np.full(n, np.inf)
    lengths = squared_lengths(points, pairs)
    for k in range(pairs.shape[0]):
        for side in range(2):
            near[pairs[k, side]] = min(near[pairs[k, side]], WIDE * WIDE * lengths[k])
    start, rows = incident_pairs(n, pairs)
    stamp = np.full(n, -1, np.int64)
    more = np.empty((0, 2), np.int64)
    for turn in range(2):  # counted, then written
        count = 0
        stamp[:] = -1
        for a in range(n):
            stamp[a] = a
            for i in range(start[a], start[a + 1]):
                stamp[pairs[rows[i], 0] + pairs[rows[i], 1] - a] = a
            for i in range(start[a], start[a + 1]):
                v = pairs[rows[i], 0] + pairs[rows[i], 1] - a
                for j in range(start[v], start[v + 1]):
                    b = pairs[rows[j], 0] + pairs[rows[j], 1] - v
                    if b < a or stamp[b] == a:
                        continue
                    stamp[b] = a
                    w = weight[heaviest_between(a, b, up, rank)]
                    dx, dy = points[a, 0] - points[b, 0], points[a, 1] - points[b, 1]
                    if w * w < max(near[a], near[b]) or dx * dx + dy * dy > (ON_TWO * w) ** 2:
                        continue
                    if turn > 0:
                        more[count, 0], more[count, 1] = a, b
                    count += 1
        if turn == 0:
            if count == 0:
                return pairs
            more = np.empty((count, 2), np.int64)
    both = np.concatenate((pairs, more))
    return both[sorted_order(squared_lengths(points, both))]


@njit(cache=True, nogil=True)
def _rim_pairs(
    n: int, pairs: Array, bound: Array, stretch: Array, limit: float
) -> tuple[Array, Array]:
    """Return the pairs within a stretch of their bottleneck, at most MOST at a terminal."""
    degree = np.zeros(n, np.int64)
    chosen, bounds = np.empty_like(pairs), np.empty_like(bound)
    count = 0
    for k in range(bound.size):
        a, b = pairs[k, 0], pairs[k, 1]
        if stretch[k] <= limit and degree[a] < MOST and degree[b] < MOST:
            degree[a] += 1
            degree[b] += 1
            chosen[count, 0], chosen[count, 1], bounds[count] = a, b, bound[k]
            count += 1
    return chosen[:count].copy(), bounds[:count].copy()


@njit(cache=True, nogil=True)
def _key(n: int, names: Array) -> int:
    """Return a number for a set of up to four of n terminals."""
    row = np.full(4, n, np.int64)
    for i in range(names.size):
        row[i] = names[i] if names[i] >= 0 else n
    row.sort()
    return int(((row[0] * (n + 1) + row[1]) * (n + 1) + row[2]) * (n + 1) + row[3])


@njit(cache=True, nogil=True)
def _new_trees(n: int, known: Array, names: Array) -> Array:
    """Return which trees are not among the sorted known ones, by number."""
    rows = np.empty(names.shape[0], np.int64)
    count = 0
    for f in range(names.shape[0]):
        key = _key(n, names[f])
        at = np.searchsorted(known, key)
        if at == known.size or known[at] != key:
            rows[count] = f
            count += 1
    return rows[:count].copy()


@njit(cache=True, nogil=True)
def with_trees_across_gaps(
    points: Array, start: Array, terminals: Array, length: Array, steiner: Array, logits: Array
) -> tuple[Array, Array, Array, Array, Array]:
    """Return a scored list with trees of three and four terminals across wide gaps at its end.

    The network has not been shown such lists: the new trees all get the logit DOUBTFUL.
    """
    n, m = points.shape[0], length.size
    tree = terminals[: 2 * (n - 1)].copy().reshape(n - 1, 2)
    up, rank, weight = bottleneck_tree(points, tree, np.arange(n - 1))
    graph = neighbour_pairs(points, tree)
    wider = pairs_across_gaps(points, graph, up, rank, weight)
    if wider.shape[0] == graph.shape[0]:
        return start, terminals, length, steiner, logits
    bounds, stretch = pair_bounds(points, wider, up, rank, weight, 0, wider.shape[0])
    pairs, bound = _rim_pairs(n, wider, bounds, stretch, ON_ONE)
    cross, cross_bound = _rim_pairs(n, wider, bounds, stretch, ON_TWO)
    at, rows = incident_pairs(n, pairs)
    cross_at, cross_rows = incident_pairs(n, cross)
    names3, places3, lengths3 = list_triples(
        points, pairs, bound, at, rows, up, rank, weight, 0, n
    )  # fmt: skip
    stamp = np.full(bound.size, -1, np.int64)
    names4, places4, lengths4 = list_quads(
        points, pairs, bound, at, rows, cross, cross_bound, cross_at, cross_rows, up, rank,
        weight, stamp, 0, bound.size,
    )  # fmt: skip
    known = np.full(m, -1, np.int64)
    for f in range(m):
        if start[f + 1] - start[f] <= 4:
            known[f] = _key(n, terminals[start[f] : start[f + 1]])
    known.sort()
    new3, new4 = _new_trees(n, known, names3), _new_trees(n, known, names4)
    more = new3.size + new4.size
    places = steiner.shape[0] + new3.size + 2 * new4.size
    starts, names = np.empty(m + more + 1, np.int64), np.empty(places + 2 * (m + more), np.int64)
    lengths, spots = np.empty(m + more), np.empty((places, 2))
    scores = np.full(m + more, np.float32(DOUBTFUL))
    starts[: m + 1], names[: start[m]], lengths[:m] = start, terminals[: start[m]], length
    spots[: steiner.shape[0]], scores[:m] = steiner, logits
    done = append_trees(
        names3[new3], places3[new3], lengths3[new3], m, starts, names, lengths, spots
    )  # fmt: skip
    append_trees(names4[new4], places4[new4], lengths4[new4], done, starts, names, lengths, spots)
    return starts, names, lengths, spots, scores
