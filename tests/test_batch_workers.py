"""`solve_many` with workers: who works on ragged batches, stopping, names, and deaths."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import deepsteiner as ds
import worker_items
from deepsteiner import batch as batch_module
from deepsteiner.core.errors import OptionError, PointsError, WorkerError
from deepsteiner.run.parts import part_of_solutions
from deepsteiner.solvers.textbook import greedy

RNG = np.random.default_rng(8)
KERNEL_SIZE = greedy.BATCH_LIMIT  # larger instances go one by one


def ragged(sizes):
    return [RNG.random((n, 2)) for n in sizes]


def same_trees(one, two):
    return (one.trees.edges == two.trees.edges).all() and (one.lengths == two.lengths).all()


# --- who works ----------------------------------------------------------------------------------


@pytest.mark.parametrize("workers", [2, 3])
def test_sizes_that_all_differ_are_shared_by_processes(tmp_path, monkeypatch, workers):
    """No process solves before the others have come, so one alone would wait in vain."""
    batch = ragged(range(KERNEL_SIZE + 1, KERNEL_SIZE + 9))
    monkeypatch.setattr(batch_module, "_solve_row", worker_items.solve_in_company)
    monkeypatch.setenv("MEETING", str(tmp_path))
    monkeypatch.setenv("SOLVERS", str(workers))
    solutions = ds.solve_many(batch, "greedy", workers=workers)
    assert len(list(tmp_path.iterdir())) == workers
    monkeypatch.undo()
    assert same_trees(solutions, ds.solve_many(batch, "greedy"))


def test_kernel_sizes_that_all_differ_are_shared_by_threads(monkeypatch):
    """Two chunks of one instance each, of two sizes: both are under way, or the barrier breaks."""
    barrier = threading.Barrier(2, timeout=worker_items.PATIENCE)
    solve_batch = greedy.solve_batch

    def solve_together(batch, options):
        barrier.wait()
        return solve_batch(batch, options)

    batch = ragged([9, 10])
    expected = ds.solve_many(batch, "greedy")
    monkeypatch.setattr(greedy, "solve_batch", solve_together)
    assert same_trees(ds.solve_many(batch, "greedy", workers=2), expected)


def test_two_instances_of_one_size_are_shared_by_threads(monkeypatch):
    seen = Counter()
    solve_batch = greedy.solve_batch

    def count(batch, options):
        seen[len(batch.points)] += 1
        return solve_batch(batch, options)

    monkeypatch.setattr(greedy, "solve_batch", count)
    ds.solve_many(ragged([9, 9]), "greedy", workers=2)
    assert seen == {1: 2}


def test_few_small_instances_start_no_process(monkeypatch):
    def refuse(*_):
        raise AssertionError("a process was started")

    monkeypatch.setattr(batch_module, "Processes", refuse)
    pair, twice = [[0, 0], [3, 4]], [[0, 0], [1, 0], [1, 1], [1, 1]]
    solutions = ds.solve_many([pair, twice, [[5, 5]], RNG.random((80, 2))], "greedy", workers=2)
    assert solutions.lengths[:3].tolist() == [5, pytest.approx(1.9318516), 0]


def test_many_small_instances_with_duplicates_are_shared_by_processes(tmp_path, monkeypatch):
    monkeypatch.setattr(batch_module, "_START_SECONDS", -1.0)
    monkeypatch.setattr(batch_module, "_solve_row", worker_items.solve_in_company)
    monkeypatch.setenv("MEETING", str(tmp_path))
    monkeypatch.setenv("SOLVERS", "2")
    points = RNG.random((10, 6, 2))
    points[:, 5] = points[:, 4]
    solutions = ds.solve_many(points, "greedy", workers=2)
    assert len(list(tmp_path.iterdir())) == 2
    monkeypatch.undo()
    assert same_trees(solutions, ds.solve_many(points, "greedy"))


def test_a_script_needs_no_guard(tmp_path):
    (tmp_path / "script.py").write_text(
        "import numpy as np, deepsteiner as ds\n"
        "print('once')\n"
        "batch = [np.random.default_rng(n).random((n, 2)) for n in (70, 71, 72)]\n"
        "print(ds.solve_many(batch, 'greedy', workers=2).lengths.shape)\n"
    )
    path = os.pathsep.join([str(Path(ds.__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    result = subprocess.run(
        [sys.executable, "script.py"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert result.stdout == "once\n(3,)\n"


# --- stopping -----------------------------------------------------------------------------------


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("first", [5, KERNEL_SIZE + 1])
def test_a_stop_ends_a_ragged_batch_as_a_whole(workers, first):
    """The first size goes through a kernel in one case, and one by one in the other."""
    batch = ragged(range(first, first + 40))
    answers = []

    def stop(progress: ds.Progress) -> bool:
        answers.append(progress.done < 2)
        return answers[-1]

    solutions = ds.solve_many(batch, "greedy", workers=workers, on_progress=stop)
    assert answers.count(False) == 1
    finished = solutions.statuses.count("feasible")
    assert 2 <= finished < 20
    assert solutions.statuses.count("interrupted") == 40 - finished
    spanning = ds.solve_many(batch, "mst")
    unsolved = [row for row, name in enumerate(solutions.methods) if name == "mst"]
    assert len(unsolved) >= 20
    assert (solutions.lengths[unsolved] == spanning.lengths[unsolved]).all()
    solutions.validate()


def test_a_stop_reaches_worker_processes_in_the_middle_of_an_instance():
    """Two are at work on instances that take minutes while the third solves the small ones."""
    batch = ragged([20_000, 19_000, 70, 71, 72])
    stopped = []

    def stop(progress: ds.Progress) -> bool:
        stopped[progress.done == 3 :] = [progress.elapsed]
        return progress.done < 3

    solutions = ds.solve_many(batch, "greedy", workers=3, on_progress=stop)
    assert solutions.statuses == ["interrupted"] * 2 + ["feasible"] * 3
    assert solutions.runtime - stopped[-1] < 30


@pytest.mark.skipif(sys.platform == "win32", reason="process groups of Unix")
def test_an_interrupt_ends_a_script_and_its_processes(tmp_path):
    """As Ctrl-C in a terminal does it: everyone in the group gets the signal."""
    code = (
        "import numpy as np, deepsteiner as ds\n"
        "batch = [np.random.default_rng(n).random((n, 2)) for n in (19_000, 20_000, 70)]\n"
        "ds.solve_many(batch, 'greedy', workers=3, on_progress=lambda p: print(p.done, flush=True))"
    )
    with subprocess.Popen(
        [*worker_items.PYTHON, "-c", code],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as script:
        assert any(line == "1\n" for line in script.stdout)
        os.killpg(script.pid, signal.SIGINT)
        _, errors = script.communicate(timeout=worker_items.PATIENCE)
    assert script.returncode == -signal.SIGINT
    assert errors.count("Traceback") == 1
    assert errors.endswith("KeyboardInterrupt\n")
    with pytest.raises(ProcessLookupError):
        os.killpg(script.pid, 0)  # nobody of the group is left


def test_an_instance_that_was_stopped_does_not_count_as_finished():
    calls = []

    def stop(progress: ds.Progress) -> bool:
        calls.append(progress.done)
        return calls.count(2) < 3  # in the middle of the third

    job = batch_module.Job(
        ragged([5, 6, 800, 81]),
        "greedy",
        {},
        {"time_limit": None, "seed": 0, "duplicates": "merge", "device": "cpu"},
        on_progress=stop,
    )
    job.run()
    rows, solutions = job.finished()
    assert rows.tolist() == [0, 1]
    assert [len(solution.terminals) for solution in solutions] == [5, 6]
    whole = job.solutions()
    assert whole.statuses == ["feasible"] * 2 + ["interrupted"] * 2
    assert whole.methods == ("greedy", "greedy", "greedy", "mst")


# --- names --------------------------------------------------------------------------------------


@pytest.mark.parametrize("workers", [1, 2])
def test_each_instance_has_the_name_of_its_own_method(workers):
    """Of 30 points, `auto` solves distinct ones exactly, and for equal ones it needs no method."""
    points = RNG.random((6, 30, 2))
    points[::2] = 0.5
    solutions = ds.solve_many([*points, RNG.random((7, 2))], "auto", workers=workers)
    assert list(solutions.methods) == ["auto", "exact"] * 3 + ["exact"]
    assert [solution.method for solution in solutions] == list(solutions.methods)


def test_a_part_keeps_every_name():
    solved = {row: ds.solve(RNG.random((5, 2)), name) for row, name in ((4, "mst"), (1, "greedy"))}
    assert part_of_solutions(solved).methods.tolist() == ["mst", "greedy"]


# --- what goes wrong ----------------------------------------------------------------------------


def test_a_worker_that_dies_is_one_sentence_and_what_is_finished_is_kept(monkeypatch):
    batch = ragged([*range(90, 70, -1), 5])
    monkeypatch.setattr(batch_module, "_solve_row", worker_items.solve_until_victim)
    monkeypatch.setenv("VICTIM", "13")
    expected = r"died at instance 13: it was killed by SIGKILL.*; \d+ of 21 instances are finished$"
    with pytest.raises(WorkerError, match=expected) as caught:
        ds.solve_many(batch, "greedy", workers=2)
    assert str(caught.value).count("\n") == 0
    finished = caught.value.finished
    assert set(finished) == set(range(21)) - {13}
    assert list(caught.value.failed) == [13]
    assert "20 of 21" in str(caught.value)
    for row, solution in finished.items():
        assert solution.length == ds.solve(batch[row], "greedy").length


def test_a_worker_that_dies_once_costs_nothing(monkeypatch, tmp_path):
    batch = ragged(range(90, 70, -1))
    expected = ds.solve_many(batch, "greedy")
    monkeypatch.setattr(batch_module, "_solve_row", worker_items.solve_or_die_once)
    monkeypatch.setenv("VICTIM", "4")
    monkeypatch.setenv("MEETING", str(tmp_path))
    solved = ds.solve_many(batch, "greedy", workers=2)
    assert [file.name for file in tmp_path.iterdir()] == ["died"]
    assert same_trees(solved, expected)


def test_bad_instances_are_named_by_worker_processes_too():
    batch = ragged([80, 81, 82])
    batch[1][7] = batch[1][3]
    with pytest.raises(PointsError, match="instance 1: points: rows 3 and 7 are equal"):
        ds.solve_many(batch, "greedy", workers=2, duplicates="raise")


@pytest.mark.parametrize("workers", [0, -1, 1.5, True, "2"])
def test_bad_counts_of_workers(workers):
    with pytest.raises(OptionError, match="workers must be an integer of at least 1"):
        ds.solve_many(ragged([3]), workers=workers)
