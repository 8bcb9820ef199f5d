"""What validation refuses: each fault alone, at the first place and at the last."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import deepsteiner as ds
from deepsteiner.core.errors import PointsError, TreeError
from deepsteiner.core.points import as_batch

HEIGHT = 3**0.5 / 2
CORNERS = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, HEIGHT]])
STAR = np.array([[0, 3], [1, 3], [2, 3]])


def star(*centre: float) -> ds.Solution:
    """The three corners joined at a point."""
    length = float(np.hypot(*(CORNERS - centre).T).sum())
    return ds.Solution(CORNERS, [centre], STAR, length)


def test_angles_are_checked_at_a_single_steiner_point():
    star(0.5, HEIGHT / 3).validate(strict=True)
    with pytest.raises(TreeError, match="node 3: the edges do not meet at 120 degrees"):
        star(0.5, HEIGHT / 3 + 1e-4).validate(strict=True)


def test_angles_are_checked_at_every_steiner_point():
    tree = ds.solve(np.random.default_rng(2).random((20, 2)), "smith").validate(strict=True)
    assert len(tree.steiner_points) > 2
    for row in range(len(tree.steiner_points)):
        moved = tree.steiner_points.copy()
        moved[row] += 1e-4
        length = float(replace(tree, steiner_points=moved).edge_lengths().sum())
        with pytest.raises(TreeError, match="do not meet at 120 degrees"):
            replace(tree, steiner_points=moved, length=length).validate(strict=True)


def test_a_steiner_point_on_a_terminal_is_not_strict():
    with pytest.raises(TreeError, match="node 3 is a Steiner point that coincides"):
        star(1.0, 0.0).validate(strict=True)
    star(1.0, 0.0).validate()


@pytest.mark.parametrize("pieces", [2, 3, 7, 11])
def test_rounding_adds_no_relay_to_an_edge_of_whole_limits(pieces):
    """In floating point 3 * 0.1 / 0.1 is more than 3."""
    for limit in (0.1, 0.7, 1.1, 1e-3):
        line = ds.solve([[0, 0], [pieces * limit, 0]], "mst").with_max_edge(limit)
        assert line.info["relays"] == pieces - 1


@pytest.mark.parametrize("place", [0, 2])
def test_batches_refuse_coordinates_that_are_too_large_for_squares(place):
    batch = np.zeros((3, 4, 2))
    batch[place, 1, 0] = 1e200
    with pytest.raises(PointsError, match=rf"instance {place}: point 1 .* at most 1e"):
        as_batch(batch)


@pytest.mark.parametrize("place", [0, 3])
def test_a_bound_above_its_length_names_the_instance(place):
    solved = ds.solve_many(np.random.default_rng(0).random((4, 8, 2)), "exact")
    bounds = solved.lower_bounds.copy()
    bounds[place] *= 1 + 1e-6
    with pytest.raises(TreeError, match=f"instance {place}: the bound exceeds the length"):
        replace(solved, lower_bounds=bounds).validate()


def test_members_of_a_batch_keep_their_own_method_and_facts():
    rng = np.random.default_rng(1)
    small, large = rng.random((5, 2)), rng.random((2500, 2))
    solved = ds.solve_many([small, large, small])
    assert [one.method for one in solved] == [
        ds.solve(points).method for points in (small, large, small)
    ]
    assert solved[0].method != solved[1].method
    alone = ds.solve(large)
    assert alone.info
    assert solved[1].info.keys() == alone.info.keys()
