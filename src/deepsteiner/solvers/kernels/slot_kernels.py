"""A tree under insertion: Steiner points put between two edges that meet at a vertex.

Replacing two edges at a vertex by one never raises a degree, so the slots that the spanning tree
needs, and three for each Steiner point, are enough.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...core.jit import njit
from ...core.points import Array
from ...geometry.relax_component_kernels import step
from ...geometry.relax_tree_kernels import adjacency, put_tree
from ...geometry.vector_kernels import points_of, with_room
from ...run.method import TreeRows

# Two edges meet below 120 degrees where the cosine exceeds that of 120 degrees by this much.
ANGLE_SLACK = 1e-7
NARROW = -0.5 + ANGLE_SLACK


class SlotTree(NamedTuple):
    """A tree over n terminals with room for n Steiner points.

    Attributes
    ----------
    places
        (2n,) terminals, then Steiner points, as complex numbers.
    start, degree, neighbours
        Vertex v keeps its neighbours in neighbours[start[v] : start[v] + degree[v]].
    size
        (1,) number of points in use.
    """

    places: Array
    start: Array
    degree: Array
    neighbours: Array
    size: Array


@njit(cache=True)
def slots_of(terminals: Array, edges: Array) -> SlotTree:
    """Return a spanning tree of the terminals in slots."""
    n = terminals.shape[0]
    around = adjacency(edges, n - 1, n)
    start, neighbours = 3 * np.arange(2 * n) - n - 2, np.empty(5 * n - 2, dtype=np.int64)
    start[: n + 1] = around.start[: n + 1]
    degree = np.zeros(2 * n, dtype=np.int64)
    for v in range(n):
        degree[v] = start[v + 1] - start[v]
        for k in range(start[v], start[v + 1]):
            e = around.incident[k]
            neighbours[k] = edges[e, 0] + edges[e, 1] - v
    return SlotTree(with_room(terminals, 2 * n), start, degree, neighbours, np.full(1, n))


@step
def insert(tree: SlotTree, v: int, i: int, j: int, place: complex) -> None:
    """Join v and its neighbours in slots i and j by a new Steiner point."""
    places, start, degree, neighbours, size = tree
    new, a, b = size[0], neighbours[i], neighbours[j]
    size[0] += 1
    places[new] = place
    neighbours[i] = new
    neighbours[j] = neighbours[start[v] + degree[v] - 1]
    degree[v] -= 1
    degree[new] = 3
    for k, other in enumerate((a, b, v)):
        neighbours[start[new] + k] = other
    for other in (a, b):
        for k in range(start[other], start[other] + degree[other]):
            if neighbours[k] == v:
                neighbours[k] = new


@njit(cache=True)
def edges_of(tree: SlotTree) -> Array:
    """Return the edges of the tree, each once."""
    edges = np.empty((tree.size[0] - 1, 2), dtype=np.int64)
    row = 0
    for v in range(tree.size[0]):
        for i in range(tree.start[v], tree.start[v] + tree.degree[v]):
            if tree.neighbours[i] > v:
                edges[row, 0], edges[row, 1] = v, tree.neighbours[i]
                row += 1
    return edges


@njit(cache=True)
def put_slots(rows: TreeRows, b: int, tree: SlotTree) -> None:
    """Write the tree of instance b."""
    steiner = tree.places[rows.steiner.shape[1] : tree.size[0]]
    put_tree(rows, b, points_of(steiner), edges_of(tree))
