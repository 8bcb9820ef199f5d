"""`bereta`, the memetic algorithm: its kernels against slow twins, its curve, its trace."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import deepsteiner as ds
from deepsteiner.core.errors import PointsError
from deepsteiner.geometry.spanning_trees import minimum_spanning_tree
from deepsteiner.geometry.vector_kernels import fermat_point, places_of, points_of
from deepsteiner.solvers.kernels import bereta_kernels
from plain import mst_length, random_points, splitmix


def chromosome(points: np.ndarray, genes: np.ndarray):
    """Return (padded genes, room for its spanning tree) of one chromosome."""
    span = bereta_kernels.begin(points, 1, 0).span
    padded = np.zeros(len(points), np.complex128)
    padded[: len(genes)] = genes @ [1, 1j]
    return padded, span


def slow_correction(points: np.ndarray, genes: np.ndarray) -> np.ndarray:
    """Correct with a fresh dictionary of neighbours in every round."""
    n = len(points)
    for _ in range(bereta_kernels.CORRECTION_ROUNDS):
        nodes = np.concatenate((points, genes))
        near: dict[int, list[int]] = {v: [] for v in range(len(nodes))}
        for a, b in minimum_spanning_tree(nodes).tolist():
            near[a].append(b)
            near[b].append(a)
        kept = []
        for i, place in enumerate(genes):
            around, corner = near[n + i], -1
            if len(around) == 3:
                found, corner = fermat_point(*(nodes[around] @ [1, 1j]))
                place = np.array([found.real, found.imag])
            if len(around) >= 3 and corner < 0:
                kept.append(place)
        fresh = np.array(kept).reshape(-1, 2)
        settled = len(fresh) == len(genes) and not (np.abs(genes - fresh).sum(axis=1) > 1e-6).any()
        genes = fresh
        if settled:
            break
    return genes


@given(st.integers(0, 10_000), st.integers(4, 15))
def test_correction_against_dictionaries(seed, n):
    points, genes = random_points(seed, n), random_points(seed + 1, n // 2)
    padded, span = chromosome(points, genes)
    before = bereta_kernels.measure(padded, len(genes), span)
    assert before == pytest.approx(mst_length(np.concatenate((points, genes))))
    count, length = bereta_kernels.correct(padded, len(genes), span)
    corrected = points_of(padded[:count])
    np.testing.assert_allclose(corrected, slow_correction(points, genes), atol=1e-9)
    assert length == pytest.approx(mst_length(np.concatenate((points, corrected))))


def test_improvement_adds_the_fermat_point_of_two_edges():
    from deepsteiner.geometry.random_kernels import new_state

    points = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, 0.8]])
    padded, span = chromosome(points, np.empty((0, 2)))
    bereta_kernels.measure(padded, 0, span)
    counts = [bereta_kernels.improve(padded, 0, span, new_state(seed)) for seed in range(20)]
    assert set(counts) == {0, 1}  # an end of the path has no second edge
    np.testing.assert_allclose(padded[0], fermat_point(*places_of(points))[0])


class SlowEvolution:
    """The memetic algorithm with lists of points: one child an iteration."""

    def __init__(self, terminals: np.ndarray, size: int, seed: int) -> None:
        self.terminals, self.numbers = terminals, splitmix(seed)
        self.members = [(mst_length(terminals), []) for _ in range(size)]
        self.best = (mst_length(terminals), [])

    def below(self, n: int) -> int:
        return int(next(self.numbers) * n)

    def chance(self, probability: float) -> bool:
        return next(self.numbers) < probability

    def normal(self) -> float:
        one, two = next(self.numbers), next(self.numbers)
        return math.sqrt(-2.0 * math.log(1.0 - one)) * math.cos(2.0 * math.pi * two)

    def tournament(self) -> list:
        a, b = self.below(len(self.members)), self.below(len(self.members))
        return self.members[b if self.members[b][0] < self.members[a][0] else a][1]

    def crossed(self, one: list, two: list) -> list:
        origin = self.terminals[self.below(len(self.terminals))]
        angle = 2.0 * math.pi * next(self.numbers)
        way = np.array([math.cos(angle), math.sin(angle)])
        child = [place for place in one if (place - origin) @ way > 0]
        child += [place for place in two if (place - origin) @ way < 0]
        return child[: len(self.terminals) - 2]

    def mutated(self, child: list) -> list:
        low, spread = self.terminals.min(axis=0), np.ptp(self.terminals, axis=0)
        if child and self.chance(0.1):
            gone = self.below(len(child))
            last = child.pop()
            if gone < len(child):
                child[gone] = last
        if child and self.chance(0.3):
            moved = self.below(len(child))
            child[moved] = child[moved] + 0.1 * spread * [self.normal(), self.normal()]
        if len(child) < len(self.terminals) - 2 and self.chance(0.6):
            child = [*child, low + spread * [next(self.numbers), next(self.numbers)]]
        return child

    def corrected(self, genes: list) -> list:
        return list(slow_correction(self.terminals, np.array(genes).reshape(-1, 2)))

    def improved(self, genes: list) -> list:
        nodes = np.concatenate((self.terminals, np.array(genes).reshape(-1, 2)))
        edges = minimum_spanning_tree(nodes).tolist()
        chosen, end = self.below(len(edges)), self.below(2)
        v, x = edges[chosen][end], edges[chosen][1 - end]
        seen, y = 0, None
        for e, edge in enumerate(edges):
            if e != chosen and v in edge:
                seen += 1
                if self.below(seen) == 0:
                    y = sum(edge) - v
        if y is None:
            return genes
        place, corner = fermat_point(*(nodes[[v, x, y]] @ [1, 1j]))
        return genes if corner >= 0 else [*genes, np.array([place.real, place.imag])]

    def step(self, write_back: float) -> None:
        child = list(self.tournament())
        if self.chance(0.3):
            child = self.crossed(child, self.tournament())
        child = self.mutated(child)
        learned = self.corrected(child)
        if self.chance(0.7) and len(learned) < len(self.terminals) - 1:
            more = self.improved(learned)
            learned = self.corrected(more) if len(more) > len(learned) else learned
        length = mst_length(np.concatenate((self.terminals, np.array(learned).reshape(-1, 2))))
        if length < self.best[0]:
            self.best = (length, learned)
        lengths = [one for one, _ in self.members]
        worst = lengths.index(max(lengths))
        if all(abs(one - length) > 1e-12 for one in lengths) and length < max(lengths):
            self.members[worst] = (length, learned if self.chance(write_back) else child)


@pytest.mark.parametrize("write_back", [0.0, 0.5, 1.0])
def test_evolution_against_lists_of_points(write_back):
    shorter = 0
    for seed in range(1, 8):
        terminals = random_points(seed, 9)
        evolution = bereta_kernels.begin(terminals, 4, seed + 3)
        bereta_kernels.evolve(evolution, write_back, 40)
        slow = SlowEvolution(terminals, 4, seed + 3)
        for _ in range(40):
            slow.step(write_back)
        length, genes = slow.best
        assert evolution.lengths[-1] == pytest.approx(length, rel=1e-9)
        assert evolution.counts[-1] == len(genes)
        best = points_of(evolution.genes[-1, : len(genes)])
        np.testing.assert_allclose(best, np.array(genes), atol=1e-7)
        shorter += length < mst_length(terminals)
    assert shorter > 4


def test_bereta_gets_shorter_with_iterations_and_starts_at_the_spanning_tree():
    points = np.random.default_rng(4).random((30, 12, 2))
    lengths = [
        ds.solve_many(points, "bereta", iterations=i).validate(strict=True).lengths
        for i in (0, 10, 40, 160)
    ]
    np.testing.assert_allclose(lengths[0], ds.solve_many(points, "mst").lengths, rtol=1e-12)
    for shorter, longer in itertools.pairwise(lengths[::-1]):
        assert shorter.mean() < longer.mean()


@pytest.mark.parametrize("options", [{"write_back": 0.0}, {"write_back": 1.0}, {"population": 1}])
def test_bereta_options_change_the_search(options):
    points = np.random.default_rng(4).random((30, 12, 2))
    plain = ds.solve_many(points, "bereta").lengths
    other = ds.solve_many(points, "bereta", **options).validate(strict=True).lengths
    assert (plain != other).any()


def test_bereta_matches_the_published_curve(golden):
    cells = {
        "u10": {10: 1.67, 20: 1.08, 50: 0.59},
        "u20": {10: 2.43, 20: 1.92, 50: 1.18},
        "g10": {10: 1.67, 20: 1.13, 50: 0.61},
    }
    for name, curve in cells.items():
        points, optimum = golden(name, 600)
        for iterations, published in curve.items():
            lengths = ds.solve_many(points, "bereta", iterations=iterations).lengths
            assert 100 * (lengths / optimum - 1).mean() == pytest.approx(published, abs=0.3)


def test_bereta_comes_close_to_the_optimum(golden):
    points, optimum = golden("u10", 150)
    lengths = ds.solve_many(points, "bereta", iterations=500).lengths
    assert (lengths / optimum - 1).mean() < 0.001


def test_bereta_says_how_many_points_it_takes():
    with pytest.raises(PointsError, match="at most 2000 distinct points, got 2001"):
        ds.solve(np.random.default_rng(0).random((2001, 2)), "bereta")


def test_bereta_traces_improving_moves():
    points = np.random.default_rng(9).random((12, 2))
    steps = ds.solve(points, "bereta", trace=True).info["trace"]
    lengths = [step["length"] for step in steps]
    assert lengths == sorted(lengths, reverse=True)
    for step in steps:
        nodes = np.concatenate((points, np.array(step["steiner"]).reshape(-1, 2)))
        assert step["length"] == pytest.approx(mst_length(nodes))
