"""What the server refuses: every bad or hostile request gets a status and one sentence."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from serving import SQUARE, sentence, serving

pytest.importorskip("fastapi", reason="the server needs the [serve] extra")
pytest.importorskip("httpx", reason="the server's tests need httpx")

DIGITS = "9" * 400
# Arguments of `solve` itself, and what reads, writes or takes the server's cores.
RESERVED = [
    "time_limit", "on_progress", "trace", "crs", "project_to", "duplicates", "device", "seed",
    "points", "method", "save_fsts", "load_fsts", "start", "threads",
]  # fmt: skip
# What the library behind systems would open, look up elsewhere, or run as a pipeline.
SYSTEMS = [
    "/etc/passwd",
    "+init=/etc/passwd:x",
    "+proj=pipeline +step +proj=hgridshift +grids=/etc/passwd",
    "+proj=tmerc +nadgrids=/etc/passwd",
    "file:///etc/passwd",
    '{"type": "GeographicCRS"}',
    'GEOGCS["a"]',
    "EPSG:" + DIGITS,
    "epsg:4326+5773",
    "+proj=aeqd +lat_0=0 +lon_0=0 +a=1 +rf=2 +nadgrids=x +units=m +no_defs +type=crs",
]


@pytest.fixture(scope="module")
def server():
    limits = {"points": 400, "trace_points": 40, "relays": 500, "body_bytes": 60_000}
    with serving(**limits, time_limit=20.0) as server:
        yield server


@pytest.fixture
def client(server):
    return server.client


def random_points(n: int) -> list[list[float]]:
    return np.random.default_rng(0).random((n, 2)).tolist()


def solution(**fields: object) -> dict[str, object]:
    """Return the tree of two points, with fields replaced."""
    return {
        "format": "deepsteiner-solution", "version": 1, "length": 1.0, "lower_bound": None,
        "status": "feasible", "method": "mst", "runtime": 0.0, "crs": None, "plane_crs": None,
        "info": {}, "terminals": [[0.0, 0.0], [1.0, 0.0]], "steiner_points": [],
        "edges": [[0, 1]], **fields,
    }  # fmt: skip


# --- bodies -------------------------------------------------------------------------------------

MANY = [[float(k), 0.0] for k in range(401)]
BAD_BODIES = [
    ("/api/solve", {}, 422, "points is missing"),
    ("/api/solve", [], 422, "body"),
    ("/api/solve", {"points": []}, 422, "points"),
    ("/api/solve", {"points": "0,0"}, 422, 'points: input should be a valid list, got "0,0"'),
    ("/api/solve", {"points": [[0, 0], [1]]}, 422, "points[1]"),
    ("/api/solve", {"points": [[0, 0], [1, 2, 3]]}, 422, "points[1]"),
    ("/api/solve", {"points": [[0, "1"]]}, 422, 'points[0][1]: input should be a valid number'),
    ("/api/solve", {"points": [[0, True]]}, 422, "points[0][1]"),
    ("/api/solve", {"points": [[0, None]]}, 422, "points[0][1]"),
    ("/api/solve", {"points": [[0, 10**400]]}, 422, "points"),
    ("/api/solve", {"points": [[1e300, 0], [-1e300, 0], [0, 0]]}, 422, "points"),
    ("/api/solve", {"points": MANY}, 413, "at most 400 points, got 401"),
    ("/api/solve", {"points": SQUARE, "method": "magic"}, 422, "unknown method 'magic'"),
    ("/api/solve", {"points": SQUARE, "method": 3}, 422, "method"),
    ("/api/solve", {"points": SQUARE, "speed": 3}, 422, "speed is not a field of this request"),
    ("/api/solve", {"points": SQUARE, "options": {"x": 1}}, 422, "no option 'x'"),
    ("/api/solve", {"points": SQUARE, "options": {"save_fsts": "/tmp/x"}, "method": "exact"},
     422, "option 'save_fsts' of method 'exact' cannot be set"),
    ("/api/solve", {"points": SQUARE, "options": {"load_fsts": "/etc/passwd"}, "method": "exact"},
     422, "cannot be set by a request"),
    ("/api/solve", {"points": SQUARE, "options": {"start": {}}, "method": "exact"},
     422, "cannot be set by a request"),
    ("/api/solve", {"points": SQUARE, "options": {"model": "/etc"}, "method": "policy"},
     422, "model must be one that is shipped"),
    ("/api/solve", {"points": SQUARE, "method": "local", "options": {"effort": "x" * 9999}},
     422, "cannot be \"xxx"),
    ("/api/solve", {"points": SQUARE, "time_limit": -1}, 422, "time_limit"),
    ("/api/solve", {"points": SQUARE, "time_limit": 21}, 422, "at most 20 s, got 21"),
    ("/api/solve", {"points": SQUARE, "seed": -1}, 422, "seed"),
    ("/api/solve", {"points": SQUARE, "seed": 1.5}, 422, "seed"),
    ("/api/solve", {"points": SQUARE, "max_edge": 0}, 422, "max_edge"),
    ("/api/solve", {"points": SQUARE, "max_edge": 1e-6}, 422, "at most 500"),
    ("/api/solve", {"points": random_points(30), "start": {"x": 1}, "method": "exact"},
     422, "x is not a field of start"),
    ("/api/solve", {"points": random_points(30), "start": {"version": 1}, "method": "exact"},
     422, "the solution"),
    ("/api/solve", {"points": SQUARE, "start": [1]}, 422, "start: input should be an object"),
    ("/api/solve", {"points": SQUARE, "start": solution(edges=[[0, 0.5]])}, 422,
     "start.edges[0][1]: input should be a valid node number, got 0.5"),
    ("/api/solve", {"points": SQUARE, "start": solution(edges=[[0, 10**30]])}, 422, "start.edges"),
    ("/api/solve", {"points": SQUARE, "start": solution(steiner_points=[[0, None]])}, 422,
     "start.steiner_points[0][1]"),
    ("/api/solve", {"points": SQUARE, "format": "xml"}, 422, "format"),
    ("/api/solve/stream", {"points": MANY}, 413, "at most 400 points, got 401"),
    ("/api/solve/stream", {"points": SQUARE, "time_limit": 21}, 422, "at most 20 s"),
    ("/api/trace", {"points": MANY[:41]}, 413, "at most 40 traced points, got 41"),
    ("/api/trace", {"points": SQUARE, "method": "greedy"}, 422, "method"),
    ("/api/export", {"solution": {}, "format": "json"}, 422, "format"),
    ("/api/export", {"solution": solution(edges=[]), "format": "json"}, 422, "edges"),
    ("/api/export", {"solution": solution(edges=[[0, 7]]), "format": "json"}, 422, "node"),
    ("/api/export", {"solution": solution(status="sold"), "format": "svg"}, 422, "status"),
    ("/api/export", {"solution": {}, "format": "exe"}, 422, "format"),
    ("/api/export", {"format": "svg"}, 422, "solution is missing"),
]  # fmt: skip


@pytest.mark.parametrize(("path", "body", "status", "words"), BAD_BODIES)
def test_bad_body_is_refused_in_one_sentence(client, path, body, status, words):
    answer = client.post(path, json=body)
    assert answer.status_code == status
    assert words in sentence(answer)
    assert len(answer.content) < 1000


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "body"),
        (b"{", "not valid JSON"),
        (b"\xff\xfe\x00", "body"),
        (b'{"points": [[0, NaN]]}', "holds NaN"),
        (b'{"points": [[-Infinity, 0]]}', "holds -Infinity"),
        (b'{"points": [[0, 0]], "time_limit": NaN}', "holds NaN"),
        (b'{"points": [[0, 1e999]]}', "points[0][1]"),
        (b'{"points": [[0, ' + b"9" * 5000 + b"]]}", "body"),
        (b"[" * 3_000, "nested too deeply"),
        (b'{"points": [[0,0]], "options": ' + b'{"a":' * 900 + b"1" + b"}" * 901, "nested"),
        (b'{"points": [[0, %s]]}' % DIGITS.encode(), "points[0][1]"),
        (b'{"points": [[0, 0]], "time_limit": %s}' % DIGITS.encode(), "time_limit"),
        (b'{"points": [[0, 0]], "seed": %s}' % DIGITS.encode(), "seed"),
        (b'{"points": [[0, 0]], "max_edge": %s}' % DIGITS.encode(), "max_edge"),
        (
            b'{"points": [[0, 0]], "method": "bereta", "options": {"iterations": %s}}'
            % DIGITS.encode(),
            "options",
        ),
        (b'{"points": [[0, 0]], "method": "\\ud800"}', "lone surrogates"),
        (b'{"points": [[0, 0]], "\\ud800": 1}', "not a field"),
        (b'{"points": [[0, 0]], "options": {"\\udfff": 1}}', "lone surrogates"),
        (b'{"points": [[0, 0]], "method": "\\u0000"}', "NUL"),
        (b'{"points": [[0, 0]], "method": "\0"}', "not valid JSON"),
        (b'{"points": [[0, 0]], "method": "\xff"}', "not UTF-8"),
        (b'{"points": [[0, 0]], "points": 3}', "points: input should be a valid list"),
        (b'["points"]', "must be a JSON object, got a list of 1"),
    ],
)
def test_malformed_body_is_refused_in_one_sentence(client, content, words):
    answer = client.post(
        "/api/solve", content=content, headers={"content-type": "application/json"}
    )
    assert answer.status_code in (400, 422)
    assert words in sentence(answer)


@pytest.mark.parametrize("name", RESERVED)
def test_options_never_become_arguments_of_solve(client, name):
    for value in ("/tmp/x", 0, None, True):
        body = {"points": SQUARE, "method": "exact", "options": {name: value}}
        for path in ("/api/solve", "/api/trace"):
            answer = client.post(path, json=body)
            assert answer.status_code == 422
            assert f"option '{name}'" in sentence(answer)


@pytest.mark.parametrize("method", ["policy", "neural"])
@pytest.mark.parametrize(
    "model", ["/etc", "..", ".", "models", "tsp20", "a\0b", "", None, "x" * 99]
)
def test_models_are_shipped_names_that_fit(client, method, model):
    body = {"points": SQUARE, "method": method, "options": {"model": model}}
    answer = client.post("/api/solve", json=body)
    assert answer.status_code == 422
    assert "model" in sentence(answer) or "NUL" in sentence(answer)


def test_free_text_options_are_closed():
    """A new option that names a file is not open by mistake."""
    from deepsteiner.core.options import OptionInfo
    from deepsteiner.server.options import is_open

    assert not is_open(OptionInfo("path", "str | None", None, ""))
    assert not is_open(OptionInfo("model", "str", "m", ""))
    assert is_open(OptionInfo("effort", "str", "fast", "", choices=("fast", "best")))
    assert is_open(OptionInfo("most", "int | None", None, ""))


@pytest.mark.parametrize("system", SYSTEMS)
def test_systems_from_a_client_open_nothing(client, system):
    trees = [solution(crs=system), solution(crs="EPSG:25832", plane_crs=system)]
    answers = [
        client.post("/api/export", json={"solution": tree, "format": "json"}) for tree in trees
    ]
    answers += [client.post("/api/solve", json={"points": SQUARE, "start": tree}) for tree in trees]
    file = json.dumps({"points": SQUARE, "crs": system})
    answers.append(client.post("/api/read", content=file, headers={"X-Filename": "a.json"}))
    comment = f"# crs: {system}\n0 0\n1 1\n"
    answers.append(client.post("/api/read", content=comment, headers={"X-Filename": "a.csv"}))
    for answer in answers:
        assert answer.status_code == 422
        assert "accepted are EPSG codes" in sentence(answer)


def test_systems_of_the_list_are_taken(client):
    pytest.importorskip("pyproj")
    for name in ("EPSG:4326", "urn:ogc:def:crs:OGC:1.3:CRS84", "urn:ogc:def:crs:EPSG::25832"):
        file = json.dumps({"points": [[9.0, 0.0], [9.1, 0.1]], "crs": name})
        answer = client.post("/api/read", content=file, headers={"X-Filename": "a.json"})
        assert answer.status_code == 200, answer.text
    # What /api/read says of the plane comes back with an export.
    from deepsteiner import solve

    tree = solve([[13.4, 52.5], [11.6, 48.1], [9.9, 53.6]], crs="EPSG:4326").to_dict()
    assert tree["plane_crs"].startswith("+proj=aeqd")
    answer = client.post("/api/export", json={"solution": tree, "format": "geojson"})
    assert answer.status_code == 200, answer.text


def test_body_must_be_announced_as_json(client):
    answer = client.post("/api/solve", content=json.dumps({"points": SQUARE}))
    assert answer.status_code == 422
    assert "Content-Type application/json" in sentence(answer)


@pytest.mark.parametrize("announced", [True, False])
def test_large_body_is_refused(client, announced):
    content = b'{"points": ' + b" " * 100_000
    pieces = content if announced else iter([content[:50_000], content[50_000:]])
    answer = client.post("/api/solve", content=pieces, headers={"content-type": "application/json"})
    assert answer.status_code == 413
    assert "at most 60000 bytes" in sentence(answer)


@pytest.mark.parametrize(
    ("verb", "path", "status", "words"),
    [
        ("GET", "/api/nothing", 404, "there is nothing at /api/nothing"),
        ("GET", "/page/nothing.js", 404, "there is nothing at /page/nothing.js"),
        ("GET", "/page/../app.py", 404, "there is nothing at"),
        ("GET", "/page/%2e%2e/app.py", 404, "there is nothing at"),
        ("GET", "/api/solve", 405, "GET is not served at /api/solve"),
        ("GET", "/api/samples/D9", 404, "no sample 'D9'"),
        ("GET", "/api/samples/D1?n=11", 422, "D1 has 10 points"),
        ("GET", "/api/samples/random?n=0", 422, "n: "),
        ("GET", "/api/samples/random?n=401", 413, "at most 400 points, got 401"),
        ("GET", "/api/samples/random?seed=x", 422, "seed: "),
        ("GET", f"/api/samples/random?n={DIGITS}", 413, "at most 400 points, got 999"),
        ("GET", f"/api/samples/random?seed={DIGITS}", 422, "seed: "),
        ("GET", "/api/samples/%00", 404, "no sample"),
        ("GET", "/page/%00", 404, "there is nothing at"),
        ("GET", "/page/" + "a" * 5000, 404, "aaa...; /docs lists"),
        ("GET", "/%ed%a0%80", 404, "there is nothing at"),
        ("DELETE", "/api/jobs/%00", 404, "no such job"),
    ],
)
def test_bad_address_is_refused_in_one_sentence(client, verb, path, status, words):
    answer = client.request(verb, path)
    assert answer.status_code == status
    assert words in sentence(answer)


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Host": "127.0.0.1:8321"}, 200),
        ({"Host": "localhost"}, 200),
        ({"Host": "[::1]:8321"}, 200),
        ({"Host": "evil.example"}, 403),
        ({"Host": "127.0.0.1.evil.example"}, 403),
        ({"Host": "a:b:c"}, 403),
        ({"Host": "localhost:80", "Origin": "http://localhost:80"}, 200),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "http://["}, 403),
        ({"Origin": "http://" + "a" * 5000}, 403),
        ({"Host": "["}, 403),
        ({"Host": "127.0.0.1@evil.example"}, 403),
    ],
)
def test_other_hosts_and_sites_are_refused(client, headers, status):
    answer = client.post("/api/solve", json={"points": SQUARE}, headers=headers)
    assert answer.status_code == status
    if status != 200:
        sentence(answer)


@pytest.mark.parametrize("path", ["/healthz", "/docs", "/api/nothing", "/api/solve", "/"])
def test_every_answer_is_guarded(client, path):
    headers = client.get(path).headers
    assert "default-src 'self'" in headers["content-security-policy"]
    assert "unsafe" not in headers["content-security-policy"]
    assert headers["x-content-type-options"] == "nosniff"


# --- what answers tell --------------------------------------------------------------------------


def test_no_answer_names_a_folder_of_this_machine(client):
    """Neither pages nor refusals, from whatever depth they come."""
    import deepsteiner

    private = [str(Path(deepsteiner.__file__).parents[1]), str(Path.home()), str(Path.cwd())]
    paths = ["/", "/docs", "/openapi.json", "/healthz", "/api/methods", "/api/limits", "/page/x"]
    answers = [client.get(path) for path in paths]
    for method in ("exact", "policy", "neural"):
        for options in ({"model": "/etc"}, {"model": ".."}, {"load_fsts": "x.npz"}):
            body = {"points": SQUARE, "method": method, "options": options}
            answers.append(client.post("/api/solve", json=body))
    answers.append(client.post("/api/read", content=b"x", headers={"X-Filename": "/etc/passwd"}))
    answers.append(client.post("/api/solve", json={"points": SQUARE}))
    for answer in answers:
        assert not any(folder in answer.text for folder in private if len(folder) > 3)


def test_refusals_are_short_and_hide_folders():
    from deepsteiner.core.errors import FormatError, InternalError, MissingDependencyError
    from deepsteiner.server.refusals import error_body, explained

    here = str(Path(__file__).resolve().parents[2])
    source = str(Path(explained.__code__.co_filename).parents[2])
    told = json.loads(error_body(f"{source}/models/x is bad,\nsee {Path.home()}/y"))["error"]
    assert source not in told
    assert str(Path.home()) not in told
    assert told.startswith(".../models/x is bad, see ")
    assert len(error_body("x" * 10_000)) < 500

    statuses = [
        (FormatError("bad"), 422),
        (MissingDependencyError("no torch"), 501),
        (MemoryError(), 503),
        (RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried ..."), 503),
        (InternalError(here), 500),
        (KeyError(here), 500),
    ]
    for error, status in statuses:
        assert explained(error)[0] == status
    assert here not in explained(InternalError(here))[1]


def test_limits_are_told_where_people_look(client):
    """By the API, its example, the command's help and the documentation."""
    import inspect

    from deepsteiner.cli.commands.serve import serve
    from deepsteiner.server.limits import Limits
    from deepsteiner.server.manual import LIMITS

    told = client.get("/api/limits").json()
    assert (told["points"], told["streams_at_once"]) == (400, 1)
    assert set(LIMITS[200]["content"]["application/json"]["example"]) == set(told)
    default = Limits()
    options = {name: one.default for name, one in inspect.signature(serve).parameters.items()}
    assert options["max_points"] == default.points
    assert options["max_seconds"] == default.time_limit
    assert options["max_megabytes"] * 2**20 == default.body_bytes
    assert options["max_queue"] == default.queue
    assert options["max_waiting_megabytes"] * 2**20 == default.waiting_bytes
    assert options["max_connections"] == default.connections
    assert options["max_worker_gigabytes"] * 2**30 == default.worker_bytes
    seconds = (default.head_seconds, default.body_seconds, default.answer_seconds)
    page = (Path(__file__).parents[2] / "docs" / "guides" / "server.md").read_text()
    for each in seconds:
        assert f" {each:g} s" in " ".join(serve.__doc__.split())
        assert f"| {each:g} | |" in page
    for row in (
        f"| {default.points:,} | `--max-points` |",
        f"| {default.body_bytes >> 20} MiB | `--max-megabytes` |",
        f"| {default.queue} each | `--max-queue` |",
        f"| {default.waiting_bytes >> 20} MiB | `--max-waiting-megabytes` |",
        f"| {default.worker_bytes >> 30} GiB | `--max-worker-gigabytes` |",
        f"| {default.connections:,}, or half",
        f"| {default.time_limit:g}, then {default.grace:g} until",
    ):
        assert row in page


@pytest.mark.skipif(sys.platform != "linux", reason="needs Linux's limits")
def test_worker_that_needs_too_much_memory_fails_alone():
    code = (
        "from deepsteiner.server.workers.worker import limit_memory\n"
        "import numpy as np\n"
        "limit_memory(2**28)\n"
        "try: np.ones(2**26)\n"
        "except MemoryError: print('told')\n"
        "print(np.ones(10).sum())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["told", "10.0"]
