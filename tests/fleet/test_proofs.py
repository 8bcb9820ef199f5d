"""`exact` on executors: the tree, the claims and the refusals of one process."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import deepsteiner as ds
from deepsteiner.cli import run
from deepsteiner.core.errors import OptionError, WorkerError
from deepsteiner.fst.enumerate.tiled.threads import ThreadHands
from deepsteiner.run.executor import HereExecutor, ProcessExecutor
from deepsteiner.solvers import exact

POINTS = np.random.default_rng(3).random((300, 2)) * [100.0, 3.0]


@pytest.fixture(scope="module")
def alone():
    return ds.solve(POINTS, "exact")


def assert_same_tree(one, two):
    assert one.status == two.status
    assert one.length == two.length
    assert one.lower_bound == two.lower_bound
    assert np.array_equal(one.steiner_points, two.steiner_points)
    assert np.array_equal(one.edges, two.edges)


class Flaky(ThreadPoolExecutor):
    """A thread whose first calls are lost."""

    def __init__(self, failures):
        super().__init__(1)
        self.failures = failures

    def submit(self, function, *arguments):
        self.failures -= 1
        return super().submit(lost if self.failures >= 0 else function, *arguments)


def lost(*_):
    raise ConnectionError("the worker is gone")


def test_the_tree_is_that_of_one_process(alone):
    reports = []
    with ProcessExecutor(1) as executor:
        tree = ds.solve(POINTS, "exact", executor=executor, tile=100, on_progress=reports.append)
    assert tree.status == "optimal"
    assert tree.info["generation"]["tiles"] == 4
    assert_same_tree(tree, alone)
    told = [one for one in reports if one.phase == "generating in tiles"]
    assert told[-1].done == told[-1].total
    assert all(one.lower_bound < one.length for one in told)


def test_lost_workers_cost_their_tile(alone):
    with Flaky(2) as executor:
        assert_same_tree(ds.solve(POINTS, "exact", executor=executor, tile=150), alone)
    with Flaky(99) as executor, pytest.raises(WorkerError, match=r"failed on every try .*gone"):
        ds.solve(POINTS, "exact", executor=executor, tile=150)


def test_few_points_are_solved_here(alone):
    with Flaky(99) as executor:
        assert_same_tree(ds.solve(POINTS, "exact", executor=executor), alone)
        assert ds.solve(POINTS[:12], "exact", executor=executor).status == "optimal"


def test_a_stop_leaves_the_best_tree_so_far():
    def stop(progress):
        return progress.phase != "generating in tiles"

    tree = ds.solve(POINTS, "exact", executor=HereExecutor(), tile=100, on_progress=stop)
    assert tree.status == "interrupted"
    assert tree.length <= ds.solve(POINTS, "mst").length
    assert tree.lower_bound < tree.length
    cut = ds.solve(POINTS, "exact", executor=HereExecutor(), tile=100, time_limit=0.0)
    assert cut.status == "time_limit"


@pytest.mark.parametrize(
    ("method", "given", "words"),
    [
        ("local", {}, "method 'local' does not take an executor; exact does"),
        ("exact", {"tile": 50}, "tile"),
        ("exact", {"max_work": 5}, "max_work counts work in one piece"),
        ("exact", {"obstacles": [[(0, 0), (1, 0), (1, 1)]]}, "without obstacles"),
        ("exact", {"executor": 3}, "executor must be a concurrent.futures.Executor"),
    ],
)
def test_refusals(method, given, words):
    points = [[-1.0, 0.0], [2.0, 0.0], [0.5, 3.0]]
    with HereExecutor() as executor, pytest.raises(OptionError, match=words):
        ds.solve(points, method, **{"executor": executor, **given})


def test_max_work_and_tiles_do_not_go_together():
    with pytest.raises(OptionError, match="cannot be given together with tile"):
        ds.solve(POINTS, "exact", tile=100, max_work=5)


@pytest.mark.parametrize("threads", [1, 2])
def test_tiles_need_no_executor(threads, alone):
    tree = ds.solve(POINTS, "exact", tile=150, threads=threads)
    assert tree.info["generation"]["tiles"] == 2
    assert_same_tree(tree, alone)


def test_many_points_go_into_tiles_by_themselves(monkeypatch, alone):
    monkeypatch.setattr(exact, "ONE_PIECE", 200)
    monkeypatch.setattr(exact, "TILE_POINTS", 100)
    monkeypatch.setattr(exact, "UNDER_WAY", 300)
    halves = ds.solve(POINTS, "exact", threads=2)
    assert halves.info["generation"]["tiles"] == 2
    assert_same_tree(halves, alone)
    assert "tiles" not in ds.solve(POINTS, "exact", threads=1).info["generation"]
    assert "tiles" not in ds.solve(POINTS[:200], "exact").info["generation"]


def test_a_stop_ends_tiles_on_threads():
    def stop(progress):
        return progress.phase != "generating in tiles"

    tree = ds.solve(POINTS, "exact", tile=150, threads=2, on_progress=stop)
    assert tree.status == "interrupted"
    assert tree.length <= ds.solve(POINTS, "mst").length


def test_what_a_tile_on_threads_raises_is_raised():
    def fail(number, go_on):
        assert go_on()
        if number == 2:
            raise ValueError("two")
        return number

    hands = ThreadHands(2, lambda *_: True)
    with pytest.raises(ValueError, match="two"):
        list(hands.each("calls", ((fail, (k,)) for k in range(5)), 5))
    assert sorted(hands.each("calls", ((fail, (k,)) for k in (0, 1, 3)), 3)) == [
        (0, 0), (1, 1), (2, 3),
    ]  # fmt: skip


def test_the_command_line(tmp_path, capsys, alone):
    np.save(tmp_path / "p.npy", POINTS)
    out = tmp_path / "tree.json"
    asked = ["solve", str(tmp_path / "p.npy"), "-m", "exact", "-o", "tile=150", "-O", str(out)]
    assert run([*asked, "--engine", "processes:1"]) == 0
    tree = ds.Solution.load(out)
    assert tree.info["generation"]["tiles"] == 2
    assert_same_tree(tree, alone)
    assert run(asked) == 0  # on threads of this process
    assert_same_tree(ds.Solution.load(out), alone)
    assert run([*asked, "-o", "max_work=3"]) == 2
    assert "max_work counts work in one piece" in capsys.readouterr().err
