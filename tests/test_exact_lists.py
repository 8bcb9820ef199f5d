"""Reductions, partitions and bounds of lists of full Steiner trees, against plain Python."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from deepsteiner.exact import (
    concat_kernels,
    lp_kernels,
    prune_kernels,
    separation_kernels,
    small_frontier_kernels,
    small_kernels,
    small_partition_kernels,
    small_solve_kernels,
)
from deepsteiner.exact.concat_frontier import solve_by_frontier
from deepsteiner.exact.concat_piece import Piece

Sets = list[list[int]]


def drawn(seed: int, n: int, extra: int, largest: int = 4) -> tuple[Sets, np.ndarray]:
    """Return a random tree of edges and some more sets, with lengths that compete."""
    rng = np.random.default_rng(seed)
    sets = [[int(rng.integers(v)), v] for v in range(1, n)]
    for _ in range(extra):
        sets.append(rng.choice(n, int(rng.integers(2, largest + 1)), replace=False).tolist())
    return sets, lengths_of(sets, rng)


def rings(seed: int, extra: int) -> tuple[Sets, np.ndarray]:
    """Return three rings of edges that share one vertex each with the next, and sets inside."""
    rng = np.random.default_rng(seed)
    groups = [[0, 1, 2], [2, 3, 4, 5], [5, 6, 7]]
    sets = [[a, b] for one in groups for a, b in zip(one, [*one[1:], one[0]], strict=True)]
    for _ in range(extra):
        one = groups[int(rng.integers(3))]
        sets.append(rng.choice(one, int(rng.integers(2, len(one) + 1)), replace=False).tolist())
    return sets, lengths_of(sets, rng)


def lengths_of(sets: Sets, rng: np.random.Generator) -> np.ndarray:
    return np.array([(len(one) - 1) * rng.uniform(0.5, 1.5) for one in sets])


def packed(sets: Sets) -> tuple[np.ndarray, np.ndarray]:
    start = np.concatenate([[0], np.cumsum([len(one) for one in sets])]).astype(np.int64)
    return start, np.array([v for one in sets for v in one], np.int64)


def labels_after(n: int, sets: Sets) -> list[int] | None:
    """Return which vertices some sets join, or None if they close a cycle."""
    label = list(range(n))
    for one in sets:
        joined = {label[v] for v in one}
        if len(joined) < len(one):
            return None
        label = [min(joined) if old in joined else old for old in label]
    return label


def best_trees(n: int, sets: Sets, lengths: np.ndarray) -> tuple[float, list[set[int]]]:
    """Return the least length of a tree and all trees that have it, by trying all choices."""
    best, found = math.inf, []

    def extend(k: int, chosen: list[int]) -> None:
        nonlocal best, found
        label = labels_after(n, [sets[f] for f in chosen])
        if label is None:
            return
        if len(set(label)) == 1:
            total = float(lengths[chosen].sum())
            if total < best - 1e-9:
                best, found = total, []
            if total < best + 1e-9:
                found.append(set(chosen))
            return
        if k < len(sets):
            extend(k + 1, [*chosen, k])
            extend(k + 1, chosen)

    extend(0, [])
    return best, found


def minimax(n: int, sets: Sets, lengths: np.ndarray) -> np.ndarray:
    """Bottleneck distances over the sets of two."""
    widest = np.full((n, n), np.inf)
    np.fill_diagonal(widest, 0.0)
    for one, length in zip(sets, lengths, strict=True):
        if len(one) == 2:
            a, b = one
            widest[a, b] = widest[b, a] = min(widest[a, b], length)
    for k in range(n):
        widest = np.minimum(widest, np.maximum(widest[:, k, None], widest[None, k]))
    return widest


def spanning(distance: np.ndarray, vertices: list[int]) -> float:
    inside, total = list(vertices[:1]), 0.0
    while len(inside) < len(vertices):
        length, new = min((distance[a, b], b) for a in inside for b in vertices if b not in inside)
        inside.append(new)
        total += float(length)
    return total


# Reductions.


@pytest.mark.parametrize("seed", range(10))
def test_incidence_and_order(seed):
    sets, lengths = drawn(seed, 9, 8)
    start, terminals = packed(sets)
    alive = np.random.default_rng(seed).random(len(sets)) < 0.7
    first, lists = prune_kernels.incidence(9, start, terminals, alive)
    for v in range(9):
        expected = [f for f, one in enumerate(sets) if alive[f] and v in one]
        assert lists[first[v] : first[v + 1]].tolist() == expected
    pairs = [f for f, one in enumerate(sets) if len(one) == 2]
    order = prune_kernels.edge_order(start, lengths)
    assert order.tolist() == sorted(pairs, key=lambda f: lengths[f])
    by_share = concat_kernels.share_order(start, lengths)
    shares = [lengths[f] / (len(sets[f]) - 1) for f in range(len(sets))]
    assert by_share.tolist() == sorted(range(len(sets)), key=lambda f: shares[f])


@pytest.mark.parametrize("seed", range(10))
def test_spans_under_bottleneck_distances(seed):
    sets, lengths = drawn(seed, 10, 10, 6)
    start, terminals = packed(sets)
    alive = np.ones(len(sets), np.bool_)
    order = prune_kernels.edge_order(start, lengths)
    forest = prune_kernels.bottleneck_forest(10, start, terminals, lengths, alive, order)
    widest = minimax(10, sets, lengths)
    near = np.empty(10)
    for f, one in enumerate(sets):
        found = prune_kernels.bottleneck_span(*forest, terminals, start[f], start[f + 1], near)
        assert found == pytest.approx(spanning(widest, one), rel=1e-12)


def test_blocks_are_what_no_single_terminal_separates():
    counts = [check_blocks(drawn(seed, 8, 5, 3)[0], seed % 8) for seed in range(60)]
    counts += [check_blocks(rings(seed, seed % 4)[0], seed % 8) for seed in range(20)]
    assert {0, 1, 3} <= set(counts)


def check_blocks(sets: Sets, root: int) -> int:
    """Compare with the twin; return the number of blocks, 0 where a set cuts."""
    start, terminals = packed(sets)
    alive = np.ones(len(sets), np.bool_)
    _, blocks, cut, block = prune_kernels.find_blocks(8, start, terminals, alive, root)

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
    sets, _ = drawn(seed, n, 14)
    start, terminals = packed(sets)
    merged, label = np.arange(n), list(range(n))
    for _ in range(3):
        a, b = rng.choice(n, 2, replace=False).tolist()
        merged[prune_kernels.find_root(merged, a)] = prune_kernels.find_root(merged, b)
        label = [label[a] if old == label[b] else old for old in label]
    alive = rng.random(len(sets)) < 0.8
    before, contracted = alive.copy(), np.full(len(terminals), -1)
    prune_kernels.contract(start, terminals, merged, alive, contracted)
    for f, one in enumerate(sets):
        closes = len({label[v] for v in one}) < len(one)
        assert alive[f] == (before[f] and not closes)
        if alive[f]:
            roots = [prune_kernels.find_root(merged, v) for v in one]
            assert contracted[start[f] : start[f + 1]].tolist() == roots
    assert alive.sum() < before.sum()


def connected(n: int, sets: Sets) -> list[set[int]]:
    """Return the connected parts of n vertices under some sets."""
    found = [{v} for v in range(n)]
    for one in sets:
        touched = [part for part in found if part & set(one)]
        found = [part for part in found if not part & set(one)] + [set().union(*touched)]
    return found


@pytest.mark.parametrize("ringed", [False, True])
@pytest.mark.parametrize("seed", range(25))
def test_reductions_keep_a_best_tree(seed, ringed):
    """What is chosen is in a best tree, together with some of what is still alive."""
    n = 8
    sets, lengths = rings(seed, 3) if ringed else drawn(seed, n, 6)
    start, terminals = packed(sets)
    alive, chosen = np.ones(len(sets), np.bool_), np.zeros(len(sets), np.bool_)
    merged = np.arange(n)
    contracted, blocks, block = prune_kernels.reduce_list(
        n, start, terminals, lengths, alive, chosen, merged
    )
    assert blocks >= 0
    assert not (alive & chosen).any()
    _, trees = best_trees(n, sets, lengths)
    allowed = set(np.flatnonzero(alive | chosen).tolist())
    needed = set(np.flatnonzero(chosen).tolist())
    assert any(needed <= tree <= allowed for tree in trees)
    label = labels_after(n, [sets[f] for f in needed])
    assert label is not None
    names = {label[v]: prune_kernels.find_root(merged, v) for v in range(n)}
    assert [names[label[v]] for v in range(n)] == [
        prune_kernels.find_root(merged, v) for v in range(n)
    ]
    for f in np.flatnonzero(alive):
        renamed = contracted[start[f] : start[f + 1]].tolist()
        assert renamed == [names[label[v]] for v in sets[f]]
        assert len(set(renamed)) == len(renamed)
    first, listed, begin, local, sizes = prune_kernels.split_blocks(
        n, start, contracted, alive, blocks, block
    )
    assert sorted(listed.tolist()) == np.flatnonzero(alive).tolist()
    for b in range(blocks):
        number: dict[int, int] = {}
        for k in range(first[b], first[b + 1]):
            f = listed[k]
            assert block[f] == b
            for v, w in zip(
                contracted[start[f] : start[f + 1]], local[begin[k] : begin[k + 1]], strict=True
            ):
                assert number.setdefault(int(v), int(w)) == w
        assert sorted(number.values()) == list(range(sizes[b]))


def test_reductions_decide_something():
    """So that the test above compares something."""
    decided = pruned = split = 0
    for seed, ringed in itertools.product(range(25), (False, True)):
        sets, lengths = rings(seed, 3) if ringed else drawn(seed, 8, 6)
        alive, chosen = np.ones(len(sets), np.bool_), np.zeros(len(sets), np.bool_)
        _, blocks, _ = prune_kernels.reduce_list(
            8, *packed(sets), lengths, alive, chosen, np.arange(8)
        )
        decided += int(chosen.sum())
        pruned += len(sets) - int(chosen.sum()) - int(alive.sum())
        split += blocks > 1
    assert min(decided, pruned) > 40
    assert split > 2


@pytest.mark.parametrize("seed", range(20))
def test_greedy_trees_and_prices(seed):
    n = 8
    sets, lengths = drawn(seed, n, 8)
    start, terminals = packed(sets)
    order = np.random.default_rng(seed).permutation(len(sets))
    picked = np.zeros(len(sets), np.bool_)
    total = small_kernels.greedy_tree(n, start, terminals, lengths, order, picked)
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
    prices = small_kernels.terminal_prices(n, start, terminals, lengths)
    for v in range(n):
        shares = [
            length / (len(one) - 1) for one, length in zip(sets, lengths, strict=True) if v in one
        ]
        assert prices[v] == pytest.approx(min(shares))
    best, _ = best_trees(n, sets, lengths)
    assert prices.sum() - prices.max() <= best * (1 + 1e-12)


@pytest.mark.parametrize("seed", range(15))
def test_ceilings_settle_whether_there_is_a_tree(seed):
    """A frontier that may cost no more than the best finds it; one that may cost less, nothing."""
    n = 9
    sets, lengths = drawn(seed, n, 7)
    start, terminals = packed(sets)
    best, trees = best_trees(n, sets, lengths)
    piece = Piece(n, start, terminals, lengths, np.arange(len(sets)))
    for ceiling in (best, 1.01 * best, math.inf):
        picked, settled = solve_by_frontier(piece, ceiling, math.inf, 10**6, lambda: True)
        assert settled
        assert picked is not None
        assert set(np.flatnonzero(picked).tolist()) in trees
    picked, settled = solve_by_frontier(piece, best * (1 - 1e-9), math.inf, 10**6, lambda: True)
    assert settled
    assert picked is None
    picked, settled = solve_by_frontier(piece, math.inf, math.inf, 0, lambda: True)
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
    sets, _ = drawn(seed, n, 10)
    start, terminals = packed(sets)
    first, lists = prune_kernels.incidence(n, start, terminals, np.ones(len(sets), np.bool_))
    order = np.full(len(sets), -1)
    works = []
    for root in range(n):
        placed, work = small_frontier_kernels.closing_order(
            n, start, terminals, first, lists, root, len(sets), order
        )
        expected = plain_closing_order(n, sets, root)
        assert placed == len(sets)
        assert (order.tolist(), work) == (expected[0], pytest.approx(expected[1]))
        works.append(work)
    best, least = small_frontier_kernels.best_closing_order(n, start, terminals, first, lists, 4)
    assert sorted(best.tolist()) == list(range(len(sets)))
    assert min(works) <= least <= works[terminals[0]]
    assert any(plain_closing_order(n, sets, root) == (best.tolist(), least) for root in range(n))


# Partitions of a frontier.


def partition_key(groups: list[list[int]]) -> int:
    """Number the groups by their first slot, four bits a slot."""
    key = 0
    for number, group in enumerate(sorted(groups, key=min)):
        for s in group:
            key |= number << (4 * s)
    return key


def random_groups(rng, slots: list[int]) -> list[list[int]]:
    names = rng.integers(0, 1 + len(slots), len(slots))
    return [
        [s for s, name in zip(slots, names, strict=True) if name == wanted]
        for wanted in sorted(set(names.tolist()))
    ]


def test_keys_of_partitions():
    rng = np.random.default_rng(0)
    for _ in range(300):
        slots = sorted(rng.choice(15, int(rng.integers(1, 16)), replace=False).tolist())
        groups = random_groups(rng, slots)
        names = rng.permutation(32)  # any labels below 32
        label = np.full(16, 31)
        for group, name in zip(groups, names, strict=False):
            label[group] = name
        found = np.empty(16, np.int64)
        count = small_partition_kernels.list_slots(sum(1 << s for s in slots), found)
        assert found[:count].tolist() == slots
        assert small_partition_kernels.pack(label, found, count) == partition_key(groups)


def test_slots_close_unless_a_part_would_be_left_alone():
    rng = np.random.default_rng(1)
    verdicts = []
    for _ in range(500):
        slots = sorted(rng.choice(15, int(rng.integers(1, 7)), replace=False).tolist())
        groups = random_groups(rng, slots)
        label = np.zeros(16, np.int64)
        for number, group in enumerate(groups):
            label[group] = number
        closing = [s for s in slots if rng.random() < 0.5]
        stays = [s for s in slots if s not in closing]
        active, leaves = (sum(1 << s for s in some) for some in (slots, closing))
        found = small_partition_kernels.close_slots(label, active, leaves)
        # At the very end everything closes, and that is the one whole tree.
        alone = not all(set(group) & set(stays) for group in groups)
        assert found == (not alone if stays else len(groups) == 1)
        verdicts.append(found)
    assert 50 < sum(verdicts) < 450


def test_states_keep_the_cheapest_way():
    rng = np.random.default_rng(2)
    table = np.full(64, -1, np.int64)
    keys, costs, nodes = np.empty(64, np.int64), np.empty(64), np.empty(64, np.int64)
    known: dict[int, tuple[float, int]] = {}
    count = 0
    for node in range(400):
        key, cost = int(rng.integers(30)) << 33 | 5, float(rng.random())
        count = small_partition_kernels.insert_state(
            key, cost, node, table, keys, costs, nodes, count
        )
        if key not in known or cost < known[key][0]:
            known[key] = (cost, node)
    assert count == len(known) == 30
    for k in range(count):
        assert (costs[k], nodes[k]) == known[int(keys[k])]


def near_table(rng) -> np.ndarray:
    """Ultrametric distances between slots, as bottleneck distances are."""
    points = rng.random((16, 2))
    widest = np.hypot(*(points[:, None] - points[None]).transpose(2, 0, 1))
    for k in range(16):
        widest = np.minimum(widest, np.maximum(widest[:, k, None], widest[None, k]))
    return widest


def test_detours_are_spanning_trees_of_parts():
    rng = np.random.default_rng(3)
    for _ in range(200):
        near = near_table(rng)
        slots = np.array(sorted(rng.choice(15, 8, replace=False).tolist()) + [0] * 8)
        groups = random_groups(rng, slots[:8].tolist())
        label = np.zeros(16, np.int64)
        for number, group in enumerate(groups):
            label[group] = number
        chosen = [number for number in range(len(groups)) if rng.random() < 0.6] or [0]
        distance = np.array([[near[np.ix_(a, b)].min() for b in groups] for a in groups])
        found = small_partition_kernels.detour(
            label, sum(1 << number for number in chosen), slots, 8, near.ravel()
        )
        assert found == pytest.approx(spanning(distance, chosen), rel=1e-12)


def splits(group: list[int]):
    for k in range(1, len(group)):
        for part in itertools.combinations(group, k):
            if group[0] in part:
                yield list(part), [s for s in group if s not in part]


def test_dominated_partitions_are_dropped_and_no_others():
    rng = np.random.default_rng(4)
    slots = [0, 2, 3, 7, 11]
    dropped = 0
    for _ in range(60):
        near = 0.3 * near_table(rng)
        layer: dict[int, tuple[float, list[list[int]]]] = {}
        for _ in range(40):
            groups = random_groups(rng, slots)
            layer.setdefault(partition_key(groups), (float(rng.uniform(0.5, 1.5)), groups))
        table = np.full(256, -1, np.int64)
        keys, costs, nodes = np.empty(256, np.int64), np.empty(256), np.empty(256, np.int64)
        count = 0
        for node, (key, (cost, _)) in enumerate(layer.items()):
            count = small_partition_kernels.insert_state(
                key, cost, node, table, keys, costs, nodes, count
            )
        expected = {}
        for node, (key, (cost, groups)) in enumerate(layer.items()):
            better = any(
                layer.get(
                    partition_key([*(g for g in groups if g is not group), one, two]), (9.0,)
                )[0]
                + near[np.ix_(one, two)].min()
                < cost
                for group in groups
                for one, two in splits(group)
            )
            if not better:
                expected[key] = (cost, node)
        active = sum(1 << s for s in slots)
        kept = small_partition_kernels.drop_dominated(
            active, near.ravel(), table, keys, costs, nodes, count
        )
        found = {int(keys[k]): (costs[k], nodes[k]) for k in range(kept)}
        assert found == expected
        dropped += count - kept
    assert dropped > 60


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
    found, found_reduced = lp_kernels.safe_bound(
        cost, low, high, start, np.nonzero(matrix)[1], matrix[matrix != 0], lower, upper, duals
    )
    assert found == pytest.approx(expected, rel=1e-12)
    np.testing.assert_allclose(found_reduced, reduced, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("seed", range(10))
def test_supports_and_cores(seed):
    """Parts that positive values connect, and what is left when weak terminals go one by one."""
    n = 9
    rng = np.random.default_rng(seed)
    sets, _ = drawn(seed, n, 8)
    start, terminals = packed(sets)
    x = np.where(rng.random(len(sets)) < 0.5, 0.0, rng.choice([0.25, 0.5, 0.75, 1.0], len(sets)))
    label = np.empty(n, np.int64)
    count = separation_kernels.support_components(n, start, terminals, x, label)
    parts = connected(n, [one for one, value in zip(sets, x, strict=True) if value > 0])
    assert count == len(parts)
    assert {frozenset(np.flatnonzero(label == k).tolist()) for k in range(count)} == {
        frozenset(part) for part in parts
    }
    first, lists = prune_kernels.incidence(n, start, terminals, np.ones(len(sets), np.bool_))
    inside, within = separation_kernels.congested_core(n, start, terminals, x, first, lists)
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
    sets, _ = drawn(seed, n, 9)
    start, terminals = packed(sets)
    x = rng.choice([0.0, 0.25, 0.5, 0.75, 1.0], len(sets))
    first, lists = prune_kernels.incidence(n, start, terminals, np.ones(len(sets), np.bool_))

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
    members, scratch = np.array([*given, 0, 0]), np.zeros(len(sets), np.int64)
    size, found = separation_kernels.trim_set(
        members, len(given), start, terminals, x, first, lists, scratch
    )
    assert set(members[:size].tolist()) == kept
    assert not scratch.any()
    if kept:
        assert found == pytest.approx(violation(kept), abs=1e-9)
        assert found >= violation(given) - 1e-9


def test_stored_sets_are_different_and_fit():
    sets, bounds, label = np.empty(10, np.int64), np.zeros(4, np.int64), np.zeros(8, np.int64)
    count = 0
    for one in ([1, 2, 3], [3, 1, 2], [1, 2], [4, 5, 6, 7], [0, 1], [2, 3]):
        members = np.array([*one, 0, 0])
        count = separation_kernels.store_set(members, len(one), sets, bounds, count, label)
        assert not label.any()
    assert [sets[bounds[c] : bounds[c + 1]].tolist() for c in range(count)] == [
        [1, 2, 3],
        [1, 2],
        [4, 5, 6, 7],
    ]


def test_spans_of_small_instances_are_solved_one_by_one():
    """Only the instances of the span, each as generation and choice give it."""
    from deepsteiner.exact.concat import concatenate
    from deepsteiner.exact.generate import generate

    rng = np.random.default_rng(5)
    points = 2.0 * rng.random((6, 7, 2)) - 1.0
    points[3] = np.round(2 * points[3]) / 4 + 0.01 * np.arange(7)[:, None]
    counts, proven = np.zeros(6, np.int64), np.zeros(6, np.bool_)
    listed, steiner = np.zeros(6, np.int64), np.full((6, 5, 2), np.nan)
    edges = np.full((6, 11, 2), -1, np.int64)
    arrays = (points, counts, steiner, edges, proven, listed)
    small_solve_kernels.solve_span(*arrays, 1, 5)
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
    assert np.isnan(steiner[[0, 5]]).all()
