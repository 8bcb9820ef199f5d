"""Tests that depend on places, not only on edge lengths: they shrink arcs from their ends.

Each test is an excess (how much longer an edge or subtree is than an alternative) that changes at
most at a known rate when the direction turns. A positive excess at one end of the arc therefore
rules out a whole angle, and a few steps bring the end close to where the test holds.

Lune, wedge and bottleneck property are those of P. Winter and M. Zachariasen, Euclidean Steiner
minimum trees: an improved exact algorithm, Networks 30 (1997); the rates are ours.
"""

from __future__ import annotations

import math

import numpy as np

from .arc_kernels import Arc, cross, dot, lean, norm, turn
from .bottleneck_kernels import Complexes, Ground, cells_between, total_of
from .exchange_kernels import blocked_by_one
from .forest_kernels import (
    MASK_BITS,
    MOST_TESTED,
    TIE,
    Forest,
    Scratch,
    child_of,
    is_member,
    steiner_point,
)
from .reach_kernels import settle

MARCH_STEPS = 5
AHEAD_SCAN = 256
"""Up to so many terminals the wedge property is looked at."""
AIM = 1e-9
"""Angle left around the only possible direction: unlike a tie it must survive rounding."""


@lean
def lune_excess(ground: Ground, p: complex, q: complex, p_terminal: int, q_terminal: int) -> float:
    """By how much the edge pq is longer than a link through a terminal z in its lune (or < -TIE).

    The edge is exchanged for zp or zq, whichever reconnects the tree. Between Steiner points both
    split the full tree, so ties may be dropped. At a leaf, zq can put z into the leaf's place and
    leave as many full trees as before: were ties dropped there, of two terminals that (nearly)
    coincide each would rule out the trees of the other. So z must then be nearer to the Steiner
    point by more than TIE: every such exchange shortens the tree, and none can be taken back.
    """
    grid, length = ground.grid, norm(q - p)
    # d + 2 TIE instead of d, squared, for all d up to the length that matters
    strict = 4.0 * TIE * (length + 2.0 * TIE)
    strict_p = strict if q_terminal >= 0 else 0.0
    strict_q = strict if p_terminal >= 0 else 0.0
    low = complex(max(p.real, q.real) - length, max(p.imag, q.imag) - length)
    high = complex(min(p.real, q.real) + length, min(p.imag, q.imag) + length)
    box = cells_between(low, high, grid)
    nearest = (length + 2.0 * TIE) * (length + 2.0 * TIE)
    for row in range(box.low, box.high):
        base = row * grid.columns
        for k in range(grid.cells[base + box.left], grid.cells[base + box.right]):
            z = grid.cells[k]
            from_p, from_q = ground.points[z] - p, ground.points[z] - q
            to_p, to_q = dot(from_p, from_p), dot(from_q, from_q)
            if max(to_p, to_q) < nearest and z != p_terminal and z != q_terminal:
                nearest = min(nearest, max(to_p + strict_p, to_q + strict_q))
    return length - math.sqrt(nearest)


@lean
def nearest_member(points: Complexes, forest: Forest, branch: int, place: complex) -> float:
    """Distance from a place to the nearest terminal of a branch."""
    nearest = np.inf
    own = forest.branches[branch]
    for position in range(own.start, own.start + own.size):
        way = points[forest.members[position]] - place
        nearest = min(nearest, dot(way, way))
    return math.sqrt(nearest)


@lean
def blocked_turn(ground: Ground, forest: Forest, branch: int, u: complex) -> float:
    """Angle around u ruled out by the new edges, and by exchanges of the branch or a child."""
    own = forest.branches[branch]
    radius = norm(own.centre - own.equilateral)
    s = steiner_point(own, u)
    to_left = nearest_member(ground.points, forest, own.left, s)
    to_right = nearest_member(ground.points, forest, own.right, s)
    angle = blocked_by_one(ground, forest, branch, s, 2.0 * radius)
    for side in range(2):
        name, v = child_of(forest.branches, branch, side), turn(u, -1 + 2 * side)
        child = forest.branches[name]
        q = steiner_point(child, v)
        edge = 2.0 * dot(own.centre - child.centre, v)
        rate = 2.0 * norm(own.centre - child.centre)
        child_radius = norm(child.centre - child.equilateral)
        leaf = child.size == 1
        angle = max(angle, blocked_by_one(ground, forest, name, s, 2.0 * radius))
        if not leaf:
            nearest = to_left if side == 0 else to_right
            angle = max(angle, (edge - nearest + TIE) / (rate + 2.0 * radius))
        other = child_of(forest.branches, branch, 1 - side)
        nearest = nearest_member(ground.points, forest, other, q)
        angle = max(angle, (edge - nearest + TIE) / (rate + 2.0 * child_radius))
        excess = lune_excess(ground, s, q, -1, name if leaf else -1)
        angle = max(angle, (excess + TIE) / (rate + 2.0 * max(radius, child_radius)))
    return float(angle)


@lean
def blocked_inside(
    ground: Ground, forest: Forest, scratch: Scratch, branch: int, u: complex
) -> float:
    """Angle around u ruled out by shortcuts between two vertices, inner lunes and exchanges.

    No edge on the path between two vertices may be longer than their distance: a shortcut would
    replace it. Between terminals that splits the full tree, so ties may be dropped. A shortcut to
    a Steiner point may only hang a leaf elsewhere and must shorten the tree by more than TIE.
    """
    branches = forest.branches
    stack, vertices, paths = scratch[:3]
    stack[0].node, stack[0].turned, stack[0].parent = branch, 0, -1
    depth, count = 1, 0
    angle = 0.0
    while depth > 0:
        depth -= 1
        node, turned, parent = stack[depth].node, stack[depth].turned, stack[depth].parent
        own, above = branches[node], vertices[parent]
        place = steiner_point(own, turn(u, turned))
        leaf = own.size == 1
        rate = 2.0 * norm(own.centre - own.equilateral)
        vertices[count].place, vertices[count].rate = place, -1.0 if leaf else rate
        paths[count, count].longest, paths[count, count].rate = 0.0, 0.0
        if parent >= 0:
            edge = norm(place - above.place)
            # The rate of |s - s_x| is at most the sum of the rates of its ends.
            edge_rate = rate + above.rate
            for v in range(count):
                longest, longest_rate = paths[parent, v].longest, paths[parent, v].rate
                if edge > longest:
                    longest, longest_rate = edge, edge_rate
                paths[count, v].longest, paths[count, v].rate = longest, longest_rate
                paths[v, count].longest, paths[v, count].rate = longest, longest_rate
                if v == parent:
                    continue
                other = vertices[v].rate
                excess = longest - norm(place - vertices[v].place)
                excess += TIE if leaf and other < 0.0 else -TIE
                if excess > 0.0:
                    angle = max(angle, excess / (longest_rate + rate + max(other, 0.0)))
            if parent > 0:
                angle = max(angle, blocked_by_one(ground, forest, node, above.place, above.rate))
                excess = lune_excess(ground, above.place, place, -1, node if leaf else -1) + TIE
                if excess > 0.0:
                    angle = max(angle, excess / (edge_rate + max(rate, above.rate)))
        if not leaf:
            for side in range(2):
                stack[depth].node = child_of(branches, node, side)
                stack[depth].turned, stack[depth].parent = turned - 1 + 2 * side, count
                depth += 1
        count += 1
    return angle


@lean
def blocked_wedge(ground: Ground, forest: Forest, branch: int, u: complex) -> float:
    """Angle around u ruled out because no terminal lies ahead: the wedge property.

    From the Steiner point the tree goes on along u. The path that turns left and right in turn
    ends in a terminal between u and 60 degrees to the left of it; its mirror image in one to the
    right. Where there are many terminals some nearly always lie ahead, and none are looked for.
    """
    points, own = ground.points, forest.branches[branch]
    if total_of(ground.part, len(points)) > AHEAD_SCAN:
        return 0.0
    s = steiner_point(own, u)
    left_end, right_end = turn(u, 1), turn(u, -1)
    n = len(points)
    exact = n <= MASK_BITS
    has_left, has_right = False, False
    # Jumping through the merge order samples the plane, so that inside the set a few tries do.
    t = forest.members[own.start + own.size - 1]
    for _ in range(n):
        t = t + ground.stride if t + ground.stride < n else t + ground.stride - n
        way = points[t] - s
        across = cross(u, way)
        on_left = across >= -TIE and cross(left_end, way) <= TIE
        on_right = across <= TIE and cross(way, right_end) <= TIE
        helps = (on_left and not has_left) or (on_right and not has_right)
        if helps and not is_member(forest, branch, t, exact):
            has_left, has_right = has_left or on_left, has_right or on_right
            if has_left and has_right:
                return 0.0
    speed = 2.0 * norm(own.centre - own.equilateral)
    left = 0.0 if has_left else np.inf
    right = 0.0 if has_right else np.inf
    for t in range(n):
        way = points[t] - s
        across = cross(u, way)
        rate = speed + norm(way)
        to_left = max(-across, cross(left_end, way)) / rate
        to_right = max(across, cross(way, right_end)) / rate
        if (to_left < left or to_right < right) and not is_member(forest, branch, t, exact):
            left, right = min(left, to_left), min(right, to_right)
    return max(left, right) - AIM


@lean
def march(ground: Ground, forest: Forest, scratch: Scratch, row: int, arc: Arc) -> bool:
    """Shrink the arc of a new branch from both ends; store it unless nothing is left."""
    a, b = arc.a, arc.b
    look_inside = 2 < forest.branches[row].size <= MOST_TESTED
    for end in range(2):
        for _ in range(MARCH_STEPS):
            u = a if end == 0 else b
            step = blocked_wedge(ground, forest, row, u)
            if step <= 0.0:
                step = blocked_turn(ground, forest, row, u)
            if step <= 0.0 and look_inside:
                step = blocked_inside(ground, forest, scratch, row, u)
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
                return False
            if step < 0.01 * width:
                break
    settle(ground, forest, row, Arc(True, a, b))
    return True
