"""SteinLib's .stp format: the coordinates of the terminals."""

from __future__ import annotations

import numpy as np

from ..core.errors import FormatError
from ..core.points import FloatArray
from .sources import Source, shorten
from .tables import finite_number

MAGIC = "33D32945"


def read_stp(source: Source) -> list[FloatArray]:
    """Read the terminals' coordinates; without a Terminals section, all nodes are terminals."""
    positions: dict[str, tuple[float, float]] = {}
    terminals: list[tuple[int, str]] = []
    stated: dict[str, tuple[int, str]] = {}
    section = ""
    for number, line in enumerate(source.text().split("\n"), 1):
        words = line.split()
        keyword = words[0].upper() if words else ""
        if keyword == "SECTION" and len(words) > 1:
            section = words[1].upper()
        elif section == "COORDINATES" and keyword.strip("D") == "" and len(keyword) > 1:
            node, position = _position(words, source.name, number)
            if node in positions:
                raise FormatError(
                    f"{source.name}, line {number}: node {shorten(node)} has coordinates already"
                )
            positions[node] = position
        elif section == "TERMINALS" and keyword == "T" and len(words) > 1:
            terminals.append((number, words[1]))
        elif keyword in ("NODES", "TERMINALS") and len(words) > 1:
            stated[keyword] = number, words[1]
    if not positions:
        raise FormatError(
            f"{source.name} has no coordinates; expected a Coordinates section of 'DD i x y' lines"
        )
    # A file that lost its end would otherwise be a smaller instance.
    _check_count(stated.get("TERMINALS"), len(terminals), "terminals", source.name)
    if not terminals:
        _check_count(stated.get("NODES"), len(positions), "nodes with coordinates", source.name)
    for number, node in terminals:
        if node not in positions:
            raise FormatError(
                f"{source.name}, line {number}: terminal {shorten(node)} has no coordinates"
            )
    chosen = [positions[node] for _, node in terminals] or list(positions.values())
    return [np.array(chosen, dtype=np.float64)]


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


def _check_count(stated: tuple[int, str] | None, found: int, what: str, name: str) -> None:
    if stated is not None and stated[1] != str(found):
        raise FormatError(
            f"{name}, line {stated[0]}: the number of {what} is stated as {shorten(stated[1])}, "
            f"but it is {found}"
        )


def _position(words: list[str], name: str, number: int) -> tuple[str, tuple[float, float]]:
    if words[0].upper() != "DD" or len(words) != 4:
        raise FormatError(
            f"{name}, line {number}: expected 'DD i x y' (a node and two coordinates), "
            f"got {shorten(' '.join(words))}"
        )
    where = f"{name}, line {number}"
    return words[1], (finite_number(words[2], where), finite_number(words[3], where))
