"""Refusals: a status and one sentence, always as {"error": "..."}."""

from __future__ import annotations

import json

from starlette.exceptions import HTTPException


class Refusal(HTTPException):
    """A request that is not served: the status, and one sentence that says why."""

    def __init__(self, status: int, sentence: str, headers: dict[str, str] | None = None) -> None:
        super().__init__(status, sentence, headers)


def error_body(sentence: str) -> bytes:
    """Return the body of a refusal."""
    return json.dumps({"error": sentence}).encode()
