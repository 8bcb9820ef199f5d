"""`neural`: the search without the exact solver, pairs across gaps, and how large pieces are."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import deepsteiner as ds
from deepsteiner.core.points import Frame
from deepsteiner.fst.select.hypergraph import Hypergraph
from deepsteiner.fst.select.search import regions, windows
from deepsteiner.run.watch import never
from deepsteiner.scoring.weights import load_weights
from deepsteiner.solvers import neural, search
from list_twins import labels_after


def framed(points):
    return Frame.of(points).into(points)


def scored(n, seed):
    from deepsteiner.fst.enumerate.nearby.small_listing_kernels import list_grown
    from deepsteiner.scoring.network_kernels import scores

    points = framed(np.random.default_rng(seed).random((n, 2)))
    listing = list_grown(points, 6)
    return listing, Hypergraph(n, *listing[1:4]), scores(listing, load_weights())


def completed(graph, order, now, flips):
    """Return what a flip gives, step by step: (length, chosen), or None where it does not span."""
    n, start, terminals, length = graph
    part = {v: frozenset([v]) for v in range(n)}
    chosen = []

    def take(f):
        own = terminals[start[f] : start[f + 1]].tolist()
        if len({part[v] for v in own}) < len(own):
            return False
        union = frozenset().union(*(part[v] for v in own))
        part.update(dict.fromkeys(union, union))
        chosen.append(f)
        return True

    for f in flips:
        if not now[f] and not take(f):
            return None
    for turn in (True, False):
        for f in order:
            if now[f] == turn and f not in flips:
                take(f)
    return (length[chosen].sum(), set(chosen)) if len(set(part.values())) == 1 else None


def is_tree(graph, flags):
    sets = np.split(graph.terminals, graph.start[1:-1])
    label = labels_after(graph.n, [sets[f].tolist() for f in np.flatnonzero(flags)])
    return label is not None and len(set(label)) == 1


@pytest.mark.parametrize("n", [9, 30, 70])  # with more than 62 terminals without bits
def test_a_flip_against_a_slow_twin(n):
    from deepsteiner.fst.select.search.flip_kernels import arrange, flipped, prepared, price_keys

    _, graph, logits = scored(n, n)
    m = len(graph.length)
    order = np.argsort(price_keys(graph, logits), kind="stable")
    spanning = np.arange(m) < n - 1
    choice = prepared(graph, spanning)
    arrange(choice, order)
    for one, two in np.random.default_rng(0).integers(m, size=(40, 2)).tolist():
        flips = [one] if one == two else [one, two]
        wanted = completed(graph, order, spanning, flips)
        pair = (one, -1 if one == two else two)
        total, count = flipped(choice, *pair, np.inf)
        if wanted is None:
            assert total == np.inf
            continue
        assert total == pytest.approx(wanted[0], rel=1e-12)
        assert set(choice.taken[:count].tolist()) == wanted[1]
        assert flipped(choice, *pair, total * (1.0 - 1e-9))[0] == np.inf


@pytest.mark.parametrize("n", [12, 40, 80])
def test_search_keeps_a_tree_and_gets_shorter(n):
    from deepsteiner.fst.select.search.flip_kernels import (
        disturbed_search,
        doubt_order,
        flip_search,
        price_keys,
    )

    _, graph, logits = scored(n, 5)
    length = graph.length
    keys, rank = price_keys(graph, logits), doubt_order(logits)
    now = np.arange(len(length)) < n - 1
    totals = [length[now].sum()]
    for pairs in (0, 200, 10_000):
        order = np.argsort(keys, kind="stable")
        totals.append(flip_search(graph, order, rank, -1, -1, True, pairs, now, never()))
        assert is_tree(graph, now)
        assert totals[-1] == pytest.approx(length[now].sum(), rel=1e-12)
    totals.append(disturbed_search(graph, keys, rank, 20, now, totals[-1], never()))
    assert is_tree(graph, now)
    assert totals[-1] == pytest.approx(length[now].sum(), rel=1e-12)
    assert all(b <= a * (1.0 + 1e-12) for a, b in itertools.pairwise(totals))
    assert totals[1] < totals[0]


def test_a_choice_is_never_longer_than_its_greedy_start():
    from deepsteiner.scoring.small_instance_kernels import Plan, choose, likely_start

    plan = Plan(6, False, 0.0, 0, 1e5, 1000, sweeps=1, pairs=0, trials=0)
    for seed in range(20):
        trees, _, logits = scored(25, seed)
        length = trees.length
        noise = np.random.default_rng(seed).normal(0.0, 6.0, len(logits)).astype(np.float32)
        keep = np.ones(len(length), dtype=np.bool_)
        begun = likely_start(trees, noise, keep.copy())
        chosen = choose(trees, noise, keep, plan, never())
        assert length[chosen].sum() <= length[begun].sum() * (1.0 + 1e-12)


def test_pairs_across_gaps_have_a_common_neighbour_and_a_wide_gap():
    from deepsteiner.fst.enumerate.nearby.gap_kernels import WIDE, pairs_across_gaps
    from deepsteiner.fst.enumerate.nearby.neighbour_kernels import (
        ON_TWO,
        bottleneck,
        bottleneck_tree,
    )
    from deepsteiner.fst.enumerate.nearby.small_listing_kernels import neighbour_pairs
    from deepsteiner.geometry.spanning_kernels import prim

    rng = np.random.default_rng(3)
    points = framed(rng.random((4, 2))[rng.integers(4, size=30)] + rng.normal(0, 0.01, (30, 2)))
    n = len(points)
    tree = np.empty((n - 1, 2), dtype=np.int64)
    prim(points, tree)
    span = np.hypot(*(points[tree[:, 0]] - points[tree[:, 1]]).T)
    tree = tree[np.argsort(span, kind="stable")]
    bottlenecks = bottleneck_tree(points, tree)
    pairs = neighbour_pairs(points, tree)
    wider = pairs_across_gaps(points, pairs, bottlenecks)
    apart = np.hypot(*(points[:, None] - points[None]).transpose(2, 0, 1))
    near = np.where(np.eye(n, dtype=bool), np.inf, apart).min(axis=1)
    joined = np.zeros((n, n), dtype=bool)
    joined[pairs[:, 0], pairs[:, 1]] = joined[pairs[:, 1], pairs[:, 0]] = True
    wanted = {tuple(sorted(pair)) for pair in pairs.tolist()}
    for a, b in itertools.combinations(range(n), 2):
        gap = bottleneck(a, b, bottlenecks)
        wide = gap >= WIDE * max(near[a], near[b]) and apart[a, b] <= ON_TWO * gap
        if wide and (joined[a] & joined[b]).any():
            wanted.add((a, b))
    found = [tuple(sorted(pair)) for pair in wider.tolist()]
    assert len(found) == len(set(found)) > len(pairs)
    assert set(found) == wanted
    assert (np.diff([apart[a, b] for a, b in found]) >= 0.0).all()


@pytest.mark.parametrize("n", [300, 500, 2000])
@pytest.mark.parametrize("kind", ["uniform", "clustered"])
def test_no_solved_piece_has_more_than_a_third_of_the_points(n, kind, monkeypatch):
    """Pieces are counted where they are made: windows by terminals, regions before contraction."""
    from deepsteiner.fst.select.search.window_kernels import connected_windows

    seen = []
    plain_run, plain_pass = windows.WindowSearch.run, regions.run_pass

    def run(self, number, how):
        listing = self.listing
        cell = windows.cells_of(listing.points, how.size, number)
        first, trees = connected_windows(self.graph, self.picked, cell)
        for a, b in itertools.pairwise(first):
            own = [listing.terminals[slice(*listing.start[[f, f + 1]])] for f in trees[a:b]]
            seen.append(("window", len(np.unique(np.concatenate(own)))))
        return plain_run(self, number, how)

    def run_pass(listing, picked, number, how, *rest):
        cell = windows.cells_of(listing.points, how.size, number)
        seen.extend(("region", count) for count in np.unique(cell, return_counts=True)[1])
        return plain_pass(listing, picked, number, how, *rest)

    monkeypatch.setattr(windows.WindowSearch, "run", run)
    monkeypatch.setattr(search, "run_pass", run_pass)
    points = ds.datasets.load(kind, n=n, count=1, split="validation", seed=1).points[0]
    for effort in neural.EFFORTS:
        ds.solve(points, "neural", effort=effort)
    assert {name for name, _ in seen} == {"window", "region"}
    assert max(count for _, count in seen) <= n / 3


def test_small_pieces_are_at_most_a_third():
    for n in (3, 10, 20, 50, 150, 256):
        assert neural.small_plan(neural.Options(), n).piece <= n / 3
        assert neural.small_plan(neural.Options(pieces="none"), n).piece == 0
        assert neural.small_plan(neural.Options(pieces="any"), n).piece == n


def test_regions_of_small_instances_keep_to_their_limit():
    from deepsteiner.fst.select.exact.prune_kernels import incidence
    from deepsteiner.fst.select.search.region_kernels import nearby

    _, graph, _ = scored(60, 2)
    at = incidence(graph, np.ones(len(graph.length), dtype=np.bool_))
    stamp, members = np.full(60, -1, dtype=np.int64), np.empty(60, dtype=np.int64)
    for seed in range(60):
        assert nearby(graph, at, seed, 20, stamp, members) <= 20
