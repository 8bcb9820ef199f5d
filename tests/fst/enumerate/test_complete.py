"""Full Steiner trees: the list must contain a shortest tree, and every tree must be what it says.

The twin builds every full topology over every terminal subset by Melzak's construction and finds
the shortest union by a programme over subsets; nothing is shared with the kernels.
"""

from __future__ import annotations

import itertools
import math
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deepsteiner.core.errors import PointsError
from deepsteiner.fst.enumerate.complete import generate as driver
from deepsteiner.fst.enumerate.complete.generate import generate
from deepsteiner.fst.order import in_list_order
from deepsteiner.fst.select.exact.concatenation import concatenate
from deepsteiner.fst.trees import FullTrees
from list_twins import shortest_union

SIXTH = complex(0.5, -math.sqrt(3) / 2)


def unit(points):
    """Centre and scale by a power of two, as callers of `generate` do."""
    points = np.asarray(points, dtype=float)
    points = points - (points.min(axis=0) + points.max(axis=0)) / 2
    return points / 2.0 ** np.ceil(np.log2(max(np.abs(points).max(), 1e-300)))


@cache
def shapes(leaves):
    """All ordered binary trees over a frozenset of leaves, as nested pairs."""
    if len(leaves) == 1:
        return tuple(leaves)
    found = []
    for k in range(1, len(leaves)):
        for part in itertools.combinations(sorted(leaves), k):
            left, right = frozenset(part), leaves - frozenset(part)
            found += itertools.product(shapes(left), shapes(right))
    return tuple(found)


def equilateral(tree, z):
    if not isinstance(tree, tuple):
        return z[tree]
    left, right = equilateral(tree[0], z), equilateral(tree[1], z)
    return left + (right - left) * SIXTH


def built_length(tree, z, top):
    """Sum of the edges of the tree whose last Steiner point is joined to `top`."""
    if not isinstance(tree, tuple):
        return abs(z[tree] - top)
    left, right, e = (equilateral(t, z) for t in (tree[0], tree[1], tree))
    if abs(top - e) < 1e-12:
        return math.inf
    u = (top - e) / abs(top - e)
    centre = (left + right + e) / 3
    s = e + 2 * ((centre - e) * u.conjugate()).real * u
    return abs(s - top) + built_length(tree[0], z, s) + built_length(tree[1], z, s)


def all_lengths(points):
    """Length of the shortest full tree of every terminal subset that has one."""
    z = [complex(x, y) for x, y in points]
    lengths = {}
    for k in range(2, len(z) + 1):
        for subset in itertools.combinations(range(len(z)), k):
            *rest, top = subset
            for tree in shapes(frozenset(rest)):
                line = abs(equilateral(tree, z) - z[top])
                if line < 1e-9 or line >= lengths.get(subset, math.inf):
                    continue
                if abs(built_length(tree, z, z[top]) - line) < 1e-9:
                    lengths[subset] = line
    return lengths


def shortest(n, lengths):
    """Length of the shortest tree over all terminals that is a union of full trees."""
    masks = [(sum(1 << t for t in subset), length) for subset, length in lengths.items()]
    return shortest_union(masks, (1 << n) - 1)


def listed(trees):
    return {
        tuple(sorted(trees.terminals[trees.start[f] : trees.start[f + 1]].tolist())): float(length)
        for f, length in enumerate(trees.length)
    }


def assert_complete(points):
    points = unit(points)
    trees = generate(points)
    assert trees.complete
    expected = shortest(len(points), all_lengths(points))
    assert shortest(len(points), listed(trees)) == pytest.approx(expected, rel=1e-10)


@settings(max_examples=60, deadline=None)
@given(st.integers(2, 5), st.integers(0, 2**32 - 1))
def test_random_points_against_every_topology(n, seed):
    assert_complete(np.random.default_rng(seed).random((n, 2)))


@settings(max_examples=60, deadline=None)
@given(st.sets(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=2, max_size=5))
def test_integer_grids_against_every_topology(points):
    assert_complete(sorted(points))


def nearly_regular(rng):
    """Points around a polygon or on a small grid, a little moved: several full trees of one set."""
    n = int(rng.integers(4, 7))
    if rng.random() < 0.3:
        cells = rng.permutation([(x, y) for x in range(3) for y in range(2)])[:n]
        return cells + 0.2 * rng.random((n, 2))
    angles = 2 * np.pi * np.arange(n) / n + 0.3 * rng.random(n)
    return np.column_stack([rng.uniform(0.8, 1.2) * np.cos(angles), np.sin(angles)])


@pytest.mark.parametrize("seed", range(80))
def test_nearly_regular_points_against_every_topology(seed):
    assert_complete(nearly_regular(np.random.default_rng(seed)))


def test_no_listed_tree_is_shorter_than_it_can_be():
    rng = np.random.default_rng(11)
    seen = 0
    for _ in range(60):
        points = unit(nearly_regular(rng))
        lengths = all_lengths(points)
        for subset, length in listed(generate(points)).items():
            assert length >= lengths[subset] * (1 - 1e-10)
            seen += len(subset) > 3
    assert seen > 20


@pytest.mark.parametrize("seed", range(6))
def test_six_points_against_every_topology(seed):
    rng = np.random.default_rng(seed)
    if seed % 2:
        assert_complete(rng.random((6, 2)))
    else:
        assert_complete(rng.permutation([(x, y) for x in range(4) for y in range(3)])[:6])


@pytest.mark.parametrize("n", [3, 4, 5, 6])
def test_regular_polygons_against_every_topology(n):
    angles = 2 * np.pi * np.arange(n) / n
    assert_complete(np.column_stack([np.cos(angles), np.sin(angles)]))


def test_six_points_of_a_triangular_lattice():
    h = math.sqrt(3) / 2
    assert_complete([(0, 0), (1, 0), (2, 0), (0.5, h), (1.5, h), (1, 2 * h)])


@pytest.mark.parametrize(
    ("name", "count"),
    [("u10", 40), ("g10", 20), ("i12", 6), ("lat3x5", 1), ("reg7", 1), ("reg12", 1)],
)
def test_golden_optima(golden, name, count):
    batch, optima = golden(name, count)
    for points, optimum in zip(batch, optima, strict=True):
        scaled = unit(points)
        length = shortest(len(points), listed(generate(scaled)))
        scale = np.ptp(points, axis=0).max() / np.ptp(scaled, axis=0).max()
        assert length * scale == pytest.approx(optimum, rel=1e-9)


@pytest.fixture(scope="module")
def trees():
    return generate(unit(np.random.default_rng(7).random((60, 2))))


def test_each_tree_is_full_and_as_long_as_its_edges(trees):
    assert trees.complete
    assert trees.size(len(trees) - 1) > 3
    for f in range(len(trees)):
        terminals, steiner, edges = trees.tree(f)
        k = len(terminals)
        assert len(steiner) == k - 2
        assert len(edges) == 2 * k - 3
        places = np.concatenate([trees.points[terminals], steiner])
        degrees = np.bincount(edges.ravel(), minlength=2 * k - 2)
        assert (degrees[:k] == 1).all()
        assert (degrees[k:] == 3).all()
        spans = places[edges[:, 0]] - places[edges[:, 1]]
        lengths = np.hypot(*spans.T)
        assert lengths.sum() == pytest.approx(trees.length[f], rel=1e-12)
        for s in range(k, 2 * k - 2):
            directions = [
                (places[a + b - s] - places[s]) / np.hypot(*(places[a + b - s] - places[s]))
                for a, b in edges
                if s in (a, b)
            ]
            assert np.abs(np.sum(directions, axis=0)).max() < 1e-6


def test_spanning_tree_first_then_by_size_without_repeats(trees):
    n = len(trees.points)
    sizes = np.diff(trees.start)
    assert (sizes[: n - 1] == 2).all()
    assert (sizes[n - 1 :] > 2).all()
    assert (np.diff(sizes) >= 0).all()
    assert len(listed(trees)) == len(trees)
    from scipy.sparse.csgraph import minimum_spanning_tree
    from scipy.spatial.distance import cdist

    expected = minimum_spanning_tree(cdist(trees.points, trees.points)).sum()
    assert trees.length[: n - 1].sum() == pytest.approx(expected, rel=1e-12)


def test_about_two_and_a_half_trees_per_point(trees):
    assert len(trees) < 4 * len(trees.points)


@pytest.mark.parametrize("n", [1, 2])
def test_one_and_two_points(n):
    trees = generate(np.array([[0.5, 0.5], [-0.5, -0.25]])[:n])
    assert trees.complete
    assert len(trees) == n - 1


@pytest.mark.parametrize(
    "points",
    [
        [(x / 8, 0) for x in range(-8, 9)],
        [(x / 8, x / 16) for x in range(-8, 9)],
        [(0, 0), (1, 0), (0.5, 1e-9)],
    ],
    ids=["horizontal", "slanted", "nearly"],
)
def test_collinear_points_need_only_the_spanning_tree(points):
    points = np.array(points, dtype=float)
    assert len(generate(points)) == len(points) - 1


def test_corners_at_120_degrees_are_left_to_the_spanning_tree():
    for turn in (-1e-12, 0.0, 1e-12):
        a = 2 * math.pi / 3 + turn
        points = np.array([(0, 0), (0.5, 0), (0.5 * math.cos(a), 0.5 * math.sin(a))])
        assert shortest(3, listed(generate(points))) == pytest.approx(1.0, rel=1e-11)


@settings(max_examples=25, deadline=None)
@given(
    st.sets(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=7, max_size=9),
    st.randoms(use_true_random=False),
)
def test_order_and_orientation_do_not_matter(cells, random):
    points = sorted(cells)
    length = shortest(len(points), listed(generate(np.array(points) / 8)))
    random.shuffle(points)
    turned = np.array(points) @ np.array([[0.0, 1.0], [-1.0, 0.0]]) / 8
    assert shortest(len(points), listed(generate(turned))) == pytest.approx(length, rel=1e-11)


def test_one_call_gives_the_same_list_as_slices():
    from deepsteiner.fst.enumerate.complete.small_generate_kernels import generate_small

    for n in (1, 2, 3, 10, 30):
        points = unit(np.random.default_rng(n).random((n, 2))) if n > 1 else np.zeros((1, 2))
        sliced = generate(points, keep_going=lambda phase, done, total: True)
        found = FullTrees(points, *generate_small(points))
        if n > 1:
            found = in_list_order(found, driver.begun(points).order)
        for name in ("start", "terminals", "length", "steiner", "edges"):
            np.testing.assert_array_equal(getattr(sliced, name), getattr(found, name))


@pytest.mark.parametrize("kind", ["uniform", "clusters", "lattice"])
def test_threads_change_nothing(kind, monkeypatch):
    """Nor does it matter where there is too little room for what a thread finds."""
    rng = np.random.default_rng(6)
    points = unit(rng.random((120, 2)))
    if kind == "clusters":
        points = unit(np.repeat(rng.random((10, 2)), 8, axis=0) + 0.01 * rng.normal(size=(80, 2)))
    elif kind == "lattice":
        points = np.stack(np.meshgrid(*2 * [np.arange(5) / 5]), axis=-1).reshape(-1, 2)
    alone = generate(points)
    given = driver.Growth._room
    crowded = iter([0, 0, 5, 60, 7, 900, 11, 40])  # rows a part, for the first shares

    def room(self, parts):
        rows, members = given(self, parts)
        few = next(crowded, rows)
        return min(rows, few), min(members, 40 * few)

    monkeypatch.setattr(driver, "ROWS_A_PART", 1)
    monkeypatch.setattr(driver, "PLANTED_ALONE", 1)
    for shares in (64, 5):
        monkeypatch.setattr(driver, "FIRST_SHARE", shares)
        together = generate(points, threads=3)
        for name in ("start", "terminals", "length", "steiner", "edges"):
            np.testing.assert_array_equal(getattr(together, name), getattr(alone, name))
        monkeypatch.setattr(driver.Growth, "_room", room)
    assert next(crowded, None) is None
    asked = []
    stopped = generate(points, threads=2, keep_going=lambda *told: asked.append(told) or False)
    assert len(asked) == 1
    assert not stopped.complete


def test_a_known_spanning_tree_changes_nothing(monkeypatch):
    from deepsteiner.geometry import spanning_trees

    monkeypatch.setattr(driver, "DENSE_LIMIT", 10)
    points = unit(np.random.default_rng(3).random((150, 2)))
    alone, edges = generate(points), spanning_trees.minimum_spanning_tree(points)
    monkeypatch.setattr(spanning_trees, "minimum_spanning_tree", None)
    known = generate(points, spanning=edges)
    for name in ("start", "terminals", "length", "steiner", "edges"):
        np.testing.assert_array_equal(getattr(known, name), getattr(alone, name))


def test_a_list_takes_in_the_trees_it_lacks():
    points = unit(np.random.default_rng(8).random((30, 2)))
    trees = generate(points)
    small = trees.part(np.diff(trees.start) <= 3)
    picked = np.zeros(len(trees), np.bool_)
    picked[concatenate(trees).selected] = True
    steiner, edges = trees.union(picked)
    same, numbers = trees.including(steiner, edges)
    assert same is trees
    assert sorted(numbers) == np.flatnonzero(picked).tolist()
    longer, numbers = small.including(steiner, edges)
    assert len(longer) - len(small) == (np.diff(trees.start)[picked] > 3).sum() > 0
    assert longer.length[numbers].sum() == pytest.approx(trees.length[picked].sum(), rel=1e-12)
    flags = np.zeros(len(longer), np.bool_)
    flags[numbers] = True
    again = longer.union(flags)
    np.testing.assert_allclose(sorted(again[0].tolist()), sorted(steiner.tolist()), atol=1e-15)
    for f in numbers:
        terminals, spots, links = longer.tree(f)
        nodes = np.concatenate((points[terminals], spots))
        length = np.hypot(*(nodes[links[:, 0]] - nodes[links[:, 1]]).T).sum()
        assert length == pytest.approx(longer.length[f], rel=1e-12)


def test_stopping_and_size_limit_make_the_list_incomplete():
    points = unit(np.random.default_rng(3).random((40, 2)))
    calls = []

    def stop_at_third(phase, done, total):
        calls.append((phase, done, total))
        return len(calls) < 3

    stopped = generate(points, keep_going=stop_at_third)
    assert len(calls) == 3
    assert not stopped.complete
    assert len(stopped) >= 39
    limited = generate(points, max_size=4)
    assert not limited.complete
    assert np.diff(limited.start).max() == 4
    whole = generate(points)
    assert whole.complete
    small = {s: v for s, v in listed(whole).items() if len(s) <= 4}
    assert small.keys() == listed(limited).keys()


def test_bottleneck_distances_against_minimax_paths():
    from deepsteiner.fst.enumerate.complete import bottleneck_kernels as kernels

    points = np.random.default_rng(1).random((25, 2))
    edges, lengths = kernels.spanning_tree(points)
    order, gaps = kernels.merge_order(25, edges, lengths)
    table = kernels.prepare_ground(points, order, gaps).gaps
    points = points[order]
    widest = np.hypot(*(points[:, None] - points[None]).transpose(2, 0, 1))
    for k in range(25):
        widest = np.minimum(widest, np.maximum(widest[:, k, None], widest[None, k]))
    for i, j in itertools.combinations(range(25), 2):
        assert kernels.bottleneck(table, i, j) == pytest.approx(widest[i, j], rel=1e-15)


def test_a_forbidden_swap_always_shortens_the_tree():
    from deepsteiner.fst.enumerate.complete import swap_kernels as kernels

    random = np.random.default_rng(2)
    found = 0
    for _ in range(600):
        a, b, c, d = random.exponential(size=4) ** random.choice([0.5, 1.0, 2.0, 4.0])
        edge = random.random() ** random.choice([1.0, 2.0, 4.0]) * (a + b + c + d) / 5
        if kernels.swap_gain(edge, a, b, c, d) <= kernels.CLEAR:
            continue
        found += 1
        ends = [a * SIXTH.conjugate() ** 2, b * SIXTH**2, edge + c / SIXTH, edge + d * SIXTH]
        lengths = all_lengths([(end.real, end.imag) for end in ends])
        assert shortest(4, lengths) < edge + a + b + c + d
    assert found > 120


@pytest.mark.parametrize(
    ("points", "message"),
    [
        (np.zeros((3, 3)), "shape"),
        (np.zeros((0, 2)), "shape"),
        ([[0.0, math.nan], [1.0, 0.0]], "between -1 and 1"),
        ([[0.0, 2.0], [1.0, 0.0]], "between -1 and 1"),
        ([[0.5, 0.5], [0.25, 0.0], [0.5, 0.5]], "duplicates"),
    ],
)
def test_bad_points(points, message):
    with pytest.raises(PointsError, match=message):
        generate(points)


def test_save_and_load(trees, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    path = tmp_path / "trees.npz"
    trees.save(path)
    loaded = FullTrees.load(path)
    for name in ("points", "start", "terminals", "length", "steiner", "edges"):
        np.testing.assert_array_equal(getattr(loaded, name), getattr(trees, name))
    assert loaded.complete
    assert loaded.stats == trees.stats
    assert [p.name for p in tmp_path.glob("*.*")] == ["trees.npz"]
