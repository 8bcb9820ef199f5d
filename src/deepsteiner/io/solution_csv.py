"""A solution as one csv table that people can read.

Comment lines `# name: value` (values in JSON) come first, led by `# deepsteiner-solution: 1`.
Then the columns kind,id,x,y,from,to,length: a row for each node (kind terminal, steiner, relay,
bend or joint, with its x and y) and for each edge (kind edge, from one node's id to another's).
"""

from __future__ import annotations

import json
from typing import Any

from ..core.errors import FormatError
from ..core.solution import Solution
from .export import ARRAYS, NODE_KINDS, edges_of, nodes_of
from .json_points import loads
from .sources import Source, shorten
from .text import expected, read_position

COLUMNS = "kind,id,x,y,from,to,length"
MARK = "deepsteiner-solution"


def solution_to_csv(solution: Solution, data: dict[str, Any]) -> str:
    """Return the table of a solution, given also as its dictionary."""
    lines = [f"# {MARK}: {data['version']}"]
    for name, value in data.items():
        if name not in (*ARRAYS, "bends", "joints", "format", "version"):
            lines.append(f"# {name}: {json.dumps(value, allow_nan=False)}")
    lines.append(COLUMNS)
    lines += [f"{kind},{node},{x!r},{y!r},,," for node, kind, (x, y) in nodes_of(solution)]
    for edge, (start, end, length) in enumerate(edges_of(solution)):
        lines.append(f"edge,{edge},,,{start},{end},{length!r}")
    return "\n".join(lines) + "\n"


def dict_from_csv(source: Source) -> dict[str, Any]:
    """Return the dictionary of a solution from its table; the caller checks its fields."""
    data: dict[str, Any] = {"format": MARK}
    arrays: dict[str, list[Any]] = {array: [] for array in (*ARRAYS, "bends", "joints")}
    header = False
    for number, line in source.lines():
        where = source.at(number)
        if line.startswith("#"):
            label, _, value = line[1:].partition(":")
            field = label.strip()
            data["version" if field == MARK else field] = _value(value, where)
        elif header:
            _add_row(line.split(","), arrays, where)
        elif line != COLUMNS:
            raise FormatError(f"{where}: expected the columns {COLUMNS}")
        else:
            header = True
    for nodes, shapes in (("bends", "obstacles"), ("joints", "existing")):
        if not arrays[nodes] and shapes not in data:
            del arrays[nodes]
    return data | arrays


def _add_row(cells: list[str], arrays: dict[str, list[Any]], where: str) -> None:
    if len(cells) != 7:
        raise FormatError(f"{where}: expected the 7 columns {COLUMNS}, got {len(cells)}")
    kind, identity, x, y, start, end, _ = cells
    terminals, others, edges = (arrays[name] for name in ARRAYS)
    bends, joints = arrays["bends"], arrays["joints"]
    if kind == "edge":
        place, rows = len(edges), edges
        row: Any = [_whole(start, where), _whole(end, where)]
    elif kind in NODE_KINDS:
        place = len(terminals) + len(others) + len(bends) + len(joints)
        rows = {"terminal": terminals, "bend": bends, "joint": joints}.get(kind, others)
        row = list(read_position((x, y), where))
    else:
        raise FormatError(
            f"{where}: kind must be one of {', '.join(NODE_KINDS)}, edge; got {shorten(kind)}"
        )
    if kind == "terminal" and (others or bends or joints):
        raise FormatError(f"{where}: terminals must come before the other nodes")
    if _whole(identity, where) != place:
        raise expected(where, f"id {place}", identity)
    rows.append(row)


def _value(text: str, where: str) -> Any:
    try:
        return loads(text)
    except (ValueError, RecursionError):
        raise expected(where, "a value in JSON", text) from None


def _whole(cell: str, where: str) -> int:
    if not cell.isdecimal() or len(cell) > 18:
        raise expected(where, "a whole number", cell)
    return int(cell)
