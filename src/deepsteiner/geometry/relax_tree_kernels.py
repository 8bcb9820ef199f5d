"""Relaxation of whole trees: best Steiner positions for a topology, one full component at a time.

Vertices are numbered as everywhere: terminals 0..n-1, then Steiner points.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ..core.points import Array
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
    root = nodes[0]
    root.vertex = terminal
    root.parent = -1
    nodes[1].vertex = first
    nodes[1].parent = 0
    count = 2
    full = True
    i = -1
    while i + 1 < count:
        i += 1
        v = nodes[i]
        vertex = v.vertex
        v.fixed = vertex < n
        if vertex < n:
            v.x = terminals[vertex, 0]
            v.y = terminals[vertex, 1]
            continue
        v.x = steiner[vertex - n, 0]
        v.y = steiner[vertex - n, 1]
        v.first = count
        v.second = count + 1
        above = nodes[v.parent].vertex
        for k in range(start[vertex], start[vertex + 1]):
            e = incident[k]
            other = edges[e, 0] + edges[e, 1] - vertex
            if other != above:
                nodes[count].vertex = other
                nodes[count].parent = i
                count += 1
        full = full and count == v.first + 2
    return count, full


@kernel
def terminal_length(terminals: Array, edges: Array, edge_count: int) -> float:
    """Return the length of the edges between two terminals."""
    n = terminals.shape[0]
    length = 0.0
    for e in range(edge_count):
        a = edges[e, 0]
        b = edges[e, 1]
        if a < n and b < n:
            dx = terminals[a, 0] - terminals[b, 0]
            dy = terminals[a, 1] - terminals[b, 1]
            length += math.sqrt(dx * dx + dy * dy)
    return length


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
            tree.steiner[v.vertex - n, 0] = v.best_x
            tree.steiner[v.vertex - n, 1] = v.best_y
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
    length = terminal_length(terminals, edges, n + count - 1)
    bound = length
    iterations, how = 0, CLOSED_FORM
    for terminal in range(n):
        for k in range(around.start[terminal], around.start[terminal + 1]):
            e = around.incident[k]
            first = edges[e, 0] + edges[e, 1] - terminal
            if first >= n and tree.pending[first - n]:
                _, _, part = solve_at(tree, around, terminal, first)
                length += part.length
                bound += part.bound
                iterations, how = max(iterations, part.iterations), max(how, part.how)
    return placed, Solved(length, bound, iterations, how)
