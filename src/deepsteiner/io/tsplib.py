"""TSPLIB's .tsp format: the nodes of NODE_COORD_SECTION."""

from __future__ import annotations

import numpy as np

from ..core.errors import FormatError
from ..core.geo import GeoPoints, check_lonlat
from ..core.points import FloatArray
from .sources import Source, shorten
from .tables import finite_number

PLANE_TYPES = ("EUC_2D", "CEIL_2D", "ATT", "MAX_2D", "MAN_2D")


def read_tsp(source: Source) -> list[FloatArray]:
    """Read the nodes; GEO nodes become longitudes and latitudes in degrees."""
    fields, rows = _parse(source)
    kind = fields.get("EDGE_WEIGHT_TYPE", "EUC_2D").upper()
    if kind not in (*PLANE_TYPES, "GEO"):
        raise FormatError(
            f"{source.name}: EDGE_WEIGHT_TYPE {shorten(kind)} has no plane coordinates; accepted: "
            f"{', '.join(PLANE_TYPES)}, GEO"
        )
    if not rows:
        raise FormatError(f"{source.name} has no nodes; expected a NODE_COORD_SECTION")
    stated = fields.get("DIMENSION", str(len(rows)))
    if stated != str(len(rows)):
        raise FormatError(
            f"{source.name}: DIMENSION is {shorten(stated)} but NODE_COORD_SECTION has "
            f"{len(rows)} nodes"
        )
    points = np.array(rows, dtype=np.float64)
    if kind != "GEO":
        return [points]
    # Stored as latitude then longitude, each DDD.MM: whole degrees and minutes.
    degrees = np.trunc(points)
    lonlat = (degrees + (points - degrees) * 5 / 3)[:, ::-1]
    check_lonlat(lonlat, source.name)
    return [GeoPoints(lonlat)]


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


def _parse(source: Source) -> tuple[dict[str, str], list[tuple[float, float]]]:
    fields: dict[str, str] = {}
    rows: dict[str, tuple[float, float]] = {}
    section = ""
    for number, line in enumerate(source.text().split("\n"), 1):
        stripped = line.strip()
        if not stripped:
            continue
        if stripped.upper() == "EOF":
            break
        label, colon, value = stripped.partition(":")
        if label.strip().upper().endswith("_SECTION"):
            section = label.strip().upper()
        elif colon:
            fields[label.strip().upper()] = value.strip()
        elif section == "NODE_COORD_SECTION":
            node, position = _node(stripped, source.name, number)
            if node in rows:
                raise FormatError(
                    f"{source.name}, line {number}: node {shorten(node)} has coordinates already"
                )
            rows[node] = position
    return fields, list(rows.values())


def _node(line: str, name: str, number: int) -> tuple[str, tuple[float, float]]:
    words = line.split()
    if len(words) != 3:
        raise FormatError(
            f"{name}, line {number}: expected a node's number, x and y, got {shorten(line)}"
        )
    where = f"{name}, line {number}"
    return words[0], (finite_number(words[1], where), finite_number(words[2], where))
