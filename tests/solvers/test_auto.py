"""`auto`: which method serves which size and time limit."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

import deepsteiner as ds
from deepsteiner.solvers import auto


def uniform(n: int) -> np.ndarray:
    return np.random.default_rng(n).random((n, 2))


def test_exact_where_that_is_quick():
    for n in (3, 10, 40):
        solution = ds.solve(uniform(n))
        assert (solution.method, solution.status) == ("exact", "optimal")
    assert set(ds.solve_many(np.random.default_rng(0).random((5, 12, 2))).statuses) == {"optimal"}


def test_choices_cover_every_size_once():
    for choices in (auto.CHOICES, auto.LATTICE_CHOICES):
        sizes = [choice.most for choice in choices]
        assert sizes == sorted(set(sizes))
        assert sizes[-1] == math.inf


@pytest.mark.parametrize("limit", ["EXACT_WORK", "EXACT_SIZE"])
def test_first_choice_where_exact_takes_long(monkeypatch, limit):
    points = uniform(60)
    monkeypatch.setattr(auto, limit, 1)
    choice = auto.CHOICES[0]
    solution = ds.solve(points)
    assert (solution.method, solution.status) == (choice.method.INFO.name, "feasible")
    options = {"effort": choice.options.effort, "pieces": choice.options.pieces}
    assert solution.length == ds.solve(points, solution.method, **options).length


def test_next_choice_above_its_size(monkeypatch):
    points = uniform(60)
    monkeypatch.setattr(auto, "EXACT_SIZE", 50)
    small = replace(auto.CHOICES[0], most=50)
    monkeypatch.setattr(auto, "CHOICES", (small, auto.CHOICES[-1]))
    last = auto.CHOICES[-1]
    expected = ds.solve(points, last.method.INFO.name, effort=last.options.effort)
    assert ds.solve(points).length == expected.length


def test_local_where_points_fill_a_lattice(monkeypatch):
    monkeypatch.setattr(auto, "EXACT_SIZE", 10)
    square = np.stack(np.meshgrid(np.arange(9.0), np.arange(8.0)), axis=-1).reshape(-1, 2)
    shifted = square + np.stack([0.5 * (square[:, 1] % 2), 0.0 * square[:, 1]], axis=1)
    for points in (square, shifted):
        assert ds.solve(points).method == "local"
    few = square[np.random.default_rng(0).permutation(len(square))[:20]]
    for points in (uniform(60), few, uniform(60) * [1.0, 0.0]):
        assert ds.solve(points).method == "neural"


def test_a_time_limit_is_spent_on_proof():
    solution = ds.solve(np.random.default_rng(0).random((60, 2)), time_limit=60)
    assert (solution.method, solution.status) == ("exact", "optimal")
    stopped = ds.solve(np.random.default_rng(0).random((1500, 2)), time_limit=0.5)
    assert stopped.status == "time_limit"
    assert stopped.validate().length < ds.solve(stopped.terminals, "mst").length
