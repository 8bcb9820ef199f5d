"""Maps that nobody draws on purpose, and what must not change when a map is moved.

Every tree that `solve` hands out was checked against the obstacles by shapely; here it must also
be no longer than a spanning tree around them, and no shorter than the proven one.
"""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import deepsteiner as ds

shapely = pytest.importorskip("shapely")


def odd_map(seed: int) -> tuple[np.ndarray, list]:
    """Slivers, boxes that touch, share walls and nest, collinear corners; terminals on them."""
    random = np.random.default_rng(seed)
    lattice = np.arange(-4, 5) / 4
    shapes = []
    for _ in range(int(random.integers(1, 4))):
        kind = random.integers(5)
        x, y = random.choice(lattice, 2)
        w, h = random.choice([0.25, 0.5, 0.75], 2)
        if kind == 0:
            shapes.append(shapely.box(x, y, x + w, y + h))
        elif kind == 1:  # a sliver
            shapes.append(shapely.box(x, y, x + w, y + random.choice([1e-14, 1e-11, 1e-8, 1e-4])))
        elif kind == 2:  # collinear corners
            shapes.append(shapely.Polygon([(x, y), (x + w / 2, y), (x + w, y), (x + w, y + h)]))
        elif kind == 3:  # nested, sharing a corner
            shapes += [shapely.box(x, y, x + w, y + h), shapely.box(x, y, x + w / 2, y + h / 2)]
        else:  # two that touch in a point
            shapes += [shapely.box(x, y, x + w, y + h), shapely.box(x + w, y + h, x + 1, y + 1)]
    whole = shapely.union_all(shapes)
    corners = shapely.get_coordinates(whole)
    middles = (corners[1:] + corners[:-1]) / 2
    points = np.concatenate((
        random.permutation(corners)[: random.integers(0, 3)],
        random.permutation(middles)[: random.integers(0, 2)],
        random.choice(lattice, (3, 2)) + random.choice([0.0, 1e-13, 0.1]),
    ))  # fmt: skip
    outside = ~shapely.contains_properly(shapely.buffer(whole, -1e-12), shapely.points(points))
    return points[outside], shapes


@pytest.mark.parametrize("seed", [*range(60), 274])
def test_odd_maps(seed):
    points, shapes = odd_map(seed)
    if len(points) < 2:
        return
    try:
        exact = ds.solve(points, "exact", obstacles=shapes, time_limit=10.0)
    except ds.errors.ObstacleError as error:
        assert "cut off" in str(error) or "inside" in str(error)  # noqa: PT017
        return
    spanning = ds.solve(points, "mst", obstacles=shapes)
    local = ds.solve(points, "local", obstacles=shapes)
    free = ds.solve(points, "exact")
    assert exact.status in ("optimal", "time_limit")
    assert (exact.lower_bound or 0.0) <= exact.length * (1 + 1e-9)
    assert exact.length >= free.length * (1 - 1e-9)
    for other in (spanning, local):
        assert other.length >= (exact.lower_bound or 0.0) * (1 - 1e-9)
    if exact.status == "optimal":
        assert exact.length <= min(spanning.length, local.length) * (1 + 1e-9)


def test_a_hole_that_no_terminal_is_in():
    """The tree without obstacles has its Steiner point there; no way leads to it."""
    angle = np.arange(3) * 2 * np.pi / 3
    points = np.c_[np.cos(angle), np.sin(angle)]
    ring = shapely.Point(0, 0).buffer(0.5, quad_segs=2) - shapely.Point(0, 0).buffer(0.3)
    whole = shapely.Point(0, 0).buffer(0.5, quad_segs=2)
    for method in ("mst", "local", "exact"):
        one = ds.solve(points, method, obstacles=ring)
        assert one.length == pytest.approx(ds.solve(points, method, obstacles=whole).length)
        assert one.length > 3.0


@settings(max_examples=12, deadline=None)
@given(st.integers(0, 10_000), st.floats(0, 6.28), st.sampled_from([1e-6, 1.0, 3e5]))
def test_a_map_may_be_turned_scaled_and_moved(seed, angle, scale):
    random = np.random.default_rng(seed)
    points = random.random((4, 2)) * [1, 0.3]
    obstacle = np.array([[0.4, 0.4], [0.5, 0.9], [0.6, 0.4]])
    points[2:, 1] += 0.9
    turn = scale * np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
    one = ds.solve(points, "exact", obstacles=[obstacle])
    two = ds.solve(points @ turn + scale, "exact", obstacles=[obstacle @ turn + scale])
    assert one.status == two.status == "optimal"
    assert two.length == pytest.approx(scale * one.length, rel=1e-9)
    more = ds.solve(points, "exact", obstacles=[obstacle, [[0.2, 0.5], [0.3, 0.5], [0.2, 0.7]]])
    assert more.length >= one.length * (1 - 1e-9)


def test_the_command_line_takes_obstacles(tmp_path):
    (tmp_path / "sites.csv").write_text("x,y\n0,0\n1,0\n0.5,1\n")
    lake = shapely.geometry.mapping(shapely.box(0.3, -0.2, 0.7, 0.6))
    (tmp_path / "lakes.geojson").write_text(json.dumps(lake))
    (tmp_path / "bad.geojson").write_text("[1, 2]")
    command = [sys.executable, "-m", "deepsteiner", "solve", "sites.csv", "--obstacles"]

    def run(*more: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*command, *more], capture_output=True, text=True, cwd=tmp_path, check=False
        )

    done = run("lakes.geojson", "--clearance", "0.05", "-m", "mst", "--json")
    assert done.returncode == 0, done.stderr
    solved = json.loads(done.stdout)
    assert len(solved["obstacles"]) == 1
    assert len(solved["bends"]) >= 1
    bad = run("bad.geojson", "-m", "mst")
    assert (bad.returncode, len(bad.stderr.strip().splitlines())) == (2, 1)
    wrong = run("lakes.geojson", "-m", "greedy")
    assert wrong.returncode == 2
    assert "does not take obstacles" in wrong.stderr


@pytest.mark.parametrize("seed", [179, 220])
def test_points_that_cells_leave_apart_are_joined(seed):
    """Maps on which the cells of the triangulation did not reach all points."""
    benchmark = pytest.importorskip("benchmarks.fuzz_maps")
    points, shapes = benchmark.odd_map(seed)
    spanning = ds.solve(points, "mst", obstacles=shapes)
    shortest = ds.solve(points, "exact", obstacles=shapes)
    assert shortest.status == "optimal"
    assert shortest.length <= spanning.length
