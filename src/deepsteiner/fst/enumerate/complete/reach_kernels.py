"""How far edges reach that leave a terminal or a branch: what the choice of partners needs.

And, for tiles, how far all tests look that decide on a branch: its view, a box around it. A tile
holds the terminals of some cells only; a branch is treated there as it is among all terminals if
its view is within these cells, and the views of what it is made of are (see `tiled.certificate`).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ....core.jit import njit
from .arc_kernels import Arc, cross, dot, lean, norm, unit
from .bottleneck_kernels import (
    FARTHEST,
    LOST,
    WIDEST,
    Box,
    Floats,
    Ground,
    Part,
    bottleneck,
    cells_between,
    is_held,
)
from .forest_kernels import (
    TIE,
    Forest,
    child_of,
    edge_vector,
    link_cost,
    steiner_point,
    subtree_vector,
)

MOST_PARTS = 4
PARTS_PER_RADIAN = 20.0
SECTORS = 24
"""Directions of a terminal that are told apart."""
MOST_SCANNED = 4096
"""Terminals among which a shorter edge is looked for; to find none is always safe."""


class Start(NamedTuple):
    """Where edges begin and which way they go: all within a spread and a chord of these."""

    place: complex
    u: complex
    spread: float
    chord: float


@njit(cache=True, error_model="numpy")
def terminal_reaches(ground: Ground) -> tuple[Floats, Floats]:
    """For each terminal and sector of directions: the longest edge that can leave, or more.

    Also how far from each terminal was looked.

    With another terminal z nearer to both ends of an edge than they are to each other, the edge
    can be exchanged for one to z. From a terminal at distance d from z, at an angle below 90
    degrees, that is so for lengths above d and d / (2 cos angle). To put z in the place of either
    end, the exchange must shorten the tree by more than TIE: hence the margin.
    """
    n, margin = len(ground.points), 2.0 * TIE
    reach, looked = np.full((n, SECTORS), ground.longest), np.empty(n)
    half = np.pi / SECTORS
    for t in range(n):
        radius = first_radius(ground)
        while True:
            box, few = box_around(ground, ground.points[t], radius)
            for row in range(box.low, box.high):
                base = row * ground.grid.columns
                for k in range(
                    ground.grid.cells[base + box.left], ground.grid.cells[base + box.right]
                ):
                    way = ground.points[ground.grid.cells[k]] - ground.points[t]
                    d = norm(way)
                    if d <= margin or d >= ground.longest:
                        continue
                    seen = math.atan2(way.imag, way.real) + np.pi
                    for sector in range(SECTORS):
                        apart = abs(seen - (2 * sector + 1) * half)
                        along = d * math.cos(min(apart, 2.0 * np.pi - apart) + half) - margin
                        if along > 0.0:
                            length = max(d + margin, (d * d - margin * margin) / (2.0 * along))
                            reach[t, sector] = min(reach[t, sector], length)
            looked[t] = radius
            if farthest(reach, t) <= radius or radius >= ground.longest or not few:
                break
            radius *= 2.0
    return reach, looked


@lean
def longest_between(reach: Floats, terminal: int, low: float, high: float) -> float:
    """Longest edge that can leave a terminal in directions between two angles, in radians."""
    first = int(np.floor((low + np.pi) * (SECTORS / (2.0 * np.pi))))
    last = int(np.floor((high + np.pi) * (SECTORS / (2.0 * np.pi))))
    longest = 0.0
    for sector in range(first, min(last, first + SECTORS - 1) + 1):
        longest = max(longest, reach[terminal, sector % SECTORS])
    return longest


@lean
def farthest(reach: Floats, t: int) -> float:
    """The longest edge that can leave a terminal in any direction."""
    longest = 0.0
    for sector in range(SECTORS):
        longest = max(longest, reach[t, sector])
    return longest


@lean
def first_radius(ground: Ground) -> float:
    """How far to look first: some cells of the grid, or everywhere."""
    return min(2.0 / ground.grid.scale, ground.longest) if ground.grid.scale else ground.longest


@lean
def box_around(ground: Ground, place: complex, radius: float) -> tuple[Box, bool]:
    """The cells around a place, and whether one may well look at four times as many terminals."""
    corner = complex(radius, radius)
    box, grid = cells_between(place - corner, place + corner, ground.grid), ground.grid
    count = 0
    for row in range(box.low, box.high):
        base = row * grid.columns
        count += grid.cells[base + box.right] - grid.cells[base + box.left]
    return box, 4 * count <= MOST_SCANNED


@lean
def settle(ground: Ground, forest: Forest, row: int, arc: Arc) -> None:
    """Store the final arc of a branch and what the choice of partners needs."""
    own = forest.branches[row]
    diameter = 2.0 * norm(own.centre - own.equilateral)
    own.a, own.b, own.middle = arc.a, arc.b, unit(arc.a + arc.b)
    own.place = steiner_point(own, own.middle)
    own.cosine, own.sine = dot(own.middle, arc.a), cross(arc.a, own.middle)
    own.angle = np.arctan2(own.middle.imag, own.middle.real)
    own.width = np.arctan2(own.sine, own.cosine)
    # Chord of an angle at the circumference that is half the arc.
    own.spread = diameter * max(own.sine, 0.0) + TIE
    own.reach = 0.0
    parts = 1 + min(int(own.sine * PARTS_PER_RADIAN), MOST_PARTS - 1)
    for part in range(parts):
        # Any subdivision will do as long as the parts touch.
        f, g = part / parts, (part + 1) / parts
        first = unit((1.0 - f) * arc.a + f * arc.b)
        last = unit((1.0 - g) * arc.a + g * arc.b)
        u = unit(first + last)
        chord = norm(u - first)
        start = Start(steiner_point(own, u), u, diameter * chord + TIE, chord)
        reach, looked = part_reach(ground, forest, row, start)
        own.reach = max(own.reach, reach)
        widen(ground.part, row, start.place, looked)
    # Terminals that close the branch are looked for in the cells within its reach, and others in
    # the lune of the edge to them.
    far = own.reach + 2.0 * own.spread + 1.0 / ground.grid.scale
    widen(ground.part, row, own.place, own.spread + 1.5 * far)


@lean
def part_reach(ground: Ground, forest: Forest, branch: int, start: Start) -> tuple[float, float]:
    """Length from which on no edge that leaves a branch as `start` says matters.

    Also how far was looked.

    An edge can be replaced when some terminal is nearer than its length to its far end and, from
    the branch, to its start or by a chain of short enough links to one of the branch's terminals:
    the terminal hangs on one of the sides. Where the far end is a terminal, this can put another
    in its place; TIE within the spread sees to it that the edge then becomes shorter by more than
    that.
    """
    best, radius = ground.longest, first_radius(ground)
    while True:
        box, few = box_around(ground, start.place, radius)
        best = min(best, reach_within(ground, forest, branch, box, start))
        if best <= radius or radius >= ground.longest or not few:
            return best, radius
        radius *= 2.0


@lean
def reach_within(ground: Ground, forest: Forest, branch: int, box: Box, start: Start) -> float:
    """What `part_reach` finds among the terminals of some cells of the grid."""
    grid, best = ground.grid, ground.longest
    m, u, spread, chord = start
    slope = 1.0 - chord
    curve = 1.0 - slope * slope
    for row in range(box.low, box.high):
        base = row * grid.columns
        for k in range(grid.cells[base + box.left], grid.cells[base + box.right]):
            z = grid.cells[k]
            way = ground.points[z] - m
            # |z - (m + L u)| + spread + L chord <= L, a quadratic inequality in L
            half = dot(way, u) - slope * spread
            square = dot(way, way)
            rest = square - spread * spread
            if half <= 0.0 or rest <= 0.0:
                continue
            if rest >= 2.0 * half * best:
                continue
            root = half * half - curve * rest
            if root < 0.0:
                continue
            distance = rest / (half + math.sqrt(root))
            if distance >= best or distance * slope < spread:
                continue
            near = math.sqrt(square) + spread
            if near > distance:
                near = min(near, link_cost(ground.gaps, forest, branch, z) + TIE)
            best = min(best, max(distance, near))
    return float(best)


@lean
def widen(part: Part | None, row: int, place: complex, radius: float) -> None:
    """Let the view of a branch, where there are views, hold the square around a place."""
    if part is None:
        return
    view, corner = part.views[row], complex(radius, radius)
    low, high = place - corner, place + corner
    view.low = complex(min(view.low.real, low.real), min(view.low.imag, low.imag))
    view.high = complex(max(view.high.real, high.real), max(view.high.imag, high.imag))


@lean
def longest_on(w: complex, arc: Arc) -> float:
    """The largest w · u of the directions u of an arc."""
    if cross(arc.a, w) >= 0.0 and cross(w, arc.b) >= 0.0:
        return norm(w)
    return max(dot(w, arc.a), dot(w, arc.b))


@lean
def look_ahead(ground: Ground, forest: Forest, part: Part, row: int, arc: Arc) -> bool:
    """Set the view of a new branch to what the tests of it look at; whether the tile holds that.

    In the directions that joining left, the Steiner point s of the branch is within an edge of
    the Steiner point q of either child, and q within its spread. The lune of the edge is within
    its length of q. What a terminal may do instead of a branch (`exchange_kernels`) is looked at
    within the room there is, which is the length up to s less the cost of reconnecting. Rivals of
    a leaf (`branch_kernels`) are within the bottleneck distance of the branch's terminals. All
    that is inside the children was in view when these were made, in more directions.
    """
    branches, members, own = forest.branches, forest.members, forest.branches[row]
    view, left, right = part.views[row], part.views[own.left], part.views[own.right]
    low, high = left.low, left.high
    view.low = complex(min(low.real, right.low.real), min(low.imag, right.low.imag))
    view.high = complex(max(high.real, right.high.real), max(high.imag, right.high.imag))
    room = longest_on(2.0 * (own.centre - own.equilateral), arc) - own.bound
    room = max(room, bottleneck(ground.gaps, members[own.start], members[own.start + own.size - 1]))
    for side in range(2):
        child, turned = child_of(branches, row, side), 2 * side - 1
        edge = longest_on(edge_vector(branches, row, child, turned), arc)
        trunk = longest_on(subtree_vector(branches, row, child, turned), arc)
        radius = branches[child].spread + edge + max(room, trunk - branches[child].bound)
        widen(part, row, branches[child].place, radius + 2.0 * TIE)
    return is_in_view(ground, forest, part, row)


@lean
def is_in_view(ground: Ground, forest: Forest, part: Part, row: int) -> bool:
    """Whether a tile holds the view of a branch; if not, and it has a terminal of it, count it."""
    view, own = part.views[row], forest.branches[row]
    if is_held(view.low, view.high, ground.grid):
        return True
    for position in range(own.start, own.start + own.size):
        if part.core[forest.members[position]]:
            part.found[LOST] += 1.0
            break
    return False


@lean
def note_view(ground: Ground, forest: Forest, part: Part, row: int) -> bool:
    """Whether a tile holds the view of a branch that survived; if so, note how wide it is."""
    if not is_in_view(ground, forest, part, row):
        return False
    view, own, found = part.views[row], forest.branches[row], part.found
    ours, nearest = False, np.inf
    for position in range(own.start, own.start + own.size):
        t = forest.members[position]
        way = ground.points[t] - own.place
        nearest = min(nearest, max(abs(way.real), abs(way.imag)))
        ours = ours or part.core[t] != 0
    if ours:
        across = view.high - view.low
        found[WIDEST] = max(found[WIDEST], max(across.real, across.imag))
        found[FARTHEST] = max(found[FARTHEST], nearest + own.spread + own.reach)
    return True
