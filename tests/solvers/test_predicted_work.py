"""What a proof will cost: the prediction, and the work that is really done."""

from __future__ import annotations

import math

import numpy as np
import pytest

import deepsteiner as ds
from deepsteiner.fst.select.exact import concatenation
from deepsteiner.solvers import auto, exact
from deepsteiner.solvers.predicted_work import POINTS, predicted_work


def clustered(n: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.random((12, 2))[rng.integers(0, 12, n)] + rng.normal(0.0, 0.05, (n, 2))


def lattice(side: int, jitter: float) -> np.ndarray:
    line = np.arange(float(side))
    whole = np.stack(np.meshgrid(line, line), axis=-1).reshape(-1, 2)
    return whole + np.random.default_rng(side).normal(0.0, jitter, whole.shape)


def proven_with(points: np.ndarray, work: int) -> bool:
    return ds.solve(points, "exact", max_work=work).status == "optimal"


@pytest.mark.parametrize("points", [
    np.random.default_rng(0).random((250, 2)),
    np.random.default_rng(1).random((400, 2)) * [1e6, 3e5],
    clustered(300, 2),
    lattice(15, 0.35),
], ids=["uniform", "stretched", "clusters", "loose lattice"])  # fmt: skip
def test_the_work_is_that_predicted_within_a_factor_of_three(points):
    predicted = predicted_work(points)
    assert proven_with(points, int(3.0 * predicted))
    assert not proven_with(points, int(predicted / 3.0))


def test_tight_lattices_are_beyond_prediction():
    assert predicted_work(lattice(15, 0.02)) == math.inf
    assert predicted_work(lattice(40, 0.0)) == math.inf


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
