"""What the text formats share: reading numbers, nodes and coordinate names, and error messages."""

from __future__ import annotations

import math
from collections.abc import Container, Mapping, Sequence
from typing import Any

from ..core.errors import FormatError, PointsError
from ..core.geo import LONLAT, GeoPoints, check_lonlat
from ..core.points import LARGEST_COORDINATE, FloatArray, as_points
from .sources import shorten

Position = tuple[float, float]

# What the two coordinates of a point are called, and the system that the names imply.
COORDINATE_NAMES = (
    ("x", "y", None),
    ("easting", "northing", None),
    ("east", "north", None),
    ("lon", "lat", LONLAT),
    ("longitude", "latitude", LONLAT),
    ("lng", "lat", LONLAT),
    ("long", "lat", LONLAT),
)


def expected(where: str, what: str, got: str) -> FormatError:
    """Return the error about a place in a text that should hold something else."""
    return FormatError(f"{where}: expected {what}, got {shorten(got)}")


def parse_number(cell: str) -> float | None:
    """Return the number that a text spells, or None; 1_000 is a number in Python only."""
    try:
        return None if "_" in cell else float(cell)
    except ValueError:
        return None


def finite_number(cell: str, where: str) -> float:
    """Return the coordinate that a text spells, or refuse the text."""
    value = parse_number(cell)
    if value is None:
        raise expected(where, "a number", cell)
    if abs(value) <= LARGEST_COORDINATE:
        return value
    accepted = f"at most {LARGEST_COORDINATE:g} in size" if math.isfinite(value) else "finite"
    raise PointsError(f"{where}: coordinates must be {accepted}, got {shorten(cell)}")


def read_position(words: Sequence[str], where: str) -> Position:
    """Return the position that two texts spell."""
    x, y = words
    return finite_number(x, where), finite_number(y, where)


def add_node(nodes: dict[str, Position], words: list[str], where: str) -> None:
    """Add a node given by its name, x and y; each name may come once."""
    name, x, y = words
    position = read_position((x, y), where)
    if name in nodes:
        raise FormatError(f"{where}: node {shorten(name)} has coordinates already")
    nodes[name] = position


def coordinate_names(names: Container[str]) -> tuple[str, str, str | None] | None:
    """Return which two of the names are the coordinates, and the system that they imply."""
    for first, second, crs in COORDINATE_NAMES:
        if first in names and second in names:
            return first, second, crs
    return None


def in_system(points: FloatArray, crs: str | int | None, where: str) -> FloatArray:
    """Return points with the coordinate reference system that their file states, if it does."""
    if crs is None:
        return points
    located = GeoPoints(points, crs)
    if located.crs == LONLAT:
        check_lonlat(points, where)
    return located


def terminals_of(fields: Mapping[str, Any], where: str) -> FloatArray:
    """Return only the terminals of a saved solution, given by its fields."""
    return in_system(as_points(fields["terminals"], what=where), fields.get("crs"), where)
