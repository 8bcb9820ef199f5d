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

Projections, the bottleneck property and upper bounds are those of [1] (and [2]); rivals
(`cut_rivals`) and swaps (`swap_kernels`) are ours.

[1] P. Winter and M. Zachariasen, Euclidean Steiner minimum trees: an improved exact algorithm,
    Networks 30 (1997).
[2] D. Juhl, D. M. Warme, P. Winter and M. Zachariasen, The GeoSteiner software package for
    computing Steiner trees in the plane: an updated computational study, Mathematical Programming
    Computation 10 (2018).
"""

from __future__ import annotations

import math

import numpy as np

from .arc_kernels import (
    NOWHERE,
    Arc,
    cross,
    dot,
    keep_at_least,
    keep_at_most,
    lean,
    meet,
    norm,
    turn,
    unit,
)
from .bottleneck_kernels import Ground, Records, are_beyond
from .forest_kernels import (
    MIN_EDGE,
    TIE,
    Forest,
    Scratch,
    Trees,
    child_of,
    edge_vector,
    find_tree,
    merge_members,
    quick_link,
    steiner_point,
    subtree_vector,
)
from .swap_kernels import cut_swaps

RIVALS = 8
"""Neighbours in merge order, on either side, that a leaf is compared with."""


@lean
def project(branches: Records, row: int) -> Arc:
    """Directions in which both children can arrive: the projections of their arcs, met [1]."""
    new = branches[row]
    left, right = branches[new.left], branches[new.right]
    if left.size == 1 and right.size == 1:
        # The arc between the terminals, seen from the equilateral point.
        a, b = right.equilateral - new.equilateral, left.equilateral - new.equilateral
        scale = 1.0 / norm(a)
        return Arc(True, a * scale, b * scale)
    from_left = Arc(True, turn(left.a, 1), turn(left.b, 1))
    from_right = Arc(True, turn(right.a, -1), turn(right.b, -1))
    if left.size == 1:
        return from_right
    if right.size == 1:
        return from_left
    return meet(from_left, from_right)


@lean
def cut_rivals(ground: Ground, branches: Records, row: int, side: int, arc: Arc) -> Arc:
    """Cut an arc by the terminals next to a leaf: the Steiner point must not be nearer to them.

    A case of the lune property that has a closed form. With t' nearer than t to the Steiner point
    s and to t than s is, the edge st could be replaced by tt', which splits the tree, or st', which
    must be shorter by more than TIE. Places nearer to t are one side of a line, so an arc of the
    circle. Neighbours in merge order are near in space; in a tight cluster only the foremost
    terminal survives.
    """
    points = ground.points
    new, leaf = branches[row], child_of(branches, row, side)
    w = edge_vector(branches, row, leaf, 2 * side - 1)
    for rival in range(max(leaf - RIVALS, 0), min(leaf + RIVALS, len(points) - 1) + 1):
        if are_beyond(ground.part, leaf, rival, RIVALS):
            continue
        way = points[rival] - points[leaf]
        gap = norm(way)
        if not arc.exists or rival == leaf or gap + TIE >= min(dot(w, arc.a), dot(w, arc.b)):
            continue
        half = 0.5 * (points[leaf] + points[rival])
        slack = TIE * norm(w)
        at_a = dot(way, steiner_point(new, arc.a) - half) <= slack
        at_b = dot(way, steiner_point(new, arc.b) - half) <= slack
        if at_a and at_b:
            continue
        spoke = new.centre - new.equilateral
        radius = norm(spoke)
        # Places s = C + R v with way · v <= limit: an arc around -way.
        limit = (slack - dot(way, new.centre - half)) / (radius * gap)
        if limit <= -1.0:
            return NOWHERE
        if limit >= 1.0:
            continue
        along, across = radius * limit / gap, radius * math.sqrt(1.0 - limit * limit) / gap
        p = unit(spoke + complex(along, across) * way)
        q = unit(spoke + complex(along, -across) * way)
        if not at_a and not at_b and (cross(arc.a, p) < 0.0 or cross(p, arc.b) < 0.0):
            return NOWHERE
        a, b = arc.a if at_a else p, arc.b if at_b else q
        arc = Arc(cross(a, b) >= 0.0, a, b)
    return arc


@lean
def cut_below(forest: Forest, scratch: Scratch, top: int, frame: int, arc: Arc) -> Arc:
    """Cut an arc by what the other side's terminals mean for the edges inside the child `top`.

    An edge may not be longer than the cheapest link between the terminals below it and the other
    side (the smallest `near`), a subtree not longer than that and the cost of reconnecting it.
    `frame` is the turn, in sixths, from the parent's direction to the child's.
    """
    branches, stack = forest.branches, scratch.stack
    stack[0].node, stack[0].turned = top, frame
    depth = 1
    while depth > 0:
        depth -= 1
        node, turned = stack[depth].node, stack[depth].turned
        for side in range(2):
            child, inner = child_of(branches, node, side), turned - 1 + 2 * side
            own = branches[child]
            limit = np.inf
            for position in range(own.start, own.start + own.size):
                limit = min(limit, scratch.near[forest.members[position]])
            arc = keep_at_most(edge_vector(branches, node, child, inner), limit - TIE, arc)
            if own.size > 1:
                limit += own.bound - TIE
                arc = keep_at_most(subtree_vector(branches, node, child, inner), limit, arc)
                stack[depth].node, stack[depth].turned = child, inner
                depth += 1
            if not arc.exists:
                return arc
    return arc


@lean
def union_bound(forest: Forest, trees: Trees, row: int, cheapest: float) -> float:
    """Upper bound: the cost of reconnecting a new branch's terminals, at most `cheapest`."""
    branches = forest.branches
    bound = cheapest
    none = int(np.int64(-1))  # a literal would compile the callee twice
    tree = find_tree(trees, forest, branches[row].key, row, none)
    if tree >= 0:
        bound = min(bound, trees.items[tree].length)
    for side in range(2):
        # A known tree over one child and a terminal of the other, and the rest of the other.
        one, two = child_of(branches, row, side), child_of(branches, row, 1 - side)
        if branches[one].size < 2:
            continue
        rest = branches[two]
        for position in range(rest.start, rest.start + rest.size):
            t = forest.members[position]
            tree = find_tree(trees, forest, branches[one].key + branches[t].key, one, t)
            if tree >= 0:
                bound = min(bound, trees.items[tree].length + rest.bound)
    return bound


@lean
def merge(
    ground: Ground,
    forest: Forest,
    trees: Trees,
    scratch: Scratch,
    left: int,
    right: int,
    row: int,
    where: int,
) -> Arc:
    """Join two disjoint branches in `row`, members from `where`; the directions that remain."""
    branches = forest.branches
    new, one, two = branches[row], branches[left], branches[right]
    new.left, new.right = left, right
    new.equilateral = one.equilateral + turn(two.equilateral - one.equilateral, -1)
    new.centre = (one.equilateral + two.equilateral + new.equilateral) / 3.0
    to_left, to_right = edge_vector(branches, row, left, -1), edge_vector(branches, row, right, 1)
    arc = keep_at_least(to_left, MIN_EDGE, project(branches, row))
    arc = keep_at_least(to_right, MIN_EDGE, arc)
    if not arc.exists:
        return arc
    # Bottleneck property [1] for both new edges, first with a link that is found at once.
    limit = quick_link(ground.gaps, forest, left, right) - TIE
    arc = keep_at_most(to_right, limit, keep_at_most(to_left, limit, arc))
    for side in range(2):
        if arc.exists and branches[child_of(branches, row, side)].size == 1:
            arc = cut_rivals(ground, branches, row, side, arc)
    if not arc.exists:
        return arc
    between, spanning = merge_members(ground.gaps, forest, scratch.near, left, right, where)
    arc = keep_at_most(to_left, between - TIE, arc)
    arc = keep_at_most(to_right, between - TIE, arc)
    for side in range(2):
        child, turned = child_of(branches, row, side), 2 * side - 1
        if branches[child].size == 1 or not arc.exists:
            continue
        limit = branches[child].bound + between - TIE
        arc = keep_at_most(subtree_vector(branches, row, child, turned), limit, arc)
        if arc.exists:
            arc = cut_below(forest, scratch, child, turned, arc)
        if arc.exists:
            arc = cut_swaps(branches, row, side, arc)
    if arc.exists:
        new.size, new.start = one.size + two.size, where
        new.key, new.mask = one.key + two.key, one.mask | two.mask
        cheapest = min(spanning, one.bound + two.bound + between)
        new.bound = union_bound(forest, trees, row, cheapest)
    return arc
