"""Choosing from a list: greedy starts, windows and regions, against Kruskal and brute force."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from deepsteiner.fst.enumerate.nearby.small_listing_kernels import list_small
from deepsteiner.fst.select.hypergraph import Budget, Hypergraph, Rows
from deepsteiner.fst.select.search import (
    greedy_kernels,
    region_kernels,
    region_pass_kernels,
    window_kernels,
)
from list_twins import shortest_union

ROUNDING = 1e-12
BUDGET = Budget(1e6, 10**6)


class Plain:
    """A list as Python sets, the edges of a spanning tree first."""

    def __init__(self, n: int, seed: int) -> None:
        rng = np.random.default_rng(seed)
        self.n = n
        self.points = 2.0 * rng.random((n, 2)) - 1.0
        _, self.start, self.terminals, self.length, _ = list_small(self.points, 5)
        self.graph = Hypergraph(n, self.start, self.terminals, self.length)
        bounds = itertools.pairwise(self.start.tolist())
        self.sets = [set(self.terminals[a:b].tolist()) for a, b in bounds]

    def labels(self, chosen) -> list[int] | None:
        """Which terminals some trees join; None where they close a cycle."""
        label = list(range(self.n))
        for f in chosen:
            joined = {label[v] for v in self.sets[f]}
            if len(joined) < len(self.sets[f]):
                return None
            label = [min(joined) if old in joined else old for old in label]
        return label

    def is_tree(self, chosen) -> bool:
        label = self.labels(chosen)
        return label is not None and len(set(label)) == 1

    def completed(self, chosen: list[int]) -> list[int]:
        """Kruskal: the spanning edges that still join something, shortest first."""
        label = self.labels(chosen)
        assert label is not None
        taken = []
        for e in range(self.n - 1):
            a, b = (label[v] for v in self.sets[e])
            if a != b:
                taken.append(e)
                label = [a if old == b else old for old in label]
        return taken

    def total(self, chosen) -> float:
        return float(self.length[list(chosen)].sum())

    def full(self, picked: np.ndarray) -> list[int]:
        return [f for f in np.flatnonzero(picked).tolist() if f >= self.n - 1]


def acyclic(plain: Plain, seed: int, share: float = 0.5) -> np.ndarray:
    """Flags of some full trees that close no cycle."""
    rng = np.random.default_rng(seed)
    picked = np.zeros(len(plain.sets), np.bool_)
    for f in rng.permutation(np.arange(plain.n - 1, len(plain.sets))).tolist():
        if rng.random() < share and plain.labels([*plain.full(picked), f]) is not None:
            picked[f] = True
    return picked


@pytest.mark.parametrize("seed", range(8))
def test_completing_and_measuring_against_kruskal(seed):
    plain = Plain(20, seed)
    picked = acyclic(plain, seed)
    full = plain.full(picked)
    merges = greedy_kernels.complete(plain.graph, picked)
    assert set(np.flatnonzero(picked).tolist()) == {*full, *plain.completed(full)}
    before = plain.total([*full, *plain.completed(full)])
    saving = np.full(len(plain.sets), np.nan)
    greedy_kernels.measure(plain.graph, picked, merges, saving, 0, len(plain.sets))
    useful = 0
    for f in range(len(plain.sets)):
        expected = 0.0
        if f >= plain.n - 1 and f not in full and plain.labels([*full, f]) is not None:
            expected = before - plain.total([*full, f, *plain.completed([*full, f])])
        useful += expected > 1e-9
        assert saving[f] == pytest.approx(max(expected, 0.0), abs=1e-12)
    assert useful > 0
    kept = picked.copy()
    expected = plainly_taken(plain, kept, saving)
    count = greedy_kernels.take(plain.graph, picked, merges, saving)
    assert set(plain.full(picked)) == {*full, *expected}
    assert count == len(expected) > 0


def plainly_taken(plain: Plain, picked: np.ndarray, saving: np.ndarray) -> list[int]:
    """The trees that save most, unless one before has made the same edge superfluous."""
    full = plain.full(picked)
    edges = set(plain.completed(full))
    given: set[int] = set()
    taken: list[int] = []
    for f in sorted(np.flatnonzero(saving > 0), key=lambda f: -saving[f]):
        gone = edges - set(plain.completed([*full, int(f)]))
        if not gone & given and plain.labels([*full, *taken, int(f)]) is not None:
            taken.append(int(f))
            given |= gone
    return taken


def greedy_choice(plain: Plain, rounds: int) -> np.ndarray:
    picked, saving = np.zeros(len(plain.sets), np.bool_), np.empty(len(plain.sets))
    for _ in range(rounds):
        merges = greedy_kernels.complete(plain.graph, picked)
        greedy_kernels.measure(plain.graph, picked, merges, saving, 0, len(saving))
        greedy_kernels.take(plain.graph, picked, merges, saving)
    greedy_kernels.complete(plain.graph, picked)
    return picked


@pytest.mark.parametrize("seed", range(8))
def test_greedy_rounds_never_get_longer(seed):
    plain = Plain(30, seed)
    totals = []
    for rounds in range(5):
        picked = greedy_choice(plain, rounds)
        chosen = np.flatnonzero(picked).tolist()
        assert plain.is_tree(chosen)
        totals.append(plain.total(chosen))
    assert totals[0] == pytest.approx(plain.total(range(plain.n - 1)))
    assert totals[1] < totals[0]
    assert all(b <= a * (1 + ROUNDING) for a, b in itertools.pairwise(totals))


# Windows.


def cells(plain: Plain, parts: int) -> np.ndarray:
    """Some cells in the plane, in stripes."""
    return np.floor((plain.points[:, 0] + 1.0) / 2.0 * parts).astype(np.int64)


@pytest.mark.parametrize("seed", range(6))
def test_windows_are_the_connected_parts_of_cells(seed):
    plain = Plain(40, seed)
    picked, cell = greedy_choice(plain, 1), cells(plain, 4)
    first, trees = window_kernels.connected_windows(plain.graph, picked, cell)
    found = {frozenset(trees[a:b].tolist()) for a, b in itertools.pairwise(first.tolist())}
    assert len(found) == len(first) - 1
    home = {f: cell[plain.terminals[plain.start[f]]] for f in np.flatnonzero(picked).tolist()}
    label = {f: f for f in home}
    for f, g in itertools.combinations(home, 2):
        if home[f] == home[g] and plain.sets[f] & plain.sets[g] and label[f] != label[g]:
            old, new = label[g], label[f]
            label = {h: new if name == old else name for h, name in label.items()}
    parts = {frozenset(h for h in label if label[h] == name) for name in set(label.values())}
    assert found == {part for part in parts if len(part) > 1}
    own_first, own = window_kernels.by_first_terminal(plain.graph)
    for v in range(plain.n):
        mine = own[own_first[v] : own_first[v + 1]].tolist()
        assert mine == [f for f in range(len(plain.sets)) if plain.terminals[plain.start[f]] == v]


def shortest_inside(plain: Plain, members: set[int]) -> float:
    """The shortest tree over some terminals made of the list's trees inside, set by set."""
    order = sorted(members)
    bit = {v: 1 << k for k, v in enumerate(order)}
    masks = [
        (sum(bit[v] for v in one), float(length))
        for one, length in zip(plain.sets, plain.length, strict=True)
        if one <= members
    ]
    return shortest_union(masks, (1 << len(order)) - 1)


@pytest.mark.parametrize("seed", range(6))
def test_each_window_gets_its_shortest_tree(seed):
    plain = Plain(40, seed)
    picked = np.zeros(len(plain.sets), np.bool_)
    picked[: plain.n - 1] = True  # the spanning tree: much to save
    found = window_kernels.connected_windows(plain.graph, picked, cells(plain, 5))
    windows = [set(found.items[a:b].tolist()) for a, b in itertools.pairwise(found.first)]
    own = window_kernels.by_first_terminal(plain.graph)
    local, saved = np.full(plain.n, -1), np.zeros(len(windows))
    before = plain.total(np.flatnonzero(picked))
    selection = window_kernels.Selection(plain.graph, own, picked)
    window_kernels.solve_windows(selection, found, 0, len(windows), BUDGET, local, saved)
    assert (local == -1).all()
    chosen = np.flatnonzero(picked).tolist()
    assert plain.is_tree(chosen)
    assert plain.total(chosen) == pytest.approx(before - saved.sum(), rel=1e-12)
    for window, gain in zip(windows, saved, strict=True):
        members = set().union(*(plain.sets[f] for f in window))
        if len(members) <= 12:
            best = shortest_inside(plain, members)
            assert plain.total(window) - gain == pytest.approx(best, rel=1e-12)
    assert saved.sum() > 0.0


def test_the_known_tree_of_a_block_is_the_picked_one_or_a_greedy_one_if_shorter():
    """Three trees over three vertices: a and b are a path, c is a tree of all three."""
    start, terminals = np.array([0, 2, 4, 7]), np.array([0, 1, 1, 2, 0, 1, 2])
    cases = [
        # picked, lengths, known
        ([1, 1, 0], [1.0, 1.0, 1.5], [0, 0, 1]),
        ([0, 0, 1], [0.5, 0.5, 1.5], [1, 1, 0]),
        ([1, 1, 0], [0.5, 0.5, 1.5], [1, 1, 0]),
        ([1, 0, 0], [0.1, 9.0, 1.5], [1, 1, 0]),  # what is picked does not span
        ([1, 0, 1], [0.1, 9.0, 1.5], [1, 1, 0]),  # or closes a cycle
    ]
    for picked, lengths, expected in cases:
        block, flags = Hypergraph(3, start, terminals, np.array(lengths)), np.array(picked, bool)
        known = window_kernels.known_tree(block, flags)
        assert flags.tolist() == [bool(one) for one in expected]
        assert known == pytest.approx(np.array(lengths)[flags].sum())


# Regions.


def best_in_region(plain: Plain, picked: np.ndarray, members: set[int]) -> float:
    """Every choice of trees inside that, with what is chosen outside, is a tree: the shortest."""
    inside = [f for f, one in enumerate(plain.sets) if one <= members]
    outside = [f for f in np.flatnonzero(picked).tolist() if f not in inside]
    best = math.inf

    def extend(k: int, chosen: list[int], cost: float) -> None:
        nonlocal best
        label = plain.labels([*outside, *chosen])
        if label is None or cost >= best:
            return
        if len(set(label)) == 1:
            best = cost
        elif k < len(inside):
            extend(k + 1, [*chosen, inside[k]], cost + float(plain.length[inside[k]]))
            extend(k + 1, chosen, cost)

    extend(0, [], 0.0)
    return best


@pytest.mark.parametrize("seed", range(10))
def test_a_region_gets_its_best_choice(seed):
    """Its terminals need not be connected inside: what is outside joins them."""
    plain = Plain(16, seed)
    rng = np.random.default_rng(seed)
    picked = np.zeros(len(plain.sets), np.bool_)
    picked[: plain.n - 1] = True
    own = window_kernels.by_first_terminal(plain.graph)
    selection, local = window_kernels.Selection(plain.graph, own, picked), np.full(plain.n, -1)
    for _ in range(3):
        centre = 2.0 * rng.random(2) - 1.0
        gaps = np.hypot(*(plain.points - centre).T)
        members = np.argsort(gaps)[: rng.integers(5, 9)]
        best = best_in_region(plain, picked, set(members.tolist()))
        inside = [
            f for f in np.flatnonzero(picked).tolist() if plain.sets[f] <= set(members.tolist())
        ]
        before = plain.total(inside)
        saving = region_kernels.solve_region(selection, members, BUDGET, local)
        assert (local == -1).all()
        assert plain.is_tree(np.flatnonzero(picked).tolist())
        assert before - saving == pytest.approx(best, rel=1e-12, abs=1e-12)


def test_regions_gain_something():
    """So that the test above compares something."""
    gained = 0
    for seed in range(10):
        plain = Plain(16, seed)
        picked = np.arange(len(plain.sets)) < plain.n - 1
        own = window_kernels.by_first_terminal(plain.graph)
        members = np.argsort(plain.points[:, 0])[:9]
        selection = window_kernels.Selection(plain.graph, own, picked)
        saving = region_kernels.solve_region(selection, members, BUDGET, np.full(plain.n, -1))
        gained += saving > 0.0
    assert gained > 4


def test_what_is_nearby_is_met_breadth_first():
    plain = Plain(40, 7)
    at = [[f for f, one in enumerate(plain.sets) if v in one] for v in range(plain.n)]
    first = np.concatenate(([0], np.cumsum([len(one) for one in at])))
    incidence = Rows(first, np.array([f for one in at for f in one]))
    stamp, members = np.full(plain.n, -1), np.empty(plain.n, np.int64)
    for seed, limit in itertools.product(range(plain.n), (1, 7, 40)):
        expected = [seed]
        for v in expected:
            for f in at[v]:
                own = plain.terminals[plain.start[f] : plain.start[f + 1]].tolist()
                expected += [u for u in own if u not in expected]
        count = region_kernels.nearby(plain.graph, incidence, seed, limit, stamp, members)
        stamp[:] = -1
        assert members[:count].tolist() == expected[:limit]


@pytest.mark.parametrize("seed", range(6))
def test_changes_are_seen_over_what_the_others_leave_connected(seed):
    """Parts of the tree once the dropped trees are away, by a search through what stays."""
    plain = Plain(24, seed)
    rng = np.random.default_rng(seed)
    picked = greedy_choice(plain, 1)
    hung = region_pass_kernels.hang(plain.graph, picked)
    dropped = rng.permutation(np.flatnonzero(picked))[:4]
    added = rng.permutation(np.flatnonzero(~picked))[:4]
    changed = np.concatenate((dropped, added))
    parts, at, names, new = region_pass_kernels.changes_as_parts(plain.graph, picked, changed, hung)
    stays = [f for f in np.flatnonzero(picked).tolist() if f not in dropped]
    label = plain.labels(stays)
    assert label is not None
    assert parts == len(set(label))
    assert new.tolist() == [False] * 4 + [True] * 4
    known: dict[int, int] = {}
    for k, f in enumerate(changed.tolist()):
        own = plain.terminals[plain.start[f] : plain.start[f + 1]].tolist()
        for v, name in zip(own, names[at[k] : at[k + 1]].tolist(), strict=True):
            assert known.setdefault(label[v], name) == name
    assert len(set(known.values())) == len(known)
    for flags in itertools.product((False, True), repeat=8):
        chosen = [f for f, flag in zip(changed.tolist(), flags, strict=True) if flag]
        forest = plain.labels([*stays, *chosen]) is not None
        assert region_pass_kernels.is_forest(parts, at, names, np.array(flags)) == forest
        if forest:
            count, begin, inside = region_pass_kernels.contracted(
                parts, at, names, np.array(flags), 2, 7
            )
            joined = plain.labels([*stays, *chosen])
            assert joined is not None
            same: dict[int, int] = {}
            for k, f in enumerate(changed[2:7].tolist()):
                own = plain.terminals[plain.start[f] : plain.start[f + 1]].tolist()
                for v, name in zip(own, inside[begin[k] : begin[k + 1]].tolist(), strict=True):
                    assert same.setdefault(joined[v], name) == name
            assert sorted(same.values()) == list(range(count))
