"""How branches close into trees: lunes, lengths, places and the last tests, one by one."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from deepsteiner.fst.enumerate.complete import (
    closing_kernels,
    lune_kernels,
    rebuild_kernels,
    swap_kernels,
)
from deepsteiner.fst.enumerate.complete import forest_kernels as store
from grown import LOOSE, Grown, Node, cross, dot, grown_from, is_swappable


@pytest.fixture(scope="module", params=["uniform", "grid", "clusters"])
def grown(request) -> Grown:
    return grown_from(request.param)


def test_lunes_against_all_terminals(grown):
    rng = np.random.default_rng(2)
    empty = 0
    for _ in range(500):
        p, q = (complex(*(2.4 * rng.random(2) - 1.2)) for _ in range(2))
        q = p + rng.choice([0.1, 0.5, 1.0]) * (q - p)
        skip = rng.integers(-1, grown.n, 2).tolist()
        if rng.random() < 0.5:
            p = grown.z[skip[0]] if skip[0] >= 0 else p
        length = abs(p - q)
        farther = [max(abs(z - p), abs(z - q)) for t, z in enumerate(grown.z) if t not in skip]
        excess = lune_kernels.lune_excess(grown.ground, p, q, *skip)
        if min(farther) < length - LOOSE:
            assert excess == pytest.approx(length - min(farther), abs=1e-12)
        elif min(farther) > length + LOOSE:
            assert excess < -store.TIE
            empty += 1
    assert 50 < empty < 450


def all_trees(grown: Grown):
    """Yield (branch, root, its tree) wherever a terminal lies in a direction of a branch."""
    for row in grown.branches:
        top, _ = grown.circle(row)
        for root in range(max(grown.terminals(row)) + 1, grown.n):
            way = grown.z[root] - top
            if abs(way) > LOOSE:
                yield row, root, grown.placed(row, way / abs(way))


def test_simpson_lines(grown):
    """A terminal closes a branch if it lies ahead and neither the edge nor the tree is long."""
    closed = refused = 0
    for row, root, node in all_trees(grown):
        top, _ = grown.circle(row)
        way = grown.z[root] - top
        edge = abs(way) - abs(node.place - top)
        link = float(grown.bottleneck[grown.terminals(row), root].min())
        bound = float(grown.branch[row]["bound"])
        clear = [edge - store.MIN_EDGE, link - edge, bound + link - abs(way)]
        a, b = grown.interval(row)
        clear += [cross(a, way), cross(way, b), dot(a, way)]
        if min(map(abs, clear)) < LOOSE:
            continue
        found = closing_kernels.simpson_line(grown.branch[row], grown.z[root], link)
        expected = abs(way) if min(clear) > 0 else -1.0
        assert found == pytest.approx(expected, rel=1e-12)
        closed, refused = closed + (found > 0), refused + (found < 0)
    assert closed > 5
    assert refused > 20


def test_splitting_in_the_root(grown):
    finite = 0
    for row, root, _ in all_trees(grown):
        expected = 0.0
        for child in grown.children(row):
            own = frozenset((*grown.terminals(child), root))
            direct = abs(grown.z[child] - grown.z[root]) if grown.size(child) == 1 else math.inf
            expected += min(direct, grown.known.get(own, math.inf))
        cost = closing_kernels.split_cost(grown.forest, grown.trees, row, root)
        assert cost == pytest.approx(expected)
        finite += math.isfinite(expected)
    assert finite > 10


def drawn(grown: Grown, row: int, root: int, drawing: rebuild_kernels.Drawing) -> float:
    """Draw a closed branch; return the length of its tree."""
    ground, stack = grown.ground, grown.scratch.stack
    return rebuild_kernels.place_tree(ground.points, grown.forest, stack, row, root, drawing)


def test_placed_trees_are_melzaks(grown):
    drawing = rebuild_kernels.new_drawing(30)
    placed = 0
    for row, root, node in itertools.islice(all_trees(grown), 0, None, 3):
        total = drawn(grown, row, root, drawing)
        size = grown.size(row)
        own = [*grown.terminals(row), root]
        expected = sorted(
            (round(v.place.real, 9), round(v.place.imag, 9)) for v in node.vertices() if v.children
        )
        found = drawing.spots[: 2 * size].tolist()
        edges = drawing.edges[: 2 * size - 1].tolist()
        ends = np.array([(parent, vertex) for parent, vertex, _ in edges])
        assert found[: size + 1] == pytest.approx([grown.z[t] for t in own])
        steiner = sorted((round(v.real, 9), round(v.imag, 9)) for v in found[size + 1 :])
        assert np.allclose(steiner, expected, atol=1e-8)
        assert total == pytest.approx(node.length() + abs(grown.z[root] - node.place))
        pairs = [*node.edges(), (Node(grown.z[root], frozenset(), root), node)]
        links = {frozenset(nearest_of(found, v.place) for v in pair) for pair in pairs}
        if min(abs(a - b) for a, b in itertools.combinations(found, 2)) > LOOSE:
            assert {frozenset(edge) for edge in ends.tolist()} == links
        for _, vertex, under in edges:
            side = {t for t in own if is_below(ends, vertex, own.index(t))}
            assert set(grown.terminals(under)) == side
            others = [t for t in own if t not in side]
            cheapest = grown.bottleneck[np.ix_(sorted(side), others)].min()
            link = rebuild_kernels.side_link(grown.ground.gaps, grown.forest, row, root, under)
            assert link == pytest.approx(cheapest, rel=1e-12)
        placed += 1
    assert placed > 20


def nearest_of(spots: list[complex], place: complex) -> int:
    return min(range(len(spots)), key=lambda k: abs(spots[k] - place))


def is_below(edges: np.ndarray, vertex: int, other: int) -> bool:
    """Whether a vertex is reached from another by edges that lead down."""
    while other != vertex:
        above = edges[edges[:, 1] == other, 0]
        if len(above) == 0:
            return False
        other = int(above[0])
    return True


def test_final_tests_against_all_pairs(grown):
    """Edges, shortcuts between vertices and lunes of closed trees, looked at one by one."""
    drawing = rebuild_kernels.new_drawing(30)
    verdicts = []
    for row, root, node in all_trees(grown):
        size = grown.size(row)
        tree = Node(grown.z[root], node.terminals | {root}, root, [node])
        if abs(tree.length() - abs(grown.z[root] - grown.circle(row)[0])) > 1e-9:
            continue  # edges that cross: closing would have refused it
        drawn(grown, row, root, drawing)
        clear = clearances(grown, tree)
        if min(map(abs, clear)) < LOOSE:
            continue
        needed = rebuild_kernels.tree_may_be_needed(
            grown.ground, grown.forest, row, root, drawing, np.zeros((2 * size, 2 * size))
        )
        assert needed == (min(clear) > 0)
        verdicts.append(needed)
    assert len(verdicts) > 10
    assert True in verdicts
    assert False in verdicts


def clearances(grown: Grown, tree: Node) -> list[float]:
    """By how much each condition on a closed tree holds (negative: it does not)."""
    found = []
    every = tree.vertices()
    for parent, child in tree.edges():
        length = abs(parent.place - child.place)
        others = sorted(tree.terminals - child.terminals)
        found.append(grown.bottleneck[np.ix_(sorted(child.terminals), others)].min() - length)
        found += [
            max(abs(z - parent.place), abs(z - child.place)) - length
            for t, z in enumerate(grown.z)
            if not (parent is tree and t == tree.row)
            and not (not child.children and t == child.row)
        ]
        found.append(length - store.MIN_EDGE)
        under = set(map(id, child.vertices()))
        for v, w in itertools.product(every, repeat=2):
            if id(v) in under and id(w) not in under and not (v is child and w is parent):
                found.append(abs(v.place - w.place) - length)
    return found


def test_closed_trees_that_are_better_swapped(grown):
    verdicts = []
    for row, root, node in all_trees(grown):
        tree = Node(grown.z[root], node.terminals | {root}, root, [node])
        if abs(tree.length() - abs(grown.z[root] - grown.circle(row)[0])) > 1e-9:
            continue
        expected = any(
            is_swappable(
                node, child, [one.place for one in node.children if one is not child] + [tree.place]
            )
            for child in node.children
            if child.children
        )
        found = swap_kernels.is_better_swapped(grown.branch, row, grown.z[root])
        assert found == expected
        verdicts.append(found)
    assert sum(verdicts) > 2
    assert sum(verdicts) < len(verdicts) - 5
