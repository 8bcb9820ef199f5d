"""A few hundred instances of the adversarial fuzzer, and the fuzzer itself put to the test."""

from __future__ import annotations

import logging

import fuzz  # of benchmarks/
import numpy as np
import pytest

import deepsteiner as ds


def test_there_are_enough_families():
    assert len(fuzz.FAMILIES) >= 40


# Of some families an instance takes long.
FEWER = {"concentric_rings": 2}


@pytest.mark.parametrize("family", fuzz.FAMILIES)
def test_instances_of_a_family(family):
    for outcome in fuzz.run_span(family, 2, 0, FEWER.get(family, 6)):
        assert outcome.faults == []


@pytest.mark.heavy
@pytest.mark.parametrize("family", FEWER)
def test_more_instances_of_a_slow_family(family):
    for outcome in fuzz.run_span(family, 2, FEWER[family], 6):
        assert outcome.faults == []


def test_instances_depend_on_their_numbers_only():
    for family in fuzz.FAMILIES:
        one, two = (fuzz.instance(family, 3, 5) for _ in range(2))
        assert one.tobytes() == two.tobytes()
        assert np.isfinite(one).all()
    assert fuzz.instance("uniform", 3, 5).tobytes() != fuzz.instance("uniform", 3, 6).tobytes()


def test_brute_force_knows_the_square_and_the_cross():
    square = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
    length, bound = fuzz.brute_force(square)
    assert length == pytest.approx(1 + np.sqrt(3), rel=1e-12)
    assert bound == pytest.approx(length, rel=1e-9)
    assert [len(fuzz.full_topologies(n)) for n in (3, 4, 5)] == [1, 3, 15]


class TestFaultsAreFound:
    """The fuzzer must notice each kind of fault, or its silence means nothing."""

    points = np.random.default_rng(0).random((5, 2))

    def kinds(self, points=None):
        _, findings = fuzz.check(self.points if points is None else points, ("mst", "smith"))
        return {kind for kind, _ in findings.kinds}

    def test_nothing_is_found_where_nothing_is_wrong(self):
        assert self.kinds() == set()

    @pytest.mark.withdraws
    def test_a_wrong_proof(self, monkeypatch):
        from deepsteiner.core.trees import tree_length
        from deepsteiner.geometry.spanning_trees import minimum_spanning_tree
        from deepsteiner.run.method import Tree
        from deepsteiner.solvers import exact

        def claim(run, options, known=None):
            edges = minimum_spanning_tree(run.points)
            length = tree_length(run.points, edges)
            return Tree(np.empty((0, 2)), edges, length, optimal=True)

        monkeypatch.setattr(exact, "solve", claim)
        assert "wrong proof" in self.kinds()

    def test_an_exception(self, monkeypatch):
        from deepsteiner.solvers.textbook import smith

        monkeypatch.setattr(smith, "solve", lambda run, options: 1 / 0)
        assert self.kinds() == {"exception"}

    def test_a_withdrawn_proof(self, monkeypatch):
        log = logging.getLogger("deepsteiner")
        attempt = fuzz.attempt

        def noisy(*args, **options):
            log.error("a contradiction")
            return attempt(*args, **options)

        monkeypatch.setattr(fuzz, "attempt", noisy)
        assert self.kinds() == {"wrong proof"}

    def test_terminals_that_were_changed(self, monkeypatch):
        solve = ds.solve

        def changed(points, *args, **options):
            return solve(points * (1 + 1e-15), *args, **options)

        monkeypatch.setattr(ds, "solve", changed)
        assert "invalid tree" in self.kinds()


def test_a_tree_whose_refinement_went_in_circles():
    """An edge was contracted and split in turn until the rounds were used up."""
    points = fuzz.instance("concentric_rings", 5, 699)
    ds.solve(points, method="dreyer").validate(strict=True)
