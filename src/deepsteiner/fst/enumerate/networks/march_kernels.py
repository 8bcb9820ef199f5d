"""Tests that depend on places: they shrink the arc of a branch from its ends.

As in `complete.lune_kernels` each test is an excess, how much longer an edge or a subtree is than
what could replace it, and the excess changes at most at a known rate when the direction turns. So a
positive excess at the end of an arc rules out a whole angle.

- shortcut: no edge between two vertices is longer than their distance; where one of them is a leaf
  on a part of the network, than the distance to the part;
- lune: no node that every tree has is nearer to both ends of an edge than these are to each other:
  it is on one side of the edge, so the way to the end on the other side could take its place;
- one leaf: a branch up to some place p is no longer than reconnecting its nodes and going from p
  to one of them;
- crossing: no edge crosses a segment of the network.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ....core.jit import njit
from ....plane.sight_kernels import Floats
from ..complete.arc_kernels import Arc, cross, lean, norm, turn
from ..complete.bottleneck_kernels import Records
from ..complete.forest_kernels import MOST_TESTED, child_of, steiner_point
from .site_kernels import TIE, Site, crossing_room, to_node

STEPS = 10
"""How often an end of an arc is moved."""
MOST_SEGMENTS = 60
"""Parts with more segments are looked at only when a tree is closed."""

MARK = np.dtype(
    [
        ("place", np.complex128),
        ("speed", np.float64),  # how fast it moves when the branch turns
        ("branch", np.int64),
        ("parent", np.int64),
        ("turned", np.int64),
    ],
    align=True,
)


class Sketch(NamedTuple):
    """Scratch: a branch as it lies in the plane when left in one direction.

    spots: of MARK, parents before children; the first is the last Steiner point.
    longest, rate: of two vertices, the longest edge between them, and how fast it changes.
    """

    spots: Records
    longest: Floats
    rate: Floats


@njit(cache=True, error_model="numpy")
def new_sketch() -> Sketch:
    """Room for a branch."""
    many = 2 * MOST_TESTED
    return Sketch(np.empty(many, MARK), np.zeros((many, many)), np.zeros((many, many)))


@lean
def sketch_branch(branches: Records, row: int, u: complex, sketch: Sketch) -> int:
    """Place the vertices of a branch left in direction u; returns how many."""
    spots, longest, rate = sketch
    spots[0].branch, spots[0].parent, spots[0].turned = row, -1, 0
    count, done = 1, 0
    while done < count:
        spot = spots[done]
        own = branches[spot.branch]
        leaf = own.size == 1
        spot.place = steiner_point(own, turn(u, spot.turned))
        spot.speed = 0.0 if leaf else 2.0 * norm(own.centre - own.equilateral)
        longest[done, done] = rate[done, done] = 0.0
        above = spot.parent
        if above >= 0:
            edge, speed = norm(spot.place - spots[above].place), spot.speed + spots[above].speed
            for v in range(done):
                if edge > longest[above, v]:
                    longest[done, v], rate[done, v] = edge, speed
                else:
                    longest[done, v], rate[done, v] = longest[above, v], rate[above, v]
                longest[v, done], rate[v, done] = longest[done, v], rate[done, v]
        if not leaf:
            for side in range(2):
                new = spots[count]
                new.branch, new.parent = child_of(branches, spot.branch, side), done
                new.turned = spot.turned - 1 + 2 * side
                count += 1
        done += 1
    return count


@lean
def by_shortcuts(site: Site, branches: Records, sketch: Sketch, count: int) -> float:
    """Angle ruled out by shortcuts between two vertices, or a vertex and the part of a leaf."""
    spots, longest, rate = sketch
    first = site.layout.first
    angle = 0.0
    for v in range(count):
        node = -1
        if branches[spots[v].branch].size == 1:
            node = site.layout.node[spots[v].branch]
            if not 0 < first[node + 1] - first[node] <= MOST_SEGMENTS:
                node = -1
        for w in range(count):
            if node >= 0:
                if branches[spots[w].branch].size == 1:
                    continue
                away = to_node(site.layout, node, spots[w].place)
            elif w >= v or spots[v].parent == w:
                continue
            else:
                away = norm(spots[v].place - spots[w].place)
            excess = longest[v, w] - away - TIE
            if excess > 0.0:
                turned = excess / (rate[v, w] + spots[v].speed + spots[w].speed + 1e-300)
                angle = max(angle, turned)
    return angle


@lean
def by_lunes(site: Site, branches: Records, sketch: Sketch, count: int) -> float:
    """Angle ruled out by mandatory nodes in the lunes of edges."""
    spots, places, node, first = (
        sketch.spots, site.layout.places, site.layout.node, site.layout.first,
    )  # fmt: skip
    angle = 0.0
    for v in range(1, count):
        one, two = spots[v], spots[spots[v].parent]
        length = norm(one.place - two.place) - TIE
        rate = one.speed + two.speed + max(one.speed, two.speed)
        if length <= angle * rate:
            continue
        own = one.branch if branches[one.branch].size == 1 else -1
        for z in range(len(places)):
            # Terminals stand before the vertices of the network.
            if node[z] >= site.mandatory or z == own or site.spoke_start[z + 1] > 0:
                continue
            excess = length - max(norm(places[z] - one.place), norm(places[z] - two.place))
            if excess > angle * rate:
                angle = excess / rate
        for u in range(site.mandatory):
            if not 0 < first[u + 1] - first[u] <= MOST_SEGMENTS or (own >= 0 and node[own] == u):
                continue
            away = max(to_node(site.layout, u, one.place), to_node(site.layout, u, two.place))
            if length - away > angle * rate:
                angle = (length - away) / rate
    return angle


@lean
def by_one_leaf(site: Site, branches: Records, sketch: Sketch, count: int) -> float:
    """Angle ruled out because one leaf does as well as a branch."""
    spots = sketch.spots
    angle = 0.0
    for v in range(count):
        own = branches[spots[v].branch]
        if own.size < 3:
            continue
        for above in range(2):
            end = spots[v] if above == 0 else spots[max(spots[v].parent, 0)]
            room = norm(end.place - own.equilateral) - own.bound - TIE
            if room <= 0.0:
                continue
            for w in range(v + 1, count):
                leaf = spots[w].branch
                if branches[leaf].size > 1 or not is_below(spots, w, v):
                    continue
                excess = room - norm(site.layout.places[leaf] - end.place)
                if excess > 0.0:
                    angle = max(angle, 0.5 * excess / end.speed)
    return angle


@lean
def is_below(spots: Records, w: int, v: int) -> bool:
    """Whether vertex w hangs below vertex v; parents come first."""
    while w > v:
        w = spots[w].parent
    return w == v


@lean
def by_crossings(site: Site, sketch: Sketch, count: int) -> float:
    """Angle ruled out because an edge crosses the network."""
    spots, layout = sketch.spots, site.layout
    angle = 0.0
    for v in range(1, count):
        one, two = spots[v], spots[spots[v].parent]
        p, q = one.place, two.place
        speed = max(one.speed, two.speed)
        low_x, high_x = min(p.real, q.real), max(p.real, q.real)
        for k in range(len(layout.tail)):
            a, b = layout.tail[k], layout.head[k]
            if max(a.real, b.real) < low_x or min(a.real, b.real) > high_x:
                continue
            room = crossing_room(p, q, a, b) - TIE
            if room > angle * speed:
                angle = room / speed
    return angle


@lean
def march(site: Site, branches: Records, sketch: Sketch, row: int, arc: Arc) -> Arc:
    """Shrink the arc of a new branch from both ends; what is left."""
    a, b = arc.a, arc.b
    if branches[row].size > MOST_TESTED:
        return arc
    for end in range(2):
        for _ in range(STEPS):
            u = a if end == 0 else b
            count = sketch_branch(branches, row, u, sketch)
            step = by_crossings(site, sketch, count)
            step = max(step, by_one_leaf(site, branches, sketch, count))
            step = max(step, by_shortcuts(site, branches, sketch, count))
            step = max(step, by_lunes(site, branches, sketch, count))
            if step <= 0.0:
                break
            # Turning by atan(step) < step keeps to the safe side.
            scale = 1.0 / math.sqrt(1.0 + step * step)
            u = complex(1.0, step if end == 0 else -step) * u * scale
            if end == 0:
                a = u
            else:
                b = u
            width = cross(a, b)
            if width <= 0.0:
                return Arc(False, 0j, 0j)
            if step < 0.01 * width:
                break
    return Arc(True, a, b)
