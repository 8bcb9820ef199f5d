"""A solution as one csv table that people can read.

Comment lines `# name: value` (values in JSON) come first, led by `# deepsteiner-solution: 1`.
Then the columns kind,id,x,y,from,to,length: a row for each node (kind terminal, steiner or relay,
with its x and y) and for each edge (kind edge, from one node's id to another's).
"""

from __future__ import annotations

import json
from typing import Any

from ..core.errors import FormatError
from ..core.solution import Solution
from .export import node_kinds
from .json_points import UnusableJsonError, loads
from .sources import shorten
from .tables import finite_number

COLUMNS = "kind,id,x,y,from,to,length"
MARK = "deepsteiner-solution"
ARRAYS = ("terminals", "steiner_points", "edges")


def solution_to_csv(solution: Solution, data: dict[str, Any]) -> str:
    """Return the table of a solution, given also as its dictionary."""
    lines = [f"# {MARK}: {data['version']}"]
    for name, value in data.items():
        if name not in (*ARRAYS, "format", "version"):
            lines.append(f"# {name}: {json.dumps(value, allow_nan=False)}")
    lines.append(COLUMNS)
    positions = solution.coordinates.tolist()
    for node, ((x, y), kind) in enumerate(zip(positions, node_kinds(solution), strict=True)):
        lines.append(f"{kind},{node},{x!r},{y!r},,,")
    lengths = solution.edge_lengths().tolist()
    pairs = zip(solution.edges.tolist(), lengths, strict=True)
    for edge, ((start, end), length) in enumerate(pairs):
        lines.append(f"edge,{edge},,,{start},{end},{length!r}")
    return "\n".join(lines) + "\n"


def dict_from_csv(text: str, name: str) -> dict[str, Any]:
    """Return the dictionary of a solution from its table; the caller checks its fields."""
    data: dict[str, Any] = {"format": MARK}
    arrays: dict[str, list[Any]] = {array: [] for array in ARRAYS}
    header = False
    for number, line in enumerate(text.split("\n"), 1):
        stripped = line.strip()
        where = f"{name}, line {number}"
        if stripped.startswith("#"):
            label, _, value = stripped[1:].partition(":")
            field = label.strip()
            data["version" if field == MARK else field] = _value(value, where)
        elif stripped and not header:
            if stripped != COLUMNS:
                raise FormatError(f"{where}: expected the columns {COLUMNS}")
            header = True
        elif stripped:
            _add_row(stripped.split(","), arrays, where)
    return data | arrays


def _add_row(cells: list[str], arrays: dict[str, list[Any]], where: str) -> None:
    if len(cells) != 7:
        raise FormatError(f"{where}: expected the 7 columns {COLUMNS}, got {len(cells)}")
    kind, identity, x, y, start, end, _ = cells
    if kind == "edge":
        row: list[Any] = [_whole(start, where), _whole(end, where)]
        target = "edges"
    elif kind in ("terminal", "steiner", "relay"):
        row = [finite_number(x, where), finite_number(y, where)]
        target = "terminals" if kind == "terminal" else "steiner_points"
    else:
        raise FormatError(
            f"{where}: kind must be terminal, steiner, relay or edge, got {shorten(kind)}"
        )
    if target == "terminals" and arrays["steiner_points"]:
        raise FormatError(f"{where}: terminals must come before the other nodes")
    nodes = len(arrays["terminals"]) + len(arrays["steiner_points"])
    expected = len(arrays["edges"]) if kind == "edge" else nodes
    if _whole(identity, where) != expected:
        raise FormatError(f"{where}: expected id {expected}, got {shorten(identity)}")
    arrays[target].append(row)


def _value(text: str, where: str) -> Any:
    try:
        return loads(text)
    except (ValueError, RecursionError, UnusableJsonError):
        raise FormatError(f"{where}: expected a value in JSON, got {shorten(text)}") from None


def _whole(cell: str, where: str) -> int:
    if not cell.isdecimal() or len(cell) > 18:
        raise FormatError(f"{where}: expected a whole number, got {shorten(cell)}")
    return int(cell)
