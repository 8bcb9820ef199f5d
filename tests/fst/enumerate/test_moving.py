"""Branches that are kept while one terminal moves, against lists made afresh."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

pytest.importorskip("shapely")

from deepsteiner.core.points import Frame
from deepsteiner.datasets import generate_map
from deepsteiner.fst.enumerate.corners import moving_kernels as kernels
from deepsteiner.fst.enumerate.corners.generate import generate
from deepsteiner.fst.enumerate.corners.moving import Kept, renumbered
from deepsteiner.fst.select.optional.concatenation import concatenate
from deepsteiner.plane.plane import Plane
from deepsteiner.plane.shapes import load_shapely
from deepsteiner.solvers.around.moving import _renumbered, _special
from deepsteiner.solvers.around.proof import landscape_of


def a_map(seed: int, n: int, obstacles: int):
    """Points, a plane with all obstacles, and more places outside of them."""
    made = generate_map("convex", n, obstacles=obstacles, cover=0.15, seed=seed)
    shapes = [load_shapely().Polygon(one[0]) for one in made.obstacles]
    frame = Frame.of(np.array([[0.0, 0.0], [1.0, 1.0]]))
    plane = Plane.of(shapes, 0.0, frame)
    places = np.random.default_rng(seed).uniform(-0.9, 0.9, (40, 2))
    return frame.into(np.array(made.points)), plane, places[~plane.inside(places)]


def shortest(ground, trees):
    return concatenate(
        trees.leaves, trees.length, len(ground.places), ground.terminals, special=ground.special
    ).length


@pytest.mark.parametrize(("seed", "n", "obstacles"), [(0, 5, 2), (1, 8, 4), (2, 9, 3), (3, 4, 6)])
def test_what_is_kept_serves_every_place(seed, n, obstacles):
    points, plane, places = a_map(seed, n, obstacles)
    active, index, kept = set(range(len(plane))), n // 2, None
    for place in places[:8]:
        points[index] = place
        ground, seen, distance = landscape_of(plane, points, active)
        order = np.append(np.delete(np.arange(len(ground.places)), index), index)
        turned = _renumbered(ground, order)
        if kept is None:
            kept = Kept(turned, _special(distance, index, n))
        assert kept.complete
        assert kept.serves(turned)
        trees = renumbered(kept.trees(turned, seen[np.ix_(order, order)]), order)
        fresh = generate(ground, seen)
        assert shortest(ground, trees) == pytest.approx(shortest(ground, fresh), rel=1e-12)
        known = {tuple(sorted(one.tolist())): k for k, one in enumerate(trees.leaves)}
        assert len(known) == len(trees)
        for leaves, length in zip(fresh.leaves, fresh.length, strict=True):
            k = known.get(tuple(sorted(leaves.tolist())))
            assert k is None or trees.length[k] == pytest.approx(length, rel=1e-12)


def test_a_terminal_on_a_corner_takes_its_place():
    points, plane, _ = a_map(1, 6, 3)
    active = set(range(len(plane)))
    ground, _, distance = landscape_of(plane, points, active)
    order = np.append(np.arange(1, len(ground.places)), 0)
    kept = Kept(_renumbered(ground, order), _special(distance, 0, 6))
    for corner in plane.corners.places[:2]:
        points[0] = corner
        there, *_ = landscape_of(plane, points, active)
        order = np.append(np.arange(1, len(there.places)), 0)
        assert not kept.serves(_renumbered(there, order))


def test_growing_is_given_up(monkeypatch):
    from deepsteiner.fst.enumerate.corners import moving

    points, plane, _ = a_map(1, 8, 4)
    ground, _, distance = landscape_of(plane, points, set(range(len(plane))))
    order = np.append(np.arange(1, len(ground.places)), 0)
    monkeypatch.setattr(moving, "MOST", 30)
    kept = Kept(_renumbered(ground, order), _special(distance, 0, 8))
    assert kept.too_many
    assert not kept.complete


def sides(edges, count: int, cut: int):
    """The leaves on either side of an edge of a tree over leaves 0..count-1 and Steiner points."""
    reached = {int(edges[cut, 0])}
    while more := {
        int(v)
        for k, (a, b) in enumerate(edges.tolist())
        for u, v in ((a, b), (b, a))
        if k != cut and u in reached and v not in reached
    }:
        reached |= more
    return [k for k in range(count) if k in reached], [k for k in range(count) if k not in reached]


def spanning(special) -> float:
    """Length of a minimum spanning tree, by Kruskal's algorithm."""
    part = list(range(len(special)))
    total = 0.0
    for u, v in sorted(itertools.combinations(part, 2), key=lambda pair: special[pair]):
        if part[u] != part[v]:
            total += special[u, v]
            part = [part[u] if one == part[v] else one for one in part]
    return total


def is_needed(ground, plane, places, leaves, edges) -> bool:
    """Whether a tree over nodes passes what a terminal can change: links and lunes."""
    lengths = np.abs(places[edges[:, 0]] - places[edges[:, 1]])
    special = ground.special[np.ix_(leaves, leaves)]
    if lengths.sum() > spanning(special) + 1e-12:
        return False
    pairs = places.view(np.float64).reshape(-1, 2)
    for k, (a, b) in enumerate(edges.tolist()):
        if lengths[k] > special[np.ix_(*sides(edges, len(leaves), k))].min() + 1e-12:
            return False
        for z in ground.by_x.tolist():
            spot, ends = ground.places[z], [pairs[a], pairs[b]]
            own = [leaves[v] for v in (a, b) if v < len(leaves)]
            near = max(abs(spot - places[a]), abs(spot - places[b])) < lengths[k] - 1e-12
            if z not in own and near and all(plane.sees([spot.real, spot.imag], e) for e in ends):
                return False
    return True


@pytest.mark.parametrize("seed", range(3))
def test_trees_that_are_still_needed(seed):
    points, plane, places = a_map(seed, 10, 3)
    active, kept, kinds = set(range(len(plane))), None, set()
    for place in places[:10]:
        points[-1] = place
        ground, seen, distance = landscape_of(plane, points, active)
        order = np.append(np.delete(np.arange(len(ground.places)), 9), 9)
        turned = _renumbered(ground, order)
        if kept is None:
            kept = Kept(turned, _special(distance, 9, 10))
        kept.trees(turned, seen[np.ix_(order, order)])
        needed = kernels.still_needed(turned, kept.sprouts, kept._items)
        for (_, leaves, steiner, edges), flag in zip(kept._others, needed.tolist(), strict=True):
            spots = np.append(turned.places[leaves], steiner.view(np.complex128).ravel())
            # Drawings have the root right after the other leaves, as it is the last leaf.
            assert flag == is_needed(turned, plane, spots, leaves, edges)
            kinds.add(flag)
    assert kinds == {True, False}
