"""The ground that trees around obstacles grow on, and what a corner of an obstacle allows.

Nodes are the terminals, then the corners in play. A corner has degree 2 or 3 in a shortest tree, or
is no part of it. Let t be the direction of an edge at a corner, counted from one wall through the
free side, and f the free angle, so that the obstacle takes a = 2 pi - f.

- Of two edges t1 < t2 the angle between them on the free side is at least pi: otherwise the tree
  could cut the corner there. As t2 <= f, t1 <= f - pi; as t1 >= 0, t2 >= pi.
- Of three edges neighbours are at least 120 degrees apart, as at every node. So the outer ones have
  t <= f - 240 degrees or t >= 240 degrees, which the first rule allows, and the one in the middle
  is at least 120 degrees from both walls.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ....core.jit import njit
from ....plane.sight_kernels import DEPTH, Complexes, Floats, Ints
from ..complete.arc_kernels import NOWHERE, Arc, cross, dot, lean, norm, turn
from .block_kernels import Blocks

PLAY = 1e-9
"""Angle by which directions at corners may be off: rounding must rule out nothing.

An edge whose ends are known only up to DEPTH may be off by more, the shorter it is. Corners whose
walls are too short to tell a direction have no free angle (see `plane.plane`).
"""
TIE = 1e-12
"""Alternatives must be shorter by more than this to rule something out."""
WHOLE = 2.0 * math.pi
THIRD = WHOLE / 3.0


NOWHERE_TO_END = np.empty(0, np.complex128)
NO_NODES = np.empty(0, np.int64)


class Landscape(NamedTuple):
    """What the tests need to know about the nodes.

    places: terminals, then corners. Where an existing network is joined, vertices of it stand
        before the corners: each is a node of its own here, though a part of the network has many.
    special: the special distance of all pairs (see `plane.geodesic_kernels`); below 0 between
        nodes of one part, which no tree has two of.
    side, free: at corners, the direction of one wall and the free angle; free is 2 pi where
        nothing is known about the directions, and at terminals.
    terminals: how many of the nodes are terminals.
    blocks: the obstacles in play.
    longest: the longest special distance, which no edge exceeds.
    by_x: the terminals from left to right.
    tails, heads: segments on which trees may end at right angles.
    anchors: for each segment a node of its part.
    anywhere: whether paths may end where no node is: on segments, or at a terminal yet to come.
    """

    places: Complexes
    special: Floats
    side: Floats
    free: Floats
    terminals: int
    blocks: Blocks
    longest: float
    by_x: Ints
    tails: Complexes = NOWHERE_TO_END
    heads: Complexes = NOWHERE_TO_END
    anchors: Ints = NO_NODES
    anywhere: bool = False


@lean
def next_allowed(free: float, t: float, play: float) -> float:
    """The first direction from t on, counter-clockwise, that an edge at a corner may have.

    Counted from the wall, t in [0, 2 pi); the result may be 2 pi and more, after a full turn.
    """
    if free >= WHOLE or t <= free - math.pi + play:
        return t
    low, high = THIRD - play, free - THIRD + play
    if low <= high and t <= high:
        return max(t, low)
    if t <= free + play:
        return max(t, math.pi - play)
    return max(t, WHOLE - play)


@lean
def is_allowed(ground: Landscape, node: int, way: complex) -> bool:
    """Whether an edge may leave a node that way."""
    free, length = ground.free[node], norm(way)
    if free >= WHOLE or length <= DEPTH:
        return True
    t = (math.atan2(way.imag, way.real) - ground.side[node]) % WHOLE
    return bool(next_allowed(free, t, PLAY + DEPTH / length) <= t)


@lean
def clip_at_corner(ground: Landscape, node: int, turned: int, arc: Arc) -> Arc:
    """Cut an arc to the hull of the directions in which an edge may leave a node.

    `turned` is the turn, in sixths, from the arc's direction to that of the edge. The last
    direction before an end is the first one after it in the mirror image.
    """
    free = ground.free[node]
    if free >= WHOLE or not arc.exists:
        return arc
    a, b = turn(arc.a, turned), turn(arc.b, turned)
    width = math.atan2(cross(a, b), dot(a, b))
    t = (math.atan2(a.imag, a.real) - ground.side[node]) % WHOLE
    first = next_allowed(free, t, PLAY) - t
    if first > width:
        return NOWHERE
    mirrored = (ground.side[node] + free - math.atan2(b.imag, b.real)) % WHOLE
    last = next_allowed(free, mirrored, PLAY) - mirrored
    if first + last > width:
        return NOWHERE
    start = arc.a * complex(math.cos(first), math.sin(first)) if first > 0.0 else arc.a
    end = arc.b * complex(math.cos(last), -math.sin(last)) if last > 0.0 else arc.b
    return Arc(True, start, end)


@njit(cache=True, error_model="numpy")
def spanning_cost(special: Floats, members: Ints, count: int) -> float:
    """Length of a minimum spanning tree of some nodes under the special distance.

    A full tree is no longer. Without it the shortest tree falls into as many parts as it has
    leaves. The links of the chains behind the edges of the spanning tree join them again, and of
    these links a cheapest choice costs no more than the edges: up to every threshold they connect
    at least as much.
    """
    best = np.full(count, np.inf)
    done = np.zeros(count, np.bool_)
    total, current = 0.0, 0
    for _ in range(count - 1):
        done[current] = True
        nearest = -1
        for k in range(count):
            if not done[k]:
                best[k] = min(best[k], special[members[current], members[k]])
                if nearest < 0 or best[k] < best[nearest]:
                    nearest = k
        total += best[nearest]
        current = nearest
    return total
