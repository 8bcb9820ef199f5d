"""Level by level: join branches, close them by points and by segments, draw what is closed.

Each kernel works on a span and returns how far it came, so that somebody can look at the clock.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ....core.jit import njit
from ....plane.sight_kernels import Complexes, Floats, Ints
from ..complete.arc_kernels import cross, dot, lean, norm, turn, unit
from ..complete.bottleneck_kernels import Records
from ..complete.forest_kernels import (
    MIN_EDGE,
    child_of,
    insert_key,
    set_key,
    steiner_point,
    trunk,
)
from .branch_kernels import Twigs, find_closed, holds, join, link
from .site_kernels import TIE, Site, crosses, may_leave, spanning_cost, to_node

ROOT3 = math.sqrt(3.0)
AIM = 1e-9
"""Sine of the angle by which a closing leaf may miss an arc, or a foot the end of its segment."""


class Step(NamedTuple):
    """How far a span came: the next branch, and the ends of what was written."""

    position: int
    row: int
    member: int
    full: bool


class Drawn(NamedTuple):
    """A full tree in the plane: leaves (the root last), then Steiner points.

    spots: where they are.
    leaves: the leaf at each of the first ones.
    edges: parent and vertex, parents first.
    below: the branch under each edge.
    """

    spots: Complexes
    leaves: Ints
    edges: Ints
    below: Ints


@lean
def grow(
    site: Site, twigs: Twigs, order: Ints, low: int, high: int,
    partners: Ints, widest: float, row: int, member: int, budget: int,
) -> Step:  # fmt: skip
    """Join the branches order[low:high], on the left, with partners sorted by x, on the right.

    Two edges that meet at 120 degrees, neither longer than the link between their sides, end at
    most sqrt(3) links apart: that bounds where partners can be. `widest` is their largest spread.
    """
    branches, members = twigs.branches, twigs.members
    reach = ROOT3 * (site.longest + TIE)
    begin_row, begin_member = row, member
    while low < high and budget > 0:
        one = branches[order[low]]
        far = one.spread + widest + reach
        k = first_from(branches, partners, one.place.real - far)
        while k < len(partners):
            two = branches[partners[k]]
            if two.place.real > one.place.real + far:
                break
            budget -= 1
            way, most = two.place - one.place, one.spread + two.spread + reach
            # Nearly all pairs are told apart here, so without a root.
            if dot(way, way) <= most * most:
                away = norm(way) - one.spread - two.spread
                budget -= 10
                # Negative where they have a node in common.
                if away <= ROOT3 * (link(site.special, twigs, order[low], partners[k]) + TIE):
                    size = one.size + two.size
                    if row + 1 >= len(branches) or member + size >= len(members):
                        return Step(low, begin_row, begin_member, True)
                    budget -= 20
                    if join(site, twigs, order[low], partners[k], row, member).exists:
                        row += 1
                        member += size
            k += 1
        low += 1
        begin_row, begin_member = row, member
    return Step(low, row, member, False)


@lean
def first_from(branches: np.ndarray, order: Ints, x: float) -> int:
    """The first of some branches, sorted by x, that is not to the left of x."""
    low, high = 0, len(order)
    while low < high:
        middle = (low + high) // 2
        if branches[order[middle]].place.real < x:
            low = middle + 1
        else:
            high = middle
    return low


@njit(cache=True, error_model="numpy")
def close(
    site: Site, twigs: Twigs, low: int, high: int, budget: int, found: Records
) -> tuple[int, int]:
    """Close branches low..high; write the trees, of CLOSED, to `found`.

    Of a tree whose leaves are points the root is the one with the last node; where a leaf is inside
    a segment it is the root. Returns the next branch and the number of trees. Ends early, before a
    branch, where there may be no room for all trees of the next.
    """
    layout, branches, count = site.layout, twigs.branches, 0
    size, room = branches[low].size, len(layout.places) + len(layout.tail)
    drawn = new_drawn(size)
    while low < high and budget > 0 and count + room <= len(found):
        own = branches[low]
        last = twigs.members[own.start + size - 1]
        for v in range(len(layout.places)):
            if layout.node[v] <= last:
                continue
            budget -= 1
            length = simpson(site, twigs, low, layout.node[v], layout.places[v])
            if length > 0.0 and may_leave(site, v, own.equilateral - layout.places[v]):
                budget -= 50
                count += kept(
                    site, twigs, low, layout.node[v], v, layout.places[v], drawn, found, count
                )
        for node in range(len(site.special)):
            for k in range(layout.first[node], layout.first[node + 1]):
                budget -= 1
                end = head_on(own.equilateral, own.a, own.b, layout.tail[k], layout.head[k])
                if end != end or holds(twigs, low, node):
                    continue
                if simpson(site, twigs, low, node, end) > 0.0:
                    budget -= 50
                    count += kept(site, twigs, low, node, -1 - k, end, drawn, found, count)
        low += 1
    return low, count


@lean
def head_on(start: complex, a: complex, b: complex, tail: complex, head: complex) -> complex:
    """Where a line from `start` meets a segment at a right angle, in a direction from a to b.

    Not a number where it does not.
    """
    nowhere = complex(np.nan, np.nan)
    along = head - tail
    size = norm(along)
    if size == 0.0:
        return nowhere
    u = complex(-along.imag, along.real) / size
    height = dot(tail - start, u)
    if height < 0.0:
        u, height = -u, -height
    if cross(a, u) < -AIM or cross(u, b) < -AIM or dot(u, a) <= 0.0:
        return nowhere
    end = start + height * u
    share = dot(end - tail, along) / (size * size)
    if share < -AIM or share > 1.0 + AIM:
        return nowhere
    return tail + min(max(share, 0.0), 1.0) * along


@lean
def simpson(site: Site, twigs: Twigs, branch: int, root: int, end: complex) -> float:
    """Length of the tree that is closed by a place of a node, its Simpson line; -1: none."""
    own = twigs.branches[branch]
    line = end - own.equilateral
    length = norm(line)
    slack = AIM * length
    if cross(own.a, line) < -slack or cross(line, own.b) < -slack or dot(line, own.a) <= 0.0:
        return -1.0
    edge = length - trunk(own, line) / length
    if edge < MIN_EDGE or edge > site.longest + TIE:
        return -1.0
    cost = np.inf
    for k in range(own.start, own.start + own.size):
        cost = min(cost, site.special[twigs.members[k], root])
    if edge > cost + TIE or length > own.bound + cost + TIE:
        return -1.0
    return length


@njit(cache=True, error_model="numpy")
def kept(
    site: Site, twigs: Twigs, branch: int, root: int, leaf: int, end: complex, drawn: Drawn,
    found: Records, count: int,
) -> int:  # fmt: skip
    """Draw a tree and write it where it may be needed; how many were written."""
    length = draw(twigs, branch, end, drawn)
    if not may_be_needed(site, twigs, branch, root, drawn):
        return 0
    tree = found[count]
    tree.branch, tree.root, tree.leaf, tree.end, tree.length = branch, root, leaf, end, length
    tree.key = twigs.branches[branch].key + set_key(root)
    return 1


@njit(cache=True, error_model="numpy")
def enter(twigs: Twigs, found: Records, known: int) -> int:
    """Enter trees, of each set of nodes the shortest; returns how many there are then."""
    for new in found:
        tree = find_closed(twigs, new.key, new.branch, new.root)
        if tree < 0:
            tree = known
            known += 1
            insert_key(twigs.table, new.key, tree)
            twigs.items[tree] = new
        elif new.length < twigs.items[tree].length:
            twigs.items[tree] = new
    return known


@njit(cache=True, error_model="numpy")
def with_room(twigs: Twigs, known: int, room: int) -> Twigs:
    """The same with room for more trees."""
    items = np.empty(room, twigs.items.dtype)
    items[:known] = twigs.items[:known]
    size = 4
    while size < 4 * room:
        size *= 2
    table = np.zeros(size, np.int64)
    for tree in range(known):
        insert_key(table, items[tree].key, tree)
    return Twigs(twigs.branches, twigs.members, items, table, twigs.near, twigs.stack, twigs.sketch)


@njit(cache=True, error_model="numpy")
def new_drawn(size: int) -> Drawn:
    """Room for the trees of branches of that size."""
    many = 2 * size - 1
    return Drawn(
        np.empty(2 * size, np.complex128),
        np.empty(size + 1, np.int64),
        np.empty((many, 2), np.int64),
        np.empty(many, np.int64),
    )


@lean
def draw(twigs: Twigs, branch: int, end: complex, drawn: Drawn) -> float:
    """Draw the tree that a place closes; return the sum of its edges."""
    branches, stack = twigs.branches, twigs.stack
    spots, leaves, edges, below = drawn
    count = branches[branch].size
    spots[count] = end
    u = unit(end - branches[branch].equilateral)
    leaf, vertex, edge, total, depth = 0, count, 0, 0.0, 1
    stack[0].node, stack[0].turned, stack[0].parent = branch, 0, count
    while depth > 0:
        depth -= 1
        node, turned, parent = stack[depth].node, stack[depth].turned, stack[depth].parent
        if branches[node].size == 1:
            here = leaf
            spots[here], leaves[here] = branches[node].place, node
            leaf += 1
        else:
            vertex += 1
            here = vertex
            spots[here] = steiner_point(branches[node], turn(u, turned))
            for side in range(2):
                stack[depth].node = child_of(branches, node, side)
                stack[depth].turned, stack[depth].parent = turned - 1 + 2 * side, here
                depth += 1
        edges[edge, 0], edges[edge, 1], below[edge] = parent, here, node
        edge += 1
        total += norm(spots[parent] - spots[here])
    return total


@njit(cache=True, error_model="numpy")
def may_be_needed(site: Site, twigs: Twigs, branch: int, root: int, drawn: Drawn) -> bool:
    """Test a drawn tree: bottlenecks, upper bound, leaves nearest, lunes, and no crossing."""
    layout, own = site.layout, twigs.branches[branch]
    count = own.size
    nodes = np.empty(count + 1, np.int64)
    nodes[:count] = twigs.members[own.start : own.start + count]
    nodes[count] = root
    total = 0.0
    for e in range(2 * count - 1):
        p, q = drawn.spots[drawn.edges[e, 0]], drawn.spots[drawn.edges[e, 1]]
        length = norm(p - q)
        total += length
        if length < MIN_EDGE or length > across(site.special, twigs, nodes, drawn.below[e]):
            return False
    if total > spanning_cost(site.special, nodes, count + 1) + TIE:
        return False
    for e in range(2 * count - 1):
        parent, vertex = drawn.edges[e]
        p, q = drawn.spots[parent], drawn.spots[vertex]
        one, two = root if parent == count else -1, -1
        if vertex < count:
            two = layout.node[drawn.leaves[vertex]]
        length = norm(p - q) - TIE
        if one >= 0 and length > to_node(layout, one, q):
            return False
        if two >= 0 and length > to_node(layout, two, p):
            return False
        if has_lune(site, p, q, one, two) or crosses(layout, p, q):
            return False
    return True


@lean
def across(special: Floats, twigs: Twigs, nodes: Ints, child: int) -> float:
    """The least special distance between the nodes below an edge and the others, and a tie."""
    own = twigs.branches[child]
    least = np.inf
    for u in nodes:
        if not holds(twigs, child, u):
            for k in range(own.start, own.start + own.size):
                least = min(least, special[u, twigs.members[k]])
    return least + TIE


@lean
def has_lune(site: Site, p: complex, q: complex, one: int, two: int) -> bool:
    """Whether a mandatory node is nearer to both ends of an edge than these are to each other.

    `one` and `two` are the nodes of the ends, -1 for Steiner points.
    """
    length, layout = norm(p - q) - TIE, site.layout
    for z in range(len(layout.places)):
        if site.spoke_start[z + 1] > 0:
            break  # terminals stand before the vertices of the network
        u, place = layout.node[z], layout.places[z]
        near = norm(place - p) < length and norm(place - q) < length
        if near and u < site.mandatory and u != one and u != two:
            return True
    for u in range(site.mandatory):
        if u != one and u != two and to_node(layout, u, p) < length > to_node(layout, u, q):
            return True
    return False
