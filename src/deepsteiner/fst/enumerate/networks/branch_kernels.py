"""Branches that join networks: how two of them meet, and what cuts the directions that remain.

A branch is what it is in `complete.branch_kernels`: the equilateral point, the circle, the interval
of directions. Ties are kept, so every tree that is shortest in the sense of `site_kernels` survives
every test, and no order of exchanges is needed.

- projection: both children must be left in directions of their own arcs;
- bottleneck: an edge is no longer than the special distance of any two nodes that it separates:
  without it, some piece of their chain joins both sides again, and all ends of pieces are in the
  tree (mandatory nodes, or the two themselves);
- upper bound: what hangs below an edge, with it, is no longer than reconnecting its nodes and a
  link to the others, under the special distance;
- known trees: a full tree over the same nodes, or over parts of them, is such a reconnection;
- vertices: an edge leaves a vertex of the network at 90 degrees or more from its segments.

Tests that depend on places are in `march_kernels`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ....core.jit import njit
from ....plane.sight_kernels import Floats, Ints
from ..complete.arc_kernels import Arc, keep_at_least, keep_at_most, lean, turn, unit
from ..complete.bottleneck_kernels import Records
from ..complete.branch_kernels import project
from ..complete.forest_kernels import (
    MIN_EDGE,
    VISIT,
    child_of,
    edge_vector,
    set_key,
    steiner_point,
    subtree_vector,
)
from .march_kernels import Sketch, march, new_sketch
from .site_kernels import TIE, Site, clip_at_vertex, spanning_cost

TWIG = np.dtype(
    [
        ("left", np.int64),  # children, -1 for a leaf
        ("right", np.int64),
        ("size", np.int64),  # number of leaves
        ("start", np.int64),  # where their nodes begin among the members
        ("key", np.int64),  # sum of the nodes' `set_key`s
        ("equilateral", np.complex128),
        ("centre", np.complex128),
        ("a", np.complex128),  # ends of the arc of directions
        ("b", np.complex128),
        ("place", np.complex128),  # the Steiner point in the middle direction
        ("spread", np.float64),  # how far from it the Steiner point can be
        ("bound", np.float64),  # cost of reconnecting the nodes in another way
    ],
    align=True,
)
CLOSED = np.dtype(
    [
        ("branch", np.int64),
        ("root", np.int64),  # the node that closes it
        ("leaf", np.int64),  # the leaf, or -1 - the segment
        ("key", np.int64),
        ("length", np.float64),
        ("end", np.complex128),  # where the root edge ends
    ],
    align=True,
)


class Twigs(NamedTuple):
    """All branches so far; branch v below the number of leaves is leaf v.

    branches: of TWIG.
    members: the nodes of each, sorted.
    items, table: the full trees found so far, of CLOSED, and a hash table of them by key.
    near: scratch, by node: the special distance to the other side of a merge.
    stack: scratch, of VISIT.
    sketch: scratch, see `march_kernels`.
    """

    branches: Records
    members: Ints
    items: Records
    table: Ints
    near: Floats
    stack: Records
    sketch: Sketch


@njit(cache=True, error_model="numpy")
def new_twigs(site: Site, rows: int, room: int) -> Twigs:
    """The leaves as branches of size one, and room for more."""
    layout = site.layout
    count, nodes = len(layout.places), len(site.special)
    branches, members = np.zeros(rows, TWIG), np.empty(room, np.int64)
    for v in range(count):
        own = branches[v]
        own.left = own.right = -1
        own.size, own.start = 1, v
        own.equilateral = own.centre = own.place = layout.places[v]
        own.key = set_key(layout.node[v])
        members[v] = layout.node[v]
    return Twigs(
        branches, members, np.empty(32, CLOSED), np.zeros(128, np.int64),
        np.empty(nodes), np.empty(nodes + 2, VISIT), new_sketch(),
    )  # fmt: skip


@lean
def holds(twigs: Twigs, branch: int, node: int) -> bool:
    """Whether a branch has a leaf of a node."""
    own = twigs.branches[branch]
    found = False
    for k in range(own.start, own.start + own.size):
        found = found or twigs.members[k] == node
    return found


@lean
def find_closed(twigs: Twigs, key: int, branch: int, extra: int) -> int:
    """Number of the known tree over the nodes of a branch and one more (-1: none), or -1."""
    mask = len(twigs.table) - 1
    slot = (key ^ (key >> 29)) & mask
    size = twigs.branches[branch].size + (extra >= 0)
    while twigs.table[slot] != 0:
        number = twigs.table[slot] - 1
        item = twigs.items[number]
        if item.key == key and twigs.branches[item.branch].size + 1 == size:
            same = item.root == extra or holds(twigs, branch, item.root)
            own = twigs.branches[item.branch]
            for k in range(own.start, own.start + own.size):
                v = twigs.members[k]
                same = same and (v == extra or holds(twigs, branch, v))
            if same:
                return int(number)
        slot = (slot + 1) & mask
    return -1


@lean
def link(special: Floats, twigs: Twigs, left: int, right: int) -> float:
    """The least special distance between nodes of two branches; fills `near`."""
    branches, members, near = twigs.branches, twigs.members, twigs.near
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
def cut_inside(twigs: Twigs, top: int, frame: int, arc: Arc) -> Arc:
    """Cut an arc by what the other side's nodes mean for the edges inside the child `top`."""
    branches, members, near, stack = twigs.branches, twigs.members, twigs.near, twigs.stack
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
def known_bound(twigs: Twigs, row: int, cheapest: float) -> float:
    """Cost of reconnecting a new branch's nodes by known trees, at most `cheapest`."""
    branches, bound = twigs.branches, cheapest
    tree = find_closed(twigs, branches[row].key, row, -1)
    if tree >= 0:
        bound = min(bound, twigs.items[tree].length)
    for side in range(2):
        # A known tree over one child and a node of the other, and the rest of the other.
        one, two = child_of(branches, row, side), child_of(branches, row, 1 - side)
        if branches[one].size < 2:
            continue
        rest = branches[two]
        for position in range(rest.start, rest.start + rest.size):
            v = twigs.members[position]
            tree = find_closed(twigs, branches[one].key + set_key(v), one, v)
            if tree >= 0:
                bound = min(bound, twigs.items[tree].length + rest.bound)
    return bound


@lean
def join(site: Site, twigs: Twigs, left: int, right: int, row: int, where: int) -> Arc:
    """Join two branches without common nodes in `row`, members from `where`; what remains."""
    branches, members = twigs.branches, twigs.members
    new, one, two = branches[row], branches[left], branches[right]
    new.left, new.right = left, right
    new.equilateral = one.equilateral + turn(two.equilateral - one.equilateral, -1)
    new.centre = (one.equilateral + two.equilateral + new.equilateral) / 3.0
    to_left, to_right = edge_vector(branches, row, left, -1), edge_vector(branches, row, right, 1)
    arc = keep_at_least(to_left, MIN_EDGE, project(branches, row))
    arc = keep_at_least(to_right, MIN_EDGE, arc)
    if not arc.exists:
        return arc
    between = link(site.special, twigs, left, right)
    arc = keep_at_most(to_right, between + TIE, keep_at_most(to_left, between + TIE, arc))
    for side in range(2):
        child, turned = child_of(branches, row, side), 2 * side - 1
        if not arc.exists:
            return arc
        if branches[child].size == 1:
            arc = clip_at_vertex(site, child, turned, arc)
        else:
            limit = branches[child].bound + between + TIE
            arc = keep_at_most(subtree_vector(branches, row, child, turned), limit, arc)
            if arc.exists:
                arc = cut_inside(twigs, child, turned, arc)
    if not arc.exists:
        return arc
    new.size, new.start = one.size + two.size, where
    merge_members(members, one.start, one.size, two.start, two.size, where)
    cost = spanning_cost(site.special, members[where : where + new.size], new.size)
    new.key = one.key + two.key
    new.bound = known_bound(twigs, row, min(cost, one.bound + two.bound + between))
    arc = march(site, branches, twigs.sketch, row, arc)
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
