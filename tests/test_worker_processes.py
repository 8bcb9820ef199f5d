"""`solve_many(workers=2)` with methods that have no batch kernel: other processes do the work."""

from __future__ import annotations

import numpy as np
import pytest

import deepsteiner as ds
from deepsteiner.core.errors import PointsError
from deepsteiner.solvers.textbook import mst

# More points than the batch kernel of the spanning tree takes.
MANY = mst.BATCH_LIMIT + 100
RNG = np.random.default_rng(4)
BATCHES = {
    "one size": [RNG.random((MANY, 2)) for _ in range(6)],
    "all sizes differ": [RNG.random((MANY + k, 2)) for k in (5, 0, 3, 1, 4, 2)],
}


@pytest.fixture
def solved_here(monkeypatch):
    """Return the sizes of the instances that this process solves, as they come."""
    sizes: list[int] = []
    plain = mst.solve

    def noted(run, options):
        sizes.append(len(run.points))
        return plain(run, options)

    monkeypatch.setattr(mst, "solve", noted)  # a worker process imports the module afresh
    return sizes


@pytest.mark.parametrize("name", BATCHES)
def test_with_one_worker_the_instances_are_solved_here(name, solved_here):
    ds.solve_many(BATCHES[name], "mst", workers=1)
    assert sorted(solved_here) == sorted(map(len, BATCHES[name]))


@pytest.mark.parametrize("name", BATCHES)
def test_with_two_workers_other_processes_solve_them(name, solved_here):
    batch = BATCHES[name]
    one = ds.solve_many(batch, "mst", workers=1)
    solved_here.clear()
    two = ds.solve_many(batch, "mst", workers=2)
    assert solved_here == []
    assert (one.lengths == two.lengths).all()
    assert (one.trees.edges == two.trees.edges).all()
    assert [solution.method for solution in two] == ["mst"] * len(batch)
    for points, solution in zip(batch, two, strict=True):
        assert solution.terminals.tobytes() == points.tobytes()


def test_a_fault_in_another_process_names_the_instance(solved_here):
    batch = np.stack(BATCHES["one size"])
    batch[3, 7] = batch[3, 2]
    with pytest.raises(PointsError, match=r"instance 3: .*rows 2 and 7 are equal"):
        ds.solve_many(batch, "mst", workers=2, duplicates="raise")
    assert solved_here == []
