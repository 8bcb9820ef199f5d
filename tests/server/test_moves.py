"""Requests that move one point of an earlier one: continued, whoever asks."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("shapely")
pytest.importorskip("fastapi")

import deepsteiner as ds
from deepsteiner.server.workers.moves import KEPT, Moves
from serving import serving

WALL = np.array([[0.45, 0.2], [0.55, 0.2], [0.55, 0.9], [0.45, 0.9]])
POINTS = np.random.default_rng(4).random((7, 2)) * [0.4, 1.0]
POINTS[3:] += [0.6, 0.0]


def request(points=POINTS, **changed):
    call = {"points": points, "method": "exact", "seed": 0, "time_limit": None}
    return {**call, "obstacles": [WALL], **changed}


def moved(by, index=0):
    points = POINTS.copy()
    points[index] += by
    return points


def answered(moves, call):
    """Answer as a worker does; return the tree, and whether it continues another."""
    found = moves.solve(call, lambda _: True)
    solution = found or ds.solve(**call)
    moves.remember(call, solution)
    return solution, found is not None


def test_a_drag_is_continued_and_proven():
    moves = Moves()
    assert not answered(moves, request())[1]
    for k in range(1, 5):
        solution, continued = answered(moves, request(moved(0.01 * k)))
        assert continued
        assert solution.status == "optimal"
        fresh = ds.solve(**request(moved(0.01 * k)))
        assert solution.length == pytest.approx(fresh.length, rel=1e-9)


@pytest.mark.parametrize(
    "other",
    [
        request(),  # nothing has moved
        request(moved(0.01) + moved(0.01, 5) - POINTS),
        request(POINTS[:-1]),
        request(moved(0.01), obstacles=[WALL + 0.01]),
        request(moved(0.01), obstacles=[WALL, WALL + 3.0]),
        request(moved(0.01), method="local"),
        request(moved(0.01), seed=1),
        request(moved(0.01), existing=[WALL[:2]]),
    ],
)
def test_other_requests_are_not(other):
    moves = Moves()
    answered(moves, request())
    assert moves.solve(other, lambda _: True) is None


def test_several_people_drag_at_once():
    moves, walls = Moves(), [WALL + 0.02 * k for k in range(KEPT)]
    for k in range(3):
        for wall in walls:
            assert answered(moves, request(moved(0.01 * k), obstacles=[wall]))[1] == (k > 0)


def test_a_stop_is_heard():
    moves = Moves()
    answered(moves, request())
    answered(moves, request(moved(0.01)))
    stopped = moves.solve(request(moved(0.02)), lambda _: False)
    assert stopped.status == "interrupted"


def test_a_drag_over_http():
    body = {"obstacles": [WALL.tolist()], "method": "exact"}
    with serving() as server:
        for k in range(3):
            body["points"] = moved(0.01 * k).tolist()
            answer = server.client.post("/api/solve", json=body)
            assert answer.status_code == 200
            assert answer.json()["solution"]["status"] == "optimal"
        body["points"][0] = [0.5, 0.5]
        refused = server.client.post("/api/solve", json=body)
    assert refused.status_code == 422
    assert "inside an obstacle" in refused.json()["error"]
