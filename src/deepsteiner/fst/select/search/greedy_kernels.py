"""A first choice of full Steiner trees: greedy by what each saves, in rounds.

The first n - 1 trees of the list are the edges of a minimum spanning tree by length. Taking a full
tree makes one edge less than it has terminals superfluous: the longest ones on the ways between
them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ....core.jit import njit
from ....geometry.spanning_kernels import heaviest_between
from ..exact.prune_kernels import merge_tree, sorted_order
from ..hypergraph import STRICT, Flags, Floats, Hypergraph, Ints

# Larger trees (of a start given by the user) are not measured.
WIDEST = 16


class MergeTree(NamedTuple):
    """Which link joined what, as Kruskal's rule met them; `heaviest_between` reads it.

    Links of picked trees have the ranks 0 to n - 1; edge e of the spanning tree has n + e.

    up: the terminal under which the part of a terminal was hung; roots are their own.
    rank: the rank of the link that did it.
    """

    up: Ints
    rank: Ints


@njit(cache=True, nogil=True)
def _join(a: int, b: int, position: int, merges: MergeTree, size: Ints) -> bool:
    """Join the parts of a and b in the merge tree; False where they are joined already."""
    up, rank = merges
    while up[a] != a:
        a = up[a]
    while up[b] != b:
        b = up[b]
    if a == b:
        return False
    if size[a] > size[b]:
        a, b = b, a
    up[a] = b
    rank[a] = position
    size[b] += size[a]
    return True


@njit(cache=True, nogil=True)
def complete(graph: Hypergraph, picked: Flags) -> MergeTree:
    """Complete the picked trees by the spanning-tree edges that still join something."""
    n, start, terminals, _ = graph
    merges = MergeTree(np.arange(n), np.full(n, 3 * n))
    size = np.ones(n, np.int64)
    position = 0
    for f in range(n - 1, picked.size):
        if picked[f]:
            for i in range(start[f] + 1, start[f + 1]):
                _join(terminals[start[f]], terminals[i], position, merges, size)
                position += 1
    for e in range(n - 1):
        picked[e] = _join(terminals[2 * e], terminals[2 * e + 1], n + e, merges, size)
    return merges


@njit(cache=True, nogil=True)
def replaced_length(graph: Hypergraph, f: int, merges: MergeTree, near: Ints, gone: Ints) -> float:
    """Write the spanning-tree edges that a tree makes superfluous; return their length.

    Prim over bottleneck distances; -1 where two terminals are joined by picked trees already.
    `near` is scratch; it and `gone` have room for every terminal of the tree.
    """
    n, low = graph.n, graph.start[f]
    count = graph.start[f + 1] - low
    last = 0
    total = 0.0
    for i in range(1, count):
        near[i] = 4 * n
    for step in range(1, count):
        best = -1
        for i in range(1, count):
            if near[i] < 0:
                continue
            a, b = graph.terminals[low + last], graph.terminals[low + i]
            near[i] = min(near[i], heaviest_between(a, b, merges.up, merges.rank))
            if best < 0 or near[i] < near[best]:
                best = i
        if near[best] < n:
            return -1.0
        gone[step - 1] = near[best] - n
        total += graph.length[near[best] - n]
        near[best] = -1
        last = best
    return total


@njit(cache=True, nogil=True)
def measure(
    graph: Hypergraph, picked: Flags, merges: MergeTree, saving: Floats, first: int, last: int
) -> None:
    """Write what each of the trees first..last-1 would save; 0 for those that would not."""
    _, start, _, length = graph
    near, gone = np.empty(WIDEST, np.int64), np.empty(WIDEST, np.int64)
    for f in range(first, last):
        saving[f] = 0.0
        if f >= graph.n - 1 and not picked[f] and start[f + 1] - start[f] <= WIDEST:
            total = replaced_length(graph, f, merges, near, gone)
            if total > length[f] * STRICT:
                saving[f] = total - length[f]


@njit(cache=True, nogil=True)
def take(graph: Hypergraph, picked: Flags, merges: MergeTree, saving: Floats) -> int:
    """Pick the trees that save most and do not compete for an edge; return how many.

    Trees that were left out may be taken in the next round, once they are measured again.
    """
    n, start, terminals, _ = graph
    candidate = np.flatnonzero(saving > 0.0)
    order = sorted_order(-saving[candidate])
    near, gone = np.empty(WIDEST, np.int64), np.empty(WIDEST, np.int64)
    given = np.zeros(n, np.bool_)
    joined = np.arange(n)
    for f in range(n - 1, picked.size):
        if picked[f]:
            merge_tree(joined, terminals, start[f], start[f + 1])
    taken = 0
    for k in order:
        f = candidate[k]
        replaced_length(graph, f, merges, near, gone)
        free = True
        for i in range(start[f + 1] - start[f] - 1):
            free = free and not given[gone[i]]
        if free and merge_tree(joined, terminals, start[f], start[f + 1]):
            picked[f] = True
            taken += 1
            for i in range(start[f + 1] - start[f] - 1):
                given[gone[i]] = True
    return taken
