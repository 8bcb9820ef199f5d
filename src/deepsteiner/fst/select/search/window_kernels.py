"""Windows: connected parts of a tree, each replaced by the best choice of full Steiner trees.

The trees picked from a list form a tree over all terminals. Those of a window are connected, so
whatever tree over the same terminals takes their place, the whole stays a tree: windows that share
no full tree can be solved independently, in any order and at the same time.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from ....core.points import Array
from ....core.tree_kernels import find
from ..exact.blocks_kernels import settle

# A window must get shorter by this share of its length, or it stays.
LEAST = 1e-12


@njit(cache=True, nogil=True)
def by_first_terminal(n: int, start: Array, terminals: Array) -> tuple[Array, Array]:
    """Return the trees of the list whose first terminal each terminal is, in compressed rows."""
    m = start.size - 1
    first = np.zeros(n + 1, np.int64)
    for f in range(m):
        first[terminals[start[f]] + 1] += 1
    for v in range(n):
        first[v + 1] += first[v]
    fill = first[:n].copy()
    lists = np.empty(m, np.int64)
    for f in range(m):
        v = terminals[start[f]]
        lists[fill[v]] = f
        fill[v] += 1
    return first, lists


@njit(cache=True, nogil=True)
def connected_windows(
    n: int, start: Array, terminals: Array, picked: Array, cell: Array
) -> tuple[Array, Array]:
    """Return (first, trees): the picked trees by window, in compressed rows.

    A tree belongs to the cell of its first terminal; the connected parts of a cell's trees are its
    windows. A window of a single tree is left out.
    """
    m = picked.size
    parent = np.arange(m)
    # Trees at a terminal join the last one seen there from the same cell.
    last = np.full(n, -1, np.int64)
    by_cell = np.argsort(cell, kind="mergesort")
    own_first, own = by_first_terminal(n, start, terminals)
    for k in range(n):
        v = by_cell[k]
        for j in range(own_first[v], own_first[v + 1]):
            f = own[j]
            if not picked[f]:
                continue
            for i in range(start[f], start[f + 1]):
                u = terminals[i]
                if last[u] >= 0 and cell[terminals[start[last[u]]]] == cell[v]:
                    parent[find(parent, f)] = find(parent, last[u])
                last[u] = f
    size = np.zeros(m, np.int64)
    for f in range(m):
        if picked[f]:
            size[find(parent, f)] += 1
    number = np.full(m, -1, np.int64)
    first = np.zeros(m + 1, np.int64)
    count = 0
    # Windows are numbered cell by cell: neighbours in the list are neighbours in the plane.
    for k in range(n):
        v = by_cell[k]
        for j in range(own_first[v], own_first[v + 1]):
            f = own[j]
            root = find(parent, f)
            if picked[f] and size[root] > 1 and number[root] < 0:
                number[root] = count
                first[count + 1] = first[count] + size[root]
                count += 1
    fill = first[:count].copy()
    trees = np.empty(first[count], np.int64)
    for f in range(m):
        if picked[f]:
            w = number[find(parent, f)]
            if w >= 0:
                trees[fill[w]] = f
                fill[w] += 1
    return first[: count + 1].copy(), trees


@njit(cache=True, nogil=True)
def solve_windows(
    start: Array,
    terminals: Array,
    length: Array,
    picked: Array,
    own_first: Array,
    own: Array,
    first: Array,
    trees: Array,
    low: int,
    high: int,
    work_limit: float,
    widest: int,
    local: Array,
    saved: Array,
) -> None:
    """Solve the windows low..high-1 in place; write what each saved.

    `local` is a scratch array of -1, one for each terminal, left as it was found.
    """
    for w in range(low, high):
        saved[w] = _solve_window(
            start, terminals, length, picked, own_first, own, trees[first[w] : first[w + 1]],
            work_limit, widest, local,
        )  # fmt: skip


@njit(cache=True, nogil=True)
def _solve_window(
    start: Array,
    terminals: Array,
    length: Array,
    picked: Array,
    own_first: Array,
    own: Array,
    trees: Array,
    work_limit: float,
    widest: int,
    local: Array,
) -> float:
    """Replace a window's trees by a shorter choice, if there is one; return the saving."""
    room = 1
    before = 0.0
    for k in range(trees.size):
        room += start[trees[k] + 1] - start[trees[k]] - 1
        before += length[trees[k]]
    members = np.empty(room, np.int64)
    count = 0
    for k in range(trees.size):
        for i in range(start[trees[k]], start[trees[k] + 1]):
            v = terminals[i]
            if local[v] < 0:
                local[v] = count
                members[count] = v
                count += 1
    ids, begin, inside = _trees_inside(start, terminals, own_first, own, members, local)
    for k in range(count):
        local[members[k]] = -1
    if ids.size <= trees.size:
        return 0.0
    lengths = np.empty(ids.size)
    for k in range(ids.size):
        lengths[k] = length[ids[k]]
    chosen = np.zeros(ids.size, np.bool_)
    blocks, block_first, listed, at, _, sizes, solved, guess = settle(
        count, begin, inside, lengths, np.ones(ids.size, np.bool_), chosen, np.arange(count),
        work_limit, widest,
    )  # fmt: skip
    if blocks < 0:
        return 0.0
    for b in range(blocks):
        if not solved[b]:
            keep_block(
                ids, lengths, picked, at, listed, block_first[b], block_first[b + 1], sizes[b],
                guess, chosen,
            )  # fmt: skip
    after = 0.0
    missing = count - 1  # a block too wide to solve may have come back without a tree
    for k in range(ids.size):
        if chosen[k]:
            after += lengths[k]
            missing -= begin[k + 1] - begin[k] - 1
    if missing > 0 or not after < before * (1.0 - LEAST):
        return 0.0
    for k in range(trees.size):
        picked[trees[k]] = False
    for k in range(ids.size):
        if chosen[k]:
            picked[ids[k]] = True
    return before - after


@njit(cache=True, nogil=True)
def keep_block(
    ids: Array,
    lengths: Array,
    picked: Array,
    at: Array,
    listed: Array,
    low: int,
    high: int,
    size: int,
    guess: Array,
    chosen: Array,
) -> None:
    """Choose for a block too wide to solve: its trees picked so far, or the guess if shorter.

    Trees that the reduction has ruled out may be missing from the block: then only the guess
    spans it.
    """
    missing, missed, now, then = size - 1, size - 1, 0.0, 0.0
    for k in range(low, high):
        joins = at[k + 1] - at[k] - 1
        if picked[ids[listed[k]]]:
            missing -= joins
            now += lengths[listed[k]]
        if guess[k]:
            missed -= joins
            then += lengths[listed[k]]
    keep = missing == 0 and (missed > 0 or now <= then)
    for k in range(low, high):
        chosen[listed[k]] = picked[ids[listed[k]]] if keep else guess[k]


@njit(cache=True, nogil=True)
def _trees_inside(
    start: Array, terminals: Array, own_first: Array, own: Array, members: Array, local: Array
) -> tuple[Array, Array, Array]:
    """Return the trees of the list all of whose terminals are in the window, renumbered."""
    trees, room = 0, 0
    for k in range(members.size):
        v = members[k]
        for j in range(own_first[v], own_first[v + 1]):
            trees += 1
            room += start[own[j] + 1] - start[own[j]]
    ids, begin = np.empty(trees, np.int64), np.empty(trees + 1, np.int64)
    inside = np.empty(room, np.int64)
    count, at = 0, 0
    begin[0] = 0
    for k in range(members.size):
        v = members[k]
        for j in range(own_first[v], own_first[v + 1]):
            f = own[j]
            whole = True
            for i in range(start[f], start[f + 1]):
                whole = whole and local[terminals[i]] >= 0
            if whole:
                for i in range(start[f], start[f + 1]):
                    inside[at] = local[terminals[i]]
                    at += 1
                ids[count] = f
                count += 1
                begin[count] = at
    return ids[:count].copy(), begin[: count + 1].copy(), inside[:at].copy()
