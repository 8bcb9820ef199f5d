"""`auto` between two trees: whichever is shorter comes back, with what the other has proven."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import deepsteiner as ds
from deepsteiner.geometry.spanning_trees import minimum_spanning_tree
from deepsteiner.run.method import Tree
from deepsteiner.run.monitor import Monitor
from deepsteiner.solvers import auto

POINTS = np.random.default_rng(3).random((60, 2))


@pytest.fixture
def other(monkeypatch):
    """Return a way to say what the exact solver does within a time limit."""

    def make(change):
        plain = auto.exact.solve
        monkeypatch.setattr(
            auto.exact, "solve", lambda run, options, known=None: change(plain(run, options, known))
        )

    return make


def spanning_with_bound(tree: Tree) -> Tree:
    """An exact solver that was stopped: the spanning tree, unproven, and a bound."""
    from deepsteiner.core.points import Frame
    from deepsteiner.geometry.spanning_trees import minimum_spanning_tree

    edges = minimum_spanning_tree(Frame.of(POINTS).into(POINTS))
    return Tree(np.empty((0, 2)), edges, 0.9 * tree.lower_bound)


def test_the_heuristics_tree_stays_where_exact_found_a_longer_one(other):
    best = ds.solve(POINTS, "exact").length
    other(spanning_with_bound)
    solution = ds.solve(POINTS, time_limit=60)
    assert (solution.method, solution.status) == ("neural", "feasible")
    assert best * (1 - 1e-12) <= solution.length < 1.01 * best
    assert solution.length < ds.solve(POINTS, "mst").length
    assert solution.lower_bound == pytest.approx(0.9 * best)
    assert solution.gap > 0.1


def test_the_exact_solvers_tree_comes_back_where_it_is_shorter(other):
    other(lambda tree: replace(tree, optimal=False, lower_bound=0.9 * tree.lower_bound))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(auto, "_heuristic", lambda run: spanning_with_bound(Tree(None, None, 1.0)))
        solution = ds.solve(POINTS, time_limit=60)
    assert (solution.method, solution.status) == ("exact", "feasible")
    assert solution.length == pytest.approx(ds.solve(POINTS, "exact").length)


def test_a_proof_is_never_given_up(monkeypatch):
    """Not even for a tree that is as short."""
    monkeypatch.setattr(auto, "_heuristic", lambda run: replace(same(run), optimal=False))

    def same(run) -> Tree:
        return auto.exact.solve(replace(run, monitor=Monitor()), auto.exact.Options())

    solution = ds.solve(POINTS, time_limit=60)
    assert (solution.method, solution.status) == ("exact", "optimal")


def test_work_is_limited_where_instances_may_be_hard(monkeypatch):
    """Beyond the smallest, a proof may take twice what is predicted at most, and no longer."""
    given = {}

    def solve(run, options, known=None):
        given[len(run.points)] = options.max_work
        return Tree(np.empty((0, 2)), minimum_spanning_tree(run.points))

    monkeypatch.setattr(auto.exact, "solve", solve)
    for n in (5, auto.BATCH_LIMIT, auto.BATCH_LIMIT + 1, 60):
        ds.solve(np.random.default_rng(n).random((n, 2)))
    assert given == {
        5: None,
        auto.BATCH_LIMIT: None,
        auto.BATCH_LIMIT + 1: 2 * auto.EXACT_WORK,
        60: 2 * auto.EXACT_WORK,
    }


@pytest.mark.parametrize("method", ["exact", "auto"])
def test_a_proven_tree_has_no_gap_at_all(method):
    """Rounding between the frame and the user's coordinates leaves none, at any scale."""
    rng = np.random.default_rng(5)
    for n in (2, 3, 8, 25, 40):
        for scale in (1.0, 1e-7, 3e5):
            points = scale * rng.random((n, 2)) + scale
            solution = ds.solve(points, method)
            assert solution.status == "optimal"
            assert solution.lower_bound == solution.length
            assert solution.gap == 0.0
