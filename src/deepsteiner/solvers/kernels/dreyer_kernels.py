"""Kernels of Dreyer and Overton's incremental heuristic.

The growing tree is `points` (terminals 0..n-1, Steiner points from n on),
`ends` (the two ends of each edge), and lists of half-edges: half-edge 2 e + k belongs to vertex
ends[e, k], head[v] is the first at v and after[h] the next one at the same vertex (-1: none).
sizes[0] counts the points in use (n and the Steiner points), sizes[1] the edges. Every Steiner
point has degree 3; terminals may have any.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from ...core.points import Array
from ...geometry.relax_component_kernels import NODE, solve_component
from ...geometry.spanning_kernels import prim
from .thompson_kernels import fermat_point, slots_of

# How far from a nearby terminal, in edges, an edge is still tried.
HOPS = 3
# The edges whose local optimum is computed: the best by the three-point estimate.
TRIES = 4


@njit(cache=True)
def joining_order(n: int, tree: Array) -> tuple[Array, Array]:
    """Return (order, parent): the terminals breadth first along the spanning tree.

    The order begins with terminal 0; every terminal's parent comes before it.
    """
    start, degree, neighbours = slots_of(n, tree)
    order, parent = np.empty(n, dtype=np.int64), np.full(n, -1, dtype=np.int64)
    order[0] = 0
    reached = 1
    for k in range(n):
        v = order[k]
        for i in range(start[v], start[v] + degree[v]):
            u = neighbours[i]
            if u != parent[v]:
                parent[u] = v
                order[reached] = u
                reached += 1
    return order, parent


@njit(cache=True)
def begin(
    terminals: Array, order: Array
) -> tuple[Array, Array, Array, Array, Array, Array, Array, Array]:
    """Return (points, ends, head, after, sizes, marks, nodes, via) with the first two joined."""
    n = terminals.shape[0]
    points = np.empty((2 * n, 2))
    for v in range(n):
        points[v, 0], points[v, 1] = terminals[v, 0], terminals[v, 1]
    ends = np.empty((2 * n, 2), dtype=np.int64)
    head, after = np.full(2 * n, -1, dtype=np.int64), np.full(4 * n, -1, dtype=np.int64)
    sizes = np.array([n, 0], dtype=np.int64)
    marks = np.full(2 * n, -1, dtype=np.int64)
    nodes, via = np.empty(2 * n, NODE), np.empty(2 * n, dtype=np.int64)
    add_edge(ends, head, after, sizes, order[0], order[1])
    return points, ends, head, after, sizes, marks, nodes, via


@njit(cache=True)
def add_edge(ends: Array, head: Array, after: Array, sizes: Array, a: int, b: int) -> int:
    """Add the edge ab and return its number."""
    e = sizes[1]
    ends[e, 0], ends[e, 1] = a, b
    after[2 * e], after[2 * e + 1] = head[a], head[b]
    head[a], head[b] = 2 * e, 2 * e + 1
    sizes[1] = e + 1
    return int(e)


@njit(cache=True)
def move_end(ends: Array, head: Array, after: Array, half: int, new: int) -> None:
    """Let an edge end at vertex `new` instead of where its half-edge `half` is."""
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
def estimate(points: Array, n: int, ends: Array, e: int, t: int) -> tuple[float, float, float, int]:
    """Return (growth, x, y, corner) of joining t to edge e by the best point of the three.

    `corner` says that this point is the first end (0), the second (1), t itself (2) or none (-1).
    A point on top of a Steiner point would give it degree 4: the growth is then infinite, since
    another edge there does better.
    """
    u, v = ends[e, 0], ends[e, 1]
    x, y, corner = fermat_point(
        points[u, 0], points[u, 1], points[v, 0], points[v, 1], points[t, 0], points[t, 1]
    )
    if (corner == 0 and u >= n) or (corner == 1 and v >= n):
        return np.inf, x, y, corner
    growth = -math.hypot(points[u, 0] - points[v, 0], points[u, 1] - points[v, 1])
    for w in (u, v, t):
        growth += math.hypot(points[w, 0] - x, points[w, 1] - y)
    return growth, x, y, corner


@njit(cache=True)
def gather(
    points: Array, n: int, ends: Array, head: Array, after: Array, nodes: Array, via: Array,
    e: int, t: int, x: float, y: float,
) -> tuple[int, float]:  # fmt: skip
    """Fill `nodes` with the full component that t joins through a point (x, y) on edge e.

    Returns (node count, length of the component without t). via[i] is the edge to the parent.
    """
    u, v = ends[e, 0], ends[e, 1]
    for i, vertex in enumerate((t, -1, u, v)):
        nodes[i].vertex = vertex
        nodes[i].parent = -1 if i == 0 else (0 if i == 1 else 1)
        nodes[i].fixed = 1 if i == 0 else 0
        via[i] = e
    nodes[0].x, nodes[0].y = points[t, 0], points[t, 1]
    nodes[1].x, nodes[1].y = x, y
    nodes[1].first, nodes[1].second = 2, 3
    length = math.hypot(points[u, 0] - points[v, 0], points[u, 1] - points[v, 1])
    count = 4
    i = 2
    while i < count:
        vertex = nodes[i].vertex
        nodes[i].x, nodes[i].y = points[vertex, 0], points[vertex, 1]
        nodes[i].fixed = 1 if vertex < n else 0
        nodes[i].first, nodes[i].second = count, count + 1
        half = head[vertex] if vertex >= n else -1
        while half >= 0:
            if half // 2 != via[i]:
                other = ends[half // 2, 1 - half % 2]
                nodes[count].vertex, nodes[count].parent = other, i
                via[count] = half // 2
                length += math.hypot(
                    points[vertex, 0] - points[other, 0], points[vertex, 1] - points[other, 1]
                )
                count += 1
            half = after[half]
        i += 1
    return count, length


@njit(cache=True)
def _near_edges(
    ends: Array, head: Array, after: Array, marks: Array, seeds: Array, parent: int, t: int,
    listed: Array, hops: Array,
) -> int:  # fmt: skip
    """List the edges at most HOPS edges away from the parent or from a seed; return how many.

    `marks` holds t at edges already listed. Seeds that are not in the tree yet have no edges.
    """
    count = 0
    for k in range(-1, seeds.shape[0]):
        vertex = parent if k < 0 else seeds[k]
        low, depth = count, 0
        ends_here = True
        while ends_here:  # once for every edge listed, and each is listed once
            half = head[vertex]
            while half >= 0:
                if marks[half // 2] != t and depth < HOPS:
                    marks[half // 2] = t
                    listed[count], hops[count] = half, depth
                    count += 1
                half = after[half]
            ends_here = low < count
            if ends_here:
                vertex = ends[listed[low] // 2, 1 - listed[low] % 2]
                depth = hops[low] + 1
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
def grow(
    n: int, points: Array, ends: Array, head: Array, after: Array, sizes: Array, marks: Array,
    nodes: Array, via: Array, order: Array, parent: Array, near: Array, first: int, last: int,
) -> float:  # fmt: skip
    """Join the terminals order[first:last] to the tree; return by how much it grew.

    near[t] lists terminals close to t; with no column every edge of the tree is tried.
    """
    total = 0.0
    listed, hops = np.empty(2 * n, dtype=np.int64), np.empty(2 * n, dtype=np.int64)
    best, rows = np.empty(TRIES), np.empty(TRIES, dtype=np.int64)
    for k in range(first, last):
        t, p = order[k], parent[order[k]]
        best[:], rows[:] = np.inf, -1
        if near.shape[1] == 0:
            for e in range(sizes[1]):
                _rank(best, rows, estimate(points, n, ends, e, t)[0], e)
        else:
            count = _near_edges(ends, head, after, marks, near[t], p, t, listed, hops)
            for i in range(count):
                e = listed[i] // 2
                _rank(best, rows, estimate(points, n, ends, e, t)[0], e)
        # The spanning tree's own edge is always possible.
        least = math.hypot(points[t, 0] - points[p, 0], points[t, 1] - points[p, 1])
        chosen = -1
        for i in range(TRIES):
            if rows[i] < 0:
                break
            growth, x, y, corner = estimate(points, n, ends, rows[i], t)
            if corner < 0:
                size, before = gather(points, n, ends, head, after, nodes, via, rows[i], t, x, y)
                growth = solve_component(nodes, size, True)[0] - before
            if growth < least:
                least, chosen = growth, rows[i]
        _join(n, points, ends, head, after, sizes, nodes, via, chosen, t, p)
        total += least
    return total


@njit(cache=True)
def _join(
    n: int, points: Array, ends: Array, head: Array, after: Array, sizes: Array, nodes: Array,
    via: Array, e: int, t: int, p: int,
) -> None:  # fmt: skip
    """Join t to edge e in the way of its estimate, or to terminal p where e is -1."""
    if e < 0:
        add_edge(ends, head, after, sizes, p, t)
        return
    _, x, y, corner = estimate(points, n, ends, e, t)
    v = ends[e, 1]
    if corner in (0, 1):
        add_edge(ends, head, after, sizes, ends[e, corner], t)
    elif corner == 2:
        move_end(ends, head, after, 2 * e + 1, t)
        add_edge(ends, head, after, sizes, t, v)
    else:
        size, _ = gather(points, n, ends, head, after, nodes, via, e, t, x, y)
        solve_component(nodes, size, True)
        s = sizes[0]
        sizes[0] = s + 1
        nodes[1].vertex = s
        for i in range(size):
            if nodes[i].fixed == 0:
                points[nodes[i].vertex, 0] = nodes[i].best_x
                points[nodes[i].vertex, 1] = nodes[i].best_y
        move_end(ends, head, after, 2 * e + 1, s)
        add_edge(ends, head, after, sizes, s, v)
        add_edge(ends, head, after, sizes, s, t)


@njit(cache=True, nogil=True)
def grow_batch(
    terminals: Array, counts: Array, steiner: Array, edges: Array, first: int, last: int
) -> None:
    """Run the incremental heuristic on instances first..last; write points and edges."""
    n = terminals.shape[1]
    tree = np.empty((n - 1, 2), dtype=np.int64)
    near = np.empty((n, 0), dtype=np.int64)
    for b in range(first, last):
        prim(terminals[b], tree)
        order, parent = joining_order(n, tree)
        points, ends, head, after, sizes, marks, nodes, via = begin(terminals[b], order)
        grow(
            n, points, ends, head, after, sizes, marks, nodes, via, order, parent, near, 2, n
        )  # fmt: skip
        counts[b] = sizes[0]
        for s in range(n, sizes[0]):
            steiner[b, s - n, 0], steiner[b, s - n, 1] = points[s, 0], points[s, 1]
        for e in range(sizes[0] - 1):
            edges[b, e, 0], edges[b, e, 1] = ends[e, 0], ends[e, 1]
