"""TSPLIB's .tsp format: the nodes of NODE_COORD_SECTION."""

from __future__ import annotations

import numpy as np

from ..core.errors import FormatError
from ..core.geo import LONLAT
from ..core.points import FloatArray
from .sources import Source, shorten
from .text import Position, add_node, expected, in_system

PLANE_TYPES = ("EUC_2D", "CEIL_2D", "ATT", "MAX_2D", "MAN_2D")


def read_tsp(source: Source) -> list[FloatArray]:
    """Read the nodes; GEO nodes become longitudes and latitudes in degrees."""
    fields, nodes = _parse(source)
    kind = fields.get("EDGE_WEIGHT_TYPE", "EUC_2D").upper()
    if kind not in (*PLANE_TYPES, "GEO"):
        raise FormatError(
            f"{source.name}: EDGE_WEIGHT_TYPE {shorten(kind)} has no plane coordinates; accepted: "
            f"{', '.join(PLANE_TYPES)}, GEO"
        )
    count = len(nodes)
    if not count:
        raise FormatError(f"{source.name} has no nodes; expected a NODE_COORD_SECTION")
    stated = fields.get("DIMENSION", str(count))
    if stated != str(count):
        raise FormatError(
            f"{source.name}: DIMENSION is {shorten(stated)} but NODE_COORD_SECTION has "
            f"{count} nodes"
        )
    points = np.array(list(nodes.values()))
    if kind != "GEO":
        return [points]
    # Stored as latitude then longitude, each DDD.MM: whole degrees and minutes.
    degrees = np.trunc(points)
    lonlat = (degrees + (points - degrees) * 5 / 3)[:, ::-1]
    return [in_system(lonlat, LONLAT, source.name)]


def write_tsp(points: FloatArray) -> str:
    """Return the points as a EUC_2D file that reads back bit for bit."""
    lines = [
        "NAME : points",
        "TYPE : TSP",
        f"DIMENSION : {len(points)}",
        "EDGE_WEIGHT_TYPE : EUC_2D",
        "NODE_COORD_SECTION",
        *(f"{i} {x!r} {y!r}" for i, (x, y) in enumerate(np.asarray(points).tolist(), 1)),
        "EOF",
    ]
    return "\n".join(lines) + "\n"


def _parse(source: Source) -> tuple[dict[str, str], dict[str, Position]]:
    """Return the fields of the head, and the nodes by name."""
    fields: dict[str, str] = {}
    nodes: dict[str, Position] = {}
    section = ""
    for number, line in source.lines():
        before, colon, value = line.partition(":")
        label = before.strip().upper()
        if line.upper() == "EOF":
            break
        if label.endswith("_SECTION"):
            section = label
        elif colon:
            fields[label] = value.strip()
        elif section == "NODE_COORD_SECTION":
            words = line.split()
            if len(words) != 3:
                raise expected(source.at(number), "a node's number, x and y", line)
            add_node(nodes, words, source.at(number))
    return fields, nodes
