"""The index of branches: its trees hold what they should, and no partner is overlooked."""

from __future__ import annotations

import cmath
import itertools
import math

import numpy as np
import pytest

from deepsteiner.fst.enumerate.complete import (
    branch_kernels,
    growth_kernels,
    index_kernels,
    lune_kernels,
    reach_kernels,
)
from deepsteiner.fst.enumerate.complete.generate import enter_in_threads
from deepsteiner.fst.enumerate.complete.index_kernels import Index
from deepsteiner.run.threads import Workers
from grown import LOOSE, Grown, grown_from


@pytest.fixture(scope="module", params=["uniform", "grid", "clusters"])
def grown(request) -> Grown:
    return grown_from(request.param)


def indexed(grown: Grown) -> Index:
    """Return an index of the terminals and of all branches in one tree."""
    index = index_kernels.new_index(len(grown.branch), grown.run.state.lookup.reach)
    index_kernels.enter_branches(index, grown.branch, 0, grown.n)
    index_kernels.enter_branches(index, grown.branch, grown.n, grown.count)
    assert index.trees[0] == 2
    return index


@pytest.mark.parametrize("threads", [2, 3, 16])
def test_threads_make_the_same_index(grown, threads):
    alone, state = indexed(grown), grown.run.state
    together = index_kernels.new_index(len(grown.branch), state.lookup.reach)
    state = state._replace(lookup=together)
    with Workers(threads) as workers:
        enter_in_threads(state, 0, grown.n, workers)
        enter_in_threads(state, grown.n, grown.count, workers)
    boxes = alone.roots[2]
    assert np.array_equal(together.starts[:3], alone.starts[:3])
    assert np.array_equal(together.roots[:3], alone.roots[:3])
    assert np.array_equal(together.items[: grown.count], alone.items[: grown.count])
    assert np.array_equal(together.boxes[:boxes], alone.boxes[:boxes])


def apart(a: float, b: float) -> float:
    return abs(cmath.phase(cmath.exp(1j * (a - b))))


def test_boxes_hold_their_items(grown):
    lookup = grown.run.state.lookup
    trees = int(lookup.trees[0])
    assert lookup.starts[:2].tolist() == [0, grown.n]
    assert lookup.starts[trees] == grown.count
    for tree in range(trees):
        first, last = int(lookup.starts[tree]), int(lookup.starts[tree + 1])
        root, end = int(lookup.roots[tree]), int(lookup.roots[tree + 1])
        own = lookup.items[first:last]
        assert sorted(own["branch"].tolist()) == list(range(first, last))
        assert (lookup.boxes[root]["first"], lookup.boxes[root]["last"]) == (first, last)
        leaves = []
        for node in range(root, end):
            box = lookup.boxes[node]
            items = lookup.items[box["first"] : box["last"]]
            if box["skip"] == node + 1:
                leaves.append((int(box["first"]), int(box["last"])))
                assert 0 < len(items) <= index_kernels.LEAF
            else:
                inner, other = lookup.boxes[node + 1], lookup.boxes[lookup.boxes[node + 1]["skip"]]
                assert (inner["first"], inner["last"]) == (box["first"], other["first"])
                assert (other["last"], other["skip"]) == (box["last"], box["skip"])
            assert box["low"].real == items["place"].real.min()
            assert box["high"].imag == items["place"].imag.max()
            assert (box["spread"], box["reach"]) == (items["spread"].max(), items["reach"].max())
            for item in items:
                turned = min(apart(item["angle"], box["angle"]), math.pi)
                assert turned + item["width"] <= box["width"] + LOOSE
        assert [*itertools.chain(*leaves)] == [
            first, *itertools.chain(*((b, b) for _, b in leaves[:-1])), last
        ]  # fmt: skip


def test_items_are_the_branches(grown):
    for item in grown.run.state.lookup.items[: grown.count]:
        row = int(item["branch"])
        own = grown.branch[row]
        for name in ("place", "angle", "spread", "reach"):
            assert item[name] == own[name]
        for side, name in enumerate(("leftmost", "rightmost")):
            end = row
            while grown.size(end) > 1:
                end = grown.children(end)[side]
            assert item[name] == end


def test_halves_are_sorted_apart():
    rng = np.random.default_rng(5)
    for count in (1, 2, 3, 17, 200):
        for axis, name in enumerate(("x", "y", "angle")):
            items = np.zeros(count, index_kernels.ITEM)
            items["branch"] = np.arange(count)
            items["place"] = rng.integers(0, 9, count) + 1j * rng.random(count)
            items["angle"] = rng.normal(size=count)
            before = {int(item["branch"]): item.tobytes() for item in items}
            middle = int(rng.integers(0, count))
            index_kernels.halve(items, 0, count, middle, axis)
            values = {
                "x": items["place"].real, "y": items["place"].imag, "angle": items["angle"]
            }[name]  # fmt: skip
            assert (values[:middle] <= values[middle]).all()
            assert (values[middle:] >= values[middle]).all()
            assert {int(item["branch"]): item.tobytes() for item in items} == before


def needed(grown: Grown, forest, pair: tuple[int, int]) -> bool:
    """Whether a new branch survives, and needs no edge longer than its children can have."""
    row = grown.count
    arc = branch_kernels.merge(
        grown.ground, forest, grown.trees, grown.scratch, *pair, row, grown.used
    )
    if not arc.exists or not lune_kernels.march(grown.ground, forest, grown.scratch, row, arc):
        return False
    a, b = (forest.branches[row][name].item() for name in "ab")
    width = cmath.phase(b / a)
    for t in np.linspace(0.0, 1.0, 33):
        node = grown.placed(-1, a * cmath.exp(1j * width * t), pair)
        edges = [node.place - child.place for child in node.children]
        if all(abs(edge) <= reach(grown, row, edge) for row, edge in zip(pair, edges, strict=True)):
            return True
    return False


def reach(grown: Grown, row: int, way: complex) -> float:
    """Return the longest edge that can leave a branch or, in a direction, a terminal."""
    if row >= grown.n:
        return float(grown.branch[row]["reach"])
    sectors = grown.run.state.lookup.reach[row]
    sector = int((cmath.phase(way) + math.pi) / (2 * math.pi) * len(sectors))
    return float(sectors[sector % len(sectors)])


def test_terminals_are_found_wherever_they_are(grown):
    """All are tried: those that can be joined must be among the ones looked up."""
    index, forest, found = indexed(grown), grown.copied(), np.empty(grown.n, np.int64)
    joined = 0
    for one, swap in itertools.product(range(grown.count), (0, 1)):
        hits = index_kernels.terminals_for(grown.ground, forest, index, one, swap, found).hits
        looked_up = set(found[:hits].tolist())
        assert len(looked_up) == hits
        assert not looked_up & set(grown.terminals(one))
        if one < grown.n:
            assert min(looked_up, default=grown.n) > one
        rest = set(range(one + 1 if one < grown.n else 0, grown.n)) - set(grown.terminals(one))
        for two in rest - looked_up:
            assert not needed(grown, forest, (one, two) if swap == 0 else (two, one))
        joined += sum(
            needed(grown, forest, (one, two) if swap == 0 else (two, one)) for two in looked_up
        )
    assert joined > grown.n


def test_pairs_are_found_wherever_they_are(grown):
    """All pairs of branches are tried, as if all had the same size."""
    index, forest = indexed(grown), grown.copied()
    state = grown.run.state._replace(forest=forest, lookup=index)
    found = np.empty((100_000, 2), np.int64)
    span = growth_kernels.Span(
        int(index.roots[1]), int(index.roots[2]), grown.count, len(forest.branches),
        grown.used, len(forest.members),
    )  # fmt: skip
    searched = growth_kernels.search_some(state, grown.scratch, 2, span, 1 << 60, found)
    assert searched.position == span.high
    assert not grown.scratch.inside.any()
    looked_up = {tuple(pair) for pair in found[: searched.pairs].tolist()}
    assert len(looked_up) == searched.pairs
    for one, two in itertools.combinations(range(grown.n, grown.count), 2):
        disjoint = not set(grown.terminals(one)) & set(grown.terminals(two))
        for pair in ((one, two), (two, one)):
            assert pair not in looked_up or disjoint
            if disjoint and pair not in looked_up:
                assert not needed(grown, forest, pair)
    few = np.empty((max(searched.pairs // 2, 1), 2), np.int64)
    if searched.pairs > 1:
        part = growth_kernels.search_some(state, grown.scratch, 2, span, 1 << 60, few)
        assert part.position < span.high
        assert few[: part.pairs].tolist() == found[: part.pairs].tolist()
        assert not grown.scratch.inside.any()


def test_no_needed_edge_of_a_terminal_is_longer_than_its_reach(grown):
    """Beyond it, some terminal is nearer to both ends than they are to each other."""
    sectors, _ = reach_kernels.terminal_reaches(grown.ground)
    shorter = 0
    for t, sector in itertools.product(range(grown.n), range(reach_kernels.SECTORS)):
        length = sectors[t, sector] * (1 + 1e-12)
        assert sectors[t, sector] <= grown.ground.longest
        if sectors[t, sector] == grown.ground.longest:
            continue
        shorter += 1
        for f in (0.0, 0.3, 1.0):
            angle = 2 * math.pi * (sector + f) / reach_kernels.SECTORS - math.pi
            for stretch in (1.0, 1.5):
                far = grown.z[t] + stretch * length * cmath.exp(1j * angle)
                assert any(
                    max(abs(z - grown.z[t]), abs(z - far)) < stretch * length
                    for k, z in enumerate(grown.z) if k != t
                )  # fmt: skip
    assert shorter > grown.n


def test_the_longest_edge_between_two_angles():
    rng = np.random.default_rng(8)
    sectors = rng.random((1, reach_kernels.SECTORS))
    for low, width in rng.random((300, 2)) * (8.0, 7.0) - (4.0, 0.0):
        ways = np.linspace(low, low + width, 400)
        hit = np.floor((ways + np.pi) / (2 * np.pi) * reach_kernels.SECTORS).astype(int)
        expected = sectors[0, hit % reach_kernels.SECTORS].max()
        longest = reach_kernels.longest_between(sectors, 0, low, low + width)
        assert expected <= longest
        assert longest == expected or width > 0
