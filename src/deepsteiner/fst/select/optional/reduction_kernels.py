"""What a list with optional nodes comes to before anything is searched: needed trees, blocks.

Think of the graph whose vertices are nodes and trees, joined where a node is in a tree. A solution
is a part of it that is a tree and has all terminals. Let a vertex cut it in two.

- One side without terminals, beyond an optional node or a terminal: a solution has nothing there.
  The trees that it takes there, with that vertex, form a tree in this graph, one with two leaves at
  least; a leaf is no list's tree, which has two nodes, nor an optional node, which is of use only
  where two trees meet. Beyond one of the list's trees, the same says that this one is taken by no
  solution.
- A terminal, with terminals on both sides: a path of the solution between two vertices of one side
  does not leave it, for it would pass the terminal twice. So the solution on each side, with the
  terminal, is a solution there, and any two such make a solution: the sides are problems of their
  own. For an optional node this is not so, as it may be left out where a terminal may not; but:
- An optional node, with terminals on both sides: they are connected through it alone, so every
  solution has it. From now on it is a terminal, and then the sides are problems of their own. Rules
  about how edges meet there hold for both sides together, and not for one.
- A tree of the list, with terminals on both sides: every solution takes it. It is taken, its nodes
  become one, a terminal, and trees with two nodes of it are out. (What this forgets is that its
  optional nodes need a second tree. Solutions of what is left are looked through for that.)
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ....core.jit import njit
from ....core.tree_kernels import find
from ..exact.prune_kernels import Blocks, contract, incidence, merge_tree, no_links, split_blocks
from ..hypergraph import Distances, Flags, Hypergraph, Ints
from .turn_kernels import Turns, peel


class Sifted(NamedTuple):
    """What one search says of a list.

    reached: whether all terminals are connected.
    fewer: whether trees were dropped.
    needed: trees that every solution takes.
    blocks, block: the number of blocks and the block of every tree, -1 where it is not alive; to be
        used where no tree was dropped or is needed.
    """

    reached: bool
    fewer: bool
    needed: Flags
    blocks: int
    block: Ints


@njit(cache=True)
def sift(graph: Hypergraph, alive: Flags, optional: Flags, root: int) -> Sifted:
    """Search depth first from a terminal; drop trees that are of no use, find those needed.

    Blocks as in Hopcroft and Tarjan (1973); tree f is vertex n + f. Optional nodes that every
    solution has become terminals. Nodes without trees are nobody's: only those of trees count.
    """
    n, start, terminals, _ = graph
    m = alive.size
    first, lists = incidence(graph, alive)
    seen = np.full(n + m, -1, np.int64)
    low, above = np.empty(n + m, np.int64), np.empty(n + m, np.int64)
    cursor = np.empty(n + m, np.int64)
    below = np.zeros(n + m, np.int64)  # terminals at or below each vertex
    path = np.empty(m, np.int64)
    needed = np.zeros(m, np.bool_)
    block = np.full(m, -1, np.int64)
    before = alive.sum()
    on_path = blocks = 0
    clock = 1
    node = root
    seen[root] = low[root] = 0
    above[root] = -1
    cursor[root] = first[root]
    while node >= 0:
        is_tree = node >= n
        end = start[node - n + 1] if is_tree else first[node + 1]
        if cursor[node] < end:
            other = terminals[cursor[node]] if is_tree else n + lists[cursor[node]]
            cursor[node] += 1
            if seen[other] < 0:
                seen[other] = low[other] = clock
                clock += 1
                above[other] = node
                if is_tree:
                    cursor[other] = first[other]
                else:
                    cursor[other] = start[other - n]
                    path[on_path] = other - n
                    on_path += 1
                node = other
            elif other != above[node] and seen[other] < low[node]:
                low[node] = seen[other]
            continue
        if not is_tree:
            below[node] += not optional[node]
        up = above[node]
        if up >= 0:
            low[up] = min(low[up], low[node])
            below[up] += below[node]
            if low[node] >= seen[up] and up >= n:
                if below[node] > 0:
                    needed[up - n] = True
                else:
                    alive[up - n] = False  # and what is below will not be reached
            elif low[node] >= seen[up]:
                used = below[node] > 0
                while True:  # down to the tree itself, which is on the path
                    on_path -= 1
                    f = path[on_path]
                    block[f] = blocks
                    alive[f] &= used
                    if f == node - n:
                        break
                blocks += 1
                if used:
                    optional[up] = False
        node = up
    reached = True
    for f in range(m):
        own = terminals[start[f] : start[f + 1]]
        if alive[f] and seen[n + f] < 0:
            alive[f] = False
            for v in own:
                reached &= bool(optional[v])
    return Sifted(reached, alive.sum() < before, needed, blocks, block)


@njit(cache=True)
def reduced(
    graph: Hypergraph, alive: Flags, chosen: Flags, merged: Ints, optional: Flags, turns: Turns
) -> Blocks:
    """Peel, sift and take trees until nothing changes (in place); returns what is left, in blocks.

    `merged` is a union-find forest of nodes that are connected already; what is chosen is merged in
    it. The number of blocks is -1 where the list does not connect the terminals.
    """
    n, start, terminals, length = graph
    contracted = terminals.copy()
    rest = Hypergraph(n, start, contracted, length)
    lonely = Distances(no_links(n).forest, np.arange(n))
    root = 0
    while optional[root]:
        root += 1
    while True:
        contract(graph, merged, alive, contracted)
        for v in range(n):
            optional[find(merged, v)] &= optional[v]
        peel(rest, alive, optional, turns)
        found = sift(rest, alive, optional, find(merged, root))
        if not found.reached:
            break
        if found.fewer:
            continue
        if not found.needed.any():
            break
        for f in np.flatnonzero(found.needed):
            chosen[f] = True
            alive[f] = False
            merge_tree(merged, terminals, start[f], start[f + 1])
            optional[terminals[start[f] : start[f + 1]]] = False
    touched = np.zeros(n, np.bool_)
    for f in np.flatnonzero(alive):
        touched[contracted[start[f] : start[f + 1]]] = True
    whole = found.reached
    for v in range(n):
        r = find(merged, v)
        apart = r != find(merged, root) and not touched[r]
        whole &= bool(optional[r]) or not apart
    if not whole:
        found.block[:] = -1
    return split_blocks(rest, lonely, found.block, found.blocks if whole else -1)
