"""Examples for the OpenAPI description: what every route answers, and how it refuses."""

from __future__ import annotations

from typing import Any

from .limits import Limits

Responses = dict[int | str, dict[str, Any]]

SOLUTION = {
    "format": "deepsteiner-solution",
    "version": 1,
    "length": 2.732050807568877,
    "lower_bound": 2.732050807568877,
    "status": "optimal",
    "method": "exact",
    "runtime": 0.0011,
    "crs": None,
    "plane_crs": None,
    "info": {"generation": {"trees": 5}},
    "terminals": [[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]],
    "steiner_points": [[0.288675, 0.5], [0.711325, 0.5]],
    "edges": [[0, 4], [3, 4], [4, 5], [5, 1], [5, 2]],
}
ANSWER = {"solution": SOLUTION, "mst_length": 3.0}
FULL_TREE = {"terminals": [0, 1], "steiner_points": [], "edges": [[0, 1]], "length": 1.0}
ROUND = {"node": 0, "value": 2.7, "length": 2.73, "x": [[0, 0.5]], "violated": [[0, 1, 2]]}


def _refusals(**by_status: str) -> Responses:
    return {
        int(status.removeprefix("s")): {
            "description": "Refused",
            "content": {"application/json": {"example": {"error": sentence}}},
        }
        for status, sentence in by_status.items()
    }


def answer(example: Any, kind: str = "application/json") -> Responses:
    """Return what a route answers when all goes well."""
    return {200: {"description": "OK", "content": {kind: {"example": example}}}}


BUSY = _refusals(
    s413="too many points: at most 20000 points, got 30000",
    s422='points[3][1]: input should be a valid number, got "a"',
    s429="the queue is full: at most 512 requests wait; try again soon",
    s503="too many large requests wait: at most 67108864 bytes of them are held; try again soon",
)
HEALTH = answer({"status": "ok", "version": "0.1.0", "workers": 2, "queue": 0})
LIMITS = answer(Limits().told(workers=3))
SAMPLES = answer({"points": [[0.1, 0.7], [0.4, 0.2]]}) | _refusals(
    s404="no sample 'D9'; there are: random, D1, D2, D3, lattice, clustered"
)
SOLVE = answer({**ANSWER, "relays": [], "start": None}) | BUSY
STREAM = (
    answer(
        'event: job\ndata: {"id":"5f0c..."}\n\n'
        'event: progress\ndata: {"elapsed":0.1,"phase":"cut","done":3,"total":9,"length":2.8,'
        '"lower_bound":2.7,"gap":0.037}\n\nevent: solution\ndata: {"solution":{}}\n\n',
        "text/event-stream",
    )
    | BUSY
)
CANCEL = answer({"status": "cancelling"}) | _refusals(
    s404="there is no such job; it may have finished"
)
TRACE = (
    answer(
        {
            **ANSWER,
            "trace": {
                "complete": True,
                "fsts": [FULL_TREE],
                "rounds": [ROUND],
                "chosen": [0],
                "lower_bound": 2.732050807568877,
            },
        }
    )
    | BUSY
)
READ = (
    answer(
        {"points": [[0, 0], [1, 2]], "crs": None, "plane_crs": None, "note": "2 points from a.csv"}
    )
    | BUSY
)
READ_BODY = {
    "requestBody": {"content": {"text/plain": {"example": "x,y\n0,0\n1,2\n"}}, "required": True}
}
EXPORT: Responses = {
    200: {"description": "The file", "content": {"image/svg+xml": {"example": "<svg>...</svg>"}}},
    **BUSY,
}
