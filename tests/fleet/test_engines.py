"""Real engines: a Dask cluster of two worker processes, and a local Ray."""

from __future__ import annotations

import os
import signal
import threading

import numpy as np
import pytest

import deepsteiner as ds
from deepsteiner.core.errors import MissingDependencyError, OptionError, PointsError
from deepsteiner.fleet import engines
from deepsteiner.fleet import estimates as estimates_module
from deepsteiner.fleet.crew import width_of
from deepsteiner.fleet.engines import open_engine

RNG = np.random.default_rng(22)


@pytest.fixture(scope="module")
def dask():
    """Return a client of a cluster with two worker processes."""
    distributed = pytest.importorskip("distributed", reason="the [dask] extra")
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def ragged(count):
    return [RNG.random((int(n), 2)) for n in RNG.integers(1, 50, count)]


def check_engine(executor, monkeypatch):
    """Same lengths as one process, whatever the chunks, and errors by index."""
    batch = ragged(60)
    expected = ds.solve_many(batch)
    for most in (1 << 15, 9, 1):
        monkeypatch.setattr(estimates_module, "MOST_INSTANCES", most)
        part = slice(None) if most > 1 else slice(12)
        solved = ds.solve_many(batch[part], executor=executor)
        assert (solved.lengths == expected.lengths[part]).all()
        assert solved.statuses == expected.statuses[part]
        streamed = list(ds.solve_stream(iter(batch[part]), executor=executor))
        assert [one.length for one in streamed] == solved.lengths.tolist()
    batch[31] = np.ones((4, 2))
    with pytest.raises(PointsError, match="instance 31: "):
        ds.solve_many(batch, "greedy", executor=executor, duplicates="raise")


def worker_pids(dask):
    """Return the worker processes, as their nannies know them: nobody is asked over the network."""
    return [nanny.pid for nanny in dask.cluster.workers.values() if nanny.pid]


def kill_while(solve, pids, times):
    """Return what `solve` gives while worker processes are killed, and how many were."""
    gone, over = [], threading.Event()

    def kill():
        while len(gone) < times and not over.wait(0.6 if gone else 0.2):
            fresh = [pid for pid in pids() if pid not in gone]
            if fresh:
                os.kill(fresh[0], signal.SIGKILL)
                gone.append(fresh[0])

    killer = threading.Thread(target=kill)
    killer.start()
    try:
        return solve(), len(gone)
    finally:
        over.set()
        killer.join()


def test_dask_gives_the_same_trees(dask, monkeypatch):
    executor = dask.get_executor()
    assert width_of(executor) == 2
    check_engine(executor, monkeypatch)


def test_dask_workers_share_the_work(dask):
    executor = dask.get_executor()
    ds.solve_many(RNG.random((200, 40, 2)), "greedy", executor=executor)
    busy = dask.run(lambda: __import__("deepsteiner.fleet.chunks").fleet.chunks._warm)
    assert list(busy.values()) == [True, True]


def test_a_dask_worker_that_is_killed_costs_nothing(dask, monkeypatch):
    monkeypatch.setattr(estimates_module, "MOST_INSTANCES", 5)
    batch = RNG.random((120, 60, 2))
    expected = ds.solve_many(batch, "bereta", iterations=800)
    solved, gone = kill_while(
        lambda: ds.solve_many(batch, "bereta", iterations=800, executor=dask.get_executor()),
        lambda: worker_pids(dask),
        1,
    )
    assert gone == 1
    assert (solved.lengths == expected.lengths).all()


@pytest.mark.heavy
def test_ten_dask_workers_are_killed_and_nothing_is_lost(dask, monkeypatch):
    monkeypatch.setattr(estimates_module, "MOST_INSTANCES", 10)
    batch = RNG.random((800, 60, 2))
    solved, gone = kill_while(
        lambda: ds.solve_many(batch, "bereta", iterations=100, executor=dask.get_executor()),
        lambda: worker_pids(dask),
        10,
    )
    assert gone == 10
    expected = ds.solve_many(batch, "bereta", iterations=100, workers=2)
    assert (solved.lengths == expected.lengths).all()


@pytest.mark.heavy
@pytest.mark.filterwarnings("ignore")  # Ray's own
def test_ray_gives_the_same_trees_and_survives_kills(monkeypatch):
    pytest.importorskip("ray", reason="the [ray] extra")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, __import__("sys").path)))
    with open_engine("ray:2") as engine:
        assert engine.words == "ray, 2 cores"
        check_engine(engine.executor, monkeypatch)
        monkeypatch.setattr(estimates_module, "MOST_INSTANCES", 10)
        batch = RNG.random((600, 60, 2))
        expected = ds.solve_many(batch, "bereta", iterations=100, workers=2)

        def solve():
            return ds.solve_many(batch, "bereta", iterations=100, executor=engine.executor)

        solved, gone = kill_while(solve, ray_workers, 3)
        assert gone == 3
        assert (solved.lengths == expected.lengths).all()


def ray_workers():
    """Return the processes that are at a task of ours."""
    import psutil

    found = []
    for process in psutil.Process().children(recursive=True):
        try:
            if "ray::_call" in " ".join(process.cmdline()):
                found.append(process.pid)
        except psutil.Error:
            continue
    return found


# --- names --------------------------------------------------------------------------------------


def test_processes_by_name():
    with open_engine("processes:2") as engine:
        assert engine.words == "2 processes"
        assert engine.executor.width == 2
        assert engine.dashboard is None


def test_dask_by_address(dask):
    address = dask.scheduler.address.removeprefix("tcp://")
    with open_engine(f"dask://{address}") as engine:
        assert engine.words.startswith("dask, ")
        solved = ds.solve_many(RNG.random((5, 5, 2)), "mst", executor=engine.executor)
    assert len(solved) == 5
    assert dask.nthreads()  # it is left running


@pytest.mark.parametrize("text", ["spark", "processes:0", "processes://a", "dask:x", "ray://", ""])
def test_unknown_engines(text):
    with pytest.raises(OptionError, match="engine must be processes"), open_engine(text):
        pass


def test_nobody_answers(monkeypatch):
    pytest.importorskip("distributed", reason="the [dask] extra")
    monkeypatch.setattr(engines, "CONNECT_SECONDS", 0.5)
    with (
        pytest.raises(OptionError, match=r"no Dask scheduler answers at 127\.0\.0\.1:1"),
        open_engine("dask://127.0.0.1:1"),
    ):
        pass


@pytest.mark.parametrize(("name", "package"), [("dask", "distributed"), ("ray", "ray")])
def test_engines_that_are_not_installed(monkeypatch, name, package):
    monkeypatch.setitem(__import__("sys").modules, package, None)
    words = rf"needs {package}; install it with: pip install 'deepsteiner\[{name}\]'"
    with pytest.raises(MissingDependencyError, match=words), open_engine(name):
        pass
