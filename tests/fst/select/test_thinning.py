"""Regrets against a slow twin; thinned passes and merged starts keep a tree, never a longer one."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from deepsteiner.fst.enumerate.nearby.listing import list_trees, survey
from deepsteiner.fst.select.search import thinning
from deepsteiner.fst.select.search.crowded import Crowded, CrowdedSearch
from deepsteiner.fst.select.search.greedy import first_choice
from deepsteiner.fst.select.search.regions import RegionPass
from deepsteiner.fst.select.search.thinning import least_regretted, run_thinned_pass
from deepsteiner.run.monitor import Monitor
from deepsteiner.run.threads import Workers
from deepsteiner.run.watch import Stopped, Watch

PASSES = tuple(
    RegionPass(20, beam=20, compact=k % 2 == 1, thin=thin) for k, thin in enumerate((0, 1.5, 2.5))
)


def board(side: int, seed: int):
    """The list of a lattice of which some points are missing, and a first choice from it."""
    rng = np.random.default_rng(seed)
    every = np.array(list(itertools.product(np.linspace(-1, 1, side), repeat=2)))
    points = every[rng.random(len(every)) < 0.7]
    with Workers(1) as workers:
        trees = list_trees(survey(points, workers), workers, 4, lambda *_: True)
        return trees, first_choice(trees, workers, lambda *_: True)


def spans(trees, picked) -> bool:
    label = list(range(len(trees.points)))
    joins = 0
    for f in np.flatnonzero(picked):
        names = trees.tree(f)[0].tolist()
        roots = {label[v] for v in names}
        if len(roots) < len(names):
            return False
        joins += len(names) - 1
        label = [min(roots) if root in roots else root for root in label]
    return joins == len(trees.points) - 1


def links_slowly(trees, picked) -> list[tuple[float, int, int]]:
    """Slow twin: Kruskal inside every picked tree, its length shared out."""
    links = []
    for f in np.flatnonzero(picked):
        names = trees.tree(f)[0].tolist()
        pairs = sorted(
            (float(np.hypot(*(trees.points[a] - trees.points[b]))), a, b)
            for a, b in itertools.combinations(names, 2)
        )
        chosen = kruskal(pairs, {v: v for v in names})
        total = sum(way for way, *_ in chosen)
        links += [(way * trees.length[f] / total, a, b) for way, a, b in chosen]
    return links


def kruskal(links, label) -> list[tuple[float, int, int]]:
    chosen = []
    for price, a, b in sorted(links):
        if label[a] != label[b]:
            chosen.append((price, a, b))
            old, new = label[a], label[b]
            label = {v: new if name == old else name for v, name in label.items()}
    return chosen


@pytest.mark.parametrize("seed", range(3))
def test_regrets_are_lengths_without_the_links_that_go(seed):
    from deepsteiner.fst.select.search.regret_kernels import measure_regrets, priced_links

    trees, picked = board(5, seed)
    priced = priced_links(trees.points, trees.graph, picked)
    links = links_slowly(trees, picked)
    np.testing.assert_allclose(priced.price[:-1], sorted(price for price, *_ in links))
    np.testing.assert_allclose(priced.price[:-1].sum(), trees.length[picked].sum())
    regret = np.empty(len(trees))
    measure_regrets(trees.graph, priced, regret, 0, len(trees))
    for f in range(len(trees)):
        # Slow twin: with the terminals of the tree made one, what Kruskal's rule leaves out goes.
        names = trees.tree(f)[0].tolist()
        label = {v: names[0] if v in names else v for v in range(len(trees.points))}
        left = sum(price for price, *_ in kruskal(links, label))
        gone = sum(price for price, *_ in links) - left
        assert regret[f] == pytest.approx(trees.length[f] - gone, abs=1e-12)


def test_what_is_picked_costs_nothing_to_pick():
    from deepsteiner.fst.select.search.regret_kernels import measure_regrets, priced_links

    trees, picked = board(6, 1)
    regret = np.empty(len(trees))
    links = priced_links(trees.points, trees.graph, picked)
    measure_regrets(trees.graph, links, regret, 0, len(trees))
    np.testing.assert_allclose(regret[picked], 0.0, atol=1e-12)


def test_the_least_regretted_stay_and_what_must(monkeypatch):
    monkeypatch.setattr(thinning, "SLICE", 10)
    trees, picked = board(6, 2)
    stays = picked | (np.arange(len(trees)) == len(trees) - 1)
    with Workers(1) as workers:
        given = (workers, lambda *_: True, Watch(Monitor(), patient=False))
        few = least_regretted(trees, picked, stays, 0.0, *given)
        more = least_regretted(trees, picked, stays, 2.0, *given)
        with pytest.raises(Stopped):
            least_regretted(trees, picked, stays, 2.0, workers, lambda *_: False, given[2])
    np.testing.assert_array_equal(few, stays)
    assert more.sum() == int(2.0 * len(trees.points))
    assert more[stays].all()


@pytest.mark.parametrize("how", PASSES)
def test_a_thinned_pass_keeps_a_tree(how):
    trees, picked = board(9, 3)
    before = trees.length[picked].sum()
    with Workers(1) as workers:
        saved = run_thinned_pass(trees, picked, 0, how, workers, lambda *_: True)
    assert spans(trees, picked)
    assert trees.length[picked].sum() == pytest.approx(before - saved)
    assert saved >= 0.0


def merged(threads: int, report=lambda *_: True):
    trees, picked = board(12, 4)
    plan, lengths = Crowded(PASSES, 3, PASSES), [trees.length[picked].sum()]
    with Workers(threads) as workers:
        watch = Watch(Monitor(), patient=False)
        given = (workers, report, lambda _, saved: lengths.append(lengths[-1] - saved), watch)
        search = CrowdedSearch(trees, picked, *given)
        search.run(plan)
    return search, lengths


def test_merged_starts_give_the_same_tree_for_any_number_of_threads():
    (one, lengths), (two, _) = merged(1), merged(2)
    np.testing.assert_array_equal(one.picked, two.picked)
    assert spans(one.trees, one.picked)
    assert lengths == sorted(lengths, reverse=True)
    assert one.trees.length[one.picked].sum() == pytest.approx(lengths[-1])
    assert one.passes == 4 * len(PASSES)


@pytest.mark.parametrize("calls", [0, 1, 5, 20, 60])
def test_a_stop_leaves_the_best_so_far(calls):
    count = itertools.count()
    told = []

    def report(phase, done, total, length):
        told.append(length)
        return next(count) < calls

    search, lengths = merged(1, report)
    assert spans(search.trees, search.picked)
    assert search.trees.length[search.picked].sum() <= lengths[0] + 1e-12
    assert told == sorted(told, reverse=True)


def test_regions_stay_within_what_is_allowed():
    plan = Crowded(PASSES, 2, (RegionPass(100),)).within(15)
    assert {how.size for how in plan.passes + plan.merged} == {15}
    assert plan.starts == 2
