"""Examples for the OpenAPI description: what every route answers, and how it refuses."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from .limits import Limits

Responses = dict[int | str, dict[str, Any]]

EXAMPLES: dict[str, Any] = json.loads(
    Path(__file__).with_name("examples.json").read_text(encoding="utf-8")
)


def answer(
    example: Any, kind: str = "application/json", *, refused: str = "", what: str = "OK"
) -> Responses:
    """Return what a route answers when all goes well, and the refusals of that name."""
    refusals = {
        int(status): ("Refused", "application/json", {"error": sentence})
        for status, sentence in EXAMPLES.get(f"refused {refused}", {}).items()
    }
    return {
        status: {"description": words, "content": {media: {"example": one}}}
        for status, (words, media, one) in {200: (what, kind, example), **refusals}.items()
    }


HEALTH = answer(EXAMPLES["health"])
LIMITS = answer(Limits().told(workers=3))
SAMPLES = answer(EXAMPLES["sample"], refused="sample")
SOLVE = answer({**EXAMPLES["answer"], "relays": [], "start": None}, refused="order")
STREAM = answer(EXAMPLES["stream"], "text/event-stream", refused="order")
CANCEL = answer({"status": "cancelling"}, refused="cancel")
TRACE = answer({**EXAMPLES["answer"], "trace": EXAMPLES["trace"]}, refused="order")
READ = answer(EXAMPLES["read"], refused="order")
READ_BODY = {
    "requestBody": {"content": {"text/plain": {"example": "x,y\n0,0\n1,2\n"}}, "required": True}
}
EXPORT = answer("<svg>...</svg>", "image/svg+xml", refused="order", what="The file")
