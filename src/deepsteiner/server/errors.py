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


def refusal_response(refusal: Refusal) -> Response:
    """Return a refusal as a response."""
    body = error_body(refusal.sentence)
    return Response(body, refusal.status, refusal.headers, media_type="application/json")


async def answer_error(request: Request, error: Exception) -> Response:
    """Answer a request that failed: refused, not routed, malformed, or through a fault of ours."""
    if isinstance(error, Refusal):
        return refusal_response(error)
    if isinstance(error, RequestValidationError):
        return refusal_response(Refusal(422, problem_sentence(error.errors()[0])))
    if not isinstance(error, HTTPException):
        # This one is sent from outside the guard, so it brings the headers itself.
        return refusal_response(Refusal(*INTERNAL, ANSWER_HEADERS))
    sentence, path = str(error.detail), short(request.url.path)
    if error.status_code == 404:
        sentence = f"there is nothing at {path}; /docs lists what there is"
    elif error.status_code == 405:
        sentence = f"{short(request.method)} is not served at {path}; see /docs"
    return refusal_response(Refusal(error.status_code, sentence, error.headers))


HANDLERS: dict[int | type[Exception], Any] = dict.fromkeys(
    (Refusal, HTTPException, RequestValidationError, Exception), answer_error
)
