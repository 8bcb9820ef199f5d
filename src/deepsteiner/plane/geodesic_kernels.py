"""Shortest ways around obstacles, and the special distance that tests of edges go by.

A shortest way bends at convex corners of obstacles only. With the corners' own distances known
(Floyd and Warshall), a way between two nodes is the straight one, or begins with the straight way
to some corner.

The special distance s(u, v) is the least, over all chains of terminals from u to v, of the longest
shortest way between neighbours of the chain. No edge that separates u from v in a shortest tree is
longer: without it the tree falls into two parts, some link of the chain joins them again, and all
its inner nodes are terminals, which the tree has anyway.
"""

from __future__ import annotations

import numpy as np

from ..core.jit import njit
from .sight_kernels import Complexes, Flags, Floats, Ints


@njit(cache=True, error_model="numpy")
def geodesics(places: Complexes, seen: Flags, n: int) -> tuple[Floats, Ints]:
    """Distances of all pairs of nodes, and the node that follows the one on the way to the other.

    The nodes from n on are corners. Where there is no way the distance is infinite.
    """
    size = len(places)
    distance, following = np.full((size, size), np.inf), np.full((size, size), -1)
    for i in range(size):
        distance[i, i] = 0.0
        for j in range(size):
            if seen[i, j]:
                distance[i, j] = abs(places[i] - places[j])
                following[i, j] = j
    for c in range(n, size):
        for i in range(n, size):
            through = distance[i, c]
            if i == c or through == np.inf:
                continue
            for j in range(n, size):
                if through + distance[c, j] < distance[i, j]:
                    distance[i, j] = through + distance[c, j]
                    following[i, j] = following[i, c]
    for t in range(n):
        for c in range(n, size):
            if seen[t, c]:
                straight = abs(places[t] - places[c])
                for j in range(n, size):
                    if straight + distance[c, j] < distance[t, j]:
                        distance[t, j] = straight + distance[c, j]
                        following[t, j] = c
                        distance[j, t] = distance[t, j]
                        following[j, t] = t if j == c else following[j, c]
    for t in range(n):
        for c in range(n, size):
            if seen[t, c]:
                straight = abs(places[t] - places[c])
                for z in range(n):
                    if z != t and distance[z, c] + straight < distance[z, t]:
                        distance[z, t] = distance[z, c] + straight
                        following[z, t] = following[z, c]
    return distance, following


@njit(cache=True, error_model="numpy")
def prim(distance: Floats, n: int) -> tuple[Ints, Floats]:
    """A minimum spanning tree of the first n nodes: edges (parents first) and their lengths."""
    edges, lengths = np.empty((max(n - 1, 0), 2), np.int64), np.empty(max(n - 1, 0))
    best, parent = np.full(n, np.inf), np.zeros(n, np.int64)
    done = np.zeros(n, np.bool_)
    current = 0
    for step in range(n - 1):
        done[current] = True
        nearest = -1
        for v in range(n):
            if done[v]:
                continue
            if distance[current, v] < best[v]:
                best[v], parent[v] = distance[current, v], current
            if nearest < 0 or best[v] < best[nearest]:
                nearest = v
        edges[step, 0], edges[step, 1], lengths[step] = parent[nearest], nearest, best[nearest]
        current = nearest
    return edges, lengths


@njit(cache=True, error_model="numpy")
def special_distances(distance: Floats, edges: Ints, lengths: Floats) -> Floats:
    """The special distance of all pairs of nodes; `edges` span the terminals (see `prim`)."""
    n, size = len(edges) + 1, len(distance)
    special = np.zeros((size, size))
    reached = np.zeros(n, np.int64)
    for step in range(n - 1):
        parent, new = edges[step]
        for k in range(step + 1):
            other = reached[k]
            special[new, other] = max(lengths[step], special[parent, other])
            special[other, new] = special[new, other]
        reached[step + 1] = new
    for c in range(n, size):
        for t in range(n):
            least = np.inf
            for z in range(n):
                least = min(least, max(distance[c, z], special[z, t]))
            special[c, t] = special[t, c] = least
    for c in range(n, size):
        for d in range(c + 1, size):
            least = distance[c, d]
            for z in range(n):
                least = min(least, max(distance[c, z], special[z, d]))
            special[c, d] = special[d, c] = least
    return special
