"""`solve_many` on executors: same trees, lost chunks, stops, and errors by index."""

from __future__ import annotations

import os
import signal
import threading
import time
from concurrent.futures import BrokenExecutor, Executor, Future, ThreadPoolExecutor
from concurrent.futures.process import ProcessPoolExecutor
from multiprocessing import get_context

import numpy as np
import pytest

import deepsteiner as ds
from deepsteiner.core.errors import OptionError, PointsError, WorkerError
from deepsteiner.fleet import crew as crew_module
from deepsteiner.fleet import estimates as estimates_module
from deepsteiner.fleet.chunks import Call, chunk_of, solve_chunk
from deepsteiner.fleet.estimates import Cutter, Estimates
from deepsteiner.run.executor import HereExecutor, ProcessExecutor
from worker_items import wait_for

RNG = np.random.default_rng(21)
COMMON = {"time_limit": None, "seed": 0, "duplicates": "merge", "device": "cpu"}


def ragged(count, largest=40):
    return [RNG.random((int(n), 2)) for n in RNG.integers(1, largest, count)]


def same(one, two):
    return (
        (one.lengths == two.lengths).all()
        and (one.trees.edges == two.trees.edges).all()
        and one.statuses == two.statuses
        and one.methods == two.methods
    )


class Direct(Executor):
    """Calls at once, in this thread; `fails` may raise for a chunk."""

    def __init__(self, fails=lambda chunk: None):
        self.fails, self.calls = fails, []

    def submit(self, function, chunk, call):
        self.calls.append(chunk)
        future = Future()
        try:
            self.fails(chunk)
            future.set_result(function(chunk, call))
        except Exception as error:
            future.set_exception(error)
        return future


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch):
    """So that a few instances make several chunks."""
    monkeypatch.setattr(estimates_module, "MOST_INSTANCES", 7)


@pytest.mark.parametrize("method", ["auto", "greedy", "smith", "mst"])
def test_any_executor_gives_the_same_trees(method):
    batch = ragged(60)
    expected = ds.solve_many(batch, method)
    direct = Direct()
    assert same(ds.solve_many(batch, method, executor=direct), expected)
    assert len(direct.calls) >= 60 / 7
    assert sorted(row for chunk in direct.calls for row in chunk.rows) == list(range(60))
    with ThreadPoolExecutor(3) as pool:
        assert same(ds.solve_many(batch, method, executor=pool), expected)
    with HereExecutor() as here:
        assert same(ds.solve_many(batch, method, executor=here), expected)


def test_options_seeds_limits_and_duplicates_reach_the_workers():
    batch = [np.repeat(one, 2, axis=0) for one in ragged(9)]
    asked = {"seed": 5, "distribution": "box"}
    expected = ds.solve_many(batch, "rand1", **asked)
    assert same(ds.solve_many(batch, "rand1", executor=Direct(), **asked), expected)
    limited = ds.solve_many([RNG.random((300, 2))], "greedy", time_limit=0.0, executor=Direct())
    assert limited.statuses == ["time_limit"]


def test_real_processes_share_a_batch():
    batch = ragged(40)
    with ProcessExecutor(2) as executor:
        solved = ds.solve_many(batch, "greedy", executor=executor)
        assert len(set(executor.pids)) == 2
        assert executor.submit(os.getpid).result() in executor.pids
    assert same(solved, ds.solve_many(batch, "greedy"))


def test_an_array_and_an_empty_batch():
    points = RNG.random((30, 6, 2))
    assert same(ds.solve_many(points, executor=Direct()), ds.solve_many(points))
    assert len(ds.solve_many([], executor=Direct())) == 0


# --- chunks -------------------------------------------------------------------------------------


def test_results_travel_as_arrays():
    chunk = chunk_of(range(20), RNG.random((20, 10, 2)))
    answer = solve_chunk(chunk, Call("exact", {}, COMMON))
    assert answer.edges.dtype == np.uint16
    assert answer.methods == ("exact",)
    assert answer.infos == {}
    part = answer.part(chunk)
    assert part.methods.tolist() == ["exact"] * 20
    assert part.rows.tolist() == list(range(20))


def test_chunks_have_about_the_same_work_and_the_largest_come_first(monkeypatch):
    monkeypatch.setattr(estimates_module, "MOST_INSTANCES", 1 << 15)
    sizes = RNG.integers(3, 400, 4000)
    estimates = Estimates()
    estimates.learn(np.array([10]), estimates.one(10))
    cutter = Cutter(sizes, estimates)
    chunks = []
    while (rows := cutter.cut(2)) is not None:
        chunks.append(rows)
    assert sorted(np.concatenate(chunks)) == list(range(4000))
    work = [estimates.of(sizes[rows]).sum() for rows in chunks]
    goal = estimates_module.CHUNK_SECONDS
    longest = estimates.one(int(sizes.max()))
    assert all(one <= goal + longest for one in work)
    assert all(one >= 0.9 * goal for one in work[: len(work) // 2])
    assert [sizes[rows].max() for rows in chunks] == sorted(
        [sizes[rows].max() for rows in chunks], reverse=True
    )
    assert work[-1] < goal / 3  # small ones at the end


def test_estimates_learn():
    estimates = Estimates()
    truth = {10: 0.003, 100: 0.2, 900: 4.0}
    for _ in range(20):
        for size, seconds in truth.items():
            estimates.learn(np.full(5, size), 5 * seconds)
    for size, seconds in truth.items():
        assert estimates.one(size) == pytest.approx(seconds, rel=0.05)
        assert estimates.of(np.array([size]))[0] == pytest.approx(estimates.one(size))
    assert truth[100] < estimates.one(300) < truth[900]


# --- what goes wrong ----------------------------------------------------------------------------


def test_a_chunk_that_fails_once_is_tried_again():
    seen = set()

    def fails(chunk):
        if (key := tuple(chunk.rows)) not in seen:
            seen.add(key)
            raise OSError("the network was away")

    batch = ragged(30)
    direct = Direct(fails)
    assert same(ds.solve_many(batch, "greedy", executor=direct), ds.solve_many(batch, "greedy"))
    assert len(direct.calls) == 2 * len(seen)


@pytest.mark.parametrize("victims", [{13}, {0, 29}, set(range(30))])
def test_an_instance_that_always_fails_costs_only_itself(victims):
    def fails(chunk):
        if victims & set(chunk.rows.tolist()):
            raise OSError("the worker died")

    batch = ragged(30)
    with pytest.raises(WorkerError, match=r"failed on every try \(OSError: the worker") as caught:
        ds.solve_many(batch, "greedy", executor=Direct(fails))
    assert set(caught.value.failed) == victims
    assert set(caught.value.finished) == set(range(30)) - victims
    assert f"{30 - len(victims)} of 30 instances are finished" in str(caught.value)
    for row, solution in caught.value.finished.items():
        assert solution.length == ds.solve(batch[row], "greedy").length


def test_a_broken_executor_keeps_what_is_finished_and_names_the_rest():
    calls = []

    def breaks(chunk):
        calls.append(chunk)
        if len(calls) > 2:
            raise BrokenExecutor("a process died")

    batch = ragged(60)
    with pytest.raises(WorkerError, match="the executor broke") as caught:
        ds.solve_many(batch, "greedy", executor=Direct(breaks))
    done = {int(row) for chunk in calls[:2] for row in chunk.rows}
    assert set(caught.value.finished) == done
    assert set(caught.value.failed) == set(range(60)) - done


def test_the_standard_pool_breaks_with_a_death():
    """Its own rule; here the death is before the batch, so that nothing is solved."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        pool.submit(os.kill, pool.submit(os.getpid).result(), signal.SIGKILL)
        wait_for(lambda: pool._broken)
        with pytest.raises(WorkerError, match="instance 0 and others are not solved") as caught:
            ds.solve_many(ragged(3), "mst", executor=pool)
    assert sorted(caught.value.failed) == [0, 1, 2]


def test_bad_instances_are_named_by_their_place_in_the_batch():
    batch = ragged(30, 20)
    batch[17] = np.array([[0.0, 0.0], [1.0, 1.0], [0.0, 0.0]])
    with pytest.raises(PointsError, match="instance 17: points: rows 0 and 2 are equal"):
        ds.solve_many(batch, "greedy", executor=Direct(), duplicates="raise")


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"executor": 3}, "executor must be a concurrent.futures.Executor"),
        ({"executor": Direct(), "workers": 2}, "either workers or executor"),
    ],
)
def test_bad_executors(given, words):
    with pytest.raises(OptionError, match=words):
        ds.solve_many(ragged(3), "mst", **given)


# --- progress and stopping ----------------------------------------------------------------------


def test_progress_counts_instances_and_a_stop_keeps_what_is_finished():
    heard = []

    def stop(progress):
        heard.append(progress.done)
        return progress.done < 14

    batch = ragged(80)
    solved = ds.solve_many(batch, "greedy", executor=Direct(), on_progress=stop)
    finished = solved.statuses.count("feasible")
    assert 14 <= finished < 80
    assert heard == sorted(heard)
    assert solved.statuses.count("interrupted") == 80 - finished
    solved.validate()


def test_a_stop_reaches_our_own_processes_in_the_middle_of_an_instance():
    batch = [RNG.random((20_000, 2)), *ragged(5)]
    with ProcessExecutor(2) as executor:
        began = time.monotonic()
        solved = ds.solve_many(
            batch, "greedy", executor=executor, on_progress=lambda progress: progress.done < 5
        )
        assert solved.statuses[0] == "interrupted"
        assert "interrupted" not in solved.statuses[1:]
    assert time.monotonic() - began < 30


def test_reports_go_on_while_nothing_is_ready():
    reports = []
    done = threading.Event()

    class Slow(ThreadPoolExecutor):
        def submit(self, function, *arguments):
            return super().submit(lambda: (done.wait(10), function(*arguments))[1])

    def listen(progress):
        reports.append(progress.done)
        if len(reports) == 5:
            done.set()

    with Slow(1) as executor:
        ds.solve_many(ragged(3), "mst", executor=executor, on_progress=listen)
    assert reports[:5] == [0] * 5


def test_widths():
    with ThreadPoolExecutor(3) as pool, HereExecutor() as here:
        assert crew_module.width_of(pool) == 3
        assert crew_module.width_of(here) == 1
    assert crew_module.width_of(Direct()) >= 1


# --- deaths -------------------------------------------------------------------------------------


def solved_while_killing(times, executor, batch, iterations):
    """Solve while a process is killed so many times, each as work is reported; solutions and kills.

    Reports, not a clock, say when: however quick the machine, something is still under way at a
    kill. Something is solved between two kills, so that no chunk is lost until it is given up.
    """
    killed, solved_before = [], [-1]

    def kill(progress):
        fresh = [pid for pid in executor.pids if pid not in killed]
        if len(killed) < times and fresh and solved_before[-1] < progress.done < len(batch):
            os.kill(fresh[0], signal.SIGKILL)
            killed.append(fresh[0])
            solved_before.append(progress.done)

    solved = ds.solve_many(
        batch, "bereta", iterations=iterations, executor=executor, on_progress=kill
    )
    return solved, killed


def test_a_killed_process_is_replaced_and_nothing_is_lost():
    batch = RNG.random((120, 60, 2))
    expected = ds.solve_many(batch, "bereta", iterations=40)
    with ProcessExecutor(2) as executor:
        executor.submit(os.getpid).result()
        solved, gone = solved_while_killing(2, executor, batch, iterations=40)
        wait_for(lambda: not set(gone) & set(executor.pids))
    assert len(gone) == 2
    assert same(solved, expected)


@pytest.mark.heavy
def test_ten_kills_lose_nothing_and_repeat_nothing():
    batch = RNG.random((600, 60, 2))
    expected = ds.solve_many(batch, "bereta", iterations=100, workers=2)
    with ProcessExecutor(2) as executor:
        executor.submit(os.getpid).result()
        solved, gone = solved_while_killing(10, executor, batch, iterations=100)
    assert len(gone) == 10
    assert same(solved, expected)


def test_processes_that_cannot_start_break_the_executor(monkeypatch):
    from deepsteiner.run import processes

    monkeypatch.setattr(processes, "COMMAND", ("-c", "raise SystemExit(5)"))
    with ProcessExecutor(2) as executor, pytest.raises(WorkerError, match="exit code 5"):
        ds.solve_many(ragged(3), "mst", executor=executor)


def test_shutting_down_at_once_ends_running_calls():
    executor = ProcessExecutor(1)
    future = executor.submit(time.sleep, 600)
    wait_for(future.running)
    executor.shutdown(wait=False, cancel_futures=True)
    with pytest.raises(Exception, match="shut down"):
        future.result(10)
    with pytest.raises(RuntimeError, match="after shutdown"):
        executor.submit(os.getpid)
