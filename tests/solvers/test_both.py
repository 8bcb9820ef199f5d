"""Obstacles and existing networks together: known lengths, a grid twin, limits, files."""

from __future__ import annotations

import itertools
import json
import math
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import deepsteiner as ds

shapely = pytest.importorskip("shapely")
pytest.importorskip("pythoncdt")
METHODS = ("exact", "local", "mst", "auto")
SLACK = 1 + 1e-8


def instance(seed: int, n: int = 6, count: int = 4, lines: int = 3):
    """Return points, triangles that they are outside of, and lines, the last one optional."""
    random = np.random.default_rng(seed)
    turns = np.sort(random.random((count, 3)), axis=1) * 2 * np.pi
    rings = random.random((count, 1, 2)) + 0.15 * np.stack((np.cos(turns), np.sin(turns)), axis=-1)
    shapes = [shapely.Polygon(ring) for ring in rings]
    points = random.random((5 * n, 2))
    outside = ~shapely.intersects(shapely.union_all(shapes), shapely.points(points))
    tails = random.random((lines, 2))
    network = list(np.stack((tails, tails + 0.2 * random.normal(size=(lines, 2))), axis=1))
    return points[outside][:n], shapes, [*network[:-1], (network[-1], "optional")]


@pytest.mark.parametrize("method", METHODS)
def test_over_the_wall_and_straight_down(method):
    """The shortest way to the line bends at an end of the wall and meets the line square."""
    wall = shapely.box(-1, 1, 1, 1 + 1e-7)
    solution = ds.solve([[0, 2]], method, existing=[[[-9, 0], [9, 0]]], obstacles=[wall])
    assert solution.length == pytest.approx(math.sqrt(2) + 1, abs=1e-7)
    assert np.abs(solution.joints).round(9).tolist() == [[1.0, 0.0]]
    assert len(solution.bends) == 1
    solution.validate(strict=True)
    if method in ("exact", "auto"):
        assert solution.status == "optimal"


@pytest.mark.parametrize("method", METHODS)
def test_a_line_ends_where_it_enters_an_obstacle(method):
    """The line runs through the pond: it is joined where it enters, at less than a right angle."""
    pond = shapely.box(-1, -1, 1, 1)
    solution = ds.solve([[0, 2]], method, existing=[[[-9, 0], [9, 0]]], obstacles=[pond])
    # To a corner of the pond, and down its side to the line.
    assert solution.length == pytest.approx(math.sqrt(2) + 1)
    solution.validate(strict=True)


@pytest.mark.parametrize("method", METHODS)
def test_a_tunnel_joins_what_obstacles_keep_apart(method):
    yard = shapely.box(-2, -2, 2, 2) - shapely.box(-1, -1, 1, 1)
    points, tunnel = [[0, 0.5], [4, 1], [5, 1]], [[-0.5, 0], [5, 0]]
    with pytest.raises(ds.errors.ObstacleError, match="cut off"):
        ds.solve(points, method, obstacles=[yard])
    solution = ds.solve(points, method, obstacles=[yard], existing=[tunnel])
    free = ds.solve(points[1:], method, existing=[tunnel])
    assert solution.length == pytest.approx(0.5 + free.length)
    optional = ds.solve(points, method, obstacles=[yard], existing=([tunnel], "optional"))
    assert optional.length == pytest.approx(solution.length)


def test_what_cannot_be_reached_is_said():
    pond = shapely.box(0, 0, 2, 2)
    inside = [[0.5, 0.5], [1.5, 1.5]]
    with pytest.raises(ds.errors.ObstacleError, match="part 0 of the existing network is cut off"):
        ds.solve([[3, 3], [4, 3]], existing=[inside], obstacles=[pond])
    spared = ds.solve([[3, 3], [4, 3]], existing=([inside], "optional"), obstacles=[pond])
    assert spared.length == pytest.approx(1.0)
    with pytest.raises(ds.errors.ObstacleError, match="is inside an obstacle"):
        ds.solve([[1, 1], [4, 3]], existing=[inside], obstacles=[pond])
    with pytest.raises(ds.errors.OptionError, match="soft regions and an existing network"):
        ds.solve([[3, 3]], "local", existing=[inside], obstacles=[(pond, 2.0)])
    with pytest.raises(ds.errors.OptionError, match="junction_cost goes with neither"):
        ds.solve(
            [[3, 3]], "local", existing=(inside, "optional"), obstacles=[pond], junction_cost=1.0
        )


@pytest.mark.parametrize("seed", range(6))
def test_what_is_far_away_changes_nothing(seed):
    points, shapes, lines = instance(seed)
    far = [shapely.box(70, 70, 71, 71)]
    away = ([[[50, 50], [51, 50]]], "optional")
    for method in ("exact", "local", "mst"):
        alone = ds.solve(points, method, existing=lines).length
        both = ds.solve(points, method, existing=lines, obstacles=far).length
        assert both == pytest.approx(alone, rel=1e-9)
    alone = ds.solve(points, "exact", obstacles=shapes).length
    both = ds.solve(points, "exact", obstacles=shapes, existing=away)
    assert both.status == "optimal"
    assert both.length == pytest.approx(alone, rel=1e-9)


def grid_length(points, shapes, lines, step: float) -> float:
    """The shortest tree in a graph: a grid, points, corners and places along lines.

    Dreyfus and Wagner's programme; a line is a node at no distance from places along it.
    """
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import dijkstra

    pairs = [one if isinstance(one, tuple) else (one, "") for one in lines]
    drawn = [shapely.LineString(line) for line, _ in pairs]
    union = shapely.union_all(shapes)
    axis = np.arange(-0.3, 1.31, step)
    grid = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
    along = [shapely.get_coordinates(shapely.segmentize(line, step / 4)) for line in drawn]
    nodes = np.concatenate((points, shapely.get_coordinates(union), grid, *along))
    nodes = nodes[~shapely.contains_properly(union, shapely.points(nodes))]
    rows, columns = np.triu_indices(len(nodes), 1)
    lengths = np.hypot(*(nodes[rows] - nodes[columns]).T)
    near = (lengths < 5 * step) & (lengths > 0)
    rows, columns, lengths = rows[near], columns[near], lengths[near]
    free = ~shapely.intersects(
        shapely.buffer(union, -1e-9),
        shapely.linestrings(np.stack((nodes[rows], nodes[columns]), 1)),
    )
    rows, columns, lengths = rows[free], columns[free], lengths[free]
    size, ends = len(nodes), list(range(len(points)))
    for line, (_, word) in zip(drawn, pairs, strict=True):
        on = np.flatnonzero(shapely.distance(line, shapely.points(nodes)) < 1e-9)
        rows, columns = np.append(rows, on), np.append(columns, np.full(len(on), size))
        lengths = np.append(lengths, np.full(len(on), 1e-12))
        ends += [] if word else [size]
        size += 1
    graph = csr_array((lengths, (rows, columns)), shape=(size, size))
    cost = {1 << k: dijkstra(graph, directed=False, indices=v) for k, v in enumerate(ends)}
    for subset in range(1, 1 << len(ends)):
        if subset in cost:
            continue
        best = np.full(size, np.inf)
        part = (subset - 1) & subset
        while part:
            best = np.minimum(best, cost[part] + cost[subset ^ part])
            part = (part - 1) & subset
        reached = np.flatnonzero(np.isfinite(best))
        start = csr_array(
            (np.append(lengths, best[reached]),
             (np.append(rows, np.full(len(reached), size)), np.append(columns, reached))),
            shape=(size + 1, size + 1),
        )  # fmt: skip
        cost[subset] = dijkstra(start, directed=False, indices=size)[:size]
    return float(cost[(1 << len(ends)) - 1][ends[0]])


@pytest.mark.parametrize("seed", range(8))
def test_no_tree_on_a_grid_is_shorter(seed):
    points, shapes, lines = instance(seed, n=2, count=4, lines=2)
    exact = ds.solve(points, "exact", existing=lines, obstacles=shapes)
    assert exact.status == "optimal"
    on_grid = grid_length(points, shapes, lines, 0.1)
    assert exact.length <= on_grid * SLACK
    assert on_grid <= 1.08 * exact.length + 1e-9


def test_every_set_of_corners():
    """With any corners as further points and the network, obstacles left out: what crosses none.

    The shortest of these trees is nearly always the shortest of all, and never shorter.
    """
    same = 0
    for seed in range(12):
        points, shapes, lines = instance(seed, n=3, count=2, lines=2)
        union = shapely.union_all(shapes)
        exact = ds.solve(points, "exact", existing=lines, obstacles=shapes)
        assert exact.status == "optimal"
        best = np.inf
        corners = shapely.get_coordinates(union.boundary)[:7]
        for size in range(4):
            for some in itertools.combinations(corners, size):
                nodes = np.concatenate((points, np.array(some).reshape(-1, 2)))
                tree = ds.solve(nodes, "exact", existing=lines)
                crossing = shapely.intersects(
                    shapely.buffer(union, -1e-9), shapely.linestrings(tree.coordinates[tree.edges])
                )
                best = best if crossing.any() else min(best, tree.length)
        assert exact.length <= best * SLACK
        same += best <= exact.length * SLACK
    assert same >= 9


@settings(max_examples=12, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 8))
def test_valid_and_in_order(seed, n):
    """Every method is valid; the proven tree is no longer, the spanning tree no shorter."""
    points, shapes, lines = instance(seed, n)
    found = {}
    try:
        for method in ("mst", "local", "exact"):
            found[method] = ds.solve(points, method, existing=lines, obstacles=shapes)
    except ds.errors.ObstacleError:
        assert not found
        return
    exact = found["exact"].validate(strict=True)
    local = found["local"].validate(strict=True)
    assert exact.status == "optimal"
    assert exact.length <= local.length * SLACK
    assert local.length <= found["mst"].length * SLACK
    assert found["mst"].length >= exact.lower_bound / SLACK


@settings(max_examples=8, deadline=None)
@given(st.integers(0, 10_000))
def test_obstacles_never_shorten_and_optional_lines_never_lengthen(seed):
    points, shapes, lines = instance(seed, 5)
    spare = ([one[0] if isinstance(one, tuple) else one for one in lines], "optional")
    try:
        base = ds.solve(points, "exact", existing=lines, obstacles=shapes)
        more = ds.solve(points, "exact", existing=spare, obstacles=shapes)
        less = ds.solve(points, "exact", existing=lines, obstacles=shapes[1:])
        none = ds.solve(points, "exact", obstacles=shapes)
    except ds.errors.ObstacleError:
        return
    assert base.length >= less.length / SLACK
    assert base.length >= more.length / SLACK
    assert none.length >= more.length / SLACK


@settings(max_examples=6, deadline=None)
@given(st.integers(0, 10_000), st.floats(0, 6.28), st.sampled_from([1e-6, 1.0, 3e5]))
def test_a_map_may_be_turned_scaled_and_moved(seed, angle, scale):
    points, shapes, lines = instance(seed, 4)
    turn = scale * np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])

    def moved(one):
        if isinstance(one, tuple):
            return moved(one[0]), one[1]
        if hasattr(one, "geom_type"):
            return shapely.transform(one, moved)
        return np.asarray(one) @ turn + scale

    try:
        one = ds.solve(points, "exact", existing=lines, obstacles=shapes)
    except ds.errors.ObstacleError:
        return
    two = ds.solve(
        moved(points), "exact", existing=list(map(moved, lines)), obstacles=list(map(moved, shapes))
    )
    assert one.status == two.status == "optimal"
    assert two.length == pytest.approx(scale * one.length, rel=1e-8)


def test_many_points():
    """Beyond what is proven: valid, and better than the spanning tree."""
    town = ds.datasets.generate_map("convex", 250, obstacles=40, cover=0.2, seed=3)
    lines = [[[0.1, 0.5], [0.9, 0.55]], ([[0.3, 0.1], [0.3, 0.4]], "optional")]
    spanning = ds.solve(town.points, "mst", obstacles=town.obstacles, existing=lines)
    solution = ds.solve(
        town.points, "local", obstacles=town.obstacles, existing=lines, effort="fast"
    )
    assert solution.validate(strict=True).length < 0.985 * spanning.length


@pytest.mark.parametrize("method", METHODS)
def test_stopped_at_any_report(method):
    points, shapes, lines = instance(5, 12, 8, 4)
    spanning = ds.solve(points, "mst", existing=lines, obstacles=shapes).length
    for last in (1, 2, 5, 20, 100, 400):
        left = [last]

        def go_on(progress, left=left):
            left[0] -= 1
            return left[0] > 0

        stopped = ds.solve(points, method, existing=lines, obstacles=shapes, on_progress=go_on)
        assert stopped.length <= spanning * SLACK
        assert (stopped.lower_bound or 0.0) <= stopped.length * SLACK


def test_reports_and_traces():
    points, shapes, lines = instance(5, 10, 8, 4)
    seen = []
    solution = ds.solve(
        points, "exact", existing=lines, obstacles=shapes, on_progress=seen.append, trace=True
    )
    assert seen[-1].length == pytest.approx(solution.length)
    assert all(one.lower_bound <= solution.length * SLACK for one in seen if one.lower_bound)
    assert all(one.length >= solution.length / SLACK for one in seen if one.length is not None)
    bounds = [one["bound"] for one in solution.info["trace"]]
    assert bounds == sorted(bounds)
    json.dumps(solution.info)
    timed = ds.solve(points, "exact", existing=lines, obstacles=shapes, time_limit=0.0)
    assert timed.status == "time_limit"
    steps = ds.solve(points, "local", existing=lines, obstacles=shapes, trace=True).info["trace"]
    lengths = [one["length"] for one in steps]
    assert lengths == sorted(lengths, reverse=True)


@pytest.mark.parametrize("suffix", ["json", "geojson", "csv"])
def test_files_and_pictures_keep_both(tmp_path, suffix):
    wall = shapely.box(-1, 1, 1, 1.1)
    solution = ds.solve([[0, 2], [3, 1]], existing=[[[-9, 0], [9, 0]]], obstacles=[wall])
    solution.save(tmp_path / f"tree.{suffix}")
    again = ds.Solution.load(tmp_path / f"tree.{suffix}").validate(strict=True)
    assert (again.coordinates == solution.coordinates).all()
    assert (again.edges == solution.edges).all()
    assert len(again.obstacles) == len(again.existing) == len(again.bends) == 1
    assert len(again.joints) == 2
    for picture in ("svg", "png"):
        solution.save(tmp_path / f"tree.{picture}")
    drawn = (tmp_path / "tree.svg").read_text()
    assert "joint" in drawn
    assert "bend" in drawn
    relayed = solution.with_max_edge(0.5).validate(strict=True)
    assert len(relayed.joints) == 2
    kinds = [data["kind"] for _, data in solution.to_networkx().nodes(data=True)]
    assert kinds.count("joint") == 2
    assert kinds.count("bend") == 1


def test_a_tree_through_the_wall_or_off_the_line_is_refused():
    from dataclasses import replace

    wall = shapely.box(-1, 1, 1, 1.1)
    bare = ds.solve([[0, 2]], existing=[[[-9, 0], [9, 0]]])
    solution = ds.solve([[0, 2]], existing=[[[-9, 0], [9, 0]]], obstacles=[wall])
    with pytest.raises(ds.errors.TreeError, match="goes through obstacle 0"):
        replace(bare, obstacles=solution.obstacles).validate()
    with pytest.raises(ds.errors.TreeError, match="not on the existing network"):
        replace(solution, joints=solution.joints + 0.01).validate()
    farther = replace(solution, joints=solution.joints + np.array([0.5, 0.0]))
    farther = replace(farther, length=float(farther.edge_lengths().sum()), lower_bound=None)
    farther.validate()
    with pytest.raises(ds.errors.TreeError, match="farther than it has to"):
        farther.validate(strict=True)


def test_longitudes_and_latitudes():
    pytest.importorskip("pyproj")
    points, shapes, lines = instance(3)
    into = lambda place: [13.3, 52.5] + np.asarray(place) / 10  # noqa: E731
    solution = ds.solve(
        into(points),
        "exact",
        existing=[(into(one[0]), one[1]) if isinstance(one, tuple) else into(one) for one in lines],
        obstacles=[shapely.transform(one, into) for one in shapes],
        crs="EPSG:4326",
        clearance=10.0,
    )
    assert solution.status == "optimal"
    assert 100 < solution.validate(strict=True).length < 100_000


def test_the_command_line(tmp_path):
    (tmp_path / "sites.csv").write_text("x,y\n0,2\n3,1\n")
    line = {"type": "LineString", "coordinates": [[-9, 0], [9, 0]]}
    pond = {"type": "Polygon", "coordinates": [[[-1, 1], [1, 1], [1, 1.1], [-1, 1.1], [-1, 1]]]}
    (tmp_path / "pipes.geojson").write_text(json.dumps(line))
    (tmp_path / "ponds.geojson").write_text(json.dumps(pond))

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "deepsteiner", *words]
        return subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)

    both = ("--existing", "pipes.geojson", "--obstacles", "ponds.geojson")
    done = run("solve", "sites.csv", *both, "-m", "mst", "-O", "tree.geojson")
    assert done.returncode == 0, done.stderr
    good = run("verify", "tree.geojson", "--existing", "pipes.geojson", "--strict")
    assert good.returncode == 0, good.stderr
    assert "joints on the existing network, around 1 obstacle" in good.stdout
