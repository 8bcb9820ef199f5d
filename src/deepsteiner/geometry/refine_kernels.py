"""Refinement: relax a tree and repair its topology until it is a strict, locally best tree.

Working arrays have room for the largest tree that can occur: at most max(n, s) Steiner points. The
first `count` rows of `steiner` and the first n + count - 1 rows of `edges` are in use.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ..core.jit import njit
from ..core.points import Array
from ..core.tree_kernels import find
from .relax_component_kernels import ITERATED, NODE, Solved, kernel, step
from .relax_tree_kernels import Adjacency, PlacedTree, adjacency, copy_rows, solve_at

EPSILON = 2.220446049250313e-16
ROUNDING = 64 * EPSILON  # times the largest coordinate: positions closer than this are equal
COLLAPSE = 1e-8  # times the mean edge length: iterated edges up to this are collapsed
DOUBTFUL = 1e-5  # times the mean edge length: how slowly a collapsing edge may have shrunk
NEGLIGIBLE = 1e-9  # times the next longer edge at a Steiner point: contracted without loss
ANGLE_SLACK = 1e-7  # cosine above that of 120 degrees at which a vertex is split
ROUGH_ANGLE_SLACK = 1e-3  # the same while contracted components still await their new solution


class TreeBatch(NamedTuple):
    """B trees over n terminals each, packed.

    Tree b owns the Steiner points steiner_start[b]:steiner_start[b + 1] and, since it has n - 1
    more edges than those, the edges from steiner_start[b] + b (n - 1) on. `terminals` is (B, n, 2).
    """

    terminals: Array
    steiner_start: Array
    steiner: Array
    edges: Array


class RefinedRows(NamedTuple):
    """Where refined trees are written, tree b to row b.

    steiner (B, room, 2), edges (B, n + room, 2) and counts (B,), the Steiner points of each tree,
    where room is at least n and the number of Steiner points of any tree given.
    """

    steiner: Array
    edges: Array
    counts: Array


@kernel
def _merge(tree: PlacedTree, count: int, target: Array) -> int:
    """Merge every vertex into its target and renumber; return the new number of Steiner points."""
    terminals, steiner, edges, pending, _ = tree
    n = terminals.shape[0]
    fresh = np.arange(n + count)
    kept = 0
    for v in range(n, n + count):
        if target[v] == v:
            fresh[v] = n + kept
            steiner[kept, 0] = steiner[v - n, 0]
            steiner[kept, 1] = steiner[v - n, 1]
            pending[kept] = pending[v - n]
            kept += 1
    used = 0
    for e in range(n + count - 1):
        a = find(target, edges[e, 0])
        b = find(target, edges[e, 1])
        if a == b:
            continue
        changed = a != edges[e, 0] or b != edges[e, 1]
        edges[used, 0] = fresh[a]
        edges[used, 1] = fresh[b]
        for end in range(2):
            if changed and edges[used, end] >= n:
                pending[edges[used, end] - n] = True
        used += 1
    return kept


@kernel
def prune(tree: PlacedTree, count: int) -> int:
    """Remove Steiner points of degree 1, then splice those of degree 2; return the new count."""
    edges, n = tree.edges, tree.terminals.shape[0]
    vertex_count = n + count
    degree = np.zeros(vertex_count, np.int64)
    others = np.zeros(vertex_count, np.int64)  # exclusive or of the neighbours
    target = np.arange(vertex_count)
    for e in range(vertex_count - 1):
        a = edges[e, 0]
        b = edges[e, 1]
        degree[a] += 1
        degree[b] += 1
        others[a] ^= b
        others[b] ^= a
    changed = False
    for first in range(n, vertex_count):
        v = first
        while v >= n and degree[v] == 1:
            u = others[v]
            target[v] = u
            degree[v] = 0
            degree[u] -= 1
            others[u] ^= v
            changed = True
            v = u
    for e in range(vertex_count - 1):
        a = edges[e, 0]
        b = edges[e, 1]
        if degree[a] == 0 or degree[b] == 0:
            continue
        if a >= n and degree[a] == 2 and target[a] == a:
            target[a] = b
            changed = True
        elif b >= n and degree[b] == 2 and target[b] == b:
            target[b] = a
            changed = True
    return _merge(tree, count, target) if changed else count


@kernel
def _place(terminals: Array, steiner: Array, v: int) -> tuple[float, float]:
    """Return the coordinates of a vertex."""
    n = terminals.shape[0]
    if v < n:
        return terminals[v, 0], terminals[v, 1]
    return steiner[v - n, 0], steiner[v - n, 1]


@kernel
def contract(tree: PlacedTree, count: int, reach: Array) -> int:
    """Contract collapsed edges, Steiner points into terminals first; return the new count."""
    terminals, steiner, edges, _, _ = tree
    n = terminals.shape[0]
    target = np.arange(n + count)
    changed = False
    for e in range(n + count - 1):
        a = edges[e, 0]
        b = edges[e, 1]
        if a < n and b < n:
            continue
        limit = min(reach[a - n] if a >= n else math.inf, reach[b - n] if b >= n else math.inf)
        ax, ay = _place(terminals, steiner, a)
        bx, by = _place(terminals, steiner, b)
        if math.hypot(ax - bx, ay - by) > limit:
            continue
        a = find(target, a)
        b = find(target, b)
        if a < n and b < n:
            continue  # a Steiner point on top of two equal terminals: they keep an edge
        target[max(a, b)] = min(a, b)
        changed = True
    return _merge(tree, count, target) if changed else count


@step
def _tightest_pair(
    tree: PlacedTree, incident: Array, v: int, slack: float, resolution: float
) -> tuple[int, int]:
    """Return positions i < j of two edges that enclose the smallest angle at v, or (-1, -1).

    `incident` holds the edges at v; only angles below 120 degrees - slack count.
    """
    terminals, steiner, edges, _, _ = tree
    x, y = _place(terminals, steiner, v)
    best_i = -1
    best_j = -1
    best = 0.0
    for i in range(incident.size):
        e = incident[i]
        ax, ay = _place(terminals, steiner, edges[e, 0] + edges[e, 1] - v)
        ax -= x
        ay -= y
        a = math.sqrt(ax * ax + ay * ay)
        for j in range(i + 1, incident.size):
            e = incident[j]
            bx, by = _place(terminals, steiner, edges[e, 0] + edges[e, 1] - v)
            bx -= x
            by -= y
            b = math.sqrt(bx * bx + by * by)
            shorter = min(a, b)
            if shorter <= resolution:
                continue
            # Rounding of the coordinates alone turns an edge by resolution / length.
            excess = (ax * bx + ay * by) / (a * b) + 0.5 - slack - resolution / shorter
            if excess > best:
                best = excess
                best_i = i
                best_j = j
    return best_i, best_j


@kernel
def _insert(tree: PlacedTree, new: int, v: int, one: int, two: int) -> None:
    """Join v and the far ends of its edges `one` and `two` by the new Steiner vertex `new`."""
    terminals, steiner, edges, pending, _ = tree
    n = terminals.shape[0]
    x, y = _place(terminals, steiner, v)
    a = edges[one, 0] + edges[one, 1] - v
    b = edges[two, 0] + edges[two, 1] - v
    ax, ay = _place(terminals, steiner, a)
    bx, by = _place(terminals, steiner, b)
    to_a = math.hypot(ax - x, ay - y)
    to_b = math.hypot(bx - x, by - y)
    stride = 0.25 * min(to_a, to_b)
    steiner[new - n, 0] = x + stride * ((ax - x) / to_a + (bx - x) / to_b)
    steiner[new - n, 1] = y + stride * ((ay - y) / to_a + (by - y) / to_b)
    pending[new - n] = True
    for e, other in ((one, a), (two, b), (new - 1, v)):
        edges[e, 0] = other
        edges[e, 1] = new


@kernel
def split(tree: PlacedTree, count: int, slack: float, resolution: float) -> int:
    """Insert Steiner points at vertices with an angle below 120 degrees; return the new count.

    Terminals with two or more edges and Steiner points with four or more are looked at, the two
    tightest edges first.
    """
    n = tree.terminals.shape[0]
    vertex_count = n + count
    start, incident = adjacency(tree.edges, vertex_count - 1, vertex_count)
    for v in range(vertex_count):
        low = start[v]
        high = start[v + 1]
        while high - low >= (2 if v < n else 4):
            i, j = _tightest_pair(tree, incident[low:high], v, slack, resolution)
            if i < 0:
                break
            new = n + count
            _insert(tree, new, v, incident[low + i], incident[low + j])
            count += 1
            high -= 1
            incident[low + i] = new - 1
            incident[low + j] = incident[high]
    return count


@kernel
def _collapse_length(
    nodes: Array, count: int, full: bool, solved: Solved, resolution: float
) -> float:
    """Up to which length an edge of the component just solved counts as collapsed."""
    if solved.how != ITERATED:
        return resolution
    mean = solved.length / (count - 1)
    shortest = math.inf
    for i in range(1, count):
        shortest = min(shortest, abs(nodes[i].best - nodes[nodes[i].parent].best))
    limit = max(COLLAPSE * mean, resolution)
    # A full topology without closed form has a collapsed edge, however slowly it shrinks; the
    # edges next to it may be just as slow.
    if full and shortest <= DOUBTFUL * mean:
        limit = max(limit, 100.0 * shortest)
    return limit


@step
def _second_shortest(tree: PlacedTree, around: Adjacency, v: int) -> float:
    """Return the length of the second shortest edge at v."""
    terminals, steiner, edges, _, _ = tree
    x, y = _place(terminals, steiner, v)
    shortest = math.inf
    second = math.inf
    for k in range(around.start[v], around.start[v + 1]):
        e = around.incident[k]
        ax, ay = _place(terminals, steiner, edges[e, 0] + edges[e, 1] - v)
        length = math.hypot(ax - x, ay - y)
        second = min(second, max(length, shortest))
        shortest = min(shortest, length)
    return second


@step
def _relax_pending(tree: PlacedTree, count: int, reach: Array, resolution: float) -> None:
    """Solve the components that hold a pending Steiner point.

    reach[s] becomes the length up to which an edge at Steiner point s counts as collapsed.
    """
    edges, nodes, n = tree.edges, tree.nodes, tree.terminals.shape[0]
    around = adjacency(edges, n + count - 1, n + count)
    start, incident = around
    reach[:count] = -1.0
    for s in range(count):
        if not tree.pending[s]:
            continue
        # Walk outwards to a terminal; every Steiner point on the way has another edge to leave by.
        above = -1
        v = n + s
        while v >= n:
            e = incident[start[v]]
            if edges[e, 0] + edges[e, 1] - v == above:
                e = incident[start[v] + 1]
            above = v
            v = edges[e, 0] + edges[e, 1] - v
        size, full, solved = solve_at(tree, around, v, above)
        limit = _collapse_length(nodes, size, full, solved, resolution)
        for i in range(size):
            v = nodes[i].vertex
            if v >= n:
                reach[v - n] = max(limit, NEGLIGIBLE * _second_shortest(tree, around, v))


@kernel
def _refine_in_place(
    terminals: Array, steiner: Array, count: int, edges: Array, max_rounds: int
) -> tuple[int, int]:
    """Refine the tree in the working arrays; return (number of Steiner points, rounds)."""
    room = steiner.shape[0]
    reach, nodes = np.empty(room), np.empty(terminals.shape[0] + room, NODE)
    tree = PlacedTree(terminals, steiner, edges, np.full(room, True), nodes)
    largest = 0.0
    for i in range(terminals.shape[0]):
        largest = max(largest, abs(terminals[i, 0]), abs(terminals[i, 1]))
    resolution = ROUNDING * largest
    count = prune(tree, count)
    rounds = 0
    while True:  # max_rounds ends it: rounding could contract and split the same edge for ever
        rounds += 1
        _relax_pending(tree, count, reach, resolution)
        if rounds > max_rounds:  # what was contracted last has its best places
            return count, max_rounds
        before = count
        count = prune(tree, contract(tree, count, reach))
        changed = count < before
        # One edge contracted and split in turn uses up any number of rounds: halfway the contracted
        # components are solved first, which shows whether their other edges collapse too.
        if rounds < max_rounds and not (changed and 2 * rounds == max_rounds):
            before = count
            count = split(tree, count, ROUGH_ANGLE_SLACK if changed else ANGLE_SLACK, resolution)
            changed |= count > before
        if not changed:
            return count, rounds


@kernel
def refine_tree(
    terminals: Array, steiner: Array, edges: Array, max_rounds: int
) -> tuple[Array, Array, int]:
    """Return (steiner, edges, rounds): a strict tree that is locally best around the given one.

    terminals (n, 2) float64, steiner (s, 2) float64, edges (n + s - 1, 2) int64 forming a tree;
    nothing is changed.
    """
    n = terminals.shape[0]
    count = steiner.shape[0]
    room = max(n, count)
    points = np.empty((room, 2))
    links = np.empty((n + room, 2), np.int64)
    copy_rows(steiner, points, count)
    copy_rows(edges, links, n + count - 1)
    count, rounds = _refine_in_place(terminals, points, count, links, max_rounds)
    return points[:count].copy(), links[: n + count - 1].copy(), rounds


@njit(cache=True, error_model="numpy", nogil=True)
def refine_trees(
    trees: TreeBatch, max_rounds: int, rows: RefinedRows, first: int, last: int
) -> None:
    """Refine the trees first..last-1 of a batch.

    Runs without the interpreter lock, so threads can share a batch.
    """
    n = trees.terminals.shape[1]
    for b in range(first, last):
        low = trees.steiner_start[b]
        count = trees.steiner_start[b + 1] - low
        points, links = rows.steiner[b], rows.edges[b]
        copy_rows(trees.steiner[low:], points, count)
        copy_rows(trees.edges[low + b * (n - 1) :], links, n + count - 1)
        rows.counts[b] = _refine_in_place(trees.terminals[b], points, count, links, max_rounds)[0]
