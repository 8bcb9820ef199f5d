"""The validator, the frame, and the merging of duplicates."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepsteiner.core.errors import PointsError
from deepsteiner.core.points import (
    Frame,
    Problem,
    as_batch,
    as_points,
    frames,
)

BAD_POINTS = [
    ([], "no points given"),
    (np.empty((0, 2)), "no points given"),
    ([[1, 2, 3]], r"must have shape \(n, 2\), got \(1, 3\)"),
    ([1, 2], r"must have shape \(n, 2\), got \(2,\)"),
    ([[[1, 2]]], r"must have shape \(n, 2\), got \(1, 1, 2\)"),
    (5.0, "got a single number"),
    ([[1, 2], [3]], "rows have different lengths"),
    ([[0, 0], [np.nan, 1]], r"point 1 is \(nan, 1\); coordinates must be finite"),
    ([[0, np.inf]], r"point 0 is \(0, inf\); coordinates must be finite"),
    ([[0, 1e200]], "at most 1e"),
    ([["a", "b"]], "must be real numbers, got values of type <U1"),
    ("text", "must be real numbers"),
    ([[1 + 2j, 0]], "got complex numbers"),
    ([[None, 1]], "must be an"),
    ([[True, False]], "must be real numbers, got values of type bool"),
    (None, "must be an"),
    ({"a": 1}, "must be an"),
]


@pytest.mark.parametrize(("points", "message"), BAD_POINTS)
def test_bad_points_are_refused_in_one_sentence(points, message):
    with pytest.raises(PointsError, match=message) as caught:
        as_points(points)
    assert "\n" not in str(caught.value)


def test_points_are_copied_and_read_only():
    given = np.array([[0.0, 1.0], [2.0, 3.0]])
    points = as_points(given)
    given[0, 0] = 9
    assert points[0, 0] == 0
    with pytest.raises(ValueError, match="read-only"):
        points[0, 0] = 1


@pytest.mark.parametrize("dtype", [np.int8, np.uint64, np.float32, np.float64, np.float16])
def test_every_real_dtype_is_accepted(dtype):
    assert as_points(np.ones((3, 2), dtype=dtype)).dtype == np.float64


def test_batch_errors_name_the_instance():
    with pytest.raises(PointsError, match="instance 1: point 0 is"):
        as_batch([[[0, 0]], [[np.nan, 0]]])
    batch = np.zeros((3, 4, 2))
    batch[2, 1, 0] = np.inf
    with pytest.raises(PointsError, match="instance 2: point 1 is"):
        as_batch(batch)
    with pytest.raises(PointsError, match=r"shape \(B, n, 2\), got \(3, 2\)"):
        as_batch(np.zeros((3, 2)))
    with pytest.raises(PointsError, match="batch must be"):
        as_batch("points.csv")
    with pytest.raises(PointsError, match="have no points"):
        as_batch(np.zeros((3, 0, 2)))


def test_batch_of_one_size_becomes_one_array():
    assert isinstance(as_batch([[[0, 0], [1, 1]], [[2, 2], [3, 3]]]), np.ndarray)
    assert isinstance(as_batch([[[0, 0]], [[2, 2], [3, 3]]]), list)
    assert as_batch([]) == []


finite = st.floats(-1e6, 1e6)


@given(st.lists(st.tuples(finite, finite), min_size=1, max_size=20))
def test_frame_maps_into_the_unit_box_and_back(points):
    array = as_points(points)
    frame = Frame.of(array)
    inside = frame.into(array)
    assert np.abs(inside).max() <= 1
    np.testing.assert_allclose(frame.back(inside), array, rtol=0, atol=np.spacing(2e6))


@given(st.integers(-(2**30), 2**30), st.integers(-(2**30), 2**30), st.integers(0, 2**32))
def test_frame_is_exact_on_grids(dx, dy, seed):
    """Points given on one grid, far from the origin, keep every bit of their differences."""
    grid = np.random.default_rng(seed).integers(0, 2**20, (6, 2)).astype(float)
    moved = grid + np.array([dx, dy])
    frame = Frame.of(moved)
    assert (frame.back(frame.into(moved)) == moved).all()
    difference = frame.into(moved) - frame.into(moved)[0]
    assert (np.ldexp(difference, -frame.exponent) == grid - grid[0]).all()


def test_frames_of_a_batch_equal_the_single_ones():
    batch = np.random.default_rng(0).random((20, 7, 2)) * 10.0 ** np.arange(-10, 10)[:, None, None]
    shifts, exponents = frames(batch)
    for points, shift, exponent in zip(batch, shifts, exponents, strict=True):
        frame = Frame.of(points)
        assert (frame.shift == shift).all()
        assert frame.exponent == exponent


def test_problem_keeps_distinct_points_in_the_users_order():
    points = as_points(np.random.default_rng(3).random((9, 2)))
    problem = Problem.of(points)
    assert (problem.first == np.arange(9)).all()
    assert (problem.frame.into(points) == problem.points).all()


def test_refused_duplicates_name_both_rows():
    with pytest.raises(PointsError, match="rows 0 and 2 are equal"):
        Problem.of(as_points([[1, 2], [3, 4], [1, 2]]), "raise")


def test_refused_points_that_coincide_up_to_rounding_say_how_far_apart():
    with pytest.raises(PointsError, match=r"rows 1 and 2 coincide up to rounding .* 5.6e-17 apart"):
        Problem.of(as_points([[0, 0], [0.1 + 0.2, 0], [0.3, 0], [0, 1]]), "raise")
