"""Concatenation against slow, obvious twins: brute force over choices, sets and partitions."""

from __future__ import annotations

import itertools
import sys
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deepsteiner.core.errors import MissingDependencyError
from deepsteiner.fst.select.exact import concatenation
from deepsteiner.fst.select.exact.blocks_kernels import concatenate_small
from deepsteiner.fst.select.exact.concatenation import Choice, concatenate
from deepsteiner.fst.select.exact.cutting.separation_kernels import violated_sets
from deepsteiner.fst.select.exact.cutting.subtour_kernels import (
    Inequalities,
    safe_bound,
    subtour_rows,
)
from deepsteiner.fst.select.exact.frontier import solve_by_frontier
from deepsteiner.fst.select.exact.piece import Piece
from deepsteiner.fst.select.exact.probe_kernels import begin_probes, probe_everywhere
from deepsteiner.fst.select.exact.prune_kernels import (
    bottleneck,
    bottleneck_forest,
    edge_order,
    find_blocks,
    incidence,
    own_distances,
    sorted_order,
)
from deepsteiner.fst.select.exact.subset_kernels import subset_tree, terminal_prices
from deepsteiner.fst.select.hypergraph import Budget, Hypergraph, Rows
from deepsteiner.fst.trees import FullTrees


def spanning_edges(points: np.ndarray) -> list[tuple[tuple[int, ...], float]]:
    """Prim: the edges of a minimum spanning tree with their lengths."""
    n = len(points)
    joined, edges = [0], []
    while len(joined) < n:
        length, a, b = min(
            (float(np.hypot(*(points[i] - points[j]))), i, j)
            for i in joined
            for j in range(n)
            if j not in joined
        )
        edges.append(((a, b), length))
        joined.append(b)
    return edges


def random_list(seed: int, n: int, extra: int, largest: int = 5, near: bool = False) -> FullTrees:
    """Spanning edges and random sets whose lengths are around that of their own spanning tree."""
    rng = np.random.default_rng(seed)
    cells = np.stack(np.divmod(rng.permutation(81)[:n], 9), axis=1)  # distinct, with ties
    points = cells / 4.0 - 1.0 + rng.random((n, 2)) * 1e-3 * (seed % 3)
    entries = spanning_edges(points)
    known = {frozenset(members) for members, _ in entries}
    for _ in range(extra):
        size = int(rng.integers(2, min(largest, n) + 1))
        members = rng.choice(n, size, replace=False)
        if near:  # around one terminal, as real lists are
            gaps = np.hypot(*(points - points[members[0]]).T)
            around = np.argsort(gaps, kind="stable")[: 2 * size]
            members = rng.permutation(around)[:size]
        if frozenset(members.tolist()) not in known:
            known.add(frozenset(members.tolist()))
            span = sum(length for _, length in spanning_edges(points[members]))
            entries.append((tuple(int(v) for v in members), span * rng.uniform(0.8, 1.01)))
    sizes = [len(members) for members, _ in entries]
    return FullTrees(
        points,
        np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        np.array([v for members, _ in entries for v in members], np.int64),
        np.array([length for _, length in entries]),
        np.zeros((0, 2)),
        np.zeros((0, 2), np.int64),
        True,
    )


ENOUGH = Budget(np.inf, 10**6)


def as_graph(trees: FullTrees) -> Hypergraph:
    terminals = trees.terminals.astype(np.int64)
    return Hypergraph(len(trees.points), trees.start, terminals, trees.length)


def members_of(trees: FullTrees) -> list[list[int]]:
    bounds = itertools.pairwise(trees.start)
    return [trees.terminals[a:b].tolist() for a, b in bounds]


def reordered(trees: FullTrees, order: np.ndarray) -> FullTrees:
    sets = [members_of(trees)[f] for f in order]
    start = np.concatenate([[0], np.cumsum([len(members) for members in sets])])
    terminals = np.concatenate(sets).astype(np.int64)
    return replace(trees, start=start, terminals=terminals, length=trees.length[order])


def is_tree(n: int, sets: list[list[int]]) -> bool:
    """Whether hyperedges join n vertices without a cycle."""
    label = list(range(n))
    for members in sets:
        labels = {label[v] for v in members}
        if len(labels) < len(members):
            return False
        target = min(labels)
        label = [target if old in labels else old for old in label]
    return len(set(label)) == 1


def brute_force(trees: FullTrees) -> float:
    """Depth-first over all choices of FSTs that stay acyclic."""
    n, sets, best = len(trees.points), members_of(trees), np.inf

    def extend(k: int, label: list[int], cost: float) -> None:
        nonlocal best
        if len(set(label)) == 1:
            best = min(best, cost)
            return
        if k == len(sets) or cost >= best:
            return
        labels = {label[v] for v in sets[k]}
        if len(labels) == len(sets[k]):
            merged = [min(labels) if old in labels else old for old in label]
            extend(k + 1, merged, cost + trees.length[k])
        extend(k + 1, label, cost)

    extend(0, list(range(n)), 0.0)
    return float(best)


def check(trees: FullTrees, choice: Choice, length: float) -> None:
    sets = members_of(trees)
    assert choice.optimal
    assert choice.length == pytest.approx(length, rel=1e-10)
    assert choice.length == pytest.approx(trees.length[choice.selected].sum(), rel=1e-12)
    assert choice.lower_bound == choice.length
    assert is_tree(len(trees.points), [sets[f] for f in choice.selected])


@settings(deadline=None, max_examples=60)
@given(seed=st.integers(0, 10**6), n=st.integers(2, 8), extra=st.integers(0, 10))
def test_every_solver_equals_brute_force(seed: int, n: int, extra: int) -> None:
    trees = random_list(seed, n, extra)
    best = brute_force(trees)
    check(trees, concatenate(trees), best)
    check(trees, concatenate(trees, trace=True), best)
    chosen = np.zeros(len(trees), np.bool_)
    assert concatenate_small(as_graph(trees), chosen) == pytest.approx(best, rel=1e-12)
    assert subset_tree(as_graph(trees), chosen) == pytest.approx(best, rel=1e-12)
    piece = Piece(*as_graph(trees), np.arange(len(trees)))
    picked, settled = solve_by_frontier(piece, np.inf, ENOUGH, lambda: True)
    assert settled
    assert picked is not None
    assert trees.length[picked].sum() == pytest.approx(best, rel=1e-12)


def test_all_levels_agree_with_cutting_planes(monkeypatch) -> None:
    """Hardly anything is solved at once; what probes drop still counts in bottleneck distances."""
    levels = (
        concatenation.Level(0.0, 1),
        concatenation.Level(0.0, 1, 12, 60, 4),
        concatenation.Level(1e3, 50, 25, 200, 2),
    )
    monkeypatch.setattr(concatenation, "LEVELS", levels)
    probed = 0
    for seed in range(30):
        trees = random_list(seed, 26, 70, near=True)
        found = concatenate(trees)
        check(trees, found, concatenate(trees, trace=True).length)
        probed += found.stats["probes_decided"] > 0
    assert probed > 20


@pytest.mark.parametrize("seed", range(12))
def test_probes_keep_an_optimal_tree(seed: int) -> None:
    trees = random_list(seed, 24, 60, near=True)
    graph = as_graph(trees)
    n, start, _, length = graph
    alive = np.ones(len(trees), np.bool_)
    distances, prices = own_distances(graph, alive), terminal_prices(graph)
    given = begin_probes(graph, distances, prices, np.inf, alive)
    at, decided = probe_everywhere(given, 30, 200, 0, n)
    assert at == n
    assert decided > 0
    best = concatenate(trees, trace=True).length
    keep = np.flatnonzero(alive)
    kept = FullTrees(
        trees.points,
        np.concatenate([[0], np.cumsum(np.diff(start)[keep])]),
        np.concatenate([trees.terminals[start[f] : start[f + 1]] for f in keep]),
        length[keep],
        trees.steiner,
        trees.edges,
        True,
    )
    piece = Piece(*as_graph(kept), keep)
    picked, _ = solve_by_frontier(piece, np.inf, ENOUGH, lambda: True)
    assert picked is not None
    assert length[keep[picked]].sum() == pytest.approx(best, rel=1e-10)
    assert set(np.flatnonzero(given.forced)) <= set(keep[picked])


@pytest.mark.parametrize("seed", range(6))
def test_programme_and_frontier_agree_on_wider_lists(seed: int) -> None:
    trees = random_list(seed, 40, 110, near=True)
    best = concatenate(trees, trace=True)
    check(trees, concatenate(trees), best.length)
    check(trees, best, best.length)
    roots = [r["value"] for r in best.rounds if r["node"] == 0]
    assert max(roots) <= best.length * (1 + 1e-9)


def violation(x: np.ndarray, sets: list[list[int]], subset: tuple[int, ...]) -> float:
    inside = set(subset)
    filled = sum(v * max(0, len(inside & set(s)) - 1) for v, s in zip(x, sets, strict=True))
    return filled - (len(subset) - 1)


@settings(deadline=None, max_examples=60)
@given(seed=st.integers(0, 10**6), n=st.integers(3, 8))
def test_separation_is_exact(seed: int, n: int) -> None:
    trees = random_list(seed, n, 9)
    rng = np.random.default_rng(seed)
    x = np.where(rng.random(len(trees)) < 0.4, 0.0, rng.choice([0.25, 0.5, 0.75, 1.0], len(trees)))
    graph, sets = as_graph(trees), members_of(trees)
    at = incidence(graph, np.ones(len(trees), np.bool_))
    found = Rows(np.zeros(100, np.int64), np.empty(1000, np.int64))
    count, _ = violated_sets(graph, x, 1e-6, found)
    subsets = [s for k in range(2, n + 1) for s in itertools.combinations(range(n), k)]
    assert (count > 0) == any(violation(x, sets, s) > 1e-6 for s in subsets)
    begin, columns, values, lower, upper = subtour_rows(graph, at, found, count)
    shift = n - 1 - x @ (np.diff(graph.start) - 1)  # the two forms differ by the spanning equation
    for c in range(count):
        subset = tuple(found.items[found.first[c] : found.first[c + 1]])
        assert violation(x, sets, subset) > 1e-6
        left = values[begin[c] : begin[c + 1]] @ x[columns[begin[c] : begin[c + 1]]]
        excess = left - upper[c] if np.isfinite(upper[c]) else lower[c] - left - shift
        assert excess == pytest.approx(violation(x, sets, subset), abs=1e-9)


@pytest.mark.parametrize("seed", range(20))
def test_safe_bound_holds_for_any_duals(seed: int) -> None:
    trees = random_list(seed, 7, 9)
    graph = as_graph(trees)
    first, lists = incidence(graph, np.ones(len(trees), np.bool_))
    n, m = graph.n, len(trees)
    duals = np.random.default_rng(seed).normal(0.3, 0.5, n + 1)
    rows = Inequalities(
        np.concatenate([[0], m + first]),
        np.concatenate([np.arange(m), lists]),
        np.concatenate([np.diff(graph.start) - 1.0, np.ones(lists.size)]),
        np.concatenate([[n - 1.0], np.ones(n)]),
        np.concatenate([[n - 1.0], np.full(n, np.inf)]),
    )
    bound, _ = safe_bound(graph.length, np.zeros(m), np.ones(m), rows, duals)
    assert bound <= brute_force(trees) * (1 + 1e-12)


@pytest.mark.parametrize("seed", range(10))
def test_bottleneck_is_the_longest_edge_between(seed: int) -> None:
    trees = random_list(seed, 9, 0)
    graph = as_graph(trees)
    n, length = graph.n, graph.length
    forest = bottleneck_forest(graph, np.ones(len(trees), np.bool_), edge_order(graph))
    slow = np.full((n, n), np.inf)
    for (a, b), d in zip(members_of(trees), length, strict=True):
        slow[a, b] = slow[b, a] = d
    for k in range(n):
        slow = np.minimum(slow, np.maximum(slow[:, k : k + 1], slow[k : k + 1]))
    for a, b in itertools.combinations(range(n), 2):
        assert bottleneck(forest, a, b) == slow[a, b]


@pytest.mark.parametrize("seed", range(20))
def test_cut_trees_are_those_whose_loss_disconnects(seed: int) -> None:
    trees = random_list(seed, 10, 6, near=True)
    graph = as_graph(trees)
    alive = np.ones(len(trees), np.bool_)
    reached, blocks, cut, block = find_blocks(graph, alive, 0)
    assert reached == graph.n
    assert blocks > 0
    assert block.min() >= 0
    for f in range(len(trees)):
        without = alive.copy()
        without[f] = False
        assert cut[f] == (find_blocks(graph, without, 0).reached < graph.n)


@given(st.lists(st.floats(0, 4).map(lambda v: round(v, 1)), max_size=40))
@settings(deadline=None)
def test_sorted_order_is_stable(keys: list[float]) -> None:
    order = sorted_order(np.array(keys, np.float64))
    assert order.tolist() == np.argsort(np.array(keys), kind="stable").tolist()


def wide_list() -> FullTrees:
    """Cheap sets all over the plane: nothing local about them, so the frontier is hopeless."""
    trees = random_list(3, 60, 200, largest=4)
    rng = np.random.default_rng(0)
    length = 0.05 * (np.diff(trees.start) - 1) * rng.uniform(0.8, 1.2, len(trees))
    return replace(trees, length=np.where(np.arange(len(trees)) < 59, trees.length, length))


def test_stopping_returns_a_tree_and_a_bound() -> None:
    trees = wide_list()
    full = concatenate(trees)
    calls: list[tuple[float, float]] = []

    def keep_going(phase: str, done: int, total: int, length: float, bound: float) -> bool:
        assert 0 <= done <= total
        calls.append((length, bound))
        return len(calls) < 6

    cut = concatenate(trees, keep_going=keep_going)
    at_once = concatenate(trees, keep_going=lambda *_: False)
    for choice in (cut, at_once):
        assert not choice.optimal
        assert choice.lower_bound <= full.length <= choice.length
        assert is_tree(60, [members_of(trees)[f] for f in choice.selected])
    assert at_once.length <= trees.length[:59].sum()
    for length, bound in calls:
        assert 0.0 <= bound <= full.length * (1 + 1e-9) <= length * (1 + 2e-9)


def test_start_is_never_lost() -> None:
    trees = wide_list()
    full = concatenate(trees)
    again = concatenate(trees, start=full.selected, keep_going=lambda *_: False)
    assert again.length == pytest.approx(full.length, rel=1e-12)


@pytest.mark.parametrize("seed", range(3, 8))
def test_a_start_allows_to_leave_out_spanning_edges(seed: int) -> None:
    trees = random_list(seed, 12, 150, largest=3)
    best = concatenate(trees)
    order = np.argsort(trees.length, kind="stable")
    few = reordered(trees, order)
    assert few.length[:11].sum() < best.length  # so they are no tree
    start = np.flatnonzero(np.isin(order, best.selected))
    check(few, concatenate(few, start=start), best.length)


def test_same_list_same_choice() -> None:
    trees = wide_list()
    assert np.array_equal(concatenate(trees).selected, concatenate(trees).selected)


@pytest.mark.parametrize("n", [1, 2])
def test_tiny_lists(n: int) -> None:
    choice = concatenate(random_list(0, n, 0))
    assert choice.optimal
    assert choice.selected.tolist() == list(range(n - 1))


def test_read_only_lists_are_accepted() -> None:
    trees = random_list(5, 8, 6)
    for array in (trees.points, trees.start, trees.terminals, trees.length):
        array.flags.writeable = False
    assert concatenate(trees).optimal


def test_without_highspy(monkeypatch: pytest.MonkeyPatch) -> None:
    narrow, wide = random_list(1, 30, 60, near=True), wide_list()
    best = concatenate(narrow).length
    monkeypatch.setitem(sys.modules, "highspy", None)
    check(narrow, concatenate(narrow), best)
    with pytest.raises(MissingDependencyError, match="pip install highspy"):
        concatenate(wide)


@pytest.mark.parametrize(
    ("name", "count"),
    [("u10", 40), ("i12", 20), ("u50", 4), ("c50", 4), ("i30", 6), ("lat4x4", 1), ("lat5x5", 1)],
)
def test_golden_optima(golden, name: str, count: int) -> None:
    from deepsteiner.fst.enumerate.complete.generate import generate

    for points, optimum in zip(*golden(name, count), strict=True):
        centred = points - (points.max(axis=0) + points.min(axis=0)) / 2
        scale = 2.0 ** np.ceil(np.log2(np.abs(centred).max()))
        choice = concatenate(generate(centred / scale))
        assert choice.optimal
        assert choice.length * scale == pytest.approx(optimum, rel=1e-9)


def test_progress_counts_the_piece_that_is_worked_on():
    """Nothing is done before a block is; in the end everything is."""
    trees = random_list(4, 40, 110, near=True)
    told: list[tuple[str, int, int]] = []

    def tell(phase: str, done: int, total: int, *_: float) -> bool:
        told.append((phase, done, total))
        return True

    concatenate(trees, keep_going=tell, trace=True)  # which cuts from the start
    assert told[0][1:] == (1, 40)
    assert told[-1][1:] == (40, 40)
    cuts = [done for phase, done, _ in told if phase == "cut"]
    assert cuts
    assert set(cuts) == {1}
