"""The exact solver as users meet it: optima, invariance, bounds, limits, stages, traces."""

from __future__ import annotations

import json
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import deepsteiner as ds
from deepsteiner.core.errors import (
    MissingDependencyError,
    OptionError,
)
from deepsteiner.solvers.exact import STEINER_RATIO

RNG = np.random.default_rng(0)
POINTS = RNG.random((40, 2))
BEST = ds.solve(POINTS, "exact")

# How many instances of each golden set every test run solves; the benchmark solves them all.
GOLDEN = {
    "u10": 300, "u20": 40, "u50": 10, "u100": 4, "u200": 1, "u500": 1, "g10": 300, "c50": 8,
    "c100": 3, "i12": 100, "i30": 20, "lat2x8": 1, "lat3x5": 1, "lat4x4": 1, "lat5x5": 1,
    "lat6x6": 1, "reg3": 1, "reg4": 1, "reg5": 1, "reg6": 1, "reg7": 1, "reg12": 1,
}  # fmt: skip


@pytest.mark.parametrize("name", GOLDEN)
def test_golden_optima(name, golden):
    points, optimum = golden(name, GOLDEN[name])
    solved = ds.solve_many(points, "exact").validate(strict=True)
    assert set(solved.statuses) == {"optimal"}
    np.testing.assert_allclose(solved.lengths, optimum, rtol=1e-9)
    assert (solved.lower_bounds == solved.lengths).all()


def test_authors_instances(shared_data):
    with np.load(shared_data / "d1_authors.npz") as data:
        points, optimum = data["test_points"][:1000], data["test_optimal_length"][:1000]
    solved = ds.solve_many(points, "exact")
    np.testing.assert_allclose(solved.lengths, optimum, rtol=1e-9)
    assert set(solved.statuses) == {"optimal"}


@pytest.mark.parametrize("n", [10, 50, 100, 250])
def test_or_library(shared_data, n):
    with np.load(shared_data / "orlib_estein.npz") as data:
        points, optimum = data[f"points_{n}"][:3], data[f"optimal_{n}"][:3]
    solved = ds.solve_many(points, "exact")
    np.testing.assert_allclose(solved.lengths, optimum, rtol=1e-9)


def brute_force(points: np.ndarray) -> float:
    """The shortest tree over every full topology, by relaxing each of them (n <= 6)."""
    from deepsteiner.geometry.relaxation import relax

    n = len(points)
    if n < 3:
        return ds.solve(points, "mst").length
    best = np.inf
    trees = [[(0, n), (1, n), (2, n)]]  # one Steiner point joins the first three terminals
    for terminal in range(3, n):
        node = n + terminal - 2
        trees = [
            [*(e for e in tree if e != cut), (cut[0], node), (cut[1], node), (terminal, node)]
            for tree in trees
            for cut in tree
        ]
    start = np.repeat(points.mean(axis=0)[None], n - 2, axis=0)
    for tree in trees:
        best = min(best, relax(points, start, np.array(tree)).length)
    return best


def test_equals_brute_force_over_all_topologies():
    """Relaxed topologies may collapse edges, so the full ones cover every tree."""
    rng = np.random.default_rng(1)
    cases = [rng.random((n, 2)) for n in (3, 4, 5) for _ in range(400)]
    cases += [rng.integers(0, 4, (n, 2)).astype(float) for n in (4, 5) for _ in range(300)]
    cases += [rng.random((6, 2)) for _ in range(100)]
    cases += [rng.integers(0, 3, (6, 2)).astype(float) for _ in range(100)]
    for points in cases:
        distinct = np.unique(points, axis=0)
        expected = brute_force(distinct)
        assert ds.solve(points, "exact").length == pytest.approx(expected, rel=1e-9)


@settings(max_examples=25)
@given(
    st.integers(3, 24),
    st.integers(0, 10**6),
    st.booleans(),
    st.floats(0, 2 * np.pi),
    st.integers(-30, 30),
    st.integers(-1000, 1000),
)
def test_length_is_invariant(n, seed, on_grid, angle, power, shift):
    rng = np.random.default_rng(seed)
    points = rng.integers(0, 6, (n, 2)).astype(float) if on_grid else rng.random((n, 2))
    length = ds.solve(points, "exact").length
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    others = {
        "rotated": (points @ turn.T, 1),
        "reflected": (points * [1, -1], 1),
        "permuted": (rng.permutation(points), 1),
        "scaled": (points * 2.0**power, 2.0**power),
        "shifted": (points + shift, 1),
    }
    for name, (moved, factor) in others.items():
        solution = ds.solve(moved, "exact")
        assert solution.status == "optimal", name
        assert solution.length == pytest.approx(length * factor, rel=1e-9), name


@pytest.mark.parametrize("factor", [1e9, 1e-9])
def test_any_scale(factor):
    scaled = ds.solve(POINTS * factor, "exact")
    assert scaled.status == "optimal"
    assert scaled.length == pytest.approx(BEST.length * factor, rel=1e-9)


def test_exact_shifts_of_1e7():
    points = RNG.integers(0, 2**20, (60, 2)) / 2**20
    here, there = ds.solve(points, "exact"), ds.solve(points + 1e7, "exact")
    assert here.status == there.status == "optimal"
    assert there.length == pytest.approx(here.length, rel=1e-9)


def test_a_limit_of_zero_gives_the_spanning_tree_and_the_proven_bound():
    solution = ds.solve(POINTS, "exact", time_limit=0)
    spanning = ds.solve(POINTS, "mst").length
    assert solution.status == "time_limit"
    assert solution.length <= spanning * (1 + 1e-12)
    assert solution.lower_bound == pytest.approx(STEINER_RATIO * spanning)
    assert solution.lower_bound <= BEST.length


def test_stopping_at_any_moment_gives_a_tree_and_a_bound():
    points = np.random.default_rng(5).random((120, 2))
    optimum = ds.solve(points, "exact").length
    statuses = []
    for reports in (1, 3, 6, 12, 25, 50, 100, 200):
        left = iter(range(reports))
        solution = ds.solve(points, "exact", on_progress=lambda p, left=left: next(left, -1) >= 0)
        solution.validate(strict=True)
        assert solution.lower_bound <= optimum * (1 + 1e-9)
        assert solution.length >= optimum * (1 - 1e-9)
        statuses.append(solution.status)
    assert set(statuses) <= {"interrupted", "optimal"}
    assert statuses[:4] == ["interrupted"] * 4


def test_progress_never_gets_worse():
    seen: list[ds.Progress] = []
    ds.solve(np.random.default_rng(6).random((150, 2)), "exact", on_progress=seen.append)
    assert len(seen) > 3
    assert all(a.length >= b.length * (1 - 1e-12) for a, b in pairwise(seen))
    assert all(a.lower_bound <= b.lower_bound * (1 + 1e-12) for a, b in pairwise(seen))
    assert seen[-1].length == pytest.approx(seen[-1].lower_bound)


def test_limited_full_trees_are_not_called_optimal():
    solution = ds.solve(POINTS, "exact", max_fst_size=3)
    assert solution.status == "feasible"
    assert solution.length >= BEST.length * (1 - 1e-12)
    assert solution.lower_bound == pytest.approx(STEINER_RATIO * ds.solve(POINTS, "mst").length)
    lengths = [ds.solve(POINTS, "exact", max_fst_size=k).length for k in (2, 3, 4, 5)]
    assert lengths == sorted(lengths, reverse=True)
    assert lengths[0] == pytest.approx(ds.solve(POINTS, "mst").length)


def test_limited_work_is_not_called_optimal():
    points = np.random.default_rng(0).random((200, 2))
    solution = ds.solve(points, "exact", max_work=5)
    assert solution.status == "feasible"
    assert solution.length < ds.solve(points, "mst").length
    assert ds.solve(points, "exact", max_work=5).length == solution.length


def test_a_start_is_kept_when_nothing_better_is_found():
    heuristic = ds.solve(POINTS, "greedy")
    solution = ds.solve(POINTS, "exact", start=heuristic, time_limit=0)
    assert solution.length == pytest.approx(heuristic.length)
    assert ds.solve(POINTS, "exact", start=heuristic).length == BEST.length
    with pytest.raises(OptionError, match="a Solution of the same points"):
        ds.solve(POINTS[:30], "exact", start=heuristic)
    with pytest.raises(OptionError, match=r"'start' .* must be Solution"):
        ds.solve(POINTS, "exact", start="tree.json")


def test_info_counts_every_stage():
    info = BEST.info
    assert info["generation"]["trees"] >= 39
    assert info["generation"]["seconds"] > 0
    assert info["concatenation"]["seconds"] > 0
    json.dumps(info)


def test_trace_holds_the_full_trees_and_the_rounds():
    solution = ds.solve(POINTS, "exact", trace=True)
    assert solution.length == pytest.approx(BEST.length, rel=1e-12)
    first, *rounds = solution.info["trace"]
    assert first["stage"] == "full trees"
    assert first["complete"]
    for tree in first["trees"]:
        nodes = np.concatenate(
            (POINTS[tree["terminals"]], np.reshape(tree["steiner_points"], (-1, 2)))
        )
        ends = nodes[np.array(tree["edges"])]
        length = np.hypot(*(ends[:, 0] - ends[:, 1]).T).sum()
        assert length == pytest.approx(tree["length"], rel=1e-9)
    assert rounds
    values = [record["value"] for record in rounds if record["node"] == 0]
    assert values == sorted(values)
    assert values[-1] <= solution.length * (1 + 1e-9)


def test_without_highspy(monkeypatch):
    """Small and narrow pieces are solved all the same; a wide one says what to install."""
    import importlib.util

    find = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *a: None if name == "highspy" else find(name, *a)
    )
    monkeypatch.setitem(__import__("sys").modules, "highspy", None)
    solution = ds.solve(POINTS, "exact")
    assert solution.status == "optimal"
    assert solution.length == BEST.length
    with pytest.raises(MissingDependencyError, match="pip install highspy"):
        ds.solve(POINTS, "exact", trace=True)  # a trace is one of linear programmes


def test_any_number_of_points_is_taken():
    """A limit leaves the good tree that a proof begins from."""
    points = np.random.default_rng(0).random((30_000, 2))
    solution = ds.solve(points, "exact", time_limit=4)
    assert solution.status == "time_limit"
    assert solution.validate(strict=True).length < 0.97 * ds.solve(points, "mst").length


def test_full_trees_can_be_drawn():
    from deepsteiner.core.points import Frame
    from deepsteiner.fst.enumerate.complete.generate import generate

    trees = generate(Frame.of(POINTS).into(POINTS))
    bare, marked = trees.plot(), trees.plot(chosen=[0, 5])
    assert f"{len(trees)} full Steiner trees over 40 points" in bare.get_title(loc="left")
    assert len(marked.collections) == len(bare.collections) + 1


@pytest.mark.parametrize("seed", [0, 2, 6])
def test_reported_bounds_never_pass_the_length(seed):
    reports = []
    ds.solve(np.random.default_rng(seed).random((300, 2)), "exact", on_progress=reports.append)
    assert reports[-1].phase == "done"
    assert all(one.lower_bound <= one.length for one in reports if one.lower_bound is not None)
