"""Reductions, orders and bounds of lists of full Steiner trees, against plain Python."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from deepsteiner.core.tree_kernels import find
from deepsteiner.fst.select.exact import (
    frontier_kernels,
    prune_kernels,
    small_solve_kernels,
    subset_kernels,
)
from deepsteiner.fst.select.exact.cutting import separation_kernels, subtour_kernels
from deepsteiner.fst.select.exact.cutting.subtour_kernels import Inequalities
from deepsteiner.fst.select.exact.frontier import solve_by_frontier
from deepsteiner.fst.select.exact.piece import Piece, distances_among
from deepsteiner.fst.select.hypergraph import Budget, Claims, Distances, Rows
from deepsteiner.run.method import TreeRows
from list_twins import (
    Sets,
    best_trees,
    connected,
    drawn,
    labels_after,
    listed,
    minimax,
    packed,
    rings,
)
from melzak import spanning

ENOUGH = Budget(math.inf, 10**6)

# Reductions.


@pytest.mark.parametrize("seed", range(10))
def test_incidence_and_order(seed):
    sets, lengths = drawn(seed, 9, 8)
    graph = listed(9, sets, lengths)
    alive = np.random.default_rng(seed).random(len(sets)) < 0.7
    first, lists = prune_kernels.incidence(graph, alive)
    for v in range(9):
        expected = [f for f, one in enumerate(sets) if alive[f] and v in one]
        assert lists[first[v] : first[v + 1]].tolist() == expected
    pairs = [f for f, one in enumerate(sets) if len(one) == 2]
    order = prune_kernels.edge_order(graph)
    assert order.tolist() == sorted(pairs, key=lambda f: lengths[f])
    by_share = subset_kernels.share_order(graph)
    shares = [lengths[f] / (len(sets[f]) - 1) for f in range(len(sets))]
    assert by_share.tolist() == sorted(range(len(sets)), key=lambda f: shares[f])


@pytest.mark.parametrize("seed", range(10))
def test_spans_under_bottleneck_distances(seed):
    sets, lengths = drawn(seed, 10, 10, 6)
    graph = listed(10, sets, lengths)
    alive = np.ones(len(sets), np.bool_)
    forest = prune_kernels.bottleneck_forest(graph, alive, prune_kernels.edge_order(graph))
    widest = minimax(10, sets, lengths)
    near = np.empty(10)
    for one in sets:
        found = prune_kernels.bottleneck_span(forest, np.array(one), near)
        assert found == pytest.approx(spanning(widest, one), rel=1e-12)


@pytest.mark.parametrize("seed", range(10))
def test_distances_survive_contraction_and_choice(seed):
    """Merged terminals are at no distance; some vertices alone keep their distances."""
    sets, lengths = drawn(seed, 10, 10, 6)
    graph = listed(10, sets, lengths)
    own = prune_kernels.own_distances(graph, np.ones(len(sets), np.bool_))
    assert own.names.tolist() == list(range(10))
    rng = np.random.default_rng(seed)
    merged = np.arange(10)
    joined = [rng.choice(10, 2, replace=False).tolist() for _ in range(1 + seed % 3)]
    for a, b in joined:
        merged[find(merged, a)] = find(merged, b)
    names = rng.permutation(10)[:6]  # of fewer terminals than the forest has
    for seen, expected in (
        (own.forest, minimax(10, sets, lengths)),
        (
            prune_kernels.contracted_forest(own, merged),
            minimax(10, [*sets, *joined], np.append(lengths, np.zeros(len(joined)))),
        ),
    ):
        for distances in (Distances(seen, names), distances_among(seen, names)):
            for i, j in itertools.combinations(range(6), 2):
                a, b = distances.names[i], distances.names[j]
                found = prune_kernels.bottleneck(distances.forest, a, b)
                assert found == expected[names[i]][names[j]]


def test_blocks_are_what_no_single_terminal_separates():
    counts = [check_blocks(drawn(seed, 8, 5, 3)[0], seed % 8) for seed in range(60)]
    counts += [check_blocks(rings(seed, seed % 4)[0], seed % 8) for seed in range(20)]
    assert {0, 1, 3} <= set(counts)


def check_blocks(sets: Sets, root: int) -> int:
    """Compare with the twin; return the number of blocks, 0 where a set cuts."""
    graph = listed(8, sets, np.ones(len(sets)))
    alive = np.ones(len(sets), np.bool_)
    _, blocks, cut, block = prune_kernels.find_blocks(graph, alive, root)

    def parts(without: int) -> list[int]:
        """Label the sets that are connected when one terminal is away."""
        label = list(range(len(sets)))
        for f, g in itertools.combinations(range(len(sets)), 2):
            if (set(sets[f]) & set(sets[g])) - {without} and label[f] != label[g]:
                label = [label[f] if old == label[g] else old for old in label]
        return label

    for f in range(len(sets)):
        rest = [one for g, one in enumerate(sets) if g != f]
        assert cut[f] == (len(connected(8, rest)) > 1)
    if cut.any():
        return 0
    assert set(block.tolist()) == set(range(blocks))
    separations = [parts(v) for v in range(8)]
    for f, g in itertools.combinations(range(len(sets)), 2):
        together = all(label[f] == label[g] for label in separations)
        assert (block[f] == block[g]) == together
    return int(blocks)


@pytest.mark.parametrize("seed", range(8))
def test_contraction_renames_and_drops_what_closes_a_cycle(seed):
    n = 9
    rng = np.random.default_rng(seed)
    sets, lengths = drawn(seed, n, 14)
    graph = listed(n, sets, lengths)
    merged, label = np.arange(n), list(range(n))
    for _ in range(3):
        a, b = rng.choice(n, 2, replace=False).tolist()
        merged[find(merged, a)] = find(merged, b)
        label = [label[a] if old == label[b] else old for old in label]
    alive = rng.random(len(sets)) < 0.8
    before, contracted = alive.copy(), np.full(len(graph.terminals), -1)
    prune_kernels.contract(graph, merged, alive, contracted)
    for f, one in enumerate(sets):
        closes = len({label[v] for v in one}) < len(one)
        assert alive[f] == (before[f] and not closes)
        if alive[f]:
            roots = [find(merged, v) for v in one]
            assert contracted[graph.start[f] : graph.start[f + 1]].tolist() == roots
    assert alive.sum() < before.sum()


@pytest.mark.parametrize("ringed", [False, True])
@pytest.mark.parametrize("seed", range(25))
def test_reductions_keep_a_best_tree(seed, ringed):
    """What is chosen is in a best tree, together with some of what is still alive."""
    n = 8
    sets, lengths = rings(seed, 3) if ringed else drawn(seed, n, 6)
    alive, chosen = np.ones(len(sets), np.bool_), np.zeros(len(sets), np.bool_)
    merged, graph = np.arange(n), listed(n, sets, lengths)
    distances = prune_kernels.own_distances(graph, alive)
    blocks = prune_kernels.reduce_list(graph, distances, alive, chosen, merged)
    assert blocks.number >= 0
    assert not (alive & chosen).any()
    _, trees = best_trees(n, sets, lengths)
    allowed = set(np.flatnonzero(alive | chosen).tolist())
    needed = set(np.flatnonzero(chosen).tolist())
    assert any(needed <= tree <= allowed for tree in trees)
    label = labels_after(n, [sets[f] for f in needed])
    assert label is not None
    names = {label[v]: find(merged, v) for v in range(n)}
    assert [names[label[v]] for v in range(n)] == [find(merged, v) for v in range(n)]
    assert sorted(blocks.trees.tolist()) == np.flatnonzero(alive).tolist()
    for b in range(blocks.number):
        trees = blocks.trees[blocks.first[b] : blocks.first[b + 1]]
        alone = prune_kernels.list_of_block(blocks, b, lengths)
        assert alone.length.tolist() == lengths[trees].tolist()
        number: dict[int, int] = {}
        for k, f in enumerate(trees):
            renamed = [names[label[v]] for v in sets[f]]
            assert len(set(renamed)) == len(renamed)
            local = alone.terminals[alone.start[k] : alone.start[k + 1]].tolist()
            for v, w in zip(renamed, local, strict=True):
                assert number.setdefault(v, w) == w
        assert sorted(number.values()) == list(range(alone.n))


def test_reductions_decide_something():
    """So that the test above compares something."""
    decided = pruned = split = 0
    for seed, ringed in itertools.product(range(25), (False, True)):
        sets, lengths = rings(seed, 3) if ringed else drawn(seed, 8, 6)
        alive, chosen = np.ones(len(sets), np.bool_), np.zeros(len(sets), np.bool_)
        graph = listed(8, sets, lengths)
        distances = prune_kernels.own_distances(graph, alive)
        blocks = prune_kernels.reduce_list(graph, distances, alive, chosen, np.arange(8))
        decided += int(chosen.sum())
        pruned += len(sets) - int(chosen.sum()) - int(alive.sum())
        split += blocks.number > 1
    assert min(decided, pruned) > 40
    assert split > 2


@pytest.mark.parametrize("seed", range(20))
def test_greedy_trees_and_prices(seed):
    n = 8
    sets, lengths = drawn(seed, n, 8)
    graph = listed(n, sets, lengths)
    order = np.random.default_rng(seed).permutation(len(sets))
    picked = np.zeros(len(sets), np.bool_)
    total = subset_kernels.greedy_tree(graph, order, picked)
    chosen: list[int] = []
    for f in order.tolist():
        label = labels_after(n, [sets[g] for g in [*chosen, f]])
        if label is not None:
            chosen.append(f)
    whole = len(set(labels_after(n, [sets[f] for f in chosen]) or [0, 1])) == 1
    if whole:
        assert set(np.flatnonzero(picked).tolist()) == set(chosen)
        assert total == pytest.approx(lengths[chosen].sum())
    else:
        assert total == math.inf
        assert not picked.any()
    prices = subset_kernels.terminal_prices(graph)
    for v in range(n):
        shares = [
            length / (len(one) - 1) for one, length in zip(sets, lengths, strict=True) if v in one
        ]
        assert prices[v] == pytest.approx(min(shares))
    best, _ = best_trees(n, sets, lengths)
    assert prices.sum() - prices.max() <= best * (1 + 1e-12)


def test_a_greedy_order_that_meets_no_tree_picks_nothing():
    """{0, 1, 2} first: then nothing joins 3 without a cycle."""
    graph = listed(4, [[0, 1, 2], [1, 2, 3], [0, 1]], np.array([1.0, 1.0, 5.0]))
    picked = np.ones(3, np.bool_)
    order = np.array([0, 1, 2])
    assert subset_kernels.greedy_tree(graph, order, picked) == math.inf
    assert not picked.any()
    order = np.array([1, 2, 0])
    assert subset_kernels.greedy_tree(graph, order, picked) == 6.0
    assert picked.tolist() == [False, True, True]


@pytest.mark.parametrize("seed", range(15))
def test_ceilings_settle_whether_there_is_a_tree(seed):
    """A frontier that may cost no more than the best finds it; one that may cost less, nothing."""
    n = 9
    sets, lengths = drawn(seed, n, 7)
    start, terminals = packed(sets)
    best, trees = best_trees(n, sets, lengths)
    piece = Piece(n, start, terminals, lengths, np.arange(len(sets)))
    for ceiling in (best, 1.01 * best, math.inf):
        picked, settled = solve_by_frontier(piece, ceiling, ENOUGH, lambda: True)
        assert settled
        assert picked is not None
        assert set(np.flatnonzero(picked).tolist()) in trees
    picked, settled = solve_by_frontier(piece, best * (1 - 1e-9), ENOUGH, lambda: True)
    assert settled
    assert picked is None
    picked, settled = solve_by_frontier(piece, math.inf, Budget(math.inf, 0), lambda: True)
    assert (picked, settled) == (None, False)  # no partition fits


def plain_closing_order(n: int, sets: Sets, root: int) -> tuple[list[int], float]:
    """Close the terminal that widens the frontier least; of several, the one with fewest sets."""
    order: list[int] = []
    frontier, touched, work = [root], {root}, 0.0

    def open_at(v: int) -> list[int]:
        return [f for f, one in enumerate(sets) if v in one and f not in order]

    while frontier:
        scores = []
        for v in frontier:
            new = set().union(*(sets[f] for f in open_at(v))) - touched
            scores.append((len(new), len(open_at(v))))
        width = len(frontier)
        for f in open_at(frontier[scores.index(min(scores))]):
            order.append(f)
            new = [v for v in sets[f] if v not in touched]
            touched |= set(new)
            frontier += new
            width += len(new)
            work += 2.2**width
        frontier = [v for v in frontier if open_at(v)]
    return order, work


@pytest.mark.parametrize("seed", range(10))
def test_closing_orders(seed):
    n = 12
    sets, lengths = drawn(seed, n, 10)
    graph = listed(n, sets, lengths)
    at = prune_kernels.incidence(graph, np.ones(len(sets), np.bool_))
    closing = frontier_kernels.nothing_closed(n, at, np.ones(len(sets), np.bool_))
    works = []
    for root in range(n):
        placed, work = frontier_kernels.closing_order(graph, at, closing, root, len(sets), math.inf)
        order = closing.order.copy()
        frontier_kernels.reopen(graph, closing, placed, root)
        expected = plain_closing_order(n, sets, root)
        assert placed == len(sets)
        assert (order.tolist(), work) == (expected[0], pytest.approx(expected[1]))
        works.append(work)
        few, _ = frontier_kernels.closing_order(graph, at, closing, root, len(sets), 0.1 * work)
        assert 0 < few < placed
        assert closing.order[:few].tolist() == order[:few].tolist()
        frontier_kernels.reopen(graph, closing, few, root)
    best, least = frontier_kernels.best_closing_order(graph, at, 4, math.inf)
    assert frontier_kernels.best_closing_order(graph, at, 4, 0.0)[1] == math.inf
    assert sorted(best.tolist()) == list(range(len(sets)))
    assert min(works) <= least <= works[graph.terminals[0]]
    assert any(plain_closing_order(n, sets, root) == (best.tolist(), least) for root in range(n))


# Bounds and cuts.


@pytest.mark.parametrize("seed", range(20))
def test_bounds_are_lagranges(seed):
    """For any duals: the rows' part and, column by column, the cheaper of both limits."""
    rng = np.random.default_rng(seed)
    rows, columns = 6, 9
    matrix = np.where(rng.random((rows, columns)) < 0.5, rng.normal(size=(rows, columns)), 0.0)
    cost = rng.normal(size=columns)
    low, high = np.zeros(columns), rng.uniform(0.5, 2.0, columns)
    lower, upper = rng.normal(size=rows) - 1.0, rng.normal(size=rows) + 1.0
    lower[rng.random(rows) < 0.3] = -np.inf
    upper[np.isfinite(lower) & (rng.random(rows) < 0.3)] = np.inf
    duals = rng.normal(size=rows)
    duals[rng.random(rows) < 0.2] = 0.0
    allowed = np.where(duals > 0, np.isfinite(lower), np.isfinite(upper))
    y = np.where(allowed, duals, 0.0)  # a dual of a missing side is no proof
    reduced = cost - y @ matrix
    expected = sum(
        value * (lower[r] if value > 0 else upper[r]) for r, value in enumerate(y) if value
    ) + float(np.minimum(reduced * low, reduced * high).sum())
    start = np.concatenate([[0], np.cumsum((matrix != 0).sum(axis=1))])
    given = Inequalities(start, np.nonzero(matrix)[1], matrix[matrix != 0], lower, upper)
    found, found_reduced = subtour_kernels.safe_bound(cost, low, high, given, duals)
    assert found == pytest.approx(expected, rel=1e-12)
    np.testing.assert_allclose(found_reduced, reduced, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("seed", range(10))
def test_supports_and_cores(seed):
    """Parts that positive values connect, and what is left when weak terminals go one by one."""
    n = 9
    rng = np.random.default_rng(seed)
    sets, lengths = drawn(seed, n, 8)
    graph = listed(n, sets, lengths)
    x = np.where(rng.random(len(sets)) < 0.5, 0.0, rng.choice([0.25, 0.5, 0.75, 1.0], len(sets)))
    label, count = separation_kernels.support_components(graph, x)
    parts = connected(n, [one for one, value in zip(sets, x, strict=True) if value > 0])
    assert count == len(parts)
    assert {frozenset(np.flatnonzero(label == k).tolist()) for k in range(count)} == {
        frozenset(part) for part in parts
    }
    at = prune_kernels.incidence(graph, np.ones(len(sets), np.bool_))
    inside, within = separation_kernels.congested_core(graph, x, at)
    core = set(range(n))
    while True:
        degree = {
            v: sum(
                value
                for one, value in zip(sets, x, strict=True)
                if v in one and len(core & set(one)) > 1
            )
            for v in core
        }
        weak = {v for v in core if degree[v] <= 1.0 + 1e-9}
        if not weak:
            break
        core -= {min(weak)}
    assert set(np.flatnonzero(inside).tolist()) == core
    for f, one in enumerate(sets):
        if x[f] > 0 and len(core & set(one)) > 1:
            assert within[f] == len(core & set(one))


@pytest.mark.parametrize("seed", range(12))
def test_sets_are_trimmed_to_terminals_of_degree_above_one(seed):
    """Inside the set, one by one; the violation is that of the definition and never falls."""
    n = 9
    rng = np.random.default_rng(seed)
    sets, lengths = drawn(seed, n, 9)
    x = rng.choice([0.0, 0.25, 0.5, 0.75, 1.0], len(sets))
    at = prune_kernels.incidence(listed(n, sets, lengths), np.ones(len(sets), np.bool_))

    def violation(some: set[int]) -> float:
        filled = sum(v * max(0, len(some & set(one)) - 1) for v, one in zip(x, sets, strict=True))
        return filled - (len(some) - 1)

    given = set(rng.choice(n, 7, replace=False).tolist())
    kept = set(given)
    while True:
        degree = {
            v: sum(
                value
                for value, one in zip(x, sets, strict=True)
                if v in one and len(kept & set(one)) > 1
            )
            for v in kept
        }
        weak = [v for v in kept if degree[v] <= 1.0 + 1e-9]
        if not weak:
            break
        kept.discard(weak[0])
    scratch = np.zeros(len(sets), np.int64)
    trimmed, found = separation_kernels.trim_set(np.array([*given]), x, at, scratch)
    assert set(trimmed.tolist()) == kept
    assert not scratch.any()
    if kept:
        assert found == pytest.approx(violation(kept), abs=1e-9)
        assert found >= violation(given) - 1e-9


def test_stored_sets_are_different_and_fit():
    sets, label = Rows(np.zeros(4, np.int64), np.empty(10, np.int64)), np.zeros(8, np.int64)
    count = 0
    for one in ([1, 2, 3], [3, 1, 2], [1, 2], [4, 5, 6, 7], [0, 1], [2, 3]):
        count = separation_kernels.store_set(np.array(one), sets, count, label)
        assert not label.any()
    found = [sets.items[a:b].tolist() for a, b in itertools.pairwise(sets.first[: count + 1])]
    assert found == [
        [1, 2, 3],
        [1, 2],
        [4, 5, 6, 7],
    ]


def test_spans_of_small_instances_are_solved_one_by_one():
    """Only the instances of the span, each as generation and choice give it."""
    from deepsteiner.fst.enumerate.complete.generate import generate
    from deepsteiner.fst.select.exact.concatenation import concatenate

    rng = np.random.default_rng(5)
    points = 2.0 * rng.random((6, 7, 2)) - 1.0
    points[3] = np.round(2 * points[3]) / 4 + 0.01 * np.arange(7)[:, None]
    counts, proven = np.zeros(6, np.int64), np.zeros(6, np.bool_)
    listed, steiner = np.zeros(6, np.int64), np.full((6, 7, 2), np.nan)
    edges = np.full((6, 14, 2), -1, np.int64)
    lengths = np.full(6, np.nan)
    rows, claims = TreeRows(counts, steiner, edges), Claims(lengths, proven, listed)
    small_solve_kernels.solve_span(points, rows, claims, 1, 5)
    assert proven.tolist() == [False, True, True, True, True, False]
    for b in range(1, 5):
        trees = generate(points[b])
        assert listed[b] == len(trees)
        nodes = np.concatenate((points[b], steiner[b, : counts[b] - 7]))
        links = edges[b, : counts[b] - 1]
        assert np.isfinite(nodes).all()
        assert labels_after(counts[b], links.tolist()) is not None
        length = np.hypot(*(nodes[links[:, 0]] - nodes[links[:, 1]]).T).sum()
        assert length == pytest.approx(concatenate(trees).length, rel=1e-12)
        assert lengths[b] == pytest.approx(length, rel=1e-12)
    assert np.isnan(steiner[[0, 5]]).all()
