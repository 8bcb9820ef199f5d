"""Files that lie, overflow, or never end: every reader answers in one sentence, or reads right."""

from __future__ import annotations

import contextlib
import gzip
import io
import json
import os
import struct
import threading
import tracemalloc
import warnings
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from deepsteiner.cli import run
from deepsteiner.core.errors import DeepSteinerError
from deepsteiner.core.solution import Solution
from deepsteiner.io import (
    POINT_FORMATS,
    arrays,
    load_instances,
    load_points,
    load_solution,
    save_points,
    sources,
)

DEEP = b"[" * 100_000
NESTED = b"[" * 900 + b"]" * 900  # as deep as the parser lets pass


def npy(header: str, body: bytes = b"", version: int = 1) -> bytes:
    text = header.encode("latin1")
    size = struct.pack("<H" if version == 1 else "<I", len(text))
    return b"\x93NUMPY" + bytes([version, 0]) + size + text + body


def header(descr: str = "'<f8'", shape: str = "(3, 2)", order: str = "False") -> str:
    return f"{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}, }}\n"


def npz(*members: tuple[str, bytes], packing: int = zipfile.ZIP_DEFLATED) -> bytes:
    stream = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about names given twice, which is the point
        with zipfile.ZipFile(stream, "w", packing) as archive:
            for name, content in members:
                archive.writestr(name, content)
    return stream.getvalue()


SIX = npy(header(), bytes(48))


def tree(**changes: Any) -> bytes:
    terminals = [[0.0, 0.0], [1.0, 0.0], [1.0, 1.0]]
    data = Solution(terminals, [], [[0, 1], [1, 2]], 2.0, method="mst").to_dict()
    return json.dumps({**data, **changes}).encode()


HOSTILE = [
    # Tables.
    ("csv", b"x,y\n" + b"1," * 1_000_000, "line 2: expected 2 columns as the header names"),
    ("csv", b"x,y\n1,5,2,5\n", "line 2: expected 2 columns as the header names, got 4"),
    ("csv", b"x y\n1 0.5 0.6\n2 0.7 0.8\n", "line 2: expected 2 columns as the header names"),
    ("csv", b"x,x,y\n1,2,3\n", "line 1: two columns named 'x'"),
    ("csv", b"," * 200_000 + b"\n1,2\n", "line 1: expected two columns"),
    ("csv", b'"1,2\n3,4\n', "line 1: expected two columns"),
    ("csv", b"\x89PNG\r\n\x1a\n\x00\x00", "line 1: expected UTF-8 text"),
    ("csv", "1,2\n3,4\n".encode("utf-16-le"), "expected text, got binary data"),
    ("csv", "1,2\n3,4\n".encode("utf-32"), "expected text, got binary data"),
    ("csv", b"1" * 5000 + b",1\n", "coordinates must be finite"),
    ("csv", b"# deepsteiner-solution: 1\n# crs: " + NESTED, "no points given"),
    ("csv", b"# deepsteiner-solution: 1\n", "no points given"),
    ("tsv", b"1\t2\t3\n", "got 3 columns"),
    ("tsv", b"x\ty\n1\t\n", "line 2: expected at least 2 columns"),
    ("tsv", b"a\tb\nc\td\n", "line 2: expected a number"),
    ("tsv", b"\t\t\t\n", "is empty"),
    ("tsv", b"1\t2\n3", "line 2: .*, got one column"),
    ("txt", b"\xff\xfe", "is empty|no points"),
    # JSON.
    ("json", DEEP, "not valid JSON .a number too long or lists too deep."),
    ("json", b'{"a":' * 100_000, "not valid JSON"),
    ("json", b'{"points": ' + NESTED + b"}", "rows have different lengths"),
    ("json", b'{"points": [[0, 0]], "crs": ' + NESTED + b"}", "'crs' must be text"),
    ("json", b"[[1" + b"0" * 10_000 + b", 2]]", "not valid JSON .a number too long"),
    ("json", b"[[1" + b"0" * 400 + b", 2]]", "real numbers"),
    ("json", b'{"points": [[0, 0]], "points": [[1, 1]]}', "an object has two members 'points'"),
    ("json", b'{"points": [[0, 0]], "crs": "\\ud800"}', "half of a surrogate pair"),
    ("json", b'["\\udc00"]', "half of a surrogate pair"),
    ("json", b"[[1, 2]]\x00", "expected text, got binary data"),
    ("json", b'{"points": [[0, 0]], "crs": true}', "'crs' must be text"),
    ("json", b"[[1, 2], [1e999, 0]]", "coordinates must be finite"),
    ("json", b"[[[1, 2]], 3]", "instance 1 must have shape"),
    ("json", "[[1, 2]".encode("utf-16"), "not valid JSON"),
    ("jsonl", DEEP, "line 1: not valid JSON"),
    ("jsonl", b"[[1, 2]]\nnull\n", "line 2: expected"),
    ("jsonl", b'{"points": [[1, 2]], "points": 0}', "line 1: an object has two members"),
    ("jsonl", b'[[1, 2]]\n{"crs": "\\ud800"}', "line 2: a string holds half"),
    ("jsonl", b"[[1" + b"0" * 10_000 + b", 2]]", "line 1: not valid JSON"),
    ("jsonl", b"[[1, 2]]\n\x00", "expected text, got binary data"),
    ("geojson", b'{"type": "FeatureCollection", "features": 5}', "not valid GeoJSON"),
    ("geojson", b'{"type": "FeatureCollection", "features": {"a": 1}}', "not valid GeoJSON"),
    ("geojson", b'{"type": "MultiPoint", "coordinates": ' + NESTED + b"}", "a GeoJSON position"),
    ("geojson", b'{"type": "Point", "coordinates": ["1", "2"]}', "real numbers"),
    ("geojson", b'{"type": "Point", "coordinates": [1, 2], "crs": 5}', "does not name a system"),
    (
        "geojson",
        b'{"type": "GeometryCollection", "geometries": ['
        + b'{"type": "GeometryCollection", "geometries": [' * 300
        + b"]}" * 301,
        "no points given",
    ),
    ("geojson", b'{"type": "' + b"a" * 100_000 + b'"}', "expected"),
    (
        "geojson",
        b'{"type": "FeatureCollection", "deepsteiner": {"format": 1, "crs": ' + NESTED + b"},"
        b'"features": [{"properties": {"kind": "terminal", "id": 0},'
        b'"geometry": {"coordinates": [1, 2]}}]}',
        "crs must be text",
    ),
    # numpy.
    ("npy", npy(header(shape="(1000000000000, 2)")), "its header says .1000000000000, 2."),
    ("npy", npy(header(shape="(1099511627776, 1099511627776)")), "damaged or truncated"),
    ("npy", npy(header(shape="(-3, 2)"), bytes(48)), "damaged or truncated"),
    ("npy", npy(header(shape="(-3, -2)"), bytes(48)), "damaged or truncated"),
    ("npy", npy(header("'|V0'", "(1000000000000000000, 2)")), "damaged or truncated"),
    ("npy", npy(header("'|O'"), bytes(48)), "holds Python objects"),
    ("npy", npy(header("[('a', '<f8'), ('b', '|O')]"), bytes(48)), "holds Python objects"),
    ("npy", npy("(" * 9000), "damaged or truncated"),
    ("npy", npy(header(), bytes(47)), "and 47 bytes follow"),
    ("npy", npy(header(), bytes(49)), "and 49 bytes follow"),
    ("npy", SIX + SIX, "damaged or truncated"),
    ("npy", npy(header("'<M8[ns]'"), bytes(48)), "must be real numbers"),
    ("npy", npy(header(), bytes(48), version=9), "damaged or truncated"),
    ("npz", npz(("points.npy", SIX), ("points.npy", SIX)), "holds the array 'points' twice"),
    ("npz", npz(("points.npy", SIX), packing=zipfile.ZIP_LZMA), "damaged or truncated"),
    ("npz", npz(("points.npy", b"")), "damaged or truncated"),
    ("npz", npz(("points.npy", npy(header(shape="(10000000000, 2)")))), "its header says"),
    ("npz", npz(("a" * 60_000, SIX), ("b", SIX)), "it holds 'aaa"),
    (
        "npz",
        npz(
            ("points.npy", SIX),
            ("sizes.npy", npy(header("'<u8'", "(2,)"), struct.pack("<QQ", 2**64 - 1, 4))),
        ),
        "'sizes' sum to 18446744073709551619",
    ),
    (
        "npz",
        npz(("points.npy", SIX), ("crs.npy", npy(header("'<U1'", "()"), b"\xff\xff\xff\xff"))),
        "must be a single string",
    ),
    ("npz", npz(("points.npy", SIX), ("crs.npy", SIX)), "must be a single string"),
    # Node lists.
    ("stp", b"SECTION Coordinates\nDD 1 1 2\nDD 1 3 4\n", "node '1' has coordinates already"),
    (
        "stp",
        b"SECTION Graph\nNodes -5\nEND\nSECTION Coordinates\nDD 1 1 2\n",
        "line 2: the number of nodes with coordinates is stated as '-5', but it is 1",
    ),
    (
        "stp",
        b"SECTION Graph\nNodes 1000000000000000000\nEND\nSECTION Coordinates\nDD 1 1 2\n",
        "is stated as '1000000000000000000', but it is 1",
    ),
    (
        "stp",
        b"SECTION Coordinates\nDD 1 1 2\nDD 2 1 3\nEND\nSECTION Terminals\nTerminals 2\nT 1\n",
        "the number of terminals is stated as '2', but it is 1",
    ),
    ("stp", b"SECTION\nSECTION Coordinates\nDD\n", "line 3: expected 'DD i x y'"),
    ("stp", b"SECTION Coordinates\nDD 1 nan 2\n", "coordinates must be finite"),
    ("stp", b"SECTION Coordinates\nDD 1 1e400 2\n", "coordinates must be finite"),
    ("tsp", b"DIMENSION : -5\nNODE_COORD_SECTION\n1 2 3\n", "DIMENSION is '-5' but"),
    ("tsp", b"DIMENSION : 1000000000000000000\nNODE_COORD_SECTION\n1 2 3\n", "DIMENSION is '1000"),
    ("tsp", b"NODE_COORD_SECTION\n1 2 3\n1 4 5\n", "line 3: node '1' has coordinates already"),
    ("tsp", b"NODE_COORD_SECTION\n1 1e400 2\n", "coordinates must be finite"),
    ("tsp", b"DIMENSION: 1\nEDGE_WEIGHT_TYPE : GEO\nNODE_COORD_SECTION\n1 999 3\n", "latitudes"),
    ("tsp", b"NODE_COORD_SECTION\n1 2 3 4\n", "line 2: expected a node's number"),
    ("tsp", b"EOF\n", "has no nodes"),
    ("estein", b"-5\n0 0\n", "line 1: expected the number of instances"),
    ("estein", b"999999999\n0 0\n", "ends where point 2 of 999999999"),
    ("estein", b"1\n999999999\n0 0\n", "ends where point 2 of 999999999"),
    ("estein", b"0000000001" + b"0" * 5000 + b"\n1\n", "line 1: expected the number of instances"),
    ("estein", b"1\n-1\n0 0\n", "line 2: expected the size of instance 1"),
    ("estein", b"\x1f\n", "ends where the number of instances was expected"),
    ("estein", b"1\n1\n", "ends where point 1 of 1"),
    ("estein", b"\x00" * 10, "expected text, got binary data"),
]


def expect_sentence(load: Callable[[], Any], message: str) -> None:
    with pytest.raises(DeepSteinerError, match=message) as caught:
        load()
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize(
    ("format", "content", "message"), HOSTILE, ids=[f"{f}-{m[:40]}" for f, _, m in HOSTILE]
)
def test_hostile_points_get_one_sentence(format: str, content: bytes, message: str) -> None:
    expect_sentence(lambda: load_instances(io.BytesIO(content), format=format), message)


def test_what_only_looks_hostile_is_read() -> None:
    expected = [[1.0, 2.0], [3.0, 4.0]]
    for format, content in (
        ("csv", "x,y\r\n1,2\r\n3,4\r\n".encode("utf-16")),
        ("csv", b"x,y\n1,2,\n3,4,\n"),
        ("csv", b"x,y\n1,2 # first, of two\n3,4\n"),
        ("csv", b"x y\n1 2 # first of two\n3 4\n"),
        ("csv", b'n,x,y\n"a, b, c",1,2\n"d",3,4\n'),
        ("csv", b"\xef\xbb\xbf1;2\r3;4\r"),
        ("json", b'\xef\xbb\xbf{"points": [[1, 2], [3, 4]], "name": "\\ud83c\\udf33"}'),
        ("npy", npy(header(shape="(2L, 2L)"), struct.pack("<4d", 1, 2, 3, 4))),
        ("npy", npy(header(shape="(2, 2)", order="True"), struct.pack("<4d", 1, 3, 2, 4))),
        ("npy", npy(header("'>f4'", "(2, 2)"), struct.pack(">4f", 1, 2, 3, 4), version=2)),
        ("stp", "SECTION Coordinates\r\nDD 1 1 2\r\nDD 2 3 4\r\nEND\r\n".encode("utf-16")),
    ):
        assert load_points(io.BytesIO(content), format=format).tolist() == expected, content


BAD_TREES = [
    (DEEP, "not valid JSON"),
    (b"null", "expected a saved solution"),
    (tree(length=10**400), "'length' must be a finite number, got 1000"),
    (tree(lower_bound=-(10**400)), "'lower_bound' must be a finite number"),
    (tree(runtime=float("nan")), "'runtime' must be a finite number"),
    (tree(status="proven"), "'status' must be one of optimal"),
    (tree(status={"a": 1}), "'status' must be one of optimal"),
    (tree(edges=[[0, 2**63], [1, 2]]), "edges must be pairs of node numbers"),
    (tree(edges=[[0, 2**64], [1, 2]]), "edges must be pairs of node numbers"),
    (tree(edges=[[0, -1], [1, 2]]), "names a node that does not exist"),
    (tree(edges={"a": 1}), "edges must be pairs"),
    (tree(info={"relays": True}), "info 'relays' must count Steiner points"),
    (tree(info={"relays": 10**30}), "info 'relays' must count Steiner points"),
    (tree(method="\u0007"), "'method' must be printable text"),
    (tree(method="\ud800"), "half of a surrogate pair"),
    (tree(crs="\0"), "not a coordinate reference system|need pyproj"),
    (b'{"format": ' + NESTED + b"}", "'format' must be"),
    (tree().replace(b"{", b'{"length": 5, ', 1), "an object has two members 'length'"),
    (tree()[:-20], "not valid JSON"),
    (tree(**{"a" * 100_000: 1}), "unknown fields: 'aaa"),
]


@pytest.mark.parametrize(
    ("content", "message"), BAD_TREES, ids=[message[:40] for _, message in BAD_TREES]
)
def test_hostile_solutions_get_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: bytes, message: str
) -> None:
    expect_sentence(lambda: load_solution(io.BytesIO(content)), message)
    (tmp_path / "tree.json").write_bytes(content)
    for command in (["convert", "tree.json", "out.csv"], ["verify", "tree.json", "--strict"]):
        with contextlib.chdir(tmp_path):
            code = run([*command, "--quiet"])
        error = capsys.readouterr().err
        assert code in (0, 2)  # verify minds neither runtime nor method
        assert error.count("\n") == (code == 2)
        assert len(error) < 600


def test_a_solution_whose_notes_are_too_deep_is_not_written() -> None:
    content = tree(info=json.loads(b'{"a": ' * 600 + b"1" + b"}" * 600))
    solution = load_solution(io.BytesIO(content))
    expect_sentence(solution.to_dict, "the solution's info: lists or objects are nested too deep")


# --- sizes ----------------------------------------------------------------------------------------


@pytest.fixture
def small_limit(monkeypatch: pytest.MonkeyPatch) -> int:
    """Let packed and piped input hold 64 KiB at most, in pieces of 1 KiB."""
    monkeypatch.setattr(sources, "_PIECE", 1 << 10)
    for module in (sources, arrays):
        monkeypatch.setattr(module, "LARGEST_UNPACKED", 1 << 16)
    return 1 << 16


TOO_LARGE = "holds more than 0 MiB, the most that is read from packed files, pipes and devices"


def test_the_limit_is_what_the_documentation_says() -> None:
    assert sources.LARGEST_UNPACKED == 1024 << 20
    assert "1 GiB (1,024 MiB)" in (load_points.__doc__ or "")
    assert "holds more than 1,024 MiB" in str(sources.too_large("a.npz"))


def test_packed_files_are_read_up_to_the_limit(tmp_path: Path, small_limit: int) -> None:
    lines = b"0.25,0.75\n" * (small_limit // 10)
    (tmp_path / "small.csv.gz").write_bytes(gzip.compress(lines))
    assert len(load_points(tmp_path / "small.csv.gz")) == small_limit // 10
    (tmp_path / "large.csv.gz").write_bytes(gzip.compress(lines + b"1,2\n" * 3))
    expect_sentence(lambda: load_points(tmp_path / "large.csv.gz"), TOO_LARGE)
    (tmp_path / "large.csv").write_bytes(lines + b"1,2\n" * 3)  # a plain file may be any size
    assert len(load_points(tmp_path / "large.csv")) == small_limit // 10 + 3


def test_archives_are_unpacked_up_to_the_limit(tmp_path: Path, small_limit: int) -> None:
    path = tmp_path / "a.npz"
    np.savez_compressed(path, points=np.zeros((4000, 2)))
    assert load_points(path).shape == (4000, 2)
    np.savez_compressed(path, points=np.zeros((5000, 2)))
    assert path.stat().st_size < 2000
    expect_sentence(lambda: load_points(path), TOO_LARGE)
    # Not member by member, but in all.
    np.savez_compressed(path, points=np.zeros((3000, 2)), sizes=np.ones(3000, dtype=np.int64))
    expect_sentence(lambda: load_points(path), TOO_LARGE)
    np.savez(path, points=np.zeros((5000, 2)))  # nothing is packed: as large as it looks
    assert load_points(path).shape == (5000, 2)


def test_an_archive_that_lies_about_a_size_is_not_unpacked(small_limit: int) -> None:
    member = npy(header(shape="(1250000, 2)"), bytes(20_000_000))
    stated = struct.pack("<L", len(member))
    content = npz(("points.npy", member))
    assert content.count(stated) == 2  # in front of the member and in the directory
    lying = content.replace(stated, struct.pack("<L", 200))
    tracemalloc.start()
    try:
        expect_sentence(lambda: load_points(io.BytesIO(lying), format="npz"), "is damaged")
        assert tracemalloc.get_traced_memory()[1] < 2_000_000
    finally:
        tracemalloc.stop()


def test_devices_and_pipes_without_end_are_left(small_limit: int, tmp_path: Path) -> None:
    expect_sentence(lambda: load_points("/dev/zero"), TOO_LARGE)
    with open("/dev/zero", "rb") as stream:
        expect_sentence(lambda: load_points(stream), TOO_LARGE)
    expect_sentence(lambda: load_points("/dev/null"), "is empty")


def test_a_pipe_is_read_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pipe = tmp_path / "pipe"
    for content, out in ((b"0,0\n1,1\n", "points.csv"), (tree(), "tree.csv")):
        os.mkfifo(pipe)
        writer = threading.Thread(target=pipe.write_bytes, args=(content,))
        writer.start()
        assert run(["convert", str(pipe), str(tmp_path / out), "--quiet"]) == 0
        writer.join()
        pipe.unlink()
    assert load_points(tmp_path / "points.csv").tolist() == [[0, 0], [1, 1]]
    assert load_solution(tmp_path / "tree.csv").length == 2.0
    assert capsys.readouterr() == ("", "")


def test_folders_links_and_forbidden_names(tmp_path: Path) -> None:
    loop = tmp_path / "loop.csv"
    loop.symlink_to(loop)
    expect_sentence(lambda: load_points(loop), "cannot be read")
    expect_sentence(lambda: load_solution(tmp_path), "is a folder")
    expect_sentence(lambda: load_points("a" * 300 + ".csv"), "cannot be read")
    expect_sentence(lambda: save_points([[0, 0]], tmp_path / "a\0b.csv"), "cannot be written")
    expect_sentence(lambda: save_points([[0, 0]], tmp_path / ("a" * 260 + ".csv")), "be written")

    class Odd:
        def read(self, size: int = -1) -> int:
            return 10**12

    expect_sentence(lambda: load_points(Odd()), "expected text or bytes, got int")  # type: ignore[arg-type]


# --- seeded damage --------------------------------------------------------------------------------

TOKENS = [
    b"-5", b"0", b"1e400", b"nan", b"1" + b"0" * 30, b"1" + b"0" * 5000, b"null", b"[]", b"{}",
    b"\x00", b"\xff\xfe", b"\xef\xbb\xbf", b"\r\n", b"\n", b",", b'"', b"\\ud800", b"[" * 2000,
    b"#", b"PK\x03\x04", b"\x93NUMPY", b"true", b":", b"EOF", b"SECTION",
]  # fmt: skip


def damaged(whole: bytes, rng: np.random.Generator) -> bytes:
    """Change a file a little: bytes, a piece cut out or repeated, numbers and words exchanged."""
    content = bytearray(whole)
    for _ in range(int(rng.integers(1, 4))):
        at = int(rng.integers(len(content) + 1))
        end = min(at + int(rng.integers(1, 40)), len(content))
        kind = rng.integers(6)
        if kind == 0 and content:
            content[at - 1] ^= 1 << int(rng.integers(8))
        elif kind == 1:
            del content[at:end]
        elif kind == 2:
            content[at:at] = content[at:end]
        elif kind == 3:
            del content[at:]
        else:
            token = TOKENS[int(rng.integers(len(TOKENS)))]
            content[at : at if kind == 4 else end] = token
    return bytes(content)


def samples() -> Iterator[tuple[str, bytes]]:
    """Yield a valid file of every format, plain and packed."""
    points = np.random.default_rng(0).random((6, 2))
    for format in POINT_FORMATS:
        stream = io.BytesIO()
        save_points(points, stream, format)
        yield format, stream.getvalue()
        yield format, gzip.compress(stream.getvalue(), mtime=0)
    several = io.BytesIO()
    save_points([points, points[:4]], several, "npz")
    yield "npz", several.getvalue()


@pytest.mark.parametrize(
    ("format", "whole"),
    [pytest.param(*each, id=f"{i} {each[0]}") for i, each in enumerate(samples())],
)
def test_damaged_points_are_refused_or_read(format: str, whole: bytes) -> None:
    rng = np.random.default_rng(1)
    for _ in range(80):
        content = damaged(whole, rng)
        for announced in (format, None):
            try:
                found = load_instances(io.BytesIO(content), format=announced)
            except DeepSteinerError as error:
                text = str(error)
            else:
                text = ""
                assert all(np.isfinite(np.asarray(points)).all() for points in found)
            assert "\n" not in text
            assert len(text) < 400


@pytest.mark.parametrize("format", ["json", "geojson", "csv"])
def test_damaged_solutions_are_refused_or_valid(
    format: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rng = np.random.default_rng(2)
    terminals = [[0.0, 0.0], [1.0, 0.0], [0.5, 0.75**0.5]]
    edges = [[0, 3], [1, 3], [2, 3]]
    solution = Solution(terminals, [[0.5, 0.75**0.5 / 3]], edges, 3**0.5, 1.0, info={"a": [1, 2]})
    path = tmp_path / f"tree.{format}"
    solution.save(path)
    whole = path.read_bytes()
    for number in range(200):
        content = damaged(whole, rng)
        with contextlib.suppress(DeepSteinerError):
            load_solution(io.BytesIO(content)).validate()
        with contextlib.suppress(DeepSteinerError):
            load_instances(io.BytesIO(content))
        if number % 4 == 0:  # the command line takes a while
            path.write_bytes(content)
            code = run(["verify", str(path), "--quiet", "--strict"])
            assert code in (0, 2)
            assert capsys.readouterr().err.count("\n") == (code == 2)
