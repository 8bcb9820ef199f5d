"""The lists of `local`: small full Steiner trees over neighbours, against all subsets of terminals.

The twin builds every topology by Melzak's construction with complex numbers and compares it with
all combinations of smaller trees and bottleneck distances; nothing is shared with the kernels.
"""

from __future__ import annotations

import cmath
import itertools
import math

import numpy as np
import pytest

from deepsteiner.search import (
    batch_kernels,
    component_kernels,
    listing_kernels,
    neighbour_kernels,
    quint_kernels,
    union_kernels,
)
from deepsteiner.search.listing import find_trees, list_trees, survey
from deepsteiner.search.workers import Workers

SIXTH = cmath.exp(-1j * math.pi / 3)
TIE = 1e-9


def as_complex(points: np.ndarray) -> list[complex]:
    return [complex(x, y) for x, y in points]


def orientations(tree):
    """All ways to order the children of a nested pair."""
    if not isinstance(tree, tuple):
        return [tree]
    sides = [orientations(side) for side in tree]
    pairs = list(itertools.product(*sides))
    return pairs + [(b, a) for a, b in pairs]


def equilateral(tree, z):
    if not isinstance(tree, tuple):
        return z[tree]
    left, right = (equilateral(side, z) for side in tree)
    return left + (right - left) * SIXTH


def placed(tree, z, top):
    """Steiner points of a tree whose root hangs on `top`, and the sum of its edges."""
    if not isinstance(tree, tuple):
        return [], abs(z[tree] - top)
    left, right, e = (equilateral(t, z) for t in (*tree, tree))
    if abs(top - e) < 1e-12:
        return [], math.inf
    u = (top - e) / abs(top - e)
    centre = (left + right + e) / 3
    s = e + 2 * ((centre - e) * u.conjugate()).real * u
    places, total = [s], abs(s - top)
    for side in tree:
        more, length = placed(side, z, s)
        places += more
        total += length
    return places, total


def full_tree(tree, root, z) -> tuple[float, list[complex]]:
    """Length and Steiner points of the full tree of a topology; infinite where there is none."""
    best = (math.inf, [])
    for turned in orientations(tree):
        line = abs(equilateral(turned, z) - z[root])
        places, total = placed(turned, z, z[root])
        if abs(total - line) < TIE * max(line, 1e-12) and line < best[0]:
            best = (line, places)
    return best


def minimax(z: list[complex]) -> np.ndarray:
    widest = np.abs(np.subtract.outer(z, z))
    for k in range(len(z)):
        widest = np.minimum(widest, np.maximum(widest[:, k, None], widest[None, k]))
    return widest


def spanning(distance: np.ndarray, vertices) -> float:
    inside, rest, total = [min(vertices)], set(vertices) - {min(vertices)}, 0.0
    while rest:
        length, new = min((distance[a, b], b) for a in inside for b in rest)
        inside.append(new)
        rest.discard(new)
        total += float(length)
    return total


def drawn(kind: str, n: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    points = 2.0 * rng.random((n, 2)) - 1.0
    if kind == "clusters":
        points = rng.choice([-0.8, 0.8], (n, 2)) + 0.15 * points
    if kind == "zigzag":  # two rows: full trees that run along both
        along = np.arange(n)
        rows = np.stack((0.14 * along - 0.07 * n, 0.11 * (along % 2)), axis=1)
        points = rows + 0.02 * points
    return points


# Single trees.


@pytest.mark.parametrize("seed", range(60))
def test_trees_of_three(seed):
    points = drawn("uniform", 3, seed)
    z = as_complex(points)
    length, places = full_tree((0, 1), 2, z)
    p, q, r = (abs(z[a] - z[b]) ** 2 for a, b in ((0, 1), (1, 2), (2, 0)))
    assert listing_kernels.triple_length(p, q, r) == pytest.approx(length, rel=1e-9)
    if math.isfinite(length):
        place = np.empty(2)
        assert listing_kernels.triple_place(points, 0, 1, 2, place)
        assert complex(*place) == pytest.approx(places[0], abs=1e-9)


def test_about_half_of_the_triangles_have_a_full_tree():
    """So that both answers are tested; and ties and points that coincide have none."""
    finite = [
        math.isfinite(full_tree((0, 1), 2, as_complex(drawn("uniform", 3, seed)))[0])
        for seed in range(60)
    ]
    assert 15 < sum(finite) < 45
    assert listing_kernels.triple_length(3.0, 1.0, 1.0) == math.inf
    assert listing_kernels.triple_length(1.0, 1.0, 0.0) == math.inf
    assert listing_kernels.triple_length(0.0, 0.0, 0.0) == math.inf


@pytest.mark.parametrize("seed", range(80))
def test_trees_of_four(seed):
    points = drawn("uniform", 4, seed)
    z = as_complex(points)
    for a, b, c, d in ((0, 1, 2, 3), (0, 2, 1, 3), (0, 3, 1, 2)):
        length, places = full_tree(((a, b), c), d, z)
        place = np.full(4, np.nan)
        found = listing_kernels.quad_tree(points, a, b, c, d, 1e9, place)
        assert found == pytest.approx(length, rel=1e-9)
        if math.isfinite(length):
            assert [complex(*place[2:]), complex(*place[:2])] == pytest.approx(places, abs=1e-7)
            assert listing_kernels.quad_tree(points, a, b, c, d, 0.999 * length, place) == math.inf


def quint_of(points: np.ndarray, quint: tuple[int, ...]) -> tuple[float, np.ndarray]:
    """The shortest tree ab|e|cd that the kernels close, without limits of any kind."""
    a, b, e, c, d = quint
    shapes, far, best = np.empty((4, 8)), np.empty(4), (math.inf, np.empty(6))
    ways = quint_kernels.branches(points, a, b, e, 1e9, 1e9, shapes)
    quint_kernels.far_end(points, e, c, d, far)
    for way in range(ways):
        place = np.empty(6)
        total = quint_kernels.close_branch(points, np.array(quint), shapes, way, far, 1e9, place)
        if total < best[0]:
            best = (total, place)
    return best


def test_trees_of_five():
    found = 0
    for seed in range(40):
        points = drawn("uniform", 5, seed)
        z = as_complex(points)
        for quint in itertools.permutations(range(5)):
            a, b, e, c, d = quint
            if a > b or c > d or a > c:
                continue
            length, places = full_tree((((a, b), e), c), d, z)
            total, place = quint_of(points, quint)
            assert total == pytest.approx(length, rel=1e-8)
            if math.isfinite(length):
                found += 1
                spots = [complex(x, y) for x, y in place.reshape(3, 2)]
                assert spots[::-1] == pytest.approx(places, abs=1e-6)
    assert found > 20


# Whole lists.


class Surroundings:
    """Close pairs of an instance and what the twin knows about it."""

    def __init__(self, points: np.ndarray) -> None:
        with Workers(1) as workers:
            self.ground = survey(points, workers)
            self.found = find_trees(self.ground, workers, 5, lambda *_: True)
        self.n = len(points)
        self.z = as_complex(points)
        self.bottleneck = minimax(self.z)
        self.pairs = {frozenset(pair) for pair in self.ground.pairs[0].tolist()}
        self.cross = {frozenset(pair) for pair in self.ground.cross[0].tolist()}

    def listed(self, size: int) -> list[tuple[list[int], float, list[complex]]]:
        rows = []
        for names, places, lengths in self.found:
            for name, place, length in zip(names.tolist(), places, lengths.tolist(), strict=True):
                own = [v for v in name if v >= 0]
                if len(own) == size:
                    spots = [complex(x, y) for x, y in place.reshape(-1, 2)[: size - 2]]
                    rows.append((own, length, spots))
        return rows

    def three(self, members) -> float:
        """The cheapest way to join three: a full tree or two bottlenecks."""
        a, b, c = members
        return min(full_tree((a, b), c, self.z)[0], spanning(self.bottleneck, members))

    def four(self, members) -> float:
        a, b, c, d = members
        return min(
            full_tree(((p, q), r), s, self.z)[0]
            for p, q, r, s in ((a, b, c, d), (a, c, b, d), (a, d, b, c))
        )

    def link(self, v: int, others) -> float:
        return float(min(self.bottleneck[v, u] for u in others))

    def alternatives(self, members) -> list[float]:
        """What smaller trees over the same terminals cost."""
        members = list(members)
        if len(members) == 3:
            return [spanning(self.bottleneck, members)]
        found = []
        for few in itertools.combinations(members, 3):
            rest = [v for v in members if v not in few]
            links = [self.link(v, few) for v in rest]
            if len(rest) == 1:
                found.append(self.three(few) + links[0])
                continue
            chain = min(links) + float(self.bottleneck[rest[0], rest[1]])
            found.append(self.three(few) + min(sum(links), chain))
            found += [self.three(few) + self.three((*rest, v)) for v in few]
        if len(members) == 5:
            for few in itertools.combinations(members, 4):
                (rest,) = set(members) - set(few)
                found.append(self.four(few) + self.link(rest, few))
        return found

    def edges_fit(self, sides: list[tuple[set[int], float]], members) -> bool:
        """Whether no edge is longer than a bottleneck between its two sides."""
        for side, length in sides:
            others = set(members) - side
            if length > min(self.bottleneck[a, b] for a in side for b in others) + TIE:
                return False
        return True


@pytest.fixture(
    scope="module",
    params=[("uniform", 14, 0), ("uniform", 14, 1), ("zigzag", 12, 2), ("clusters", 13, 3)],
    ids=str,
)
def around(request) -> Surroundings:
    return Surroundings(drawn(*request.param))


def clearly_shorter(total: float, alternatives: list[float]) -> bool | None:
    """Whether a tree beats all alternatives; None where that is a matter of rounding."""
    best = min(alternatives)
    return None if abs(total - best) < TIE else total < best


def compare(listed: dict, expected: dict, unsure: set) -> None:
    assert set(listed) - unsure == set(expected) - unsure
    for name, length in listed.items():
        if name in expected:
            assert length == pytest.approx(expected[name], rel=1e-8)


def test_close_pairs(around):
    points, graph = around.ground.points, around.ground.cross[0]
    up, rank, weight = around.ground.bottlenecks
    bound, stretch = neighbour_kernels.pair_bounds(points, graph, up, rank, weight, 0, len(graph))
    for (a, b), near, far in zip(graph.tolist(), bound, stretch, strict=True):
        assert near == pytest.approx(around.bottleneck[a, b], rel=1e-14)
        assert far == pytest.approx(abs(around.z[a] - around.z[b]) / near, rel=1e-14)
        assert far <= neighbour_kernels.ON_TWO
    assert around.pairs <= around.cross
    start, rows = neighbour_kernels.incident_pairs(around.n, graph)
    for v in range(around.n):
        own = rows[start[v] : start[v + 1]].tolist()
        assert own == [k for k, pair in enumerate(graph.tolist()) if v in pair]


def test_all_trees_of_three_are_listed(around):
    expected, unsure = {}, set()
    for members in itertools.combinations(range(around.n), 3):
        sides = [frozenset(pair) for pair in itertools.combinations(members, 2)]
        length, _ = full_tree((members[0], members[1]), members[2], around.z)
        near = all(
            abs(around.z[a] - around.z[b]) <= neighbour_kernels.ON_ONE * around.bottleneck[a, b]
            for a, b in sides
        )
        if sum(side in around.pairs for side in sides) < 2 or not near or length == math.inf:
            continue
        shorter = clearly_shorter(length, around.alternatives(members))
        if shorter is None:
            unsure.add(members)
        elif shorter:
            expected[members] = length
    rows = around.listed(3)
    assert len(rows) == len({tuple(sorted(own)) for own, *_ in rows})
    compare({tuple(sorted(own)): length for own, length, _ in rows}, expected, unsure)
    assert len(expected) > 5


def test_all_trees_of_four_are_listed(around):
    expected, unsure = {}, set()
    for one, two in itertools.combinations(sorted(map(sorted, around.pairs)), 2):
        if set(one) & set(two) or not joined(around, one, two):
            continue
        (a, b), (c, d) = one, two
        length, places = full_tree(((a, b), c), d, around.z)
        if length == math.inf:
            continue
        t, s = places
        sides = [({v}, abs(around.z[v] - s)) for v in one] + [
            ({v}, abs(around.z[v] - t)) for v in two
        ]
        name = frozenset((frozenset(one), frozenset(two)))
        shorter = clearly_shorter(length, around.alternatives((*one, *two)))
        if not around.edges_fit([*sides, (set(one), abs(s - t))], (*one, *two)):
            continue
        if shorter is None:
            unsure.add(name)
        elif shorter:
            expected[name] = length
    rows = around.listed(4)
    listed = {
        frozenset((frozenset(own[:2]), frozenset(own[2:]))): length for own, length, _ in rows
    }
    assert len(listed) == len(rows)
    compare(listed, expected, unsure)
    assert len(expected) > 1


def joined(around: Surroundings, one, two) -> bool:
    return any(frozenset((u, v)) in around.cross for u in one for v in two)


def test_all_trees_of_five_are_listed(around):
    expected, unsure = {}, set()
    pairs = sorted(map(sorted, around.pairs))
    for one, two in itertools.permutations(pairs, 2):
        if set(one) & set(two):
            continue
        for e in set(range(around.n)) - set(one) - set(two):
            if not joined(around, one, [e]) or not joined(around, [*one, e], two):
                continue
            (a, b), (c, d) = one, two
            length, places = full_tree((((a, b), e), c), d, around.z)
            if length == math.inf:
                continue
            t, s, r = places
            members = (*one, e, *two)
            sides = [({v}, abs(around.z[v] - r)) for v in one]
            sides += [({v}, abs(around.z[v] - t)) for v in two]
            sides += [({e}, abs(around.z[e] - s)), (set(one), abs(r - s)), (set(two), abs(s - t))]
            if not around.edges_fit(sides, members):
                continue
            name = (frozenset((frozenset(one), frozenset(two))), e)
            shorter = clearly_shorter(length, around.alternatives(members))
            if shorter is None:
                unsure.add(name)
            elif shorter:
                expected[name] = length
    rows = around.listed(5)
    listed = {
        (frozenset((frozenset(own[:2]), frozenset(own[3:]))), own[2]): length
        for own, length, _ in rows
    }
    assert len(listed) == len(rows)
    compare(listed, expected, unsure)


def test_some_trees_of_five_are_listed():
    """So that the test above compares something."""
    assert len(Surroundings(drawn("zigzag", 12, 2)).listed(5)) > 2


def test_steiner_points_stand_where_the_trees_are(around):
    for size in (3, 4, 5):
        for own, length, spots in around.listed(size):
            hang = [0, *range(size - 2), size - 3]
            total = sum(abs(around.z[v] - spots[k]) for v, k in zip(own, hang, strict=True))
            total += sum(abs(a - b) for a, b in itertools.pairwise(spots))
            assert total == pytest.approx(length, rel=1e-9)


@pytest.mark.parametrize("n", [5, 40, 120])
def test_the_list_in_one_call_is_the_list_in_slices(n):
    points = drawn("uniform", n, n)
    with Workers(1) as workers:
        listing = list_trees(survey(points, workers), workers, 5, lambda *_: True)
    start, terminals, length, steiner = batch_kernels.list_small(points, 5)
    pairs = batch_kernels.neighbour_pairs(points, terminals[: 2 * n - 2].reshape(-1, 2))
    gaps = np.hypot(*(points[pairs[:, 0]] - points[pairs[:, 1]]).T)
    assert (np.diff(gaps) >= -1e-15).all()

    def rows(start, terminals, length, steiner):
        found = {}
        for f, (a, b) in enumerate(itertools.pairwise(start)):
            name = tuple(sorted(terminals[a:b].tolist()))
            spots = sorted(map(tuple, np.round(steiner[a - 2 * f : b - 2 * f - 2], 9).tolist()))
            found.setdefault(name, []).append((round(float(length[f]), 12), spots))
        return {name: sorted(trees) for name, trees in found.items()}

    sliced = (listing.start, listing.terminals, listing.length, listing.steiner)
    assert rows(start, terminals, length, steiner) == rows(*sliced)


def test_an_order_in_which_neighbours_are_near():
    points = drawn("uniform", 200, 9)

    def code(x: float, y: float) -> int:
        digits = [format(int((v + 1.0) * 32768), "016b") for v in (y, x)]
        return int("".join(a + b for a, b in zip(*digits, strict=True)), 2)

    codes = [code(x, y) for x, y in points]
    order = neighbour_kernels.nearby_order(points)
    assert order.tolist() == sorted(range(200), key=lambda v: codes[v])


# Lists cut and put together.


def test_caterpillars_hang_their_terminals_in_order():
    start = np.cumsum([0, 2, 3, 4, 6])
    edges = union_kernels.caterpillar_edges(start)
    trees = [edges[2 * a - 3 * f : 2 * b - 3 * f - 3] for f, (a, b) in
             enumerate(itertools.pairwise(start))]  # fmt: skip
    assert trees[0].tolist() == [[0, 1]]
    for size, tree in zip((3, 4, 6), trees[1:], strict=True):
        path = [size + i for i in range(size - 2)]
        expected = {frozenset((0, path[0])), frozenset((size - 1, path[-1]))}
        expected |= {frozenset((i + 1, s)) for i, s in enumerate(path)}
        expected |= {frozenset(pair) for pair in itertools.pairwise(path)}
        assert {frozenset(edge) for edge in tree.tolist()} == expected
        assert len(tree) == 2 * size - 3


def test_a_tree_is_cut_at_its_terminals_and_put_together_again():
    """Components of a whole tree against a search that does not pass terminals."""
    import deepsteiner as ds

    points = np.random.default_rng(3).random((60, 2))
    tree = ds.solve(points, "smith")
    start, terminals, length, places, edges = component_kernels.components(
        points, tree.steiner_points, tree.edges
    )
    nodes = np.concatenate((points, tree.steiner_points))
    around = {v: set() for v in range(len(nodes))}
    for a, b in tree.edges.tolist():
        around[a].add(b)
        around[b].add(a)
    expected = {}
    for a, b in tree.edges.tolist():
        if max(a, b) < 60:
            expected[frozenset((a, b))] = math.dist(nodes[a], nodes[b])
            continue
        inside, stack = set(), [max(a, b)]
        while stack:
            v = stack.pop()
            if v not in inside:
                inside.add(v)
                stack += [u for u in around[v] if u >= 60]
        own = {u for v in inside for u in around[v] if u < 60}
        links = {frozenset((u, v)) for v in inside for u in around[v]}
        expected[frozenset(own)] = sum(math.dist(*nodes[list(link)]) for link in links)
    names = [frozenset(terminals[a:b].tolist()) for a, b in itertools.pairwise(start)]
    assert len(names) == len(set(names))
    assert dict(zip(names, length, strict=True)) == pytest.approx(expected)
    every = np.ones(len(names), np.bool_)
    spots, links = union_kernels.union(60, start, terminals, places, edges, every)
    again = np.concatenate((points, spots))
    ends = {frozenset(map(tuple, nodes[list(edge)].tolist())) for edge in tree.edges.tolist()}
    assert {frozenset(map(tuple, again[list(edge)].tolist())) for edge in links.tolist()} == ends


def test_rows_of_names_are_packed():
    names = np.array([[4, 2, 7, -1], [1, 2, 3, 4]])
    places = np.arange(8.0).reshape(2, 4)
    assert union_kernels.count_names(names) == 7
    start, terminals = np.zeros(4, np.int64), np.empty(9, np.int64)
    length, steiner = np.empty(3), np.empty((3, 2))
    union_kernels.put_edges(np.array([[5, 6]]), np.array([0.5]), start, terminals, length)
    union_kernels.put_trees(
        names, places, np.array([1.0, 2.0]), 1, start, terminals, length, steiner
    )
    assert start.tolist() == [0, 2, 5, 9]
    assert terminals.tolist() == [5, 6, 4, 2, 7, 1, 2, 3, 4]
    assert length.tolist() == [0.5, 1.0, 2.0]
    assert steiner.tolist() == [[0, 1], [4, 5], [6, 7]]
    kept = union_kernels.part(start, terminals, length, steiner, np.array([True, False, True]))
    assert [array.tolist() for array in kept] == [
        [0, 2, 6],
        [5, 6, 1, 2, 3, 4],
        [0.5, 2.0],
        [[4, 5], [6, 7]],
    ]
