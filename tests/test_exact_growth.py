"""How branches grow and close, against trees built by Melzak's construction and brute force.

The twin of a branch is a nested pair of terminals. Directions are complex numbers of length one;
places follow from circles and lines alone, reasons to drop a direction from looking at everything.
"""

from __future__ import annotations

import cmath
import itertools
import math
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import pytest

from deepsteiner.exact import (
    bottleneck_kernels,
    branch_kernels,
    closing_kernels,
    growth_kernels,
    march_kernels,
    reach_kernels,
    rebuild_kernels,
    swap_kernels,
)
from deepsteiner.exact import forest_kernels as store
from deepsteiner.exact.generate import _Generation

SIXTH = cmath.exp(-1j * math.pi / 3)
LOOSE = 1e-9


def framed(points: np.ndarray) -> np.ndarray:
    return points - (points.min(axis=0) + points.max(axis=0)) / 2


def cross(a: complex, b: complex) -> float:
    return (a.conjugate() * b).imag


def dot(a: complex, b: complex) -> float:
    return (a.conjugate() * b).real


@dataclass
class Node:
    """A vertex of a placed branch: where it is, what is below it, and the terminals there."""

    place: complex
    terminals: frozenset[int]
    row: int
    children: list[Node] = field(default_factory=list)

    def vertices(self) -> list[Node]:
        return [self, *(v for child in self.children for v in child.vertices())]

    def edges(self) -> list[tuple[Node, Node]]:
        own = [(self, child) for child in self.children]
        return own + [edge for child in self.children for edge in child.edges()]

    def length(self) -> float:
        return sum(abs(a.place - b.place) for a, b in self.edges())


class Grown:
    """A finished generation and its twin's view of it."""

    def __init__(self, points: np.ndarray) -> None:
        run = _Generation(framed(points), None)
        assert run.grow(None)
        self.run = run
        self.n = len(points)
        self.points, self.gaps, self.cells, self.frame = run.ground
        self.z = [complex(x, y) for x, y in self.points]
        self.shape, self.link, self.members, self.stack, self.work = run.forest
        self.first = run.levels.first
        self.count = int(run.state[growth_kernels.BRANCH_COUNT])
        self.branches = range(self.n, self.count)
        tree_link, tree_length, _ = run.trees
        self.known = {
            frozenset((*self.terminals(branch), int(root))): float(tree_length[tree])
            for tree, (branch, root, _) in enumerate(
                tree_link[: run.state[growth_kernels.TREE_COUNT]].tolist()
            )
        }

    @cached_property
    def bottleneck(self) -> np.ndarray:
        """Bottleneck distances, by Floyd and Warshall's algorithm."""
        widest = np.abs(np.subtract.outer(self.z, self.z))
        for k in range(self.n):
            widest = np.minimum(widest, np.maximum(widest[:, k, None], widest[None, k]))
        return widest

    def size(self, row: int) -> int:
        return int(self.link[row, store.SIZE])

    def children(self, row: int) -> tuple[int, int]:
        return int(self.link[row, store.LEFT]), int(self.link[row, store.RIGHT])

    def terminals(self, row: int) -> list[int]:
        begin = int(self.link[row, store.START])
        return self.members[begin : begin + self.size(row)].tolist()

    def equilateral(self, row: int) -> complex:
        if self.size(row) == 1:
            return self.z[row]
        left, right = (self.equilateral(child) for child in self.children(row))
        return left + (right - left) * SIXTH

    def circle(self, row: int, pair: tuple[int, int] | None = None) -> tuple[complex, complex]:
        """Return the equilateral point and the centre of the circle of a branch or a new pair."""
        left, right = (self.equilateral(child) for child in pair or self.children(row))
        top = left + (right - left) * SIXTH
        return top, (left + right + top) / 3

    def placed(self, row: int, u: complex, pair: tuple[int, int] | None = None) -> Node:
        """Return a branch left in direction u: lines through its equilateral points."""
        if self.size(row) == 1 and pair is None:
            return Node(self.z[row], frozenset([row]), row)
        top, centre = self.circle(row, pair)
        place = top + 2 * dot(centre - top, u) * u
        below = []
        for child, turn in zip(pair or self.children(row), (SIXTH, SIXTH.conjugate()), strict=True):
            below.append(self.placed(child, u * turn))
        return Node(place, frozenset().union(*(b.terminals for b in below)), row, below)

    def interval(self, row: int) -> tuple[complex, complex]:
        return parts_of(self.shape[row])

    def inside(self, row: int, u: complex, slack: float = 0.0) -> bool:
        """Return whether a branch may be left in direction u; terminals always may."""
        if self.size(row) == 1:
            return True
        a, b = self.interval(row)
        return cross(a, u) >= -slack and cross(u, b) >= -slack and dot(a, u) > 0

    def samples(self, row: int, count: int = 9) -> list[complex]:
        a, b = self.interval(row)
        width = cmath.phase(b / a)
        return [a * cmath.exp(1j * width * t) for t in np.linspace(0.0, 1.0, count)]


@pytest.fixture(scope="module", params=["uniform", "grid", "clusters"])
def grown(request) -> Grown:
    rng = np.random.default_rng(5)
    points = 2.0 * rng.random((18, 2)) - 1.0
    if request.param == "grid":
        cells = rng.permutation(25)[:14]
        points = np.stack(np.divmod(cells, 5), axis=1) / 4.0 - 0.5
    if request.param == "clusters":
        points = rng.choice([-0.8, 0.8], (14, 2)) + 0.1 * rng.random((14, 2))
    made = Grown(points)
    assert made.count > 2 * made.n
    assert len(made.known) > 5
    return made


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
        shape = grown.shape[row]
        assert complex(shape[store.EX], shape[store.EY]) == pytest.approx(top, abs=1e-12)
        assert complex(shape[store.CX], shape[store.CY]) == pytest.approx(centre, abs=1e-12)
        a, b = grown.interval(row)
        middle = (a + b) / abs(a + b)
        assert complex(shape[store.UX], shape[store.UY]) == pytest.approx(middle, abs=1e-12)
        half = cmath.phase(b / a) / 2
        assert shape[store.WIDTH] == pytest.approx(half, abs=1e-7)
        assert shape[store.COS] == pytest.approx(math.cos(half), abs=1e-9)
        assert shape[store.SIN] == pytest.approx(math.sin(half), abs=1e-7)
        assert cmath.exp(1j * shape[store.ANGLE]) == pytest.approx(middle, abs=1e-9)
        place = grown.placed(row, middle).place
        assert complex(shape[store.MX], shape[store.MY]) == pytest.approx(place, abs=1e-9)
        for u in grown.samples(row):
            assert abs(grown.placed(row, u).place - place) <= shape[store.SPREAD] + LOOSE
        one, two = (grown.terminals(child) for child in grown.children(row))
        assert grown.terminals(row) == sorted(one + two)
        assert not set(one) & set(two)
        assert grown.link[row, store.MASK] == sum(1 << t for t in one + two)


def spanning(distance: np.ndarray, terminals: list[int]) -> float:
    inside, total = terminals[:1], 0.0
    while len(inside) < len(terminals):
        length, new = min((distance[a, b], b) for a in inside for b in terminals if b not in inside)
        inside.append(new)
        total += float(length)
    return total


def test_bounds_are_the_cheapest_known_ways_to_reconnect(grown):
    for row in grown.branches:
        own, pair = grown.terminals(row), grown.children(row)
        left, right = (grown.terminals(child) for child in pair)
        between = grown.bottleneck[np.ix_(left, right)].min()
        bounds = [float(grown.shape[child, store.BOUND]) for child in pair]
        ways = [spanning(grown.bottleneck, own), sum(bounds) + between]
        ways.append(grown.known.get(frozenset(own), math.inf))
        for part, other, bound in ((left, right, bounds[1]), (right, left, bounds[0])):
            if len(part) > 1:
                ways += [grown.known.get(frozenset((*part, t)), math.inf) + bound for t in other]
        assert grown.shape[row, store.BOUND] == pytest.approx(min(ways), rel=1e-12, abs=1e-15)


def test_no_needed_edge_is_longer_than_the_reach(grown):
    """Beyond it, some terminal is nearer to the far end, and hangs on the near side."""
    longest = float(grown.frame[bottleneck_kernels.LONGEST])
    shorter = 0
    for row in range(grown.count):
        reach = float(grown.shape[row, store.REACH])
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


def test_partners_are_found_wherever_they_are(grown):
    """All pairs are tried: those that can be joined must be among the ones looked up."""
    found = np.empty(grown.count, np.int64)
    shape, link, members = grown.shape.copy(), grown.link.copy(), grown.members.copy()
    first, lines, items, spots, filters, extent = grown.run.levels
    used = int(grown.run.state[growth_kernels.MEMBER_COUNT])
    joined = 0
    for one in range(grown.count):
        for smaller in range(1, grown.size(one) + 1):
            for is_left in (True, False):
                hits, _, _ = growth_kernels.partners(
                    shape, link, members, grown.frame, first, lines, items, spots, filters,
                    extent, one, smaller, is_left, True, found,
                )  # fmt: skip
                looked_up = set(found[:hits].tolist())
                assert len(looked_up) == hits
                lowest = one + 1 if smaller == grown.size(one) else 0
                for two in range(max(int(first[smaller]), lowest), int(first[smaller + 1])):
                    if set(grown.terminals(one)) & set(grown.terminals(two)):
                        assert two not in looked_up
                        continue
                    pair = (one, two) if is_left else (two, one)
                    alive, *interval = branch_kernels.merge(
                        grown.gaps, shape, link, members, grown.stack, *grown.run.trees,
                        *pair, grown.count, used,
                    )  # fmt: skip
                    if alive and march_kernels.march(
                        grown.points, grown.gaps, grown.cells, grown.frame, shape, link, members,
                        grown.stack, grown.work, grown.count, *interval,
                    ):  # fmt: skip
                        ends = parts_of(shape[grown.count])
                        if within_reach(grown, pair, ends):
                            joined += 1
                            assert two in looked_up
    assert joined > grown.n


@pytest.mark.parametrize("is_left", [True, False])
def test_siblings_are_in_the_box_they_are_looked_for_in(grown, is_left):
    """A sibling is one edge ahead and another to the right (or left), wherever a branch is left."""
    turn = SIXTH if is_left else SIXTH.conjugate()
    touched = 0
    for row in range(grown.count):
        own = float(grown.shape[row, store.REACH])
        ways = [cmath.exp(1j * t) for t in np.linspace(0.0, 2 * math.pi, 73)]
        for reach, spread in ((0.4, 0.0), (0.1, 0.05)):
            x_low, x_high, y_low, y_high = growth_kernels.partner_box(
                grown.shape, row, is_left, reach, spread
            )
            for u in grown.samples(row) if row >= grown.n else ways:
                start = grown.placed(row, u).place
                for one, two, way in itertools.product((0.0, own), (0.0, reach), ways[::6]):
                    place = start + one * u + two * turn * u + spread * way
                    assert x_low - LOOSE <= place.real <= x_high + LOOSE
                    assert y_low - LOOSE <= place.imag <= y_high + LOOSE
                    touched += min(place.real - x_low, x_high - place.real) < 0.02
    assert touched > 0


def parts_of(shape: np.ndarray) -> tuple[complex, complex]:
    ax, ay, bx, by = shape[store.AX : store.BY + 1]
    return complex(ax, ay), complex(bx, by)


def within_reach(grown: Grown, pair: tuple[int, int], ends: tuple[complex, complex]) -> bool:
    """Whether in some direction neither new edge is longer than its branch can need."""
    width = cmath.phase(ends[1] / ends[0])
    for t in np.linspace(0.0, 1.0, 33):
        node = grown.placed(-1, ends[0] * cmath.exp(1j * width * t), pair)
        edges = [abs(node.place - child.place) for child in node.children]
        if all(
            edge <= grown.shape[row, store.REACH] for row, edge in zip(pair, edges, strict=True)
        ):
            return True
    return False


# Reasons for which a direction of a new branch may be dropped.


def side_links(grown: Grown, node: Node) -> dict[int, float]:
    """Bottleneck distance of each terminal to the other side of the topmost Steiner point."""
    left, right = (sorted(child.terminals) for child in node.children)
    between = grown.bottleneck[np.ix_(left, right)]
    near = dict(zip(left, between.min(axis=1), strict=True))
    return near | dict(zip(right, between.min(axis=0), strict=True))


def is_swappable(above: Node, below: Node, further: list[complex]) -> bool:
    """The swap test on the edge between two Steiner points; `further` are the ends above."""
    way = below.place - above.place
    ends = sorted(
        (child.place - below.place for child in below.children), key=lambda v: cross(way, v)
    )
    others = sorted((end - above.place for end in further), key=lambda v: cross(way, v))
    lengths = [abs(v) for v in (*ends, *others)]
    return swap_kernels.swap_gain(abs(way), *lengths) > 0.5 * swap_kernels.CLEAR


def reasons(grown: Grown, node: Node) -> list[str]:
    found = []
    near = side_links(grown, node)
    between = min(near.values())
    for child in node.children:
        edge = abs(node.place - child.place)
        if edge > between - LOOSE:
            found.append("a new edge is longer than a link between the sides")
        bound = float(grown.shape[child.row, store.BOUND])
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
            bound = float(grown.shape[low.row, store.BOUND])
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
    shape, link, members = grown.shape.copy(), grown.link.copy(), grown.members.copy()
    used = int(grown.run.state[growth_kernels.MEMBER_COUNT])
    rng = np.random.default_rng(0)
    seen: set[str] = set()
    kept = 0
    for _ in range(6000):
        pair = tuple(int(row) for row in rng.integers(0, grown.count, 2))
        total = sum(map(grown.size, pair))
        if set(grown.terminals(pair[0])) & set(grown.terminals(pair[1])) or total > 6:
            continue
        alive, ax, ay, bx, by = branch_kernels.merge(
            grown.gaps, shape, link, members, grown.stack, *grown.run.trees,
            *pair, grown.count, used,
        )  # fmt: skip
        a, b = complex(ax, ay), complex(bx, by)
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


def turn_is_blocked(grown: Grown, row: int, u: complex) -> bool:
    node = grown.placed(row, u)
    to = [nearest(grown, child.terminals, node.place) for child in node.children]
    if node.length() - grown.shape[row, store.BOUND] - min(to) > -LOOSE:
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
    return any(lune_is_taken(grown, a, b) for a, b in node.edges() if a is not node)


def ahead_is_blocked(grown: Grown, row: int, u: complex) -> bool:
    node = grown.placed(row, u)
    ways = [z - node.place for t, z in enumerate(grown.z) if t not in node.terminals]
    left = any(cross(u, w) >= LOOSE and cross(u / SIXTH, w) <= -LOOSE for w in ways)
    right = any(cross(u, w) <= -LOOSE and cross(u * SIXTH, w) >= LOOSE for w in ways)
    return not (left and right)


def ruled_out(grown: Grown, kind: str, row: int, u: complex) -> float:
    points, cells, frame = grown.points, grown.cells, grown.frame
    shape, link, members = grown.shape, grown.link, grown.members
    if kind == "turn":
        return march_kernels.blocked_turn(
            points, cells, frame, shape, link, members, row, u.real, u.imag
        )
    if kind == "inside":
        return march_kernels.blocked_inside(
            points, cells, frame, shape, link, grown.stack, grown.work, row, u.real, u.imag
        )
    return march_kernels.blocked_ahead(points, frame, shape, link, members, row, u.real, u.imag)


@pytest.mark.parametrize("kind", ["turn", "inside", "ahead"])
def test_angles_are_ruled_out_for_a_reason(grown, kind):
    """Around a direction in which a branch cannot be left, none as near as said can be either."""
    blocked = {"turn": turn_is_blocked, "inside": inside_is_blocked, "ahead": ahead_is_blocked}
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


def test_among_many_terminals_only_what_is_sure_is_ruled_out():
    """Of more than so many terminals only some are looked at for one that lies ahead."""
    grown = Grown(2.0 * np.random.default_rng(0).random((900, 2)) - 1.0)
    assert grown.n > 2 * march_kernels.AHEAD_SCAN
    free = 0
    outer = np.abs(grown.shape[: grown.count, store.MX : store.MY + 1]).max(axis=1)
    near_rim = np.flatnonzero((outer > 0.7) & (outer < 0.95))  # few terminals lie ahead
    for row in np.random.default_rng(1).permutation(near_rim[near_rim >= grown.n])[:200].tolist():
        for u in grown.samples(row, 5):
            if not ahead_is_blocked(grown, row, u):
                free += 1
                assert ruled_out(grown, "ahead", row, u) <= 0.0
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
        for kind in ("turn", "ahead")
    )
    assert free > len(grown.branches)


# Closing.


def test_lunes_against_all_terminals(grown):
    rng = np.random.default_rng(2)
    empty = 0
    for _ in range(500):
        p, q = (complex(*(2.4 * rng.random(2) - 1.2)) for _ in range(2))
        q = p + rng.choice([0.1, 0.5, 1.0]) * (q - p)
        skip = rng.integers(-1, grown.n, 2).tolist()
        if rng.random() < 0.5:
            p = grown.z[skip[0]] if skip[0] >= 0 else p
        length = abs(p - q)
        farther = [max(abs(z - p), abs(z - q)) for t, z in enumerate(grown.z) if t not in skip]
        excess = march_kernels.lune_excess(
            grown.points, grown.cells, grown.frame, p.real, p.imag, q.real, q.imag, *skip
        )
        if min(farther) < length - LOOSE:
            assert excess == pytest.approx(length - min(farther), abs=1e-12)
        elif min(farther) > length + LOOSE:
            assert excess < -store.TIE
            empty += 1
    assert 50 < empty < 450


def all_trees(grown: Grown):
    """Yield (branch, root, its tree) wherever a terminal lies in a direction of a branch."""
    for row in grown.branches:
        top, _ = grown.circle(row)
        for root in range(max(grown.terminals(row)) + 1, grown.n):
            way = grown.z[root] - top
            if abs(way) > LOOSE:
                yield row, root, grown.placed(row, way / abs(way))


def test_closing_lengths(grown):
    """A terminal closes a branch if it lies ahead and neither the edge nor the tree is long."""
    closed = refused = 0
    for row, root, node in all_trees(grown):
        top, _ = grown.circle(row)
        way = grown.z[root] - top
        edge = abs(way) - abs(node.place - top)
        link = float(grown.bottleneck[grown.terminals(row), root].min())
        bound = float(grown.shape[row, store.BOUND])
        clear = [edge - store.MIN_EDGE, link - edge, bound + link - abs(way)]
        a, b = grown.interval(row)
        clear += [cross(a, way), cross(way, b), dot(a, way)]
        if min(map(abs, clear)) < LOOSE:
            continue
        found = closing_kernels.closing_length(grown.shape, row, root, link)
        expected = abs(way) if min(clear) > 0 else -1.0
        assert found == pytest.approx(expected, rel=1e-12)
        closed, refused = closed + (found > 0), refused + (found < 0)
    assert closed > 5
    assert refused > 20


def test_splitting_in_the_root(grown):
    finite = 0
    for row, root, _ in all_trees(grown):
        expected = 0.0
        for child in grown.children(row):
            own = frozenset((*grown.terminals(child), root))
            direct = abs(grown.z[child] - grown.z[root]) if grown.size(child) == 1 else math.inf
            expected += min(direct, grown.known.get(own, math.inf))
        arrays = (grown.shape, grown.link, grown.members, *grown.run.trees)
        assert closing_kernels.split_cost(*arrays, row, root) == pytest.approx(expected)
        finite += math.isfinite(expected)
    assert finite > 10


def test_placed_trees_are_melzaks(grown):
    spots, ends, below = np.empty((60, 2)), np.empty((60, 2), np.int64), np.empty(60, np.int64)
    placed = 0
    for row, root, node in itertools.islice(all_trees(grown), 0, None, 3):
        total = rebuild_kernels.place_tree(
            grown.points, grown.shape, grown.link, grown.members, grown.stack, row, root,
            spots, ends, below,
        )  # fmt: skip
        size = grown.size(row)
        own = [*grown.terminals(row), root]
        expected = sorted(
            (round(v.place.real, 9), round(v.place.imag, 9)) for v in node.vertices() if v.children
        )
        found = [complex(x, y) for x, y in spots[: 2 * size]]
        assert found[: size + 1] == pytest.approx([grown.z[t] for t in own])
        steiner = sorted((round(v.real, 9), round(v.imag, 9)) for v in found[size + 1 :])
        assert np.allclose(steiner, expected, atol=1e-8)
        assert total == pytest.approx(node.length() + abs(grown.z[root] - node.place))
        pairs = [*node.edges(), (Node(grown.z[root], frozenset(), root), node)]
        links = {frozenset(nearest_of(found, v.place) for v in pair) for pair in pairs}
        if min(abs(a - b) for a, b in itertools.combinations(found, 2)) > LOOSE:
            assert {frozenset(edge) for edge in ends[: 2 * size - 1].tolist()} == links
        for (_, vertex), under in zip(ends[: 2 * size - 1], below[: 2 * size - 1], strict=True):
            side = {t for t in own if is_below(ends[: 2 * size - 1], vertex, own.index(t))}
            assert set(grown.terminals(int(under))) == side
            others = [t for t in own if t not in side]
            cheapest = grown.bottleneck[np.ix_(sorted(side), others)].min()
            link = rebuild_kernels.side_link(
                grown.gaps, grown.link, grown.members, row, root, int(under)
            )
            assert link == pytest.approx(cheapest, rel=1e-12)
        placed += 1
    assert placed > 20


def nearest_of(spots: list[complex], place: complex) -> int:
    return min(range(len(spots)), key=lambda k: abs(spots[k] - place))


def is_below(edges: np.ndarray, vertex: int, other: int) -> bool:
    """Whether a vertex is reached from another by edges that lead down."""
    while other != vertex:
        above = edges[edges[:, 1] == other, 0]
        if len(above) == 0:
            return False
        other = int(above[0])
    return True


def test_final_tests_against_all_pairs(grown):
    """Edges, shortcuts between vertices and lunes of closed trees, looked at one by one."""
    spots, ends, below = np.empty((60, 2)), np.empty((60, 2), np.int64), np.empty(60, np.int64)
    verdicts = []
    for row, root, node in all_trees(grown):
        size = grown.size(row)
        tree = Node(grown.z[root], node.terminals | {root}, root, [node])
        if abs(tree.length() - abs(grown.z[root] - grown.circle(row)[0])) > 1e-9:
            continue  # edges that cross: closing would have refused it
        rebuild_kernels.place_tree(
            grown.points, grown.shape, grown.link, grown.members, grown.stack, row, root,
            spots, ends, below,
        )  # fmt: skip
        clear = clearances(grown, tree)
        if min(map(abs, clear)) < LOOSE:
            continue
        needed = rebuild_kernels.tree_may_be_needed(
            grown.points, grown.gaps, grown.cells, grown.frame, grown.link, grown.members,
            row, root, spots, ends, below, np.zeros((2 * size, 2 * size)),
        )  # fmt: skip
        assert needed == (min(clear) > 0)
        verdicts.append(needed)
    assert len(verdicts) > 10
    assert True in verdicts
    assert False in verdicts


def clearances(grown: Grown, tree: Node) -> list[float]:
    """By how much each condition on a closed tree holds (negative: it does not)."""
    found = []
    every = tree.vertices()
    for parent, child in tree.edges():
        length = abs(parent.place - child.place)
        others = sorted(tree.terminals - child.terminals)
        found.append(grown.bottleneck[np.ix_(sorted(child.terminals), others)].min() - length)
        found += [
            max(abs(z - parent.place), abs(z - child.place)) - length
            for t, z in enumerate(grown.z)
            if not (parent is tree and t == tree.row)
            and not (not child.children and t == child.row)
        ]
        found.append(length - store.MIN_EDGE)
        under = set(map(id, child.vertices()))
        for v, w in itertools.product(every, repeat=2):
            if id(v) in under and id(w) not in under and not (v is child and w is parent):
                found.append(abs(v.place - w.place) - length)
    return found


def test_closed_trees_that_are_better_swapped(grown):
    verdicts = []
    for row, root, node in all_trees(grown):
        tree = Node(grown.z[root], node.terminals | {root}, root, [node])
        if abs(tree.length() - abs(grown.z[root] - grown.circle(row)[0])) > 1e-9:
            continue
        expected = any(
            is_swappable(
                node, child, [one.place for one in node.children if one is not child] + [tree.place]
            )
            for child in node.children
            if child.children
        )
        found = swap_kernels.is_better_swapped(
            grown.shape, grown.link, row, grown.points[root, 0], grown.points[root, 1]
        )
        assert found == expected
        verdicts.append(found)
    assert sum(verdicts) > 2
    assert sum(verdicts) < len(verdicts) - 5


def test_the_middle_of_two_directions():
    for a, b in ((0.1, 0.3), (-3.1, 3.1), (2.0, 2.9)):
        u, v = cmath.exp(1j * a), cmath.exp(1j * b)
        x, y = reach_kernels.middle(u.real, u.imag, v.real, v.imag)
        assert complex(x, y) == pytest.approx((u + v) / abs(u + v))
