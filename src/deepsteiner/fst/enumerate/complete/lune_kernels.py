"""Tests that depend on places, not only on edge lengths: they shrink intervals from their ends.

Each test is an excess (how much longer an edge or subtree is than an alternative) that changes at
most at a known rate when the direction turns. A positive excess at one end of the interval
therefore rules out a whole angle, and a few steps bring the end close to where the test holds.
"""

from __future__ import annotations

import math

import numpy as np

from .arc_kernels import lean, norm, turn
from .bottleneck_kernels import COLUMNS, STRIDE, Floats, Ints, column_of, row_of
from .forest_kernels import (
    BOUND,
    CX,
    CY,
    EX,
    EY,
    LEFT,
    MASK,
    MASK_BITS,
    RIGHT,
    SIZE,
    START,
    TIE,
    WORK_SIZE,
)
from .reach_kernels import settle

MARCH_STEPS = 5
AHEAD_SCAN = 256
AIM = 1e-9
"""Angle left around the only possible direction: unlike a tie it must survive rounding."""


@lean
def lune_excess(
    points: Floats,
    cells: Ints,
    frame: Floats,
    px: float,
    py: float,
    qx: float,
    qy: float,
    p_terminal: int,
    q_terminal: int,
) -> float:
    """By how much the edge pq is longer than a link through a terminal z in its lune (or < -TIE).

    The edge is exchanged for zp or zq, whichever reconnects the tree. Between Steiner points both
    split the full tree, so ties may be dropped. At a leaf, zq can put z into the leaf's place and
    leave as many full trees as before: were ties dropped there, of two terminals that (nearly)
    coincide each would rule out the trees of the other. So z must then be nearer to the Steiner
    point by more than TIE: every such exchange shortens the tree, and none can be taken back.
    """
    length = norm(qx - px, qy - py)
    # d + 2 TIE instead of d, squared, for all d up to the length that matters
    strict = 4.0 * TIE * (length + 2.0 * TIE)
    strict_p = strict if q_terminal >= 0 else 0.0
    strict_q = strict if p_terminal >= 0 else 0.0
    columns = int(frame[COLUMNS])
    column_low = column_of(max(px, qx) - length, frame)
    column_high = column_of(min(px, qx) + length, frame)
    row_low = row_of(max(py, qy) - length, frame)
    row_high = row_of(min(py, qy) + length, frame)
    nearest = (length + 2.0 * TIE) * (length + 2.0 * TIE)
    for row in range(row_low, row_high + 1):
        base = row * columns
        for k in range(cells[base + column_low], cells[base + column_high + 1]):
            z = cells[k]
            zx, zy = points[z, 0], points[z, 1]
            to_p = (zx - px) * (zx - px) + (zy - py) * (zy - py)
            to_q = (zx - qx) * (zx - qx) + (zy - qy) * (zy - qy)
            if max(to_p, to_q) < nearest and z != p_terminal and z != q_terminal:
                nearest = min(nearest, max(to_p + strict_p, to_q + strict_q))
    return length - math.sqrt(nearest)


@lean
def nearest_member(
    points: Floats, link: Ints, members: Ints, branch: int, x: float, y: float
) -> float:
    """Distance from a place to the nearest terminal of a branch."""
    nearest = np.inf
    begin = link[branch, START]
    for position in range(begin, begin + link[branch, SIZE]):
        t = members[position]
        dx, dy = points[t, 0] - x, points[t, 1] - y
        nearest = min(nearest, dx * dx + dy * dy)
    return math.sqrt(nearest)


@lean
def blocked_turn(
    points: Floats,
    cells: Ints,
    frame: Floats,
    shape: Floats,
    link: Ints,
    members: Ints,
    branch: int,
    ux: float,
    uy: float,
) -> float:
    """Angle around u ruled out by the two new edges and by the length up to the Steiner point."""
    ex, ey, cx, cy = shape[branch, EX], shape[branch, EY], shape[branch, CX], shape[branch, CY]
    radius = norm(cx - ex, cy - ey)
    total = 2.0 * ((cx - ex) * ux + (cy - ey) * uy)
    sx, sy = ex + total * ux, ey + total * uy
    to_left = nearest_member(points, link, members, link[branch, LEFT], sx, sy)
    to_right = nearest_member(points, link, members, link[branch, RIGHT], sx, sy)
    excess = total - shape[branch, BOUND] - min(to_left, to_right)
    angle = (excess + TIE) / (4.0 * radius)
    for side in range(2):
        child, other = link[branch, LEFT + side], link[branch, RIGHT - side]
        vx, vy = turn(ux, uy, -1 + 2 * side)
        kx, ky = shape[child, CX], shape[child, CY]
        ex, ey = shape[child, EX], shape[child, EY]
        child_total = 2.0 * ((kx - ex) * vx + (ky - ey) * vy)
        qx, qy = ex + child_total * vx, ey + child_total * vy
        edge = 2.0 * ((cx - kx) * vx + (cy - ky) * vy)
        rate = 2.0 * norm(cx - kx, cy - ky)
        child_radius = norm(kx - ex, ky - ey)
        leaf = link[child, SIZE] == 1
        if not leaf:
            nearest = to_left if side == 0 else to_right
            angle = max(angle, (edge - nearest + TIE) / (rate + 2.0 * radius))
        nearest = nearest_member(points, link, members, other, qx, qy)
        angle = max(angle, (edge - nearest + TIE) / (rate + 2.0 * child_radius))
        excess = lune_excess(points, cells, frame, sx, sy, qx, qy, -1, child if leaf else -1)
        angle = max(angle, (excess + TIE) / (rate + 2.0 * max(radius, child_radius)))
    return float(angle)


@lean
def blocked_inside(
    points: Floats,
    cells: Ints,
    frame: Floats,
    shape: Floats,
    link: Ints,
    stack: Ints,
    work: Floats,
    branch: int,
    ux: float,
    uy: float,
) -> float:
    """Angle around u ruled out by shortcuts between any two vertices, and by inner lunes.

    No edge on the path between two vertices may be longer than their distance: a shortcut would
    replace it. Between terminals that splits the full tree, so ties may be dropped. A shortcut to
    a Steiner point may only hang a leaf elsewhere and must shorten the tree by more than TIE.
    work[v, w] holds the longest edge between two vertices and its rate, work[-1] the vertices'
    places and rates.
    """
    places = len(work) - 1
    stack[0, 0], stack[0, 1], stack[0, 2] = branch, 0, -1
    depth, count = 1, 0
    angle = 0.0
    while depth > 0:
        depth -= 1
        node, turned, parent = stack[depth, 0], stack[depth, 1], stack[depth, 2]
        vx, vy = turn(ux, uy, turned)
        cx, cy = shape[node, CX], shape[node, CY]
        ex, ey = shape[node, EX], shape[node, EY]
        along = 2.0 * ((cx - ex) * vx + (cy - ey) * vy)
        x, y = ex + along * vx, ey + along * vy
        leaf = link[node, SIZE] == 1
        rate = 2.0 * norm(cx - ex, cy - ey)
        work[places, count, 0], work[places, count, 1] = x, y
        work[places, count, 2] = -1.0 if leaf else rate
        work[count, count, 0], work[count, count, 1] = 0.0, 0.0
        if parent >= 0:
            px, py = work[places, parent, 0], work[places, parent, 1]
            edge = norm(x - px, y - py)
            # The rate of |s - s_x| is at most the sum of the rates of its ends.
            edge_rate = rate + work[places, parent, 2]
            for v in range(count):
                longest, longest_rate = work[parent, v, 0], work[parent, v, 1]
                if edge > longest:
                    longest, longest_rate = edge, edge_rate
                work[count, v, 0], work[count, v, 1] = longest, longest_rate
                work[v, count, 0], work[v, count, 1] = longest, longest_rate
                if v == parent:
                    continue
                dx, dy = x - work[places, v, 0], y - work[places, v, 1]
                excess = longest - norm(dx, dy)
                other = work[places, v, 2]
                excess += TIE if leaf and other < 0.0 else -TIE
                if excess > 0.0:
                    angle = max(angle, excess / (longest_rate + rate + max(other, 0.0)))
            if parent > 0:
                excess = lune_excess(points, cells, frame, px, py, x, y, -1, node if leaf else -1)
                if excess + TIE > 0.0:
                    angle = max(
                        angle, (excess + TIE) / (edge_rate + max(rate, work[places, parent, 2]))
                    )
        if not leaf:
            for side in range(2):
                stack[depth, 0] = link[node, LEFT + side]
                stack[depth, 1] = turned - 1 + 2 * side
                stack[depth, 2] = count
                depth += 1
        count += 1
    return angle


@lean
def blocked_ahead(
    points: Floats,
    frame: Floats,
    shape: Floats,
    link: Ints,
    members: Ints,
    branch: int,
    ux: float,
    uy: float,
) -> float:
    """Angle around u ruled out because no terminal lies ahead.

    From the Steiner point the tree goes on along u. The path that turns left and right in turn
    ends in a terminal between u and 60 degrees to the left of it; its mirror image in one to the
    right.
    """
    ex, ey, cx, cy = shape[branch, EX], shape[branch, EY], shape[branch, CX], shape[branch, CY]
    total = 2.0 * ((cx - ex) * ux + (cy - ey) * uy)
    sx, sy = ex + total * ux, ey + total * uy
    lx, ly = turn(ux, uy, 1)
    rx, ry = turn(ux, uy, -1)
    n = len(points)
    begin, size = link[branch, START], link[branch, SIZE]
    exact = n <= MASK_BITS
    has_left, has_right = False, False
    # Jumping through the merge order samples the plane, so that inside the set a few tries do;
    # of many terminals only so many are looked at, and not finding one then means nothing.
    stride = int(frame[STRIDE])
    t = members[begin + size - 1]
    for _ in range(min(n, AHEAD_SCAN)):
        t = t + stride if t + stride < n else t + stride - n
        dx, dy = points[t, 0] - sx, points[t, 1] - sy
        across = ux * dy - uy * dx
        on_left = across >= -TIE and lx * dy - ly * dx <= TIE
        on_right = across <= TIE and ry * dx - rx * dy <= TIE
        helps = (on_left and not has_left) or (on_right and not has_right)
        if helps and not is_member(link, members, branch, t, exact):
            has_left, has_right = has_left or on_left, has_right or on_right
            if has_left and has_right:
                return 0.0
    if n > AHEAD_SCAN:
        return 0.0
    speed = 2.0 * norm(cx - ex, cy - ey)
    left = 0.0 if has_left else np.inf
    right = 0.0 if has_right else np.inf
    for t in range(n):
        dx, dy = points[t, 0] - sx, points[t, 1] - sy
        across = ux * dy - uy * dx
        rate = speed + norm(dx, dy)
        to_left = max(-across, lx * dy - ly * dx) / rate
        to_right = max(across, ry * dx - rx * dy) / rate
        if (to_left < left or to_right < right) and not is_member(link, members, branch, t, exact):
            left, right = min(left, to_left), min(right, to_right)
    return max(left, right) - AIM


@lean
def is_member(link: Ints, members: Ints, branch: int, terminal: int, exact_masks: bool) -> bool:
    """Whether a terminal belongs to a branch (exact masks: one bit per terminal)."""
    if exact_masks:
        return bool(link[branch, MASK] >> terminal & 1)
    begin = link[branch, START]
    for position in range(begin, begin + link[branch, SIZE]):
        if members[position] == terminal:
            return True
    return False


@lean
def march(
    points: Floats,
    gaps: Floats,
    cells: Ints,
    frame: Floats,
    shape: Floats,
    link: Ints,
    members: Ints,
    stack: Ints,
    work: Floats,
    row: int,
    ax: float,
    ay: float,
    bx: float,
    by: float,
) -> bool:
    """Shrink the interval of a new branch from both ends; store it unless nothing is left."""
    size = link[row, SIZE]
    look_inside = 2 < size <= WORK_SIZE
    for end in range(2):
        for _ in range(MARCH_STEPS):
            ux, uy = (ax, ay) if end == 0 else (bx, by)
            step = blocked_ahead(points, frame, shape, link, members, row, ux, uy)
            if step <= 0.0:
                step = blocked_turn(points, cells, frame, shape, link, members, row, ux, uy)
            if step <= 0.0 and look_inside:
                step = blocked_inside(points, cells, frame, shape, link, stack, work, row, ux, uy)
            if step <= 0.0:
                break
            # Turning by atan(step) < step keeps to the safe side.
            signed = step if end == 0 else -step
            scale = 1.0 / math.sqrt(1.0 + step * step)
            ux, uy = (ux - signed * uy) * scale, (uy + signed * ux) * scale
            if end == 0:
                ax, ay = ux, uy
            else:
                bx, by = ux, uy
            width = ax * by - ay * bx
            if width <= 0.0:
                return False
            if step < 0.01 * width:
                break
    settle(points, gaps, cells, frame, shape, link, members, row, ax, ay, bx, by)
    return True
