"""Cutting planes and branching where they are needed: lists that no linear programme settles.

The twin is a dynamic programme over all subsets of the terminals.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest

pytest.importorskip("highspy")

from deepsteiner.fst.select.exact import concatenation
from deepsteiner.fst.select.exact.cutting import branch_and_cut
from deepsteiner.fst.select.exact.cutting.branch_and_cut import CLOSED, CONVERGED, BranchAndCut
from deepsteiner.fst.select.exact.cutting.local_cuts import LocalCuts
from deepsteiner.fst.select.exact.piece import Fallback, Job, OpenJobs, Piece
from deepsteiner.fst.select.exact.subset_kernels import greedy_tree
from deepsteiner.fst.select.hypergraph import Budget
from deepsteiner.fst.trees import FullTrees
from list_twins import drawn, packed, shortest_union


def awkward(seed: int, n: int, extra: int, spread: float = 0.05) -> Piece:
    """Sets of four that save much and overlap: fractions of them are cheaper than any tree.

    Where the spread is small, so are the differences between good trees.
    """
    rng = np.random.default_rng(seed)
    sets = [[int(rng.integers(v)), v] for v in range(1, n)]
    known = set()
    while len(known) < extra:
        known.add(frozenset(rng.choice(n, 4, replace=False).tolist()))
    sets += [sorted(one) for one in sorted(map(sorted, known))]
    share = np.where([len(one) == 2 for one in sets], rng.uniform(1.4, 1.6, len(sets)), 1.0)
    joins = np.array([len(one) - 1 for one in sets])
    length = joins * share * rng.uniform(1.0 - spread, 1.0 + spread, len(sets))
    start = np.concatenate([[0], np.cumsum([len(one) for one in sets])]).astype(np.int64)
    terminals = np.array([v for one in sets for v in one], np.int64)
    return Piece(n, start, terminals, length, np.arange(len(sets)))


def sets_of(piece: Piece) -> list[list[int]]:
    return [
        piece.terminals[a:b].tolist() for a, b in zip(piece.start, piece.start[1:], strict=False)
    ]


def shortest(piece: Piece, holding: int | None = None) -> float:
    """The shortest tree, grown set by set from terminal 0 or from a full tree it has to hold."""
    masks = [(sum(1 << v for v in one), float(length)) for one, length in
             zip(sets_of(piece), piece.length, strict=True)]  # fmt: skip
    first, cost = (1, 0.0) if holding is None else masks[holding]
    return shortest_union(masks, (1 << piece.n) - 1, first, cost)


def is_tree(piece: Piece, picked: np.ndarray) -> bool:
    label = list(range(piece.n))
    for f in np.flatnonzero(picked):
        parts = {label[v] for v in sets_of(piece)[f]}
        if len(parts) < len(sets_of(piece)[f]):
            return False
        label = [min(parts) if old in parts else old for old in label]
    return len(set(label)) == 1


@pytest.fixture
def plain_search(monkeypatch):
    """Without heuristics: trees come from whole points of the linear programme alone."""
    round_up = BranchAndCut._round_up

    def only_whole_points(self: BranchAndCut) -> None:
        x = self._program.x
        if ((x == 0.0) | (x == 1.0)).all():
            round_up(self)

    monkeypatch.setattr(branch_and_cut, "POLISH", Budget(0.0, 0))
    monkeypatch.setattr(branch_and_cut, "IMPROVEMENTS", ())
    monkeypatch.setattr(BranchAndCut, "_round_up", only_whole_points)


@pytest.mark.parametrize("spread", [pytest.param(0.05, marks=pytest.mark.heavy), 0.003])
@pytest.mark.parametrize("polished", [True, False])
def test_branching_finds_and_proves_the_shortest_tree(polished, spread, request):
    if not polished:
        request.getfixturevalue("plain_search")
    nodes = improved = 0
    for seed in range(12):
        piece = awkward(seed, 9, 16, spread)
        best = shortest(piece)
        seen: list[tuple[float, float]] = []

        def tick(length: float, bound: float, seen=seen) -> bool:
            seen.append((length, bound))
            return True

        search = BranchAndCut(piece, np.zeros(piece.length.size, np.bool_), tick)
        outcome = search.root()
        assert outcome in (CLOSED, CONVERGED)
        assert search.bound <= best * (1 + 1e-9)
        before = search.length
        if outcome == CONVERGED:
            search.branch()
        answer = search.answer()
        assert answer.optimal
        assert answer.length == pytest.approx(best, rel=1e-9)
        assert is_tree(piece, answer.picked)
        assert piece.length[answer.picked].sum() == pytest.approx(answer.length)
        for length, bound in seen:
            assert bound <= best * (1 + 1e-9)
            assert length >= best * (1 - 1e-9)
        nodes += search.counts["nodes"]
        improved += before > best * (1 + 1e-9)
    assert nodes > 20
    assert improved > 1 or polished


@pytest.mark.usefixtures("plain_search")
def test_no_better_tree_holds_a_full_tree_that_was_dropped():
    """By its reduced cost, at the root, where the linear programme is nearly tight."""
    dropped = close = 0
    for seed in range(80):
        sets, length = drawn(seed, 9, 14)
        piece = Piece(9, *packed(sets), length, np.arange(len(sets)))
        search = BranchAndCut(piece, np.zeros(len(sets), np.bool_), lambda *_: True)
        search.root()
        for f in np.flatnonzero(~search.alive):
            dropped += 1
            best = shortest(piece, int(f))
            assert best >= search.length * (1 - 1e-9)
            close += best < 1.05 * search.length
    assert dropped > 300
    assert close > 20


def test_reduced_costs_drop_what_would_lift_the_bound_to_the_best_length():
    piece = awkward(0, 9, 4)
    search = BranchAndCut(piece, np.zeros(piece.length.size, np.bool_), lambda *_: True)
    search.picked[:] = False
    search.picked[0] = True
    search.length = 10.0
    reduced = np.zeros(piece.length.size)
    reduced[:5] = 5.0, 0.7, 0.999, 1.001, -3.0
    search._fix(9.0, reduced)
    assert search.alive.tolist() == [True, True, True, False, *[True] * (len(reduced) - 4)]


@pytest.mark.usefixtures("plain_search")
@pytest.mark.parametrize("stop", [0, 1, 2, 5, 10, 20, 40])
def test_a_search_that_is_stopped_claims_nothing_it_has_not_proven(stop):
    unproven = 0
    for seed in range(8):
        piece = awkward(seed, 9, 16)
        best, calls = shortest(piece), iter(range(stop))
        search = BranchAndCut(
            piece,
            np.zeros(piece.length.size, np.bool_),
            lambda *_, calls=calls: next(calls, -1) >= 0,
        )
        if search.root() == CONVERGED:
            search.branch()
        answer = search.answer()
        assert answer.bound <= best * (1 + 1e-9)
        assert answer.length >= best * (1 - 1e-9)
        if answer.optimal:
            assert answer.length == pytest.approx(best, rel=1e-9)
        unproven += not answer.optimal
    assert unproven > 0 or stop > 20


def listed(piece: Piece) -> FullTrees:
    return FullTrees(
        np.zeros((piece.n, 2)),
        piece.start,
        piece.terminals,
        piece.length,
        np.zeros((0, 2)),
        np.zeros((0, 2), np.int64),
        True,
    )


@pytest.mark.parametrize("seed", range(6))
def test_whole_concatenations_go_through_branching(seed, monkeypatch):
    """Where no dynamic programme may help: bounds told on the way hold, the end is the optimum."""
    monkeypatch.setattr(concatenation, "LEVELS", (concatenation.Level(0.0, 1),))
    monkeypatch.setattr(branch_and_cut, "POLISH", Budget(0.0, 0))
    monkeypatch.setattr(branch_and_cut, "IMPROVEMENTS", ())
    monkeypatch.setattr(LocalCuts, "find", lambda *_: None)
    piece = awkward(seed, 12, 26)
    best = shortest(piece)
    told: list[tuple[float, float]] = []

    def keep_going(phase: str, done: int, total: int, length: float, bound: float) -> bool:
        told.append((length, bound))
        return True

    choice = concatenation.concatenate(listed(piece), keep_going=keep_going)
    assert choice.optimal
    assert choice.length == pytest.approx(best, rel=1e-9)
    assert choice.stats["nodes"] > 0
    assert len(told) > 5
    for length, bound in told:
        assert bound <= best * (1 + 1e-9)
        assert length >= best * (1 - 1e-9)
    for stop in (1, 3, 10, len(told) // 2):
        left = iter(range(stop))
        cut = concatenation.concatenate(
            listed(piece), keep_going=lambda *_, left=left: next(left, -1) >= 0
        )
        assert cut.lower_bound <= best * (1 + 1e-9)
        assert cut.length >= best * (1 - 1e-9)
        assert not cut.optimal or cut.length == pytest.approx(best, rel=1e-9)


def test_what_is_no_tree_never_leaves():
    """A start that does not span is not used; what is none after all is an error of ours."""
    piece = awkward(0, 9, 4)
    choice = concatenation.concatenate(listed(piece), start=np.array([0, 1]))
    assert choice.length == pytest.approx(shortest(piece), rel=1e-12)
    run = concatenation._Concatenation(piece, None, None)
    run.best[:2] = False
    with pytest.raises(RuntimeError, match="do not form a tree"):
        run._check_tree()


def test_a_part_without_a_tree_falls_back_on_that_of_its_piece():
    """Only what is inside the piece is decided by that; other jobs stay open."""
    piece = awkward(0, 9, 4)
    run = concatenation._Concatenation(piece, None, None)
    m = piece.length.size
    inside = np.arange(m // 2)
    part, other = piece.restrict(np.arange(m) < 2), piece.restrict(np.arange(m) >= m - 2)
    nothing = np.zeros(2, np.bool_)
    run._choose(np.array([2, m - 1]))
    fallback = Fallback(inside, inside[3:5])
    job = Job(part, 1, nothing, 0.5, fallback=fallback)
    for one in (Job(part, 1, nothing, 0.25, fallback=fallback), Job(other, 1, ~nothing, 0.75)):
        run.open.push(one)
    run._exhaust(job)
    assert np.flatnonzero(run.chosen).tolist() == [3, 4, m - 1]
    assert run.fixed == pytest.approx(piece.length[[3, 4, m - 1]].sum())
    assert len(run.open.jobs) == 1
    assert (run.open.treeless, run.open.bound) == (0, 0.75)
    assert run.open.length == pytest.approx(other.length.sum())
    assert run.open.undecided == piece.n - 1


@pytest.mark.parametrize("limit", [4, 9])
def test_regions_improve_a_tree(limit):
    """With room for all terminals the best tree of what is given is found."""
    shorter = 0
    for seed in range(20):
        piece = awkward(seed, 9, 16)
        picked = np.zeros(piece.length.size, np.bool_)
        greedy_tree(piece.graph, np.arange(picked.size), picked)
        before = piece.length[picked].sum()
        others = np.random.default_rng(seed).random(picked.size) < 0.8
        asked = itertools.count()
        given = (piece, picked, others, np.arange(piece.n), limit)
        better = branch_and_cut.improved(*given, lambda asked=asked: next(asked) >= 0)
        assert is_tree(piece, better)
        assert not (better & ~(picked | others)).any()
        after = piece.length[better].sum()
        assert after <= before * (1 + 1e-12)
        shorter += after < before * (1 - 1e-9)
        assert next(asked) > 1
        if limit == piece.n:
            best = shortest(piece.restrict(picked | others))
            assert after == pytest.approx(best, rel=1e-9)
    assert shorter > 5


def test_easy_jobs_come_first():
    piece = awkward(0, 9, 4)
    nothing = np.zeros(piece.length.size, np.bool_)
    jobs = OpenJobs()
    for level, size in ((2, 9), (0, 12), (3, 2), (0, 5), (2, 3)):
        keep = np.arange(piece.length.size) < size
        jobs.push(Job(piece.restrict(keep), level, nothing[keep], 0.0))
    order = []
    while jobs:
        job = jobs.pop()
        order.append((job.level, job.piece.length.size))
    assert order == [(0, 5), (0, 12), (2, 3), (2, 9), (3, 2)]
    assert (jobs.bound, jobs.treeless, jobs.undecided) == (0.0, 0, 0)


def test_a_ceiling_comes_from_a_tree_of_the_whole_list():
    piece = awkward(3, 9, 4)
    run = concatenation._Concatenation(piece, None, None)
    before = run.best_length
    job = Job(piece, 3, np.zeros(piece.length.size, np.bool_), 0.0)
    best = concatenation.concatenate(listed(piece)).selected
    x = np.zeros(piece.length.size)
    x[best] = 1.0
    assert run._ceiling(job, x) == pytest.approx(shortest(piece), rel=1e-12)
    assert run.best_length == pytest.approx(shortest(piece), rel=1e-12)
    assert run.best_length <= before
    assert run._ceiling(job, 0.5 * np.ones_like(x)) >= shortest(piece) * (1 - 1e-12)


@pytest.mark.parametrize("seed", range(10))
def test_prices_bound_the_tree(seed):
    """Each terminal but one pays its cheapest share, which is nearly what a tree of edges costs."""
    piece = awkward(seed, 9, 4)
    assert concatenation._price_bound(piece) <= shortest(piece) * (1 + 1e-12)
    tight = Piece(piece.n, *path(piece.n), np.arange(piece.n - 1))
    assert concatenation._price_bound(tight) == pytest.approx(shortest(tight))


def path(n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A path of edges of length one."""
    pairs = np.stack((np.arange(n - 1), np.arange(1, n)), axis=1)
    return 2 * np.arange(n), pairs.ravel(), np.ones(n - 1)
