"""What every answer carries, and the answers to requests that cannot be served."""

from __future__ import annotations

from typing import Any

from fastapi import Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response

from .refusals import INTERNAL, Refusal, error_body, problem_sentence, short

POLICY = (
    "default-src 'self'; img-src 'self' data: blob:; object-src 'none'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'"
)
ANSWER_HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "x-frame-options": "DENY",
}


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


async def on_internal_error(request: Request, error: Exception) -> Response:
    """Answer what should not happen, from outside the guard; the traceback goes to the log."""
    return error_response(*INTERNAL, dict(ANSWER_HEADERS))


HANDLERS: dict[int | type[Exception], Any] = {
    Refusal: on_refusal,
    HTTPException: on_http_exception,
    RequestValidationError: on_invalid_request,
    Exception: on_internal_error,
}
