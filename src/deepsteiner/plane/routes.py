"""Shortest ways and spanning trees around obstacles.

A way looks only at obstacles that cross it: a shortest way around some obstacles is a lower bound
for the way around all of them, so where it crosses no other obstacle it is the shortest.
"""

from __future__ import annotations

import itertools

import numpy as np

from ..core.errors import InternalError
from ..core.points import FloatArray, IntArray
from .plane import Plane, as_complex, as_pairs

Graph = tuple[FloatArray, IntArray]
"""Bends and edges over (points, bends)."""
ALL_PAIRS = 100
"""Points up to which ways between all pairs may be looked at."""


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
            if nodes[-1] < 0:
                raise InternalError("no way leads around the obstacles between two nodes")
        path = places[nodes]


def spanning_tree(plane: Plane, points: FloatArray, stop: IntArray | None = None) -> Graph:
    """Return a minimum spanning tree of the points under shortest ways around the obstacles.

    Ways that share bends are joined there, so the tree may be shorter than the sum of its ways.
    `cell_kernels` has the argument why no other pair of points needs to be looked at. Where a limit
    sets stop[0], what is missing is joined by edges of the triangulation.
    """
    from . import cell_kernels as kernels
    from .triangulation import triangulated

    if len(points) == 1:
        return np.empty((0, 2)), np.empty((0, 2), np.int64)
    stop = np.zeros(1, np.int64) if stop is None else stop
    rings = [ring for ring, _ in plane.rings]
    mesh, number = triangulated(np.concatenate((points, plane.corners.places)), rings, plane.boxes)
    is_root = np.zeros(len(mesh.places), np.bool_)
    is_root[number] = True
    terminals = number[: len(points)]
    found = kernels.cells(mesh, plane.boxes, terminals, is_root, stop)
    order = np.argsort(found.triangle, kind="stable")
    pairs, lengths = kernels.meetings(mesh, found, order, stop)
    cheapest = np.argsort(lengths, kind="stable")
    kept, parent = kernels.spanning_pairs(mesh, plane.boxes, found, pairs, cheapest, stop)
    if len(kept) < len(points) - 1:
        more = kernels.bordering_pairs(mesh, found, parent)
        pairs, kept = np.concatenate((pairs[kept], more)), np.arange(len(kept) + len(more))
    edges = kernels.ways(found, pairs[kept])
    names = np.full(len(mesh.places), -1)
    names[terminals] = np.arange(len(points))
    others = np.unique(edges[names[edges] < 0])
    names[others] = len(points) + np.arange(len(others))
    nodes = np.concatenate((points, as_pairs(mesh.places[others])))
    bends, edges = pruned(nodes, len(points), np.unique(np.sort(names[edges], axis=1), axis=0))
    if len(edges) < len(points) + len(bends) - 1 and len(points) <= ALL_PAIRS:
        # On some odd maps the cells leave points apart; ways between all pairs need no cells.
        return few_spanned(plane, points)
    return bends, edges


def few_spanned(plane: Plane, points: FloatArray) -> Graph:
    """Return the same as `spanning_tree` for a few points, from the ways between all pairs."""
    from ..geometry.spanning_kernels import kruskal

    rows, columns = np.triu_indices(len(points), 1)
    pairs = np.stack((rows, columns), axis=1)
    found = [way_around(plane, points[i], points[j]) for i, j in pairs.tolist()]
    order = np.argsort([length for _, length in found], kind="stable")
    kept = np.empty((len(points) - 1, 2), np.int64)
    count = kruskal(len(points), pairs, order, kept)
    bends = {(i, j): way for (i, j), (way, _) in zip(pairs.tolist(), found, strict=True)}
    return joined(points, [(i, j, bends[i, j]) for i, j in kept[:count].tolist()])


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
    from ..geometry.spanning_kernels import kruskal

    lengths = np.hypot(*(nodes[edges[:, 0]] - nodes[edges[:, 1]]).T)
    kept = np.empty((len(edges), 2), np.int64)
    count = kruskal(len(nodes), edges, np.argsort(lengths, kind="stable"), kept)
    edges = kept[:count]
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
