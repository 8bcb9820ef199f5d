"""Trees saved without their terminals: whoever has the points, in any order, gets them back."""

from __future__ import annotations

import hashlib
import io
import json
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import deepsteiner as ds
from deepsteiner.core.errors import FormatError, OptionError, TreeError
from deepsteiner.core.geo import GeoPoints
from deepsteiner.core.solution import Solution
from deepsteiner.io import load_solution, save_solution, solution_from_dict
from deepsteiner.io.terminal_hash import places_of

SQUARE = [[0, 0], [0, 1], [1, 1], [1, 0]]


def detached(solution: Solution) -> dict[str, Any]:
    stream = io.StringIO()
    save_solution(solution, stream, format="json", terminals=False)
    return json.loads(stream.getvalue())


def stream_of(data: dict[str, Any]) -> io.StringIO:
    return io.StringIO(json.dumps(data))


def slow_hash(points: Any) -> str:
    """The definition in the module's docstring, word by word."""
    distinct = sorted({(x + 0.0, y + 0.0) for x, y in np.asarray(points, dtype=float).tolist()})
    content = b"".join(struct.pack("<dd", x, y) for x, y in distinct)
    return hashlib.sha256(content).hexdigest()


def test_the_hash_is_what_its_definition_says() -> None:
    rng = np.random.default_rng(3)
    for points in (rng.random((50, 2)), rng.integers(-2, 3, (60, 2)), [[-0.0, 0.0], [0, -0.0]]):
        stamp = places_of(points).stamp
        assert stamp["sha256"] == slow_hash(points)
    assert stamp["count"] == 1
    # A fixed value: files in the repository and elsewhere rely on it.
    assert places_of(SQUARE).stamp == {
        "count": 4,
        "sha256": "5302888e23a4dc3a6bed118f9368fd94a6ff50b79c507c625205b14d6a7d80aa",
    }


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10**6), n=st.integers(1, 12), grid=st.sampled_from([3, 1000]))
def test_round_trip_in_any_order_and_with_repeats(seed: int, n: int, grid: int) -> None:
    """A small grid has equal points; the tree comes back on other orders and other repeats."""
    rng = np.random.default_rng(seed)
    points = rng.integers(-grid, grid + 1, (n, 2)) / 7.0
    solution = ds.solve(points, "smith")
    data = detached(solution)
    assert "terminals" in data
    assert not isinstance(data["terminals"], list)
    distinct = np.unique(points, axis=0)
    repeats = distinct[rng.integers(0, len(distinct), 3)]
    for given_points in (points, distinct, rng.permutation(np.concatenate((distinct, repeats)))):
        back = load_solution(stream_of(data), points=given_points)
        assert back.terminals.tobytes() == np.ascontiguousarray(given_points).tobytes()
        assert back.steiner_points.tobytes() == solution.steiner_points.tobytes()
        assert (back.length, back.lower_bound) == (solution.length, solution.lower_bound)
        assert detached(back) == data
    if len(distinct) == len(points):
        same = load_solution(stream_of(data), points=points)
        assert {frozenset(edge) for edge in same.edges.tolist()} == {
            frozenset(edge) for edge in solution.edges.tolist()
        }


def test_files_by_path(tmp_path: Path) -> None:
    path = tmp_path / "tree.json"
    solution = ds.solve(SQUARE, "exact")
    solution.save(path, terminals=False)
    assert "[1.0,1.0]" not in path.read_text().replace(" ", "")
    assert Solution.load(path, points=SQUARE).validate(strict=True).status == "optimal"
    ds.save_points([*SQUARE, [1, 1]], tmp_path / "square.tsp")
    again = Solution.load(path, points=ds.load_points(tmp_path / "square.tsp"))
    assert len(again.terminals) == 5
    assert again.length == solution.length


def test_a_file_with_terminals_is_held_against_points_too(tmp_path: Path) -> None:
    path = tmp_path / "tree.json"
    solution = ds.solve(SQUARE, "exact")
    solution.save(path)
    assert Solution.load(path, points=SQUARE[::-1]).edges.tolist() == solution.edges.tolist()
    with pytest.raises(TreeError, match=r"tree\.json: the points are not the terminals"):
        Solution.load(path, points=[[0, 0], [1, 2]])


def test_geographic_trees() -> None:
    pytest.importorskip("pyproj")
    cities = GeoPoints([[13.4, 52.5], [2.35, 48.86], [4.9, 52.4]])
    data = detached(ds.solve(cities, "exact"))
    back = load_solution(stream_of(data), points=cities)
    assert back.crs == "EPSG:4326"
    assert back.length == data["length"]


def test_relays_stay_relays() -> None:
    solution = ds.solve(SQUARE, "exact").with_max_edge(0.3)
    back = load_solution(stream_of(detached(solution)), points=SQUARE)
    assert back.info["relays"] == solution.info["relays"] > 0
    back.validate(strict=True)


def test_what_cannot_be_saved_without_terminals() -> None:
    tree = ds.solve(SQUARE, "mst")
    for format in ("csv", "geojson", "svg", "png"):
        with pytest.raises(OptionError, match=f"only json .* not {format}"):
            tree.save(io.BytesIO(), format=format, terminals=False)
    # Both copies of (0, 0) hang on (1, 0): merged, they would close a cycle.
    around = Solution([[0, 0], [0, 0], [1, 0]], [], [[0, 2], [1, 2]], 2.0).validate()
    with pytest.raises(TreeError, match="equal terminals are joined through other nodes"):
        detached(around)


def test_points_must_be_given_and_be_the_right_ones() -> None:
    data = detached(ds.solve(SQUARE, "mst"))
    for read in (lambda: load_solution(stream_of(data)), lambda: solution_from_dict(data)):
        with pytest.raises(FormatError, match=r"only the hash of its 4 terminals; give the points"):
            read()
    moved = np.array(SQUARE, dtype=float)
    moved[2, 0] = np.nextafter(1.0, 2.0)
    for wrong in (SQUARE[:3], [*SQUARE, [2, 2]], moved):
        with pytest.raises(TreeError, match=r"4 distinct ones .* given are") as caught:
            load_solution(stream_of(data), points=wrong)
        assert "\n" not in str(caught.value)
    with pytest.raises(FormatError, match=r"list of .* pairs, got the hash of a tree's terminals"):
        ds.load_points(stream_of(data))


def stamp(**changes: Any) -> Callable[[dict[str, Any]], dict[str, Any]]:
    return lambda data: {**data, "terminals": {**data["terminals"], **changes}}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (stamp(count=0), "or their 'count' and 'sha256'"),
        (stamp(count="4"), "or their 'count' and 'sha256'"),
        (stamp(count=10**400), "or their 'count' and 'sha256'"),
        (stamp(sha256=None), "or their 'count' and 'sha256'"),
        (stamp(sha256="5302"), "or their 'count' and 'sha256'"),
        (stamp(sha256="x" * 64), "or their 'count' and 'sha256'"),
        (stamp(extra=1), "or their 'count' and 'sha256'"),
        (stamp(count=5), "it has 5 distinct ones"),
        (lambda data: {**data, "edges": "none"}, "edges must be pairs of node numbers"),
        (lambda data: {**data, "edges": [[0, 1], [1, 2], [2, 99]]}, "does not exist"),
        (lambda data: {**data, "edges": [[0, 1], [1, 2], [2, -1]]}, "does not exist"),
        (lambda data: {**data, "edges": [[0, 1], [1, 2], [0, 2]]}, "do not connect all points"),
        (lambda data: {**data, "length": 2.5}, "the edges sum to 3.0"),
    ],
)
def test_false_files_get_one_sentence(
    change: Callable[[dict[str, Any]], dict[str, Any]], message: str
) -> None:
    data = change(detached(ds.solve(SQUARE, "mst")))
    with pytest.raises((FormatError, TreeError), match=message) as caught:
        load_solution(stream_of(data), points=SQUARE)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 300
