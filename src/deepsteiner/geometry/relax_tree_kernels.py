"""Relaxation of whole trees: best Steiner positions for a topology, one full component at a time.

Vertices are numbered as everywhere: terminals 0..n-1, then Steiner points.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ..core.points import Array
from ..run.method import TreeRows
from .relax_component_kernels import CLOSED_FORM, NODE, Solved, kernel, solve_component, step


class Adjacency(NamedTuple):
    """The edges at vertex v: incident[start[v] : start[v + 1]]."""

    start: Array
    incident: Array


class PlacedTree(NamedTuple):
    """A tree whose Steiner points get their places, in arrays with room for more of them.

    Attributes
    ----------
    terminals
        (n, 2) places that stay.
    steiner
        (room, 2) places of the Steiner points.
    edges
        (n + room, 2) ends of the edges.
    pending
        (room,) Steiner points whose full component has to be solved (again).
    nodes
        (n + room,) NODE records: the component at work.
    """

    terminals: Array
    steiner: Array
    edges: Array
    pending: Array
    nodes: Array


@kernel
def copy_rows(source: Array, target: Array, count: int) -> None:
    """Copy the first rows of two columns (slice assignments take far longer to compile)."""
    for i in range(count):
        target[i, 0] = source[i, 0]
        target[i, 1] = source[i, 1]


@kernel
def put_tree(rows: TreeRows, b: int, steiner: Array, edges: Array) -> None:
    """Write the tree of instance b: its Steiner points and edges."""
    rows.sizes[b] = rows.steiner.shape[1] + steiner.shape[0]
    copy_rows(steiner, rows.steiner[b], steiner.shape[0])
    copy_rows(edges, rows.edges[b], edges.shape[0])


@kernel
def adjacency(edges: Array, edge_count: int, vertex_count: int) -> Adjacency:
    """Return the edges at each vertex, in the order of their numbers."""
    start = np.empty(vertex_count + 2, np.int64)
    for v in range(vertex_count + 2):
        start[v] = 0
    for e in range(edge_count):
        start[edges[e, 0] + 2] += 1
        start[edges[e, 1] + 2] += 1
    for v in range(vertex_count):
        start[v + 2] += start[v + 1]
    incident = np.empty(2 * edge_count, np.int64)
    for e in range(edge_count):
        for end in range(2):
            v = edges[e, end] + 1
            incident[start[v]] = e
            start[v] += 1
    return Adjacency(start, incident)


@step
def gather_component(
    tree: PlacedTree, around: Adjacency, terminal: int, first: int
) -> tuple[int, bool]:
    """Fill `nodes` with the component that Steiner vertex `first` joins to `terminal`.

    Returns (node count, full): full says that every Steiner point has degree 3.
    """
    terminals, steiner, edges, _, nodes = tree
    start, incident = around
    n = terminals.shape[0]
    nodes[0].vertex, nodes[0].parent = terminal, -1
    nodes[1].vertex, nodes[1].parent = first, 0
    count, full, i = 2, True, -1
    while i + 1 < count:
        i += 1
        v = nodes[i]
        vertex = v.vertex
        v.fixed = vertex < n
        if vertex < n:
            v.place = complex(terminals[vertex, 0], terminals[vertex, 1])
            continue
        v.place = complex(steiner[vertex - n, 0], steiner[vertex - n, 1])
        v.first, v.second = count, count + 1
        above = nodes[v.parent].vertex
        for k in range(start[vertex], start[vertex + 1]):
            e = incident[k]
            other = edges[e, 0] + edges[e, 1] - vertex
            if other != above:
                nodes[count].vertex, nodes[count].parent = other, i
                count += 1
        full = full and count == v.first + 2
    return count, full


@step
def solve_at(
    tree: PlacedTree, around: Adjacency, terminal: int, first: int
) -> tuple[int, bool, Solved]:
    """Solve the component that Steiner vertex `first` joins to `terminal`, and place its points.

    Its Steiner points are no longer pending. Returns (node count, whether all its Steiner points
    have degree 3, what the solution gave); `nodes` still holds the component.
    """
    count, full = gather_component(tree, around, terminal, first)
    solved = solve_component(tree.nodes, count, full)
    n = tree.terminals.shape[0]
    for i in range(count):
        v = tree.nodes[i]
        if not v.fixed:
            tree.steiner[v.vertex - n, 0] = v.best.real
            tree.steiner[v.vertex - n, 1] = v.best.imag
            tree.pending[v.vertex - n] = False
    return count, full, solved


@kernel
def relax_tree(terminals: Array, steiner: Array, edges: Array) -> tuple[Array, Solved]:
    """Return (positions, what they give) of the best tree with this topology.

    terminals (n, 2) float64, steiner (s, 2) float64 starting positions (any, also coincident),
    edges (n + s - 1, 2) int64 forming a tree; nothing is changed. The lower bound holds for every
    tree with this topology; iterations, and how it was solved, are the largest over the components.
    """
    n, count = terminals.shape[0], steiner.shape[0]
    placed = np.empty((count, 2))
    copy_rows(steiner, placed, count)
    tree = PlacedTree(terminals, placed, edges, np.full(count, True), np.empty(n + count, NODE))
    around = adjacency(edges, n + count - 1, n + count)
    length = bound = 0.0
    iterations, how = 0, CLOSED_FORM
    for terminal in range(n):
        for k in range(around.start[terminal], around.start[terminal + 1]):
            e = around.incident[k]
            other = edges[e, 0] + edges[e, 1] - terminal
            if terminal < other < n:
                dx = terminals[other, 0] - terminals[terminal, 0]
                dy = terminals[other, 1] - terminals[terminal, 1]
                length += math.hypot(dx, dy)
                bound += math.hypot(dx, dy)
            elif other >= n and tree.pending[other - n]:
                _, _, part = solve_at(tree, around, terminal, other)
                length += part.length
                bound += part.bound
                iterations, how = max(iterations, part.iterations), max(how, part.how)
    return placed, Solved(length, bound, iterations, how)
