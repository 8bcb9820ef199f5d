"""The API's documentation: examples for its OpenAPI description, and the page made from that."""

from __future__ import annotations

import json
from html import escape
from pathlib import Path
from string import Template
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


def page(description: dict[str, Any]) -> str:
    """Return the page that lists every route with its fields and an example."""
    sections = [
        _section(path, verb, route)
        for path, verbs in description["paths"].items()
        for verb, route in verbs.items()
    ]
    page = Template(Path(__file__).with_name("manual.html").read_text(encoding="utf-8"))
    version = escape(description["info"]["version"])
    return page.substitute(version=version, routes="".join(sections))


def _section(path: str, verb: str, route: dict[str, Any]) -> str:
    return (
        f"<section><h2><b>{verb.upper()}</b> <code>{escape(path)}</code></h2>"
        f"<p>{escape(route.get('description') or route.get('summary', ''))}</p>"
        f"{_parameters(route)}{_body(route)}{_answers(route)}</section>"
    )


def _parameters(route: dict[str, Any]) -> str:
    given = route.get("parameters", [])
    return _table([_row(one["name"], one["schema"], one.get("required", False)) for one in given])


def _body(route: dict[str, Any]) -> str:
    content = route.get("requestBody", {}).get("content", {})
    parts = []
    for kind, media in content.items():
        schema = media.get("schema", {})
        fields = schema.get("properties", {})
        required = schema.get("required", [])
        rows = [_row(name, field, name in required) for name, field in fields.items()]
        example = media.get("example") or {
            name: field["examples"][0] for name, field in fields.items() if field.get("examples")
        }
        parts.append(f"{_table(rows)}<h3>Request, {escape(kind)}</h3>{_code(example)}")
    return "".join(parts)


def _answers(route: dict[str, Any]) -> str:
    parts = []
    for status, answer in route.get("responses", {}).items():
        for media in answer.get("content", {}).values():
            if "example" in media:
                parts.append(f"<h3>Answer, {escape(status)}</h3>{_code(media['example'])}")
    return f"<details><summary>Answers</summary>{''.join(parts)}</details>" if parts else ""


def _row(name: str, schema: dict[str, Any], required: bool) -> str:
    kinds = [schema, *schema.get("anyOf", [])]
    kind = " or ".join(str(one["type"]) for one in kinds if "type" in one)
    if "enum" in schema:
        kind = ", ".join(map(str, schema["enum"]))
    default = "required" if required else f"default {json.dumps(schema.get('default'))}"
    words = escape(schema.get("description", ""))
    return (
        f"<tr><td><code>{escape(name)}</code></td><td>{escape(kind)}</td>"
        f"<td>{escape(default)}</td><td>{words}</td></tr>"
    )


def _table(rows: list[str]) -> str:
    return f"<table>{''.join(rows)}</table>" if rows else ""


def _code(example: Any) -> str:
    return f"<pre>{escape(example if isinstance(example, str) else readable_json(example))}</pre>"


def readable_json(value: Any, indent: str = "") -> str:
    """Return JSON with a line for every field, and lists on one line.

    >>> print(readable_json({"points": [[0, 0], [1, 2]], "options": {}}))
    {
      "points": [[0, 0], [1, 2]],
      "options": {}
    }
    """
    if not isinstance(value, dict) or not value:
        return json.dumps(value)
    deeper = indent + "  "
    fields = (
        f"{deeper}{json.dumps(key)}: {readable_json(one, deeper)}" for key, one in value.items()
    )
    return "{\n" + ",\n".join(fields) + f"\n{indent}}}"
