"""The lists of `local`: small full Steiner trees over neighbours, against all subsets of terminals.

The twin builds every topology by Melzak's construction with complex numbers and compares it with
all combinations of smaller trees and bottleneck distances; nothing is shared with the kernels.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from deepsteiner.fst import component_kernels, union_kernels
from deepsteiner.fst.enumerate.nearby import (
    listing_kernels,
    neighbour_kernels,
    quint_kernels,
    small_listing_kernels,
)
from deepsteiner.fst.enumerate.nearby.listing import find_trees, list_trees, survey
from deepsteiner.run.threads import Workers
from melzak import Surroundings, as_complex, clearly_shorter, drawn, full_tree, joined

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
    shapes, best = np.empty((4, 8)), (math.inf, np.empty(6))
    ways = quint_kernels.branches(points, a, b, e, 1e9, 1e9, shapes)
    far = quint_kernels.far_end(points, e, c, d)
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


def surroundings(points: np.ndarray) -> Surroundings:
    with Workers(1) as workers:
        ground = survey(points, workers)
        return Surroundings(points, ground, find_trees(ground, workers, 5, lambda *_: True))


@pytest.fixture(
    scope="module",
    params=[
        ("uniform", 14, 0),
        ("uniform", 14, 1),
        ("uniform", 16, 6),
        ("zigzag", 12, 2),
        ("zigzag", 12, 7),
        ("clusters", 13, 3),
        ("clusters", 14, 8),
    ],
    ids=str,
)
def around(request) -> Surroundings:
    return surroundings(drawn(*request.param))


def compare(listed: dict, expected: dict, unsure: set) -> None:
    assert set(listed) - unsure == set(expected) - unsure
    for name, length in listed.items():
        if name in expected:
            assert length == pytest.approx(expected[name], rel=1e-8)


def test_close_pairs(around):
    points, graph = around.ground.points, around.ground.cross[0]
    tree = around.ground.bottlenecks
    bound, stretch = neighbour_kernels.pair_bounds(points, graph, tree, 0, len(graph))
    for (a, b), near, far in zip(graph.tolist(), bound, stretch, strict=True):
        assert near == pytest.approx(around.bottleneck[a, b], rel=1e-14)
        assert far == pytest.approx(abs(around.z[a] - around.z[b]) / near, rel=1e-14)
        assert far <= neighbour_kernels.ON_TWO
    assert around.pairs <= around.cross
    _, _, start, rows = neighbour_kernels.with_incidence(around.n, graph, bound)
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
    assert len(expected) > 3


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
    assert len(surroundings(drawn("zigzag", 12, 2)).listed(5)) > 2


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
    _, start, terminals, length, steiner = small_listing_kernels.list_small(points, 5)
    pairs = small_listing_kernels.neighbour_pairs(points, terminals[: 2 * n - 2].reshape(-1, 2))
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
