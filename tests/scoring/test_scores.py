"""What the network of `neural` sees, says and leads to, step by step against slow twins."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from deepsteiner.fst.enumerate.nearby.small_listing_kernels import list_grown
from deepsteiner.fst.select.hypergraph import Hypergraph
from deepsteiner.fst.select.search import flip_kernels
from deepsteiner.scoring import network_kernels, small_instance_kernels
from melzak import drawn

# What the network sees.


class Scene:
    """A list and what a twin says about it."""

    def __init__(self, n: int, seed: int) -> None:
        self.n, self.points = n, drawn("uniform", n, seed)
        self.listing = list_grown(self.points, 6)
        _, self.start, self.terminals, self.length, self.steiner = self.listing
        self.graph = Hypergraph(n, *self.listing[1:4])
        self.m = len(self.length)
        bounds = itertools.pairwise(self.start.tolist())
        self.sets = [self.terminals[a:b].tolist() for a, b in bounds]
        self.gone = [self.superfluous(f) for f in range(self.m)]
        self.base = [float(self.length[sorted(gone)].sum()) for gone in self.gone]

    def superfluous(self, f: int) -> set[int]:
        """The spanning edges that Kruskal leaves out once a tree is there."""
        if f < self.n - 1:
            return {f}
        label = list(range(self.n))
        gone = set()
        for v in self.sets[f]:
            label[v] = self.sets[f][0]
        for e in range(self.n - 1):
            a, b = (label[v] for v in self.sets[e])
            if a == b:
                gone.add(e)
            label = [a if old == b else old for old in label]
        return gone

    def edges(self, f: int) -> tuple[list[float], list[float]]:
        """Lengths of the edges at the terminals, and of those between Steiner points."""
        own = self.sets[f]
        k = len(own)
        if k == 2:
            return [math.dist(*self.points[own])] * 2, []
        spots = self.steiner[self.start[f] - 2 * f :][: k - 2]
        hang = [0, *range(k - 2), k - 3]
        outer = [math.dist(self.points[v], spots[i]) for v, i in zip(own, hang, strict=True)]
        return outer, [math.dist(a, b) for a, b in itertools.pairwise(spots)]


@pytest.fixture(scope="module")
def scene() -> Scene:
    return Scene(30, 3)


def test_savings_against_kruskal(scene):
    base, gone_start, gone = network_kernels.savings(scene.listing)
    for f in range(scene.m):
        assert set(gone[gone_start[f] : gone_start[f + 1]].tolist()) == scene.gone[f]
        assert base[f] == pytest.approx(scene.base[f], rel=1e-12)
    seen = network_kernels.view(scene.listing)
    for one, other in zip(seen.savings, (base, gone_start, gone), strict=True):
        np.testing.assert_array_equal(one, other)
    top, second, who, count = network_kernels.rivals(scene.n, scene.length, seen.savings)
    for e in range(scene.n - 1):
        rivals = [f for f in range(scene.n - 1, scene.m) if e in scene.gone[f]]
        saving = sorted((scene.base[f] - scene.length[f] for f in rivals), reverse=True)
        saving = [value for value in saving if value > 0] + [0.0, 0.0]
        assert count[e] == len(rivals)
        assert (top[e], second[e]) == (pytest.approx(saving[0]), pytest.approx(saving[1]))
        if saving[0] > 0:
            assert scene.base[who[e]] - scene.length[who[e]] == pytest.approx(saving[0])
    gaps = np.hypot(*(scene.points[:, None] - scene.points[None]).transpose(2, 0, 1))
    np.fill_diagonal(gaps, np.inf)
    np.testing.assert_allclose(seen.near, gaps.min(axis=1), rtol=1e-12)


def test_features_against_a_slow_twin(scene):
    rows, *_ = network_kernels.described(scene.listing, False)
    gaps = np.hypot(*(scene.points[:, None] - scene.points[None]).transpose(2, 0, 1))
    np.fill_diagonal(gaps, np.inf)
    near = gaps.min(axis=1)
    degree = np.bincount(scene.terminals, minlength=scene.n)
    saving = np.array(scene.base) - scene.length
    for f in range(scene.m):
        own, k = scene.sets[f], len(scene.sets[f])
        outer, inner = scene.edges(f)
        total, whole = float(scene.length[f]), scene.base[f]
        others = [
            [g for g in range(scene.n - 1, scene.m) if e in scene.gone[g]] for e in scene.gone[f]
        ]
        best = max([0.0, *(saving[g] for group in others for g in group if g != f)])
        lengths = scene.length[sorted(scene.gone[f])]
        expected = [float(min(k, 6) == size) for size in range(2, 7)]
        expected += [
            np.clip(10.0 * (whole - total) / whole, -3, 3),
            np.clip(math.log(total / ((k - 1) * near[own].mean())), -3, 3),
            min(outer) / total,
            max(outer) / total,
            np.clip(degree[own].mean() / 5.0, 0, 4),
            np.clip(10.0 * (whole - total - best) / whole, -3, 3),
            np.clip(10.0 * best / whole, 0, 3),
            np.clip(sum(map(len, others)) / (k - 1) / 5.0, 0, 4),
            lengths.min() / whole,
            lengths.max() / whole,
            min(inner) / total if inner else 0.0,
            np.clip(math.log(near[own].max() / near[own].min()), 0, 3),
        ]
        np.testing.assert_allclose(rows[f], expected, rtol=1e-5, atol=1e-6)


def test_scores_are_the_networks_formulas(scene):
    """Rounds of messages over the relations in plain numpy."""
    from deepsteiner.scoring.weights import load_weights

    weights = load_weights()
    rows, begin, links = network_kernels.described(scene.listing, True)
    state = np.maximum(rows.astype(float) @ weights.input + weights.input_bias, 0.0)
    for own, bias, message in zip(*weights[2:5], strict=True):
        sums = np.zeros((scene.m, network_kernels.RELATIONS, state.shape[1]))
        for f in range(scene.m):
            for link in links[begin[f] : begin[f + 1]].tolist():
                other, relation = divmod(link, network_kernels.STRIDE)
                sums[f, relation] += state[other]
        state = np.maximum(state @ own + bias + sums.reshape(scene.m, -1) @ message, 0.0)
    expected = state @ weights.output + weights.output_bias
    logits = network_kernels.scores(scene.listing, weights)
    np.testing.assert_allclose(logits, expected, atol=1e-4 * max(1.0, np.abs(expected).max()))
    assert np.ptp(expected) > 1.0


# What is kept and how it is priced.


@pytest.mark.parametrize("drop", [-1.0, 0.0, 1.0, 3.0])
@pytest.mark.parametrize("doubt", [0.0, 4.0, 12.0])  # of the spanning edges
def test_likely_trees_are_kept_and_enough_to_span(scene, drop, doubt):
    rng = np.random.default_rng(2)
    logits = rng.normal(0.0, 2.0, scene.m).astype(np.float32)
    logits[: scene.n - 1] -= doubt
    saved = network_kernels.savings(scene.listing)
    keep = small_instance_kernels.keep_likely(scene.listing, logits, saved, drop)
    likely = {f for f in range(scene.n - 1, scene.m) if logits[f] >= drop}
    covered = set().union(*(scene.gone[f] for f in likely)) if likely else set()
    edges = {
        e
        for e in range(scene.n - 1)
        if logits[e] >= drop - small_instance_kernels.CAUTION or e not in covered
    }
    label = list(range(scene.n))
    spanning_edges = set()
    for f in sorted(range(scene.m), key=lambda f: -logits[f]):  # Kruskal by likelihood
        if f >= scene.n - 1 and f not in likely:
            continue
        parts = {label[v] for v in scene.sets[f]}
        if len(parts) == len(scene.sets[f]):
            label = [min(parts) if old in parts else old for old in label]
            spanning_edges.add(f)
    assert set(np.flatnonzero(keep).tolist()) == likely | edges | spanning_edges
    assert len(set(label)) == 1
    order = small_instance_kernels.likely_order(logits)
    assert (np.diff(logits[order]) <= 0).all()


def test_prices_and_doubts(scene):
    rng = np.random.default_rng(4)
    logits = rng.normal(0.0, 8.0, scene.m).astype(np.float32)
    keys = flip_kernels.price_keys(scene.graph, logits)
    for f in range(scene.m):
        doubt = -math.log(1.0 / (1.0 + math.exp(-max(float(logits[f]), -30.0))))
        share = scene.length[f] / (len(scene.sets[f]) - 1)
        assert keys[f] == pytest.approx(share * (1.0 + 0.1 * doubt), rel=1e-9)
    order = flip_kernels.doubt_order(logits)
    assert (np.diff(np.abs(logits[order])) >= 0).all()
    assert sorted(order.tolist()) == list(range(scene.m))


def is_tree(n: int, sets, chosen) -> bool:
    label = list(range(n))
    for f in chosen:
        parts = {label[v] for v in sets[f]}
        if len(parts) < len(sets[f]):
            return False
        label = [min(parts) if old in parts else old for old in label]
    return len(set(label)) == 1


def test_after_a_search_no_single_flip_helps(scene):
    """Each is tried once more, step by step."""
    rng = np.random.default_rng(6)
    logits = rng.normal(0.0, 2.0, scene.m).astype(np.float32)
    keys = flip_kernels.price_keys(scene.graph, logits)
    order = np.argsort(keys, kind="stable")
    now = np.arange(scene.m) < scene.n - 1
    rank = flip_kernels.doubt_order(logits)
    total = flip_kernels.flip_search(
        scene.graph, order, rank, -1, -1, True, 0, now, np.zeros(1, np.int64)
    )
    assert total == pytest.approx(scene.length[now].sum())
    assert total < scene.length[: scene.n - 1].sum()
    for flip in range(scene.m):
        queue = [] if now[flip] else [flip]
        queue += [f for f in order.tolist() if now[f] and f != flip]
        queue += [f for f in order.tolist() if not now[f] and f != flip]
        chosen, label = [], list(range(scene.n))
        for f in queue:
            parts = {label[v] for v in scene.sets[f]}
            if len(parts) == len(scene.sets[f]):
                label = [min(parts) if old in parts else old for old in label]
                chosen.append(f)
        if len(set(label)) == 1:
            assert scene.length[chosen].sum() >= total * (1 - 1e-9)


@pytest.mark.parametrize("piece", [0, 10, 30])
def test_choices_are_trees_and_the_best_where_pieces_are_large(scene, piece):
    from deepsteiner.fst.select.exact.blocks_kernels import concatenate_small
    from deepsteiner.scoring.weights import load_weights

    logits = network_kernels.scores(scene.listing, load_weights())
    plan = small_instance_kernels.Plan(
        6, False, -100.0, piece, 1e6, 10**6, sweeps=3, pairs=500, trials=10
    )
    keep, stop = np.ones(scene.m, np.bool_), np.zeros(1, np.int64)
    chosen = small_instance_kernels.choose(scene.listing, logits, keep, plan, stop)
    assert is_tree(scene.n, scene.sets, np.flatnonzero(chosen).tolist())
    best = concatenate_small(scene.graph, np.zeros(scene.m, np.bool_))
    total = scene.length[chosen].sum()
    assert best * (1 - 1e-12) <= total <= 1.01 * best
    if piece == 30:
        assert total == pytest.approx(best, rel=1e-12)
    spots, links = small_instance_kernels.decide(scene.listing, logits, plan, stop)
    nodes = np.concatenate((scene.points, spots))
    assert np.hypot(*(nodes[links[:, 0]] - nodes[links[:, 1]]).T).sum() == pytest.approx(total)
