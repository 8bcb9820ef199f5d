"""The ground that trees joining existing networks grow on, and what its places allow.

Nodes are terminals and parts of the network; a tree joins a part anywhere on its segments, at no
cost between two such places. Let a *shortest* tree be one that, of all of least length, has the
most full Steiner trees, and of these the fewest leaves inside segments. It has these properties.

- A leaf on a part is a place of the part nearest to the vertex that it hangs on, else the edge
  could be shortened. So an edge meets the inside of a segment at a right angle, and at a vertex it
  is at least 90 degrees from every segment there.
- A full tree has at most one leaf inside a segment [1]. With two, slide both along their segments
  so that all edges keep their directions: of the two ways to slide, one condition ties them. The
  length is the sum of (place of a leaf) · (direction of its edge), and the two leaves move at right
  angles to theirs, so it does not change. Go on, also past vertices where the part goes straight
  on, until a leaf is at the end of its segment (fewer leaves inside), or an edge vanishes: at a
  terminal (more full trees), or elsewhere, where the edges that meet then can be shortened,
  against the choice of the tree.
- A part is in a full tree at most once: two leaves on it would close a cycle.
- No edge crosses a segment: where the part is in the tree, one of the two halves could be left
  out; where not, the edge falls into two full trees of the same length.

[1] E. Althaus, F. Rauterberg and S. Ziegler, Computing Euclidean Steiner trees over segments, EURO
    Journal on Computational Optimization 8 (2020) 309-325, doi:10.1007/s13675-020-00125-w.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ....core.jit import njit
from ....plane.contact_kernels import Layout, length_of, nearest_in
from ....plane.sight_kernels import Complexes, Floats, Ints
from ..complete.arc_kernels import Arc, cross, dot, keep_at_most, lean, norm, turn

PLAY = 1e-9
"""Sine of the angle by which directions at vertices may be off: rounding must rule out nothing."""
TIE = 1e-12
"""Alternatives must be shorter by more than this to rule something out."""


class Site(NamedTuple):
    """What the tests need to know about leaves and nodes.

    layout: the leaves (terminals, then vertices of the network) and the segments, with their nodes.
    spoke_start, spokes: unit vectors along the segments that leave each leaf.
    special: the special distance of all pairs of nodes (see `plane.geodesic_kernels`), with chains
        broken at mandatory nodes only; -1 from a node to itself.
    mandatory: how many of the nodes, the first ones, every tree has.
    longest: the longest special distance, which no edge exceeds.
    """

    layout: Layout
    spoke_start: Ints
    spokes: Complexes
    special: Floats
    mandatory: int
    longest: float


@lean
def clip_at_vertex(site: Site, leaf: int, turned: int, arc: Arc) -> Arc:
    """Cut an arc to the directions in which an edge may leave a leaf.

    `turned` is the turn, in sixths, from the arc's direction to that of the edge.
    """
    for k in range(site.spoke_start[leaf], site.spoke_start[leaf + 1]):
        arc = keep_at_most(turn(site.spokes[k], -turned), PLAY, arc)
    return arc


@lean
def may_leave(site: Site, leaf: int, way: complex) -> bool:
    """Whether an edge may leave a leaf in a direction."""
    for k in range(site.spoke_start[leaf], site.spoke_start[leaf + 1]):
        if dot(site.spokes[k], way) > PLAY * norm(way):
            return False
    return True


@lean
def to_node(layout: Layout, node: int, place: complex) -> float:
    """The distance from a place to the segments of a node; infinite where it has none."""
    if layout.first[node] == layout.first[node + 1]:
        return np.inf
    return length_of(place - nearest_in(layout, node, place))


@lean
def crossing_room(p: complex, q: complex, tail: complex, head: complex) -> float:
    """How far both ends of an edge may move so that it still crosses a segment; <= 0: it does not.

    Let x be the crossing and s the sine of the angle there. When the ends move by less than d, all
    places of the edge do; while d is below their distances from the segment's line, the ends stay
    on either side of it. The new crossing is within d of a place y of the old edge, which is then
    within d of the line, so within d / s of x: it stays on the segment while d + d / s is less than
    the distance from x to the nearer end.
    """
    way, along = q - p, head - tail
    of_p, of_q = cross(along, p - tail), cross(along, q - tail)
    if of_p * of_q >= 0.0:
        return -1.0
    x = p + of_p / (of_p - of_q) * way
    size, length = norm(along), norm(way)
    if dot(x - tail, along) <= 0.0 or dot(x - head, along) >= 0.0:
        return -1.0
    sine = abs(cross(along, way)) / (size * length)
    near = min(norm(x - tail), norm(x - head))
    return min(abs(of_p) / size, abs(of_q) / size, near / (1.0 + 1.0 / sine))


@lean
def crosses(layout: Layout, p: complex, q: complex) -> bool:
    """Whether an edge clearly crosses a segment of the network."""
    low_x, high_x = min(p.real, q.real), max(p.real, q.real)
    low_y, high_y = min(p.imag, q.imag), max(p.imag, q.imag)
    for k in range(len(layout.tail)):
        a, b = layout.tail[k], layout.head[k]
        if (
            max(a.real, b.real) >= low_x
            and min(a.real, b.real) <= high_x
            and max(a.imag, b.imag) >= low_y
            and min(a.imag, b.imag) <= high_y
            and crossing_room(p, q, a, b) > PLAY
        ):
            return True
    return False


@njit(cache=True, error_model="numpy")
def spanning_cost(special: Floats, nodes: Ints, count: int) -> float:
    """Length of a minimum spanning tree of some nodes under the special distance.

    A full tree is no longer. Without it the shortest tree falls into as many parts as it has
    leaves. The pieces of the chains behind the edges of the spanning tree join them again, and of
    these a cheapest choice costs no more than the edges: up to every threshold they connect at
    least as much.
    """
    best = np.full(count, np.inf)
    done = np.zeros(count, np.bool_)
    total, current = 0.0, 0
    for _ in range(count - 1):
        done[current] = True
        nearest = -1
        for k in range(count):
            if not done[k]:
                best[k] = min(best[k], special[nodes[current], nodes[k]])
                if nearest < 0 or best[k] < best[nearest]:
                    nearest = k
        total += best[nearest]
        current = nearest
    return total


@njit(cache=True, error_model="numpy")
def widest_gap(spokes: Complexes) -> float:
    """The widest angle between neighbouring directions; 2 pi of one or none."""
    count = len(spokes)
    if count < 2:
        return 2.0 * math.pi
    angles = np.empty(count)
    for k in range(count):
        angles[k] = math.atan2(spokes[k].imag, spokes[k].real)
    angles = np.sort(angles)
    gap = angles[0] + 2.0 * math.pi - angles[count - 1]
    for k in range(count - 1):
        gap = max(gap, angles[k + 1] - angles[k])
    return float(gap)
