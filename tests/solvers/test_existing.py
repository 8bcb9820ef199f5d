"""Trees that join existing networks: known lengths, moved maps, limits, files, bad input."""

from __future__ import annotations

import itertools
import json
import math
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import deepsteiner as ds

shapely = pytest.importorskip("shapely")
METHODS = ("exact", "local", "mst", "auto")


def instance(seed: int, n: int = 8, lines: int = 3):
    random = np.random.default_rng(seed)
    tails = random.random((lines, 2))
    heads = tails + 0.2 * random.normal(size=(lines, 2))
    return random.random((n, 2)), list(np.stack((tails, heads), axis=1))


@pytest.mark.parametrize(
    ("low", "high", "apart"),
    [(1.0, 1.0, 0.5), (1.0, 1.2, 1.0), (1.0, 1.0, 3.0), (0.5, 0.7, 0.4), (2.0, 2.0, 2.3)],
)
def test_two_points_above_a_line(low, high, apart):
    """A Steiner point above the line where both are near; it exists where heights are alike."""
    assert abs(high - low) <= apart / math.sqrt(3)
    length = low + high
    if apart < length / math.sqrt(3):
        length = length / 2 + math.sqrt(3) / 2 * apart
    for method in ("exact", "local", "auto"):
        solution = ds.solve([[0, low], [apart, high]], method, existing=[[[-9, 0], [9, 0]]])
        solution.validate(strict=True)
        assert solution.length == pytest.approx(length, abs=1e-9)
    assert solution.status == "optimal"


def test_a_point_and_a_segment():
    for place, length in (([1, 1], 1.0), ([5, 4], 5.0), ([1, 0], 0.0)):
        for method in METHODS:
            solution = ds.solve([place], method, existing=[[[0, 0], [2, 0]]])
            assert solution.length == pytest.approx(length, abs=1e-12)
            assert len(solution.joints) == 1


def test_a_square_with_a_pipe_through_it():
    square = [[0, 0], [1, 0], [1, 1], [0, 1]]
    solution = ds.solve(square, "exact", existing=[[[-1, 0.5], [2, 0.5]]])
    assert solution.length == pytest.approx(2.0, abs=1e-9)
    # The pipe ends at the sides: the same; a short one in the middle does not help.
    assert ds.solve(square, "exact", existing=[[[0, 0.5], [1, 0.5]]]).length == pytest.approx(2.0)
    short = ([[[0.49, 0.5], [0.51, 0.5]]], "optional")
    assert ds.solve(square, "exact", existing=short).length < ds.solve(square, "exact").length


def test_a_network_that_is_the_tree_leaves_nothing_to_do():
    tree = ds.solve(np.random.default_rng(0).random((12, 2)), "exact")
    for method in METHODS:
        solution = ds.solve(tree.terminals, method, existing=tree.to_shapely())
        assert solution.length == 0.0
        assert len(solution.joints) == 12


def test_a_network_far_away_is_joined_unless_it_is_optional():
    points = np.random.default_rng(0).random((9, 2))
    free = ds.solve(points, "exact")
    far = [[[50, 0], [50, 1]]]
    assert ds.solve(points, "exact", existing=far).length > 48
    for method in ("exact", "local"):
        solution = ds.solve(points, method, existing=(far, "optional"))
        assert solution.length == pytest.approx(free.length, rel=1e-9)
        assert len(solution.joints) == 0


def test_points_inside_a_polygon_are_connected():
    area = shapely.box(0, 0, 1, 1)
    solution = ds.solve([[0.2, 0.3], [0.7, 0.6], [2, 0.5]], "exact", existing=area)
    assert solution.length == pytest.approx(1.0, abs=1e-12)
    hole = area.difference(shapely.box(0.4, 0.4, 0.6, 0.6))
    solution = ds.solve([[0.5, 0.55], [0.1, 0.1]], "exact", existing=hole)
    assert solution.length == pytest.approx(0.05, abs=1e-12)


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 10_000), st.floats(0, 6.28), st.sampled_from([1e-6, 1.0, 3e5]))
def test_a_map_may_be_turned_scaled_and_moved(seed, angle, scale):
    points, lines = instance(seed, 5, 2)
    turn = scale * np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
    one = ds.solve(points, "exact", existing=lines)
    two = ds.solve(points @ turn + scale, "exact", existing=[line @ turn + scale for line in lines])
    assert one.status == two.status == "optimal"
    assert two.length == pytest.approx(scale * one.length, rel=1e-9)


@settings(max_examples=10, deadline=None)
@example(1914)  # where `local` finds nothing shorter than the spanning tree
@given(st.integers(0, 10_000))
def test_more_to_join_never_lengthens_where_it_is_optional(seed):
    points, lines = instance(seed, 6, 3)
    lengths = [ds.solve(points, "exact", existing=(lines[:k], "optional")).length for k in range(4)]
    assert all(b <= a * (1 + 1e-9) for a, b in itertools.pairwise(lengths))
    needed = ds.solve(points, "exact", existing=lines)
    assert needed.length >= lengths[-1] * (1 - 1e-9)
    for method in ("mst", "local"):
        found = ds.solve(points, method, existing=lines)
        assert found.length >= needed.length * (1 - 1e-9)
    assert found.validate(strict=True).length <= ds.solve(points, "mst", existing=lines).length


def test_many_points_and_lines():
    """Beyond all pairs: neighbours among samples; never longer than the spanning tree."""
    random = np.random.default_rng(3)
    points = random.random((500, 2))
    tails = random.random((60, 2))
    lines = [*np.stack((tails, tails + 0.05 * random.normal(size=(60, 2))), axis=1)]
    spanning = ds.solve(points, "mst", existing=lines)
    solution = ds.solve(points, "local", existing=lines, effort="fast")
    assert solution.validate(strict=True).length < 0.99 * spanning.length
    stopped = ds.solve(points, "local", existing=lines, on_progress=lambda _: False)
    assert stopped.status == "interrupted"
    assert stopped.length <= spanning.length * (1 + 1e-12)


def test_limits_and_traces():
    points, lines = instance(1, 30, 10)
    seen = []
    solution = ds.solve(points, "exact", existing=lines, on_progress=seen.append, trace=True)
    assert solution.status == "optimal"
    assert {one["stage"] for one in solution.info["trace"]} == {"full trees", "choice"}
    json.dumps(solution.info)
    assert seen[-1].length == pytest.approx(solution.length)
    stopped = ds.solve(points, "exact", existing=lines, on_progress=lambda p: p.elapsed < 0.01)
    assert stopped.status in ("interrupted", "optimal")
    assert stopped.lower_bound <= solution.length * (1 + 1e-9)


@pytest.mark.parametrize("suffix", ["json", "geojson", "csv"])
def test_files_keep_everything(tmp_path, suffix):
    points, lines = instance(2)
    network = [*lines, (shapely.box(0.1, 0.1, 0.2, 0.2), "optional")]
    solution = ds.solve(points, "exact", existing=network)
    solution.save(tmp_path / f"tree.{suffix}")
    again = ds.Solution.load(tmp_path / f"tree.{suffix}")
    assert (again.coordinates == solution.coordinates).all()
    assert (again.edges == solution.edges).all()
    assert [one.plain() for one in again.existing] == [one.plain() for one in solution.existing]
    assert again.joint_parts().tolist() == solution.joint_parts().tolist()
    for picture in ("svg", "png"):
        solution.save(tmp_path / f"tree.{picture}")
    assert "joint" in (tmp_path / "tree.svg").read_text()


def test_graphs_name_the_part_of_a_joint():
    networkx = pytest.importorskip("networkx")
    points, lines = instance(2)
    solution = ds.solve(points, "exact", existing=lines)
    graph = solution.to_networkx()
    joints = {v: data for v, data in graph.nodes(data=True) if data["kind"] == "joint"}
    assert len(joints) == len(solution.joints)
    for v, data in joints.items():
        graph.add_edge(v, ("part", data["part"]))
    assert networkx.is_tree(graph)
    relayed = solution.with_max_edge(0.02).validate(strict=True)
    assert len(relayed.joints) == len(solution.joints)


def test_what_is_no_tree_is_refused():
    points, lines = instance(2)
    solution = ds.solve(points, "exact", existing=lines)
    moved = solution.joints + np.array([0.0, 0.01])
    for wrong, message in (
        (replace(solution, joints=moved), "not on the existing network"),
        (replace(solution, existing=()), "no existing network"),
        (replace(solution, edges=solution.edges[:-1]), "edges"),
        (replace(solution, edges=solution.edges + 100), "does not exist"),
    ):
        with pytest.raises(ds.errors.TreeError, match=message):
            wrong.validate()
    unused = ds.solve(points, "exact")
    with pytest.raises(ds.errors.TreeError, match="is not joined"):
        replace(unused, existing=solution.existing).validate()


def test_longitudes_and_latitudes():
    pytest.importorskip("pyproj")
    points, _ = instance(3)
    sites, pipe = [13.3, 52.5] + points / 10, [[13.3, 52.5], [13.4, 52.56]]
    solution = ds.solve(sites, "exact", existing=[pipe], crs="EPSG:4326")
    assert solution.status == "optimal"
    assert 100 < solution.validate(strict=True).length < 100_000
    assert len(solution.joints) >= 1


@pytest.mark.parametrize(
    ("existing", "message"),
    [
        ([[[0, 0]]], r"existing\[0\] has 1 point"),
        ([[[0, 0], [0, 0]]], "2 equal points"),
        ([[[0, 0], [float("nan"), 1]]], "not finite"),
        ([0, 1], r"got shape \(2,\)"),
        (np.zeros((2, 3)), r"got shape \(2, 3\)"),
        ("pipes", "got str"),
        (5, "got int"),
        ([None], r"existing\[0\] must be"),
        (shapely.Point(0, 0), "is a Point"),
        ({"type": "Nope"}, "not a GeoJSON geometry"),
        (([[[0, 0], [1, 1]]], "maybe"), "'optional' is accepted"),
    ],
)
def test_bad_networks(existing, message):
    with pytest.raises(ds.errors.NetworkError, match=message) as caught:
        ds.solve([[0, 1], [1, 0]], "mst", existing=existing)
    assert "\n" not in str(caught.value)


def test_what_does_not_go_together():
    points, lines = instance(0)
    with pytest.raises(ds.errors.OptionError, match="does not take existing networks; auto, mst"):
        ds.solve(points, "greedy", existing=lines)
    with pytest.raises(ds.errors.OptionError, match="cannot be given together"):
        ds.solve(points, "local", existing=lines, obstacles=[([[5, 5], [6, 5], [6, 6]], 2.0)])
    with pytest.raises(ds.errors.OptionError, match="junction_cost goes with neither"):
        ds.solve(points, "local", existing=lines, junction_cost=0.1)
    with pytest.raises(ds.errors.OptionError, match="no option 'existing'"):
        ds.solve_many([points], "exact", existing=lines)
    assert ds.solve(points, "mst", existing=[]).existing == ()
    solution = ds.solve(points, "mst", existing=lines)
    for change in (
        lambda: ds.refine(solution),
        lambda: solution.with_points(add=[[0.5, 0.5]]),
        lambda: ds.place_relays(solution, 0.1),
    ):
        with pytest.raises(ds.errors.OptionError, match=r"join.* an existing network"):
            change()


def test_the_command_line(tmp_path):
    (tmp_path / "sites.csv").write_text("x,y\n0,1\n1,2\n0.5,1\n")
    line = {"type": "LineString", "coordinates": [[-1, 0], [3, 0]]}
    (tmp_path / "pipes.geojson").write_text(json.dumps(line))
    (tmp_path / "others.geojson").write_text(json.dumps({**line, "coordinates": [[0, 5], [1, 5]]}))

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "deepsteiner", *words]
        return subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)

    done = run("solve", "sites.csv", "--existing", "pipes.geojson", "-m", "mst", "-O", "tree.json")
    assert done.returncode == 0, done.stderr
    good = run("verify", "tree.json", "--existing", "pipes.geojson", "--strict")
    assert good.returncode == 0, good.stderr
    assert "joint" in good.stdout
    wrong = run("verify", "tree.json", "--existing", "others.geojson")
    assert wrong.returncode == 2
    assert "another existing network" in wrong.stderr
