"""Branches: the rooted halves from which full Steiner trees grow.

A branch is a terminal, or two branches whose trees meet in a new Steiner point s. It is held by
its equilateral point E (Melzak's substitute for all its terminals), the centre C of the circle on
which s must lie, and the interval of directions u in which the tree may leave s; the place is
s = E + 2 ((C - E) · u) u, and 2 (C - E) · u is the length of the branch up to s. Its left child
arrives in direction u turned by -60 degrees, its right child by +60, so intervals are handed on
by a turn, and the length of the edge from child x is 2 (C - C_x) · u_x.

Why some shortest tree always survives the cuts, here and in `lune_kernels`, `reach_kernels`,
`closing_kernels` and `rebuild_kernels`: each cut drops a full tree that can be exchanged for

- more full trees over the same terminals, at most TIE longer in all (links along the spanning tree,
  splits at a terminal, known trees over a part; for MIN_EDGE a leaf whose edge shrinks to nothing),
  or
- as many full trees, shorter by more than TIE (another terminal in a leaf's place, a leaf hung
  elsewhere, the other way round an edge).

Order trees by the number of their full trees, and those with equally many by length. Every exchange
goes up in that order: no cut undoes another, exchanges end after at most n - 1 of the first kind,
and what is left is at most n · MIN_EDGE longer than the shortest tree. TIE is far above the
rounding of lengths, so the comparisons are the ones that exact arithmetic would make.
"""

from __future__ import annotations

import math

import numpy as np

from .arc_kernels import keep_at_least, keep_at_most, lean, meet, norm, turn
from .bottleneck_kernels import Floats, Ints
from .forest_kernels import (
    AX,
    AY,
    BOUND,
    BX,
    BY,
    CX,
    CY,
    EX,
    EY,
    KEY,
    LEFT,
    MASK,
    MIN_EDGE,
    NEAR,
    RIGHT,
    SIZE,
    START,
    TIE,
    find_tree,
    merge_members,
    quick_link,
)
from .swap_kernels import cut_swaps, edge_vector

RIVALS = 2
"""Neighbours in merge order, on either side, that a leaf is compared with."""


@lean
def common_directions(
    shape: Floats, link: Ints, left: int, right: int, ex: float, ey: float
) -> tuple[bool, float, float, float, float]:
    """Directions in which both children can arrive at the new Steiner point."""
    left_leaf, right_leaf = link[left, SIZE] == 1, link[right, SIZE] == 1
    if left_leaf and right_leaf:
        # The arc between the terminals, seen from the equilateral point.
        ax, ay = shape[right, EX] - ex, shape[right, EY] - ey
        bx, by = shape[left, EX] - ex, shape[left, EY] - ey
        scale = 1.0 / norm(ax, ay)
        return True, ax * scale, ay * scale, bx * scale, by * scale
    ax, ay = turn(shape[left, AX], shape[left, AY], 1)
    bx, by = turn(shape[left, BX], shape[left, BY], 1)
    px, py = turn(shape[right, AX], shape[right, AY], -1)
    qx, qy = turn(shape[right, BX], shape[right, BY], -1)
    if left_leaf:
        return True, px, py, qx, qy
    if right_leaf:
        return True, ax, ay, bx, by
    return meet(ax, ay, bx, by, px, py, qx, qy)


@lean
def cut_rivals(
    shape: Floats,
    leaf: int,
    last: int,
    ex: float,
    ey: float,
    cx: float,
    cy: float,
    wx: float,
    wy: float,
    ax: float,
    ay: float,
    bx: float,
    by: float,
) -> tuple[bool, float, float, float, float]:
    """Cut [a, b] by the terminals next to a leaf: the Steiner point must not be nearer to them.

    With t' nearer than t to the Steiner point s and to t than s is, the edge st could be replaced
    by tt', which splits the tree, or st', which must be shorter by more than TIE. Places nearer to
    t are one side of a line, so an arc of the circle. Neighbours in merge order are near in space;
    in a tight cluster only the foremost terminal survives.
    """
    tx, ty = shape[leaf, EX], shape[leaf, EY]
    for rival in range(max(leaf - RIVALS, 0), min(leaf + RIVALS, last) + 1):
        gx, gy = shape[rival, EX] - tx, shape[rival, EY] - ty
        gap = norm(gx, gy)
        shortest = min(wx * ax + wy * ay, wx * bx + wy * by)
        if rival == leaf or gap + TIE >= shortest:
            continue
        mx, my = 0.5 * (tx + shape[rival, EX]), 0.5 * (ty + shape[rival, EY])
        slack = TIE * norm(wx, wy)
        sx, sy = place(ex, ey, cx, cy, ax, ay)
        at_a = gx * (sx - mx) + gy * (sy - my) <= slack
        sx, sy = place(ex, ey, cx, cy, bx, by)
        at_b = gx * (sx - mx) + gy * (sy - my) <= slack
        if at_a and at_b:
            continue
        radius = norm(cx - ex, cy - ey)
        # Places s = C + R v with g · v <= limit: an arc around -g.
        limit = (slack - gx * (cx - mx) - gy * (cy - my)) / (radius * gap)
        if limit <= -1.0:
            return False, ax, ay, bx, by
        if limit >= 1.0:
            continue
        along, across = radius * limit / gap, radius * math.sqrt(1.0 - limit * limit) / gap
        px, py = cx + along * gx - across * gy - ex, cy + along * gy + across * gx - ey
        qx, qy = cx + along * gx + across * gy - ex, cy + along * gy - across * gx - ey
        scale = norm(px, py)
        px, py = px / scale, py / scale
        scale = norm(qx, qy)
        qx, qy = qx / scale, qy / scale
        if not at_a and not at_b:
            inside = ax * py - ay * px >= 0.0 and px * by - py * bx >= 0.0
            if not inside:
                return False, ax, ay, bx, by
        if not at_a:
            ax, ay = px, py
        if not at_b:
            bx, by = qx, qy
        if ax * by - ay * bx < 0.0:
            return False, ax, ay, bx, by
    return True, ax, ay, bx, by


@lean
def place(ex: float, ey: float, cx: float, cy: float, ux: float, uy: float) -> tuple[float, float]:
    """Steiner point of a branch for the direction u."""
    along = 2.0 * ((cx - ex) * ux + (cy - ey) * uy)
    return ex + along * ux, ey + along * uy


@lean
def cut_below(
    shape: Floats,
    link: Ints,
    members: Ints,
    stack: Ints,
    top: int,
    frame: int,
    ax: float,
    ay: float,
    bx: float,
    by: float,
) -> tuple[bool, float, float, float, float]:
    """Cut [a, b] by what the other side's terminals mean for the edges inside the child `top`.

    An edge may not be longer than the cheapest link between the terminals below it and the other
    side (the smallest NEAR), a subtree not longer than that and the cost of reconnecting it.
    `frame` is the turn, in sixths, from the parent's direction to the child's.
    """
    stack[0, 0], stack[0, 1] = top, frame
    depth = 1
    while depth > 0:
        depth -= 1
        node, turned = stack[depth, 0], stack[depth, 1]
        for side in range(2):
            child = link[node, LEFT + side]
            child_frame = turned - 1 + 2 * side
            begin = link[child, START]
            limit = np.inf
            for position in range(begin, begin + link[child, SIZE]):
                limit = min(limit, shape[members[position], NEAR])
            wx, wy = turn(
                2.0 * (shape[node, CX] - shape[child, CX]),
                2.0 * (shape[node, CY] - shape[child, CY]),
                -child_frame,
            )
            alive, ax, ay, bx, by = keep_at_most(wx, wy, limit - TIE, ax, ay, bx, by)
            if not alive:
                return False, ax, ay, bx, by
            if link[child, SIZE] > 1:
                wx, wy = turn(
                    2.0 * (shape[node, CX] - shape[child, EX]),
                    2.0 * (shape[node, CY] - shape[child, EY]),
                    -child_frame,
                )
                limit += shape[child, BOUND] - TIE
                alive, ax, ay, bx, by = keep_at_most(wx, wy, limit, ax, ay, bx, by)
                if not alive:
                    return False, ax, ay, bx, by
                stack[depth, 0], stack[depth, 1] = child, child_frame
                depth += 1
    return True, ax, ay, bx, by


@lean
def keep_best_joined(
    shape: Floats,
    link: Ints,
    child: int,
    turned: int,
    ex: float,
    ey: float,
    sx: float,
    sy: float,
    ax: float,
    ay: float,
    bx: float,
    by: float,
) -> tuple[bool, float, float, float, float]:
    """Cut [a, b] by the swap test on the edge e · u above a child and on those to its children.

    The edge to the child's sibling is s · u long; how far the tree leads on is not known yet.
    """
    alive, ax, ay, bx, by = cut_swaps(
        shape, link, child, turned, 0.0, 0.0, ex, ey, sx, sy, turned < 0, ax, ay, bx, by
    )
    if not alive:
        return False, ax, ay, bx, by
    for side in range(2):
        inner, other = link[child, LEFT + side], link[child, RIGHT - side]
        if link[inner, SIZE] == 1:
            continue
        frame = turned - 1 + 2 * side
        wx, wy = edge_vector(shape, child, inner, frame)
        vx, vy = edge_vector(shape, child, other, turned + 1 - 2 * side)
        alive, ax, ay, bx, by = cut_swaps(
            shape, link, inner, frame, ex, ey, wx, wy, vx, vy, side == 0, ax, ay, bx, by
        )
        if not alive:
            return False, ax, ay, bx, by
    return True, ax, ay, bx, by


@lean
def union_bound(
    shape: Floats,
    link: Ints,
    members: Ints,
    tree_link: Ints,
    tree_length: Floats,
    table: Ints,
    row: int,
    cheapest: float,
) -> float:
    """Cost at which the terminals of a new branch can always be reconnected, at most `cheapest`."""
    bound = cheapest
    none = int(np.int64(-1))  # a literal would compile the callee twice
    tree = find_tree(tree_link, table, link, members, link[row, KEY], row, none)
    if tree >= 0:
        bound = min(bound, tree_length[tree])
    for side in range(2):
        # A known tree over one child and a terminal of the other, and the rest of the other.
        one, two = link[row, LEFT + side], link[row, RIGHT - side]
        if link[one, SIZE] < 2:
            continue
        begin = link[two, START]
        for position in range(begin, begin + link[two, SIZE]):
            t = members[position]
            key = link[one, KEY] + link[t, KEY]
            tree = find_tree(tree_link, table, link, members, key, one, t)
            if tree >= 0:
                bound = min(bound, tree_length[tree] + shape[two, BOUND])
    return bound


@lean
def merge(
    gaps: Floats,
    shape: Floats,
    link: Ints,
    members: Ints,
    stack: Ints,
    tree_link: Ints,
    tree_length: Floats,
    table: Ints,
    left: int,
    right: int,
    row: int,
    where: int,
) -> tuple[bool, float, float, float, float]:
    """Join two disjoint branches in `row`, members from `where`; the directions that remain."""
    lx, ly, rx, ry = shape[left, EX], shape[left, EY], shape[right, EX], shape[right, EY]
    dx, dy = turn(rx - lx, ry - ly, -1)
    ex, ey = lx + dx, ly + dy
    cx, cy = (lx + rx + ex) / 3.0, (ly + ry + ey) / 3.0
    alive, ax, ay, bx, by = common_directions(shape, link, left, right, ex, ey)
    if not alive:
        return False, ax, ay, bx, by
    lwx, lwy = turn(2.0 * (cx - shape[left, CX]), 2.0 * (cy - shape[left, CY]), 1)
    alive, ax, ay, bx, by = keep_at_least(lwx, lwy, MIN_EDGE, ax, ay, bx, by)
    if not alive:
        return False, ax, ay, bx, by
    rwx, rwy = turn(2.0 * (cx - shape[right, CX]), 2.0 * (cy - shape[right, CY]), -1)
    alive, ax, ay, bx, by = keep_at_least(rwx, rwy, MIN_EDGE, ax, ay, bx, by)
    if not alive:
        return False, ax, ay, bx, by
    limit = quick_link(gaps, link, members, left, right) - TIE
    alive, ax, ay, bx, by = keep_at_most(lwx, lwy, limit, ax, ay, bx, by)
    if not alive:
        return False, ax, ay, bx, by
    alive, ax, ay, bx, by = keep_at_most(rwx, rwy, limit, ax, ay, bx, by)
    if not alive:
        return False, ax, ay, bx, by
    last = gaps.shape[1] - 1
    if link[left, SIZE] == 1:
        alive, ax, ay, bx, by = cut_rivals(
            shape, left, last, ex, ey, cx, cy, lwx, lwy, ax, ay, bx, by
        )
        if not alive:
            return False, ax, ay, bx, by
    if link[right, SIZE] == 1:
        alive, ax, ay, bx, by = cut_rivals(
            shape, right, last, ex, ey, cx, cy, rwx, rwy, ax, ay, bx, by
        )
        if not alive:
            return False, ax, ay, bx, by
    between, spanning = merge_members(gaps, shape, link, members, left, right, where)
    alive, ax, ay, bx, by = keep_at_most(lwx, lwy, between - TIE, ax, ay, bx, by)
    if not alive:
        return False, ax, ay, bx, by
    alive, ax, ay, bx, by = keep_at_most(rwx, rwy, between - TIE, ax, ay, bx, by)
    if not alive:
        return False, ax, ay, bx, by
    for side in range(2):
        child = left if side == 0 else right
        if link[child, SIZE] == 1:
            continue
        turned = -1 + 2 * side
        wx, wy = turn(2.0 * (cx - shape[child, EX]), 2.0 * (cy - shape[child, EY]), -turned)
        limit = shape[child, BOUND] + between - TIE
        alive, ax, ay, bx, by = keep_at_most(wx, wy, limit, ax, ay, bx, by)
        if not alive:
            return False, ax, ay, bx, by
        alive, ax, ay, bx, by = cut_below(
            shape, link, members, stack, child, turned, ax, ay, bx, by
        )
        if not alive:
            return False, ax, ay, bx, by
        alive, ax, ay, bx, by = keep_best_joined(
            shape, link, child, turned,
            lwx if side == 0 else rwx, lwy if side == 0 else rwy,
            rwx if side == 0 else lwx, rwy if side == 0 else lwy,
            ax, ay, bx, by,
        )  # fmt: skip
        if not alive:
            return False, ax, ay, bx, by
    shape[row, EX], shape[row, EY], shape[row, CX], shape[row, CY] = ex, ey, cx, cy
    link[row, LEFT], link[row, RIGHT] = left, right
    link[row, SIZE] = link[left, SIZE] + link[right, SIZE]
    link[row, START] = where
    link[row, KEY] = link[left, KEY] + link[right, KEY]
    link[row, MASK] = link[left, MASK] | link[right, MASK]
    cheapest = min(spanning, shape[left, BOUND] + shape[right, BOUND] + between)
    shape[row, BOUND] = union_bound(
        shape, link, members, tree_link, tree_length, table, row, cheapest
    )
    return True, ax, ay, bx, by
