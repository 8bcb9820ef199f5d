"""Level by level: join branches around obstacles, close them, and draw what is closed.

Each kernel works on a span and returns how far it came, so that somebody can look at the clock.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ....core.jit import njit
from ....plane.sight_kernels import Complexes, Floats, Ints
from ..complete.arc_kernels import cross, dot, lean, norm, turn, unit
from ..complete.bottleneck_kernels import Records
from ..complete.forest_kernels import (
    MIN_EDGE,
    Forest,
    child_of,
    find_tree,
    insert_key,
    steiner_point,
    trunk,
)
from .block_kernels import is_free
from .branch_kernels import Sprouts, join, link, met
from .landscape_kernels import TIE, Landscape, is_allowed, spanning_cost
from .march_kernels import first_right_of

ROOT3 = math.sqrt(3.0)
AIM = 1e-9
"""Sine of the angle by which a closing node may miss an arc."""
ROOMY = 1e-6
"""Distance by which a Steiner point may be beyond the end of its arc, and more."""
FEW = 150
"""Nodes up to which the links of a branch to all of them are found at once."""


class Step(NamedTuple):
    """How far a span came: the next branch, the ends of what was written, what budget is left."""

    position: int
    row: int
    member: int
    full: bool
    left: int


class Drawn(NamedTuple):
    """A full tree in the plane: leaves (the root last), then Steiner points.

    spots: where they are.
    edges: parent and vertex, parents first.
    below: the branch under each edge.
    """

    spots: Complexes
    edges: Ints
    below: Ints


@lean
def links_from(special: Floats, sprouts: Sprouts, branch: int, links: Floats) -> float:
    """Write the least special distance from a branch to every node, -1 to its own leaves.

    Returns the largest.
    """
    own, links[:] = sprouts.branches[branch], np.inf
    for position in range(own.start, own.start + own.size):
        row = special[sprouts.members[position]]
        for v in range(len(links)):
            links[v] = row[v] if row[v] < links[v] else links[v]  # several at once, unlike `min`
    for position in range(own.start, own.start + own.size):
        links[sprouts.members[position]] = -1.0
    most = -1.0
    for v in range(len(links)):
        most = links[v] if links[v] > most else most
    return most


@lean
def least_link(sprouts: Sprouts, links: Floats, branch: int) -> float:
    """The least of the links to the leaves of a branch; below 0 where it shares one."""
    own = sprouts.branches[branch]
    least = np.inf
    for position in range(own.start, own.start + own.size):
        least = min(least, links[sprouts.members[position]])
        if least < 0.0:
            break
    return least


@lean
def least_special(special: Floats, sprouts: Sprouts, left: int, right: int) -> float:
    """The least special distance between the leaves of two branches; below 0 where they share one.

    The same as `least_link` with all links of one of them, which pay where it has many partners.
    """
    one, two = sprouts.branches[left], sprouts.branches[right]
    least = np.inf
    for i in range(one.start, one.start + one.size):
        u = sprouts.members[i]
        for j in range(two.start, two.start + two.size):
            v = sprouts.members[j]
            if u == v:
                return -1.0
            least = min(least, special[u, v])
    return float(least)


@lean
def can_meet(a: complex, b: complex, c: complex, d: complex) -> bool:
    """Whether the arcs from a to b and from c to d have a direction in common.

    Two branches can be left in directions 120 degrees apart where the arc of one, turned by so
    much, meets that of the other. Arcs are at most 60 degrees wide, so those that meet begin at
    most as much apart.
    """
    return bool(cross(a, d) >= -AIM and cross(c, b) >= -AIM and dot(a, c) > 0.0)


class Partners(NamedTuple):
    """Branches of one size that others are joined with.

    rows: the branches, sorted by where they are (single nodes), else by direction.
    keys: what they are sorted by: x, or the angle at which their arcs begin.
    widest: their largest spread, or the largest angle of their arcs.
    places, spreads, a, b: what most pairs are told apart by, side by side in memory.
    """

    rows: Ints
    keys: Floats
    widest: float
    places: Complexes
    spreads: Floats
    a: Complexes
    b: Complexes


@njit(cache=True, error_model="numpy")
def partners_of(branches: Records, low: int, high: int, by_place: bool) -> Partners:
    """Sort the branches low to high by where they are, or by direction."""
    keys, widest = np.empty(high - low), 0.0
    for k in range(high - low):
        own = branches[low + k]
        if by_place:
            keys[k] = own.place.real
            widest = max(widest, own.spread)
        else:
            keys[k] = math.atan2(own.a.imag, own.a.real)
            widest = max(widest, math.atan2(cross(own.a, own.b), dot(own.a, own.b)))
    order = np.argsort(keys, kind="mergesort")
    found = Partners(
        low + order, keys[order], widest, np.empty(high - low, np.complex128),
        np.empty(high - low), np.empty(high - low, np.complex128),
        np.empty(high - low, np.complex128),
    )  # fmt: skip
    for k in range(high - low):
        own = branches[low + order[k]]
        found.places[k], found.spreads[k], found.a[k], found.b[k] = (
            own.place, own.spread, own.a, own.b,
        )  # fmt: skip
    return found


@njit(cache=True, error_model="numpy")
def spans(one: Any, partners: Partners, by_place: bool, reach: float, ends: Ints) -> None:
    """Write the two spans of partners that a branch can be joined with.

    By place: those with x within reach. By direction: those whose arcs meet the branch's own,
    turned by 120 degrees. They begin before it ends, and at most their own angle before it begins.
    """
    keys = partners.keys
    ends[:] = 0
    if by_place:
        far = one.spread + partners.widest + reach
        ends[0] = np.searchsorted(keys, one.place.real - far)
        ends[1] = np.searchsorted(keys, one.place.real + far, side="right")
        return
    a = turn(one.a, 2)
    begin = math.atan2(a.imag, a.real) - partners.widest - AIM
    end = begin + partners.widest + math.atan2(cross(one.a, one.b), dot(one.a, one.b)) + 2.0 * AIM
    if end - begin >= 2.0 * math.pi:
        ends[1] = len(keys)
        return
    # The keys are between -pi and pi, and so is the end or the beginning.
    ends[0], ends[1] = np.searchsorted(keys, begin), np.searchsorted(keys, end, side="right")
    if begin < -math.pi:
        ends[2], ends[3] = np.searchsorted(keys, begin + 2.0 * math.pi), len(keys)
    elif end > math.pi:
        ends[3] = np.searchsorted(keys, end - 2.0 * math.pi, side="right")


@njit(cache=True, error_model="numpy")
def grow(
    ground: Landscape, sprouts: Sprouts, left: tuple[int, int], partners: Partners, by_place: bool,
    row: int, member: int, budget: int,
) -> Step:  # fmt: skip
    """Join the branches left[0] to left[1], on the left, with partners, on the right.

    Two edges that meet at 120 degrees, neither longer than the link between their sides, end at
    most sqrt(3) links apart: that bounds where partners can be. Nearly all pairs are told apart by
    it, so it is looked at first, and without a root. Branches with the last node are
    closed by segments only, and left out where there are none.
    """
    links, ends = np.empty(len(ground.places)), np.zeros(4, np.int64)
    return grow_span(ground, sprouts, left, partners, by_place, row, member, budget, links, ends)


@lean
def grow_span(
    ground: Landscape, sprouts: Sprouts, left: tuple[int, int], partners: Partners, by_place: bool,
    row: int, member: int, budget: int, links: Floats, ends: Ints,
) -> Step:  # fmt: skip
    """`grow` with its scratch: the links of a branch to all nodes, and two spans of partners."""
    branches, members = sprouts.branches, sprouts.members
    last = len(ground.places) - 1
    few = len(ground.places) <= FEW
    begin_row, begin_member = row, member
    low, high = left
    while low < high and budget > 0:
        one = branches[low]
        reach = ROOT3 * (ground.longest + TIE)
        if few:
            farthest = links_from(ground.special, sprouts, low, links)
            reach = min(reach, ROOT3 * (farthest + TIE))
        begin, end = turn(one.a, 2), turn(one.b, 2)
        spans(one, partners, by_place, reach, ends)
        for span in range(2):
            for k in range(ends[2 * span], ends[2 * span + 1]):
                budget -= 1
                way = partners.places[k] - one.place
                spread = one.spread + partners.spreads[k]
                far = reach + spread
                if abs(way.real) > far or abs(way.imag) > far or dot(way, way) > far * far:
                    continue
                if not by_place and not can_meet(begin, end, partners.a[k], partners.b[k]):
                    continue
                budget -= 4
                other = partners.rows[k]
                if few:
                    link = least_link(sprouts, links, other)
                else:
                    link = least_special(ground.special, sprouts, low, other)
                if link < 0.0 or norm(way) > ROOT3 * (link + TIE) + spread:
                    continue
                size = one.size + branches[other].size
                if row + 1 >= len(branches) or member + size >= len(members):
                    return Step(low, begin_row, begin_member, True, budget)
                arc, between = met(ground, sprouts, low, other, row)
                budget -= 28
                if not arc.exists:
                    continue
                arc = join(ground, sprouts, low, other, row, member, arc, between)
                if arc.exists and (members[member + size - 1] != last or len(ground.tails) > 0):
                    row += 1
                    member += size
        low += 1
        begin_row, begin_member = row, member
    return Step(low, row, member, False, budget)


@njit(cache=True, error_model="numpy")
def close(
    ground: Landscape, sprouts: Sprouts, low: int, high: int, first_root: int, budget: int,
    found: Records,
) -> tuple[int, int]:  # fmt: skip
    """Close branches low..high by later nodes, from `first_root` on; write the trees to `found`.

    They are of TREE. Returns the next branch and the number of trees. Ends early, before a branch,
    where there may be no room for all trees of the next.
    """
    branches, count = sprouts.branches, 0
    drawn = new_drawn(branches[low].size)
    while low < high and budget > 0 and count + len(ground.places) <= len(found):
        own = branches[low]
        last = sprouts.members[own.start + own.size - 1]
        far = own.spread + ground.longest + ROOMY
        for v in range(max(last + 1, first_root), len(ground.places)):
            budget -= 1
            way = ground.places[v] - own.place
            if abs(way.real) > far or abs(way.imag) > far:
                continue  # no edge is so long
            if simpson(ground, sprouts, low, v) > 0.0:
                budget -= 50
                length = draw(ground.places, sprouts, low, v, drawn)
                if may_be_needed(ground, sprouts, low, v, drawn):
                    tree = found[count]
                    tree.branch, tree.root, tree.length = low, v, length
                    tree.key = own.key + branches[v].key
                    count += 1
        low += 1
    return low, count


@njit(cache=True, error_model="numpy")
def enter(sprouts: Sprouts, found: Records, known: int) -> int:
    """Enter trees, of each set of leaves the shortest; returns how many there are then."""
    trees, branches = sprouts.trees, sprouts.branches
    forest = Forest(branches, sprouts.members)
    for new in found:
        tree = find_tree(trees, forest, new.key, new.branch, new.root)
        if tree < 0:
            tree = known
            known += 1
            insert_key(trees.table, new.key, tree)
            trees.items[tree] = new
        elif new.length < trees.items[tree].length:
            trees.items[tree] = new
    return known


@lean
def simpson(ground: Landscape, sprouts: Sprouts, branch: int, root: int) -> float:
    """Length of the tree that a node closes, its Simpson line; -1 where there is none."""
    own = sprouts.branches[branch]
    line = ground.places[root] - own.equilateral
    length = norm(line)
    slack = AIM * length
    if cross(own.a, line) < -slack or cross(line, own.b) < -slack or dot(line, own.a) <= 0.0:
        return -1.0
    edge = length - trunk(own, line) / length
    if edge < MIN_EDGE or edge > ground.longest + TIE:
        return -1.0
    cost = link(ground.special, sprouts, branch, root)
    if edge > cost + TIE or length > own.bound + cost + TIE:
        return -1.0
    return length if is_allowed(ground, root, -line) else -1.0


@njit(cache=True, error_model="numpy")
def new_drawn(size: int) -> Drawn:
    """Room for the trees of branches of that size."""
    many = 2 * size - 1
    return Drawn(
        np.empty(2 * size, np.complex128), np.empty((many, 2), np.int64), np.empty(many, np.int64)
    )


@lean
def draw(places: Complexes, sprouts: Sprouts, branch: int, root: int, drawn: Drawn) -> float:
    """Draw the tree that `root` closes; return the sum of its edges."""
    branches, members, _, _, stack, _ = sprouts
    spots, edges, below = drawn
    count, begin = branches[branch].size, branches[branch].start
    for i in range(count):
        spots[i] = places[members[begin + i]]
    spots[count] = places[root]
    u = unit(places[root] - branches[branch].equilateral)
    vertex, edge, total, depth = count, 0, 0.0, 1
    stack[0].node, stack[0].turned, stack[0].parent = branch, 0, count
    while depth > 0:
        depth -= 1
        node, turned, parent = stack[depth].node, stack[depth].turned, stack[depth].parent
        if branches[node].size == 1:
            here = 0
            while members[begin + here] != node:
                here += 1
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
def may_be_needed(
    ground: Landscape, sprouts: Sprouts, branch: int, root: int, drawn: Drawn
) -> bool:
    """Test a drawn tree: bottlenecks, upper bound, corners, lunes, and that all edges are free."""
    branches, members = sprouts.branches, sprouts.members
    own = branches[branch]
    count, begin = own.size, own.start
    leaves = np.empty(count + 1, np.int64)
    leaves[:count] = members[begin : begin + count]
    leaves[count] = root
    total = 0.0
    for e in range(2 * count - 1):
        p, q = drawn.spots[drawn.edges[e, 0]], drawn.spots[drawn.edges[e, 1]]
        length = norm(p - q)
        total += length
        if length < MIN_EDGE or length > across(ground.special, sprouts, leaves, drawn.below[e]):
            return False
    if total > spanning_cost(ground.special, leaves, count + 1) + TIE:
        return False
    for e in range(2 * count - 1):
        parent, vertex = drawn.edges[e]
        p, q = drawn.spots[parent], drawn.spots[vertex]
        if vertex < count and not is_allowed(ground, leaves[vertex], p - q):
            return False
        if not is_free(ground.blocks, p, q):
            return False
        one = root if parent == count else -1
        two = leaves[vertex] if vertex < count else -1
        if has_lune(ground, p, q, one, two):
            return False
    return True


@lean
def across(special: Floats, sprouts: Sprouts, leaves: Ints, child: int) -> float:
    """The least special distance between the leaves below an edge and the others, and a tie."""
    own = sprouts.branches[child]
    inner = sprouts.members[own.start : own.start + own.size]
    least = np.inf
    for u in leaves:
        inside = False
        for v in inner:
            inside = inside or u == v
        if not inside:
            for v in inner:
                least = min(least, special[u, v])
    return least + TIE


@lean
def has_lune(ground: Landscape, p: complex, q: complex, one: int, two: int) -> bool:
    """Whether a terminal is nearer to both ends of an edge than these are to each other.

    The terminal is on one side of the edge, so the way to the end on the other side could take
    its place. Both ways must be free.
    """
    length = norm(p - q) - TIE
    high = min(p.real, q.real) + length
    for k in range(
        first_right_of(ground.places, ground.by_x, max(p.real, q.real) - length), len(ground.by_x)
    ):
        z = ground.by_x[k]
        place = ground.places[z]
        if place.real > high:
            break
        if (
            z != one
            and z != two
            and norm(place - p) < length
            and norm(place - q) < length
            and is_free(ground.blocks, place, p)
            and is_free(ground.blocks, place, q)
        ):
            return True
    return False


@njit(cache=True, error_model="numpy")
def straight_edges(ground: Landscape, seen: np.ndarray) -> Ints:
    """Trees of two leaves: all pairs that see each other and pass the tests."""
    size = len(ground.places)
    found = np.empty((size * (size - 1) // 2, 2), np.int64)
    count = 0
    for u in range(size):
        for v in range(u + 1, size):
            way = ground.places[v] - ground.places[u]
            if (
                seen[u, v]
                and norm(way) <= ground.special[u, v] + TIE
                and is_allowed(ground, u, way)
                and is_allowed(ground, v, -way)
            ):
                found[count, 0], found[count, 1] = u, v
                count += 1
    return found[:count].copy()
