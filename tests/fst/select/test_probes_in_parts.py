"""Probing part by part: what parts are, and that neither their order nor threads matter."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from deepsteiner.fst.select.exact import concatenation, probes
from deepsteiner.fst.select.exact.concatenation import concatenate
from deepsteiner.fst.select.exact.frontier import solve_by_frontier
from deepsteiner.fst.select.exact.piece import Piece
from deepsteiner.fst.select.exact.probe_kernels import begin_probes, grow_parts, probe_part
from deepsteiner.fst.select.exact.prune_kernels import own_distances
from deepsteiner.fst.select.exact.subset_kernels import terminal_prices
from deepsteiner.fst.select.hypergraph import Budget
from list_twins import Sets, listed

SIDE = 8


def plane_list(seed: int) -> tuple[Sets, np.ndarray]:
    """Links of a grid, some of equal length, and sets of three to five terminals along them."""
    rng = np.random.default_rng(seed)
    steps = rng.uniform(1.0, 1.3, (2, SIDE, SIDE)) if seed % 2 else np.ones((2, SIDE, SIDE))
    links = {}
    for v in range(SIDE * SIDE):
        if v % SIDE < SIDE - 1:
            links[v, v + 1] = steps[0].flat[v]
        if v < SIDE * (SIDE - 1):
            links[v, v + SIDE] = steps[1].flat[v]
    sets, lengths = [list(pair) for pair in links], list(links.values())
    for _ in range(4 * SIDE):
        walk, length = [int(rng.integers(SIDE * SIDE))], 0.0
        while len(walk) < rng.integers(3, 6):
            ways = [p for p in links if (walk[-1] in p) and sum(p) - walk[-1] not in walk]
            if not ways:
                break
            pair = ways[rng.integers(len(ways))]
            length += links[pair]
            walk.append(sum(pair) - walk[-1])
        if len(walk) > 2:
            sets.append(walk)
            lengths.append(length * rng.uniform(0.85, 0.98))
    return sets, np.array(lengths)


def begun(sets: Sets, lengths: np.ndarray) -> Any:
    graph, alive = listed(SIDE * SIDE, sets, lengths), np.ones(len(sets), np.bool_)
    return begin_probes(graph, own_distances(graph, alive), terminal_prices(graph), np.inf, alive)


@pytest.mark.parametrize("turn", [0, 1])
@pytest.mark.parametrize("seed", range(4))
def test_parts_are_grown_breadth_first(seed, turn):
    sets, lengths = plane_list(seed)
    begin, n, size = begun(sets, lengths), SIDE * SIDE, 15
    rng = np.random.default_rng(seed)
    begin.settled[:] = rng.random(n) < 0.3
    begin.alive[:] = rng.random(len(sets)) < 0.9
    living = [one for one, alive in zip(sets, begin.alive, strict=True) if alive]
    part: dict[int, int] = {}
    for root in range(n) if turn == 0 else reversed(range(n)):
        if begin.settled[root] or root in part:
            continue
        own = [root]
        number = len(set(part.values()))
        part[root] = number
        for v in own:
            for one in living:
                for u in one if v in one else ():
                    if u not in part and len(own) < size:
                        part[u] = number
                        own.append(u)
    across = {v for one in living if len({part.get(u, -1) for u in one}) > 1 for v in one}
    found = grow_parts(begin, size, turn)
    assert set(np.flatnonzero(~found.inside).tolist()) == across
    for p in range(max(part.values()) + 1):
        roots = found.roots.items[found.roots.first[p] : found.roots.first[p + 1]].tolist()
        assert roots == sorted(
            v for v in part if part[v] == p and v not in across and not begin.settled[v]
        )


def test_the_order_of_parts_does_not_matter():
    total = 0
    for seed in range(10):
        sets, lengths = plane_list(seed)
        outcomes = []
        for forwards in (True, False):
            begin = begun(sets, lengths)
            parts = grow_parts(begin, 30, 0)
            count = parts.roots.first.size - 1
            order = range(count) if forwards else reversed(range(count))
            done = [probe_part(begin, parts, 10, 100, 0, p) for p in order]
            outcomes.append((begin.alive.tolist(), begin.forced.tolist(), sorted(done)))
            decided = sum(more for _, more in done)
            assert decided == begin.forced.sum() + (~begin.alive).sum()
            total += decided
        assert outcomes[0] == outcomes[1]
    assert total > 10


def test_threads_do_not_matter(monkeypatch):
    monkeypatch.setattr(probes, "PART", 2)
    monkeypatch.setattr(probes, "PARTS", 2)
    levels = (
        concatenation.Level(0.0, 1),
        concatenation.Level(0.0, 1, 12, 60, 4),
        concatenation.Level(1e9, 100_000, 16, 200, 2),
    )
    monkeypatch.setattr(concatenation, "LEVELS", levels)
    grown = []
    each = probes._each

    def seen(run: Any, items: range, *more: Any) -> list[Any]:
        grown.append(len(items))
        return each(run, items, *more)

    monkeypatch.setattr(probes, "_each", seen)
    for seed in range(6):
        graph = listed(SIDE * SIDE, *plane_list(seed))
        trees: Any = _List(graph)
        one, more = concatenate(trees), concatenate(trees, threads=3)
        assert one.optimal
        assert np.array_equal(one.selected, more.selected)
        assert one.stats["probes_decided"] == more.stats["probes_decided"] > 0
        piece = Piece(*graph, np.arange(graph.length.size))
        picked, _ = solve_by_frontier(piece, np.inf, Budget(np.inf, 10**6), lambda: True)
        assert one.length == pytest.approx(graph.length[picked].sum(), rel=1e-10)
    assert max(grown) > 2


class _List:
    """What of a list of full Steiner trees is needed to choose from it."""

    def __init__(self, graph: Any) -> None:
        self.points = np.zeros((graph.n, 2))
        self.start, self.terminals, self.length = graph.start, graph.terminals, graph.length

    def __len__(self) -> int:
        return len(self.length)
