"""Limits: the check of them fails for methods that break them, and no kernel runs for ever."""

from __future__ import annotations

import time

import numpy as np
import pytest

import deepsteiner as ds
from deepsteiner.core.trees import tree_length
from deepsteiner.geometry.spanning_trees import minimum_spanning_tree, spanning_tree_among
from deepsteiner.geometry.triangulation import triangulate
from deepsteiner.run.method import Tree
from deepsteiner.run.monitor import Monitor
from deepsteiner.run.watch import Stopped, Watch, hurried, never, waited
from limit_checks import LATE, check_limits, ends, register

POINTS = np.random.default_rng(3).random((60, 2))


def work(seconds):
    """Use the processor for so long."""
    began = time.process_time()
    while time.process_time() - began < seconds:
        pass


def spanning(run):
    return Tree(np.empty((0, 2)), minimum_spanning_tree(run.points))


def obedient(run, options):
    while run.monitor.report("working"):
        work(0.01)
        if run.monitor.elapsed() > 1.0:
            break
    return spanning(run)


def deaf(run, options):
    work(LATE + 0.1)
    return spanning(run)


def stubborn(run, options):
    for _ in range(20):
        run.monitor.report("working")
        work(0.02)
    return spanning(run)


def sleepy(run, options):
    while run.monitor.report("working") and run.monitor.elapsed() < 0.4:
        work(0.4)
    return spanning(run)


def hasty(run, options):
    return spanning(run)


def test_the_check_of_limits_passes_a_method_that_keeps_them(monkeypatch):
    check_limits(monkeypatch, register(monkeypatch, obedient), POINTS)


@pytest.mark.parametrize(
    ("solve", "fault"),
    [
        (deaf, "limit 0.0: .* s late"),
        (stubborn, "limit 0.0: .* s late"),
        (sleepy, "limit 0.001: .* s late"),
        (hasty, "limit 0.0: feasible"),
    ],
)
def test_the_check_of_limits_fails_a_method_that_breaks_them(monkeypatch, solve, fault):
    with pytest.raises(AssertionError, match=f"fake, 60 points, {fault}"):
        check_limits(monkeypatch, register(monkeypatch, solve), POINTS)


def test_a_method_that_hears_nothing_fails_the_check(monkeypatch):
    monkeypatch.setattr(Monitor, "report", lambda *_, **__: True)
    with pytest.raises(AssertionError, match=r"exact, 700 points, limit 0.0: .* s late"):
        check_limits(monkeypatch, "exact", np.random.default_rng(4).random((700, 2)))


@pytest.mark.parametrize("near", [0.0, 1e-320, 1e-200, 1e-160, 1e-20, 1e-11, 1e-10, 1e-8])
def test_greedy_ends_where_points_coincide_or_nearly(near):
    from deepsteiner.solvers.batches import SmallTrees
    from deepsteiner.solvers.kernels.greedy_kernels import Rules, solve_batch

    def grown(points):
        rows = SmallTrees(points[None]).rows
        solve_batch(points[None], np.zeros((1, 1, 2)), Rules(0, 3, 8), rows, 0, 1)
        return int(rows.sizes[0])

    grown(POINTS)  # compiles
    spots = np.random.default_rng(6).random((6, 2))
    around = np.random.default_rng(7).standard_normal((4, 2))
    few = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, near]])
    many = (spots[:, None] + near * around).reshape(-1, 2)
    for points in (few, many):
        assert len(points) <= ends(lambda points=points: grown(points)) <= 2 * len(points) - 2


@pytest.mark.parametrize("candidates", ["mst", "knn", "all", "grid"])
def test_greedy_in_slices_is_greedy_at_once(monkeypatch, candidates):
    from deepsteiner.solvers.textbook import greedy

    points = POINTS[:16]
    whole = ds.solve(points, "greedy", candidates=candidates)
    monkeypatch.setattr(greedy, "_BUDGET", 1)
    reports: list[ds.Progress] = []
    sliced = ds.solve(points, "greedy", candidates=candidates, on_progress=reports.append)
    assert (whole.edges == sliced.edges).all()
    assert (whole.steiner_points == sliced.steiner_points).all()
    assert len(reports) > 60


def test_most_points_on_one_line_can_be_cut_into_tiles():
    rng = np.random.default_rng(7)
    points = np.stack((rng.random(4000), 0.4 * rng.random(4000)), axis=1)
    points[:2100, 0] = 1.0
    points = rng.permutation(points)
    found = ends(lambda: triangulate(points, tile=100))
    pairs = found.adjacency(len(points))[1]
    wanted = triangulate(points, tile=4000).adjacency(len(points))[1]
    assert set(map(tuple, pairs.tolist())) == set(map(tuple, wanted.tolist()))


def test_a_hurried_call_is_told_and_its_result_still_comes():
    def call(stop):
        began = time.monotonic()
        while stop[0] == 0 and time.monotonic() - began < 20:
            time.sleep(0.001)
        return time.monotonic() - began

    answers = iter([True, True, False])
    assert hurried(call, lambda: next(answers)) < 10
    assert hurried(lambda stop: int(stop[0]), lambda: False) == 0
    with pytest.raises(TimeoutError, match="its own"):
        hurried(_raise_timeout, lambda: True)
    assert never().tolist() == [0]


def test_a_hurried_call_is_told_when_nobody_waits_any_more():
    seen = []

    def call(stop):
        while stop[0] == 0:
            time.sleep(0.001)
        seen.append(True)

    def interrupt():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        hurried(call, interrupt)
    time.sleep(0.5)
    assert seen == [True]


def _raise_timeout(stop):
    raise TimeoutError("its own")


def test_a_watch_stops_one_long_triangulation():
    with pytest.raises(Stopped):
        triangulate(np.random.default_rng(5).random((2500, 2)), watch=Watch(Monitor(0.0)))
    with pytest.raises(TimeoutError, match="its own"):
        waited(lambda: _raise_timeout(None), lambda: True)


def on_lines(shape, n):
    """Return points that Qhull by itself takes quadratic time for."""
    rng = np.random.default_rng(10)
    turn = 2 * np.pi * np.arange(n) / n
    if shape == "circle":
        return np.stack((np.cos(turn), np.sin(turn)), axis=1)
    if shape == "ladder":
        return np.stack((np.arange(n) // 2, np.arange(n) % 2), axis=1) * 1.0
    points = rng.random((n, 2))
    points[: n // 2, 0] = 1.0
    return points @ [[0.8, 0.6], [-0.6, 0.8]] if shape == "tilted border" else points


@pytest.mark.parametrize("shape", ["circle", "ladder", "border", "tilted border"])
def test_many_points_on_the_hull_are_triangulated_soon_and_right(shape):
    points = on_lines(shape, 9000)
    began = time.process_time()
    found = triangulate(points)
    # Some 40 ms; quadratic time would be two seconds or more.
    assert time.process_time() - began < 0.8
    pairs = np.concatenate((found.adjacency(len(points))[1], found.ties))
    tree = spanning_tree_among(points, pairs)
    wanted = tree_length(points, minimum_spanning_tree(points))
    assert tree_length(points, tree) == pytest.approx(wanted, rel=1e-11)


def test_many_points_on_a_line_have_no_triangulation():
    from scipy.spatial import QhullError

    line = np.stack((np.arange(2000.0), 0.5 * np.arange(2000.0)), axis=1)
    with pytest.raises(QhullError):
        triangulate(line)
    assert tree_length(line, minimum_spanning_tree(line)) == pytest.approx(1999 * np.sqrt(1.25))


@pytest.mark.parametrize("method", ["local", "neural", "smith", "auto"])
def test_a_limit_during_the_triangulation_leaves_the_spanning_tree_at_least(method):
    points = on_lines("circle", 4000)
    solution = ds.solve(points, method, time_limit=0.01)
    assert solution.validate(strict=True).status == "time_limit"
    assert solution.length <= ds.solve(points, "mst").length * (1 + 1e-12)


def test_a_kernel_told_to_hurry_leaves_out_the_search():
    from deepsteiner.solvers import neural
    from deepsteiner.solvers.batches import SmallTrees

    rng = np.random.default_rng(9)
    spots = rng.random((20, 2)) - 0.5
    points = spots[rng.integers(0, 20, 250)] + 1e-4 * rng.standard_normal((250, 2))

    def solved(stop):
        small, settled = SmallTrees(points[None]), np.zeros(1, dtype=np.bool_)
        began = time.process_time()
        neural._solve_small(small, settled, neural.Options(), "cpu", stop)
        spent = time.process_time() - began
        assert settled.all()
        steiner, edges = small.get(0)
        return tree_length(np.concatenate((points, steiner)), edges), spent

    solved(never())  # loads the kernel
    length, long = solved(never())
    hasty_length, short = solved(np.ones(1, dtype=np.int64))
    assert short < 0.5 * long
    assert length <= hasty_length <= ds.solve(points, "mst").length * (1 + 1e-12)
