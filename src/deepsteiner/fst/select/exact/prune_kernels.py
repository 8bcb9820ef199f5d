"""Reductions of a list of full Steiner trees: bottleneck test, compulsory trees, blocks.

All rules compare with alternatives made of the same list, so they keep every strictly best
concatenation of it.
"""

from typing import NamedTuple

import numpy as np

from ....core.jit import njit
from ....core.tree_kernels import find
from ...grouping_kernels import grouped
from ..hypergraph import STRICT, Bottlenecks, Distances, Flags, Floats, Hypergraph, Ints, Rows


class Components(NamedTuple):
    """What a depth-first search from a terminal finds.

    reached: the number of terminals connected with the root.
    blocks: the number of blocks.
    cut: which FSTs are cut vertices: every concatenation needs them.
    block: the block of every FST, -1 where it is not alive. Meaningful when no FST is a cut vertex:
        two blocks then share at most one terminal.
    """

    reached: int
    blocks: int
    cut: Flags
    block: Ints


class Links(NamedTuple):
    """A forest of bottleneck distances that grows link by link, and the size of every part."""

    forest: Bottlenecks
    size: Ints


class Blocks(NamedTuple):
    """The undecided part of a list, in blocks that can be solved one by one.

    number: how many blocks there are; -1 where the list does not connect the terminals.
    first: the FSTs of block b are ``trees[first[b] : first[b + 1]]``.
    trees: their indices in the list.
    begin: the terminals of ``trees[k]`` are ``local[begin[k] : begin[k + 1]]``.
    local: terminals, numbered from 0 inside each block.
    names: the vertices in ``forest`` of every block's terminals, in the order of their numbers.
    forest: bottleneck distances, with what is chosen contracted.
    """

    number: int
    first: Ints
    trees: Ints
    begin: Ints
    local: Ints
    names: Rows
    forest: Bottlenecks


@njit(cache=True)
def sorted_order(keys: Floats) -> Ints:
    """Indices that sort the keys, ties in index order (merge sort; compiles fast)."""
    order = np.arange(keys.size)
    other = np.empty_like(order)
    width = 1
    while width < keys.size:
        for low in range(0, keys.size, 2 * width):
            middle = min(low + width, keys.size)
            high = min(low + 2 * width, keys.size)
            a = low
            b = middle
            for k in range(low, high):
                if b >= high or (a < middle and keys[order[a]] <= keys[order[b]]):
                    other[k] = order[a]
                    a += 1
                else:
                    other[k] = order[b]
                    b += 1
        order, other = other, order
        width *= 2
    return order


@njit(cache=True)
def shares(graph: Hypergraph) -> Floats:
    """The length of every FST per terminal that it joins to the first."""
    keys = np.empty(graph.length.size)
    for f in range(keys.size):
        keys[f] = graph.length[f] / (graph.start[f + 1] - graph.start[f] - 1)
    return keys


@njit(cache=True)
def edge_order(graph: Hypergraph) -> Ints:
    """The two-terminal FSTs by length."""
    edges, count = np.empty(graph.length.size, np.int64), 0
    for f in range(graph.length.size):
        if graph.start[f + 1] - graph.start[f] == 2:
            edges[count] = f
            count += 1
    edges = edges[:count]
    return edges[sorted_order(graph.length[edges])]


@njit(cache=True)
def merge_tree(parent: Ints, terminals: Ints, begin: int, end: int) -> bool:
    """Join the terminals of one FST; False (and nothing joined) if two already were joined."""
    for i in range(begin, end):
        a = find(parent, terminals[i])
        for j in range(begin, i):
            if find(parent, terminals[j]) == a:
                return False
    a = find(parent, terminals[begin])
    for i in range(begin + 1, end):
        parent[find(parent, terminals[i])] = a
    return True


@njit(cache=True)
def incidence(graph: Hypergraph, alive: Flags) -> Rows:
    """The alive FSTs at every terminal."""
    n, start, terminals, _ = graph
    first = np.zeros(n + 1, np.int64)
    for f in range(alive.size):
        if alive[f]:
            for i in range(start[f], start[f + 1]):
                first[terminals[i] + 1] += 1
    for v in range(n):
        first[v + 1] += first[v]
    fill = first[:n].copy()
    items = np.empty(first[n], np.int64)
    for f in range(alive.size):
        if alive[f]:
            for i in range(start[f], start[f + 1]):
                v = terminals[i]
                items[fill[v]] = f
                fill[v] += 1
    return Rows(first, items)


@njit(cache=True)
def no_links(count: int) -> Links:
    """As many vertices that nothing joins."""
    return Links(Bottlenecks(np.arange(count), np.zeros(count)), np.ones(count, np.int64))


@njit(cache=True)
def add_link(links: Links, a: int, b: int, length: float) -> None:
    """Join the parts of two vertices, which are not joined by anything longer."""
    (parent, weight), size = links
    while parent[a] != a:
        a = parent[a]
    while parent[b] != b:
        b = parent[b]
    if a != b:
        if size[a] > size[b]:
            a, b = b, a
        parent[a] = b
        size[b] += size[a]
        weight[a] = length


@njit(cache=True)
def bottleneck_forest(graph: Hypergraph, alive: Flags, edges: Ints) -> Bottlenecks:
    """Kruskal over the alive two-terminal FSTs, given by length; each union is kept as a link.

    The longest ``weight`` on the path between two vertices in the forest is their bottleneck
    distance; union by size keeps paths logarithmic.
    """
    links = no_links(graph.n)
    for f in edges:
        if alive[f]:
            first = graph.start[f]
            add_link(links, graph.terminals[first], graph.terminals[first + 1], graph.length[f])
    return links.forest


@njit(cache=True)
def own_distances(graph: Hypergraph, alive: Flags) -> Distances:
    """Bottleneck distances of a list by its own two-terminal FSTs."""
    return Distances(bottleneck_forest(graph, alive, edge_order(graph)), np.arange(graph.n))


@njit(cache=True)
def contracted_forest(distances: Distances, merged: Ints) -> Bottlenecks:
    """The same bottleneck distances where terminals merged in a union-find forest are at none."""
    (parent, weight), names = distances
    links = no_links(parent.size)
    for v in range(merged.size):
        add_link(links, names[v], names[find(merged, v)], 0.0)
    joined = np.flatnonzero(parent != np.arange(parent.size))
    for k in sorted_order(weight[joined]):
        add_link(links, joined[k], parent[joined[k]], weight[joined[k]])
    return links.forest


@njit(cache=True)
def bottleneck(forest: Bottlenecks, a: int, b: int) -> float:
    """Bottleneck distance of two vertices; infinite when the two-terminal FSTs do not join them.

    Weights grow towards the root, so the vertex with the smaller weight climbs first.
    """
    parent, weight = forest
    longest = 0.0
    while a != b:
        wa = weight[a] if parent[a] != a else np.inf
        wb = weight[b] if parent[b] != b else np.inf
        if wa <= wb:
            if wa == np.inf:
                return np.inf
            longest = wa
            a = parent[a]
        else:
            longest = wb
            b = parent[b]
    return longest


@njit(cache=True)
def bottleneck_span(forest: Bottlenecks, vertices: Ints, near: Floats) -> float:
    """Length of the minimum spanning tree of some vertices under bottleneck distances.

    ``near`` is scratch, one for each of them.
    """
    k = vertices.size
    total = 0.0
    last = vertices[0]
    for i in range(1, k):
        near[i] = np.inf
    for _ in range(1, k):
        best = -1
        for i in range(1, k):
            if near[i] >= 0.0:
                d = bottleneck(forest, last, vertices[i])
                if d < near[i]:
                    near[i] = d
                if best < 0 or near[i] < near[best]:
                    best = i
        total += near[best]
        near[best] = -1.0
        last = vertices[best]
    return total


@njit(cache=True)
def find_blocks(graph: Hypergraph, alive: Flags, root: int) -> Components:
    """Blocks of the bipartite graph of terminals and alive FSTs, by depth-first search.

    Hopcroft and Tarjan (1973); the vertex of FST f is n + f.
    """
    n, start, terminals, _ = graph
    m = alive.size
    first, lists = incidence(graph, alive)
    seen = np.full(n + m, -1, np.int64)
    low = np.empty(n + m, np.int64)
    above = np.empty(n + m, np.int64)
    cursor = np.empty(n + m, np.int64)
    path = np.empty(m, np.int64)
    cut = np.zeros(m, np.bool_)
    block = np.full(m, -1, np.int64)
    on_path = 0
    blocks = 0
    reached = 1
    clock = 1
    node = root
    seen[root] = 0
    low[root] = 0
    above[root] = -1
    cursor[root] = first[root]
    while node >= 0:
        is_tree = node >= n
        end = start[node - n + 1] if is_tree else first[node + 1]
        if cursor[node] < end:
            other = terminals[cursor[node]] if is_tree else n + lists[cursor[node]]
            cursor[node] += 1
            if seen[other] < 0:
                seen[other] = clock
                low[other] = clock
                clock += 1
                above[other] = node
                if is_tree:
                    cursor[other] = first[other]
                    reached += 1
                else:
                    cursor[other] = start[other - n]
                    path[on_path] = other - n
                    on_path += 1
                node = other
            elif other != above[node] and seen[other] < low[node]:
                low[node] = seen[other]
            continue
        up = above[node]
        if up >= 0:
            if low[node] < low[up]:
                low[up] = low[node]
            if low[node] >= seen[up]:
                if is_tree:
                    while True:  # down to the FST itself, which is on the path
                        on_path -= 1
                        block[path[on_path]] = blocks
                        if path[on_path] == node - n:
                            break
                    blocks += 1
                else:
                    cut[up - n] = True
        node = up
    return Components(reached, blocks, cut, block)


@njit(cache=True)
def contract(graph: Hypergraph, merged: Ints, alive: Flags, contracted: Ints) -> None:
    """Rename terminals to their representatives; FSTs that would close a cycle die."""
    start = graph.start
    for f in range(alive.size):
        if not alive[f]:
            continue
        for i in range(start[f], start[f + 1]):
            v = find(merged, graph.terminals[i])
            contracted[i] = v
            for j in range(start[f], i):
                if contracted[j] == v:
                    alive[f] = False


@njit(cache=True)
def reduce_list(
    graph: Hypergraph, distances: Distances, alive: Flags, chosen: Flags, merged: Ints
) -> Blocks:
    """Apply the bottleneck test and take compulsory FSTs until nothing changes (in place).

    The test drops an FST that is longer than the minimum spanning tree of its terminals under
    bottleneck distances: two-terminal FSTs of that length could take its place in any tree. (They
    need not be alive.) ``merged`` is a union-find forest over the terminals: chosen FSTs are
    contracted in it. Returns what is left.
    """
    n, start, terminals, length = graph
    m = alive.size
    contracted = terminals.copy()
    rest = Hypergraph(n, start, contracted, length)
    vertices = distances.names[terminals]
    near = np.empty(n)
    forced = bool((merged != np.arange(n)).any())
    forest = distances.forest
    while True:  # every turn but the last takes an FST for good
        contract(graph, merged, alive, contracted)
        if forced:
            forest = contracted_forest(distances, merged)
        for f in range(m):
            if alive[f]:
                span = bottleneck_span(forest, vertices[start[f] : start[f + 1]], near)
                if length[f] > span * STRICT:
                    alive[f] = False
        pieces = 0
        for v in range(n):
            if merged[v] == v:
                pieces += 1
        found = find_blocks(rest, alive, find(merged, terminals[0]))
        spanning = found.reached == pieces
        if not spanning:
            found.block[:] = -1
        forced = False
        for f in range(m):
            if spanning and found.cut[f]:
                forced = True
                chosen[f] = True
                alive[f] = False
                merge_tree(merged, terminals, start[f], start[f + 1])
        if not forced:
            count = found.blocks if spanning else -1
            return split_blocks(rest, Distances(forest, distances.names), found.block, count)


@njit(cache=True)
def split_blocks(graph: Hypergraph, distances: Distances, block: Ints, count: int) -> Blocks:
    """Group FSTs by block (-1: none) and number each block's terminals from 0."""
    start = graph.start
    first, trees = grouped(block, max(count, 0))
    begin = np.zeros(trees.size + 1, np.int64)
    for k in range(trees.size):
        begin[k + 1] = begin[k] + start[trees[k] + 1] - start[trees[k]]
    local = np.empty(begin[trees.size], np.int64)
    named = np.empty(local.size, np.int64)
    begun = np.zeros(max(count, 0) + 1, np.int64)  # the names of every block
    number = np.empty(graph.n, np.int64)
    owner = np.full(graph.n, -1, np.int64)
    for b in range(count):
        begun[b + 1] = begun[b]
        for k in range(first[b], first[b + 1]):
            for i in range(begin[k + 1] - begin[k]):
                v = graph.terminals[start[trees[k]] + i]
                if owner[v] != b:
                    owner[v] = b
                    number[v] = begun[b + 1] - begun[b]
                    named[begun[b + 1]] = distances.names[v]
                    begun[b + 1] += 1
                local[begin[k] + i] = number[v]
    names = Rows(begun, named[: begun[-1]])
    return Blocks(count, first, trees, begin, local, names, distances.forest)


@njit(cache=True)
def list_of_block(blocks: Blocks, b: int, length: Floats) -> Hypergraph:
    """One block as a list of its own; ``length`` is that of the whole list."""
    low, high = blocks.first[b], blocks.first[b + 1]
    begin = blocks.begin[low : high + 1]
    lengths = length[blocks.trees[low:high]]
    n = blocks.names.first[b + 1] - blocks.names.first[b]
    return Hypergraph(n, begin - begin[0], blocks.local[begin[0] : begin[-1]], lengths)


@njit(cache=True)
def distances_in_block(blocks: Blocks, b: int) -> Distances:
    """Bottleneck distances between the terminals of one block."""
    names = blocks.names.items[blocks.names.first[b] : blocks.names.first[b + 1]]
    return Distances(blocks.forest, names)
