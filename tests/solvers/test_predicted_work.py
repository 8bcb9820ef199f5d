"""What a proof will cost: the prediction, and the work that is really done."""

from __future__ import annotations

import math

import numpy as np
import pytest

import deepsteiner as ds
from deepsteiner.fst.select.exact import concatenation
from deepsteiner.solvers import auto, exact
from deepsteiner.solvers.predicted_work import POINTS, predicted_work


def clustered(n: int, seed: int, spread: float = 0.05) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.random((12, 2))[rng.integers(0, 12, n)] + rng.normal(0.0, spread, (n, 2))


def lattice(side: int, jitter: float) -> np.ndarray:
    line = np.arange(float(side))
    whole = np.stack(np.meshgrid(line, line), axis=-1).reshape(-1, 2)
    return whole + np.random.default_rng(side).normal(0.0, jitter, whole.shape)


def board(side: int, seed: int) -> np.ndarray:
    """Return half the places of a lattice, in rows of four."""
    rng = np.random.default_rng(seed)
    rows = rng.permutation(side * side)[: side * side // 8]
    starts = np.stack(np.divmod(rows, side), axis=1) * [1, 4]
    return np.concatenate([starts + np.array([0, step]) for step in range(4)]).astype(float)


def proven_with(points: np.ndarray, work: int) -> bool:
    return ds.solve(points, "exact", max_work=work).status == "optimal"


@pytest.mark.parametrize("points", [
    np.random.default_rng(0).random((250, 2)),
    np.random.default_rng(1).random((400, 2)) * [1e6, 3e5],
    clustered(300, 2),
    lattice(15, 0.35),
    board(20, 4),
    clustered(250, 5, 0.01),
], ids=["uniform", "stretched", "clusters", "loose lattice", "rows", "tight"])  # fmt: skip
def test_the_work_is_that_predicted_within_a_factor_of_three(points):
    predicted = predicted_work(points)
    assert proven_with(points, int(3.0 * predicted))
    assert not proven_with(points, int(predicted / 3.0))


def test_what_is_hard_is_seen_to_be():
    jittered = lattice(13, 0.02)
    for points in (jittered, lattice(40, 0.0)):
        assert predicted_work(points) > auto.EXACT_WORK
        assert predicted_work(points, auto.EXACT_WORK) > auto.EXACT_WORK
    assert not proven_with(jittered, auto.EXACT_WORK)


def test_trees_across_gaps_are_foreseen():
    """A small window holds two or three of the clusters, whose trees are the least of the work."""
    tight = clustered(400, 6, 0.0005)
    loose = clustered(400, 6, 0.05)
    assert predicted_work(tight) > 2.0 * predicted_work(loose)
    assert not proven_with(tight, int(2.0 * predicted_work(loose)))


def test_small_instances_are_simply_tried():
    assert predicted_work(lattice(9, 0.0)) == 0.0
    assert predicted_work(np.random.default_rng(0).random((2 * POINTS + 1, 2))) > 0.0


def test_the_same_points_are_judged_alike():
    points = clustered(200, 3)
    assert predicted_work(points) == predicted_work(points.copy())


def test_auto_proves_a_thousand_random_points():
    points = np.random.default_rng(4).random((1000, 2))
    assert ds.solve(points).status == "optimal"


def test_auto_does_not_begin_what_is_predicted_to_take_long(monkeypatch):
    def never(*given: object) -> None:
        raise AssertionError("exact was called")

    monkeypatch.setattr(exact, "solve", never)
    quick = auto.Choice(math.inf, auto.local, auto.local.Options(effort="fast"))
    monkeypatch.setattr(auto, "CHOICES", (quick,))
    assert ds.solve(lattice(12, 0.02)).method == "local"
    monkeypatch.setattr(auto, "EXACT_WORK", 200)
    assert ds.solve(np.random.default_rng(5).random((350, 2))).method == "local"


def test_choosing_counts_as_work(monkeypatch):
    """Where a linear programme is needed, a list can be complete and the proof out of work."""
    points = lattice(6, 0.03)
    whole = ds.solve(points, "exact", max_work=5000)
    assert whole.status == "optimal"
    assert whole.info["concatenation"]["lp_solves"] > 0
    monkeypatch.setitem(concatenation.SLICES, "cut", 5000)
    short = ds.solve(points, "exact", max_work=5000)
    assert short.status == "feasible"
    assert short.info["generation"]["trees"] == whole.info["generation"]["trees"]
    assert short.lower_bound > 0.9 * short.length  # far above what is known without a list
