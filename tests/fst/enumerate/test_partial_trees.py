"""The lists of `neural`: partial trees, trees of five and six, tiles and gaps, against twins."""

from __future__ import annotations

import cmath
import itertools
import math

import numpy as np
import pytest

from deepsteiner.fst.enumerate.nearby import (
    gap_kernels,
    partial_tree_kernels,
    sextet_kernels,
    small_listing_kernels,
    tile_kernels,
)
from deepsteiner.fst.enumerate.nearby.grown import _grown
from deepsteiner.fst.enumerate.nearby.listing import survey
from deepsteiner.fst.enumerate.nearby.neighbour_kernels import CLOSE
from deepsteiner.fst.enumerate.nearby.quint_kernels import MIDDLES
from deepsteiner.fst.grouping_kernels import grouped
from deepsteiner.run.monitor import Monitor
from deepsteiner.run.threads import Workers
from deepsteiner.run.watch import Watch
from melzak import SIXTH, Surroundings, clearly_shorter, drawn, full_tree, joined, spanning

SAMPLES = [cmath.exp(2j * math.pi * k / 1440) for k in range(1440)]
STEP = 2 * math.pi / 1440


@pytest.fixture(
    scope="module", params=[("uniform", 16, 0), ("zigzag", 12, 7), ("zigzag", 14, 1)], ids=str
)
def around(request) -> Surroundings:
    points = drawn(*request.param)
    watch = Watch(Monitor(), patient=False)
    with Workers(1) as workers:
        ground = survey(points, workers, limit=CLOSE)
        return Surroundings(points, ground, _grown(ground, workers, 6, lambda *_: True, watch))


def cross(a: complex, b: complex) -> float:
    return (a.conjugate() * b).imag


def dot(a: complex, b: complex) -> float:
    return (a.conjugate() * b).real


class Partial:
    """A row of a partial tree as complex numbers."""

    def __init__(self, row: np.ndarray) -> None:
        self.top, self.centre, self.low, self.high = (
            complex(row[k], row[k + 1]) for k in (0, 2, 4, 6)
        )

    @property
    def is_terminal(self) -> bool:
        return self.top == self.centre

    @property
    def is_empty(self) -> bool:
        return self.low == 0 and not self.is_terminal

    def allows(self, u: complex) -> bool:
        if self.is_terminal:
            return True
        return cross(self.low, u) >= 0 and cross(u, self.high) >= 0 and dot(self.low, u) > 0

    def place(self, u: complex) -> complex:
        return self.top + 2 * dot(self.centre - self.top, u) * u


def allowed(right: Partial, left: Partial, most: float) -> list[complex]:
    """Directions in which two children can be left together, new edges from 0 to `most` long."""
    top = left.top + (right.top - left.top) * SIXTH
    centre = (right.top + left.top + top) / 3
    found = []
    for u in SAMPLES:
        place = top + 2 * dot(centre - top, u) * u
        ways = ((right, u / SIXTH), (left, u * SIXTH))
        if not all(child.allows(way) for child, way in ways) or dot(centre - top, u) <= 0:
            continue
        edges = [dot(place - child.place(way), way) for child, way in ways]
        if all(0.0 <= edge <= most for edge in edges):
            found.append(u)
    return found


def check_interval(row: np.ndarray, expected: list[complex]) -> None:
    """The directions of a row are those that were found, up to a step of the samples."""
    partial = Partial(row)
    if not expected:
        return
    # Samples run around: begin after the widest gap between them.
    turns = [cmath.phase(b / a) % (2 * math.pi) for a, b in
             zip(expected, expected[1:] + expected[:1], strict=True)]  # fmt: skip
    last = turns.index(max(turns))
    ends = expected[(last + 1) % len(expected)], expected[last]
    for end, found in zip(ends, (partial.low, partial.high), strict=True):
        assert abs(cmath.phase(found / end)) <= STEP + 1e-9


# Partial trees.


def test_terminals_and_pairs_as_partial_trees(around):
    pairs, bound, *_ = around.ground.pairs
    own = partial_tree_kernels.terminal_rows(around.ground.points)
    for v, row in enumerate(own):
        assert Partial(row).is_terminal
        assert Partial(row).top == around.z[v]
    *same, rows = partial_tree_kernels.grow_pairs(own, pairs, bound)
    assert all(np.array_equal(a, b) for a, b in zip(same, (pairs, bound), strict=True))
    assert len(rows) == 2 * len(pairs)
    grown = 0
    for p, (pair, most) in enumerate(zip(pairs.tolist(), bound, strict=True)):
        for side in range(2):
            right, left = (Partial(own[v]) for v in (pair[side], pair[1 - side]))
            expected = allowed(right, left, float(most))
            row = rows[2 * p + side]
            if len(expected) > 2:
                grown += 1
                assert Partial(row).top == pytest.approx(
                    left.top + (right.top - left.top) * SIXTH, abs=1e-12
                )
                check_interval(row, expected)
            elif not expected:
                assert not row.any() or is_narrow(Partial(row))
    assert grown > around.n


def is_narrow(partial: Partial) -> bool:
    """Whether an interval may hold no more than two samples."""
    return abs(cmath.phase(partial.high / partial.low)) <= 3 * STEP + 1e-9


def test_branches_are_pairs_joined_by_a_third(around):
    """All cross neighbours on both sides; a branch that is long everywhere is left out."""
    ground, points = around.ground, around.ground.points
    pairs, bound, *_ = ground.pairs
    own = partial_tree_kernels.terminal_rows(points)
    grown = partial_tree_kernels.grow_pairs(own, pairs, bound)
    two = grown.rows
    branches = partial_tree_kernels.grow_branches(ground, own, grown)
    rows, instead = branches.rows, branches.instead
    names = np.stack((branches.pair, branches.third, branches.right), axis=1)
    listed = {tuple(name): k for k, name in enumerate(names.tolist())}
    assert len(listed) == len(names)
    dropped = 0
    for p, (a, b) in enumerate(pairs.tolist()):
        thirds = {v for v in range(around.n) if joined(around, (a, b), [v])} - {a, b}
        assert len(thirds) <= MIDDLES
        for e, right in itertools.product(thirds, (0, 1)):
            most = float(min(around.bottleneck[a, e], around.bottleneck[b, e]))
            turned = cross(around.z[b] - around.z[a], around.z[e] - around.z[a]) > 0
            r = 2 * p + int(turned)
            pair, third = Partial(two[r]), Partial(own[e])
            if pair.is_empty:
                expected = []
            else:
                expected = allowed(*((third, pair) if right else (pair, third)), most)
            k = listed.get((r, e, right))
            if k is None:
                if len(expected) > 2:
                    dropped += 1
                    assert not is_short(around, expected, third, pair, right, (a, b, e))
                continue
            if len(expected) > 2:
                check_interval(rows[k], expected)
            else:
                assert is_narrow(Partial(rows[k]))
            assert instead[k] == pytest.approx(around.three((a, b, e)), rel=1e-9)
    assert len(names) > 5
    assert dropped > 0 or around.n < 16  # in two rows all are short
    start, on = grouped(branches.third, around.n)
    for v in range(around.n):
        mine = [k for k, name in enumerate(names.tolist()) if name[1] == v]
        assert on[start[v] : start[v + 1]].tolist() == mine


def is_short(around, ways, third: Partial, pair: Partial, right: int, members) -> bool:
    """Whether at the ends or in the middle the branch beats what joins its parts otherwise."""
    one, two = (third, pair) if right else (pair, third)
    top = two.top + (one.top - two.top) * SIXTH
    centre = (one.top + two.top + top) / 3
    instead = around.three(members)
    for u in (ways[0], ways[-1], (ways[0] + ways[-1]) / abs(ways[0] + ways[-1])):
        chord = 2 * dot(centre - top, u)
        place = top + chord * u
        if instead + min(abs(around.z[v] - place) for v in members) > chord + 0.01:
            return True
    return False


# Trees of five and six.


def edges_of(around, members, places) -> list[tuple[set[int], float]]:
    """The sides and lengths of all edges of a tree whose Steiner points form a path."""
    hang = [0, *range(len(places)), len(places) - 1]
    sides = [({v}, abs(around.z[v] - places[k])) for v, k in zip(members, hang, strict=True)]
    sides += [
        (set(members[: k + 2]), abs(a - b)) for k, (a, b) in enumerate(itertools.pairwise(places))
    ]
    return sides


def five_and_six(around) -> tuple[dict, dict]:
    """All rows of a pair, one or two terminals, and a pair, that nothing simple beats."""
    fives, sixes = {}, {}
    pairs = sorted(map(sorted, around.pairs))
    for one, two in itertools.permutations(pairs, 2):
        if set(one) & set(two):
            continue
        rest = set(range(around.n)) - set(one) - set(two)
        for e in rest:
            if not joined(around, one, [e]):
                continue
            if joined(around, two, [e]):
                keep(around, fives, (*one, e, *two))
            for f in rest - {e}:
                if joined(around, two, [f]) and joined(around, [e], [f]):
                    keep(around, sixes, (*one, e, f, *two))
    return fives, sixes


def keep(around, found: dict, members: tuple[int, ...]) -> None:
    tree = members[0]
    for v in members[1:-1]:
        tree = (tree, v)
    length, places = full_tree(tree, members[-1], around.z)
    if length == math.inf:
        return
    places = places[::-1]
    if not around.edges_fit(edges_of(around, members, places), members):
        return
    few = len(members) == 5
    other = around.alternatives(members) if few else [spanning(around.bottleneck, members)]
    shorter = clearly_shorter(length, other)
    if shorter is not False:
        found[name_of(members)] = length if shorter else None


def name_of(members) -> tuple:
    """What a tree is, from whichever end it is read."""
    ends = (frozenset(members[:2]), *members[2:-2], frozenset(members[-2:]))
    return min(ends, ends[::-1], key=str)


def test_trees_of_five_and_six_are_those_that_exist(around):
    """Each listed tree is there and useful; few useful ones are missing (ruled out half-way)."""
    for size, expected in zip((5, 6), five_and_six(around), strict=True):
        rows = around.listed(size)
        listed = {name_of(own): length for own, length, _ in rows}
        assert len(listed) == len(rows)
        assert set(listed) <= set(expected)
        for name, length in listed.items():
            if expected[name] is not None:
                assert length == pytest.approx(expected[name], rel=1e-8)
        missing = [name for name, length in expected.items() if length and name not in listed]
        assert len(missing) <= 0.1 * len(expected)
        for own, length, places in rows:
            edges = edges_of(around, own, places)
            assert sum(edge for _, edge in edges) == pytest.approx(length, rel=1e-9)


def test_some_trees_of_five_and_six_are_listed(around):
    if around.n < 16:
        assert len(around.listed(5)) > 3
        assert len(around.listed(6)) > 2


def test_rows_of_six_are_measured_against_spanning_trees():
    bounds = np.random.default_rng(0).random((6, 6))
    bounds += bounds.T
    expected = spanning(bounds, range(6))
    assert sextet_kernels._spanned(bounds) == pytest.approx(expected)


@pytest.mark.parametrize("wide", [False, True])
def test_tiles_see_all_pairs_they_need(around, wide):
    pair_at = around.ground.pairs
    near = {v: {u for u in range(around.n) if frozenset((u, v)) in around.cross}
            for v in range(around.n)}  # fmt: skip
    for first, last in ((0, 3), (4, 5), (0, around.n)):
        thirds, rows = tile_kernels.pairs_around(around.ground, first, last, wide)
        expected = set(range(first, last))
        if wide:
            expected |= {u for v in expected for u in near[v]}
        assert thirds.tolist() == sorted(expected)
        reached = expected | {u for v in expected for u in near[v]}
        pairs = pair_at[0].tolist()
        assert rows.tolist() == [k for k, pair in enumerate(pairs) if set(pair) & reached]


def test_branches_by_third_terminal():
    rng = np.random.default_rng(1)
    third = rng.integers(0, 9, 20)
    at, count = np.full(10, -7), np.zeros(9, np.int32)
    thirds = np.array([1, 2, 8])
    at, on = tile_kernels.by_third(thirds, third, at, count)
    assert not count.any()
    for v in {*thirds.tolist(), *third.tolist()}:
        assert on[at[v] : at[v + 1]].tolist() == np.flatnonzero(third == v).tolist()


def test_trees_across_gaps_are_new_and_stand_at_the_end():
    rng = np.random.default_rng(3)
    centres = rng.random((4, 2))
    points = centres[rng.integers(4, size=26)] + rng.normal(0, 0.012, (26, 2))
    points -= points.mean(axis=0)
    listing = small_listing_kernels.list_grown(points, 6)
    m = len(listing.length)
    logits = np.linspace(-1.0, 1.0, m).astype(np.float32)
    wider, scores = gap_kernels.with_trees_across_gaps(listing, logits)
    _, start, terminals, length, steiner = wider
    assert len(length) > m
    for old, new in zip(listing, wider, strict=True):
        np.testing.assert_array_equal(new[: len(old)], old)
    assert (scores[:m] == logits).all()
    assert (scores[m:] == gap_kernels.DOUBTFUL).all()
    names = [tuple(sorted(terminals[a:b].tolist())) for a, b in itertools.pairwise(start)]
    assert not set(names[m:]) & set(names[:m])
    z = [complex(x, y) for x, y in points]
    for f in range(m, len(length)):
        own = terminals[start[f] : start[f + 1]].tolist()
        tree = (own[0], own[1]) if len(own) == 3 else ((own[0], own[1]), own[2])
        expected, places = full_tree(tree, own[-1], z)
        assert length[f] == pytest.approx(expected, rel=1e-8)
        spots = [complex(x, y) for x, y in steiner[start[f] - 2 * f : start[f + 1] - 2 * f - 2]]
        assert spots == pytest.approx(places[::-1], abs=1e-6)
