"""The exception tree, and what a fault of our own looks like from outside."""

from __future__ import annotations

import pickle
import subprocess
import sys

import numpy as np
import pytest

import deepsteiner as ds
from deepsteiner import cli
from deepsteiner.core import errors as definitions
from deepsteiner.run.method import Tree
from deepsteiner.solvers.textbook import greedy, mst

PARENTS = {
    "DeepSteinerError": Exception,
    "InputError": ValueError,
    "PointsError": ValueError,
    "FormatError": ValueError,
    "NetworkError": ValueError,
    "ObstacleError": ValueError,
    "OptionError": ValueError,
    "UnknownMethodError": ValueError,
    "TreeError": ValueError,
    "MissingDependencyError": ImportError,
    "InternalError": RuntimeError,
    "WorkerError": RuntimeError,
}


def test_the_public_tree_is_the_one_that_is_raised():
    assert set(PARENTS) == set(ds.errors.__all__)
    assert ds.DeepSteinerError is ds.errors.DeepSteinerError
    for name, parent in PARENTS.items():
        kind = getattr(ds.errors, name)
        assert kind is getattr(definitions, name)
        assert issubclass(kind, ds.DeepSteinerError)
        assert issubclass(kind, parent)
        assert kind.__doc__
        assert name in ds.errors.__doc__
        assert str(pickle.loads(pickle.dumps(kind("a sentence")))) == "a sentence"


def test_only_bad_input_is_a_value_error():
    for name in ("InternalError", "MissingDependencyError", "DeepSteinerError"):
        assert not issubclass(getattr(ds.errors, name), ValueError)
    for name in ("InternalError", "MissingDependencyError"):
        assert not issubclass(getattr(ds.errors, name), ds.errors.InputError)


@pytest.mark.parametrize(
    ("call", "kind"),
    [
        (lambda: ds.solve([[0, 0], [np.nan, 0]]), ds.errors.PointsError),
        (lambda: ds.solve([[0, 0]], "nothing"), ds.errors.UnknownMethodError),
        (lambda: ds.solve([[0, 0]], "greedy", color=1), ds.errors.OptionError),
        (lambda: ds.load_points("nowhere.csv"), ds.errors.FormatError),
        (lambda: ds.Solution([[0, 0], [1, 1]], [], [], 0.0).validate(), ds.errors.TreeError),
    ],
)
def test_bad_input_is_caught_as_before(call, kind):
    with pytest.raises(kind):
        call()
    with pytest.raises(ValueError, match=r"\w"):
        call()


def not_a_tree(run, options):
    return Tree(np.empty((0, 2)), np.array([[0, 1], [0, 1]]))


def test_a_fault_says_how_to_repeat_it(monkeypatch):
    monkeypatch.setattr(greedy, "solve", not_a_tree)
    points = np.random.default_rng(0).random((3, 2))
    with pytest.raises(ds.errors.InternalError) as caught:
        ds.solve(points, "greedy", seed=np.int64(4), relax=np.False_)
    (note,) = caught.value.__notes__
    call = note.removeprefix("to repeat it: ")
    assert call.endswith("'greedy', seed=4, relax=False)")
    given = eval(call, {"solve": lambda given, *_, **__: given})
    assert np.array_equal(given, points)
    with pytest.raises(ds.errors.InternalError) as caught:
        ds.solve(np.random.default_rng(0).random((2000, 2)), "greedy")
    assert "<2000 points>" in caught.value.__notes__[0]
    assert len(caught.value.__notes__[0]) < 200


def test_a_fault_of_a_batch_kernel_is_internal(monkeypatch):
    right = mst.solve_batch

    def wrong(batch, options):
        trees = right(batch, options)
        trees.edges[:] = 0
        return trees

    monkeypatch.setattr(mst, "solve_batch", wrong)
    with pytest.raises(ds.errors.InternalError, match="method 'mst' made an invalid tree"):
        ds.solve_many(np.random.default_rng(0).random((3, 5, 2)), "mst")


def test_a_fault_within_a_batch_names_the_instance_and_keeps_its_notes(monkeypatch):
    monkeypatch.setattr(greedy, "solve", not_a_tree)
    alone = np.random.default_rng(0).random((3, 2))
    twice = np.array([[0, 0], [0, 0], [1, 0], [0, 1]])  # goes alone, for its duplicates
    with pytest.raises(ds.errors.InternalError, match=r"^instance 1: method 'greedy'") as caught:
        ds.solve_many([alone, twice], "greedy")
    assert caught.value.__notes__[0].startswith("to repeat it: solve([[0.0, 0.0], [0.0, 0.0]")


def test_a_geographic_fault_says_so(monkeypatch):
    pytest.importorskip("pyproj")
    monkeypatch.setattr(mst, "solve", not_a_tree)
    with pytest.raises(ds.errors.InternalError) as caught:
        ds.solve([[13, 52], [14, 52], [13, 51]], "mst", crs="EPSG:4326")
    assert "[[13.0, 52.0]" in caught.value.__notes__[0]
    assert "crs='EPSG:4326', project_to='+proj=aeqd" in caught.value.__notes__[0]


def test_a_list_that_makes_no_tree_is_internal(monkeypatch):
    from deepsteiner.fst.select.exact import concatenation

    monkeypatch.setattr(concatenation, "_is_tree", lambda *_: False)
    with pytest.raises(ds.errors.InternalError, match="do not form a tree") as caught:
        ds.solve(np.random.default_rng(0).random((30, 2)), "exact")
    assert caught.value.__notes__


@pytest.fixture
def points_file(tmp_path):
    path = tmp_path / "points.csv"
    path.write_text("x,y\n0,0\n1,0\n0,1\n")
    return str(path)


def crash(run, options):
    raise IndexError("out of bounds")


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        (not_a_tree, "internal error: method 'mst' made an invalid tree: the edges do not connect"),
        (crash, "internal error: IndexError: out of bounds"),
    ],
)
@pytest.mark.parametrize("debug", ["", "1"])
def test_the_command_line_exits_with_70(monkeypatch, capsys, points_file, fault, words, debug):
    monkeypatch.setattr(mst, "solve", fault)
    monkeypatch.setenv("DEEPSTEINER_DEBUG", debug)
    assert cli.run(["solve", points_file, "-m", "mst", "-q"]) == 70
    *trace, last = capsys.readouterr().err.splitlines()
    assert last.startswith(f"error: {words}")
    assert "DEEPSTEINER_DEBUG=1" in last
    assert ("Traceback (most recent call last):" in trace) == bool(debug)
    assert bool(trace) == bool(debug)
    if debug and fault is not_a_tree:
        assert any(line.startswith("to repeat it: solve([[0.0, 0.0]") for line in trace)


def test_the_command_line_exits_with_2_where_the_input_is_to_blame(
    monkeypatch, capsys, points_file
):
    def missing(run, options):
        raise ds.errors.MissingDependencyError("method 'mst' needs more")

    def too_large(run, options):
        raise MemoryError

    assert cli.run(["solve", points_file, "-m", "nothing"]) == 2
    for fault, words in ((missing, "needs more"), (too_large, "memory")):
        monkeypatch.setattr(mst, "solve", fault)
        assert cli.run(["solve", points_file, "-m", "mst"]) == 2
        error = capsys.readouterr().err.splitlines()[-1]
        assert error.startswith("error: ")
        assert words in error


def test_the_exit_code_reaches_the_shell(points_file):
    code = (
        "import sys; from deepsteiner.solvers.textbook import mst; "
        "from deepsteiner.cli import main; "
        "mst.solve = lambda run, options: 1 / 0; "
        f"sys.argv = ['deepsteiner', 'solve', {points_file!r}, '-m', 'mst', '-q']; main()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 70
    assert done.stderr.startswith("error: internal error: ZeroDivisionError: division by zero")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (ds.errors.InternalError("a fault"), 500),
        (ds.errors.PointsError("bad points"), 422),
        (ds.errors.MissingDependencyError("not installed"), 501),
    ],
)
def test_the_server_tells_faults_from_bad_input(monkeypatch, capfd, error, status):
    worker = pytest.importorskip("deepsteiner.server.workers.worker")

    def task(channel):
        raise error

    answers = []
    one = worker.Worker(None, -1, {"some": task})
    monkeypatch.setattr(one, "reply", lambda job, status, body: answers.append(status))
    one.serve(worker.Request(1, False, pickle.dumps(("some", {}))))
    assert answers == [status]
    assert ("Traceback" in capfd.readouterr().err) == (status == 500)
