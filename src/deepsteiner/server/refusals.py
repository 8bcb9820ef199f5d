"""Refusals: a status and one sentence, always as {"error": "..."}."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from functools import cache
from http import HTTPStatus
from pathlib import Path
from typing import Any

from ..core.errors import InputError, MissingDependencyError

Headers = Mapping[str, str]

# A refusal may quote what it refuses, which may be as large as the request.
LONGEST_SENTENCE = 400
LONGEST_QUOTE = 40
# How torch says so, in a RuntimeError.
TORCH_OUT_OF_MEMORY = "can't allocate memory"
INTERNAL = 500, "internal error; the server's log has more"


class Refusal(Exception):  # noqa: N818 (few are errors of ours)
    """A request that is not served: the status, and one sentence that says why."""

    def __init__(self, status: int, sentence: str, headers: Headers | None = None) -> None:
        super().__init__(sentence)
        self.status, self.sentence, self.headers = status, sentence, dict(headers or {})


def explained(error: Exception) -> tuple[int, str]:
    """Return status and sentence of an error; what is our own fault is not explained.

    The result is not an exception: one that its own frames refer to would stay alive, with all
    that those frames hold.
    """
    if isinstance(error, Refusal):
        return error.status, error.sentence
    if isinstance(error, MissingDependencyError):
        return 501, str(error)
    if isinstance(error, MemoryError) or TORCH_OUT_OF_MEMORY in str(error):
        return 503, "the worker ran out of memory; try fewer points"
    if isinstance(error, InputError):
        return 422, str(error)
    return INTERNAL


def error_body(sentence: str) -> bytes:
    """Return the body of a refusal."""
    return json.dumps({"error": one_sentence(sentence)}).encode()


def last_answer(refusal: Refusal) -> bytes:
    """Return a refusal as it goes over the wire, on a connection that is then closed."""
    body = error_body(refusal.sentence)
    fields = {"content-type": "application/json", "content-length": len(body)}
    fields |= {**refusal.headers, "connection": "close"}
    lines = [f"HTTP/1.1 {refusal.status} {HTTPStatus(refusal.status).phrase}"]
    lines += [f"{name}: {value}" for name, value in fields.items()]
    return "\r\n".join([*lines, "", ""]).encode() + body


def one_sentence(text: str) -> str:
    """Return text on one line, of a length to be read, and without places on this machine."""
    line = " ".join(text.split())
    for place in _private_places():
        line = line.replace(place, "...")
    return line if len(line) <= LONGEST_SENTENCE else line[:LONGEST_SENTENCE] + " ..."


def problem_sentence(problem: Mapping[str, Any]) -> str:
    """Return a validation problem in words: where, what was expected, what came.

    >>> where = ("body", "points", 3, 1)
    >>> problem_sentence({"loc": where, "msg": "Input should be a valid number", "input": "a"})
    'points[3][1]: input should be a valid number, got "a"'
    """
    parts = (f"[{part}]" if isinstance(part, int) else f".{part}" for part in problem["loc"][1:])
    name = "".join(parts).removeprefix(".")
    if problem.get("type") == "missing":
        return f"{name} is missing"
    message = problem["msg"][:1].lower() + problem["msg"][1:]
    return f"{name}: {message}, got {shown(problem.get('input'))}"


def short(text: str) -> str:
    """Return text as it may stand in a sentence: a short part of it."""
    return text if len(text) <= LONGEST_QUOTE else text[: LONGEST_QUOTE - 3] + "..."


def quoted(text: str) -> str:
    """Return a name as it may stand in a sentence.

    >>> quoted("magic")
    "'magic'"
    """
    return repr(short(text))


def shown(value: Any) -> str:
    """Return a JSON value as it may stand in a sentence.

    >>> shown("0,0"), shown([[0, 0]]), shown(10**50)
    ('"0,0"', 'a list of 1', '1000000000000000000000000000000000000...')
    """
    if isinstance(value, (list, dict)):
        return f"{'a list' if isinstance(value, list) else 'an object'} of {len(value)}"
    if isinstance(value, str):
        value = value[: LONGEST_QUOTE + 1]
    try:
        text = json.dumps(value)
    except (TypeError, ValueError):
        text = f"a {type(value).__name__}"
    return short(text)


@cache
def _private_places() -> tuple[str, ...]:
    """Return the folders that no answer names, the longest first."""
    folders = {
        str(Path(__file__).resolve().parents[2]),
        os.path.expanduser("~"),
        os.getcwd(),
        sys.prefix,
        sys.base_prefix,
    }
    # A folder such as "/" is no secret and stands in every path.
    return tuple(sorted((one for one in folders if len(one) > 3), key=len, reverse=True))
