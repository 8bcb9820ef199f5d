"""Requests that nobody sends by mistake: what `server_hostile.py` attacks a server with."""

from __future__ import annotations

import json
from dataclasses import dataclass
from urllib.parse import quote

MEGABYTE = 2**20
SQUARE = [[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]]


@dataclass(frozen=True)
class Attack:
    """A request as bytes, and the statuses that are right answers to it."""

    name: str
    request: bytes
    statuses: tuple[int, ...] = (422,)


def request(path: str, body: bytes = b"", verb: str = "POST", **headers: str) -> bytes:
    """Return the bytes of a request."""
    fields = {"Host": "127.0.0.1", "Content-Type": "application/json", **headers}
    fields = {"Content-Length": str(len(body)), **fields} if body or verb == "POST" else fields
    head = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in fields.items())
    return f"{verb} {path} HTTP/1.1\r\n{head}\r\n".encode("latin-1") + body


def filled(start: str, piece: str, end: str, size: int = 4 * MEGABYTE) -> bytes:
    """Return a text of about `size` bytes: many pieces between a start and an end."""
    count = (size - len(start) - len(end) - 2) // (len(piece) + 1)
    return (start + ",".join([piece] * count) + end).encode()


def solve(text: str | bytes, path: str = "/api/solve") -> bytes:
    """Return a request with a body given as text."""
    return request(path, text.encode() if isinstance(text, str) else text)


def solve_json(path: str = "/api/solve", **fields: object) -> bytes:
    """Return a request for the tree of a square, with other fields beside it."""
    return solve(json.dumps({"points": SQUARE, **fields}), path)


def solution(**fields: object) -> dict[str, object]:
    """Return the tree of two points as a solution, with fields replaced."""
    return {
        "format": "deepsteiner-solution", "version": 1, "length": 1.0, "lower_bound": None,
        "status": "feasible", "method": "mst", "runtime": 0.0, "crs": None, "plane_crs": None,
        "info": {}, "terminals": [[0.0, 0.0], [1.0, 0.0]], "steiner_points": [],
        "edges": [[0, 1]], **fields,
    }  # fmt: skip


def export(format: str = "json", **fields: object) -> bytes:
    """Return a request for the file of a solution."""
    body = json.dumps({"solution": solution(**fields), "format": format})
    return solve(body, "/api/export")


def read(content: bytes, name: str = "points.csv") -> bytes:
    """Return a request to read a file."""
    return request("/api/read", content, **{"X_Filename": name})


def large_bodies() -> list[Attack]:
    """Return bodies of 4 MB."""
    long_digits = "9" * 4000
    return [
        Attack("1.4 million empty points", solve(filled('{"points":[', "[]", "]}")), (413, 422)),
        Attack("2 million zeros for points", solve(filled('{"points":[', "0", "]}")), (413, 422)),
        Attack("350,000 points of null", solve(filled('{"points":[', "[null,null]", "]}")), (413,)),
        Attack('700,000 points of ""', solve(filled('{"points":[', '""', "]}")), (413, 422)),
        Attack("700,000 good points", solve(filled('{"points":[', "[0,0]", "]}")), (413,)),
        Attack("100,000 good points and no more", solve(filled('{"points":[', "[0,0]", "]}", 599_990)), (413,)),
        Attack("4 MB of one point", solve(filled('{"points":[[', "0", "]]}")), (413, 422)),
        Attack("800,000 objects", solve(filled('{"points":[', "{}", "]}")), (413,)),
        Attack("570,000 unknown fields", solve(filled("{", '"x":0', "}")), (413,)),
        Attack("1,000 integers of 4,000 digits", solve(filled('{"points":[', f"[{long_digits},0]", "]}"))),
        Attack("10,000 integers of 400 digits", solve(filled('{"points":[', f"[{long_digits[:400]},0]", "]}"))),
        Attack("one number of 4 MB", solve(b'{"points":[[0.' + b"3" * (4 * MEGABYTE - 40) + b',"a"]]}')),
        Attack("a method's name of 4 MB", solve_json(method="m" * (4 * MEGABYTE - 200))),
        Attack("an option's name of 4 MB", solve_json(options={"o" * (4 * MEGABYTE - 200): 1})),
        Attack("an option of 4 MB", solve_json(method="local", options={"effort": "e" * (4 * MEGABYTE - 200)})),
        Attack("a start of 4 MB", solve(filled('{"points":[[0,0]],"start":{"edges":[', "[0]", "]}}")), (413, 422)),
        Attack("4 MB of brackets", solve(b"[" * (4 * MEGABYTE)), (413,)),
        Attack("4 MB of objects in objects", solve(b'{"a":' * (4 * MEGABYTE // 5)), (413,)),
        Attack("4 MB of backslashes", solve(b'{"points":"' + b"\\\\" * (2 * MEGABYTE - 20) + b'"}')),
        Attack("4 MB of spaces", solve(b" " * (4 * MEGABYTE))),
        Attack("a solution of 4 MB of nulls", solve(filled('{"format":"svg","solution":{"terminals":[', "null", "]}}"), "/api/export"), (413, 422)),
        Attack("a file of 1.4 million empty lists", read(filled("[", "[]", "]"), "a.json"), (413, 422)),
        Attack("a file of 2 million lines", read(b"0\n" * (2 * MEGABYTE)), (413,)),
        Attack("a file of 1 million good lines", read(b"0 0\n" * MEGABYTE), (413,)),
        Attack("a file of 800,000 objects", read(filled("[", '{"x":0}', "]"), "a.json"), (413, 422)),
    ]  # fmt: skip


def odd_bodies() -> list[Attack]:
    """Return small bodies that break careless code."""
    digits = "9" * 400
    return [
        Attack("an integer of 400 digits", solve('{"points":[[0,%s]]}' % digits)),
        Attack("a time limit of 400 digits", solve('{"points":[[0,0]],"time_limit":%s}' % digits)),
        Attack("a seed of 400 digits", solve('{"points":[[0,0]],"seed":%s}' % digits)),
        Attack("an option of 400 digits", solve('{"points":[[0,0]],"method":"bereta","options":{"iterations":%s}}' % digits)),
        Attack("a longest edge of 400 digits", solve('{"points":[[0,0]],"max_edge":%s}' % digits)),
        Attack("a length of 400 digits", export(length=int(digits))),
        Attack("NaN", solve('{"points":[[0,NaN]]}')),
        Attack("Infinity", solve('{"points":[[0,-Infinity]]}')),
        Attack("1e999", solve('{"points":[[0,1e999]]}')),
        Attack("1e-999999999", solve('{"points":[[0,1e-999999999]],"method":"none"}')),
        Attack("a time limit of NaN", solve('{"points":[[0,0]],"time_limit":NaN}')),
        Attack("a lone surrogate as method", solve('{"points":[[0,0]],"method":"\\ud800"}')),
        Attack("a lone surrogate as field", solve('{"points":[[0,0]],"\\ud800":1}')),
        Attack("a lone surrogate as option", solve('{"points":[[0,0]],"method":"local","options":{"effort":"\\udfff"}}')),
        Attack("a lone surrogate in a solution", export(method="\ud800", format="svg")),
        Attack("NUL as method", solve('{"points":[[0,0]],"method":"\\u0000"}')),
        Attack("NUL as model", solve_json(method="policy", options={"model": "a\0b"})),
        Attack("NUL in a solution", export(info={"note": "\0"}, format="csv")),
        Attack("a NUL byte", solve(b'{"points":[[0,0]],"method":"\0"}')),
        Attack("bytes that are no text", solve(b'{"points":[[0,0]],"method":"\xff\xfe"}')),
        Attack("16,000 levels", solve('{"points":%s' % ("[" * 16_000))),
        Attack("900 levels of options", solve('{"points":[[0,0]],"options":%s' % ('{"a":' * 900 + "1" + "}" * 901))),
        Attack("900 levels in a solution", export(info=json.loads("[" * 900 + "]" * 900))),
        Attack("a body that ends early", solve('{"points":[[0,0')),
        Attack("twice the points", solve('{"points":[[0,0]],"points":3}')),
    ]  # fmt: skip


def forbidden() -> list[Attack]:
    """Return requests for what belongs to the server alone: files, systems, arguments, hosts."""
    reserved = ("time_limit", "on_progress", "trace", "crs", "project_to", "duplicates", "device",
                "seed", "points", "method", "save_fsts", "load_fsts", "start", "threads")  # fmt: skip
    systems = (
        "/etc/passwd", "+init=/etc/passwd:x", "+proj=pipeline +step +proj=hgridshift +grids=/etc/passwd",
        "+proj=tmerc +nadgrids=/etc/passwd", "file:///etc/passwd", '{"type":"GeographicCRS"}', "EPSG:1" + "0" * 400,
        "\0EPSG:4326", 'GEOGCS["a"]',
    )  # fmt: skip
    attacks = [
        Attack(f"option {name}", solve_json(method="exact", options={name: "/tmp/x"}))
        for name in reserved
    ]
    attacks += [Attack(f"crs {name[:24]!r}", export(crs=name)) for name in systems]
    attacks += [
        Attack(f"plane {name[:24]!r}", export(crs="EPSG:4326", plane_crs=name)) for name in systems
    ]
    attacks += [
        Attack(
            f"a file with crs {name[:24]!r}",
            read(json.dumps({"points": SQUARE, "crs": name}).encode(), "a.json"),
        )
        for name in systems
    ]
    attacks += [
        Attack(f"model {name!r}", solve_json(method=method, options={"model": name}))
        for method in ("policy", "neural")
        for name in ("/etc", "../..", "..", ".", "/proc/self", "models")
    ]
    origins = (
        "http://[",
        "http://[::1",
        "null",
        "http://evil.example",
        "http://" + "a" * 8000,
        "//",
    )
    attacks += [
        Attack(f"origin {name[:24]!r}", request("/api/solve", b"{}", Origin=name), (403,))
        for name in origins
    ]
    hosts = (
        "[",
        "evil.example",
        "127.0.0.1.evil.example",
        "a" * 8000,
        "127.0.0.1@evil.example",
        "",
    )
    attacks += [
        Attack(f"host {name[:24]!r}", request("/api/solve", b"{}", Host=name), (403,))
        for name in hosts
    ]
    paths = ("/page/%00", "/page/" + "a" * 8000, "/page/..%2fapp.py", "/page/%2e%2e/%2e%2e/api.py", "/page//etc/passwd",
             "/%ed%a0%80", "/api/samples/%00", "/api/jobs/" + quote("\0"))  # fmt: skip
    attacks += [
        Attack(f"path {name[:24]!r}", request(name, verb="GET"), (404, 405)) for name in paths
    ]
    queries = ("n=" + "9" * 400, "n=1e9", "n=%00", "seed=" + "9" * 5000, "seed=-1")
    attacks += [
        Attack(
            f"query {name[:24]!r}", request(f"/api/samples/random?{name}", verb="GET"), (413, 422)
        )
        for name in queries
    ]
    lengths = ("9" * 400, "9" * 5000, "-1", "1e3", "0x10", "")
    return attacks + [
        Attack(f"length {name[:24]!r}", request("/api/solve", b"{}", Content_Length=name).replace(b"Content-Length: 2\r\n", b""), (400, 413))
        for name in lengths
    ]  # fmt: skip
