"""Candidate points against their definition in the paper."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepsteiner.core.errors import OptionError
from deepsteiner.core.points import Frame
from deepsteiner.geometry.candidates import (
    CandidateOptions,
    arcs,
    candidate_points,
    grid_box,
    grid_points,
    pairs_of,
)

coordinate = st.floats(-10, 10)


@given(st.tuples(*[coordinate] * 4), st.integers(1, 20))
def test_arc_points_see_the_pair_under_120_degrees_at_equal_spacing(ends, k_star):
    a, b = np.array(ends[:2]), np.array(ends[2:])
    if np.hypot(*(b - a)) < 1e-3:
        return
    points = arcs(np.array([a, b]), np.array([[0, 1]]), k_star)
    assert points.shape == (2 * k_star, 2)
    for side, sign in ((points[:k_star], 1), (points[k_star:], -1)):
        to_a, to_b = a - side, b - side
        cosine = (to_a * to_b).sum(1) / np.hypot(*to_a.T) / np.hypot(*to_b.T)
        np.testing.assert_allclose(cosine, -0.5, atol=1e-9)
        chain = np.concatenate(([a], side, [b]))
        steps = np.hypot(*np.diff(chain, axis=0).T)
        np.testing.assert_allclose(steps, steps[0], rtol=1e-9)
        turn = (b - a)[0] * (side - a)[:, 1] - (b - a)[1] * (side - a)[:, 0]
        assert (np.sign(turn) == sign).all()


def test_counts_as_in_the_paper():
    points = np.random.default_rng(0).random((10, 2))
    assert candidate_points(points, CandidateOptions()).shape == (18 * 9, 2)
    assert candidate_points(points, CandidateOptions(candidates="knn")).shape == (10 * 3 * 18, 2)
    assert candidate_points(points, CandidateOptions(candidates="all")).shape == (45 * 18, 2)
    assert candidate_points(points, CandidateOptions(candidates="grid")).shape == (100, 2)
    assert candidate_points(points, CandidateOptions(k_star=4)).shape == (8 * 9, 2)


@given(st.integers(2, 15), st.integers(1, 20), st.integers(0, 1000))
def test_neighbour_pairs_are_the_nearest(n, k, seed):
    points = np.random.default_rng(seed).random((n, 2))
    pairs = pairs_of(points, "knn", k)
    expected = []
    for v in range(n):
        others = [u for u in range(n) if u != v]
        others.sort(key=lambda u: np.hypot(*(points[u] - points[v])))
        expected += [[v, u] for u in others[:k]]
    assert pairs.tolist() == expected


def test_grid_covers_the_box_with_cell_centres():
    grid = grid_points(np.array([0.0, 0.0]), np.array([2.0, 4.0]), 2)
    assert grid.tolist() == [[0.5, 1.0], [0.5, 3.0], [1.5, 1.0], [1.5, 3.0]]


def test_unit_extent_is_the_users_unit_square():
    points = np.random.default_rng(1).random((5, 2)) * 7 + 3
    frame = Frame.of(points)
    low, high = grid_box(frame.into(points), frame, "unit")
    np.testing.assert_allclose(frame.back(np.array([low, high])), [[0, 0], [1, 1]], atol=1e-12)


def test_unknown_kind_is_refused():
    with pytest.raises(OptionError, match="mst, knn, all, grid"):
        pairs_of(np.eye(2), "star", 3)
