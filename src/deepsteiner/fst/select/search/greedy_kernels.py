"""A first choice of full Steiner trees: greedy by what each saves, in rounds.

A list is in compressed rows (`start`, `terminals`, `length`); its first n - 1 trees are the edges
of a minimum spanning tree by length. Taking a full tree makes one edge less than it has terminals
superfluous: the longest ones on the ways between them.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from ....core.points import Array
from ....core.tree_kernels import find
from ....geometry.spanning_kernels import heaviest_between
from ..exact.prune_kernels import merge_tree, sorted_order

# A saving below this share of a tree's length is rounding.
LEAST = 1e-12
# Larger trees (of a start given by the user) are not measured.
WIDEST = 16


@njit(cache=True, nogil=True)
def _hang(a: int, b: int, position: int, up: Array, rank: Array, size: Array) -> bool:
    """Join the parts of a and b in the merge tree; False where they are joined already."""
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
def _complete(
    n: int, start: Array, terminals: Array, picked: Array, up: Array, rank: Array, size: Array
) -> None:
    """Keep the spanning-tree edges that still join something; build the merge tree.

    Links of picked trees come first, as positions 0 to n - 1; edge e has position n + e.
    """
    for v in range(n):
        up[v] = v
        rank[v] = 3 * n
        size[v] = 1
    position = 0
    for f in range(n - 1, picked.size):
        if picked[f]:
            for i in range(start[f] + 1, start[f + 1]):
                _hang(terminals[start[f]], terminals[i], position, up, rank, size)
                position += 1
    for e in range(n - 1):
        picked[e] = _hang(terminals[2 * e], terminals[2 * e + 1], n + e, up, rank, size)


@njit(cache=True, nogil=True)
def replaced_length(
    terminals: Array,
    low: int,
    high: int,
    up: Array,
    rank: Array,
    n: int,
    length: Array,
    near: Array,
    gone: Array,
) -> float:
    """Write the positions that a full tree makes superfluous; return their length.

    Prim over bottleneck distances; -1 where two terminals are joined by picked trees already.
    """
    count = high - low
    last = 0
    total = 0.0
    for i in range(1, count):
        near[i] = 4 * n
    for step in range(1, count):
        best = -1
        for i in range(1, count):
            if near[i] < 0:
                continue
            d = heaviest_between(terminals[low + last], terminals[low + i], up, rank)
            if d < near[i]:
                near[i] = d
            if best < 0 or near[i] < near[best]:
                best = i
        if near[best] < n:
            return -1.0
        gone[step - 1] = near[best] - n
        total += length[near[best] - n]
        near[best] = -1
        last = best
    return total


@njit(cache=True, nogil=True)
def complete(n: int, start: Array, terminals: Array, picked: Array) -> tuple[Array, Array]:
    """Complete the picked trees by spanning-tree edges; return the merge tree (up, rank)."""
    up, rank, size = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n, np.int64)
    _complete(n, start, terminals, picked, up, rank, size)
    return up, rank


@njit(cache=True, nogil=True)
def measure(
    n: int,
    start: Array,
    terminals: Array,
    length: Array,
    picked: Array,
    up: Array,
    rank: Array,
    saving: Array,
    first: int,
    last: int,
) -> None:
    """Write what each of the trees first..last-1 would save; 0 for those that would not."""
    near, gone = np.empty(WIDEST, np.int64), np.empty(WIDEST, np.int64)
    for f in range(first, last):
        saving[f] = 0.0
        if f >= n - 1 and not picked[f] and start[f + 1] - start[f] <= WIDEST:
            total = replaced_length(
                terminals, start[f], start[f + 1], up, rank, n, length, near, gone
            )
            if total > length[f] * (1.0 + LEAST):
                saving[f] = total - length[f]


@njit(cache=True, nogil=True)
def take(
    n: int,
    start: Array,
    terminals: Array,
    length: Array,
    picked: Array,
    up: Array,
    rank: Array,
    saving: Array,
) -> int:
    """Pick the trees that save most and do not compete for an edge; return how many."""
    m = length.size
    candidate, key = np.empty(m, np.int64), np.empty(m)
    count = 0
    for f in range(m):
        if saving[f] > 0.0:
            candidate[count] = f
            key[count] = -saving[f]
            count += 1
    order = sorted_order(key[:count])
    near, gone = np.empty(WIDEST, np.int64), np.empty(WIDEST, np.int64)
    given = np.zeros(n, np.bool_)
    joined = np.arange(n)
    for f in range(n - 1, m):
        if picked[f]:
            merge_tree(joined, terminals, start[f], start[f + 1])
    taken = 0
    for k in range(count):
        f = candidate[order[k]]
        replaced_length(terminals, start[f], start[f + 1], up, rank, n, length, near, gone)
        free = True
        for i in range(start[f + 1] - start[f] - 1):
            free = free and not given[gone[i]]
        if free and merge_tree(joined, terminals, start[f], start[f + 1]):
            picked[f] = True
            taken += 1
            for i in range(start[f + 1] - start[f] - 1):
                given[gone[i]] = True
    return taken


@njit(cache=True, nogil=True)
def pick_greedily(
    n: int, start: Array, terminals: Array, length: Array, picked: Array, rounds: int
) -> None:
    """All rounds in one call, for small instances.

    Every round measures what each tree would save and takes those that save most, leaving out
    trees that compete for the same edge: the next round measures them again.
    """
    saving = np.empty(length.size)
    for _ in range(rounds):
        up, rank = complete(n, start, terminals, picked)
        measure(n, start, terminals, length, picked, up, rank, saving, 0, length.size)
        if take(n, start, terminals, length, picked, up, rank, saving) == 0:
            break
    complete(n, start, terminals, picked)


@njit(cache=True, nogil=True)
def is_spanning(n: int, start: Array, terminals: Array, picked: Array) -> bool:
    """Whether the picked trees form one tree over all terminals."""
    parent = np.arange(n)
    missing = n - 1
    for f in range(picked.size):
        if picked[f]:
            if not merge_tree(parent, terminals, start[f], start[f + 1]):
                return False
            missing -= start[f + 1] - start[f] - 1
    return missing == 0 and find(parent, 0) == find(parent, n - 1)
