"""`local` and `neural` on boards, lattices and clusters: what uniform points do not show."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import deepsteiner as ds
from deepsteiner.fst.enumerate.nearby.gap_kernels import list_with_gaps
from deepsteiner.fst.trees import FullTrees
from deepsteiner.scoring.scores import CROWDED, is_crowded
from deepsteiner.scoring.small_instance_kernels import is_crowded_list

METHODS = ("local", "neural")


def jittered(seed: int, side: int = 6, jitter: float = 0.05) -> np.ndarray:
    rng = np.random.default_rng(seed)
    grid = np.array(list(itertools.product(range(side), repeat=2)), dtype=float)
    return grid + jitter * rng.standard_normal(grid.shape)


def clusters(seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return np.repeat(rng.random((6, 2)), 8, axis=0) + 0.003 * rng.standard_normal((48, 2))


def board(seed: int, n: int = 400) -> np.ndarray:
    """Distinct holes of a coarse raster."""
    rng = np.random.default_rng(seed)
    spots = rng.choice(40 * 40, n, replace=False)
    return np.c_[spots // 40, spots % 40].astype(float)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("family", "slack"), [(jittered, 1e-4), (clusters, 3e-3)])
def test_small_structured_instances_are_nearly_optimal(method, family, slack):
    """Larger trees across the gaps between clusters are not listed: see the slack."""
    for seed in range(3):
        points = family(seed)
        best = ds.solve(points, "exact")
        assert best.status == "optimal"
        assert ds.solve(points, method).length <= best.length * (1.0 + slack)


@pytest.mark.parametrize("method", METHODS)
def test_boards_get_better_with_effort_and_threads_change_nothing(method):
    points = board(5)
    lengths = [
        ds.solve(points, method, effort=effort).validate().length
        for effort in ("fast", "default", "best")
    ]
    assert lengths[2] <= lengths[1] * (1 + 1e-12) <= lengths[0] * 1.0003
    assert lengths[0] <= lengths[2] * 1.003
    one, two = (ds.solve(points, method, threads=count) for count in (1, 2))
    assert np.array_equal(one.edges, two.edges)
    assert np.array_equal(one.steiner_points, two.steiner_points)


@pytest.mark.parametrize("method", METHODS)
def test_a_batch_of_crowded_instances_gives_the_trees_of_single_solves(method):
    family = np.array(
        [jittered(seed) for seed in range(3)] + [np.random.default_rng(0).random((36, 2))]
    )
    for points, found in zip(family, ds.solve_many(family, method), strict=True):
        assert found.length == pytest.approx(ds.solve(points, method).length, rel=1e-12)


def test_a_limit_and_a_trace_on_a_board():
    points = board(6, 800)
    for method in METHODS:
        short = ds.solve(points, method, effort="best", time_limit=0.05)
        assert short.validate().length <= ds.solve(points, "mst").length * (1 + 1e-12)
        solution = ds.solve(points, method, trace=True)
        lengths = [record["length"] for record in solution.info["trace"]]
        assert lengths == sorted(lengths, reverse=True)


def test_what_a_crowded_list_is():
    def listed(points: np.ndarray) -> FullTrees:
        return FullTrees(*list_with_gaps(points / np.abs(points).max(), 6))

    assert is_crowded(listed(jittered(0, jitter=0.0)))
    assert not is_crowded(listed(np.random.default_rng(0).random((100, 2))))
    for points in (jittered(0), np.random.default_rng(1).random((36, 2))):
        trees = list_with_gaps(points / np.abs(points).max(), 6)
        assert is_crowded_list(trees) == (len(trees.length) > 6 * len(points))
        assert is_crowded(FullTrees(*trees)) == (len(trees.length) > CROWDED * len(points))


def test_trees_across_gaps_come_to_the_list():
    """Between two tight rows any pair may be on one Steiner point; few are neighbours."""
    from deepsteiner.fst.enumerate.nearby.small_listing_kernels import list_grown

    more = 0
    for seed in range(4):
        points = clusters(seed) - 0.5
        few, many = list_grown(points, 6), list_with_gaps(points, 6)
        assert np.array_equal(few.length, many.length[: len(few.length)])
        more += len(many.length) - len(few.length)
    assert more > 0
