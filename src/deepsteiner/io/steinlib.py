"""SteinLib's .stp format: the coordinates of the terminals."""

from __future__ import annotations

import numpy as np

from ..core.errors import FormatError
from ..core.points import FloatArray
from .sources import Source, shorten
from .text import Position, add_node, expected

MAGIC = "33D32945"


def read_stp(source: Source) -> list[FloatArray]:
    """Read the terminals' coordinates; without a Terminals section, all nodes are terminals."""
    nodes: dict[str, Position] = {}
    terminals: list[tuple[int, str]] = []
    stated: dict[str, tuple[int, str]] = {}
    section = ""
    for number, line in source.lines():
        keyword, *words = line.split()
        keyword = keyword.upper()
        if keyword == "SECTION" and words:
            section = words[0].upper()
        elif section == "COORDINATES" and keyword.strip("D") == "" and len(keyword) > 1:
            if keyword != "DD" or len(words) != 3:
                what = "'DD i x y' (a node and two coordinates)"
                raise expected(source.at(number), what, line)
            add_node(nodes, words, source.at(number))
        elif section == "TERMINALS" and keyword == "T" and words:
            terminals.append((number, words[0]))
        elif keyword in ("NODES", "TERMINALS") and words:
            stated[keyword] = number, words[0]
    if not nodes:
        raise FormatError(
            f"{source.name} has no coordinates; expected a Coordinates section of 'DD i x y' lines"
        )
    # Otherwise a truncated file would pass for a smaller instance.
    counts = {"TERMINALS": (len(terminals), "terminals")}
    if not terminals:
        counts["NODES"] = len(nodes), "nodes with coordinates"
    for keyword, (found, what) in counts.items():
        number, count = stated.get(keyword, (0, str(found)))
        if count != str(found):
            raise FormatError(
                f"{source.at(number)}: the number of {what} is stated as {shorten(count)}, "
                f"but it is {found}"
            )
    for number, node in terminals:
        if node not in nodes:
            raise FormatError(f"{source.at(number)}: terminal {shorten(node)} has no coordinates")
    chosen = [nodes[node] for _, node in terminals] or list(nodes.values())
    return [np.array(chosen)]


def write_stp(points: FloatArray) -> str:
    """Return the points as an .stp file without edges that reads back bit for bit."""
    size = len(points)
    lines = [
        f"{MAGIC} STP File, STP Format Version 1.0",
        "",
        "SECTION Comment",
        'Remark "Euclidean Steiner tree: terminals in the plane"',
        "END",
        "",
        "SECTION Graph",
        f"Nodes {size}",
        "Edges 0",
        "END",
        "",
        "SECTION Terminals",
        f"Terminals {size}",
        *(f"T {node}" for node in range(1, size + 1)),
        "END",
        "",
        "SECTION Coordinates",
        *(f"DD {i} {x!r} {y!r}" for i, (x, y) in enumerate(np.asarray(points).tolist(), 1)),
        "END",
        "",
        "EOF",
    ]
    return "\n".join(lines) + "\n"
