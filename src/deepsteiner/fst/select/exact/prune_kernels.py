"""Reductions of a list of full Steiner trees: bottleneck test, compulsory trees, blocks.

A list is a hypergraph: terminals are vertices, full Steiner trees (FSTs) are hyperedges in CSR form
(``start``, ``terminals``). All rules below compare with alternatives made of the same list, so they
keep every strictly best concatenation of it.
"""

import numpy as np
from numba import njit
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]

STRICT = 1.0 + 1e-12  # an alternative must be shorter by more than rounding before it wins


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
def edge_order(start: Ints, length: Floats) -> Ints:
    """The two-terminal FSTs by length."""
    edges = np.empty(length.size, np.int64)
    keys = np.empty(length.size)
    count = 0
    for f in range(length.size):
        if start[f + 1] - start[f] == 2:
            edges[count] = f
            keys[count] = length[f]
            count += 1
    order = sorted_order(keys[:count])
    for k in range(count):
        order[k] = edges[order[k]]
    return order


@njit(cache=True)
def find_root(parent: Ints, vertex: int) -> int:
    """Representative of a vertex in a union-find forest (path halving)."""
    while parent[vertex] != vertex:
        parent[vertex] = parent[parent[vertex]]
        vertex = parent[vertex]
    return vertex


@njit(cache=True)
def merge_tree(parent: Ints, terminals: Ints, begin: int, end: int) -> bool:
    """Join the terminals of one FST; False (and nothing joined) if two already were joined."""
    for i in range(begin, end):
        a = find_root(parent, terminals[i])
        for j in range(begin, i):
            if find_root(parent, terminals[j]) == a:
                return False
    a = find_root(parent, terminals[begin])
    for i in range(begin + 1, end):
        parent[find_root(parent, terminals[i])] = a
    return True


@njit(cache=True)
def incidence(n: int, start: Ints, terminals: Ints, alive: Flags) -> tuple[Ints, Ints]:
    """CSR lists of the alive FSTs at every terminal."""
    first = np.zeros(n + 1, np.int64)
    for f in range(alive.size):
        if alive[f]:
            for i in range(start[f], start[f + 1]):
                first[terminals[i] + 1] += 1
    for v in range(n):
        first[v + 1] += first[v]
    fill = first[:n].copy()
    lists = np.empty(first[n], np.int64)
    for f in range(alive.size):
        if alive[f]:
            for i in range(start[f], start[f + 1]):
                v = terminals[i]
                lists[fill[v]] = f
                fill[v] += 1
    return first, lists


@njit(cache=True)
def bottleneck_forest(
    n: int, start: Ints, terminals: Ints, length: Floats, alive: Flags, order: Ints
) -> tuple[Ints, Floats]:
    """Minimum spanning forest of the two-terminal FSTs as a shallow tree of bottlenecks.

    The longest ``weight`` on the path between two vertices in the returned forest is the bottleneck
    distance; union by size keeps paths logarithmic.
    """
    parent = np.arange(n)
    size = np.ones(n, np.int64)
    weight = np.zeros(n)
    for k in range(order.size):
        f = order[k]
        if not alive[f]:
            continue
        a = terminals[start[f]]
        b = terminals[start[f] + 1]
        while parent[a] != a:
            a = parent[a]
        while parent[b] != b:
            b = parent[b]
        if a != b:
            if size[a] > size[b]:
                a, b = b, a
            parent[a] = b
            size[b] += size[a]
            weight[a] = length[f]
    return parent, weight


@njit(cache=True)
def bottleneck(parent: Ints, weight: Floats, a: int, b: int) -> float:
    """Bottleneck distance of two vertices; infinite when the two-terminal FSTs do not join them.

    Weights grow towards the root, so the vertex with the smaller weight climbs first.
    """
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
def bottleneck_span(
    parent: Ints, weight: Floats, terminals: Ints, begin: int, end: int, near: Floats
) -> float:
    """Length of the minimum spanning tree of some terminals under bottleneck distances."""
    k = end - begin
    total = 0.0
    last = terminals[begin]
    for i in range(1, k):
        near[i] = np.inf
    for _ in range(1, k):
        best = -1
        for i in range(1, k):
            if near[i] >= 0.0:
                d = bottleneck(parent, weight, last, terminals[begin + i])
                if d < near[i]:
                    near[i] = d
                if best < 0 or near[i] < near[best]:
                    best = i
        total += near[best]
        near[best] = -1.0
        last = terminals[begin + best]
    return total


@njit(cache=True)
def find_blocks(
    n: int, start: Ints, terminals: Ints, alive: Flags, root: int
) -> tuple[int, int, Flags, Ints]:
    """Depth-first search of the bipartite terminal/FST graph from a terminal.

    Returns how many terminals were reached, the number of blocks, which FSTs are cut vertices
    (every concatenation needs them) and the block of every FST. Blocks are meaningful when no FST
    is a cut vertex: two of them then share at most one terminal.
    """
    m = alive.size
    first, lists = incidence(n, start, terminals, alive)
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
    return reached, blocks, cut, block


@njit(cache=True)
def contract(start: Ints, terminals: Ints, merged: Ints, alive: Flags, contracted: Ints) -> None:
    """Rename terminals to their representatives; FSTs that would close a cycle die."""
    for f in range(alive.size):
        if not alive[f]:
            continue
        for i in range(start[f], start[f + 1]):
            v = find_root(merged, terminals[i])
            contracted[i] = v
            for j in range(start[f], i):
                if contracted[j] == v:
                    alive[f] = False


@njit(cache=True)
def reduce_list(
    n: int,
    start: Ints,
    terminals: Ints,
    length: Floats,
    alive: Flags,
    chosen: Flags,
    merged: Ints,
) -> tuple[Ints, int, Ints]:
    """Apply the bottleneck test and take compulsory FSTs until nothing changes (in place).

    ``merged`` is a union-find forest over the terminals: chosen FSTs are contracted in it. Returns
    the contracted terminal lists, the number of blocks (-1: the list does not connect the
    terminals) and the block of every FST that is still undecided.
    """
    m = alive.size
    contracted = terminals.copy()
    widest = 2
    for f in range(m):
        widest = max(widest, start[f + 1] - start[f])
    order = edge_order(start, length)
    near = np.empty(widest)
    while True:  # every turn but the last takes an FST for good
        contract(start, terminals, merged, alive, contracted)
        parent, weight = bottleneck_forest(n, start, contracted, length, alive, order)
        for f in range(m):
            if alive[f]:
                span = bottleneck_span(parent, weight, contracted, start[f], start[f + 1], near)
                if length[f] > span * STRICT:
                    alive[f] = False
        pieces = 0
        for v in range(n):
            if merged[v] == v:
                pieces += 1
        root = find_root(merged, terminals[0])
        reached, blocks, cut, block = find_blocks(n, start, contracted, alive, root)
        if reached < pieces:
            return contracted, -1, block
        forced = False
        for f in range(m):
            if cut[f]:
                forced = True
                chosen[f] = True
                alive[f] = False
                merge_tree(merged, terminals, start[f], start[f + 1])
        if not forced:
            return contracted, blocks, block


@njit(cache=True)
def split_blocks(
    n: int, start: Ints, contracted: Ints, alive: Flags, blocks: int, block: Ints
) -> tuple[Ints, Ints, Ints, Ints, Ints]:
    """Group the undecided FSTs by block and number each block's terminals from 0.

    Returns ``first`` (blocks + 1 offsets into ``trees``), ``trees`` (FST indices), ``begin``
    (offsets of each listed FST into ``local``, one more than trees), ``local`` (terminal numbers
    inside the block) and ``sizes`` (terminals of each block).
    """
    m = alive.size
    first = np.zeros(blocks + 1, np.int64)
    total = 0
    for f in range(m):
        if alive[f]:
            first[block[f] + 1] += 1
            total += start[f + 1] - start[f]
    for b in range(blocks):
        first[b + 1] += first[b]
    fill = first[:blocks].copy()
    trees = np.empty(first[blocks], np.int64)
    for f in range(m):
        if alive[f]:
            trees[fill[block[f]]] = f
            fill[block[f]] += 1
    begin = np.zeros(trees.size + 1, np.int64)
    local = np.empty(total, np.int64)
    sizes = np.zeros(blocks, np.int64)
    number = np.empty(n, np.int64)
    owner = np.full(n, -1, np.int64)
    at = 0
    for b in range(blocks):
        for k in range(first[b], first[b + 1]):
            f = trees[k]
            for i in range(start[f], start[f + 1]):
                v = contracted[i]
                if owner[v] != b:
                    owner[v] = b
                    number[v] = sizes[b]
                    sizes[b] += 1
                local[at] = number[v]
                at += 1
            begin[k + 1] = at
    return first, trees, begin, local, sizes
