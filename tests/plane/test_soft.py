"""Soft regions: what crossing them costs, and what trees through them must satisfy."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import deepsteiner as ds

shapely = pytest.importorskip("shapely")
pytest.importorskip("pythoncdt")

from deepsteiner.core.points import Frame  # noqa: E402
from deepsteiner.core.surroundings.obstacles import weighted_lengths  # noqa: E402
from deepsteiner.plane import soft_kernels as kernels  # noqa: E402
from deepsteiner.plane.plane import Plane, as_complex, as_pairs  # noqa: E402
from deepsteiner.plane.soft import Soft  # noqa: E402

BOX = shapely.box(0.3, -0.2, 0.7, 0.6)
POINTS = [[0, 0], [1, 0], [0.5, 1]]
FRAME = Frame(np.zeros(2), 0)


def three_regions(seed: int) -> Soft:
    random = np.random.default_rng(seed)
    shapes = [
        (shapely.Polygon(random.uniform(-1, 1, (3, 2))), float(weight))
        for weight in random.choice([1.2, 1.5, 3.0], 3)
    ]
    shapes.append((shapely.box(-0.5, -0.5, 0.0, 0.0), 2.0))
    shapes.append((shapely.box(0.0, -0.5, 0.5, 0.0), 1.5))  # they share a wall
    return Soft.of(shapes, Plane((), FRAME), FRAME)


@pytest.mark.parametrize("seed", range(4))
def test_costs_are_what_shapely_weighs(seed):
    """`edge_costs`, `pair_costs` and `weight_at` through random and shared walls."""
    soft = three_regions(seed)
    random = np.random.default_rng(seed + 100)
    nodes = np.concatenate((random.uniform(-1, 1, (30, 2)), [[0.0, -0.4], [0.0, -0.1]]))
    pairs = np.array([(i, j) for i in range(len(nodes)) for j in range(i)])
    expected = weighted_lengths(nodes, pairs, soft.outlines(np.asarray), soft.weights, np.asarray)
    found = soft.costs(nodes, pairs)
    np.testing.assert_allclose(found, expected, atol=1e-7)
    assert (kernels.edge_costs(soft.ground, as_complex(nodes), pairs) == found).all()
    table = kernels.pair_costs(soft.ground, as_complex(nodes), as_complex(nodes))
    np.testing.assert_allclose(table[pairs[:, 0], pairs[:, 1]], found, atol=1e-12)
    for place in nodes[:30]:
        within = [w for face, w in soft.faces if face.contains(shapely.Point(place))]
        assert kernels.weight_at(soft.ground, complex(*place)) == max(within, default=1.0)


def test_along_a_shared_wall_the_cheaper_side_counts():
    shapes = [(shapely.box(0, 0, 1, 1), 3.0), (shapely.box(1, 0, 2, 1), 1.5)]
    soft = Soft.of(shapes, Plane((), FRAME), FRAME)
    nodes = np.array([[1.0, 0.0], [1.0, 1.0], [0.0, 0.0], [0.0, 1.0]])
    np.testing.assert_allclose(soft.costs(nodes, np.array([[0, 1], [2, 3]])), [1.5, 1.0])


def test_where_regions_overlap_the_largest_weight_counts():
    shapes = [(shapely.box(-1, -1, 1, 1), 1.5), (shapely.box(0, -2, 3, 2), 2.0)]
    soft = Soft.of(shapes, Plane((), FRAME), FRAME)
    nodes = np.array([[-2.0, 0.0], [4.0, 0.0]])
    expected = 1.0 + 1.5 + 3 * 2.0 + 1.0
    np.testing.assert_allclose(soft.costs(nodes, np.array([[0, 1]])), [expected])


def test_ways_between_all_pairs_are_shortest():
    cost = np.random.default_rng(0).uniform(0.1, 1.0, (7, 7))
    total, following = kernels.cheapest_ways(cost)
    plain = cost.copy()
    for k in range(7):
        plain = np.minimum(plain, plain[:, [k]] + plain[[k]])
    np.testing.assert_allclose(total, plain)
    assert following[0, 1] in range(7)


def test_relaxation_finds_the_point_of_fermat_and_the_law_of_refraction():
    """`relax_web` against closed forms: a free node, and one on a wall between two weights."""
    turn = np.exp(2j * np.pi * np.arange(3) / 3)
    places = np.concatenate((turn, [0.3 + 0.2j]))
    ends = np.array([3, 3, 3, 0, 1, 2])
    web = kernels.Web(
        np.array([0, 0, 0, 1]), places, places, np.array([0, 1, 2, 3, 6]),
        np.concatenate((ends[:3], ends[3:])), np.ones(6),
    )  # fmt: skip
    assert abs(kernels.relax_web(web, places, 50, 1e-14)[3]) < 1e-9
    places = np.array([-1 + 1j, 1 - 1j, 0j])
    web = kernels.Web(
        np.array([0, 0, 2]), np.array([0, 0, -5 + 0j]), np.array([0, 0, 5 + 0j]),
        np.array([0, 1, 2, 4]), np.array([2, 2, 0, 1]), np.array([1.0, 2.0, 1.0, 2.0]),
    )  # fmt: skip
    x = kernels.relax_web(web, places, 50, 1e-14)[2].real
    sines = (x + 1) / math.hypot(x + 1, 1), (1 - x) / math.hypot(1 - x, 1)
    assert sines[0] == pytest.approx(2.0 * sines[1], abs=1e-9)


@settings(max_examples=8, deadline=None)
@given(st.integers(0, 1000), st.sampled_from([1.1, 1.5, 3.0]))
def test_cost_lies_between_free_and_hard(seed, weight):
    random = np.random.default_rng(seed)
    points = random.random((6, 2)) * [0.4, 1.0]
    points[3:, 0] += 0.6
    box = shapely.box(0.42, 0.1, 0.58, 0.9)
    free = ds.solve(points, "exact")
    hard = ds.solve(points, "exact", obstacles=box, time_limit=20)
    soft = ds.solve(points, "local", obstacles=[(box, weight)])
    assert soft.length >= free.length * (1 - 1e-9)
    assert soft.length <= hard.length * 1.01
    assert soft.lower_bound == pytest.approx(free.length)
    assert soft.info["plain_length"] <= soft.length * (1 + 1e-12)


def test_weights_near_one_and_very_large_ones_are_the_limits():
    free, hard = ds.solve(POINTS, "exact"), ds.solve(POINTS, "exact", obstacles=BOX)
    light = ds.solve(POINTS, "local", obstacles=[(BOX, 1 + 1e-7)])
    heavy = ds.solve(POINTS, "local", obstacles=[(BOX, 1e6)])
    assert light.length == pytest.approx(free.length, rel=1e-6)
    assert heavy.length == pytest.approx(hard.length, rel=1e-8)
    assert ds.solve(POINTS, "local", obstacles=[(BOX, 1)]).regions == ()
    for hardest in (math.inf, None):
        assert len(ds.solve(POINTS, "local", obstacles=[(BOX, hardest)]).obstacles) == 1


@pytest.mark.parametrize("weight", [0, -1, 0.5, math.nan, "mud"])
def test_what_is_no_weight_is_refused(weight):
    with pytest.raises(ds.errors.ObstacleError, match="a weight is a number of at least 1"):
        ds.solve(POINTS, "local", obstacles=[(BOX, weight)])


def test_methods_that_take_no_regions_say_which_do():
    for method in ("exact", "mst", "greedy"):
        with pytest.raises(ds.errors.OptionError, match="does not take soft regions; auto, local"):
            ds.solve(POINTS, method, obstacles=[(BOX, 2.0)])


def test_solutions_with_regions_survive_every_format(tmp_path):
    solution = ds.solve(POINTS, obstacles=[(BOX, 1.2), shapely.box(0.4, 0.7, 0.45, 0.75)])
    assert solution.weights == (1.2,)
    for suffix in ("json", "geojson", "csv"):
        solution.save(tmp_path / f"tree.{suffix}")
        again = ds.Solution.load(tmp_path / f"tree.{suffix}")
        assert again.to_dict() == solution.to_dict()
    for suffix in ("svg", "png"):
        solution.save(tmp_path / f"tree.{suffix}")
    assert "fill-opacity" in (tmp_path / "tree.svg").read_text()
    features = solution.to_geojson()["features"]
    assert [one["properties"].get("weight") for one in features].count(1.2) == 1
    with pytest.raises(ds.errors.TreeError, match="the edges sum to"):
        replace(solution, weights=(1.4,)).validate()
    broken = {**solution.to_dict(), "weights": [0.5]}
    with pytest.raises(ds.errors.FormatError, match="'weights' must be one number above 1"):
        ds.Solution.from_dict(broken)


def test_the_command_line_takes_weights(tmp_path):
    (tmp_path / "sites.csv").write_text("x,y\n0,0\n1,0\n0.5,1\n")
    mud = {
        "type": "Feature",
        "properties": {"weight": 1.3},
        "geometry": shapely.geometry.mapping(BOX),
    }
    (tmp_path / "mud.geojson").write_text(json.dumps(mud))
    command = [sys.executable, "-m", "deepsteiner", "solve", "sites.csv", "--obstacles"]
    done = subprocess.run(
        [*command, "mud.geojson", "-m", "local", "--json"],
        capture_output=True, text=True, cwd=tmp_path, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    solved = json.loads(done.stdout)
    assert solved["weights"] == [1.3]
    assert solved["info"]["plain_length"] < solved["length"]


def test_places_go_there_and_back():
    assert as_pairs(as_complex(np.array([[1.0, 2.0]]))).tolist() == [[1.0, 2.0]]
