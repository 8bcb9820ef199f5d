"""Branches around obstacles: how two of them are joined, and what cuts the directions that remain.

A branch is what it is in `complete.branch_kernels`: the equilateral point, the circle, the interval
of directions. Unlike there ties are kept, so every shortest tree survives every test, and no order
of exchanges is needed. These tests hold with obstacles; lunes, swaps and shortcuts hold only where
the new edges are free: see `march_kernels`.

- projection: both children must be left in directions of their own arcs;
- bottleneck: an edge is no longer than the special distance of any two leaves that it separates;
- upper bound: what hangs below an edge, with it, is no longer than reconnecting its leaves and a
  link to the others, under the special distance;
- known trees: a free tree over the same leaves, or over parts of them, is such a reconnection;
- corners: an edge leaves a corner in a direction that `landscape_kernels` allows.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ....core.jit import njit
from ....plane.sight_kernels import Floats, Ints
from ..complete.arc_kernels import Arc, keep_at_least, keep_at_most, lean, turn, unit
from ..complete.bottleneck_kernels import Records
from ..complete.branch_kernels import project, union_bound
from ..complete.forest_kernels import (
    MIN_EDGE,
    TREE,
    VISIT,
    Forest,
    Trees,
    child_of,
    edge_vector,
    hashed,
    set_key,
    steiner_point,
    subtree_vector,
)
from .landscape_kernels import (
    TIE,
    Landscape,
    clip_at_corner,
    spanning_cost,
)
from .march_kernels import Sketch, march, new_sketch

SPROUT = np.dtype(
    [
        ("left", np.int64),  # children, -1 for a node
        ("right", np.int64),
        ("size", np.int64),  # number of leaves
        ("start", np.int64),  # where they begin among the members
        ("key", np.int64),  # sum of their `set_key`s
        ("equilateral", np.complex128),
        ("centre", np.complex128),
        ("a", np.complex128),  # ends of the arc of directions
        ("b", np.complex128),
        ("place", np.complex128),  # the Steiner point in the middle direction
        ("spread", np.float64),  # how far from it the Steiner point can be
        ("bound", np.float64),  # cost of reconnecting the leaves in another way
    ],
    align=True,
)


class Sprouts(NamedTuple):
    """All branches so far; branch v below the number of nodes is node v.

    branches: of SPROUT.
    members: the leaves of each, sorted.
    trees: the full trees found so far.
    near: scratch, by node: the special distance to the other side of a merge.
    stack: scratch, of VISIT.
    sketch: scratch, see `march_kernels`.
    """

    branches: Records
    members: Ints
    trees: Trees
    near: Floats
    stack: Records
    sketch: Sketch


@njit(cache=True, error_model="numpy")
def new_sprouts(ground: Landscape, rows: int, room: int) -> Sprouts:
    """The nodes as branches of size one, and room for more."""
    count = len(ground.places)
    branches, members = np.zeros(rows, SPROUT), np.empty(room, np.int64)
    for v in range(count):
        own = branches[v]
        own.left = own.right = -1
        own.size, own.start = 1, v
        own.equilateral = own.centre = own.place = ground.places[v]
        own.key = set_key(v)
        members[v] = v
    trees = hashed(np.empty(32, TREE), 0)
    return Sprouts(
        branches, members, trees, np.empty(count), np.empty(count + 2, VISIT), new_sketch()
    )


@lean
def link(special: Floats, sprouts: Sprouts, left: int, right: int) -> float:
    """The least special distance between leaves of two branches; fills `near`."""
    branches, members, near = sprouts.branches, sprouts.members, sprouts.near
    one, two = branches[left], branches[right]
    for j in range(two.start, two.start + two.size):
        near[members[j]] = np.inf
    least = np.inf
    for i in range(one.start, one.start + one.size):
        u, own = members[i], np.inf
        for j in range(two.start, two.start + two.size):
            v = members[j]
            own = min(own, special[u, v])
            near[v] = min(near[v], special[u, v])
        near[u] = own
        least = min(least, own)
    return least


@lean
def cut_inside(sprouts: Sprouts, top: int, frame: int, arc: Arc) -> Arc:
    """Cut an arc by what the other side's leaves mean for the edges inside the child `top`."""
    branches, members, _, near, stack, _ = sprouts
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
                limit = min(limit, near[members[position]])
            arc = keep_at_most(edge_vector(branches, node, child, inner), limit + TIE, arc)
            if own.size > 1:
                vector = subtree_vector(branches, node, child, inner)
                arc = keep_at_most(vector, limit + own.bound + TIE, arc)
                stack[depth].node, stack[depth].turned = child, inner
                depth += 1
            if not arc.exists:
                return arc
    return arc


@lean
def met(ground: Landscape, sprouts: Sprouts, left: int, right: int, row: int) -> tuple[Arc, float]:
    """Begin `row` with two disjoint branches: the directions that remain, and their link.

    Nearly all pairs end here, so nothing is allocated.
    """
    branches = sprouts.branches
    new, one, two = branches[row], branches[left], branches[right]
    new.left, new.right = left, right
    new.equilateral = one.equilateral + turn(two.equilateral - one.equilateral, -1)
    new.centre = (one.equilateral + two.equilateral + new.equilateral) / 3.0
    to_left, to_right = edge_vector(branches, row, left, -1), edge_vector(branches, row, right, 1)
    arc = keep_at_least(to_left, MIN_EDGE, project(branches, row))
    arc = keep_at_least(to_right, MIN_EDGE, arc)
    if not arc.exists:
        return arc, 0.0
    between = link(ground.special, sprouts, left, right)
    arc = keep_at_most(to_right, between + TIE, keep_at_most(to_left, between + TIE, arc))
    for side in range(2):
        child, turned = child_of(branches, row, side), 2 * side - 1
        if not arc.exists:
            break
        if branches[child].size == 1:
            arc = clip_at_corner(ground, child, turned, arc)
        else:
            limit = branches[child].bound + between + TIE
            arc = keep_at_most(subtree_vector(branches, row, child, turned), limit, arc)
            if arc.exists:
                arc = cut_inside(sprouts, child, turned, arc)
    return arc, between


@lean
def join(
    ground: Landscape, sprouts: Sprouts, left: int, right: int, row: int, where: int, begun: Arc,
    between: float,
) -> Arc:  # fmt: skip
    """Complete `row`, begun by `met`, with members from `where`; the directions that remain."""
    branches, members = sprouts.branches, sprouts.members
    new, one, two = branches[row], branches[left], branches[right]
    new.size, new.start = one.size + two.size, where
    merge_members(members, one.start, one.size, two.start, two.size, where)
    cost = spanning_cost(ground.special, members[where : where + new.size], new.size)
    new.key = one.key + two.key
    cheapest = min(cost, one.bound + two.bound + between)
    forest = Forest(branches, members)
    new.bound = union_bound(forest, sprouts.trees, row, cheapest)
    arc = march(ground, branches, members, sprouts.sketch, row, begun)
    if not arc.exists:
        return arc
    new.a, new.b = arc.a, arc.b
    new.place = steiner_point(new, unit(arc.a + arc.b))
    new.spread = max(
        abs(new.place - steiner_point(new, arc.a)), abs(new.place - steiner_point(new, arc.b))
    )
    return arc


@lean
def merge_members(members: Ints, i: int, many: int, j: int, more: int, where: int) -> None:
    """Write the sorted union of two disjoint runs of members."""
    i_end, j_end = i + many, j + more
    while i < i_end or j < j_end:
        if j == j_end or (i < i_end and members[i] < members[j]):
            members[where] = members[i]
            i += 1
        else:
            members[where] = members[j]
            j += 1
        where += 1
