"""Regions solved at once: the tree stays whole, whatever the threads, and nothing is lost."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deepsteiner.fst.enumerate.nearby.listing import list_trees, survey
from deepsteiner.fst.select.hypergraph import Budget, Hypergraph, Rows
from deepsteiner.fst.select.search import regions, windows
from deepsteiner.fst.select.search.regions import Changes, RegionPass, acceptable, run_pass
from deepsteiner.run.monitor import Monitor
from deepsteiner.run.threads import Workers
from deepsteiner.run.watch import Stopped, Watch


def listed(n: int, seed: int):
    points = 2.0 * np.random.default_rng(seed).random((n, 2)) - 1.0
    with Workers(1) as workers:
        return list_trees(survey(points, workers), workers, 4, lambda *_: True)


def as_graph(listing) -> Hypergraph:
    return Hypergraph(len(listing.points), listing.start, listing.terminals, listing.length)


def connected(n: int, trees: list[list[int]]) -> list[int]:
    """Slow twin: the least vertex that each vertex is connected with."""
    label, before = list(range(n)), None
    while label != before:
        before = label.copy()
        for tree in trees:
            least = min(label[v] for v in tree)
            for v in tree:
                label[v] = least
    return label


def as_lists(start, terminals, flags) -> list[list[int]]:
    return [terminals[start[f] : start[f + 1]].tolist() for f in np.flatnonzero(flags)]


def is_tree(n: int, trees: list[list[int]]) -> bool:
    return sum(len(tree) - 1 for tree in trees) == n - 1 and set(connected(n, trees)) == {0}


def greedy(listing) -> np.ndarray:
    from deepsteiner.fst.select.search.greedy import first_choice

    with Workers(1) as workers:
        return first_choice(listing, workers, lambda *_: True)


def test_below_a_terminal_is_what_it_cuts_off():
    from deepsteiner.fst.select.search.region_pass_kernels import hang

    listing = listed(40, 1)
    n, trees = 40, (listing.start, listing.terminals)
    picked = greedy(listing)
    enter, leave, above = hang(as_graph(listing), picked)
    assert sorted(enter) == list(range(n))
    assert (above < 0).sum() == 1
    for v in range(1, n):
        less = picked.copy()
        less[above[v]] = False
        label = connected(n, as_lists(*trees, less))
        apart = {u for u in range(n) if label[u] == label[v]}
        assert apart == {u for u in range(n) if enter[v] <= enter[u] < leave[v]}


@pytest.mark.parametrize("seed", range(4))
def test_members_connected_outside_are_found(seed):
    from deepsteiner.fst.select.search.region_pass_kernels import _outside, hang

    listing = listed(60, seed)
    graph = as_graph(listing)
    n, start, terminals, _ = graph
    picked = greedy(listing)
    members = np.flatnonzero(listing.points[:, 0] < 0.2)
    local = np.full(n, -1)
    local[members] = np.arange(len(members))
    inside = np.array(
        [(local[terminals[start[f] : start[f + 1]]] >= 0).all() for f in range(len(listing))]
    )
    label = connected(n, as_lists(start, terminals, picked & ~inside))
    found = _outside(graph, members, local, hang(graph, picked))
    for a, b in itertools.combinations(range(len(members)), 2):
        assert (found[a] == found[b]) == (label[members[a]] == label[members[b]])


@pytest.mark.parametrize("seed", range(3))
def test_regions_at_once_save_what_they_save_one_by_one(seed):
    from deepsteiner.fst.select.search.region_kernels import solve_region
    from deepsteiner.fst.select.search.region_pass_kernels import hang, solve_apart
    from deepsteiner.fst.select.search.window_kernels import Selection, by_first_terminal

    listing = listed(300, seed)
    n, trees, graph = 300, (listing.start, listing.terminals), as_graph(listing)
    own = by_first_terminal(graph)
    alone = greedy(listing)
    together = alone.copy()
    order = np.argsort(listing.points[:, 0], kind="stable")
    bounds = np.array([0, 60, 150, 220, 300])
    local, budget = np.full(n, -1), Budget(1e6, 50_000)
    one_by_one = [
        solve_region(Selection(graph, own, alone), order[a:b], budget, local)
        for a, b in itertools.pairwise(bounds)
    ]
    saved = np.zeros(4)
    hung = hang(graph, together)
    given = (Selection(graph, own, together), Rows(bounds, order), 0, 4, budget)
    gains, rows, changed = solve_apart(*given, hung, local, saved)
    assert is_tree(n, as_lists(*trees, together))
    take = acceptable(Changes(gains, rows, changed), graph, together, hung)
    flipped = changed[np.repeat(take, np.diff(rows))]
    together[flipped] = ~together[flipped]
    assert saved.sum() + gains[take].sum() == pytest.approx(sum(one_by_one), rel=1e-9)
    assert saved.sum() > 0.0
    assert np.array_equal(alone, together)
    assert (local == -1).all()


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6))
def test_changes_are_accepted_while_the_tree_stays_one(seed):
    """Random trees of edges, random exchanges of one edge each: many do not go together."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(4, 14))
    tree = [[int(rng.integers(v)), v] for v in range(1, n)]
    others = [sorted(rng.choice(n, size=2, replace=False).tolist()) for _ in range(2 * n)]
    lists = tree + others
    start, terminals = 2 * np.arange(len(lists) + 1), np.array(lists).ravel()
    picked = np.arange(len(lists)) < n - 1
    changes = []
    dropped = set()
    for new in range(n - 1, len(lists)):
        old = int(rng.integers(n - 1))
        flags = picked.copy()
        flags[[old, new]] = False, True
        if old not in dropped and is_tree(n, as_lists(start, terminals, flags)):
            dropped.add(old)
            changes.append([old, new])
    if not changes:
        return
    from deepsteiner.fst.select.search.region_pass_kernels import hang

    rows = 2 * np.arange(len(changes) + 1)
    some = Changes(np.ones(len(changes)), rows, np.array(changes).ravel())
    graph = Hypergraph(n, start, terminals, np.ones(len(lists)))
    take = acceptable(some, graph, picked, hang(graph, picked))
    wanted = []
    flags = picked.copy()
    for old, new in changes:
        flags[[old, new]] = False, True
        wanted.append(is_tree(n, as_lists(start, terminals, flags)))
        if not wanted[-1]:
            flags[[old, new]] = True, False
    after = picked.copy()
    for (old, new), taken in zip(changes, take, strict=True):
        after[[old, new]] = (False, True) if taken else (True, False)
    assert is_tree(n, as_lists(start, terminals, after))
    assert take.any()
    if all(wanted):
        assert take.all()


def test_a_pass_does_not_depend_on_the_threads():
    listing = listed(900, 3)
    trees = (listing.start, listing.terminals)
    first = greedy(listing)
    found = []
    for threads in (1, 3):
        picked, heard = first.copy(), []
        for number in range(2):
            with Workers(threads) as workers:
                given = (listing, picked, number, RegionPass(60), workers)
                saved = run_pass(*given, lambda *told, heard=heard: heard.append(told[3]) or True)
                assert saved > 0.0
        assert is_tree(900, as_lists(*trees, picked))
        lost = listing.length[first].sum() - listing.length[picked].sum()
        assert heard[-1] == pytest.approx(listing.length[first].sum() - lost, rel=1e-9)
        found.append(picked)
    assert np.array_equal(*found)


def test_heavy_passes_on_copies_choose_the_same(monkeypatch):
    listing = listed(700, 6)
    first, found = greedy(listing), []
    for few in (0, 10**6):
        picked, told = first.copy(), []
        monkeypatch.setattr(windows, "FEW", few)
        monkeypatch.setattr(regions, "FEW", few)
        with Workers(2) as workers:
            search = windows.WindowSearch(listing, picked, workers, lambda *_: True)
            told.append(search.run(0, windows.Pass(100, 1e6)))
            told.append(
                run_pass(listing, picked, 1, RegionPass(100, 1e6), workers, lambda *_: True)
            )
        assert sum(told) > 0.0
        lost = listing.length[first].sum() - listing.length[picked].sum()
        assert sum(told) == pytest.approx(lost, rel=1e-9)
        found.append(picked)
    assert np.array_equal(*found)


@pytest.mark.parametrize("work", [1e5, 1e6])
def test_a_stopped_pass_leaves_a_tree(work):
    listing = listed(600, 4)
    trees = (listing.start, listing.terminals)
    for calls in (1, 2, 3):
        picked, left = greedy(listing), itertools.count()

        def tell(*_, calls=calls, left=left):
            return next(left) < calls

        before = listing.length[picked].sum()
        with Workers(2) as workers:
            saved = run_pass(listing, picked, 0, RegionPass(40, work), workers, tell)
        assert is_tree(600, as_lists(*trees, picked))
        assert listing.length[picked].sum() == pytest.approx(before - saved, rel=1e-9)


def test_a_watch_stops_the_preparations():
    listing = listed(200, 5)
    picked = greedy(listing)
    before = picked.copy()
    monitor = Monitor(on_progress=lambda progress: False)
    with Workers(1) as workers, pytest.raises(Stopped):
        Watch(monitor).wait("regions", lambda: None)
    with Workers(1) as workers:
        given = (listing, picked, 0, RegionPass(40), workers, lambda *_: True)
        assert run_pass(*given, Watch(monitor)) == 0.0
    assert np.array_equal(picked, before)
