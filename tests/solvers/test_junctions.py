"""Junction cost: the square, all small trees by brute force, and what more cost must not do."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import deepsteiner as ds
from deepsteiner.geometry.relaxation import relax
from deepsteiner.solvers.junctions import crossings

SQUARE = [[0, 0], [1, 0], [1, 1], [0, 1]]


def cost_of(solution, price: float) -> float:
    return solution.length + price * len(solution.steiner_points)


@pytest.mark.parametrize(
    ("price", "junctions"),
    [(0.0, 2), (0.05, 2), (0.0963, 2), (0.0965, 1), (0.15, 1), (0.1715, 1), (0.1717, 0), (9.0, 0)],
)
def test_the_square(price, junctions):
    """Two Steiner points below 0.0964, a cross up to 0.1716, the spanning tree above."""
    solution = ds.solve(SQUARE, "local", junction_cost=price)
    solution.validate(strict=True)
    assert len(solution.steiner_points) == junctions
    if price:
        assert solution.info["cost"] == pytest.approx(cost_of(solution, price), rel=1e-12)
        assert solution.info["junction_cost"] == price


def trees_over(n: int, s: int):
    """All trees over n terminals and s Steiner points of degree 3 or more, by Pruefer codes."""
    size = n + s
    for code in itertools.product(range(size), repeat=size - 2):
        degree = np.bincount(code, minlength=size) + 1
        if (degree[n:] < 3).any():
            continue
        edges, left = [], degree.copy()
        for v in code:
            leaf = int(np.flatnonzero(left == 1)[0])
            edges.append((leaf, v))
            left[leaf] -= 1
            left[v] -= 1
        edges.append(tuple(np.flatnonzero(left == 1).tolist()))
        yield np.array(edges)


def by_brute_force(points: np.ndarray, price: float) -> float:
    """The least cost over all trees, Steiner points of any degree where they are best."""
    n = len(points)
    best = np.inf
    for s in range(n - 1):
        for edges in trees_over(n, s):
            start = np.tile(points.mean(axis=0), (s, 1)) + 0.01 * np.arange(s)[:, None]
            best = min(best, relax(points, start, edges).length + price * s)
    return best


@pytest.mark.parametrize(("seed", "n"), [(0, 4), (1, 4), (2, 4), (3, 4), (4, 4)])
@pytest.mark.parametrize("price", [0.02, 0.1])
def test_no_small_tree_is_cheaper(seed, n, price):
    points = np.random.default_rng(seed).random((n, 2))
    solution = ds.solve(points, "local", junction_cost=price)
    assert solution.info["cost"] == pytest.approx(by_brute_force(points, price), abs=1e-7)


@pytest.mark.heavy
@pytest.mark.parametrize("seed", range(4))
def test_no_tree_of_five_is_cheaper(seed):
    points = np.random.default_rng(seed).random((5, 2))
    for price in (0.01, 0.05, 0.15):
        solution = ds.solve(points, "local", junction_cost=price)
        assert solution.info["cost"] == pytest.approx(by_brute_force(points, price), abs=1e-7)


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10_000), st.integers(3, 40))
def test_never_worse_than_trees_that_do_not_know_the_cost(seed, n):
    points = np.random.default_rng(seed).random((n, 2))
    local, spanning = ds.solve(points, "local"), ds.solve(points, "mst")
    same = ds.solve(points, "local", junction_cost=0.0)
    assert (same.coordinates == local.coordinates).all()
    junctions = [len(local.steiner_points)]
    for price in (0.005, 0.02, 0.1):
        solution = ds.solve(points, "local", junction_cost=price)
        solution.validate(strict=True)
        least = min(cost_of(local, price), spanning.length)
        assert cost_of(solution, price) <= least * (1 + 1e-12)
        junctions.append(len(solution.steiner_points))
    # Exactly minimal trees never have more of them as the cost grows; ours nearly are.
    assert all(b <= a + 1 for a, b in itertools.pairwise(junctions))


def test_crossings_of_diagonals():
    corners = np.array([SQUARE, [[0, 0], [4, 0], [1, 1], [0, 4]], [[0, 0], [1, 0], [2, 0], [3, 0]]])
    places, width = crossings(corners.astype(float))
    assert places[0].tolist() == [0.5, 0.5]
    assert width[0] == pytest.approx(2 * np.sqrt(2))
    assert np.isinf(width[1:]).all()


def test_what_it_refuses():
    tree = ds.solve(SQUARE, "local")
    for options, message in (
        ({"junction_cost": -1.0}, "at least 0"),
        ({"junction_cost": 0.1, "start": tree}, "no start"),
        ({"junction_cost": 0.1, "obstacles": [[[0.4, 0.4], [0.6, 0.4], [0.5, 0.6]]]}, "neither"),
    ):
        with pytest.raises(ds.errors.OptionError, match=message):
            ds.solve(SQUARE, "local", **options)
    with pytest.raises(ds.errors.OptionError, match="no option 'junction_cost'"):
        ds.solve(SQUARE, "exact", junction_cost=0.1)
