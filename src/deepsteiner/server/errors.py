"""Answers to requests that cannot be served, whoever found that out."""

from __future__ import annotations

from fastapi import Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response

from .refusals import Refusal, error_body, problem_sentence, short


def error_response(status: int, sentence: str, headers: dict[str, str] | None = None) -> Response:
    """Return a refusal as a response."""
    return Response(error_body(sentence), status, headers=headers, media_type="application/json")


async def on_refusal(request: Request, error: Exception) -> Response:
    """Answer what we refuse ourselves."""
    assert isinstance(error, Refusal)
    return error_response(error.status, error.sentence, error.headers)


async def on_http_exception(request: Request, error: Exception) -> Response:
    """Answer unknown paths and wrong methods."""
    assert isinstance(error, HTTPException)
    sentence = str(error.detail)
    path = short(request.url.path)
    if error.status_code == 404:
        sentence = f"there is nothing at {path}; /docs lists what there is"
    elif error.status_code == 405:
        sentence = f"{short(request.method)} is not served at {path}; see /docs"
    return error_response(error.status_code, sentence, dict(error.headers or {}))


async def on_invalid_request(request: Request, error: Exception) -> Response:
    """Answer a query that does not have the form it should have."""
    assert isinstance(error, RequestValidationError)
    return error_response(422, problem_sentence(error.errors()[0]))
