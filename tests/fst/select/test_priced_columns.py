"""Columns that the simplex code is given on demand, against programmes that hold all of them."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

pytest.importorskip("highspy")

from scipy.optimize import linprog

from deepsteiner.fst.select.exact.cutting import branch_and_cut, subtour_lp
from deepsteiner.fst.select.exact.cutting.branch_and_cut import BranchAndCut
from deepsteiner.fst.select.exact.cutting.subtour_kernels import subtour_rows
from deepsteiner.fst.select.exact.cutting.subtour_lp import INFEASIBLE, OPTIMAL, Relaxation
from deepsteiner.fst.select.exact.piece import Piece
from deepsteiner.fst.select.exact.prune_kernels import incidence
from deepsteiner.fst.select.hypergraph import Rows
from list_twins import shortest_union


def crowded(seed: int, n: int, extra: int, edges: bool = True) -> Piece:
    """Sets of two to five terminals whose lengths are nearly alike for each join."""
    rng = np.random.default_rng(seed)
    known = {(int(rng.integers(v)), v) for v in range(1, n)} if edges else set()
    while len(known) < extra + (n - 1 if edges else 0):
        known.add(tuple(sorted(rng.choice(n, int(rng.integers(3, 6)), replace=False).tolist())))
    sets = sorted(known)
    joins = np.array([len(one) - 1 for one in sets])
    length = joins * rng.uniform(0.9, 1.1, len(sets)) * np.where(joins == 1, 1.3, 1.0)
    start = np.concatenate([[0], np.cumsum(joins + 1)])
    terminals = np.array([v for one in sets for v in one])
    return Piece(n, start, terminals, length, np.arange(joins.size))


def programme(piece: Piece) -> Relaxation:
    return Relaxation(piece.graph, incidence(piece.graph, np.ones(piece.length.size, np.bool_)))


@pytest.fixture
def frugal(monkeypatch):
    """Hold hardly anything at first, and take in few columns at once."""
    monkeypatch.setattr(subtour_lp, "FEW", 0)
    monkeypatch.setattr(subtour_lp, "HELD_A_TERMINAL", 1)
    monkeypatch.setattr(subtour_lp, "MOST_PRICED", 3)


def twin(program: Relaxation) -> float:
    """The value of the programme over all columns by another code; infinite without a solution."""
    start, columns, values, lower, upper = program.rows
    matrix = np.zeros((lower.size, program.cost.size))
    matrix[np.repeat(np.arange(lower.size), np.diff(start)), columns] = values
    sides = np.concatenate([upper, -lower])
    kept = np.isfinite(sides)
    found = linprog(
        program.cost, np.concatenate([matrix, -matrix])[kept], sides[kept],
        bounds=np.stack([program.lower, program.upper], axis=1),
    )  # fmt: skip
    return found.fun / program.scale if found.status == 0 else np.inf


def solved(program: Relaxation) -> float:
    status = program.solve(lambda: True)
    assert status in (OPTIMAL, INFEASIBLE)
    return program.bound()[0] if status == OPTIMAL else np.inf


@pytest.mark.parametrize("seed", range(8))
def test_columns_on_demand_give_the_value_of_all(seed, frugal):
    piece = crowded(seed, 9, 60)
    program = programme(piece)
    first = program._held.size
    rng = np.random.default_rng(seed)
    at = incidence(piece.graph, np.ones(piece.length.size, np.bool_))
    for turn in range(12):
        assert solved(program) == pytest.approx(twin(program), rel=1e-8)
        if turn % 3 == 0:  # rows of some sets
            sets = [rng.permutation(9)[: int(rng.integers(2, 7))] for _ in range(4)]
            bounds = np.concatenate([[0], np.cumsum([len(one) for one in sets])])
            program.add_rows(
                subtour_rows(piece.graph, at, Rows(bounds, np.concatenate(sets)), len(sets))
            )
        elif turn % 3 == 1:  # bounds of columns that are held and of others
            upper = (rng.random(piece.length.size) < 0.6).astype(float)
            program.set_bounds(np.zeros(upper.size), upper)
        else:  # one of a group must be taken; then the rows that idle leave
            program.hold({turn: rng.permutation(piece.length.size)[:4]})
            assert solved(program) == pytest.approx(twin(program), rel=1e-8)
            program.hold({})
            program._idle[:] = 100
            program.drop_idle_rows()
    assert first < program._held.size


@pytest.mark.parametrize("seed", range(5))
def test_what_has_no_solution_is_told_from_what_lacks_a_column(seed, frugal):
    piece = crowded(seed, 8, 40, edges=False)
    program = programme(piece)
    outside = np.flatnonzero(program._seat < 0)
    upper = np.zeros(piece.length.size)
    upper[outside] = 1.0  # nothing that is held may be taken
    program.set_bounds(np.zeros(upper.size), upper)
    assert solved(program) == pytest.approx(twin(program), rel=1e-8)
    at_0 = [f for f in range(upper.size) if 0 in _members(piece, f)]
    upper[at_0] = 0.0
    program.set_bounds(np.zeros(upper.size), upper)
    assert program.solve(lambda: True) == INFEASIBLE


def test_a_ray_that_proves_nothing_is_no_proof(frugal, monkeypatch):
    piece = crowded(1, 8, 40)
    program = programme(piece)
    upper = np.ones(piece.length.size)
    upper[[f for f in range(upper.size) if 0 in _members(piece, f)]] = 0.0
    program.set_bounds(np.zeros(upper.size), upper)
    monkeypatch.setattr(program, "_ray", lambda: np.zeros(program.rows.lower.size))
    assert program.solve(lambda: True) == subtour_lp.FAILED


@pytest.mark.parametrize("edges", [True, False], ids=["trees", "perhaps none"])
def test_searches_with_few_columns_prove_the_shortest_tree(edges, frugal, monkeypatch):
    for name in ("POLISH_SHARES", "IMPROVEMENTS"):
        monkeypatch.setattr(branch_and_cut, name, ())
    proven = 0
    for seed in range(12):
        piece = crowded(seed, 10, 45, edges)
        masks = [
            (sum(1 << v for v in _members(piece, f)), float(length))
            for f, length in enumerate(piece.length)
        ]
        best = shortest_union(masks, (1 << piece.n) - 1, 1, 0.0)
        search = BranchAndCut(piece, np.zeros(piece.length.size, np.bool_), lambda *_: True)
        if search.root() == branch_and_cut.CONVERGED:
            search.branch()
        answer = search.answer()
        assert answer.length == pytest.approx(best, rel=1e-12)
        assert answer.optimal or not np.isfinite(best)
        proven += answer.optimal
    assert proven > 6


@pytest.mark.parametrize("seed", range(6))
def test_the_inner_point_satisfies_every_subtour_inequality(seed):
    piece = crowded(seed, 8, 12, edges=False)
    none = np.zeros(piece.length.size, np.bool_)
    inner = BranchAndCut(piece, none, lambda *_: True)._viewpoints.inner
    assert inner.any()
    sets = [set(_members(piece, f)) for f in range(none.size)]
    for size in range(2, 9):
        for chosen in itertools.combinations(range(8), size):
            within = [max(0, len(one & set(chosen)) - 1) for one in sets]
            assert np.dot(within, inner) <= size - 1 + 1e-12


def _members(piece: Piece, f: int) -> list[int]:
    return piece.terminals[piece.start[f] : piece.start[f + 1]].tolist()
