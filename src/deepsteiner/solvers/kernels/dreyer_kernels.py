"""Kernels of Dreyer and Overton's incremental heuristic."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...core.jit import njit
from ...core.points import Array
from ...geometry.relax_component_kernels import NODE, solve_component
from ...geometry.relax_tree_kernels import put_tree
from ...geometry.spanning_kernels import spanning_tree
from ...geometry.vector_kernels import fermat_point, points_of, with_room
from ...run.method import TreeRows
from .walk_kernels import Walk, breadth_first

# How far from a nearby terminal, in edges, an edge is still tried.
HOPS = 3
# The edges whose local optimum is computed: the best by the three-point estimate.
TRIES = 4


class HalfEdgeTree(NamedTuple):
    """A growing tree, and room to work on it; every Steiner point has degree 3.

    Attributes
    ----------
    places
        (2n,) terminals 0..n-1, Steiner points from n on, as complex numbers.
    ends
        (2n, 2) the two ends of each edge.
    head, after
        Lists of half-edges: half-edge 2 e + k belongs to vertex ends[e, k], head[v] is the first
        one at v and after[h] the next one at the same vertex (-1: none).
    sizes
        (2,) number of points in use (n and the Steiner points) and of edges.
    marks
        (2n,) which terminal an edge was last listed for.
    nodes, via
        The full component at work, as NODE records, and the edge from each to its parent.
    """

    places: Array
    ends: Array
    head: Array
    after: Array
    sizes: Array
    marks: Array
    nodes: Array
    via: Array


class Joint(NamedTuple):
    """How a terminal t joins an edge by the best point of the three.

    Attributes
    ----------
    growth
        By how much the tree gets longer; infinite where it cannot be.
    place
        The point.
    corner
        Whether the point is the edge's first end (0), the second (1), t itself (2) or none (-1).
    """

    growth: float
    place: complex
    corner: int


@njit(cache=True)
def begin(terminals: Array, order: Array) -> HalfEdgeTree:
    """Return the tree of the first two terminals."""
    n = terminals.shape[0]
    places = with_room(terminals, 2 * n)
    ends = np.empty((2 * n, 2), dtype=np.int64)
    head, after = np.full(2 * n, -1, dtype=np.int64), np.full(4 * n, -1, dtype=np.int64)
    sizes = np.array([n, 0], dtype=np.int64)
    marks = np.full(2 * n, -1, dtype=np.int64)
    nodes, via = np.empty(2 * n, NODE), np.empty(2 * n, dtype=np.int64)
    tree = HalfEdgeTree(places, ends, head, after, sizes, marks, nodes, via)
    add_edge(tree, order[0], order[1])
    return tree


@njit(cache=True)
def add_edge(tree: HalfEdgeTree, a: int, b: int) -> None:
    """Add the edge ab."""
    e = tree.sizes[1]
    tree.ends[e, 0], tree.ends[e, 1] = a, b
    tree.after[2 * e], tree.after[2 * e + 1] = tree.head[a], tree.head[b]
    tree.head[a], tree.head[b] = 2 * e, 2 * e + 1
    tree.sizes[1] = e + 1


@njit(cache=True)
def move_end(tree: HalfEdgeTree, half: int, new: int) -> None:
    """Let an edge end at vertex `new` instead of where its half-edge `half` is."""
    ends, head, after = tree.ends, tree.head, tree.after
    old = ends[half // 2, half % 2]
    if head[old] == half:
        head[old] = after[half]
    else:
        before = head[old]
        while after[before] != half:
            before = after[before]
        after[before] = after[half]
    ends[half // 2, half % 2] = new
    after[half] = head[new]
    head[new] = half


@njit(cache=True)
def estimate(tree: HalfEdgeTree, n: int, e: int, t: int) -> Joint:
    """Return how t joins edge e.

    A point on top of a Steiner point would give it degree 4: the growth is then infinite, since
    another edge there does better.
    """
    places, u, v = tree.places, tree.ends[e, 0], tree.ends[e, 1]
    place, corner = fermat_point(places[u], places[v], places[t])
    if (corner == 0 and u >= n) or (corner == 1 and v >= n):
        return Joint(np.inf, place, corner)
    growth = -abs(places[u] - places[v])
    for w in (u, v, t):
        growth += abs(places[w] - place)
    return Joint(growth, place, corner)


@njit(cache=True)
def gather(tree: HalfEdgeTree, n: int, e: int, t: int, place: complex) -> tuple[int, float]:
    """Fill `nodes` with the full component that t joins through a point at `place` on edge e.

    Returns (node count, length of the component without t). via[i] is the edge to the parent.
    """
    places, ends, head, after, _, _, nodes, via = tree
    u, v = ends[e, 0], ends[e, 1]
    for i, (vertex, parent) in enumerate(((t, -1), (-1, 0), (u, 1), (v, 1))):
        nodes[i].vertex, nodes[i].parent, nodes[i].fixed, via[i] = vertex, parent, i == 0, e
    nodes[0].place, nodes[1].place = places[t], place
    nodes[1].first, nodes[1].second = 2, 3
    length = abs(places[u] - places[v])
    count = 4
    i = 2
    while i < count:
        vertex = nodes[i].vertex
        nodes[i].place = places[vertex]
        nodes[i].fixed = vertex < n
        nodes[i].first, nodes[i].second = count, count + 1
        half = head[vertex] if vertex >= n else -1
        while half >= 0:
            if half // 2 != via[i]:
                other = ends[half // 2, 1 - half % 2]
                nodes[count].vertex, nodes[count].parent = other, i
                via[count] = half // 2
                length += abs(places[vertex] - places[other])
                count += 1
            half = after[half]
        i += 1
    return count, length


@njit(cache=True)
def _near_edges(tree: HalfEdgeTree, seeds: Array, parent: int, t: int, listed: Array) -> int:
    """List half-edges at most HOPS edges away from the parent or from a seed; return how many.

    listed[i] is (half-edge, its distance in edges), each edge once. Seeds that are not in the tree
    yet have no edges.
    """
    count = 0
    for k in range(-1, seeds.shape[0]):
        vertex = parent if k < 0 else seeds[k]
        low, depth = count, 0
        ends_here = True
        while ends_here:  # once for every edge listed, and each is listed once
            half = tree.head[vertex]
            while half >= 0:
                if tree.marks[half // 2] != t and depth < HOPS:
                    tree.marks[half // 2] = t
                    listed[count, 0], listed[count, 1] = half, depth
                    count += 1
                half = tree.after[half]
            ends_here = low < count
            if ends_here:
                half = listed[low, 0]
                vertex, depth = tree.ends[half // 2, 1 - half % 2], listed[low, 1] + 1
                low += 1
    return count


@njit(cache=True)
def _rank(best: Array, rows: Array, growth: float, e: int) -> None:
    """Keep the TRIES least growths in ascending order."""
    k = TRIES - 1
    if not growth < best[k]:
        return
    while k > 0 and growth < best[k - 1]:
        best[k], rows[k] = best[k - 1], rows[k - 1]
        k -= 1
    best[k], rows[k] = growth, e


@njit(cache=True)
def grow(tree: HalfEdgeTree, walk: Walk, near: Array, first: int, last: int) -> float:
    """Join the terminals walk.order[first:last] to the tree; return by how much it grew.

    near[t] lists terminals close to t; with no column every edge of the tree is tried.
    """
    n, every, total = walk.order.shape[0], near.shape[1] == 0, 0.0
    listed = np.empty((2 * n, 2), dtype=np.int64)
    best, rows = np.empty(TRIES), np.empty(TRIES, dtype=np.int64)
    for t in walk.order[first:last]:
        p = walk.parent[t]
        best[:], rows[:] = np.inf, -1
        for i in range(tree.sizes[1] if every else _near_edges(tree, near[t], p, t, listed)):
            e = i if every else listed[i, 0] // 2
            _rank(best, rows, estimate(tree, n, e, t).growth, e)
        # The spanning tree's own edge is always possible.
        least, chosen = abs(tree.places[t] - tree.places[p]), -1
        for i in range(TRIES):
            if rows[i] < 0:
                break
            growth, place, corner = estimate(tree, n, rows[i], t)
            if corner < 0:
                size, before = gather(tree, n, rows[i], t, place)
                growth = solve_component(tree.nodes, size, True).length - before
            if growth < least:
                least, chosen = growth, rows[i]
        _join(tree, n, chosen, t, p)
        total += least
    return total


@njit(cache=True)
def _join(tree: HalfEdgeTree, n: int, e: int, t: int, p: int) -> None:
    """Join t to edge e in the way of its estimate, or to terminal p where e is -1."""
    if e < 0:
        add_edge(tree, p, t)
        return
    nodes, v = tree.nodes, tree.ends[e, 1]
    _, place, corner = estimate(tree, n, e, t)
    if corner in (0, 1):
        add_edge(tree, tree.ends[e, corner], t)
    elif corner == 2:
        move_end(tree, 2 * e + 1, t)
        add_edge(tree, t, v)
    else:
        size, _ = gather(tree, n, e, t, place)
        solve_component(nodes, size, True)
        s = tree.sizes[0]
        tree.sizes[0] = s + 1
        nodes[1].vertex = s
        for i in range(size):
            if nodes[i].fixed == 0:
                tree.places[nodes[i].vertex] = nodes[i].best
        move_end(tree, 2 * e + 1, s)
        add_edge(tree, s, v)
        add_edge(tree, s, t)


@njit(cache=True, nogil=True)
def grow_batch(terminals: Array, rows: TreeRows, first: int, last: int) -> None:
    """Run the incremental heuristic on instances first..last; write their trees."""
    n = terminals.shape[1]
    near = np.empty((n, 0), dtype=np.int64)
    for b in range(first, last):
        walk = breadth_first(spanning_tree(terminals[b]))
        tree = begin(terminals[b], walk.order)
        grow(tree, walk, near, 2, n)
        size, count = tree.sizes
        put_tree(rows, b, points_of(tree.places[n:size]), tree.ends[:count])
