"""Requests that nobody sends by mistake: what `server_hostile.py` attacks a server with."""

from __future__ import annotations

import json
from dataclasses import dataclass

SIZE = 4 * 2**20
SQUARE = [[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]]
DIGITS = "9" * 400
# Arguments of `solve` itself, and what reads, writes or takes the server's cores.
RESERVED = (
    "time_limit", "on_progress", "trace", "crs", "project_to", "duplicates", "device", "seed",
    "points", "method", "save_fsts", "load_fsts", "start", "threads",
)  # fmt: skip
# What the library behind systems would open, look up elsewhere, or run as a pipeline.
SYSTEMS = (
    "/etc/passwd",
    "+init=/etc/passwd:x",
    "+proj=pipeline +step +proj=hgridshift +grids=/etc/passwd",
    "+proj=tmerc +nadgrids=/etc/passwd",
    "file:///etc/passwd",
    '{"type":"GeographicCRS"}',
    f"EPSG:{DIGITS}",
    "\0EPSG:4326",
    'GEOGCS["a"]',
)
MODELS = ("/etc", "../..", "..", ".", "/proc/self", "models")
ORIGINS = ("http://[", "http://[::1", "null", "http://evil.example", f"http://{'a' * 8000}", "//")
HOSTS = ("[", "evil.example", "127.0.0.1.evil.example", "a" * 8000, "127.0.0.1@evil.example", "")
PATHS = (
    "/page/%00",
    "/page/" + "a" * 8000,
    "/page/..%2fapp.py",
    "/page/%2e%2e/%2e%2e/api.py",
    "/page//etc/passwd",
    "/%ed%a0%80",
    "/api/samples/%00",
    "/api/jobs/%00",
)
QUERIES = (f"n={DIGITS}", "n=1e9", "n=%00", "seed=" + "9" * 5000, "seed=-1")
LENGTHS = (DIGITS, "9" * 5000, "-1", "1e3", "0x10", "")


@dataclass(frozen=True)
class Attack:
    """A request as bytes, and the statuses that are right answers to it."""

    name: str
    request: bytes
    statuses: tuple[int, ...] = (413, 422)


def request(path: str, body: bytes = b"", verb: str = "POST", **headers: str) -> bytes:
    """Return the bytes of a request."""
    fields = {"Host": "127.0.0.1", "Content-Type": "application/json"}
    if verb == "POST":
        fields["Content-Length"] = str(len(body))
    fields |= {name.replace("_", "-"): value for name, value in headers.items()}
    head = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
    return f"{verb} {path} HTTP/1.1\r\n{head}\r\n".encode("latin-1") + body


def filled(start: str, piece: str, end: str, size: int = SIZE) -> bytes:
    """Return a text of about `size` bytes: many pieces between a start and an end."""
    count = (size - len(start) - len(end) - 2) // (len(piece) + 1)
    return (start + ",".join([piece] * count) + end).encode()


def solve(text: str | bytes) -> bytes:
    """Return a request for a tree with this body."""
    return request("/api/solve", text.encode() if isinstance(text, str) else text)


def points(piece: str, size: int = SIZE) -> bytes:
    """Return a request for a tree with as many of these points as fit."""
    return solve(filled('{"points":[', piece, "]}", size))


def one_point(fields: str) -> bytes:
    """Return a request for the tree of one point, with fields as they stand."""
    return solve('{"points":[[0,0]],' + fields + "}")


def square(**fields: object) -> bytes:
    """Return a request for the tree of a square, with other fields beside it."""
    return solve(json.dumps({"points": SQUARE, **fields}))


def export(format: str = "json", **fields: object) -> bytes:
    """Return a request for the file of the tree of two points, with fields replaced."""
    solution = {
        "format": "deepsteiner-solution", "version": 1, "length": 1.0, "lower_bound": None,
        "status": "feasible", "method": "mst", "runtime": 0.0, "crs": None, "plane_crs": None,
        "info": {}, "terminals": [[0.0, 0.0], [1.0, 0.0]], "steiner_points": [],
        "edges": [[0, 1]], **fields,
    }  # fmt: skip
    return request("/api/export", json.dumps({"solution": solution, "format": format}).encode())


def read(content: bytes, name: str = "points.csv") -> bytes:
    """Return a request to read a file."""
    return request("/api/read", content, X_Filename=name)


def large_bodies() -> list[Attack]:
    """Return bodies of 4 MB."""
    room = SIZE - 200
    nulls = filled('{"format":"svg","solution":{"terminals":[', "null", "]}}")
    edges = filled('{"points":[[0,0]],"start":{"edges":[', "[0]", "]}}")
    return [
        Attack("1.4 million empty points", points("[]")),
        Attack("2 million zeros for points", points("0")),
        Attack("350,000 points of null", points("[null,null]")),
        Attack('1.4 million points of ""', points('""')),
        Attack("700,000 good points", points("[0,0]")),
        Attack("100,000 good points", points("[0,0]", 599_990)),
        Attack("one point of 2 million numbers", solve(filled('{"points":[[', "0", "]]}"))),
        Attack("1.4 million objects", points("{}")),
        Attack("700,000 unknown fields", solve(filled("{", '"x":0', "}"))),
        Attack("1,000 integers of 4,000 digits", points(f"[{'9' * 4000},0]")),
        Attack("10,000 integers of 400 digits", points(f"[{DIGITS},0]")),
        Attack("one number of 4 MB", solve('{"points":[[0.' + "3" * room + ',"a"]]}')),
        Attack("a method's name of 4 MB", square(method="m" * room)),
        Attack("an option's name of 4 MB", square(options={"o" * room: 1})),
        Attack("an option of 4 MB", square(method="local", options={"effort": "e" * room})),
        Attack("a start of 4 MB", solve(edges)),
        Attack("4 MB of brackets", solve("[" * SIZE)),
        Attack("800,000 objects in each other", solve('{"a":' * (SIZE // 5))),
        Attack("4 MB of backslashes", solve('{"points":"' + "\\\\" * (room // 2) + '"}')),
        Attack("4 MB of spaces", solve(" " * SIZE)),
        Attack("a solution of nulls", request("/api/export", nulls)),
        Attack("a file of 1.4 million lists", read(filled("[", "[]", "]"), "a.json")),
        Attack("a file of 2 million lines", read(b"0\n" * (SIZE // 2))),
        Attack("a file of 1 million good lines", read(b"0 0\n" * (SIZE // 4))),
        Attack("a file of 500,000 objects", read(filled("[", '{"x":0}', "]"), "a.json")),
    ]


def odd_bodies() -> list[Attack]:
    """Return small bodies that break careless code."""
    nested = '"options":' + '{"a":' * 900 + "1" + "}" * 900
    iterations = '"method":"bereta","options":{"iterations":' + DIGITS + "}"
    return [
        Attack("an integer of 400 digits", solve('{"points":[[0,' + DIGITS + "]]}")),
        Attack("a time limit of 400 digits", one_point(f'"time_limit":{DIGITS}')),
        Attack("a seed of 400 digits", one_point(f'"seed":{DIGITS}')),
        Attack("an option of 400 digits", one_point(iterations)),
        Attack("a longest edge of 400 digits", one_point(f'"max_edge":{DIGITS}')),
        Attack("a length of 400 digits", export(length=int(DIGITS))),
        Attack("NaN", solve('{"points":[[0,NaN]]}')),
        Attack("Infinity", solve('{"points":[[0,-Infinity]]}')),
        Attack("1e999", solve('{"points":[[0,1e999]]}')),
        Attack("1e-999999999", one_point('"max_edge":1e-999999999')),
        Attack("a time limit of NaN", one_point('"time_limit":NaN')),
        Attack("a lone surrogate as method", one_point('"method":"\\ud800"')),
        Attack("a lone surrogate as field", one_point('"\\ud800":1')),
        Attack("a lone surrogate as option", one_point('"options":{"effort":"\\udfff"}')),
        Attack("a lone surrogate in a solution", export(method="\ud800", format="svg")),
        Attack("NUL as method", one_point('"method":"\\u0000"')),
        Attack("NUL as model", square(method="policy", options={"model": "a\0b"})),
        Attack("NUL in a solution", export(info={"note": "\0"}, format="csv")),
        Attack("a NUL byte", one_point('"method":"\0"')),
        Attack("bytes that are no text", solve(b'{"points":[[0,0]],"method":"\xff\xfe"}')),
        Attack("16,000 levels", solve('{"points":' + "[" * 16_000)),
        Attack("900 levels of options", one_point(nested)),
        Attack("900 levels in a solution", export(info=json.loads("[" * 900 + "]" * 900))),
        Attack("a body that ends early", solve('{"points":[[0,0')),
        Attack("twice the points", one_point('"points":3')),
    ]


def forbidden() -> list[Attack]:
    """Return requests for what belongs to the server alone: files, arguments, other hosts."""
    files = [json.dumps({"points": SQUARE, "crs": system}).encode() for system in SYSTEMS]
    requests = {
        (422,): [
            *(square(method="exact", options={name: "/tmp/x"}) for name in RESERVED),
            *(export(crs=system) for system in SYSTEMS),
            *(export(crs="EPSG:4326", plane_crs=system) for system in SYSTEMS),
            *(read(file, "a.json") for file in files),
            *(square(method="policy", options={"model": model}) for model in MODELS),
            *(square(method="neural", options={"model": model}) for model in MODELS),
        ],
        (403,): [
            *(request("/api/solve", b"{}", Origin=origin) for origin in ORIGINS),
            *(request("/api/solve", b"{}", Host=host) for host in HOSTS),
        ],
        (404, 405): [request(path, verb="GET") for path in PATHS],
        (413, 422): [request(f"/api/samples/random?{query}", verb="GET") for query in QUERIES],
        (400, 413): [request("/api/solve", b"{}", Content_Length=length) for length in LENGTHS],
    }
    return [
        Attack(repr(content[-60:]), content, statuses)
        for statuses, contents in requests.items()
        for content in contents
    ]
