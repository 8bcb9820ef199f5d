"""What the choice of partners needs to know about a finished branch."""

from __future__ import annotations

import math

import numpy as np

from .arc_kernels import lean, norm
from .bottleneck_kernels import COLUMNS, LONGEST, Floats, Ints, column_of, row_of
from .forest_kernels import (
    ANGLE,
    AX,
    AY,
    BX,
    BY,
    COS,
    CX,
    CY,
    EX,
    EY,
    MX,
    MY,
    REACH,
    SIN,
    SPREAD,
    TIE,
    UX,
    UY,
    WIDTH,
    link_cost,
)

MOST_PARTS = 4
PARTS_PER_RADIAN = 20.0


@lean
def settle(
    points: Floats,
    gaps: Floats,
    cells: Ints,
    frame: Floats,
    shape: Floats,
    link: Ints,
    members: Ints,
    row: int,
    ax: float,
    ay: float,
    bx: float,
    by: float,
) -> None:
    """Store the final interval of a branch and what the choice of partners needs."""
    ex, ey, cx, cy = shape[row, EX], shape[row, EY], shape[row, CX], shape[row, CY]
    ux, uy = middle(ax, ay, bx, by)
    along = 2.0 * ((cx - ex) * ux + (cy - ey) * uy)
    mx, my = ex + along * ux, ey + along * uy
    shape[row, AX], shape[row, AY], shape[row, BX], shape[row, BY] = ax, ay, bx, by
    shape[row, UX], shape[row, UY] = ux, uy
    shape[row, COS], shape[row, SIN] = ux * ax + uy * ay, ax * uy - ay * ux
    shape[row, ANGLE] = np.arctan2(uy, ux)
    shape[row, WIDTH] = np.arctan2(shape[row, SIN], shape[row, COS])
    shape[row, MX], shape[row, MY] = mx, my
    # Chord of an angle at the circumference that is half the interval.
    shape[row, SPREAD] = 2.0 * norm(cx - ex, cy - ey) * max(shape[row, SIN], 0.0) + TIE
    reach = 0.0
    parts = 1 + min(int(shape[row, SIN] * PARTS_PER_RADIAN), MOST_PARTS - 1)
    for part in range(parts):
        # Any subdivision will do as long as the parts touch.
        f, g = part / parts, (part + 1) / parts
        px, py = (1.0 - f) * ax + f * bx, (1.0 - f) * ay + f * by
        qx, qy = (1.0 - g) * ax + g * bx, (1.0 - g) * ay + g * by
        scale = 1.0 / norm(px, py)
        px, py = px * scale, py * scale
        scale = 1.0 / norm(qx, qy)
        vx, vy = middle(px, py, qx * scale, qy * scale)
        along = 2.0 * ((cx - ex) * vx + (cy - ey) * vy)
        chord = norm(vx - px, vy - py)
        spread = 2.0 * norm(cx - ex, cy - ey) * chord + TIE
        reach = max(
            reach,
            part_reach(
                points,
                gaps,
                cells,
                frame,
                link,
                members,
                row,
                ex + along * vx,
                ey + along * vy,
                vx,
                vy,
                spread,
                chord,
            ),
        )
    shape[row, REACH] = reach


@lean
def middle(ax: float, ay: float, bx: float, by: float) -> tuple[float, float]:
    """Unit vector halfway between two unit vectors."""
    x, y = ax + bx, ay + by
    scale = 1.0 / norm(x, y)
    return x * scale, y * scale


@lean
def part_reach(
    points: Floats,
    gaps: Floats,
    cells: Ints,
    frame: Floats,
    link: Ints,
    members: Ints,
    branch: int,
    mx: float,
    my: float,
    ux: float,
    uy: float,
    spread: float,
    chord: float,
) -> float:
    """Length from which on no edge that leaves a branch within `spread` of m can be needed.

    Edges leave in directions within `chord` of u. An edge can be replaced when some terminal is
    nearer than its length to its far end and, from the branch, to its start or by a chain of
    short enough links to one of the branch's terminals: the terminal hangs on one of the sides.
    Where the far end is a terminal, this can put another in its place; TIE within `spread` sees to
    it that the edge then becomes shorter by more than that.
    """
    best = frame[LONGEST]
    columns = int(frame[COLUMNS])
    # The disc around the far end reaches beyond the start by less than twice the length.
    column_low = column_of(mx - best, frame)
    column_high = column_of(mx + best, frame)
    row_low = row_of(my - best, frame)
    row_high = row_of(my + best, frame)
    slope = 1.0 - chord
    curve = 1.0 - slope * slope
    for row in range(row_low, row_high + 1):
        base = row * columns
        for k in range(cells[base + column_low], cells[base + column_high + 1]):
            z = cells[k]
            dx, dy = points[z, 0] - mx, points[z, 1] - my
            # |z - (m + L u)| + spread + L chord <= L, a quadratic inequality in L
            half = dx * ux + dy * uy - slope * spread
            square = dx * dx + dy * dy
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
                near = min(near, link_cost(gaps, link, members, branch, z) + TIE)
            best = min(best, max(distance, near))
    return float(best)
