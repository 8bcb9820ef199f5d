"""Branches that are kept while one terminal moves, against lists made afresh."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("shapely")

from deepsteiner.core.points import Frame
from deepsteiner.datasets import generate_map
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
