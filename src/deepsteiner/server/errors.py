"""Answers to requests that cannot be served, whoever found that out."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from fastapi import Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response

from .refusals import error_body


def error_response(status: int, sentence: str, headers: dict[str, str] | None = None) -> Response:
    """Return a refusal as a response."""
    return Response(error_body(sentence), status, headers=headers, media_type="application/json")


async def on_http_exception(request: Request, error: Exception) -> Response:
    """Answer refusals, unknown paths and wrong methods."""
    assert isinstance(error, HTTPException)
    sentence = str(error.detail)
    if error.status_code == 404 and sentence == "Not Found":
        sentence = f"there is nothing at {request.url.path}; /docs lists what there is"
    elif error.status_code == 405:
        sentence = f"{request.method} is not served at {request.url.path}; see /docs"
    return error_response(error.status_code, sentence, dict(error.headers or {}))


async def on_invalid_request(request: Request, error: Exception) -> Response:
    """Answer a body or query that does not have the form it should have."""
    assert isinstance(error, RequestValidationError)
    problems: Sequence[Any] = error.errors()
    more = f" (and {len(problems) - 1} more problems)" if len(problems) > 1 else ""
    return error_response(422, problem_sentence(problems[0]) + more)


def problem_sentence(problem: dict[str, Any]) -> str:
    """Return a validation problem in words: where, what was expected, what came.

    >>> where = ("body", "points", 3, 1)
    >>> problem_sentence({"loc": where, "msg": "Input should be a valid number", "input": "a"})
    'points[3][1]: input should be a valid number, got "a"'
    """
    kind, place = problem.get("type"), list(problem["loc"])
    if kind == "json_invalid":
        reason = problem.get("ctx", {}).get("error", "syntax error")
        return f"the body is not valid JSON ({reason} at character {place[-1]})"
    message = problem["msg"][:1].lower() + problem["msg"][1:]
    if len(place) <= 1:
        return f"expected a JSON object as the body with Content-Type application/json: {message}"
    name = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in place[1:])
    if kind in ("missing", "extra_forbidden"):
        word = "is missing" if kind == "missing" else "is not a field of this request"
        return f"{name.removeprefix('.')} {word}"
    return f"{name.removeprefix('.')}: {message}, got {_shown(problem.get('input'))}"


def _shown(value: Any) -> str:
    """Return a value as it may stand in a sentence."""
    if isinstance(value, (list, dict)):
        return f"{'a list' if isinstance(value, list) else 'an object'} of {len(value)}"
    try:
        text = json.dumps(value)
    except (TypeError, ValueError):
        text = repr(value)
    return text if len(text) <= 40 else text[:37] + "..."
