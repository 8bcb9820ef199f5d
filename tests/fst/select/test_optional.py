"""Concatenation with optional nodes, against every subset written out."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.optimize import Bounds, LinearConstraint, milp

from deepsteiner.core.trees import offsets
from deepsteiner.fst.select.exact.prune_kernels import incidence
from deepsteiner.fst.select.hypergraph import Hypergraph, Rows
from deepsteiner.fst.select.optional import optional_kernels as optional
from deepsteiner.fst.select.optional import turn_kernels as turning
from deepsteiner.fst.select.optional.concatenation import concatenate
from deepsteiner.fst.select.optional.first_rows import first_rows


def random_list(seed: int, size: int = 8, terminals: int = 4):
    """Random points, all their pairs and some triples and quadruples, a bit shorter than paths."""
    random = np.random.default_rng(seed)
    places = random.random((size, 2))
    leaves, length = [], []
    for many in (2, 3, 4):
        for some in itertools.combinations(range(size), many):
            if many > 2 and random.random() < 0.6:
                continue
            apart = np.hypot(*(places[list(some)][:, None] - places[list(some)][None]).T)
            tree = np.sort(apart[np.triu_indices(many, 1)])[: many - 1].sum()
            leaves.append(np.array(some))
            length.append(tree * random.uniform(0.8, 1.0))
    return leaves, np.array(length), size, terminals


def written_out(leaves, length, size, terminals) -> float:
    """The shortest tree by a programme with the inequalities of all sets."""
    m = len(leaves)
    member = np.zeros((m, size))
    for k, some in enumerate(leaves):
        member[k, some] = 1
    rows, low, high = [np.append(member.sum(axis=1) - 1, -np.ones(size))], [-1.0], [-1.0]
    for many in range(2, size + 1):
        for some in itertools.combinations(range(size), many):
            inner = np.maximum(member[:, list(some)].sum(axis=1) - 1, 0)
            for w in some:
                y = np.zeros(size)
                y[[v for v in some if v != w]] = -1
                rows.append(np.append(inner, y))
                low.append(-np.inf)
                high.append(0.0)
    for v in range(terminals, size):  # an optional node is of use where two trees meet
        rows.append(np.append(member[:, v], -2.0 * (np.arange(size) == v)))
        low.append(0.0)
        high.append(np.inf)
    lower = np.append(np.zeros(m), np.arange(size) < terminals)
    found = milp(
        np.append(length, np.zeros(size)),
        constraints=LinearConstraint(np.array(rows), low, high),
        bounds=Bounds(lower, 1.0),
        integrality=np.ones(m + size),
    )
    return float(found.fun)


@pytest.mark.parametrize("seed", range(6))
def test_the_shortest_tree_over_some_optional_nodes(seed):
    given = random_list(seed, 7)
    choice = concatenate(*given)
    assert choice.optimal
    assert choice.length == pytest.approx(written_out(*given), abs=1e-9)
    assert choice.lower_bound == pytest.approx(choice.length, rel=1e-9)


def test_nothing_connects():
    nothing = concatenate([], np.empty(0), 3, 2)
    assert len(nothing.picked) == 0
    assert nothing.lower_bound == np.inf
    apart = concatenate([np.array([0, 2])], np.array([1.0]), 3, 2)
    assert len(apart.picked) == 0
    assert apart.lower_bound == np.inf


@pytest.mark.parametrize("seed", range(12))
def test_violated_sets_are_found_exactly_where_there_are_some(seed):
    leaves, length, size, terminals = random_list(seed)
    random = np.random.default_rng(seed)
    graph = Hypergraph(size, offsets([len(one) for one in leaves]), np.concatenate(leaves), length)
    at = incidence(graph, np.ones(len(leaves), np.bool_))
    x = np.where(random.random(len(leaves)) < 0.15, random.random(len(leaves)), 0.0)
    y = np.append(np.ones(terminals), random.random(size - terminals))
    sets = Rows(np.zeros(200, np.int64), np.empty(4000, np.int64))
    count = optional.violated_sets(graph, x, y, at, 1e-7, sets)

    def violation(some, w) -> float:
        inner = sum(x[k] * max(len(set(some) & set(one.tolist())) - 1, 0)
                    for k, one in enumerate(leaves))  # fmt: skip
        return inner - sum(y[v] for v in some if v != w)

    worst = max(
        violation(some, w)
        for many in range(2, size + 1)
        for some in itertools.combinations(range(size), many)
        for w in some
    )
    assert (count > 0) == (worst > 1e-7)
    column = np.append(np.full(terminals, -1), np.arange(size - terminals) + len(leaves))
    rows = optional.set_rows(graph, at, column, sets, count)
    point = np.append(x, y[terminals:])
    for c in range(count):
        some = sets.items[sets.first[c] : sets.first[c + 1]].tolist()
        entries = slice(rows.start[c], rows.start[c + 1])
        value = (point[rows.columns[entries]] * rows.values[entries]).sum() - rows.upper[c]
        assert value == pytest.approx(violation(some, some[0]))
        assert value > 1e-7


def test_optional_nodes_of_one_tree_are_peeled_off():
    leaves = [[0, 1], [0, 2], [2, 3], [3, 1], [1, 4], [4, 5]]
    graph = Hypergraph(6, offsets([2] * 6), np.array(leaves).ravel(), np.ones(6))
    alive = np.ones(6, np.bool_)
    turning.peel(graph, alive, np.arange(6) >= 2, turning.no_turns(12, 6))
    assert alive.tolist() == [True, True, True, True, False, False]


def test_trees_that_share_two_nodes_do_not_continue_each_other():
    leaves = [np.array([0, 2, 3]), np.array([2, 3]), np.array([0, 1])]
    start = offsets([len(one) for one in leaves])
    graph = Hypergraph(4, start, np.concatenate(leaves), np.ones(3))
    alive = np.ones(3, np.bool_)
    turning.peel(graph, alive, np.arange(4) >= 2, turning.no_turns(7, 4))
    assert alive.tolist() == [False, False, True]


def may_meet(free: float, directions: list[float]) -> bool:
    """The rule itself: two edges a half turn apart, or three by thirds, on the free side."""
    gaps = np.diff(np.sort(directions))
    least = np.pi if len(directions) == 2 else 2 * np.pi / 3
    return len(directions) in (2, 3) and bool((gaps >= least).all())


@pytest.mark.parametrize("seed", range(40))
def test_rows_of_turns_allow_what_may_meet_and_hardly_more(seed):
    """Edges from terminals to one corner, the last node, in random directions: all choices."""
    random = np.random.default_rng(seed)
    free = random.uniform(1.02, 1.98) * np.pi
    count = 6
    t = np.append(random.uniform(0.0, free, count - 2), random.uniform(0.0, 0.3, 2))
    t[-1] = free - t[-1]
    graph = Hypergraph(
        count + 1, offsets([2] * count), np.c_[np.full(count, count), np.arange(count)].ravel(),
        np.ones(count),
    )  # fmt: skip
    direction = np.c_[t, np.full(count, np.nan)].ravel()
    turns = turning.Turns(direction, np.append(np.full(count, 2 * np.pi), free))
    column = np.append(np.full(count, -1), count)
    rows, _ = first_rows(graph, column, turns)
    owner = np.repeat(np.arange(len(rows.lower)), np.diff(rows.start))
    at_corner = np.bincount(owner, rows.columns == count, len(rows.lower)) > 0
    free_rows = np.bincount(owner, np.isin(rows.columns, np.arange(count)), len(rows.lower)) > 1
    turn_only = (at_corner | free_rows) & (np.arange(len(rows.lower)) > 0)
    alive = np.ones(count, np.bool_)
    turning.peel(graph, alive, np.arange(count + 1) >= count, turns)
    for chosen in itertools.product((0, 1), repeat=count):
        point = np.append(chosen, float(any(chosen)))
        value = np.bincount(owner, point[rows.columns] * rows.values, len(rows.lower))
        holds = (value >= rows.lower - 1e-9) & (value <= rows.upper + 1e-9)
        picked = np.flatnonzero(chosen)
        if may_meet(free, t[picked].tolist()):
            assert holds[turn_only].all()
            assert alive[picked].all()
        elif len(picked) == 2 and min(t[picked].min(), (free - t[picked]).min()) < 2 * np.pi / 3:
            assert not holds[turn_only].all()
    for f in np.flatnonzero(~alive).tolist():
        others = itertools.chain.from_iterable(
            itertools.combinations(set(range(count)) - {f}, many) for many in (1, 2)
        )
        assert not any(may_meet(free, t[[f, *more]].tolist()) for more in others)


@pytest.mark.parametrize("seed", range(6))
def test_a_ceiling_changes_nothing_below_it(seed):
    given = random_list(seed, 7)
    free = concatenate(*given)
    for ceiling in (free.length, 1.02 * free.length):
        choice = concatenate(*given, ceiling=ceiling)
        assert choice.length == pytest.approx(free.length, abs=1e-9)
    below = concatenate(*given, ceiling=0.9 * free.length)
    assert below.lower_bound >= 0.9 * free.length
