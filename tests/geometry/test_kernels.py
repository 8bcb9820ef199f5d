"""Kernels that everything stands on: random numbers, spanning trees, candidates, triangles."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy.spatial import Delaunay

from deepsteiner.core import tree_kernels
from deepsteiner.geometry import (
    candidate_kernels,
    growing_tree_kernels,
    random_kernels,
    relax_component_kernels,
    spanning_kernels,
    triangulation_kernels,
)
from deepsteiner.geometry.spanning_kernels import spanning_tree
from deepsteiner.geometry.vector_kernels import places_of, points_of
from plain import splitmix, weiszfeld


@pytest.mark.parametrize("seed", [0, 1, 12345, 2**62 + 7])
def test_random_streams_are_splitmix(seed):
    expected, state = splitmix(seed), random_kernels.new_state(seed)
    assert [random_kernels.next_uniform(state) for _ in range(50)] == [
        next(expected) for _ in range(50)
    ]
    for n in (1, 2, 7, 1000):
        assert random_kernels.next_below(state, n) == int(next(expected) * n)
    for _ in range(20):
        one, two = next(expected), next(expected)
        normal = math.sqrt(-2.0 * math.log(1.0 - one)) * math.cos(2.0 * math.pi * two)
        assert random_kernels.next_normal(state) == pytest.approx(normal, rel=1e-12, abs=1e-15)


def test_random_numbers_are_spread_as_they_should():
    state = random_kernels.new_state(9)
    normal = np.array([random_kernels.next_normal(state) for _ in range(20_000)])
    assert abs(normal.mean()) < 0.03
    assert normal.std() == pytest.approx(1.0, abs=0.03)
    below = np.bincount([random_kernels.next_below(state, 5) for _ in range(10_000)])
    assert len(below) == 5
    assert below.min() > 1800


@pytest.mark.parametrize("seed", range(5))
def test_kruskal_and_the_edges_of_triangles(seed):
    rng = np.random.default_rng(seed)
    points = rng.random((40, 2))
    whole = Delaunay(points)
    edges = spanning_kernels.triangle_edges(
        whole.simplices.astype(np.int64), whole.neighbors.astype(np.int64)
    )
    sides = {
        frozenset(pair)
        for triangle in whole.simplices.tolist()
        for pair in itertools.combinations(triangle, 2)
    }
    assert {frozenset(edge) for edge in edges.tolist()} == sides
    assert len(edges) == len(sides)
    squared = spanning_kernels.squared_lengths(points, edges)
    expected = [math.dist(*points[edge]) ** 2 for edge in edges]
    np.testing.assert_allclose(squared, expected, rtol=1e-12)
    order = rng.permutation(len(edges))
    tree = np.full((39, 2), -1)
    kept = spanning_kernels.kruskal(40, edges, order, tree)
    label, taken = list(range(40)), []
    for a, b in edges[order].tolist():
        if label[a] != label[b]:
            taken.append([a, b])
            label = [label[a] if old == label[b] else old for old in label]
    assert kept == len(taken) == 39
    assert tree.tolist() == taken
    few = spanning_kernels.kruskal(40, edges, order[:20], tree)
    assert few <= 20


def test_a_batch_of_spanning_trees_is_written_only_where_it_is_said():
    points = np.random.default_rng(1).random((4, 9, 2))
    edges = np.full((4, 8, 2), -1)
    spanning_kernels.prim_batch(points, edges, 1, 3)
    assert (edges[[0, 3]] == -1).all()
    for b in (1, 2):
        assert (edges[b] == spanning_tree(points[b])).all()


def test_pairs_for_candidates():
    rng = np.random.default_rng(2)
    points = rng.integers(0, 5, (12, 2)).astype(float)  # with ties
    pairs = np.full((200, 2), -1)
    count = candidate_kernels.neighbour_pairs(places_of(points), 9, 4, pairs)
    assert count == 36
    for v in range(9):
        own = pairs[4 * v : 4 * v + 4]
        assert (own[:, 0] == v).all()
        others = sorted((math.dist(points[v], points[u]), u) for u in range(9) if u != v)
        assert own[:, 1].tolist() == [u for _, u in others[:4]]
    count = candidate_kernels.all_pairs(7, pairs)
    assert pairs[:count].tolist() == [list(pair) for pair in itertools.combinations(range(7), 2)]


def test_arcs_see_their_pair_under_120_degrees_on_both_sides():
    points = np.array([[0.0, 0.0], [2.0, 1.0], [-1.0, 3.0]])
    pairs = np.array([[0, 1], [2, 1], [0, 2]])
    places = np.full(20, complex(np.nan, np.nan))
    candidate_kernels.arc_points(places_of(points), pairs, 2, 4, places)
    out = points_of(places)
    assert np.isnan(out[16:]).all()
    for e in range(2):
        a, b = points[pairs[e]]
        sides = []
        for place in out[8 * e : 8 * e + 8]:
            p, q = a - place, b - place
            cosine = p @ q / np.linalg.norm(p) / np.linalg.norm(q)
            assert cosine == pytest.approx(-0.5, abs=1e-12)
            sides.append(np.sign((b - a)[0] * (place - a)[1] - (b - a)[1] * (place - a)[0]))
        assert sides == [1.0] * 4 + [-1.0] * 4


def plain_spanning_length(points: np.ndarray) -> float:
    """Prim on the whole table of distances."""
    gaps = np.hypot(*(points[:, None] - points[None]).transpose(2, 0, 1))
    near, outside, total = gaps[0].copy(), np.arange(len(points)) > 0, 0.0
    while outside.any():
        new = int(np.argmin(np.where(outside, near, np.inf)))
        total += float(near[new])
        outside[new] = False
        near = np.minimum(near, gaps[new])
    return total


@pytest.mark.parametrize("n", [3, 30, 160])  # with many points in cells
def test_a_tree_grows_by_one_point_at_a_time(n):
    rng = np.random.default_rng(n)
    room = n + 12
    terminals = 2.0 * rng.random((n, 2)) - 1.0
    tree = growing_tree_kernels.begin_tree(terminals, spanning_tree(terminals), room)
    around = growing_tree_kernels.new_vicinity(room)
    points, weight = points_of(tree.places), tree.weight
    assert (np.diff(weight[tree.order[: n - 1]]) >= 0).all()
    assert (tree.cells.shape[0] > 1) == (n > 100)
    length = plain_spanning_length(terminals)
    for count in range(n, room - 1):
        x, y = 2.6 * rng.random(2) - 1.3  # some far from everything
        reach = float(weight[tree.order[count - 2]])
        place = complex(x, y)
        size = growing_tree_kernels.gather(tree, count, place, reach, around.pool)
        gaps = np.hypot(points[:count, 0] - x, points[:count, 1] - y)
        assert set(np.flatnonzero(gaps < reach)) <= set(around.pool[:size].tolist())
        found = growing_tree_kernels.near_points(tree.places, around, size, place, reach)
        inside = sorted((gap, u) for u, gap in enumerate(gaps) if gap < reach)
        if inside:
            assert around.near[:found].tolist() == [u for _, u in inside]
            distances = [gap for gap, _ in inside]
            np.testing.assert_allclose(around.distance[:found], distances, rtol=1e-12)
        before = tree.ends[: count - 1].copy()
        changed, saved = growing_tree_kernels.add_point(tree, around, count, place)
        kept = np.setdiff1d(np.arange(count - 1), changed)
        assert (tree.ends[kept] == before[kept]).all()
        grown = plain_spanning_length(points[: count + 1])
        assert saved == pytest.approx(length - grown, abs=1e-12)
        spans = points[tree.ends[:count, 0]] - points[tree.ends[:count, 1]]
        np.testing.assert_allclose(weight[:count], np.hypot(*spans.T), rtol=1e-12)
        assert weight[:count].sum() == pytest.approx(grown, rel=1e-12)
        length = grown


def circle(points: np.ndarray) -> tuple[np.ndarray, float]:
    """Centre and radius of the circle through three points, from the linear equations."""
    a, b, c = points
    matrix = 2.0 * np.array([b - a, c - a])
    centre = np.linalg.solve(matrix, [b @ b - a @ a, c @ c - a @ a])
    return centre, float(np.linalg.norm(centre - a))


@pytest.mark.parametrize("seed", range(4))
def test_triangles_of_a_tile_are_certain_where_their_circles_are_inside(seed):
    rng = np.random.default_rng(seed)
    points = rng.random((80, 2))
    points[:6, 0] = 0.0  # some on a side of the bounds
    whole = Delaunay(points)
    triangles, across = whole.simplices, whole.neighbors
    area = np.array([-np.inf, 0.9, 0.05, np.inf])
    bounds = np.array([0.0, points[:, 0].max(), points[:, 1].min(), points[:, 1].max()])
    complete, kept = triangulation_kernels.certified(points, 50, triangles, across, area, bounds)
    certain = []
    for triangle in triangles:
        (x, y), radius = circle(points[triangle])
        certain.append(
            x - radius > area[0] and x + radius < area[1] and y - radius > area[2]
            and y + radius < area[3]
        )  # fmt: skip
    for v in range(50):
        around = [t for t in range(len(triangles)) if v in triangles[t]]
        good = bool(around) and all(certain[t] for t in around)
        for t, k in itertools.product(around, range(3)):
            side = triangles[t][[(k + 1) % 3, (k + 2) % 3]]
            if across[t, k] < 0 and v in side:
                on_rim = any(
                    (points[side, axis] == bounds[2 * axis + end]).all()
                    for axis, end in itertools.product(range(2), range(2))
                )
                good = good and on_rim
        assert complete[v] == good
    for t, triangle in enumerate(triangles):
        assert kept[t] == any(v < 50 and complete[v] for v in triangle)
    assert 5 < complete.sum() < 50


def test_trees_are_recognised():
    rng = np.random.default_rng(3)
    verdicts = []
    for _ in range(300):
        count = int(rng.integers(2, 7))
        edges = rng.integers(0 if rng.random() < 0.9 else -1, count, (count - 1, 2))
        label = list(range(count))
        good = bool((edges >= 0).all())
        if good:
            for a, b in edges.tolist():
                good = good and label[a] != label[b]
                label = [label[a] if old == label[b] else old for old in label]
        assert tree_kernels.is_tree(edges, count) == good
        if edges.min() >= 0:
            assert tree_kernels.component_count(edges, count) == len(set(label))
        verdicts.append(good)
    assert 30 < sum(verdicts) < 270


@pytest.mark.parametrize("degree", [3, 4, 5])
def test_one_component_meets_at_its_geometric_median(degree):
    """A star is the smallest component: Weiszfeld's averages, over and over."""
    rng = np.random.default_rng(degree)
    collapsed = 0
    for _ in range(25):
        terminals = rng.random((degree, 2))
        nodes = np.zeros(degree + 1, relax_component_kernels.NODE)
        order = [0, None, *range(1, degree)]
        for i, v in enumerate(order):
            node = nodes[i]
            node["parent"] = -1 if i == 0 else 0 if v is None else 1
            node["fixed"] = v is not None
            node["vertex"] = degree if v is None else v
            node["place"] = complex(*((0.5, 0.5) if v is None else terminals[v]))
        nodes[1]["first"], nodes[1]["second"] = 2, 3
        length, bound, _, _ = relax_component_kernels.solve_component(
            nodes, degree + 1, degree == 3
        )
        best = weiszfeld(terminals)
        assert length == pytest.approx(best, rel=1e-6)
        assert bound <= best * (1 + 1e-9)
        assert bound >= best * (1 - 1e-6)
        place = np.array([nodes[1]["best"].real, nodes[1]["best"].imag])
        assert np.hypot(*(terminals - place).T).sum() == pytest.approx(best, rel=1e-6)
        assert relax_component_kernels.best_length(nodes, degree + 1) == pytest.approx(length)
        collapsed += np.hypot(*(terminals - place).T).min() < 1e-9
    assert collapsed < 25
