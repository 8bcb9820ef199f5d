"""Claims that a known tree contradicts are withdrawn, logged, and never handed out."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import deepsteiner as ds
from deepsteiner.core.proofs import is_contradicted, report_contradiction, stated_bound
from deepsteiner.fst.select.exact import concatenation as concat
from deepsteiner.fst.select.exact.witness_kernels import witness_length
from deepsteiner.geometry.spanning_trees import minimum_spanning_tree
from deepsteiner.solvers import exact as solver

POINTS = np.random.default_rng(5).random((30, 2))
OPTIMUM = ds.solve(POINTS, "exact").length

withdraws = pytest.mark.withdraws  # these make the package contradict itself, on purpose


@pytest.fixture
def liar(monkeypatch):
    """Make concatenation return the spanning tree and call it proven, as a wrong list would."""
    right = concat.concatenate

    def wrong(trees, **options):
        choice = right(trees, **options)
        spanning = np.arange(len(trees.points) - 1)
        length = float(trees.length[spanning].sum())
        return replace(choice, selected=spanning, length=length, lower_bound=length)

    monkeypatch.setattr(concat, "concatenate", wrong)


def assert_withdrawn(solution, caplog):
    assert solution.status == "feasible"
    assert solution.lower_bound is None
    assert solution.length < ds.solve(POINTS, "mst").length
    assert solution.length >= OPTIMUM * (1 - 1e-12)
    record = solution.info["contradiction"]
    assert record["bound"] > record["length"] * (1 + 1e-9)
    text = caplog.text
    assert "claimed a lower bound" in text
    assert repr(POINTS.tolist()) in text  # what reproduces it


@withdraws
def test_a_proof_that_the_witness_contradicts(liar, caplog):
    assert_withdrawn(ds.solve(POINTS, "exact"), caplog)


@withdraws
def test_a_proof_that_the_start_contradicts(liar, caplog, monkeypatch):
    monkeypatch.setattr(
        "deepsteiner.fst.select.exact.witness_kernels.witness_length", lambda *_: np.inf
    )
    start = ds.solve(POINTS, "local")
    solution = ds.solve(POINTS, "exact", start=start)
    assert_withdrawn(solution, caplog)
    assert solution.length <= start.length


@withdraws
def test_a_proof_that_autos_first_tree_contradicts(liar, caplog, monkeypatch):
    monkeypatch.setattr(
        "deepsteiner.fst.select.exact.witness_kernels.witness_length", lambda *_: np.inf
    )
    solution = ds.solve(POINTS, "auto", time_limit=20)
    assert solution.status == "feasible"
    assert solution.lower_bound is None
    assert "claimed a lower bound" in caplog.text


def test_a_wrong_proof_of_the_small_kernel_goes_to_the_large_one():
    """The kernel says that it proved nothing where its own witness is shorter."""
    points = np.random.default_rng(1).uniform(-1, 1, (2, 9, 2))
    small = solver._Small(points)
    small.solve(0, 2)
    assert small.claims.proven.all()
    for one, length in zip(points, small.claims.lengths, strict=True):
        assert length <= witness_length(one, minimum_spanning_tree(one))


@withdraws
def test_a_bound_above_the_length_is_withdrawn_whatever_the_method(monkeypatch, caplog):
    from deepsteiner.solvers.textbook import mst

    right = mst.solve
    monkeypatch.setattr(
        mst, "solve", lambda run, options: replace(right(run, options), lower_bound=1e3)
    )
    solution = ds.solve(POINTS, "mst")
    assert solution.lower_bound is None
    assert solution.info["contradiction"]["method"] == "mst"
    assert "'mst' claimed" in caplog.text


@pytest.mark.parametrize("n", [2, 3, 4, 5, 9, 40, 300])
def test_witness_is_the_length_of_a_tree(n):
    """A slow twin: take the corners one by one and add up three-point trees."""
    rng = np.random.default_rng(n)
    for points in (rng.uniform(-1, 1, (n, 2)), rng.integers(-4, 5, (n, 2)) / 4):
        edges = minimum_spanning_tree(points)
        lengths = np.hypot(*(points[edges[:, 0]] - points[edges[:, 1]]).T)
        corners = []
        for i in range(len(edges)):
            for j in range(i):
                shared = set(edges[i]) & set(edges[j])
                ends = list(set(edges[i]) ^ set(edges[j]))
                if len(shared) == 1 and len(ends) == 2:
                    three = points[[*shared, *ends]]
                    joined = ds.solve(three, "exact").length
                    corners.append((lengths[i] + lengths[j] - joined, i, j))
        total, taken = lengths.sum(), set()
        for saving, i, j in sorted(corners, reverse=True):
            if saving > 1e-12 and not taken & {i, j}:
                total -= saving
                taken |= {i, j}
        # Ties may be taken in another order.
        assert witness_length(points, edges) == pytest.approx(total, rel=1e-3)
        assert witness_length(points, edges) <= lengths.sum() * (1 + 1e-14)


def test_stated_bounds():
    assert stated_bound(1.0 - 1e-14, 1.0) == 1.0
    assert stated_bound(1.0 + 1e-14, 1.0) == 1.0
    assert stated_bound(0.9, 1.0) == 0.9
    assert np.isnan(stated_bound(np.nan, 1.0))
    assert not is_contradicted(5e-324, 0.0)
    assert is_contradicted(2e-300, 1e-300)


@withdraws
def test_many_points_are_written_to_a_file(caplog, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    points = np.random.default_rng(0).random((100, 2))
    report_contradiction("exact", points, 2.0, 1.0)
    (path,) = tmp_path.iterdir()
    assert str(path) in caplog.text
    assert (np.load(path) == points).all()
