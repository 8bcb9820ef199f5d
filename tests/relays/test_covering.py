"""The bound from rings around groups: closed cases, and the sets it is made from."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from deepsteiner.geometry.spanning_trees import minimum_spanning_tree
from deepsteiner.relays import covering
from deepsteiner.relays.bounds import groups_of


def bound(points, radius):
    points = np.asarray(points, dtype=np.float64)
    group, _ = groups_of(points, minimum_spanning_tree(points), radius)
    return covering.relays_in_rings(points, group, radius)


@pytest.mark.parametrize("distance", [1.5, 2.0, 2.5, 3.0, 4.2, 6.9])
def test_between_two_points_it_is_exact(distance):
    assert bound([[0.0, 0.0], [distance, 0.0]], 1.0) == math.ceil(distance) - 1


def test_one_relay_serves_a_pentagon_and_a_far_point_needs_more():
    turn = 2 * np.pi * np.arange(5) / 5
    corners = np.stack((np.cos(turn), np.sin(turn)), axis=1)
    assert bound(corners, 1.0) == 1
    # The nearest corner is 3.5 off: three relays from there, and one that all corners hear.
    assert bound([*corners.tolist(), [4.5, 0.0]], 1.0) == 4
    assert bound([[0.0, 0.0], [2.5, 0.0], [2.5, 40.0]], 1.0) == 2 + covering.MOST_RINGS


@pytest.mark.parametrize("seed", range(6))
def test_no_place_covers_more_than_a_listed_set(seed):
    """The twin: random places, whose sets must be part of one of those looked at."""
    random = np.random.default_rng(seed)
    points, radius = random.random((9, 2)), 0.17
    group, _ = groups_of(points, minimum_spanning_tree(points), radius)
    rings = np.full(group.max() + 1, 2)
    centre, size = covering._circles(group, rings)
    meetings = covering._meetings(points[centre], size * radius)
    listed = covering._covers(points, group, radius, rings, meetings) > 0
    tried = covering._covers(points, group, radius, rings, random.uniform(-0.4, 1.4, (3000, 2))) > 0
    for one in tried:
        assert (listed | ~one).all(axis=1).any()


@pytest.mark.parametrize("seed", range(6))
def test_fractional_covers_are_below_whole_ones(seed):
    random = np.random.default_rng(seed)
    covers = (random.random((9, 7)) < 0.35).astype(float)
    covers = np.concatenate((covers, np.eye(7)))
    fewest = next(
        size
        for size in range(1, 8)
        for some in itertools.combinations(range(len(covers)), size)
        if covers[list(some)].any(axis=0).all()
    )
    assert 1.0 <= covering._fractional_cover(covers) <= fewest + 1e-9


def test_many_points_are_left_to_the_other_bounds():
    points = np.random.default_rng(0).random((covering.MOST_CIRCLES + 1, 2))
    assert bound(points, 0.001) == 0
