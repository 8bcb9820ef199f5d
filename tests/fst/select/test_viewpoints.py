"""Points at which cuts are looked for: the vertex is last, and the better way is taken."""

from __future__ import annotations

import numpy as np
import pytest

from deepsteiner.fst.select.exact.cutting import viewpoints
from deepsteiner.fst.select.exact.cutting.viewpoints import MIXED, SHORT, Viewpoints

X, INNER, UPPER = np.array([1.0, 0.5]), np.array([0.2, 0.4]), np.array([1.0, 0.1])


def ways(points: Viewpoints, gains: tuple[float, float], rounds: int) -> list[int]:
    """Return the way of each round, where the bound rises by one of the gains after it."""
    taken, bound = [], 1.0
    for _ in range(rounds):
        points.judge(bound)
        next(points.points(X, UPPER))
        taken.append(points._way)
        bound += gains[points._way]
    return taken


@pytest.mark.parametrize("better", [MIXED, SHORT])
def test_the_way_that_gains_more_is_taken_and_the_other_tried(better):
    gains = (2.0, 1.0) if better == MIXED else (1.0, 2.0)
    taken = ways(Viewpoints(INNER), gains, 200)
    assert taken[: viewpoints.TRIAL] == [0, 0, 1, 1, 0, 0, 1, 1]
    later = taken[viewpoints.TRIAL :]
    assert later.count(1 - better) == len(later) // viewpoints.AGAIN


def test_the_way_changes_when_its_gains_end():
    points = Viewpoints(INNER)
    assert ways(points, (2.0, 1.0), 50).count(MIXED) > 35
    assert ways(points, (0.0, 1.0), 50).count(SHORT) > 30


def test_the_bound_of_another_programme_is_no_gain():
    points = Viewpoints(INNER)
    points.judge(1.0)
    next(points.points(X, UPPER))
    points.forget_bound()
    points.judge(9.0)
    assert points._gains == [None, None]
    points.judge(np.inf)
    points.judge(9.0)
    assert points._gains == [None, None]


def test_the_vertex_is_last_and_what_separates_nothing_is_inside():
    points = Viewpoints(INNER)
    seen = list(points.points(X, UPPER))
    np.testing.assert_allclose(seen[0], 0.6 * X + 0.4 * np.minimum(INNER, UPPER))
    np.testing.assert_array_equal(seen[1], X)
    np.testing.assert_array_equal(points.inner, X)
    points = Viewpoints(INNER)
    for point in points.points(X, UPPER):
        np.testing.assert_array_equal(points.inner, INNER)
        assert point is not X
        break  # a cut was found here
    np.testing.assert_array_equal(points.inner, INNER)


def test_a_shorter_vertex_comes_first_on_the_other_way():
    points = Viewpoints(INNER)
    ways(points, (0.0, 1.0), 20)
    seen = [point for point in points.points(X, UPPER) if points._way == SHORT]
    np.testing.assert_allclose(seen[0], viewpoints.SHORTER * X)
    assert len(seen) == 3
