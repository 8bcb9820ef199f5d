"""Shortest ways and spanning trees around obstacles.

Both look only at obstacles that are in the way: a shortest way around some obstacles is a lower
bound for the way around all of them, so where it crosses no other obstacle it is the shortest.
"""

from __future__ import annotations

import heapq
import itertools

import numpy as np

from ..core.points import FloatArray, IntArray
from .plane import Plane, as_complex

Graph = tuple[FloatArray, IntArray]
"""Bends and edges over (points, bends)."""


def way_around(plane: Plane, a: FloatArray, b: FloatArray) -> tuple[FloatArray, float]:
    """Return the bends of a shortest way from a to b, in order, and its length.

    Parameters
    ----------
    plane
        The obstacles; a and b must not be cut off from each other.
    a, b
        Two places of the frame, outside the obstacles.
    """
    from .geodesic_kernels import geodesics
    from .sight_kernels import sight

    ends = np.stack((a, b))
    active: set[int] = set()
    path = ends
    while True:
        steps = np.arange(len(path) - 1)
        new = set(plane.crossed(path, np.stack((steps, steps + 1), axis=1))) - active
        if not new:
            parts = np.diff(path, axis=0)
            return path[1:-1], float(np.hypot(parts[:, 0], parts[:, 1]).sum())
        active |= new
        places = np.concatenate((ends, plane.corners.of(active).places))
        complexes = as_complex(places)
        seen = sight(plane.walls_of(active), complexes, 0, len(places))
        _, following = geodesics(complexes, seen, 2)
        nodes = [0]
        while nodes[-1] != 1:
            nodes.append(int(following[nodes[-1], 1]))
        path = places[nodes]


def spanning_tree(plane: Plane, points: FloatArray) -> Graph:
    """Return a minimum spanning tree of the points under shortest ways around the obstacles.

    Kruskal's algorithm over all pairs by their straight distance; where the straight way is
    blocked the pair waits until its shortest way is the shortest of all. Ways that share bends are
    joined there, so the tree may be shorter than the sum of its ways.
    """
    from .sight_kernels import sees

    rows, columns = np.triu_indices(len(points), 1)
    straight = np.hypot(*(points[rows] - points[columns]).T)
    order = np.argsort(straight, kind="stable")
    walls, places = plane.walls, as_complex(points)
    root = list(range(len(points)))

    def find(node: int) -> int:
        while root[node] != node:
            root[node] = root[root[node]]
            node = root[node]
        return node

    waiting: list[tuple[float, int, int, int]] = []
    bends: dict[int, FloatArray] = {}
    chosen: list[tuple[int, int, FloatArray]] = []
    nothing = np.empty((0, 2))
    position = 0
    while len(chosen) < len(points) - 1:
        following = straight[order[position]] if position < len(order) else np.inf
        if waiting and waiting[0][0] <= following:
            _, pair, i, j = heapq.heappop(waiting)
            if find(i) != find(j):
                root[find(i)] = find(j)
                chosen.append((i, j, bends[pair]))
            continue
        pair = int(order[position])
        position += 1
        i, j = int(rows[pair]), int(columns[pair])
        if find(i) == find(j):
            continue
        if sees(walls, places[i], places[j]):
            root[find(i)] = find(j)
            chosen.append((i, j, nothing))
        else:
            bends[pair], length = way_around(plane, points[i], points[j])
            heapq.heappush(waiting, (length, pair, i, j))
    return joined(points, chosen)


def joined(points: FloatArray, ways: list[tuple[int, int, FloatArray]]) -> Graph:
    """Return the tree of ways between points; what would close a cycle is left out.

    Bends at the same place are one node. Bends that end up as leaves are dropped.
    """
    number: dict[tuple[float, float], int] = {}
    places: list[FloatArray] = []
    links: set[tuple[int, int]] = set()
    known = {(float(x), float(y)): k for k, (x, y) in enumerate(points)}
    for i, j, bends in ways:
        chain = [i]
        for bend in bends:
            key = (float(bend[0]), float(bend[1]))
            node = known.get(key)
            if node is None:
                if key not in number:
                    number[key] = len(points) + len(places)
                    places.append(bend)
                node = number[key]
            chain.append(node)
        chain.append(j)
        links.update((min(u, v), max(u, v)) for u, v in itertools.pairwise(chain) if u != v)
    nodes = np.concatenate((points, np.array(places).reshape(-1, 2)))
    edges = np.array(sorted(links), dtype=np.int64).reshape(-1, 2)
    return pruned(nodes, len(points), edges)


def pruned(nodes: FloatArray, n: int, edges: IntArray) -> Graph:
    """Return a minimum spanning tree of a graph without leaves beyond the first n nodes."""
    lengths = np.hypot(*(nodes[edges[:, 0]] - nodes[edges[:, 1]]).T)
    root = np.arange(len(nodes))

    def find(node: int) -> int:
        while root[node] != node:
            root[node] = root[root[node]]
            node = int(root[node])
        return node

    kept = []
    for e in np.argsort(lengths, kind="stable").tolist():
        a, b = find(int(edges[e, 0])), find(int(edges[e, 1]))
        if a != b:
            root[a] = b
            kept.append(e)
    edges = edges[sorted(kept)]
    while True:
        degree = np.bincount(edges.ravel(), minlength=len(nodes))
        bare = (degree[edges] == 1) & (edges >= n)
        if not bare.any():
            break
        edges = edges[~bare.any(axis=1)]
    used = np.flatnonzero((np.arange(len(nodes)) < n) | (degree > 0))
    renumbered = np.full(len(nodes), -1)
    renumbered[used] = np.arange(len(used))
    return nodes[used[used >= n]], renumbered[edges]
