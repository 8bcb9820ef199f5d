"""Points in and out: every format round-trips, every bad file gets one sentence."""

from __future__ import annotations

import contextlib
import gzip
import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from deepsteiner.core.errors import DeepSteinerError
from deepsteiner.core.geo import GeoPoints
from deepsteiner.io import POINT_FORMATS, atomic_write, load_instances, load_points, save_points

SAMPLES = Path(__file__).parents[1] / "data"
EXPECTED = np.array([[0.0, 0.0], [3.0, 4.0], [-1.5, 20.0]])

coordinates = st.floats(-1e150, 1e150, allow_nan=False)
point_sets = hnp.arrays(np.float64, st.tuples(st.integers(1, 6), st.just(2)), elements=coordinates)


def same_bits(first: Any, second: Any) -> bool:
    return np.asarray(first).tobytes() == np.asarray(second).tobytes()


def round_trip(points: Any, format: str) -> list[Any]:
    stream = io.BytesIO()
    save_points(points, stream, format)
    stream.seek(0)
    return load_instances(stream, format=format)


@pytest.mark.parametrize("format", POINT_FORMATS)
@settings(max_examples=30, deadline=None)
@given(points=point_sets)
def test_every_format_round_trips(format: str, points: np.ndarray) -> None:
    (again,) = round_trip(points, format)
    assert same_bits(points, again)


@pytest.mark.parametrize("format", ["json", "jsonl", "npz", "estein"])
@settings(max_examples=20, deadline=None)
@given(instances=st.lists(point_sets, min_size=2, max_size=4))
def test_several_instances_round_trip(format: str, instances: list[np.ndarray]) -> None:
    again = round_trip(instances, format)
    assert len(again) == len(instances)
    assert all(map(same_bits, instances, again))


@pytest.mark.parametrize("crs", ["EPSG:4326", "EPSG:25833"])
@pytest.mark.parametrize("format", ["csv", "tsv", "txt", "json", "jsonl", "npz", "geojson"])
def test_coordinate_systems_round_trip(format: str, crs: str) -> None:
    points = GeoPoints([[13.4, 52.5], [-0.1, 0.3]], crs)
    (again,) = round_trip(points, format)
    assert isinstance(again, GeoPoints)
    assert again.crs == crs
    assert same_bits(points, again)


@pytest.mark.parametrize("format", ["npy", "estein", "stp", "tsp"])
def test_formats_without_a_place_for_the_system_refuse_it(format: str) -> None:
    with pytest.raises(DeepSteinerError, match="cannot say that the points are geographic"):
        save_points(GeoPoints([[13.4, 52.5]]), io.BytesIO(), format)


@pytest.mark.parametrize(
    "suffix", ["csv", "tsv", "txt", "json", "jsonl", "npy", "npz", "geojson", "stp", "tsp", "dat"]
)
def test_suffix_decides(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"points.{suffix}"
    save_points(EXPECTED, path)
    assert same_bits(load_points(path), EXPECTED)
    assert [file.name for file in tmp_path.iterdir()] == [path.name]
    packed = tmp_path / f"points.{suffix}.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    assert same_bits(load_points(packed), EXPECTED)
    bare = tmp_path / "bare"
    bare.write_bytes(path.read_bytes())
    assert same_bits(load_points(bare), EXPECTED)


def test_several_instances_by_suffix(tmp_path: Path) -> None:
    batch = np.random.default_rng(0).random((3, 4, 2))
    for name in ("a.npy", "a.npz", "a.json", "a.jsonl", "a.txt"):
        save_points(batch, tmp_path / name)
        assert same_bits(np.stack(load_instances(tmp_path / name)), batch)
        assert same_bits(load_points(tmp_path / name, key=2), batch[2])
        with pytest.raises(DeepSteinerError, match="holds 3 instances, expected one"):
            load_points(tmp_path / name)
    with pytest.raises(DeepSteinerError, match="csv holds one instance, got 3"):
        save_points(batch, tmp_path / "a.csv")


@pytest.mark.parametrize(
    "text",
    [
        "0,0\n3,4\n-1.5,2e1\n",
        "0, 0\n3, 4\n-1.5, 20",
        "x,y\n0,0\n3,4\n-1.5,20\n",
        "X;Y\n0;0\n3;4\n-1.5;20\n",
        "x\ty\n0\t0\n3\t4\n-1.5\t20\n",
        "0\t\t0\n3\t4\n-1.5\t20\n",
        "0 0\n  3   4\n-1.5 20\n",
        "x y\n0 0\n3 4\n-1.5 20\n",
        "first second\n0 0\n3 4\n-1.5 20\n",
        "\n# a comment\n0 0\n\n3 4 # another\n-1.5 20\n\n",
        "0,0\r\n3,4\r\n-1.5,20\r\n",
        "0,0\r3,4\r-1.5,20\r",
        "\ufeffx,y\n0,0\n3,4\n-1.5,20\n",
        "id,y,name,x\n1,0,a,0\n2,4,b,3\n3,20,c,-1.5\n",
        'name,x,y\n"a, b",0,0\nc #1,3,4\nd,-1.5,20\n',
        "easting northing\n0 0\n3 4\n-1.5 20\n",
        "3\n0 0\n3 4\n-1.5 20\n",
        "1\n3\n0 0\n3 4\n-1.5 20\n",
        "[[0, 0], [3, 4], [-1.5, 20]]",
        '{"points": [[0, 0], [3, 4], [-1.5, 20]]}',
        '[{"x": 0, "y": 0}, {"y": 4, "x": 3}, {"x": -1.5, "y": 20}]',
        '{"terminals": [[0, 0], [3, 4], [-1.5, 20]], "edges": [[0, 1], [1, 2]]}',
        (SAMPLES / "four_nodes.stp").read_text(),
        "NAME : a\nEDGE_WEIGHT_TYPE : ATT\nNODE_COORD_SECTION\n1 0 0\n2 3 4\n3 -1.5 20\nEOF\n",
    ],
)
def test_content_decides_on_standard_input(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    points = load_points("-")
    assert (points == EXPECTED).all()
    assert not isinstance(points, GeoPoints)


def test_utf_16(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes("x,y\r\n1,2\r\n".encode("utf-16"))
    assert load_points(tmp_path / "a.csv").tolist() == [[1.0, 2.0]]


def test_standard_output(capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    save_points([[0.5, 1.0]], "-", "csv")
    sys.stdout.flush()
    assert capsysbinary.readouterr().out == b"x,y\n0.5,1.0\n"
    with pytest.raises(DeepSteinerError, match="give format="):
        save_points([[0.5, 1.0]], "-")


def test_sample_files() -> None:
    first, second = load_instances(SAMPLES / "two_instances.txt")
    assert first.tolist() == [[0.1, 0.2], [0.3, 0.4], [0.5, 0.6]]
    assert second.tolist() == [[1.0, 0.0], [0.0, 1.0]]
    assert (load_points(SAMPLES / "four_nodes.stp") == EXPECTED).all()


def test_geographic_sample_files() -> None:
    cities = load_points(SAMPLES / "three_cities.tsp")
    assert isinstance(cities, GeoPoints)
    expected = [[13.4, 52.5], [2.35, 48.85], [-70 - 2 / 3, -33.5]]
    assert np.asarray(cities) == pytest.approx(np.array(expected))
    mixed = load_points(SAMPLES / "mixed.geojson")
    assert isinstance(mixed, GeoPoints)
    assert mixed.tolist() == [[13.4, 52.5], [13.5, 52.6], [13.2, 52.4]]
    stations = load_points(SAMPLES / "stations.csv")
    assert isinstance(stations, GeoPoints)
    assert stations.tolist() == [[13.4, 52.5], [13.5, 52.6]]


def test_npz_keys(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    np.savez(path, first=EXPECTED, second=EXPECTED + 1)
    assert (load_points(path, key="second") == EXPECTED + 1).all()
    with pytest.raises(DeepSteinerError, match="named 'points'; it holds 'first', 'second'"):
        load_points(path)
    with pytest.raises(DeepSteinerError, match="named 'third'; it holds 'first', 'second'"):
        load_points(path, key="third")
    np.savez(tmp_path / "b.npz", only=EXPECTED)
    assert (load_points(tmp_path / "b.npz") == EXPECTED).all()


def truncated_npz() -> bytes:
    stream = io.BytesIO()
    np.savez(stream, points=np.ones((100, 2)))
    return stream.getvalue()[:500]


def npy(array: Any) -> bytes:
    stream = io.BytesIO()
    np.save(stream, array, allow_pickle=True)
    return stream.getvalue()


def geojson(kind: str, coordinates: Any) -> bytes:
    return json.dumps({"type": kind, "coordinates": coordinates}).encode()


BAD_FILES = [
    ("a.csv", b"", "a.csv is empty"),
    ("a.csv", b" \n\n", "a.csv is empty"),
    ("a.csv", b"# only a comment\n", "a.csv holds no points"),
    ("a.csv", b"x,y\n", "a.csv, line 1: expected two numbers"),
    ("a.csv", b"1\n2\n", "a.csv, line 1: expected two numbers .x and y., got one column"),
    ("a.csv", b"1,2\n3,4,5\n", "a.csv, line 2: expected two numbers .x and y., got 3 columns"),
    ("a.csv", b"1,2,3\n4,5,6\n", "a.csv, line 1: .*, got 3 columns"),
    ("a.csv", b"a,b,c\n4,5,6\n", "a.csv, line 1: expected two columns, or a header"),
    ("a.csv", b"x\n1\n2\n", "a.csv, line 1: expected two columns, or a header"),
    ("a.csv", b"1,2\n\n3\n", "a.csv, line 3: .*, got one column"),
    ("a.csv", b"1,2\n3,four\n", "a.csv, line 2: expected a number, got 'four'"),
    ("a.csv", b"1,2\n3,1_000\n", "a.csv, line 2: expected a number, got '1_000'"),
    ("a.csv", b"1,2\n3,1+2j\n", "a.csv, line 2: expected a number, got '1.2j'"),
    ("a.csv", b"one,2\n3,4\n", "a.csv, line 1: expected a number, got 'one'"),
    ("a.csv", b"1,2\n3,\n", "a.csv, line 2: expected a number, got ''"),
    ("a.csv", b"1,2\nnan,4\n", "a.csv, line 2: coordinates must be finite, got 'nan'"),
    ("a.csv", b"1,2\n3,-inf\n", "a.csv, line 2: coordinates must be finite, got '-inf'"),
    ("a.csv", b"1,2\n3,1e200\n", "a.csv, line 2: coordinates must be at most 1e.150"),
    ("a.csv", b"n,x,y\n1,2,3\n4,5\n", "a.csv, line 3: expected at least 3 columns"),
    ("a.csv", b"lon,lat\n1,95\n", "point 0 is .1, 95.; expected .longitude, latitude."),
    ("a.csv", b"1,2\n\xff\xfe,4\n", "a.csv, line 2: expected UTF-8 text"),
    ("a.csv", b"1,2\n" + b"x" * 300_000, "a.csv, line 2: expected a row of numbers"),
    ("a.csv", b"1,2\n" + b"x" * 300_000 + b",1", "a.csv, line 2: expected a row of numbers"),
    ("a.csv", b"1,2\n\0\0", "expected text, got binary data"),
    ("a.txt", b"2\n1\n0 0\n", "a.txt ends where the size of instance 2 of 2 was expected"),
    ("a.txt", b"1\n2\n0 0\n", "a.txt ends where point 2 of 2 of instance 1 was expected"),
    ("a.txt", b"1\n2\n3\n", "a.txt, line 3: expected the x and y of point 1 of instance 1"),
    ("a.txt", b"1\n1\n0 0\n5 5\n", "a.txt, line 4: expected the end of the file"),
    ("a.txt", b"2\n0 0\n5 5\n1\n", "a.txt, line 4: expected the end of the file"),
    ("a.txt", b"1\nx\n0 0\n", "a.txt, line 2: expected the size of instance 1"),
    ("a.txt", b"9999999999999\n1\n0 0\n", "a.txt, line 1: expected the number of instances"),
    ("a.json", b"{", "a.json, line 1: not valid JSON"),
    ("a.json", b"[" * 200_000, "a.json.*: not valid JSON"),
    ("a.json", b'{"a": 1}', "a.json: expected .*, got an object with members: 'a'"),
    ("a.json", b"{}", "got an object with members: none"),
    ("a.json", b"3", "a.json: expected .*, got 3"),
    ("a.json", b"[]", "a.json: no points given"),
    ("a.json", b'{"points": 3}', "a.json: 'points' must be a list"),
    ("a.json", b"[[0, 0], [1]]", "a.json: rows have different lengths"),
    ("a.json", b"[[0, 0, 0]]", "a.json must have shape"),
    ("a.json", b'[["0", "1"]]', "a.json must be real numbers"),
    ("a.json", b"[[0, null]]", "a.json must be an .n, 2. array of real numbers"),
    ("a.json", b"[[0, NaN]]", "a.json: point 0 is .0, nan.; coordinates must be finite"),
    ("a.json", b'[{"x": 1}]', "a.json: expected points as"),
    ("a.json", b'[{"x": 1, "y": 2}, {"x": 1}]', "a.json: a point has no member 'y'"),
    ("a.jsonl", b"[[0, 0]]\n[[0,\n", "a.jsonl, line 2: not valid JSON"),
    (
        "a.geojson",
        geojson("Polygon", [[[0, 0], [1, 1], [1, 0]]]),
        "expected points, got GeoJSON 'Polygon'",
    ),
    ("a.geojson", geojson("Point", [0]), "expected a GeoJSON position"),
    ("a.geojson", geojson("Point", [0, 91]), "latitudes from -90 to 90"),
    ("a.geojson", geojson("MultiPoint", []), "no points given"),
    ("a.geojson", b'{"type": "Point"}', "this 'Point' is not valid GeoJSON"),
    ("a.npy", b"nonsense", "a.npy .*"),
    ("a.npy", npy(np.ones((3, 2)))[:100], "a.npy is damaged or truncated"),
    ("a.npy", npy(np.array([[1, None]])), "a.npy holds Python objects"),
    ("a.npy", npy(np.ones((3, 3))), "a.npy must have shape"),
    ("a.npy", npy(np.ones((0, 2))), "a.npy: no points given"),
    ("a.npy", npy(np.ones((3, 2)) * 1j), "a.npy must be real numbers, got complex"),
    ("a.npy", npy(np.array([["a", "b"]])), "a.npy must be real numbers"),
    ("a.npz", truncated_npz(), "a.npz is damaged or truncated"),
    ("a.npz", npy(np.ones((3, 2))), "a.npz is not an npz archive"),
    ("a.csv.gz", gzip.compress(b"1,2\n" * 100, mtime=0)[:20], "damaged or truncated gzip"),
    ("a.stp", b"33D32945 STP\nSECTION Graph\nEND\n", "a.stp has no coordinates"),
    ("a.stp", b"SECTION Coordinates\nDD 1 2\n", "a.stp, line 2: expected 'DD i x y'"),
    ("a.stp", b"SECTION Coordinates\nDDD 1 2 3 4\n", "a.stp, line 2: expected 'DD i x y'"),
    (
        "a.stp",
        b"SECTION Terminals\nT 7\nEND\nSECTION Coordinates\nDD 1 2 3\n",
        "a.stp, line 2: terminal '7' has no coordinates",
    ),
    ("a.tsp", b"NAME: a\n", "a.tsp has no nodes"),
    ("a.tsp", b"EDGE_WEIGHT_TYPE: EXPLICIT\n", "'EXPLICIT' has no plane coordinates"),
    ("a.tsp", b"NODE_COORD_SECTION\n1 2\n", "a.tsp, line 2: expected a node's number, x and y"),
    ("a.tsp", b"DIMENSION: 2\nNODE_COORD_SECTION\n1 2 3\n", "DIMENSION is '2' but"),
    ("a.xlsx", b"1,2\n", "the suffix .xlsx is not known; accepted: csv"),
]


@pytest.mark.parametrize(("name", "content", "message"), BAD_FILES)
def test_bad_files_get_one_sentence(
    tmp_path: Path, name: str, content: bytes, message: str
) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(DeepSteinerError, match=message) as caught:
        load_points(tmp_path / name)
    text = str(caught.value)
    assert "\n" not in text
    assert name in text
    assert len(text) < 300 + len(str(tmp_path))


def test_no_such_file_and_a_folder(tmp_path: Path) -> None:
    with pytest.raises(DeepSteinerError, match=r"no\.csv does not exist"):
        load_points(tmp_path / "no.csv")
    with pytest.raises(DeepSteinerError, match="is a folder; expected a file"):
        load_points(tmp_path)
    with pytest.raises(DeepSteinerError, match="expected a path or an open file, got int"):
        load_points(7)  # type: ignore[arg-type]
    with pytest.raises(DeepSteinerError, match="cannot be read"):
        load_points("a\0b.csv")


def test_bad_arguments(tmp_path: Path) -> None:
    with pytest.raises(DeepSteinerError, match="format must be one of csv"):
        load_points(io.StringIO("1 2"), format="xml")
    with pytest.raises(DeepSteinerError, match="key= names an array"):
        load_points(io.StringIO("1 2"), key="points")
    with pytest.raises(DeepSteinerError, match="there is no 1"):
        load_points(io.StringIO("1 2"), key=1)
    with pytest.raises(DeepSteinerError, match="coordinates must be finite"):
        save_points([[np.nan, 0]], tmp_path / "a.csv")
    with pytest.raises(DeepSteinerError, match="no points given"):
        save_points([], tmp_path / "a.csv")
    with pytest.raises(DeepSteinerError, match="no known suffix"):
        save_points([[0, 0]], tmp_path / "a.xml")
    with pytest.raises(DeepSteinerError, match="cannot be written"):
        save_points([[0, 0]], tmp_path / "missing" / "a.csv")
    with pytest.raises(DeepSteinerError, match="cannot be written"):
        save_points([[0, 0]], tmp_path, "csv")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt, SystemExit])
def test_interrupted_writes_leave_the_old_file(tmp_path: Path, error: type[BaseException]) -> None:
    path = tmp_path / "a.txt"
    path.write_text("old")

    def interrupted() -> None:
        with atomic_write(path) as stream:
            stream.write("half of the n")
            raise error

    with pytest.raises(error):
        interrupted()
    assert path.read_text() == "old"
    assert [file.name for file in tmp_path.iterdir()] == ["a.txt"]


def test_killed_process_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("old")
    program = (
        "import os, sys; from deepsteiner.io import atomic_write\n"
        "with atomic_write(sys.argv[1]) as stream: stream.write('half'); os.abort()"
    )
    done = subprocess.run([sys.executable, "-c", program, str(path)], check=False)
    assert done.returncode != 0
    assert path.read_text() == "old"


def test_atomic_write_keeps_links_and_modes(tmp_path: Path) -> None:
    real, link = tmp_path / "real.txt", tmp_path / "link.txt"
    real.write_text("old")
    real.chmod(0o640)
    link.symlink_to(real)
    with atomic_write(link, sync=True) as stream:
        stream.write("new")
    assert link.is_symlink()
    assert real.read_text() == "new"
    assert real.stat().st_mode & 0o777 == 0o640
    with atomic_write("/dev/null", "wb") as stream:
        stream.write(b"gone")
    assert Path("/dev/null").is_char_device()


@pytest.mark.parametrize("format", POINT_FORMATS)
def test_random_damage_never_gets_past_the_errors(format: str) -> None:
    rng = np.random.default_rng(0)
    stream = io.BytesIO()
    save_points(rng.random((5, 2)), stream, format)
    data = stream.getvalue()
    for _ in range(150):
        damaged = bytearray(data)
        if rng.random() < 0.5:
            start, stop = np.sort(rng.integers(len(data), size=2))
            del damaged[start:stop]
        else:
            damaged[rng.integers(len(data))] = rng.integers(256)
        for announced in (format, None):
            # Most are refused; a damaged digit may still be a number.
            with contextlib.suppress(DeepSteinerError):
                load_instances(io.BytesIO(damaged), format=announced)
