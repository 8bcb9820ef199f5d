"""What the choice of partners needs to know about a finished branch."""

from __future__ import annotations

import math

import numpy as np

from .arc_kernels import Arc, cross, dot, lean, norm, unit
from .bottleneck_kernels import Ground, cells_between
from .forest_kernels import TIE, Forest, link_cost, steiner_point

MOST_PARTS = 4
PARTS_PER_RADIAN = 20.0


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
        reach = part_reach(ground, forest, row, u, diameter * chord + TIE, chord)
        own.reach = max(own.reach, reach)


@lean
def part_reach(
    ground: Ground, forest: Forest, branch: int, u: complex, spread: float, chord: float
) -> float:
    """Length from which on no edge that leaves a branch in directions within `chord` of u matters.

    They start within `spread` of the Steiner point m for u. An edge can be replaced when some
    terminal is nearer than its length to its far end and, from the branch, to its start or by a
    chain of short enough links to one of the branch's terminals: the terminal hangs on one of the
    sides. Where the far end is a terminal, this can put another in its place; TIE within `spread`
    sees to it that the edge then becomes shorter by more than that.
    """
    grid, best = ground.grid, ground.longest
    m = steiner_point(forest.branches[branch], u)
    # The disc around the far end reaches beyond the start by less than twice the length.
    corner = complex(best, best)
    box = cells_between(m - corner, m + corner, grid)
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
