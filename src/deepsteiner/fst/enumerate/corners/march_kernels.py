"""Tests that depend on places: they shrink arcs from their ends, with obstacles in the way.

As in `complete.lune_kernels` each test is an excess, how much longer an edge or a subtree is than
what could replace it, and the excess changes at most at a known rate when the direction turns. So a
positive excess at the end of an arc rules out a whole angle. With obstacles what replaces it must
be free. It is where the segment is free at the end of the arc and both its ends, as they move, stay
in the discs around them that no wall reaches: from there one can go straight to where they were,
and on along the segment. So no angle is ruled out in which an end leaves its disc.

- shortcut: no edge between two vertices is longer than their distance, else it could be replaced;
- lune: no terminal is nearer to both ends of an edge than these are to each other;
- one leaf: a branch up to some place p is no longer than reconnecting its leaves and going from p
  to one of them;
- walls: an edge that goes through an obstacle, deep at one of its points, still does after all its
  points have moved by less than that depth;
- wedge: ahead of the last Steiner point there are nodes within 60 degrees to the left and to the
  right, where the paths that turn left and right in turn must end.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ....core.jit import njit
from ....plane.sight_kernels import Floats, Ints
from ..complete.arc_kernels import Arc, cross, lean, norm, turn
from ..complete.bottleneck_kernels import Records
from ..complete.forest_kernels import MOST_TESTED, child_of, steiner_point
from .block_kernels import MOST_CROSSED, Blocks, clearance, deepest, is_free
from .landscape_kernels import TIE, Landscape

STEPS = 10
"""How often an end of an arc is moved."""
ENOUGH = 0.1
"""Share of an arc's width: where a test rules out so much the dearer ones can wait."""
LOOK_AHEAD = 400
"""With more nodes than this the wedge is hardly ever empty."""
AIM = 1e-9

SPOT = np.dtype(
    [
        ("place", np.complex128),
        ("speed", np.float64),  # how fast it moves when the branch turns
        ("clear", np.float64),  # radius of the disc around it that no wall reaches
        ("depth", np.float64),  # how deep it is inside an obstacle
        ("branch", np.int64),
        ("parent", np.int64),
        ("turned", np.int64),
    ],
    align=True,
)


class Sketch(NamedTuple):
    """Scratch: a branch as it lies in the plane when left in one direction.

    spots: of SPOT, parents before children; the first is the last Steiner point.
    longest, rate: of two vertices, the longest edge between them, and how fast it changes, where
        shortcuts were looked for; of every pair in the row of the later one.
    shares: scratch of `deepest`.
    """

    spots: Records
    longest: Floats
    rate: Floats
    shares: Floats


@njit(cache=True, error_model="numpy")
def new_sketch() -> Sketch:
    """Room for a branch."""
    many = 2 * MOST_TESTED
    square = (many, many)
    return Sketch(
        np.empty(many, SPOT), np.zeros(square), np.zeros(square), np.empty(MOST_CROSSED + 2)
    )


@lean
def sketch_branch(
    ground: Landscape, branches: Records, row: int, u: complex, sketch: Sketch
) -> int:
    """Place the vertices of a branch left in direction u; returns how many."""
    spots = sketch.spots
    spots[0].branch, spots[0].parent, spots[0].turned = row, -1, 0
    count, done = 1, 0
    while done < count:
        spot = spots[done]
        own = branches[spot.branch]
        leaf = own.size == 1
        spot.place = steiner_point(own, turn(u, spot.turned))
        spot.speed = 0.0 if leaf else 2.0 * norm(own.centre - own.equilateral)
        clear = np.inf if leaf else clearance(ground.blocks, spot.place)
        spot.clear, spot.depth = abs(clear), max(-clear, 0.0)
        if not leaf:
            for side in range(2):
                new = spots[count]
                new.branch, new.parent = child_of(branches, spot.branch, side), done
                new.turned = spot.turned - 1 + 2 * side
                count += 1
        done += 1
    return count


@lean
def within_disc(spot: Any, angle: float) -> float:
    """The angle, at most this one, up to which a vertex stays in its disc."""
    return min(angle, spot.clear / spot.speed) if spot.speed > 0.0 else angle


@lean
def by_shortcuts(blocks: Blocks, sketch: Sketch, count: int) -> float:
    """Angle ruled out by shortcuts between two vertices."""
    spots, longest, rate, _ = sketch
    longest[0, 0] = rate[0, 0] = angle = 0.0
    for v in range(1, count):
        one, above = spots[v], spots[v].parent
        edge, speed = norm(one.place - spots[above].place), one.speed + spots[above].speed
        longest[v, v] = rate[v, v] = 0.0
        for w in range(v):
            # Only pairs whose first vertex is the later one are filled in.
            late, early = max(above, w), min(above, w)
            if edge > longest[late, early]:
                longest[v, w], rate[v, w] = edge, speed
            else:
                longest[v, w], rate[v, w] = longest[late, early], rate[late, early]
            if w == above:
                continue
            excess = longest[v, w] - norm(one.place - spots[w].place) - TIE
            if excess <= 0.0:
                continue
            turned = excess / (rate[v, w] + one.speed + spots[w].speed + 1e-300)
            turned = within_disc(one, within_disc(spots[w], turned))
            if turned > angle and is_free(blocks, one.place, spots[w].place):
                angle = turned
    return angle


@lean
def by_lunes(ground: Landscape, sketch: Sketch, count: int, branches: Records) -> float:
    """Angle ruled out by terminals in the lunes of edges."""
    spots, places, by_x = sketch.spots, ground.places, ground.by_x
    angle = 0.0
    for v in range(1, count):
        one, two = spots[v], spots[spots[v].parent]
        length = norm(one.place - two.place) - TIE
        rate = one.speed + two.speed + max(one.speed, two.speed)
        most = within_disc(one, within_disc(two, np.inf))
        if most <= angle:
            continue
        high = min(one.place.real, two.place.real) + length
        k = first_right_of(places, by_x, max(one.place.real, two.place.real) - length)
        while k < len(by_x) and places[by_x[k]].real < high:
            z = by_x[k]
            k += 1
            excess = length - max(norm(places[z] - one.place), norm(places[z] - two.place))
            if excess <= 0.0 or (branches[one.branch].size == 1 and z == one.branch):
                continue
            turned = min(excess / rate, most)
            if (
                turned > angle
                and is_free(ground.blocks, places[z], one.place)
                and is_free(ground.blocks, places[z], two.place)
            ):
                angle = turned
    return angle


@lean
def first_right_of(places: np.ndarray, order: Ints, x: float) -> int:
    """The first of some nodes, sorted by x, that is not to the left of x."""
    low, high = 0, len(order)
    while low < high:
        middle = (low + high) // 2
        if places[order[middle]].real < x:
            low = middle + 1
        else:
            high = middle
    return low


@lean
def by_one_leaf(
    ground: Landscape, branches: Records, members: Ints, sketch: Sketch, count: int
) -> float:
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
            for position in range(own.start, own.start + own.size):
                y = ground.places[members[position]]
                excess = room - norm(y - end.place)
                if excess <= 0.0:
                    continue
                turned = within_disc(end, 0.5 * excess / end.speed)
                if turned > angle and is_free(ground.blocks, y, end.place):
                    angle = turned
    return angle


@lean
def by_walls(blocks: Blocks, sketch: Sketch, count: int) -> float:
    """Angle ruled out because an edge goes through an obstacle."""
    spots = sketch.spots
    angle = 0.0
    for v in range(count):
        if spots[v].depth > TIE:
            angle = max(angle, (spots[v].depth - TIE) / spots[v].speed)
    for v in range(1, count):
        p, q = spots[v].place, spots[spots[v].parent].place
        speed = max(spots[v].speed, spots[spots[v].parent].speed)
        depth = deepest(blocks, p, q - p, sketch.shares)
        if depth > TIE:
            angle = max(angle, (depth - TIE) / speed)
    return angle


@lean
def by_wedge(ground: Landscape, branches: Records, members: Ints, row: int, u: complex) -> float:
    """Angle ruled out because no node lies ahead, on the left or on the right."""
    own = branches[row]
    s = steiner_point(own, u)
    left_end, right_end = turn(u, 1), turn(u, -1)
    speed = 2.0 * norm(own.centre - own.equilateral)
    left = right = np.inf
    position, end = own.start, own.start + own.size
    for v in range(len(ground.places)):
        if position < end and members[position] == v:
            position += 1
            continue
        way = ground.places[v] - s
        side = cross(u, way)
        rate = speed + norm(way)
        left = min(left, max(-side, cross(left_end, way)) / rate)
        right = min(right, max(side, cross(way, right_end)) / rate)
        if left <= 0.0 and right <= 0.0:
            return 0.0
    return max(left, right) - AIM


@lean
def march(
    ground: Landscape, branches: Records, members: Ints, sketch: Sketch, row: int, arc: Arc
) -> Arc:
    """Shrink the arc of a new branch from both ends; what is left."""
    a, b = arc.a, arc.b
    for end in range(2):
        for _ in range(STEPS):
            u = a if end == 0 else b
            step = 0.0
            if len(ground.places) <= LOOK_AHEAD and not ground.anywhere:
                step = by_wedge(ground, branches, members, row, u)
            if step <= 0.0 and branches[row].size <= MOST_TESTED:
                enough = ENOUGH * cross(a, b)
                count = sketch_branch(ground, branches, row, u, sketch)
                step = by_walls(ground.blocks, sketch, count)
                if step <= enough:
                    step = max(step, by_one_leaf(ground, branches, members, sketch, count))
                if step <= enough:
                    step = max(step, by_shortcuts(ground.blocks, sketch, count))
                if step <= enough:
                    step = max(step, by_lunes(ground, sketch, count, branches))
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
