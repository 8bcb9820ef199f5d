"""Greedy lookahead and the growing spanning tree, against fresh spanning trees."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import deepsteiner as ds
from deepsteiner.core.errors import PointsError
from deepsteiner.core.points import Frame
from deepsteiner.core.trees import tree_length
from deepsteiner.geometry.candidates import KINDS, CandidateOptions, candidate_points
from deepsteiner.geometry.spanning_trees import minimum_spanning_tree
from deepsteiner.geometry.vector_kernels import points_of
from deepsteiner.solvers.kernels import greedy_kernels as kernels
from plain import mst_length


def reference(points: np.ndarray, options: CandidateOptions) -> np.ndarray:
    """Greedy lookahead with a fresh spanning tree for every candidate."""
    current, box = points, (points.min(axis=0), points.max(axis=0))
    length = mst_length(points)
    while len(current) < 2 * len(points) - 2:
        tried = candidate_points(current, options, box)
        lengths = [mst_length(np.concatenate((current, [point]))) for point in tried]
        best = int(np.argmin(lengths))
        if not lengths[best] < length - 1e-12:
            break
        current, length = np.concatenate((current, [tried[best]])), lengths[best]
    return current


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [3, 5, 8])
def test_equals_fresh_spanning_trees(kind, n):
    options = {"candidates": kind, "k_star": 5, "grid": 6}
    for seed in range(4):
        points = np.random.default_rng(seed).random((n, 2))
        slow = reference(Frame.of(points).into(points), CandidateOptions(**options))
        fast = ds.solve(points, "greedy", relax=False, **options)
        assert fast.length == pytest.approx(mst_length(slow) * Frame.of(points).unit, rel=1e-9)
        assert len(fast.steiner_points) == len(slow) - n


def begin(points: np.ndarray) -> kernels.Work:
    rules = kernels.Rules(kernels.MST, 9, 3)
    return kernels.begin(points, minimum_spanning_tree(points), rules, np.zeros((1, 2)))


@settings(max_examples=40)
@given(st.integers(3, 150), st.integers(0, 10_000), st.booleans())
def test_adding_points_keeps_a_minimum_spanning_tree(n, seed, on_grid):
    rng = np.random.default_rng(seed)
    points = 2 * rng.random((n, 2)) - 1
    if on_grid:
        points = np.unique(rng.integers(-9, 10, (n, 2)), axis=0) / 10
    n = len(points)
    if n < 3:
        return
    work = begin(points)
    length = mst_length(points)
    for count in range(n, min(n + 5, 2 * n - 2)):
        length -= kernels.add(work, count, complex(*(2.4 * rng.random(2) - 1.2)))
        nodes = points_of(work.tree.places[: count + 1])
        assert length == pytest.approx(mst_length(nodes), rel=1e-9)
        assert tree_length(nodes, work.tree.ends[:count]) == pytest.approx(length, rel=1e-9)


def best_candidate(work, count, kind):
    search = kernels.new_search()
    while not kernels.best_candidate(work, count, kernels.Rules(kind, 9, 3), search, 1000):
        pass
    return search[kernels.SAVING], int(search[kernels.ROW])


def test_remembered_savings_equal_trying_everything():
    """The lazy choice over tree edges picks what a full evaluation of all candidates picks."""
    points = 2 * np.random.default_rng(5).random((200, 2)) - 1
    lazy = begin(points)
    for count in range(200, 240):
        value, row = best_candidate(lazy, count, kernels.MST)
        so_far = points_of(lazy.tree.places[:count]), lazy.tree.ends[: count - 1]
        tried = candidate_points(so_far[0], CandidateOptions())
        full = kernels.begin(*so_far, kernels.Rules(kernels.GRID, 9, 3), tried)
        best, _ = best_candidate(full, count, kernels.GRID)
        assert value == pytest.approx(best, rel=1e-9)
        kernels.add(lazy, count, lazy.candidates[row])


def test_trace_tells_every_step():
    points = np.random.default_rng(0).random((12, 2))
    solution = ds.solve(points, "greedy", relax=False, trace=True)
    steps = solution.info["trace"]
    assert len(steps) == solution.info["steps"] == len(solution.steiner_points)
    assert [step["chosen"] for step in steps] == solution.steiner_points.tolist()
    lengths = [ds.solve(points, "mst").length, *(step["length"] for step in steps)]
    np.testing.assert_allclose(-np.diff(lengths), [step["saving"] for step in steps])
    assert lengths[-1] == pytest.approx(solution.length)


def test_relaxation_only_shortens():
    points = np.random.default_rng(0).random((30, 25, 2))
    bare = ds.solve_many(points, "greedy", relax=False)
    relaxed = ds.solve_many(points, "greedy").validate(strict=True)
    assert (relaxed.lengths <= bare.lengths * (1 + 1e-12)).all()
    assert relaxed.lengths.sum() < bare.lengths.sum()


def test_gap_on_golden_instances(golden):
    points, optimum = golden("u10", 1000)
    bare = ds.solve_many(points, "greedy", relax=False).lengths / optimum - 1
    relaxed = ds.solve_many(points, "greedy").lengths / optimum - 1
    assert 0.0008 < bare.mean() < 0.0011
    assert relaxed.mean() < 0.0006
    assert relaxed.min() > -1e-9


def test_grid_size_and_extent_matter(golden):
    points, optimum = golden("u10", 200)
    gaps = []
    for size in (20, 10, 5):
        solved = ds.solve_many(points, "greedy", candidates="grid", grid=size, relax=False)
        gaps.append((solved.lengths / optimum).mean())
    assert gaps == sorted(gaps)
    far = points + 5.0
    unit = ds.solve_many(far, "greedy", candidates="grid", extent="unit", relax=False)
    assert unit.trees.steiner.size == 0  # no grid point is near


def test_too_many_points_are_refused_in_one_sentence():
    with pytest.raises(PointsError, match="at most 200 distinct points, got 201; 'local'"):
        ds.solve(np.random.default_rng(0).random((201, 2)), "greedy", candidates="all")
