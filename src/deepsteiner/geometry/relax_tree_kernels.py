"""Relaxation of whole trees: best Steiner positions for a topology, one full component at a time.

Vertices are numbered as everywhere: terminals 0..n-1, then Steiner points.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ..core.points import Array
from .relax_component_kernels import NODE, kernel, solve_component, step


class Adjacency(NamedTuple):
    """The edges at vertex v: incident[start[v] : start[v + 1]]."""

    start: Array
    incident: Array


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


@kernel
def gather_component(
    terminals: Array,
    steiner: Array,
    edges: Array,
    start: Array,
    incident: Array,
    terminal: int,
    first: int,
    nodes: Array,
) -> tuple[int, bool]:
    """Fill `nodes` with the component that Steiner vertex `first` joins to `terminal`.

    Returns (node count, full): full says that every Steiner point has degree 3.
    """
    n = terminals.shape[0]
    root = nodes[0]
    root.vertex = terminal
    root.fixed = 1
    root.parent = -1
    root.x = terminals[terminal, 0]
    root.y = terminals[terminal, 1]
    nodes[1].vertex = first
    nodes[1].parent = 0
    count = 2
    full = True
    i = 0
    while i + 1 < count:
        i += 1
        v = nodes[i]
        vertex = v.vertex
        if vertex < n:
            v.fixed = 1
            v.x = terminals[vertex, 0]
            v.y = terminals[vertex, 1]
            continue
        v.fixed = 0
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
    terminals: Array,
    steiner: Array,
    edges: Array,
    start: Array,
    incident: Array,
    terminal: int,
    first: int,
    nodes: Array,
    pending: Array,
) -> tuple[int, bool, float, float, int, int]:
    """Solve the component that `first` joins to `terminal`, updating `steiner` in place.

    Its Steiner points lose their mark in `pending`. Returns (node count, full, length, lower
    bound, iterations, how it was solved); `nodes` still holds the component.
    """
    n = terminals.shape[0]
    count, full = gather_component(
        terminals, steiner, edges, start, incident, terminal, first, nodes
    )
    length, bound, iterations, how = solve_component(nodes, count, full)
    for i in range(count):
        v = nodes[i]
        if not v.fixed:
            steiner[v.vertex - n, 0] = v.best_x
            steiner[v.vertex - n, 1] = v.best_y
            pending[v.vertex - n] = False
    return count, full, length, bound, iterations, how


@kernel
def relax_tree(terminals: Array, steiner: Array, edges: Array) -> tuple[Array, float, float, int]:
    """Return (positions, length, lower bound, iterations) of the best tree with this topology.

    terminals (n, 2) float64, steiner (s, 2) float64 starting positions (any, also coincident),
    edges (n + s - 1, 2) int64 forming a tree; nothing is changed. The lower bound holds for every
    tree with this topology; `iterations` is the largest number over the components.
    """
    n = terminals.shape[0]
    edge_count = edges.shape[0]
    start, incident = adjacency(edges, edge_count, n + steiner.shape[0])
    nodes = np.empty(edge_count + 1, NODE)
    placed = np.empty((steiner.shape[0], 2))
    copy_rows(steiner, placed, steiner.shape[0])
    pending = np.empty(steiner.shape[0], np.bool_)
    for s in range(steiner.shape[0]):
        pending[s] = True
    length = terminal_length(terminals, edges, edge_count)
    bound = length
    most = 0
    for terminal in range(n):
        for k in range(start[terminal], start[terminal + 1]):
            first = edges[incident[k], 0] + edges[incident[k], 1] - terminal
            if first >= n and pending[first - n]:
                _, _, part, part_bound, iterations, _ = solve_at(
                    terminals, placed, edges, start, incident, terminal, first, nodes, pending
                )
                length += part
                bound += part_bound
                most = max(most, iterations)
    return placed, length, bound, most
