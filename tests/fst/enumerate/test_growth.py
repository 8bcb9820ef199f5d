"""How branches grow, against trees built by Melzak's construction and brute force.

Reasons to drop a direction are found by looking at everything.
"""

from __future__ import annotations

import cmath
import itertools
import math

import numpy as np
import pytest

from deepsteiner.fst.enumerate.complete import (
    branch_kernels,
    exchange_kernels,
    lune_kernels,
    reach_kernels,
)
from deepsteiner.fst.enumerate.complete import forest_kernels as store
from deepsteiner.fst.enumerate.complete.arc_kernels import Arc
from deepsteiner.fst.enumerate.complete.generate import generate
from grown import LOOSE, SIXTH, Grown, Node, cross, dot, grown_from, is_swappable
from melzak import spanning


@pytest.fixture(scope="module", params=["uniform", "grid", "clusters"])
def grown(request) -> Grown:
    return grown_from(request.param)


def test_branches_are_full_trees_in_all_their_directions(grown):
    for row in grown.branches:
        for u in grown.samples(row):
            node = grown.placed(row, u)
            top, _ = grown.circle(row)
            assert node.length() == pytest.approx(abs(node.place - top), rel=1e-9)
            for parent, child in node.edges():
                assert abs(parent.place - child.place) > 0.5 * store.MIN_EDGE
            for vertex in node.vertices():
                if vertex is node or not vertex.children:
                    continue
                ways = [child.place - vertex.place for child in vertex.children]
                units = [way / abs(way) for way in ways]
                rounding = 1e-14 / min(map(abs, ways))
                assert dot(*units) == pytest.approx(-0.5, abs=1e-9 + rounding)


def test_what_is_stored_about_a_branch(grown):
    """Its circle, its middle direction and place, how far the place moves, its terminals."""
    for row in grown.branches:
        top, centre = grown.circle(row)
        own = grown.branch[row]
        assert own["equilateral"] == pytest.approx(top, abs=1e-12)
        assert own["centre"] == pytest.approx(centre, abs=1e-12)
        a, b = grown.interval(row)
        middle = (a + b) / abs(a + b)
        assert own["middle"] == pytest.approx(middle, abs=1e-12)
        half = cmath.phase(b / a) / 2
        assert own["width"] == pytest.approx(half, abs=1e-7)
        assert own["cosine"] == pytest.approx(math.cos(half), abs=1e-9)
        assert own["sine"] == pytest.approx(math.sin(half), abs=1e-7)
        assert cmath.exp(1j * own["angle"]) == pytest.approx(middle, abs=1e-9)
        place = grown.placed(row, middle).place
        assert own["place"] == pytest.approx(place, abs=1e-9)
        for u in grown.samples(row):
            assert abs(grown.placed(row, u).place - place) <= own["spread"] + LOOSE
        one, two = (grown.terminals(child) for child in grown.children(row))
        assert grown.terminals(row) == sorted(one + two)
        assert not set(one) & set(two)
        assert own["mask"] == sum(1 << t for t in one + two)


def test_bounds_are_the_cheapest_known_ways_to_reconnect(grown):
    for row in grown.branches:
        own, pair = grown.terminals(row), grown.children(row)
        left, right = (grown.terminals(child) for child in pair)
        between = grown.bottleneck[np.ix_(left, right)].min()
        bounds = [float(grown.branch[child]["bound"]) for child in pair]
        ways = [spanning(grown.bottleneck, own), sum(bounds) + between]
        ways.append(grown.known.get(frozenset(own), math.inf))
        for part, other, bound in ((left, right, bounds[1]), (right, left, bounds[0])):
            if len(part) > 1:
                ways += [grown.known.get(frozenset((*part, t)), math.inf) + bound for t in other]
        assert grown.branch[row]["bound"] == pytest.approx(min(ways), rel=1e-12, abs=1e-15)


def test_no_needed_edge_is_longer_than_the_reach(grown):
    """Beyond it, some terminal is nearer to the far end, and hangs on the near side."""
    longest = grown.ground.longest
    shorter = 0
    for row in range(grown.count):
        reach = float(grown.branch[row]["reach"])
        assert reach <= longest
        if reach == longest or row < grown.n:
            continue
        shorter += 1
        own = grown.terminals(row)
        for u, length in itertools.product(grown.samples(row), (reach, 1.3 * reach)):
            start = grown.placed(row, u).place
            far = start + length * u
            assert any(
                abs(z - far) <= length + LOOSE
                and min(abs(z - start), grown.bottleneck[own, t].min()) <= length + LOOSE
                for t, z in enumerate(grown.z)
            )
    assert shorter > 0


def test_what_is_stored_follows_from_the_arc(grown):
    forest = grown.copied()
    names = ["a", "b", "middle", "place", "cosine", "sine", "angle", "width", "spread", "reach"]
    for row in grown.branches:
        for name in names:
            forest.branches[row][name] = 0.0
        reach_kernels.settle(grown.ground, forest, row, Arc(True, *grown.interval(row)))
        for name in names:
            assert forest.branches[row][name] == grown.branch[row][name]


# Reasons for which a direction of a new branch may be dropped.


def side_links(grown: Grown, node: Node) -> dict[int, float]:
    """Bottleneck distance of each terminal to the other side of the topmost Steiner point."""
    left, right = (sorted(child.terminals) for child in node.children)
    between = grown.bottleneck[np.ix_(left, right)]
    near = dict(zip(left, between.min(axis=1), strict=True))
    return near | dict(zip(right, between.min(axis=0), strict=True))


def reasons(grown: Grown, node: Node) -> list[str]:
    found = []
    near = side_links(grown, node)
    between = min(near.values())
    for child in node.children:
        edge = abs(node.place - child.place)
        if edge > between - LOOSE:
            found.append("a new edge is longer than a link between the sides")
        bound = float(grown.branch[child.row]["bound"])
        if child.children and child.length() + edge > bound + between - LOOSE:
            found.append("a side can be reconnected at less cost")
        if not child.children:
            for t, z in enumerate(grown.z):
                rival = t != child.row and abs(z - child.place) < edge + LOOSE
                if rival and abs(z - node.place) < edge + LOOSE:
                    found.append("another terminal is nearer to the Steiner point")
        for parent, low in child.edges():
            limit = min(near[t] for t in low.terminals)
            edge = abs(parent.place - low.place)
            if edge > limit - LOOSE:
                found.append("an inner edge is longer than a link across")
            bound = float(grown.branch[low.row]["bound"])
            if low.children and low.length() + edge > limit + bound - LOOSE:
                found.append("an inner part can be reconnected at less cost")
        sibling = next(one for one in node.children if one is not child)
        if child.children and is_swappable(node, child, beyond(node, sibling)):
            found.append("a new edge is better swapped")
        for inner in child.children:
            other = next(one for one in child.children if one is not inner)
            if inner.children and is_swappable(child, inner, [other.place, node.place]):
                found.append("an inner edge is better swapped")
    return found


def beyond(node: Node, sibling: Node) -> list[complex]:
    """The sibling, and a point a hair along the way on which the tree goes on."""
    ways = [(child.place - node.place) / abs(child.place - node.place) for child in node.children]
    return [sibling.place, node.place - 1e-15 * sum(ways)]


def test_directions_are_dropped_for_a_reason(grown):
    """Joining two branches keeps each direction that both allow, unless something forbids it."""
    forest = grown.copied()
    rng = np.random.default_rng(0)
    seen: set[str] = set()
    kept = 0
    for _ in range(6000):
        pair = tuple(int(row) for row in rng.integers(0, grown.count, 2))
        total = sum(map(grown.size, pair))
        if set(grown.terminals(pair[0])) & set(grown.terminals(pair[1])) or total > 6:
            continue
        alive, a, b = branch_kernels.merge(
            grown.ground, forest, grown.trees, grown.scratch, *pair, grown.count, grown.used
        )
        top, _ = grown.circle(-1, pair)
        for u in [cmath.exp(1j * t) for t in np.linspace(-math.pi, math.pi, 181)]:
            if all(grown.size(row) == 1 for row in pair):
                ends = [grown.z[row] - top for row in pair]
                allowed = cross(ends[1], u) > 0 > cross(ends[0], u) and dot(ends[0], u) > 0
            else:
                turns = (SIXTH, SIXTH.conjugate())
                allowed = all(grown.inside(row, u * t) for row, t in zip(pair, turns, strict=True))
            if not allowed:
                continue
            node = grown.placed(-1, u, pair)
            edges = [dot(node.place - child.place, u * turn) for child, turn in
                     zip(node.children, (SIXTH, SIXTH.conjugate()), strict=True)]  # fmt: skip
            if min(edges) < LOOSE:  # the sides would cross: no such tree
                continue
            if alive and cross(a, u) >= 0 and cross(u, b) >= 0:
                kept += 1
                continue
            why = reasons(grown, node)
            assert why, (pair, u)
            seen |= set(why)
    assert kept > 20
    assert len(seen) >= 4


# Angles ruled out by what is around.


def lune_is_taken(grown: Grown, p: Node, q: Node, slack: float = LOOSE) -> bool:
    length = abs(p.place - q.place)
    return any(
        max(abs(z - p.place), abs(z - q.place)) < length + slack
        for t, z in enumerate(grown.z)
        if t not in (p.row if not p.children else -1, q.row if not q.children else -1)
    )


def nearest(grown: Grown, terminals: frozenset[int], place: complex) -> float:
    return min(abs(grown.z[t] - place) for t in terminals)


def one_does(grown: Grown, node: Node, place: complex) -> bool:
    """Whether one terminal, linked to those of a branch, does as well as the branch up to a place.

    For a leaf: whether another terminal is in the lune of its edge.
    """
    length = node.length() + abs(node.place - place)
    if not node.children:
        others = [z for t, z in enumerate(grown.z) if t != node.row]
        return any(max(abs(z - place), abs(z - node.place)) < length for z in others)
    room = length - grown.branch[node.row]["bound"] + LOOSE
    return any(
        abs(z - place) + (0.0 if t in node.terminals else link(grown, node, t)) < room
        for t, z in enumerate(grown.z)
    )


def link(grown: Grown, node: Node, terminal: int) -> float:
    """Longest edge on the way in the spanning tree from a terminal to the nearest of a branch."""
    gaps = grown.ground.gaps[0]
    return min(gaps[min(t, terminal) : max(t, terminal)].max() for t in node.terminals)


def turn_is_blocked(grown: Grown, row: int, u: complex) -> bool:
    node = grown.placed(row, u)
    to = [nearest(grown, child.terminals, node.place) for child in node.children]
    if any(one_does(grown, part, node.place) for part in (node, *node.children)):
        return True
    for side, child in enumerate(node.children):
        edge = abs(node.place - child.place)
        other = node.children[1 - side].terminals
        if child.children and edge > to[side] - LOOSE:
            return True
        if edge > nearest(grown, other, child.place) - LOOSE or lune_is_taken(grown, node, child):
            return True
    return False


def inside_is_blocked(grown: Grown, row: int, u: complex) -> bool:
    node = grown.placed(row, u)
    around: dict[int, list[Node]] = {id(v): [] for v in node.vertices()}
    for a, b in node.edges():
        around[id(a)].append(b)
        around[id(b)].append(a)
    for v in node.vertices():
        stack = [(v, None, 0.0)]
        while stack:
            w, back, longest = stack.pop()
            if w is not v and back is not v and longest > abs(v.place - w.place) - LOOSE:
                return True
            stack += [
                (x, w, max(longest, abs(w.place - x.place))) for x in around[id(w)] if x is not back
            ]
    return any(
        lune_is_taken(grown, a, b) or one_does(grown, b, a.place)
        for a, b in node.edges()
        if a is not node
    )


def wedge_is_blocked(grown: Grown, row: int, u: complex) -> bool:
    node = grown.placed(row, u)
    ways = [z - node.place for t, z in enumerate(grown.z) if t not in node.terminals]
    left = any(cross(u, w) >= LOOSE and cross(u / SIXTH, w) <= -LOOSE for w in ways)
    right = any(cross(u, w) <= -LOOSE and cross(u * SIXTH, w) >= LOOSE for w in ways)
    return not (left and right)


def ruled_out(grown: Grown, kind: str, row: int, u: complex) -> float:
    ground, forest = grown.ground, grown.forest
    if kind == "turn":
        return lune_kernels.blocked_turn(ground, forest, row, u)
    if kind == "inside":
        return lune_kernels.blocked_inside(ground, forest, grown.scratch, row, u)
    return lune_kernels.blocked_wedge(ground, forest, row, u)


@pytest.mark.parametrize("kind", ["turn", "inside", "wedge"])
def test_angles_are_ruled_out_for_a_reason(grown, kind):
    """Around a direction in which a branch cannot be left, none as near as said can be either."""
    blocked = {"turn": turn_is_blocked, "inside": inside_is_blocked, "wedge": wedge_is_blocked}
    rng = np.random.default_rng(1)
    found = 0
    for row in rng.permutation(list(grown.branches))[:150].tolist():
        if kind == "inside" and grown.size(row) == 2:
            continue
        a, b = grown.interval(row)
        for u in (a, b, a * cmath.exp(-0.2j), b * cmath.exp(0.2j), a * cmath.exp(-0.7j)):
            angle = min(ruled_out(grown, kind, row, u), 0.3)
            if angle <= 0.0:
                continue
            found += 1
            for part in (-0.99, -0.5, 0.0, 0.5, 0.99):
                near = u * cmath.exp(1j * angle * part)
                if crosses(grown, row, near):
                    continue
                assert blocked[kind](grown, row, near), (row, u, part)
    assert found > 10


@pytest.mark.parametrize("apart", [1.0, 0.1, 0.001])
def test_a_difference_of_distances_lasts_for_the_angle_said(apart):
    """However s moves within its speed, it takes that angle at least; in clusters far more."""
    rng = np.random.default_rng(3)
    tight = []
    for _ in range(200):
        a, b = apart * rng.normal(size=2) @ [1, 1j], apart * rng.normal(size=2) @ [1, 1j]
        s = rng.normal(size=2) @ [1, 1j]
        speed = rng.uniform(0.1, 3.0)
        before = abs(a - s) - abs(b - s)
        excess = rng.uniform(0.0, 0.5) * abs(a - b)
        angle = exchange_kernels.turn_until_even(excess, a, b, s, speed)
        ways = s + angle * speed * np.exp(1j * np.linspace(-np.pi, np.pi, 73))
        falls = before - (np.abs(a - ways) - np.abs(b - ways))
        assert falls.max() <= excess * (1.0 + 1e-9)
        tight.append(angle * speed / excess)
    assert np.median(tight) > 0.2 / apart  # 1 / 4 is what the triangle inequality alone would give


def test_tight_clusters_need_few_branches():
    """Of 60 terminals in 6 clusters: 58,000 branches where exchanges are not tried."""
    rng = np.random.default_rng(8)
    centres = rng.uniform(-0.9, 0.9, (6, 2))
    points = np.repeat(centres, 10, axis=0) + 0.001 * rng.normal(size=(60, 2))
    listed = generate(points)
    assert listed.complete
    assert listed.stats["branches"] < 25_000


def test_among_many_terminals_only_what_is_sure_is_ruled_out():
    """Of more than so many terminals only some are looked at for one that lies ahead."""
    grown = Grown(2.0 * np.random.default_rng(0).random((900, 2)) - 1.0)
    assert grown.n > 2 * lune_kernels.AHEAD_SCAN
    free = 0
    places = grown.branch["place"][: grown.count]
    outer = np.maximum(np.abs(places.real), np.abs(places.imag))
    near_rim = np.flatnonzero((outer > 0.7) & (outer < 0.95))  # few terminals lie ahead
    for row in np.random.default_rng(1).permutation(near_rim[near_rim >= grown.n])[:200].tolist():
        for u in grown.samples(row, 5):
            if not wedge_is_blocked(grown, row, u):
                free += 1
                assert ruled_out(grown, "wedge", row, u) <= 0.0
    assert free > 100


def crosses(grown: Grown, row: int, u: complex) -> bool:
    """Whether the branch is no tree in this direction: then nothing needs to be ruled out."""
    node = grown.placed(row, u)
    top, _ = grown.circle(row)
    return abs(node.length() - abs(node.place - top)) > 1e-12


def test_final_intervals_are_not_ruled_out_in_their_middle(grown):
    """Marching stops where nothing forbids; what is left may be used in the middle or beyond."""
    free = sum(
        ruled_out(grown, kind, row, grown.samples(row, 3)[1]) <= 0.0
        for row in grown.branches
        for kind in ("turn", "wedge")
    )
    assert free > len(grown.branches)
