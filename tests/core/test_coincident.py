"""Which points count as one, and what that means for trees, bounds and proofs."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import deepsteiner as ds
from deepsteiner.core.coincident import COINCIDENT, has_coincident, merge_coincident, merge_equal
from deepsteiner.fst.enumerate.complete.forest_kernels import MIN_EDGE, TIE

RING = np.linspace(0, 2 * np.pi, 4)
# Points as given, and the length of their shortest tree.
KNOWN = {
    "closed triangle": (np.c_[np.cos(RING), np.sin(RING)], 3.0),
    "rounded sum": ([[0, 0], [0.1 + 0.2, 0], [0.3, 0], [0.15, 0.3]], 0.15 * np.sqrt(3) + 0.3),
    "symmetric pair": (
        [[-1, 0.7], [-1, -0.7], [1, 1e-12], [1, -1e-12]],
        2 + 0.7 * np.sqrt(3),
    ),
    "closed square": ([[0, 0], [1, 0], [1, 1], [0, 1], [1e-16, -1e-17]], 1 + np.sqrt(3)),
}


def places(draw_steps):
    """Points on a fine grid around few corners: pairs are nearer or farther than allowed."""
    return np.array([(cx + dx * 1e-12, cy + dy * 1e-12) for cx, cy, dx, dy in draw_steps])


steps = st.tuples(
    st.sampled_from([-1.0, 0.0, 0.5]), st.sampled_from([-1.0, 0.25]),
    st.integers(0, 60), st.integers(0, 60),
)  # fmt: skip


@given(st.lists(steps, min_size=1, max_size=14))
def test_what_is_left_is_apart_and_what_is_joined_is_near(drawn):
    points = places(drawn)
    owner, first, ties = merge_coincident(points)
    left = points[first]
    distances = np.hypot(*(left[:, None] - left[None]).transpose(2, 0, 1))
    assert (distances[~np.eye(len(left), dtype=bool)] > COINCIDENT).all()
    assert (np.diff(first) > 0).all()
    assert len(first) + len(ties) == len(points)
    joined = np.hypot(*(points[ties[:, 0]] - points[ties[:, 1]]).T)
    assert (joined <= COINCIDENT * (1 + 1e-12)).all()
    # The ties connect each point to the one that stands for it, and no two of those.
    group = np.arange(len(points))
    for a, b in ties:
        assert group[a] != group[b]
        group[group == group[a]] = group[b]
    assert (group == group[first[owner]]).all()
    assert len(np.unique(group)) == len(first)
    assert has_coincident(points[None])[0] == (len(ties) > 0)


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), min_size=1, max_size=12))
def test_merge_equal_matches_a_plain_dictionary(points):
    array = np.array(points, dtype=float)
    owner, first = merge_equal(array)
    seen: dict[tuple[int, int], int] = {}
    expected = [seen.setdefault(point, len(seen)) for point in points]
    assert owner.tolist() == expected
    assert [points[i] for i in first] == list(seen)
    assert has_coincident(array[None])[0] == (len(seen) < len(points))
    assert (merge_coincident(array)[0] == owner).all()


def test_batches_are_judged_one_by_one():
    rng = np.random.default_rng(1)
    batch = rng.uniform(-1, 1, (40, 9, 2))
    batch[::3, 4] = batch[::3, 7] + 0.7 * COINCIDENT
    batch[1::3, 4] = batch[1::3, 7] + [0.0, 3 * COINCIDENT]  # near, in one column, but apart
    assert has_coincident(batch).tolist() == [index % 3 == 0 for index in range(40)]


def test_a_crowd_within_the_tolerance_is_one_point():
    """Very many points in one place must not take time in their pairs."""
    rng = np.random.default_rng(2)
    crowd = 0.4 * COINCIDENT * rng.random((20_000, 2))
    points = np.concatenate(([[1.0, 1.0]], crowd, [[-1.0, 0.3]]))
    _, first, ties = merge_coincident(points)
    assert first.tolist() == [0, 1, 20_001]
    assert len(ties) == 19_999


def test_the_tolerance_keeps_its_distance_from_what_proofs_call_equal():
    assert COINCIDENT > 10 * MIN_EDGE > 10 * TIE


@pytest.mark.parametrize("name", KNOWN)
@pytest.mark.parametrize("method", ["exact", "auto", "local", "neural"])
def test_known_lengths(name, method):
    points, length = KNOWN[name]
    solution = ds.solve(points, method)
    assert solution.length == pytest.approx(length, rel=1e-11)
    if method in ("exact", "auto"):
        assert solution.status == "optimal"
        assert solution.gap <= 1e-11


@pytest.mark.parametrize("method", [*ds.methods()])
def test_all_terminals_come_back_bit_for_bit(method):
    rng = np.random.default_rng(3)
    points = rng.random((8, 2))
    points = np.concatenate((points, points[:3] + 1e-13, points[2:4]))
    solution = ds.solve(points, method)
    assert (solution.terminals == points).all()
    solution.validate()
    many = ds.solve_many([points, points], method)
    many.validate()
    assert many.lengths.tolist() == [solution.length] * 2


@pytest.mark.parametrize("n", [4, 10, 30])
def test_a_pair_at_any_distance_changes_the_length_by_no_more_than_that(n):
    rng = np.random.default_rng(n)
    for exponent in [-np.inf, *range(-17, -7)]:
        points = rng.random((n, 2))
        step = 10.0**exponent * np.array(
            [np.cos(n + exponent), np.sin(n + exponent)] if np.isfinite(exponent) else [1, 0]
        )
        pair = np.concatenate((points, points[:1] + step))
        apart = np.hypot(*(pair[-1] - pair[0]))
        merged, both = ds.solve(points, "exact"), ds.solve(pair, "exact")
        assert both.status == "optimal"
        assert abs(both.length - merged.length) <= apart + 1e-12 * merged.length
        assert both.lower_bound <= merged.length + apart
        assert both.lower_bound <= both.length


def test_bounds_leave_out_what_joins_points():
    points = np.array([[0, 0], [1, 0], [0.5, 0.8], [0.5, 0.8 + 4e-12]])
    solution = ds.solve(points, "exact")
    assert solution.length - solution.lower_bound == pytest.approx(4e-12, rel=1e-3)
    many = ds.solve_many([points, points], "exact")
    assert many.lower_bounds.tolist() == [solution.lower_bound] * 2


def test_a_long_chain_of_points_that_coincide_is_not_called_optimal():
    """A thousand steps of 1e-11 are a length that nobody has proven to be needed."""
    chain = np.stack((np.arange(1000) * 1e-11, np.zeros(1000)), axis=1)
    solution = ds.solve(np.concatenate((chain, [[1.0, 0.0], [0.3, 0.9]])), "exact")
    assert solution.status == "feasible"
    assert 1e-9 < solution.gap < 1e-8


@pytest.mark.parametrize("method", ["exact", "local", "neural"])
def test_a_start_may_have_points_that_coincide(method):
    rng = np.random.default_rng(9)
    points = rng.random((300, 2))
    points = np.concatenate((points, points[:20], points[20:40] + 1e-13))
    start = ds.solve(points, "local")
    solution = ds.solve(points, method, start=start)
    solution.validate(strict=True)
    assert solution.length <= start.length * (1 + 1e-12)
    with pytest.raises(ds.DeepSteinerError, match="start must be a Solution of the same points"):
        ds.solve(points[1:], method, start=start)


def test_a_start_without_ties_between_its_repeated_terminals():
    """Nothing says that a tree joins repeated points by the shortest edges, or at all directly."""
    points = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
    edges = np.array([[0, 1], [1, 2], [2, 4], [4, 3]])
    start = ds.Solution(points, np.empty((0, 2)), edges, 4.0).validate()
    assert ds.solve(points, "exact", start=start).length == pytest.approx(1 + np.sqrt(3))
