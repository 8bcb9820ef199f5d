"""What trees that meet at a corner of an obstacle mean for each other.

Let t be the direction of an edge at a corner, counted from one wall through the free side, and f
the free angle, pi < f < 2 pi. In a shortest tree a corner that is used has two edges whose
directions are at least pi apart, or three of which neighbours are at least a third of a turn apart:
see `enumerate.corners.landscape_kernels`. So

- one edge has t <= f - pi, the lowest, and one has t >= pi, the highest;
- at most one edge has t < 2 pi / 3, and it is the lowest: all others are that far above it. The
  highest edge is at least pi above it, with two edges as with three;
- the same holds from the other wall.

Edges too short for their direction to be known, and those at nodes of which nothing is known, may
have any direction.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ....core.jit import njit
from ...grouping_kernels import grouped
from ..hypergraph import Flags, Floats, Hypergraph, Ints, Rows

SLACK = 1e-7
"""Angle by which directions may be off: rounding must rule out nothing."""
WHOLE = 2.0 * math.pi
THIRD = WHOLE / 3.0


class Turns(NamedTuple):
    """Directions at optional nodes.

    direction: of the edge of each tree at each of its nodes, in the order of the list's nodes,
        counted from a wall; nan where it is not known.
    free: the free angle of each node, 2 pi where nothing is known.
    """

    direction: Floats
    free: Floats


@njit(cache=True)
def no_turns(slots: int, nodes: int) -> Turns:
    """Nothing is known."""
    return Turns(np.full(slots, np.nan), np.full(nodes, WHOLE))


@njit(cache=True)
def has_partners(turns: Turns, v: int, t: float, others: Floats) -> bool:
    """Whether an edge in direction t has what it needs among other edges at node v.

    It needs one that is pi away, or lies between two that are a third of a turn away.
    """
    if turns.free[v] >= WHOLE or math.isnan(t):
        return others.size > 0
    below = above = False
    for other in others:
        if math.isnan(other) or abs(other - t) >= math.pi - SLACK:
            return True
        below |= other <= t - THIRD + SLACK
        above |= other >= t + THIRD - SLACK
    return below and above


@njit(cache=True)
def peel(graph: Hypergraph, alive: Flags, optional: Flags, turns: Turns) -> None:
    """Drop trees that cannot be continued at one of their optional nodes, again and again.

    A shortest tree has a second tree there, that shares no other node with the first, in directions
    that `has_partners` accepts.
    """
    slots = grouped(graph.terminals, graph.n)
    owner = owners(graph)
    mark = np.full(graph.n, -1, np.int64)
    others = np.empty(alive.size)
    changed = True
    while changed:
        changed = False
        for f in range(alive.size):
            if not alive[f]:
                continue
            for k in range(graph.start[f], graph.start[f + 1]):
                mark[graph.terminals[k]] = f
            for k in range(graph.start[f], graph.start[f + 1]):
                v = graph.terminals[k]
                if not optional[v]:
                    continue
                count = meeting(graph, alive, slots, owner, mark, f, v, turns.direction, others)
                if not has_partners(turns, v, turns.direction[k], others[:count]):
                    alive[f] = False
                    changed = True
                    break


@njit(cache=True)
def owners(graph: Hypergraph) -> Ints:
    """The tree of every slot."""
    owner = np.empty(graph.terminals.size, np.int64)
    for f in range(graph.length.size):
        owner[graph.start[f] : graph.start[f + 1]] = f
    return owner


@njit(cache=True)
def meeting(
    graph: Hypergraph, alive: Flags, slots: Rows, owner: Ints, mark: Ints, f: int, v: int,
    direction: Floats, others: Floats,
) -> int:  # fmt: skip
    """Write the directions at v of living trees that share only v with f; returns how many.

    The nodes of f are marked.
    """
    count = 0
    for j in range(slots.first[v], slots.first[v + 1]):
        g = owner[slots.items[j]]
        if g == f or not alive[g]:
            continue
        shared = 0
        for k in range(graph.start[g], graph.start[g + 1]):
            shared += mark[graph.terminals[k]] == f
        if shared == 1:
            others[count] = direction[slots.items[j]]
            count += 1
    return count
