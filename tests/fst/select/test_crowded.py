"""Crowded lists, full of ties as on lattices: blocks by a beam, compact cells, small regions."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from deepsteiner.fst.enumerate.nearby.small_listing_kernels import list_small
from deepsteiner.fst.select.exact import frontier_kernels as frontier
from deepsteiner.fst.select.exact.blocks_kernels import concatenate_small
from deepsteiner.fst.select.exact.prune_kernels import incidence, own_distances
from deepsteiner.fst.select.hypergraph import Budget, Hypergraph
from deepsteiner.fst.select.search.beam_kernels import improve_block, keep_promising
from deepsteiner.fst.select.search.cell_kernels import halved_cells
from deepsteiner.fst.select.search.regions import compact_cells


def lattice_list(seed: int, rows: int = 4, columns: int = 5) -> Hypergraph:
    """The list of a jittered lattice, and of a strict one every fourth time."""
    rng = np.random.default_rng(seed)
    grid = np.array(list(itertools.product(range(rows), range(columns))), dtype=float)
    points = (grid + (seed % 4) * 0.02 * rng.standard_normal(grid.shape)) / 5.0 - 0.5
    _, start, terminals, length, _ = list_small(points, 5)
    return Hypergraph(len(points), start, terminals, length)


def is_tree(graph: Hypergraph, picked: np.ndarray) -> bool:
    label, joins = list(range(graph.n)), 0
    for f in np.flatnonzero(picked):
        own = {label[v] for v in graph.terminals[graph.start[f] : graph.start[f + 1]]}
        joins += int(graph.start[f + 1] - graph.start[f]) - 1
        label = [min(own) if one in own else one for one in label]
    return len(set(label)) == 1 and joins == graph.n - 1


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("beam", [0, 1, 5, 1000])
def test_blocks_are_improved_exactly_or_by_a_beam(seed, beam):
    graph = lattice_list(seed)
    best = concatenate_small(graph, np.zeros(graph.length.size, np.bool_))
    spanning = np.arange(graph.length.size) < graph.n - 1
    known = float(graph.length[spanning].sum())
    picked = spanning.copy()
    near = own_distances(graph, np.ones_like(spanning))
    assert improve_block(graph, near, known, Budget(1e12, 10**6, 0), picked) == 2
    assert graph.length[picked].sum() == pytest.approx(best, rel=1e-12)
    # Nothing is shorter.
    assert improve_block(graph, near, best, Budget(1e12, 10**6, 0), picked) == 1
    picked = spanning.copy()
    found = improve_block(graph, near, known, Budget(1e4, 1, beam), picked)
    assert is_tree(graph, picked)
    if beam == 0:
        assert found == 0
        assert np.array_equal(picked, spanning)
    total = float(graph.length[picked].sum())
    assert best * (1 - 1e-12) <= total <= known
    assert (total < known) == (found == 2)
    if beam == 1000:
        assert total <= 1.002 * best


@pytest.mark.parametrize("keep", [1, 4, 20])
def test_the_most_promising_partitions_stay(keep):
    """By what they cost, and what a spanning tree of their components would."""
    graph = lattice_list(1)
    every = np.ones(graph.length.size, np.bool_)
    at = incidence(graph, every)
    order, _ = frontier.best_closing_order(graph, at, 4, np.inf)
    problem = frontier.unconstrained(graph, order, own_distances(graph, every))
    progress = frontier.set_out(problem, at.first[1:] - at.first[:-1], np.inf)
    progress = frontier.advance(problem, progress, np.inf, 40)
    assert progress.record[frontier.STATUS] == frontier.TOO_MANY
    count, active = progress.record[frontier.COUNT], progress.record[frontier.ACTIVE]
    slots = [s for s in range(15) if active >> s & 1]
    hopes = []
    for key, cost in zip(progress.layer.keys[:count].tolist(), progress.layer.costs, strict=False):
        label = {s: key >> (4 * s) & 15 for s in slots}
        for a, b in sorted(itertools.combinations(slots, 2), key=lambda two: progress.near[two]):
            if label[a] != label[b]:
                cost += progress.near[a, b]
                old = label[b]
                label = {s: label[a] if one == old else one for s, one in label.items()}
        hopes.append((round(float(cost), 9), key))
    keep_promising(progress, keep)
    left = set(progress.layer.keys[: progress.record[frontier.COUNT]].tolist())
    assert len(left) == min(keep, count)
    worst = max(hope for hope, key in hopes if key in left)
    assert all(hope >= worst for hope, key in hopes if key not in left)


@pytest.mark.parametrize("seed", range(6))
def test_cells_are_halves_of_halves(seed):
    rng = np.random.default_rng(seed)
    points = rng.standard_normal((150, 2)) * (1.0, 3.0)
    size, share = int(rng.integers(3, 40)), float(rng.choice([0.3, 0.5, 0.6]))

    def halves(part: np.ndarray) -> list[set[int]]:
        if len(part) <= size:
            return [set(part.tolist())]
        axis = 0 if np.ptp(points[part, 0]) >= np.ptp(points[part, 1]) else 1
        part = part[np.argsort(points[part, axis], kind="stable")]
        cut = min(max(int(share * len(part)), 1), len(part) - 1)
        return [*halves(part[:cut]), *halves(part[cut:])]

    cell = halved_cells(points, size, share)
    expected = halves(np.arange(len(points)))
    assert [set(np.flatnonzero(cell == k).tolist()) for k in range(len(expected))] == expected


def test_compact_cells_lie_differently_in_every_pass():
    points = np.random.default_rng(0).random((500, 2))
    seen = set()
    for number in range(6):
        cell = compact_cells(points, 30, number)
        assert 8 <= np.bincount(cell).min() <= np.bincount(cell).max() <= 30
        seen |= {frozenset(np.flatnonzero(cell == k).tolist()) for k in range(cell.max() + 1)}
    assert len(seen) > 80
