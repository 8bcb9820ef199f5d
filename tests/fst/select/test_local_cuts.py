"""Local cuts and branching on pairs, against forests and trees that are found by trying all."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

pytest.importorskip("highspy")

from deepsteiner.fst.select.exact.cutting import forest_kernels, local_cuts
from deepsteiner.fst.select.exact.cutting.branching import fractional_groups
from deepsteiner.fst.select.exact.cutting.forest_kernels import NOTHING, TOO_WIDE, Traces
from deepsteiner.fst.select.exact.cutting.kept_cuts import inward, outward
from deepsteiner.fst.select.exact.cutting.local_cuts import LocalCuts
from deepsteiner.fst.select.exact.cutting.subtour_kernels import subtour_rows
from deepsteiner.fst.select.exact.cutting.subtour_lp import Relaxation
from deepsteiner.fst.select.exact.prune_kernels import incidence
from deepsteiner.fst.select.hypergraph import Rows
from list_twins import best_trees, drawn, labels_after, listed

MANY = 10**6


def members(mask: int) -> list[int]:
    return [v for v in range(62) if mask >> v & 1]


def forests(masks: np.ndarray) -> list[tuple[int, ...]]:
    """All sets of traces without a cycle."""
    found = []
    for size in range(len(masks) + 1):
        for some in itertools.combinations(range(len(masks)), size):
            if labels_after(62, [members(int(masks[k])) for k in some]) is not None:
                found.append(some)
    return found


def drawn_masks(seed: int, nodes: int, count: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    found: set[int] = set()
    while len(found) < count:
        one = rng.choice(nodes, int(rng.integers(2, 5)), replace=False)
        found.add(sum(1 << int(v) for v in one))
    return np.array(sorted(found), np.int64)


@pytest.mark.parametrize("seed", range(20))
def test_heaviest_forest_against_all_forests(seed):
    masks = drawn_masks(seed, 7, 10)
    weights = np.random.default_rng(seed).integers(0, 9, masks.size).astype(float)
    best = max(weights[list(one)].sum() for one in forests(masks))
    order, chosen = forest_kernels.forest_order(masks), np.zeros(masks.size, np.bool_)
    assert sorted(order) == list(range(masks.size))
    assert forest_kernels.heaviest_forest(masks, weights, order, -0.5, MANY, chosen) == best
    assert weights[chosen].sum() == best
    assert tuple(np.flatnonzero(chosen)) in forests(masks)
    assert forest_kernels.heaviest_forest(masks, weights, order, best - 0.5, MANY, chosen) == best
    assert forest_kernels.heaviest_forest(masks, weights, order, best, MANY, chosen) == NOTHING


def test_a_forest_that_needs_too_much_is_given_up():
    masks = drawn_masks(1, 10, 14)
    order, chosen = forest_kernels.forest_order(masks), np.zeros(masks.size, np.bool_)
    weights = np.ones(masks.size)
    assert forest_kernels.heaviest_forest(masks, weights, order, -0.5, 2, chosen) == TOO_WIDE
    star = np.array([(1 << 40) - 1, 3], np.int64)  # more terminals at once than there are slots
    assert forest_kernels.heaviest_forest(
        star, np.ones(2), forest_kernels.forest_order(star), -0.5, MANY, np.zeros(2, np.bool_)
    ) == TOO_WIDE  # fmt: skip


@pytest.mark.parametrize("seed", range(20))
def test_lifted_weights_make_no_forest_heavier(seed):
    """All together: the lifted traces may be in one forest."""
    masks = drawn_masks(seed, 6, 11)
    rng = np.random.default_rng(seed)
    own = rng.permutation(masks.size)[:6]
    others = np.setdiff1d(np.arange(masks.size), own)
    weights = np.zeros(masks.size)
    weights[own] = rng.integers(0, 5, own.size)
    most = max(weights[list(one)].sum() for one in forests(masks))
    weights[others] = forest_kernels.lift(masks[own], weights[own], masks[others], MANY)
    assert max(weights[list(one)].sum() for one in forests(masks)) <= most
    inside = [k for k in others if any(masks[i] & ~masks[k] == 0 and weights[i] for i in own)]
    assert all(weights[k] > 0 for k in inside)


def test_traces_are_what_sets_have_in_common_with_full_trees():
    sets, lengths = drawn(3, 9, 12)
    graph = listed(9, sets, lengths)
    alive = np.arange(len(sets)) % 5 != 0
    x = np.random.default_rng(0).random(len(sets))
    chosen = np.array([1, 4, 7, 8, 2])
    found = forest_kernels.collect_traces(incidence(graph, alive), alive, x, chosen)
    expected: dict[int, float] = {}
    for f, one in enumerate(sets):
        mask = sum(1 << k for k, v in enumerate(chosen) if v in one)
        if alive[f] and mask & (mask - 1):
            expected[mask] = expected.get(mask, 0.0) + x[f]
            assert mask in found.masks[found.which[found.columns == f]]
    assert dict(zip(found.masks.tolist(), found.value.tolist(), strict=True)) == pytest.approx(
        expected
    )


def test_a_set_grows_where_x_ties_it():
    sets = [[0, 1], [1, 2], [2, 3], [0, 4]]
    graph = listed(5, sets, np.ones(4))
    at = incidence(graph, np.ones(4, np.bool_))
    x = np.array([0.9, 0.5, 0.0, 0.2])
    even = np.ones(5)
    grown = forest_kernels.grow_set(graph, at, x, 0, 3, even)
    assert grown.tolist() == [0, 1, 2]
    assert sorted(forest_kernels.grow_set(graph, at, x, 0, 9, even)) == [0, 1, 2, 4]


def test_what_subtours_allow_and_forests_do_not():
    """Six triples over seven terminals, half of each: a mixture of no forests."""
    lines = [(0, 1, 2), (0, 3, 4), (0, 5, 6), (1, 3, 5), (1, 4, 6), (2, 3, 6), (2, 4, 5)]
    masks = np.array(sorted(sum(1 << v for v in line) for line in lines), np.int64)
    value = np.full(masks.size, 3.0 / 7.0)  # of all forests, none has more than three lines...
    number = np.arange(masks.size)
    assert local_cuts.violated_by(Traces(masks, value, number, number)) is None
    found = local_cuts.violated_by(Traces(masks, value * 1.01, number, number))
    assert found is not None
    weights, most = found
    assert max(weights[list(one)].sum() for one in forests(masks)) == most
    assert weights @ value * 1.01 > most


@pytest.mark.parametrize("seed", range(12))
def test_local_cuts_hold_for_every_tree_and_cut_x_off(seed, monkeypatch):
    monkeypatch.setattr(local_cuts, "SMALL", (4, 7))
    sets, lengths = drawn(seed, 7, 9)
    unique = sorted({tuple(sorted(one)): k for k, one in enumerate(sets)}.values())
    sets, lengths = [sets[k] for k in unique], lengths[unique]
    graph, alive = listed(7, sets, lengths), np.ones(len(sets), np.bool_)
    at = incidence(graph, alive)
    search = LocalCuts(graph, at)
    rng = np.random.default_rng(seed)
    _, trees = best_trees(7, sets, np.zeros(len(sets)))  # all of them: every length is the least
    cut = 0
    for _ in range(5):
        x = rng.random(len(sets)) * 0.9
        rows = search.find(x, alive, lambda: True)
        if rows is None:
            continue
        for r in range(rows.lower.size):
            entries = slice(rows.start[r], rows.start[r + 1])
            values = np.zeros(len(sets))
            values[rows.columns[entries]] = rows.values[entries]
            assert values @ x > rows.upper[r]
            cut += 1
            assert all(values[list(tree)].sum() <= rows.upper[r] for tree in trees)
    assert cut > 0


def test_whole_numbers_are_not_cut():
    sets, lengths = drawn(1, 8, 10)
    graph, alive = listed(8, sets, lengths), np.ones(len(sets), np.bool_)
    x = np.zeros(len(sets))
    x[: graph.n - 1] = 1.0
    search = LocalCuts(graph, incidence(graph, alive))
    assert search.find(x, alive, lambda: True) is None
    assert fractional_groups(graph, incidence(graph, alive), x) == []


def test_groups_are_pairs_near_one_half_that_share_no_terminal():
    sets = [[0, 1, 2], [0, 1], [2, 3], [3, 4, 5], [4, 5], [1, 3]]
    graph, x = listed(6, sets, np.ones(6)), np.array([0.3, 0.2, 0.6, 0.5, 0.1, 1.0])
    at = incidence(graph, np.ones(6, np.bool_))
    groups = fractional_groups(graph, at, x)
    assert [one.pair for one in groups] == [(0, 1), (3, 4)]
    assert [one.columns.tolist() for one in groups] == [[0, 1], [3]]
    assert [one.value for one in groups] == pytest.approx([0.5, 0.5])


def test_single_full_trees_are_asked_where_all_pairs_are_whole():
    """Two FSTs with the same terminals, half of each: every pair sums to one."""
    graph = listed(2, [[0, 1], [0, 1]], np.ones(2))
    groups = fractional_groups(graph, incidence(graph, np.ones(2, np.bool_)), np.full(2, 0.5))
    assert [one.columns.tolist() for one in groups] == [[0], [1]]


def test_held_groups_are_rows_that_come_and_go():
    sets, lengths = drawn(5, 8, 14)
    graph = listed(8, sets, lengths)
    at = incidence(graph, np.ones(len(sets), np.bool_))
    program = Relaxation(graph, at)
    assert program.solve(lambda: True) == "optimal"
    free, rows = program.bound()[0], program.rows.lower.size
    unused = np.flatnonzero(program.x == 0.0)[:3]
    program.hold({7: unused})
    assert program.solve(lambda: True) == "optimal"
    assert program.x[unused].sum() >= 1.0 - 1e-9
    assert program.bound()[0] > free
    program.hold({})
    assert program.solve(lambda: True) == "optimal"
    assert program.bound()[0] == pytest.approx(free)
    program.forget([7])
    assert program.rows.lower.size == rows
    assert program.solve(lambda: True) == "optimal"
    assert program.bound()[0] == pytest.approx(free)


@pytest.mark.parametrize("seed", range(8))
def test_kept_cuts_hold_in_smaller_pieces(seed):
    """Whatever was chosen for good, and whatever was dropped: no tree with it is cut off."""
    sets, lengths = drawn(seed, 7, 9)
    graph, rng = listed(7, sets, lengths), np.random.default_rng(seed)
    at = incidence(graph, np.ones(len(sets), np.bool_))
    some = [rng.choice(7, k, replace=False) for k in (2, 3, 4, 5, 6)]
    first = np.concatenate([[0], np.cumsum([one.size for one in some])])
    program = Relaxation(graph, at)
    program.add_rows(subtour_rows(graph, at, Rows(first, np.concatenate(some)), len(some)))
    program.solve(lambda: True)
    program._duals[:] = 1.0  # keep them all, in either form
    trees = np.arange(len(sets)) + 10  # the piece is part of a longer list
    joins = np.diff(graph.start) - 1.0
    cuts = outward(program.binding(), joins, trees)
    assert cuts.upper.tolist() == [one.size - 1.0 for one in some]
    _, found = best_trees(7, sets, np.zeros(len(sets)))
    tree = found[int(rng.integers(len(found)))]
    chosen = np.zeros(len(sets) + 10, np.bool_)
    chosen[trees[[min(tree)]]] = True
    here = np.array([f for f in range(len(sets)) if f != min(tree) and rng.random() < 0.8])
    rows = inward(cuts, trees[here], chosen)
    assert np.isinf(rows.lower).all()
    tight = 0
    for one in found:
        if min(tree) not in one or not one - {min(tree)} <= set(here.tolist()):
            continue
        x = np.isin(here, list(one)).astype(float)
        for r in range(rows.upper.size):
            entries = slice(rows.start[r], rows.start[r + 1])
            total = rows.values[entries] @ x[rows.columns[entries]]
            assert total <= rows.upper[r]
            tight += total == rows.upper[r]
    assert tight > 0 or not rows.upper.size
