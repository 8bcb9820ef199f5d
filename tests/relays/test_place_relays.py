"""`place_relays`: oracles, bounds, obstacles, geography, and what is refused."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import deepsteiner as ds
from deepsteiner.core.errors import OptionError, PointsError, TreeError
from deepsteiner.relays.bounds import _shortest_tree_of_groups, groups_of
from deepsteiner.relays.network import RelayNetwork
from deepsteiner.run.monitor import Monitor


def polygon(corners, radius=1.0):
    turn = 2 * np.pi * np.arange(corners) / corners
    return radius * np.stack((np.cos(turn), np.sin(turn)), axis=1)


@pytest.mark.parametrize("scale", [1.0, 1e-7, 3e8])
def test_pentagon_needs_one_relay(scale):
    network = ds.place_relays(polygon(5, scale), scale)
    assert (network.count, network.lower_bound, network.status) == (1, 1, "optimal")
    assert network.info["from_spanning_tree"] == 4
    assert np.allclose(network.relays, 0.0, atol=1e-9 * scale)


@pytest.mark.parametrize("corners", [3, 4])
def test_a_star_where_the_spanning_tree_needs_more(corners):
    assert ds.place_relays(polygon(corners), 1.0).count == 1


def test_points_given_twice():
    points = np.repeat(np.random.default_rng(0).random((20, 2)), 2, axis=0)
    network = ds.place_relays(points, 0.1)
    assert network.lower_bound == ds.place_relays(points[::2], 0.1).lower_bound
    assert len(network.terminals) == 40


def test_a_line_takes_whole_hops():
    assert ds.place_relays([[0, 0], [0.3, 0]], 0.1).count == 2
    assert ds.place_relays([[0, 0], [10, 0]], 2.5).count == 3
    assert ds.place_relays([[0, 0], [10, 0]], 2.4999).count == 4


@pytest.mark.parametrize("points", [[[1, 2]], [[1, 2], [1, 2]], [[0, 0], [1, 0], [0.5, 0.5]]])
def test_nothing_is_needed_within_the_radius(points):
    network = ds.place_relays(points, 1.0)
    assert (network.count, network.lower_bound, network.gap) == (0, 0, 0.0)
    assert network.status == "optimal"


@pytest.mark.parametrize(("n", "radius", "seed"), [(50, 0.1, 1), (30, 0.02, 2), (80, 0.06, 3)])
def test_never_more_than_cutting_up_either_tree(n, radius, seed):
    points = np.random.default_rng(seed).random((n, 2))
    network = ds.place_relays(points, radius)
    tree, spanning = ds.solve(points), ds.solve(points, "mst")
    cut = [
        len(one.with_max_edge(radius).steiner_points) for one in (tree, spanning)
    ]  # Steiner points are relays
    assert network.count < min(cut)
    assert cut == [network.info["from_shortest_tree"], network.info["from_spanning_tree"]]
    assert 0 < network.lower_bound <= network.count
    assert (network.terminals == points).all()
    assert network.hops.max() <= radius * (1 + 1e-9)
    assert len(network.edges) == n + network.count - 1
    network.validate()


def covered_by(points, radius, places):
    """Twin: whether some `places` connect the points."""
    nodes = np.concatenate((points, np.reshape(places, (-1, 2))))
    apart = np.hypot(*(nodes[:, None] - nodes[None]).transpose(2, 0, 1))
    near = apart <= radius * (1 + 1e-9)
    reached = np.zeros(len(nodes), bool)
    reached[0] = True
    while True:
        more = near[reached].any(axis=0)
        if (more == reached).all():
            return bool(reached.all())
        reached = more


@pytest.mark.parametrize("seed", range(12))
def test_few_relays_against_all_places_of_a_grid(seed):
    """Where places of a fine grid do with one or two relays, no more are placed."""
    rng = np.random.default_rng(seed)
    points = rng.random((6, 2)) * 0.5
    radius = 0.2
    network = ds.place_relays(points, radius)
    side = np.linspace(0, 0.5, 26)
    grid = np.stack(np.meshgrid(side, side), axis=2).reshape(-1, 2)
    if network.count >= 2:
        assert not any(covered_by(points, radius, one) for one in grid)
    if network.count >= 3:
        coarse = grid[::3]
        assert not any(covered_by(points, radius, two) for two in itertools.combinations(coarse, 2))
    assert covered_by(points, radius, network.relays)


@pytest.mark.parametrize("seed", range(8))
def test_shortest_tree_of_groups_against_all_ways_to_join_them(seed):
    """Twin: three or four groups are joined by edges, triples and quadruples of terminals."""
    rng = np.random.default_rng(seed)
    centres = rng.random((4, 2)) * 0.9
    points = np.concatenate([centre + 0.06 * rng.random((2, 2)) for centre in centres])
    edges = ds.solve(points, "mst").edges
    group, between = groups_of(points, edges, 0.09)
    k = len(between) + 1
    if k < 3:
        pytest.skip("the groups happen to touch")
    members = [np.flatnonzero(group == one) for one in range(k)]

    def joining(groups):
        return min(
            ds.solve(points[list(some)], "exact").length
            for some in itertools.product(*(members[one] for one in groups))
        )

    best = np.inf
    subsets = [one for size in range(2, k + 1) for one in itertools.combinations(range(k), size)]
    cost = {one: joining(one) for one in subsets}
    for count in range(1, k):
        for chosen in itertools.combinations(subsets, count):
            if sum(len(one) - 1 for one in chosen) != k - 1:
                continue
            reached = set(chosen[0])
            for _ in chosen:
                for one in chosen:
                    reached |= set(one) if reached & set(one) else set()
            if len(reached) == k:
                best = min(best, sum(cost[one] for one in chosen))
    found = _shortest_tree_of_groups(points, group, between, Monitor())
    assert found == pytest.approx(best, rel=1e-9)


def test_walls_block_radio():
    points = np.array([[0.0, 0.0], [1.0, 0.0]])
    wall = [[0.45, -0.4], [0.55, -0.4], [0.55, 0.4], [0.45, 0.4]]
    assert ds.place_relays(points, 0.5).count == 1
    # One radius from either point, level with the top of the wall: (0.3, 0.4) and (0.7, 0.4).
    blocked = ds.place_relays(points, 0.5, obstacles=[wall])
    assert blocked.count == 2
    assert ds.place_relays(ds.solve(points, obstacles=[wall]), 0.5).count == 2
    assert ds.place_relays(points, 0.5, obstacles=[wall], clearance=0.05).count == 3
    assert len(blocked.solution.obstacles) == 1


def test_many_walls():
    rng = np.random.default_rng(4)
    houses = [
        np.array([[0, 0], [0.1, 0], [0.1, 0.06], [0, 0.06]])
        + np.array([0.2 * i + 0.05, 0.2 * j + 0.07])
        for i in range(5)
        for j in range(5)
    ]
    points = rng.random((200, 2))
    inside = [
        any((house[0] <= p).all() and (p <= house[2]).all() for house in houses) for p in points
    ]
    points = points[~np.array(inside)][:40]
    tree = ds.solve(points, "mst", obstacles=houses)
    network = ds.place_relays(tree, 0.12, effort="fast")
    assert network.count < len(tree.with_max_edge(0.12).steiner_points) + len(tree.bends)
    assert len(network.solution.obstacles) == 25


def test_longitudes_and_latitudes():
    pytest.importorskip("pyproj")
    masts = np.array([[8.0, 50.0], [8.1, 50.0], [8.0, 50.08], [8.12, 50.09]])
    network = ds.place_relays(masts, 2500.0, crs="EPSG:4326")
    assert 0 < network.count < 15
    assert 0.99 * 2500 < network.radius * 1.0 <= 2500
    assert network.solution.crs == "EPSG:4326"
    assert network.hops.max() <= 2500 * (1 + 1e-6)
    assert {f["properties"]["kind"] for f in network.to_geojson()["features"]} == {
        "terminal", "relay", "edge",
    }  # fmt: skip


def test_same_seed_same_network():
    points = np.random.default_rng(0).random((40, 2))
    one, two, other = (ds.place_relays(points, 0.08, seed=seed).relays for seed in (1, 1, 2))
    assert np.array_equal(one, two)
    assert not np.array_equal(one, other)


def test_limits_and_stopping():
    points = np.random.default_rng(0).random((60, 2))
    cut = ds.place_relays(points, 0.05, time_limit=0.0)
    assert cut.status == "time_limit"
    told = []

    def stop(progress):
        told.append(progress)
        return len(told) < 4

    assert ds.place_relays(points, 0.05, on_progress=stop).status == "interrupted"
    seen = []
    network = ds.place_relays(points, 0.05, effort="fast", on_progress=seen.append)
    assert seen[-1].length == network.count
    assert seen[-1].lower_bound == network.lower_bound


@pytest.mark.parametrize("radius", [0, -1, math.nan, math.inf, "far", None, True])
def test_a_radius_is_a_positive_length(radius):
    with pytest.raises(OptionError, match="radius must be a length greater than 0"):
        ds.place_relays([[0, 0], [1, 0]], radius)


def test_what_else_is_refused():
    square = [[0, 0], [1, 0], [1, 1], [0, 1]]
    with pytest.raises(OptionError, match="at most 10000000 are placed"):
        ds.place_relays(square, 1e-9)
    with pytest.raises(OptionError, match="effort must be one of fast, default, best"):
        ds.place_relays(square, 1, effort="huge")
    with pytest.raises(OptionError, match="seed"):
        ds.place_relays(square, 1, seed=-1)
    with pytest.raises(PointsError):
        ds.place_relays([[0, math.nan]], 1)
    with pytest.raises(OptionError, match="a Solution has its own"):
        ds.place_relays(ds.solve(square), 1, crs="EPSG:4326")


def test_a_wrong_network_does_not_validate():
    network = ds.place_relays([[0, 0], [10, 0]], 3)
    with pytest.raises(TreeError, match=r"the radius is 2\.0"):
        RelayNetwork(network.solution, 2.0, 0, "feasible", 0.0, {}).validate()
    with pytest.raises(TreeError, match="fewer than the lower bound"):
        RelayNetwork(network.solution, 3.0, 9, "feasible", 0.0, {}).validate()


def test_written_and_read_again(tmp_path):
    network = ds.place_relays(polygon(5), 1.0)
    for suffix in ("json", "geojson", "csv"):
        network.save(tmp_path / f"network.{suffix}")
        found = ds.Solution.load(tmp_path / f"network.{suffix}")
        assert found.info["relays"] == 1
        assert np.array_equal(found.steiner_points, network.relays)
    network.save(tmp_path / "network.svg")
    assert "fewest relays" not in repr(network)
    assert (tmp_path / "network.svg").read_text().startswith("<?xml")
    assert network.plot().get_title(loc="left") == "1 fewest relays, radius 1"
    assert network.to_dict()["relay_bound"] == 1
    assert "<svg" in network._repr_svg_()
