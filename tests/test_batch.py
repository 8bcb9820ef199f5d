"""`solve_many`: order, packing, ragged sizes, processes, interruption."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import deepsteiner as ds
from deepsteiner.core.errors import PointsError, TreeError
from deepsteiner.core.geo import GeoPoints

RNG = np.random.default_rng(4)


def test_solutions_behave_like_a_sequence():
    batch = RNG.random((5, 6, 2))
    solutions = ds.solve_many(batch, "greedy")
    assert len(solutions) == 5
    assert solutions.lengths.shape == (5,)
    assert [s.length for s in solutions] == solutions.lengths.tolist()
    assert (solutions[-1].terminals == batch[4]).all()
    assert [s.length for s in solutions[1:3]] == solutions.lengths[1:3].tolist()
    assert solutions.statuses == ["feasible"] * 5
    assert solutions[0].runtime == pytest.approx(solutions.runtime / 5)
    with pytest.raises(IndexError):
        solutions[5]
    assert "5 instances" in repr(solutions)
    assert solutions.validate(strict=True) is solutions


def test_ragged_batches_keep_their_order():
    sizes = [3, 1, 12, 2, 80, 5, 12, 1]
    batch = [RNG.random((n, 2)) for n in sizes]
    solutions = ds.solve_many(batch)
    assert [len(s.terminals) for s in solutions] == sizes
    for points, solution in zip(batch, solutions, strict=True):
        assert (solution.terminals == points).all()
        assert solution.validate().length == ds.solve(points).length


def test_empty_batch():
    assert len(ds.solve_many([])) == 0
    assert ds.solve_many([]).lengths.shape == (0,)
    assert ds.solve_many([]).validate() is not None
    assert ds.solve_many(np.empty((0, 5, 2)), "mst").lengths.shape == (0,)


def test_trivial_members_are_optimal():
    solutions = ds.solve_many([[[1, 2]], [[0, 0], [3, 4]], [[1, 1], [1, 1]]], "mst")
    assert solutions.statuses == ["optimal"] * 3
    assert solutions.lengths.tolist() == [0, 5, 0]
    assert solutions.lower_bounds.tolist() == [0, 5, 0]
    assert solutions[1].gap == 0


def test_threads_give_the_same_trees_in_the_same_order():
    batch = RNG.random((500, 12, 2))
    one = ds.solve_many(batch, "greedy", workers=1)
    three = ds.solve_many(batch, "greedy", workers=3)
    assert (one.lengths == three.lengths).all()
    assert (one.trees.edges == three.trees.edges).all()


def test_a_fault_in_a_thread_is_the_callers(monkeypatch):
    from deepsteiner.solvers.textbook import greedy

    def fail(*_):
        raise TreeError("a thread's")

    monkeypatch.setattr(greedy, "solve_batch", fail)
    with pytest.raises(TreeError, match="a thread's"):
        ds.solve_many(RNG.random((500, 12, 2)), "greedy", workers=2)


@pytest.mark.parametrize("workers", [1, 2])
def test_progress_counts_instances_and_can_stop(workers):
    batch = RNG.random((2000, 10, 2))
    seen: list[int] = []

    def stop_early(progress: ds.Progress) -> bool:
        seen.append(progress.done)
        assert progress.total == 2000
        return False

    solutions = ds.solve_many(batch, "greedy", on_progress=stop_early, workers=workers)
    solutions.validate()
    assert len(seen) == 1
    statuses = solutions.statuses
    assert statuses[: seen[0]] == ["feasible"] * seen[0]
    # Chunks that were under way have their trees too.
    finished = statuses.count("feasible")
    assert seen[0] <= finished < 1000
    assert statuses == ["feasible"] * finished + ["interrupted"] * (2000 - finished)
    assert solutions[1999].length == ds.solve(batch[1999], "mst").length


def test_a_broken_tree_names_its_instance():
    solutions = ds.solve_many(RNG.random((3, 5, 2)), "mst")
    edges = solutions.trees.edges.copy()
    edges[4:8] = edges[4]
    with pytest.raises(TreeError, match="instance 1: the edges do not connect"):
        replace(solutions, trees=replace(solutions.trees, edges=edges)).validate()
    wrong = solutions.lengths * np.array([1, 1, 1.01])
    with pytest.raises(TreeError, match="instance 2: the edges do not sum"):
        replace(solutions, lengths=wrong).validate()
    with pytest.raises(ValueError, match="read-only"):
        solutions.trees.edges[0] = 0


def test_strict_validation_names_the_instance():
    solutions = ds.solve_many(np.random.default_rng(0).random((4, 12, 2)), "greedy", relax=False)
    with pytest.raises(TreeError, match=r"instance \d: node \d+"):
        solutions.validate(strict=True)


def test_geographic_members_are_refused():
    with pytest.raises(PointsError, match="instance 1 is in EPSG:4326"):
        ds.solve_many([RNG.random((3, 2)), GeoPoints(RNG.random((3, 2)))])


def test_time_limit_is_per_instance():
    solutions = ds.solve_many([RNG.random((300, 2))] * 2, "greedy", time_limit=0)
    assert solutions.statuses == ["time_limit"] * 2
