"""Requests, from bytes to orders: everything is checked here, and the first error ends it.

This runs in the server for small bodies and in the clerk's process for large ones, so that no
body keeps the server from answering others.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from ...core.errors import InputError
from ...core.points import FloatArray, as_points
from ...io.solution_files import FIELDS, MORE_FIELDS
from ...registry import MODULES
from ..limits import Limits
from ..options import open_options
from ..refusals import Refusal, explained, problem_sentence, quoted, short, shown
from ..workers.frames import pack_task
from ..workers.jobs import Order
from .json_values import check_plain, node_pairs, number_pairs, parse_object
from .schemas import ExportBody, SolveBody, TraceBody
from .systems import check_plane, check_system

Body = TypeVar("Body", bound=BaseModel)
FILE_SECONDS = 20.0
# What lies in the plane: how many corners each has at least, and the sentence that says so.
SHAPES = {
    "obstacles": (3, "a polygon is a list of at least 3 corners"),
    "existing": (2, "a line is a list of at least 2 points"),
}
# The fields of a solution that are lists of pairs, and those that name a coordinate system.
PAIRS = {
    "terminals": number_pairs,
    "steiner_points": number_pairs,
    "bends": number_pairs,
    "joints": number_pairs,
    "edges": node_pairs,
}
SYSTEMS = {"crs": check_system, "plane_crs": check_plane}


def check(kind: str, data: bytes, limits: Limits) -> Order:
    """Return the order that a body places, or raise a Refusal."""
    try:
        return CHECKS[kind](data, limits)
    except InputError as error:
        raise Refusal(*explained(error)) from None


def check_solve(data: bytes, limits: Limits) -> Order:
    """Check a request for a tree."""
    fields = _fields(data, SolveBody, limits.points)
    if fields.get("start") is not None:
        fields["start"] = compact_solution(fields["start"], "start")
        fields["start"]["info"] = {}
    corners = 0
    for name, (least, what) in SHAPES.items():
        if name in fields:
            fields[name] = check_shapes(fields[name], name, least, what)
            corners += sum(map(len, fields[name]))
    if corners > limits.corners:
        raise Refusal(
            413,
            f"too many corners: obstacles and existing lines may have at most {limits.corners} "
            f"in all, got {corners}",
        )
    body = _validated(SolveBody, fields)
    if body.radius is not None and body.max_edge is not None:
        raise Refusal(422, "radius and max_edge both place relays; give one of them")
    if body.radius is not None and body.existing:
        raise Refusal(422, "radius does not go with existing lines; leave one of them out")
    relays = {"max_edge": body.max_edge, "most_relays": limits.relays}
    beside = {"obstacles": body.obstacles, "existing": body.existing, "radius": body.radius}
    return _solving("solve", body, limits, start=body.start, **relays, **beside)


def check_trace(data: bytes, limits: Limits) -> Order:
    """Check a request for a tree and the way to it."""
    fields = _fields(data, TraceBody, limits.trace_points, "traced ")
    return _solving("trace", _validated(TraceBody, fields), limits)


def check_export(data: bytes, limits: Limits) -> Order:
    """Check a request for a file of a tree."""
    fields = _fields(data, ExportBody, limits.points)
    if "solution" in fields:
        fields["solution"] = compact_solution(fields["solution"], "solution")
    body = _validated(ExportBody, fields)
    task = pack_task("export", **dict(body), most_relays=limits.relays)
    return Order(task, FILE_SECONDS, format=body.format)


def compact_solution(value: Any, name: str) -> dict[str, Any]:
    """Return a solution with its lists as arrays, small and ready to be rebuilt by a worker."""
    if not isinstance(value, dict):
        raise Refusal(422, f"{name}: input should be an object, got {shown(value)}")
    solution = dict(value)
    _refuse_unknown(solution, FIELDS + MORE_FIELDS, name)
    for field, given in value.items():
        where = f"{name}.{field}"
        if field in PAIRS:
            array = PAIRS[field](given, where)
            solution[field] = array if len(array) else []
        else:
            check_plain(given, where)
        if field in SYSTEMS and isinstance(given, str):
            SYSTEMS[field](given, where)
    return solution


def check_shapes(value: Any, name: str, least: int, what: str) -> list[FloatArray]:
    """Return the obstacles or the existing lines of a request as arrays of corners."""
    if not isinstance(value, list):
        raise Refusal(422, f"{name}: input should be a list of lists, got {shown(value)}")
    shapes = []
    for index, one in enumerate(value):
        where = f"{name}[{index}]"
        if not isinstance(one, list) or len(one) < least:
            raise Refusal(422, f"{where}: {what}")
        shapes.append(as_points(number_pairs(one, where), what=where))
    return shapes


def check_count(count: int, most: int, word: str = "") -> None:
    """Refuse more points than a request may have."""
    if count > most:
        raise Refusal(413, f"too many points: at most {most} {word}points, got {shown(count)}")


def _fields(data: bytes, body: type[BaseModel], most: int, word: str = "") -> dict[str, Any]:
    """Return the fields of a body, all of them known; its points, at most `most`, are an array."""
    fields = parse_object(data)
    _refuse_unknown(fields, body.model_fields, "this request")
    for name, value in fields.items():
        if name not in ("points", "start", "solution", *SHAPES):
            check_plain(value, name)
    if "points" in fields:  # the schema says so where they are missing
        if isinstance(fields["points"], list):
            check_count(len(fields["points"]), most, word)
        fields["points"] = as_points(number_pairs(fields["points"], "points"))
    return fields


def _refuse_unknown(fields: dict[str, Any], known: Any, name: str) -> None:
    for field in fields:
        if field not in known:
            raise Refusal(422, f"{short(field)} is not a field of {name}")


def _validated(body: type[Body], fields: dict[str, Any]) -> Body:
    try:
        return body.model_validate(fields)
    except ValidationError as error:
        problems = error.errors(include_url=False, include_context=False)
        more = f" (and {len(problems) - 1} more problems)" if len(problems) > 1 else ""
        first = {**problems[0], "loc": ("body", *problems[0]["loc"])}
        raise Refusal(422, problem_sentence(first) + more) from None


def _solving(task: str, body: SolveBody | TraceBody, limits: Limits, **extra: Any) -> Order:
    if body.method not in MODULES:
        known = ", ".join(MODULES)
        raise Refusal(422, f"unknown method {quoted(body.method)}; known methods: {known}")
    most = limits.time_limit
    call = {"points": body.points, "method": body.method, "seed": body.seed}
    call |= {"time_limit": body.time_limit, **open_options(body.method, body.options)}
    seconds = most if body.time_limit is None else body.time_limit
    if seconds > most:
        raise Refusal(422, f"time_limit: at most {most:g} s, got {seconds:g}")
    packed = pack_task(task, call=call, most_seconds=most, **extra)
    return Order(packed, seconds, method=body.method)


CHECKS: dict[str, Callable[[bytes, Limits], Order]] = {
    "solve": check_solve,
    "trace": check_trace,
    "export": check_export,
}
