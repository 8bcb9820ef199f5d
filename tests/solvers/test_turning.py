"""Turned searches of `local` and `neural`: what they promise, and what merging is worth."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import deepsteiner as ds
from deepsteiner.core.errors import OptionError
from deepsteiner.solvers import local, neural

METHODS = ("local", "neural")


def board(seed: int, size: int = 13, count: int = 110) -> np.ndarray:
    """Holes of a drilled board: places of a lattice, with many ties."""
    places = np.array(list(itertools.product(range(size), repeat=2)), dtype=np.float64)
    return np.random.default_rng(seed).permutation(places)[:count]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("seed", range(3))
def test_more_turns_are_never_longer(method, seed):
    points = board(seed)
    lengths = [ds.solve(points, method, effort="fast", turns=turns).length for turns in range(4)]
    assert all(b <= a * (1.0 + 1e-12) for a, b in itertools.pairwise(lengths))
    optimum = ds.solve(points, "exact")
    assert lengths[-1] >= optimum.length * (1.0 - 1e-12)


@pytest.mark.parametrize("method", METHODS)
def test_turns_find_what_one_search_misses(method):
    plain, turned = (
        sum(
            ds.solve(board(seed, 16, 200), method, effort="fast", turns=turns).length
            for seed in range(4)
        )
        for turns in (0, 3)
    )
    assert turned < plain * (1.0 - 1e-5)


def test_the_merged_tree_is_strict_and_says_how_often():
    points = board(7, 16, 200)
    tree = ds.solve(points, "local", effort="fast", turns=2, trace=True)
    tree.validate(strict=True)
    assert tree.info["turns"] == 2
    spanning = ds.solve(points, "mst").length
    assert tree.info["saving"] == pytest.approx(1.0 - tree.length / spanning)
    steps = [step for step in tree.info["trace"] if step["step"] == "turn"]
    if steps:
        assert steps[-1]["length"] == pytest.approx(tree.length)
        assert all(step["saving"] > 0.0 for step in steps)


@pytest.mark.parametrize("scale", [1e-9, 1.0, 1.9e9])
def test_corners_that_turn_out_of_the_square_stay_in_the_frame(scale):
    points = np.array([[0, 0], [15, 0], [0, 15], [15, 15], [7, 8], [8, 7]]) * scale
    tree = ds.solve(points, "local", effort="best", turns=4)
    assert tree.length == pytest.approx(ds.solve(points, "exact").length, rel=1e-12)


@pytest.mark.parametrize("method", METHODS)
def test_a_start_is_kept_or_bettered(method):
    points = board(3)
    best = ds.solve(points, "exact")
    tree = ds.solve(points, method, effort="fast", start=best, turns=1)
    assert tree.length == pytest.approx(best.length, rel=1e-12)


@pytest.mark.parametrize(
    "points", [[[0, 0], [1, 0]], [[0, 0], [1, 0], [2, 0]], [[0, 0], [1, 0], [0, 1], [1, 1]]]
)
def test_few_points(points):
    tree, plain = (ds.solve(points, "local", turns=turns) for turns in (3, 0))
    assert tree.length == pytest.approx(plain.length, rel=1e-14)


def test_batches_turn_too():
    batch = [board(seed, 9, 40) for seed in range(4)]
    together = ds.solve_many(batch, "local", effort="fast", turns=2)
    alone = [ds.solve(points, "local", effort="fast", turns=2).length for points in batch]
    assert together.lengths.tolist() == alone


def test_best_turns_crowded_lists_alone():
    crowded, uniform = board(1, 18, 270), np.random.default_rng(0).random((270, 2))
    for method, turns in (("local", local.TURNS_OF_BEST), ("neural", neural.TURNS_OF_BEST)):
        assert ds.solve(crowded, method, effort="best").info["turns"] == turns
        assert "turns" not in ds.solve(crowded, method, effort="best", turns=0).info
        assert "turns" not in ds.solve(uniform, method, effort="best").info
        assert "turns" not in ds.solve(crowded, method, effort="fast").info


def test_reports_never_tell_of_a_longer_tree_than_is_in_hand():
    told = []
    tree = ds.solve(
        board(1, 20, 330), "local", effort="fast", turns=2,
        on_progress=lambda one: told.append((one.phase, one.length)),
    )  # fmt: skip
    later = [length for phase, length in told if phase.startswith(("turn", "merging")) and length]
    assert later
    assert all(b <= a * (1.0 + 1e-12) for a, b in itertools.pairwise(later))
    assert later[-1] == pytest.approx(tree.length, rel=1e-9)


def test_a_stop_in_a_turn_keeps_the_tree_before_it():
    points = board(1, 20, 330)
    plain = ds.solve(points, "local", effort="fast")
    stopped = ds.solve(
        points, "local", effort="fast", turns=3,
        on_progress=lambda one: not one.phase.startswith("turn"),
    )  # fmt: skip
    assert stopped.status == "interrupted"
    assert stopped.length == plain.length
    assert stopped.info["turns"] == 0


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"turns": -1}, "turns"),
        ({"turns": 1.5}, "turns"),
        ({"turns": 1, "junction_cost": 0.1}, "does not go with junction_cost"),
        ({"turns": 1, "existing": [[[0, -1], [9, -1]]]}, "neither obstacles nor an existing"),
        ({"turns": 1, "obstacles": [[[(0.2, 0.2), (0.4, 0.2), (0.4, 0.4)]]]}, "neither obstacles"),
    ],
)
def test_refusals(given, words):
    with pytest.raises(OptionError, match=words):
        ds.solve(board(0), "local", **given)
