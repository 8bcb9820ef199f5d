"""Regions: all chosen trees inside a set of terminals replaced at once by the best choice.

What is chosen outside stays and is contracted: terminals that it connects count as one. So the
trees inside a region need not be connected, and a link may move to the far side of a long cycle.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from ....core.points import Array
from ..exact.blocks_kernels import settle
from ..exact.prune_kernels import find_root
from .window_kernels import keep_block

# A region must get shorter by this share of its length, or it stays.
LEAST = 1e-12


@njit(cache=True, nogil=True)
def solve_region(
    start: Array,
    terminals: Array,
    length: Array,
    picked: Array,
    own_first: Array,
    own: Array,
    members: Array,
    work: float,
    widest: int,
    parent: Array,
    local: Array,
) -> float:
    """Replace the chosen trees over some terminals by a shorter choice; return the saving.

    `own` are the trees by their first terminal. `parent` is scratch, `local` a scratch array of
    -1, both one for each terminal; the latter is left as it was found.
    """
    count = members.size
    for k in range(count):
        local[members[k]] = k
    ids, begin, inside, before, chosen_now = trees_inside(
        start, terminals, length, picked, own_first, own, members, local
    )  # fmt: skip
    saving = 0.0
    if chosen_now > 0 and ids.size > chosen_now:
        merged = _contracted(start, terminals, picked, members, local, parent)
        saving, chosen = chosen_anew(
            picked, length, ids, begin, inside, merged, before, work, widest
        )
        if saving > 0.0:
            for k in range(ids.size):
                picked[ids[k]] = chosen[k]
    for k in range(count):
        local[members[k]] = -1
    return saving


@njit(cache=True, nogil=True)
def trees_inside(
    start: Array,
    terminals: Array,
    length: Array,
    picked: Array,
    own_first: Array,
    own: Array,
    members: Array,
    local: Array,
) -> tuple[Array, Array, Array, float, int]:
    """Return the trees inside the region, renumbered, and length and number of the chosen ones."""
    trees, room = 0, 0
    for k in range(members.size):
        for j in range(own_first[members[k]], own_first[members[k] + 1]):
            trees += 1
            room += start[own[j] + 1] - start[own[j]]
    ids, begin = np.empty(trees, np.int64), np.empty(trees + 1, np.int64)
    inside = np.empty(room, np.int64)
    count, at, chosen, total = 0, 0, 0, 0.0
    begin[0] = 0
    for k in range(members.size):
        for j in range(own_first[members[k]], own_first[members[k] + 1]):
            f = own[j]
            whole = True
            for i in range(start[f], start[f + 1]):
                whole = whole and local[terminals[i]] >= 0
            if not whole:
                continue
            for i in range(start[f], start[f + 1]):
                inside[at] = local[terminals[i]]
                at += 1
            ids[count] = f
            count += 1
            begin[count] = at
            if picked[f]:
                chosen += 1
                total += length[f]
    return ids[:count].copy(), begin[: count + 1].copy(), inside[:at].copy(), total, chosen


@njit(cache=True, nogil=True)
def _contracted(
    start: Array, terminals: Array, picked: Array, members: Array, local: Array, parent: Array
) -> Array:
    """Return a representative for every member: those connected outside have the same."""
    for v in range(parent.size):
        parent[v] = v
    for f in range(picked.size):
        if not picked[f]:
            continue
        whole = True
        for i in range(start[f], start[f + 1]):
            whole = whole and local[terminals[i]] >= 0
        if whole:
            continue
        root = find_root(parent, terminals[start[f]])
        for i in range(start[f] + 1, start[f + 1]):
            parent[find_root(parent, terminals[i])] = root
    merged = np.empty(members.size, np.int64)
    first = np.full(parent.size, -1, np.int64)
    for k in range(members.size):
        root = find_root(parent, members[k])
        if first[root] < 0:
            first[root] = k
        merged[k] = first[root]
    return merged


@njit(cache=True, nogil=True)
def chosen_anew(
    picked: Array,
    length: Array,
    ids: Array,
    begin: Array,
    inside: Array,
    merged: Array,
    before: float,
    work: float,
    widest: int,
) -> tuple[float, Array]:
    """Choose anew inside a contracted region; return the saving, 0 where there is none, and flags.

    Blocks that are too wide stay as they are.
    """
    lengths, chosen = np.empty(ids.size), np.zeros(ids.size, np.bool_)
    for k in range(ids.size):
        lengths[k] = length[ids[k]]
    missing = -1  # joins that a tree over the representatives needs
    for k in range(merged.size):
        missing += merged[k] == k
    blocks, first, listed, at, _, sizes, solved, guess = settle(
        merged.size, begin, inside, lengths, np.ones(ids.size, np.bool_), chosen, merged, work,
        widest,
    )  # fmt: skip
    if blocks < 0:
        return 0.0, chosen
    for b in range(blocks):
        if not solved[b]:
            keep_block(
                ids, lengths, picked, at, listed, first[b], first[b + 1], sizes[b], guess, chosen
            )
    after = 0.0
    for k in range(ids.size):
        if chosen[k]:
            missing -= begin[k + 1] - begin[k] - 1
            after += lengths[k]
    if missing != 0 or not after < before * (1.0 - LEAST):
        return 0.0, chosen
    return before - after, chosen


@njit(cache=True, nogil=True)
def nearby(
    start: Array,
    terminals: Array,
    first: Array,
    lists: Array,
    seed: int,
    limit: int,
    stamp: Array,
    members: Array,
) -> int:
    """Write up to `limit` terminals around one, breadth first over the list; return how many.

    `first` and `lists` are the trees at every terminal; `stamp` holds no seed that comes later.
    """
    count, done = 1, 0
    members[0] = seed
    stamp[seed] = seed
    while done < count:
        v = members[done]
        done += 1
        for j in range(first[v], first[v + 1]):
            f = lists[j]
            for i in range(start[f], start[f + 1]):
                u = terminals[i]
                if stamp[u] != seed:
                    if count == limit:
                        return count
                    stamp[u] = seed
                    members[count] = u
                    count += 1
    return count
