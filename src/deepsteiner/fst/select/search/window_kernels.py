"""Windows: connected parts of a tree, each replaced by the best choice of full Steiner trees.

The trees picked from a list form a tree over all terminals. Those of a window are connected, so
whatever tree over the same terminals takes their place, the whole stays a tree: windows that share
no full tree can be solved independently, in any order and at the same time.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ....core.jit import njit
from ....core.tree_kernels import find
from ...grouping_kernels import grouped
from ..exact.blocks_kernels import total_length
from ..exact.prune_kernels import (
    distances_in_block,
    list_of_block,
    merge_tree,
    own_distances,
    reduce_list,
)
from ..exact.subset_kernels import SUBSET_LIMIT, greedy_tree, share_order
from ..hypergraph import LEAST, Budget, Flags, Floats, Hypergraph, Ints, Rows
from .beam_kernels import improve_block


class Selection(NamedTuple):
    """A list and what is picked from it.

    graph: the list.
    own: the trees whose first terminal each terminal is, see `by_first_terminal`.
    picked: which trees are picked; they form a tree over all terminals.
    """

    graph: Hypergraph
    own: Rows
    picked: Flags


@njit(cache=True, nogil=True)
def by_first_terminal(graph: Hypergraph) -> Rows:
    """Return the trees of the list whose first terminal each terminal is."""
    return grouped(graph.terminals[graph.start[:-1]], graph.n)


@njit(cache=True, nogil=True)
def connected_windows(graph: Hypergraph, picked: Flags, cell: Ints) -> Rows:
    """Return the picked trees by window.

    A tree belongs to the cell of its first terminal; the connected parts of a cell's trees are its
    windows. A window of a single tree is left out.
    """
    n, start, terminals, _ = graph
    m = picked.size
    parent = np.arange(m)
    # Trees at a terminal join the last one seen there from the same cell.
    last = np.full(n, -1, np.int64)
    by_cell = np.argsort(cell, kind="mergesort")
    own_first, own = by_first_terminal(graph)
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
    count = 0
    # Windows are numbered cell by cell: neighbours in the list are neighbours in the plane.
    for k in range(n):
        v = by_cell[k]
        for j in range(own_first[v], own_first[v + 1]):
            f = own[j]
            root = find(parent, f)
            if picked[f] and size[root] > 1 and number[root] < 0:
                number[root] = count
                count += 1
    window = np.full(m, -1, np.int64)
    for f in range(m):
        if picked[f]:
            window[f] = number[find(parent, f)]
    return grouped(window, count)


@njit(cache=True, nogil=True)
def solve_windows(
    selection: Selection, windows: Rows, low: int, high: int, budget: Budget, local: Ints,
    saved: Floats,
) -> None:  # fmt: skip
    """Solve the windows low..high-1 in place; write what each saved.

    `local` is a scratch array of -1, one for each terminal, left as it was found.
    """
    for w in range(low, high):
        trees = windows.items[windows.first[w] : windows.first[w + 1]]
        saved[w] = _solve_window(selection, trees, budget, local)


@njit(cache=True, nogil=True)
def _solve_window(selection: Selection, trees: Ints, budget: Budget, local: Ints) -> float:
    """Replace the trees of one window, all that are picked inside, by a shorter choice."""
    _, start, terminals, _ = selection.graph
    room = 1
    for f in trees:
        room += start[f + 1] - start[f] - 1
    members = np.empty(room, np.int64)
    count = 0
    for f in trees:
        for i in range(start[f], start[f + 1]):
            v = terminals[i]
            if local[v] < 0:
                local[v] = count
                members[count] = v
                count += 1
    ids, inner = list_inside(selection, members, local)
    for v in members:
        local[v] = -1
    saving, chosen = choose_anew(selection.picked[ids], inner, np.arange(count), budget)
    if saving > 0.0:
        for k in range(ids.size):
            selection.picked[ids[k]] = chosen[k]
    return saving


@njit(cache=True, nogil=True)
def list_inside(selection: Selection, members: Ints, local: Ints) -> tuple[Ints, Hypergraph]:
    """Return the trees that lie inside some terminals, and these as a list of their own.

    `local` numbers the members from 0, in order; all other terminals have -1.
    """
    graph, own = selection.graph, selection.own
    trees, room = 0, 0
    for v in members:
        for j in range(own.first[v], own.first[v + 1]):
            trees += 1
            room += graph.start[own.items[j] + 1] - graph.start[own.items[j]]
    ids, begin = np.empty(trees, np.int64), np.zeros(trees + 1, np.int64)
    inside = np.empty(room, np.int64)
    count, at = 0, 0
    for v in members:
        for j in range(own.first[v], own.first[v + 1]):
            f = own.items[j]
            if is_inside(graph, f, local):
                for i in range(graph.start[f], graph.start[f + 1]):
                    inside[at] = local[graph.terminals[i]]
                    at += 1
                ids[count] = f
                count += 1
                begin[count] = at
    ids = ids[:count].copy()
    return ids, Hypergraph(members.size, begin[: count + 1], inside[:at], graph.length[ids])


@njit(cache=True, nogil=True)
def is_inside(graph: Hypergraph, f: int, local: Ints) -> bool:
    """Whether all terminals of a tree have a local number."""
    inside = True
    for i in range(graph.start[f], graph.start[f + 1]):
        inside = inside and local[graph.terminals[i]] >= 0
    return inside


@njit(cache=True, nogil=True)
def choose_anew(now: Flags, inner: Hypergraph, merged: Ints, budget: Budget) -> tuple[float, Flags]:
    """Choose anew from a list; return the saving, 0 where there is none, and the choice.

    `now` flags the present choice. `merged` gives a representative of every terminal: terminals
    connected from outside have the same. Blocks that are too wide are searched by a beam, if there
    is one in the budget, or stay as they are.
    """
    chosen = np.zeros(now.size, np.bool_)
    if now.all() or not now.any():
        return 0.0, chosen
    missing = -1  # joins that a tree over the representatives needs
    for k in range(merged.size):
        missing += merged[k] == k
    every = np.ones(now.size, np.bool_)
    blocks = reduce_list(inner, own_distances(inner, every), every, chosen, merged)
    if blocks.number < 0:
        return 0.0, chosen
    for b in range(blocks.number):
        own = blocks.trees[blocks.first[b] : blocks.first[b + 1]]
        block, picked = list_of_block(blocks, b, inner.length), now[own]
        known = known_tree(block, picked)
        if known == np.inf and block.n > SUBSET_LIMIT:
            return 0.0, chosen
        improve_block(block, distances_in_block(blocks, b), known, budget, picked)
        chosen[own] = picked
    for k in range(now.size):
        if chosen[k]:
            missing -= inner.start[k + 1] - inner.start[k] - 1
    before, after = total_length(inner.length, now), total_length(inner.length, chosen)
    # A block too wide to solve may have come back without a tree.
    if missing != 0 or not after < before * (1.0 - LEAST):
        return 0.0, chosen
    return before - after, chosen


@njit(cache=True, nogil=True)
def known_tree(block: Hypergraph, picked: Flags) -> float:
    """Return the length of a known tree of a block: the picked one, or a greedy one if shorter.

    Trees that the reduction has ruled out may be missing from the picked ones. `picked` becomes
    the shorter tree; nothing is picked where neither spans, and the length is infinite.
    """
    missing, old, parent = block.n - 1, 0.0, np.arange(block.n)
    for f in range(picked.size):
        if picked[f] and merge_tree(parent, block.terminals, block.start[f], block.start[f + 1]):
            missing -= block.start[f + 1] - block.start[f] - 1
            old += block.length[f]
        elif picked[f]:
            old = np.inf
    guess = np.zeros_like(picked)
    new = greedy_tree(block, share_order(block), guess)
    if missing == 0 and old <= new:
        return old
    for f in range(guess.size):
        picked[f] = guess[f]
    return new
