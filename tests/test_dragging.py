"""A point that moves among obstacles: every tree proven, and as short as a fresh one."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("shapely")

import deepsteiner as ds
from deepsteiner import dragging
from deepsteiner.dragging import dragged
from deepsteiner.errors import ObstacleError
from deepsteiner.run.monitor import Monitor
from deepsteiner.solvers.around import moving

WALL = [[-0.1, -1.0], [0.1, -1.0], [0.1, 1.0], [-0.1, 1.0]]
ENDS = [[-1.0, 0.0], [1.0, 0.0], [1.0, 0.5]]


@pytest.fixture
def proofs(monkeypatch):
    """Count the places that were solved without anything kept."""
    calls = []

    def counted(run):
        calls.append(len(run.points))
        return prove(run)

    prove = moving.prove
    monkeypatch.setattr(moving, "prove", counted)
    return calls


def a_map(seed: int, n: int = 12, count: int = 6):
    made = ds.datasets.generate_map("convex", n, obstacles=count, cover=0.15, seed=seed)
    return np.array(made.points), [one[0] for one in made.obstacles]


@pytest.mark.parametrize("seed", range(3))
def test_every_tree_is_as_short_as_a_fresh_one(seed, proofs):
    points, obstacles = a_map(seed)
    random = np.random.default_rng(seed)
    tree, moves = ds.solve(points, obstacles=obstacles), 0
    steps = [*random.normal(0.0, 0.03, (8, 2)), [0.4, 0.3], [-0.5, 0.4], [3.0, 3.0]]
    for step in steps:
        place = tree.terminals[3] + step
        try:
            tree = tree.with_points(move={3: place})
        except ObstacleError:
            with pytest.raises(ObstacleError):
                ds.solve(np.concatenate((points[:3], [place], points[4:])), obstacles=obstacles)
            continue
        moves += 1
        assert np.array_equal(tree.terminals[3], place)
        assert np.array_equal(np.delete(tree.terminals, 3, 0), np.delete(points, 3, 0))
        fresh = ds.solve(tree.terminals, obstacles=obstacles)
        assert (tree.status, tree.method) == ("optimal", "exact")
        assert tree.length == pytest.approx(fresh.length, rel=1e-9)
        assert tree.lower_bound == pytest.approx(fresh.lower_bound, rel=1e-9)
        tree.validate(strict=True)
    assert moves > 5
    assert len(proofs) < moves


def test_onto_corners_and_points_and_back():
    tree = ds.solve(ENDS, obstacles=[WALL])
    places = [[-0.1, 1.0], [0.1, 1.0], [1.0, 0.0], [-1.0, 0.5], [0.1, -1.0], [-0.3, 0.1], [1, 0.5]]
    for place in places:
        tree = tree.with_points(move={0: place})
        fresh = ds.solve([place, *ENDS[1:]], obstacles=[WALL])
        assert tree.length == pytest.approx(fresh.length, rel=1e-12)
        assert tree.status == "optimal"


def test_another_point_begins_anew(proofs):
    tree = ds.solve(*a_map(1)[:1], obstacles=a_map(1)[1])
    tree = tree.with_points(move={3: tree.terminals[3] + 0.01})
    tree = tree.with_points(move={3: tree.terminals[3] + 0.01})
    assert len(proofs) == 1
    tree = tree.with_points(move={4: tree.terminals[4] - 0.01})
    assert len(proofs) == 2
    fresh = ds.solve(tree.terminals, obstacles=a_map(1)[1])
    assert tree.length == pytest.approx(fresh.length, rel=1e-9)


def test_a_point_on_the_rim_may_go_on_outwards(proofs):
    tree = ds.solve(ENDS, obstacles=[WALL])
    for x in (-1.1, -1.2, -1.5, -1.8):
        tree = tree.with_points(move={0: [x, 0.0]})
        fresh = ds.solve(tree.terminals, obstacles=[WALL])
        assert tree.length == pytest.approx(fresh.length, rel=1e-12)
    assert len(proofs) == 1
    tree = tree.with_points(move={0: [-90.0, 0.0]})
    assert len(proofs) == 2
    assert tree.status == "optimal"


def test_what_is_kept_goes_with_its_trees():
    tree = ds.solve(ENDS, obstacles=[WALL])
    assert tree not in dragging._drags
    moved = tree.with_points(move={0: [-1.0, 0.2]})
    assert moved in dragging._drags
    count = len(dragging._drags)
    del moved
    assert len(dragging._drags) < count


def test_limits_are_kept(proofs):
    points, obstacles = a_map(2)
    tree = ds.solve(points, obstacles=obstacles)
    for _ in range(2):
        tree = tree.with_points(move={3: tree.terminals[3] + 0.01})
    place = tree.terminals[3] + 0.01
    cut = dragged(tree, 3, place, Monitor(0.0))
    assert cut.status == "time_limit"
    cut.validate()
    whole = dragged(tree, 3, place)
    assert whole.status == "optimal"
    assert whole.length <= cut.length


def test_too_much_to_keep_is_solved_each_time(monkeypatch, proofs):
    from deepsteiner.fst.enumerate.corners import moving as kept

    monkeypatch.setattr(kept, "MOST", 10)
    points, obstacles = a_map(0)
    tree = ds.solve(points, obstacles=obstacles)
    for _ in range(3):
        tree = tree.with_points(move={3: tree.terminals[3] + 0.01})
        assert tree.status == "optimal"
    assert len(proofs) == 3


def test_trees_that_nothing_is_kept_for():
    assert dragged(ds.solve(ENDS), 0, np.array([0.0, 0.0])) is None
    line = ds.solve(ENDS, existing=[[[0.0, 1.0], [1.0, 1.0]]])
    assert dragged(line, 0, np.array([0.0, 0.0])) is None
    two = ds.solve(ENDS[:2], obstacles=[WALL])
    assert dragged(two, 0, np.array([-1.0, 0.1])) is None
    assert two.with_points(move={0: [-1.0, 0.1]}).status == "optimal"
