"""`Solution.with_points` and `with_obstacles`: valid, near a fresh solve, and local."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import deepsteiner as ds
from deepsteiner.core.errors import ObstacleError, OptionError, PointsError
from deepsteiner.edits import _region_tree

N = 150


@pytest.fixture(scope="module")
def tree():
    return ds.solve(np.random.default_rng(3).random((N, 2)))


def edges_between(solution):
    """The places of every edge, as a set."""
    nodes = solution.coordinates
    return {frozenset(map(tuple, nodes[edge].tolist())) for edge in solution.edges}


@pytest.mark.parametrize(
    "change",
    [
        {"move": {7: [0.31, 0.62]}},
        {"move": {7: [3.0, 3.0], 90: [0.5, 0.5]}},
        {"add": [[0.2, 0.9]]},
        {"add": [[0.2, 0.9], [0.8, 0.1], [0.81, 0.1]]},
        {"remove": [0]},
        {"remove": [5, 5, 60, 149]},
        {"add": [[0.5, 0.5]], "move": {3: [0.1, 0.1]}, "remove": [4]},
        {"move": {7: [0.3, 0.3], 8: [0.3, 0.3]}},
    ],
)
def test_edits_are_nearly_as_good_as_a_fresh_solve(tree, change):
    edited = tree.with_points(**change).validate(strict=True)
    expected = tree.terminals.copy()
    for index, place in change.get("move", {}).items():
        expected[index] = place
    expected = np.delete(expected, change.get("remove", []), axis=0)
    expected = np.concatenate((expected, np.reshape(change.get("add", []), (-1, 2))))
    assert np.array_equal(edited.terminals, expected)
    fresh = ds.solve(expected, "exact")
    assert fresh.length * (1 - 1e-9) <= edited.length <= fresh.length * 1.0005
    assert (edited.status, edited.lower_bound) == ("feasible", None)
    assert edited.method.endswith("+edit")


def test_only_what_is_near_changes(tree):
    edited = tree.with_points(move={7: tree.terminals[7] + 0.01})
    gone = edges_between(tree) - edges_between(edited)
    far = [np.hypot(*(np.array(list(edge)) - tree.terminals[7]).T).min() for edge in gone]
    assert gone
    assert max(far) < 0.45
    assert edited.info["solved_again"] < N


def test_edits_of_edits(tree):
    rng = np.random.default_rng(0)
    current = tree
    for _ in range(12):
        current = current.with_points(move={int(rng.integers(N)): rng.random(2)})
    fresh = ds.solve(current.terminals, "exact")
    assert current.length <= fresh.length * 1.001
    assert current.info["edits"] == 12
    assert current.method == f"{tree.method}+edit"


def test_points_that_coincide(tree):
    edited = tree.with_points(add=[tree.terminals[3], tree.terminals[3]])
    assert edited.length == pytest.approx(tree.length, rel=1e-9)
    assert len(edited.with_points(remove=[3]).terminals) == N + 1


def test_few_points_are_solved_again_with_proof():
    square = ds.solve([[0, 0], [1, 0], [1, 1], [0, 1]])
    assert square.with_points(remove=[0]).status == "optimal"
    assert square.with_points(remove=[0, 1, 2]).length == 0.0
    assert square.with_points() is square


@pytest.mark.parametrize("seed", range(6))
def test_regions_against_all_ways_to_join_groups(seed):
    """Twin: four points in three groups are joined by a triple, or by two pairs."""
    rng = np.random.default_rng(seed)
    points, group = rng.random((4, 2)), np.array([0, 1, 0, 2])
    steiner, edges = _region_tree(points, group)
    nodes = np.concatenate((points, steiner))
    length = np.hypot(*(nodes[edges[:, 0]] - nodes[edges[:, 1]]).T).sum()

    def shortest(*groups):
        members = [np.flatnonzero(group == one) for one in groups]
        return min(
            ds.solve(points[list(some)], "exact").length for some in itertools.product(*members)
        )

    pairs = [shortest(0, 1), shortest(0, 2), shortest(1, 2)]
    assert length == pytest.approx(min(shortest(0, 1, 2), sum(pairs) - max(pairs)), rel=1e-9)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"remove": [150]}, "remove must name points by 0 to 149, got 150"),
        ({"remove": [-1]}, "remove must name points"),
        ({"remove": [1.5]}, "remove must name points"),
        ({"remove": ["a"]}, "remove must name points"),
        ({"move": {150: [0, 0]}}, "move must name points by 0 to 149, got 150"),
        ({"move": [[0, 0]]}, "move maps an index to a place, got list"),
        ({"move": {1: [0, 0]}, "remove": [1]}, "point 1 is both moved and removed"),
        ({"remove": range(150)}, "remove leaves no point"),
    ],
)
def test_changes_that_are_refused(tree, change, words):
    with pytest.raises(OptionError, match=words):
        tree.with_points(**change)


def test_places_that_are_refused(tree):
    with pytest.raises(PointsError, match="move"):
        tree.with_points(move={1: [0, np.nan]})
    with pytest.raises(PointsError, match="add"):
        tree.with_points(add=[[1, 2, 3]])
    with pytest.raises(OptionError, match="the tree has relays"):
        tree.with_max_edge(0.05).with_points(remove=[1])


def test_longitudes_and_latitudes():
    pytest.importorskip("pyproj")
    rng = np.random.default_rng(1)
    points = np.array([8.0, 50.0]) + 0.5 * rng.random((90, 2))
    tree = ds.solve(points, crs="EPSG:4326")
    moved = tree.with_points(move={4: [8.2, 50.2]})
    assert moved.crs == "EPSG:4326"
    assert moved.plane_crs == tree.plane_crs
    assert (moved.terminals[4] == [8.2, 50.2]).all()
    assert abs(moved.length / tree.length - 1) < 0.05


HOUSES = [
    np.array([[0, 0], [0.1, 0], [0.1, 0.1], [0, 0.1]]) + np.array([x, y])
    for x in (0.2, 0.7)
    for y in (0.2, 0.7)
]

WALL = [[0.45, 0.1], [0.5, 0.1], [0.5, 0.9], [0.45, 0.9]]


@pytest.fixture(scope="module")
def around():
    points = np.random.default_rng(5).random((110, 2))
    free = ~np.any([((h[0] < points) & (points < h[2])).all(axis=1) for h in HOUSES], axis=0)
    free &= ~((WALL[0] < points) & (points < WALL[2])).all(axis=1)
    return ds.solve(points[free][:80], "mst", obstacles=HOUSES)


def test_points_move_around_obstacles(around):
    moved = around.with_points(move={2: [0.5, 0.5]}, add=[[0.25, 0.15]], remove=[9])
    assert len(moved.obstacles) == 4
    assert len(moved.terminals) == 80
    assert moved.length < around.length * 1.05
    with pytest.raises(ObstacleError, match=r"point 2 at \(0.25, 0.25\) is inside an obstacle"):
        around.with_points(move={2: [0.25, 0.25]})
    inside = around.terminals[3] + [[-0.01, -0.01], [0.01, -0.01], [0, 0.01]]
    with pytest.raises(ObstacleError, match="point 3 at"):
        around.with_obstacles([inside])
    with pytest.raises(OptionError, match="clearance"):
        around.with_obstacles([WALL], clearance=-1)


def test_obstacles_come_and_go(around):
    more = around.with_obstacles([*HOUSES, WALL])
    assert len(more.obstacles) == 5
    kept = edges_between(around) & edges_between(more)
    assert len(kept) > 20
    fewer = more.with_obstacles(HOUSES[:1])
    assert len(fewer.obstacles) == 1
    assert fewer.length <= more.length
    assert len(fewer.with_obstacles(None).obstacles) == 0
