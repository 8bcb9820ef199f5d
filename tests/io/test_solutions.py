"""Solutions in and out: nothing is lost, and nothing false is read."""

from __future__ import annotations

import io
import json
import math
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from deepsteiner.core.errors import DeepSteinerError, MissingDependencyError
from deepsteiner.core.geo import GeoPoints, plane_of
from deepsteiner.core.solution import Solution
from deepsteiner.io import atomic_write, load_points, load_solution, save_solution

ARRAYS = ("terminals", "steiner_points", "edges")
FIELDS = ("length", "lower_bound", "status", "method", "runtime", "info", "crs", "plane_crs")


def triangle(**changes: Any) -> Solution:
    """Three terminals of an equilateral triangle and their Steiner point."""
    terminals = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, math.sqrt(3) / 2]])
    fields: dict[str, Any] = {
        "length": math.sqrt(3),
        "lower_bound": 1.7,
        "status": "time_limit",
        "method": "greedy",
        "runtime": 0.1 + 0.2,
        "info": {"steps": [1, 2.5, None], "name": "a,b\n# c", "nested": {"k": True}},
    }
    edges = [[0, 3], [1, 3], [2, 3]]
    return Solution(terminals, [[0.5, math.sqrt(3) / 6]], edges, **{**fields, **changes})


def geographic(crs: str = "EPSG:4326", plane_crs: str | None = None) -> Solution:
    lonlat = np.array([[179.5, -16.0], [-179.6, -16.2], [179.9, -17.0]])
    points = lonlat if crs == "EPSG:4326" else plane_of("EPSG:4326", crs).into(lonlat)
    plane = plane_of(crs, plane_crs, points)
    steiner = plane.back(plane.into(points).mean(axis=0))
    edges = [[0, 3], [1, 3], [2, 3]]
    bare = Solution(points, steiner, edges, 0.0, crs=crs, plane_crs=plane.plane_crs)
    return Solution(
        points,
        steiner,
        edges,
        float(bare.edge_lengths().sum()),
        crs=crs,
        plane_crs=plane.plane_crs,
    )


def assert_same(first: Solution, second: Solution) -> None:
    for name in ARRAYS:
        assert getattr(first, name).tobytes() == getattr(second, name).tobytes()
    for name in FIELDS:
        assert getattr(first, name) == getattr(second, name), name


def saved(solution: Solution, format: str) -> io.BytesIO:
    stream = io.BytesIO()
    save_solution(solution, stream, format=format)
    stream.seek(0)
    return stream


@pytest.mark.parametrize("format", ["json", "geojson", "csv"])
def test_round_trip_by_suffix(tmp_path: Path, format: str) -> None:
    path = tmp_path / f"tree.{format}"
    solution = triangle()
    solution.save(path)
    assert_same(Solution.load(path), solution)
    assert [file.name for file in tmp_path.iterdir()] == [path.name]
    assert (load_points(path) == solution.terminals).all()
    bare = tmp_path / "bare"
    bare.write_bytes(path.read_bytes())
    assert_same(load_solution(bare), solution)
    assert (load_points(bare) == solution.terminals).all()


@pytest.mark.parametrize("format", ["json", "geojson", "csv"])
@settings(max_examples=30, deadline=None)
@given(
    points=hnp.arrays(
        np.float64, st.tuples(st.integers(1, 5), st.just(2)), elements=st.floats(-1e9, 1e9)
    )
)
def test_floats_are_bit_identical(format: str, points: np.ndarray) -> None:
    edges = [[i, i + 1] for i in range(len(points) - 1)]
    length = float(np.hypot(*np.diff(points, axis=0).T).sum())
    solution = Solution(points, np.empty((0, 2)), np.array(edges).reshape(-1, 2), length)
    assert_same(load_solution(saved(solution, format), format=format), solution)


@pytest.mark.parametrize("format", ["json", "geojson", "csv"])
@pytest.mark.parametrize("crs", ["EPSG:4326", "EPSG:3832"])
def test_geographic_round_trip(format: str, crs: str) -> None:
    pytest.importorskip("pyproj")
    solution = geographic(crs)
    assert_same(load_solution(saved(solution, format)), solution)
    points = load_points(saved(solution, format))
    assert isinstance(points, GeoPoints)
    assert points.crs == crs
    assert np.asarray(points).tobytes() == solution.terminals.tobytes()


def test_geojson_is_lonlat_and_cut_at_the_antimeridian() -> None:
    pytest.importorskip("pyproj")
    for crs in ("EPSG:4326", "EPSG:3832"):
        value = geographic(crs).to_geojson()
        assert value["deepsteiner"]["coordinates"] == "geographic"
        nodes = [feature for feature in value["features"] if "id" in feature["properties"]]
        assert nodes[0]["geometry"]["coordinates"] == pytest.approx([179.5, -16.0])
        lines = [feature["geometry"] for feature in value["features"][len(nodes) :]]
        assert sorted(line["type"] for line in lines).count("MultiLineString") == 1
        (cut,) = [line for line in lines if line["type"] == "MultiLineString"]
        (_, end), (start, _) = cut["coordinates"]
        assert abs(end[0]) == 180
        assert start == [-end[0], end[1]]
    plane = triangle().to_geojson()
    assert plane["deepsteiner"]["coordinates"] == "plane"
    assert plane["features"][1]["geometry"]["coordinates"] == [1.0, 0.0]


def test_csv_is_readable() -> None:
    text = saved(triangle().with_max_edge(0.4), "csv").getvalue().decode()
    lines = text.splitlines()
    assert lines[0] == "# deepsteiner-solution: 1"
    assert lines[1] == f"# length: {math.sqrt(3)!r}"
    assert "kind,id,x,y,from,to,length" in lines
    assert "terminal,1,1.0,0.0,,," in lines
    assert sum(line.startswith("relay,") for line in lines) == 3
    assert sum(line.startswith("edge,") for line in lines) == 6


@pytest.mark.parametrize("format", ["json", "geojson", "csv"])
def test_relays_round_trip(format: str) -> None:
    solution = triangle().with_max_edge(0.4)
    assert_same(load_solution(saved(solution, format)), solution)


def test_info_becomes_plain() -> None:
    info = {"a": np.arange(2), "b": np.float64(0.5), "c": (1, math.inf), 3: "three"}
    data = triangle(info=info).to_dict()
    assert data["info"] == {"a": [0, 1], "b": 0.5, "c": [1, None], "3": "three"}
    json.dumps(data, allow_nan=False)
    with pytest.raises(DeepSteinerError, match=r"info\['x'\] holds a object"):
        triangle(info={"x": object()}).to_dict()


def changed(**changes: Any) -> Callable[[dict[str, Any]], dict[str, Any]]:
    return lambda data: {**data, **changes}


def without(name: str) -> Callable[[dict[str, Any]], dict[str, Any]]:
    return lambda data: {key: value for key, value in data.items() if key != name}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (changed(format="other"), "'format' must be 'deepsteiner-solution'"),
        (changed(version=2), "'version' must be 1, got 2"),
        (without("length"), "missing fields: length"),
        (changed(weight=1), "unknown fields: 'weight'"),
        (changed(length="long"), "'length' must be a finite number"),
        (changed(length=True), "'length' must be a finite number"),
        (changed(length=1.0), "the edges sum to"),
        (changed(lower_bound=2.0), "the lower bound 2.0 exceeds"),
        (changed(status="best"), "'status' must be one of optimal"),
        (changed(status=[]), "'status' must be one of optimal"),
        (changed(method=3), "'method' must be printable text, got 3"),
        (changed(info=[]), "'info' must be a dict"),
        (changed(info={"relays": 2}), "info 'relays' must count Steiner points, got 2"),
        (changed(crs=7), "'crs' must be text, got 7"),
        (changed(terminals=[]), "terminals: no points given"),
        (changed(terminals=[[0, 0, 0]]), "terminals must have shape"),
        (changed(steiner_points=[[0, math.nan]]), "coordinates must be finite"),
        (changed(edges=[[0, 1, 2]]), "edges must be pairs of node numbers"),
        (changed(edges=[[0.5, 1]]), "edges must be pairs of node numbers"),
        (changed(edges=[[0], [1, 2]]), "edges must be pairs of node numbers"),
        (changed(edges=[[0, 3], [1, 3]]), "has 3 edges"),
        (changed(edges=[[0, 3], [1, 3], [1, 4]]), "names a node that does not exist"),
        (changed(edges=[[0, 3], [1, 3], [0, 1]]), "do not connect all points"),
    ],
)
def test_false_solutions_get_one_sentence(
    tmp_path: Path, change: Callable[[dict[str, Any]], dict[str, Any]], message: str
) -> None:
    path = tmp_path / "tree.json"
    path.write_text(json.dumps(change(triangle().to_dict())))
    with pytest.raises(DeepSteinerError, match=message) as caught:
        load_solution(path)
    assert "tree.json" in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "old", "new", "message"),
    [
        ("t.csv", "# deepsteiner-solution", "# something", r"t\.csv, line 1: expected '# deep"),
        ("t.csv", "kind,id", "id,kind", "expected the columns kind,id,x,y,from,to,length"),
        ("t.csv", "terminal,1,1.0", "terminal,1,one", "line 12: expected a number, got 'one'"),
        ("t.csv", "terminal,1,", "terminal,7,", "line 12: expected id 1, got '7'"),
        ("t.csv", "terminal,1,1.0", "terminal,1,", "line 12: expected a number, got ''"),
        ("t.csv", "steiner,3", "hub,3", "kind must be one of terminal, steiner, relay, bend"),
        ("t.csv", ",0,3,", ",0,x,", "expected a whole number, got 'x'"),
        ("t.csv", ",0,3,", ",0,3,,", "expected the 7 columns"),
        ("t.csv", "# method:", "# weight:", "missing fields: method"),
        ("t.csv", '"greedy"', "greedy", "line 5: expected a value in JSON"),
        ("t.geojson", '"deepsteiner":', '"other":', "expected GeoJSON with a member"),
        ("t.geojson", '"kind": "steiner"', '"kind": "hub"', "kind must be one of terminal"),
        ("t.geojson", '"id": 1', '"id": 5', "nodes must be numbered from 0"),
        ("t.geojson", '"from"', '"form"', "expected features with kind, id, from and to"),
        ("t.json", "{", "[{", "not valid JSON"),
        ("t.svg", "{", "{", "pictures are not read back"),
    ],
)
def test_damaged_files_get_one_sentence(
    tmp_path: Path, name: str, old: str, new: str, message: str
) -> None:
    path = tmp_path / name
    suffix = path.suffix.removeprefix(".")
    text = saved(triangle(), "json" if suffix == "svg" else suffix).getvalue().decode()
    assert old in text
    path.write_text(text.replace(old, new, 1))
    with pytest.raises(DeepSteinerError, match=message) as caught:
        load_solution(path)
    assert "\n" not in str(caught.value)


def test_networkx() -> None:
    networkx = pytest.importorskip("networkx")
    graph = triangle().to_networkx()
    assert networkx.is_tree(graph)
    assert [graph.nodes[i]["kind"] for i in range(4)] == ["terminal"] * 3 + ["steiner"]
    assert graph.nodes[1]["pos"] == (1.0, 0.0)
    assert graph.size(weight="length") == pytest.approx(math.sqrt(3))
    assert graph.graph["status"] == "time_limit"


def test_shapely() -> None:
    pytest.importorskip("shapely")
    lines = triangle().to_shapely()
    assert lines.length == pytest.approx(math.sqrt(3))
    assert len(lines.geoms) == 3
    assert Solution([[1, 2]], [], [], 0.0).to_shapely().is_empty


@pytest.mark.parametrize("package", ["networkx", "shapely"])
def test_missing_packages_are_named(monkeypatch: pytest.MonkeyPatch, package: str) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingDependencyError, match=f"needs {package}; install it with pip"):
        getattr(triangle(), f"to_{package}")()


@pytest.mark.parametrize("format", ["svg", "png", "pdf"])
def test_pictures(tmp_path: Path, format: str) -> None:
    path = tmp_path / f"tree.{format}"
    triangle().save(path)
    start = {"svg": b"<", "png": b"\x89PNG", "pdf": b"%PDF"}[format]
    assert path.read_bytes().startswith(start)
    stream = io.BytesIO()
    triangle().save(stream, format=format)
    assert stream.getvalue().startswith(start)
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


def test_bad_targets(tmp_path: Path) -> None:
    with pytest.raises(DeepSteinerError, match="no known suffix to choose the format by"):
        triangle().save(tmp_path / "tree.xml")
    with pytest.raises(DeepSteinerError, match="format must be one of json"):
        triangle().save(tmp_path / "tree", format="xml")
    with pytest.raises(DeepSteinerError, match="cannot be written"):
        triangle().save(tmp_path / "missing" / "tree.json")
    with pytest.raises(DeepSteinerError, match="cannot be written"), atomic_write(tmp_path):
        pass
    assert list(tmp_path.iterdir()) == []


def test_text_streams() -> None:
    stream = io.StringIO()
    triangle().save(stream, format="json")
    stream.seek(0)
    assert_same(load_solution(stream), triangle())
