"""Pairs of terminals and small trees across wide gaps, beyond the neighbours of a triangulation.

Between tight clusters all pairs are about as long as the gap is wide, and only few of them are
neighbours in the triangulation; a shortest tree may cross from many a terminal at the rim.
"""

from __future__ import annotations

import numpy as np

from ....core.jit import njit
from ....core.points import Array
from ....geometry.spanning_kernels import squared_lengths
from ...select.exact.prune_kernels import sorted_order
from .ground import Bottlenecks, Found, TreeList
from .listing_kernels import list_quads, list_triples
from .neighbour_kernels import ON_ONE, ON_TWO, bottleneck, bottleneck_tree, squared, with_incidence
from .small_listing_kernels import extended, list_grown, neighbour_pairs, with_close_pairs

# A gap is wide where it is this many times the distance to the nearest terminal on either side.
WIDE = 5.0
# Pairs kept at a terminal.
MOST = 60
# The logit of trees that the network has not seen.
DOUBTFUL = -3.0


@njit(cache=True, nogil=True)
def pairs_across_gaps(points: Array, pairs: Array, tree: Bottlenecks) -> Array:
    """Return pairs by length with those added that a common neighbour joins across a wide gap."""
    n = points.shape[0]
    near = np.full(n, np.inf)
    lengths = squared_lengths(points, pairs)
    for k in range(pairs.shape[0]):
        for side in range(2):
            near[pairs[k, side]] = min(near[pairs[k, side]], WIDE * WIDE * lengths[k])
    # No bottleneck is longer: a terminal that would need one has no wide gap on any side.
    widest = 0.0
    for k in range(n - 1):
        widest = max(widest, tree.length[k] ** 2)
    start, rows = with_incidence(n, pairs, lengths)[2:]
    stamp = np.full(n, -1, np.int64)
    more = np.empty((0, 2), np.int64)
    for turn in range(2):  # counted, then written
        count = 0
        stamp[:] = -1
        for a in range(n):
            if near[a] > widest:
                continue
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
                    if squared(points, a, b) < max(near[a], near[b]):
                        continue  # no bottleneck is longer than the way
                    w = bottleneck(a, b, tree)
                    if w * w < max(near[a], near[b]) or squared(points, a, b) > (ON_TWO * w) ** 2:
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
def _key(n: int, names: Array) -> int:
    """Return a number for a set of up to four of n terminals."""
    row = np.full(4, n, np.int64)
    for k in range(names.size):
        row[k] = names[k]
    row.sort()
    return int(((row[0] * (n + 1) + row[1]) * (n + 1) + row[2]) * (n + 1) + row[3])


@njit(cache=True, nogil=True)
def _new_trees(n: int, known: Array, found: Found) -> Found:
    """Return the trees whose keys are not among the sorted known ones."""
    new = np.empty(found.length.size, np.bool_)
    for f in range(new.size):
        key = _key(n, found.names[f])
        at = np.searchsorted(known, key)
        new[f] = at == known.size or known[at] != key
    return Found(found.names[new], found.places[new], found.length[new])


@njit(cache=True, nogil=True)
def with_trees_across_gaps(trees: TreeList, logits: Array) -> tuple[TreeList, Array]:
    """Return a scored list with trees of three and four terminals across wide gaps at its end.

    The network has not been shown such lists: the new trees all get the logit DOUBTFUL.
    """
    points, start, terminals = trees.points, trees.start, trees.terminals
    n = points.shape[0]
    edges = terminals[: 2 * (n - 1)].reshape(n - 1, 2)
    tree = bottleneck_tree(points, edges)
    pairs = neighbour_pairs(points, edges)
    wider = pairs_across_gaps(points, pairs, tree)
    if wider.shape[0] == pairs.shape[0]:
        return trees, logits
    ground = with_close_pairs(points, edges, tree, wider, ON_ONE, ON_TWO, MOST)
    known = np.full(logits.size, -1, np.int64)
    for f in range(logits.size):
        if start[f + 1] - start[f] <= 4:
            known[f] = _key(n, terminals[start[f] : start[f + 1]])
    known.sort()
    count = ground.pairs.bound.size
    triples = list_triples(ground, 0, n)
    quads = list_quads(ground, np.full(count, -1, np.int64), 0, count)
    wide = extended(extended(trees, _new_trees(n, known, triples)), _new_trees(n, known, quads))
    scores = np.full(wide.length.size, np.float32(DOUBTFUL))
    for f in range(logits.size):
        scores[f] = logits[f]
    return wide, scores


@njit(cache=True, nogil=True)
def list_with_gaps(points: Array, largest: int) -> TreeList:
    """Return the grown trees of up to `largest` (4 to 6) terminals, and those across wide gaps."""
    trees = list_grown(points, largest)
    wide, _ = with_trees_across_gaps(trees, np.zeros(trees.length.size, np.float32))
    return wide
