"""The server's API, with its real workers: what it answers, and how it refuses."""

from __future__ import annotations

import io
import json
from importlib.util import find_spec
from xml.etree import ElementTree

import numpy as np
import pytest

from deepsteiner.core.solution import Solution
from serving import SQUARE, sentence, serving

pytest.importorskip("fastapi", reason="the server needs the [serve] extra")
pytest.importorskip("httpx", reason="the server's tests need httpx")

SAMPLES = ["random", "D1", "D2", "D3", "lattice", "clustered"]
needs_torch = pytest.mark.skipif(find_spec("torch") is None, reason="torch is not installed")


@pytest.fixture(scope="module")
def client():
    """Return a client of a real server, which is a process of its own."""
    limits = {"points": 400, "trace_points": 40, "relays": 500, "body_bytes": 60_000}
    with serving(**limits, time_limit=20.0) as server:
        yield server.client


def random_points(n: int, seed: int = 0) -> list[list[float]]:
    return np.random.default_rng(seed).random((n, 2)).tolist()


def solve(client, points, method="exact", **fields):
    answer = client.post("/api/solve", json={"points": points, "method": method, **fields})
    assert answer.status_code == 200, answer.text
    return answer.json()


# --- facts --------------------------------------------------------------------------------------


def test_health_tells_version_workers_and_queue(client):
    solve(client, SQUARE)
    health = client.get("/healthz").json()
    assert health["status"] == "ok"
    assert health["workers"] >= 1
    assert health["queue"] == 0


def test_methods_are_described_without_options_that_touch_files(client):
    methods = {one["name"]: one for one in client.get("/api/methods").json()}
    assert methods["exact"]["available"] is True
    assert methods["exact"]["takes_start"] is True
    assert methods["policy"]["needs"] == ["torch"]
    names = {option["name"] for one in methods.values() for option in one["options"]}
    assert names.isdisjoint({"save_fsts", "load_fsts", "threads", "start"})
    model = next(one for one in methods["policy"]["options"] if one["name"] == "model")
    assert model["default"] in model["choices"]


def test_limits_are_told(client):
    limits = client.get("/api/limits").json()
    assert (limits["points"], limits["body_bytes"], limits["queue"]) == (400, 60_000, 512)


@pytest.mark.parametrize("name", SAMPLES)
def test_samples(client, name):
    points = client.get(f"/api/samples/{name}").json()["points"]
    assert len(points) == {"D1": 10, "D2": 20, "D3": 10}.get(name, 24)
    other = client.get(f"/api/samples/{name}?seed=5").json()["points"]
    assert (points == other) == (name == "lattice")


# --- solving ------------------------------------------------------------------------------------


def test_solve_finds_the_optimum(client, golden):
    instances, optima = golden("u20", 5)
    for points, optimum in zip(instances, optima, strict=True):
        found = solve(client, points.tolist())
        assert found["solution"]["status"] == "optimal"
        assert found["solution"]["length"] == pytest.approx(optimum, rel=1e-9)
        assert found["mst_length"] > optimum
        Solution.from_dict(found["solution"]).validate(strict=True)


@pytest.mark.parametrize("points", [[[2, 3]], [[0, 0], [3, 4]], [[1, 1]] * 4, [*SQUARE, *SQUARE]])
def test_solve_takes_few_and_repeated_points(client, points):
    found = solve(client, points)["solution"]
    assert found["status"] == "optimal"
    assert found["terminals"] == points


def test_answers_carry_the_time_of_the_solve(client):
    answer = client.post("/api/solve", json={"points": SQUARE})
    name, _, milliseconds = answer.headers["server-timing"].partition(";dur=")
    assert name == "solve"
    assert 0 < float(milliseconds) < 20_000


def test_time_limit_returns_the_best_tree(client):
    found = solve(client, random_points(400), "exact", time_limit=0)["solution"]
    assert found["status"] == "time_limit"
    Solution.from_dict(found)


def test_seed_and_options_reach_the_method(client):
    first, again, other = (
        solve(client, random_points(12), "rand1", seed=seed, options={"distribution": "normal"})
        for seed in (1, 1, 2)
    )
    assert first["solution"]["edges"] == again["solution"]["edges"]
    assert first["solution"]["steiner_points"] != other["solution"]["steiner_points"]


def test_relays_leave_no_longer_edge(client):
    found = solve(client, SQUARE, max_edge=0.25)
    tree = Solution.from_dict(found["solution"])
    expected = tree.with_max_edge(0.25)
    assert found["relays"] == expected.steiner_points[len(tree.steiner_points) :].tolist()
    assert len(found["relays"]) == 9


def test_start_is_used_moved_or_not_needed(client):
    points = np.array(random_points(30))
    before = solve(client, points.tolist())["solution"]
    assert solve(client, points.tolist(), start=before)["start"] == "used"
    moved = points + 0.01 * np.random.default_rng(1).random(points.shape)
    found = solve(client, moved.tolist(), start=before)
    assert found["start"] == "moved"
    assert found["solution"]["status"] == "optimal"
    assert found["solution"]["terminals"] == moved.tolist()
    fewer = solve(client, moved[:25].tolist(), start=before)
    assert fewer["start"] == "does not fit"
    assert solve(client, moved.tolist(), "mst", start=before)["start"] == "not taken by mst"
    small = solve(client, SQUARE)["solution"]
    assert solve(client, SQUARE, start=small)["start"] == "not needed"


# --- streams ------------------------------------------------------------------------------------


def events(lines):
    """Yield (event, data) pairs of a stream of lines."""
    name = ""
    for line in lines:
        if line.startswith("event: "):
            name = line.removeprefix("event: ")
        elif line.startswith("data: "):
            yield name, json.loads(line.removeprefix("data: "))


def test_stream_reports_progress_and_ends_with_the_solution(client):
    body = {"points": random_points(300), "method": "exact"}
    with client.stream("POST", "/api/solve/stream", json=body) as answer:
        assert answer.headers["content-type"].startswith("text/event-stream")
        found = list(events(answer.iter_lines()))
    names = [name for name, _ in found]
    assert names[0] == "job"
    assert names[-1] == "solution"
    assert set(names[1:-1]) == {"progress"}
    progress = [data for name, data in found if name == "progress"]
    assert all(one["lower_bound"] <= one["length"] for one in progress)
    assert all(one["gap"] >= 0 for one in progress)
    assert found[-1][1]["solution"]["status"] == "optimal"


def test_stream_of_a_refused_solve_ends_with_an_error(client):
    body = {"points": SQUARE, "max_edge": 1e-6}  # which shows only once there is a tree
    with client.stream("POST", "/api/solve/stream", json=body) as answer:
        found = list(events(answer.iter_lines()))
    assert found[-1][0] == "error"
    assert "at most 500" in found[-1][1]["error"]


def test_unknown_job_cannot_be_cancelled(client):
    answer = client.delete("/api/jobs/0123456789abcdef")
    assert answer.status_code == 404
    assert "no such job" in sentence(answer)


# --- traces -------------------------------------------------------------------------------------


@pytest.mark.parametrize("points", [SQUARE, random_points(25, 4), [*random_points(9), *SQUARE * 2]])
def test_exact_trace_leads_to_the_tree(client, points):
    answer = client.post("/api/trace", json={"points": points, "method": "exact"}).json()
    trace, solution = answer["trace"], answer["solution"]
    assert trace["complete"] is True
    assert "trace" not in solution["info"]
    chosen = [trace["fsts"][number] for number in trace["chosen"]]
    assert sum(tree["length"] for tree in chosen) == pytest.approx(solution["length"])
    assert {t for tree in chosen for t in tree["terminals"]} <= set(range(len(points)))
    values = [one["value"] for one in trace["rounds"] if one["node"] == 0]
    assert values == sorted(values)
    assert values[-1] <= solution["length"] * (1 + 1e-9)
    assert trace["rounds"][0]["violated"] or trace["rounds"][-1]["violated"] == []
    for one in trace["rounds"]:
        assert all(0 <= number < len(trace["fsts"]) for number, _ in one["x"])
        assert all(0 <= t < len(points) for members in one["violated"] for t in members)


def test_trace_of_two_points_is_empty(client):
    answer = client.post("/api/trace", json={"points": [[0, 0], [1, 1]], "method": "exact"}).json()
    assert answer["trace"]["fsts"] == []
    assert answer["trace"]["complete"] is True


@needs_torch
@pytest.mark.slow
def test_policy_trace_shows_the_steps(client):
    points = random_points(8)
    answer = client.post("/api/trace", json={"points": points, "method": "policy"}).json()
    steps, nodes = answer["trace"], np.array(points)
    assert any(step["kept"] for step in steps)
    for step in steps:
        assert step["candidates"][step["chosen_index"]] == pytest.approx(step["chosen"])
        assert sum(step["probabilities"]) == pytest.approx(1.0, abs=1e-3)
        with_it = np.concatenate((nodes, [step["chosen"]]))
        ends = with_it[np.array(step["edges"])]
        length = np.linalg.norm(ends[:, 0] - ends[:, 1], axis=1).sum()
        assert length == pytest.approx(step["length"], rel=1e-6)
        nodes = with_it if step["kept"] else nodes
    assert len(nodes) == len(points) + len(answer["solution"]["steiner_points"])


# --- files --------------------------------------------------------------------------------------


def read(client, text, name):
    return client.post("/api/read", content=text, headers={"X-Filename": name})


def test_read_csv(client):
    found = read(client, "x,y\n0,0\n1,2.5\n", "my%20points.csv").json()
    assert found["points"] == [[0.0, 0.0], [1.0, 2.5]]
    assert found["crs"] is None
    assert found["note"] == "2 points from my points.csv"


def test_read_tells_the_format_by_content_where_the_name_does_not(client):
    found = read(client, json.dumps(SQUARE), "").json()
    assert found["points"] == SQUARE


def test_read_takes_the_first_of_several_instances(client):
    found = read(client, json.dumps({"points": [SQUARE, SQUARE[:3]]}), "two.json").json()
    assert found["points"] == SQUARE
    assert "the first of 2 instances" in found["note"]


def test_read_projects_longitudes_and_latitudes(client):
    pytest.importorskip("pyproj")
    cities = {"type": "MultiPoint", "coordinates": [[13.4, 52.5], [11.6, 48.1]]}
    found = read(client, json.dumps(cities), "cities.geojson").json()
    assert found["crs"] == "EPSG:4326"
    kilometres = np.hypot(*np.subtract(*found["points"])) / 1000
    assert kilometres == pytest.approx(506, abs=5)


@pytest.mark.parametrize(
    ("content", "name", "words"),
    [
        (b"\x1f\x8b123", "points.csv.gz", "packed files are not read"),
        (b"PK\x03\x04123", "points.npz", "packed files are not read"),
        (b"x,y\n1,2", "points.npy", ".npy is not read here"),
        (b"x,y\n1,b\n", "points.csv", "line 2"),
        (b"", "points.csv", "is empty"),
        (b"1 2\n" * 500, "points.txt", "at most 400"),
    ],
)
def test_read_refuses(client, content, name, words):
    answer = read(client, content, name)
    assert answer.status_code == 422
    assert words in sentence(answer)


@pytest.mark.parametrize("format", ["json", "geojson", "csv", "svg", "png"])
def test_export(client, format):
    solution = solve(client, random_points(10))["solution"]
    answer = client.post("/api/export", json={"solution": solution, "format": format})
    assert answer.status_code == 200
    assert f'filename="steiner-tree.{format}"' in answer.headers["content-disposition"]
    if format == "svg":
        assert ElementTree.parse(io.BytesIO(answer.content)).getroot().tag.endswith("svg")
    elif format == "png":
        assert answer.content.startswith(b"\x89PNG")
    else:
        from deepsteiner.io.solution_files import load_solution

        back = load_solution(io.BytesIO(answer.content), format=format)
        assert back.to_dict() == solution


def test_export_with_relays(client):
    solution = solve(client, SQUARE)["solution"]
    body = {"solution": solution, "format": "json", "max_edge": 0.25}
    found = client.post("/api/export", json=body).json()
    assert found["info"]["relays"] == 9
    assert len(found["steiner_points"]) == 2 + 9


# --- documentation ------------------------------------------------------------------------------


def test_docs_show_every_route_and_load_nothing_from_elsewhere(client):
    page = client.get("/docs").text
    for path in client.get("/openapi.json").json()["paths"]:
        assert f"<code>{path.replace('&', '&amp;')}</code>" in page
    assert "http://" not in page
    assert "https://" not in page
    assert "<script" not in page
    assert client.get("/docs/manual.css").headers["content-type"].startswith("text/css")


def test_examples_of_the_docs_work(client):
    description = client.get("/openapi.json").json()
    for path in ("/api/solve", "/api/trace"):
        body = description["paths"][path]["post"]["requestBody"]["content"]["application/json"]
        fields = body["schema"]["properties"]
        example = {key: one["examples"][0] for key, one in fields.items() if "examples" in one}
        assert "points" in example
        assert client.post(path, json=example).status_code == 200


# --- obstacles and relays -------------------------------------------------------------------------

WALL = [[0.4, -1.0], [0.6, -1.0], [0.6, 2.0], [0.4, 2.0]]
PIPE = [[-5.0, 0.0], [5.0, 0.0]]


def test_trees_go_around_obstacles(client):
    found = solve(client, SQUARE, obstacles=[WALL])["solution"]
    assert found["status"] == "optimal"
    assert len(found["bends"]) == 2
    assert Solution.from_dict(found).validate().length > 3


def test_trees_join_existing_lines(client):
    found = solve(client, [[0, 1], [0.5, 1]], existing=[PIPE])["solution"]
    assert found["status"] == "optimal"
    assert found["joints"] == [[pytest.approx(0.25), 0.0]]
    assert found["length"] == pytest.approx(1 + 3**0.5 / 4)


@pytest.mark.parametrize("format", ["svg", "png", "csv", "geojson", "json"])
@pytest.mark.parametrize("beside", [{"obstacles": [WALL]}, {"existing": [PIPE]}])
def test_trees_beside_shapes_become_files(client, beside, format):
    answer = solve(client, SQUARE, **beside)
    file = client.post("/api/export", json={"solution": answer["solution"], "format": format})
    assert file.status_code == 200, file.text
    again = solve(client, SQUARE, start=answer["solution"])
    assert again["start"] in ("not needed", "does not fit")


def test_few_relays(client):
    found = solve(client, [[0, 0], [1, 0], [1, 1], [0, 1]], radius=0.75)
    assert found["network"]["bound"] == len(found["relays"]) == 1
    assert found["network"]["status"] == "optimal"
    assert found["solution"]["info"]["relays"] == 1
    assert len(solve(client, [[0, 0], [1, 0]], radius=0.6, obstacles=[WALL])["relays"]) > 3


@pytest.mark.parametrize(
    ("fields", "code", "words"),
    [
        ({"obstacles": 3}, 422, "obstacles: input should be a list of lists"),
        ({"obstacles": [[[0, 0], [1, 1]]]}, 422, "obstacles[0]: a polygon is a list of at least 3"),
        ({"obstacles": [[[0, 0], [1, 1], [2, "a"]]]}, 422, "obstacles[0]"),
        ({"obstacles": [[[k, k * k] for k in range(2001)]]}, 413, "at most 2000 in all, got 2001"),
        ({"existing": [[[0, 0]]]}, 422, "existing[0]: a line is a list of at least 2"),
        ({"existing": [PIPE], "radius": 1}, 422, "radius does not go with existing lines"),
        ({"obstacles": [WALL], "method": "greedy"}, 422, "does not take obstacles"),
        ({"obstacles": [[[-1, -1], [2, -1], [2, 2], [-1, 2]]]}, 422, "inside an obstacle"),
        ({"radius": 0}, 422, "radius"),
        ({"radius": 1e-9}, 422, "a request gets at most 500"),
        ({"radius": 1, "max_edge": 1}, 422, "radius and max_edge both place relays"),
    ],
)
def test_obstacles_and_relays_that_are_refused(client, fields, code, words):
    answer = client.post("/api/solve", json={"points": SQUARE, "method": "exact", **fields})
    assert answer.status_code == code, answer.text
    assert words in sentence(answer)
