"""Existing networks: lines and polygons as people give them, and as solvers take them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ..core.errors import NetworkError
from ..core.points import LARGEST_COORDINATE, FloatArray, Frame, IntArray
from ..core.surroundings.existing import Existing, geometries, load_shapely, needed_parts, parts_of

FORMS = (
    "shapely lines and polygons, GeoJSON, objects with __geo_interface__ or lists of (k, 2) arrays"
)
ACCEPTED = ("LineString", "MultiLineString", "LinearRing", "Polygon", "MultiPolygon")
OPTIONAL = "optional"
ON = 1e-11
"""A terminal this close to the network, in units of the frame, is on it."""


def read_network(existing: Any) -> tuple[Existing, ...]:
    """Return lines and polygons, each with repeated points left out.

    Parameters
    ----------
    existing
        Shapely geometries, GeoJSON, anything with `__geo_interface__`, (k, 2) arrays of points
        along a line, or a list of these; a pair (shapes, "optional") or a GeoJSON property
        "optional" says that a tree may do without them.
    """
    return tuple(_shapes(existing, "existing"))


def _shapes(given: Any, where: str) -> Iterator[Existing]:
    if hasattr(given, "geom_type"):
        yield from _split(given, where)
    elif isinstance(given, Mapping):
        yield from _geojson(given, where)
    elif hasattr(given, "__geo_interface__"):
        yield from _geojson(given.__geo_interface__, where)
    elif isinstance(given, (str, bytes)) or not hasattr(given, "__len__"):
        raise NetworkError(f"{where} must be {FORMS}, got {type(given).__name__}")
    elif isinstance(given, (tuple, list)) and len(given) == 2 and isinstance(given[1], str):
        if given[1] != OPTIONAL:
            raise NetworkError(f"{where} is paired with {given[1]!r}; {OPTIONAL!r} is accepted")
        yield from (replace(one, optional=True) for one in _shapes(given[0], where))
    elif (line := _points(given, where)) is not None:
        yield _line(line, where)
    else:
        for index, one in enumerate(given):
            yield from _shapes(one, f"{where}[{index}]")


def _points(given: Any, where: str) -> FloatArray | None:
    """Return an array of numbers, or None where it is a list of further shapes."""
    if len(given) == 0:
        return None
    try:
        array = np.asarray(given)
    except (ValueError, TypeError):
        return None
    if array.dtype.kind not in "iuf" or array.ndim > 2:
        return None
    if array.ndim != 2 or array.shape[1] != 2:
        raise NetworkError(f"{where} must be a (k, 2) array of points, got shape {array.shape}")
    return array.astype(np.float64)


def _line(points: FloatArray, where: str) -> Existing:
    _check_finite(points, where)
    moved = np.concatenate(([True], (np.diff(points, axis=0) != 0.0).any(axis=1)))
    if moved.sum() < 2:
        many = "1 point" if len(points) == 1 else f"{len(points)} equal points"
        raise NetworkError(f"{where} has {many}; a line needs at least 2 different ones")
    return Existing((points[moved],))


def _check_finite(points: FloatArray, where: str) -> None:
    if not (np.abs(points) <= LARGEST_COORDINATE).all():
        raise NetworkError(f"{where} has a coordinate that is not finite or too large")


def _geojson(data: Mapping[str, Any], where: str) -> Iterator[Existing]:
    kind = data.get("type")
    if kind == "FeatureCollection" and isinstance(data.get("features"), (list, tuple)):
        for index, feature in enumerate(data["features"]):
            yield from _shapes(feature, f"{where}[{index}]")
        return
    if kind == "Feature":
        if isinstance(data.get("geometry"), Mapping):
            optional = (data.get("properties") or {}).get(OPTIONAL, False)
            if not isinstance(optional, bool):
                raise NetworkError(
                    f"{where} has {OPTIONAL!r} = {optional!r}; true or false is accepted"
                )
            shapes = _geojson(data["geometry"], where)
            yield from (replace(one, optional=optional) for one in shapes)
        return
    shapely = load_shapely()
    try:
        shape = shapely.geometry.shape(data)
    except Exception:  # whatever shapely says of a dictionary that is no geometry
        raise NetworkError(f"{where} is not a GeoJSON geometry that can be read") from None
    yield from _split(shape, where)


def _split(shape: Any, where: str) -> Iterator[Existing]:
    """Yield the lines and polygons of a shapely geometry."""
    shapely = load_shapely()
    if shape.geom_type not in (*ACCEPTED, "GeometryCollection"):
        raise NetworkError(f"{where} is a {shape.geom_type}; lines and polygons are accepted")
    if shape.is_empty:
        return
    if hasattr(shape, "geoms"):
        for part in shape.geoms:
            yield from _split(part, where)
        return
    coordinates = shapely.get_coordinates(shape)
    if shape.geom_type != "Polygon":
        yield _line(coordinates, where)
        return
    _check_finite(coordinates, where)
    if not shape.is_valid:
        yield from _split(shapely.make_valid(shape), where)
        return
    rings = (shape.exterior, *shape.interiors)
    yield Existing(tuple(np.array(ring.coords)[:, :2].copy() for ring in rings), filled=True)


class Joinable(NamedTuple):
    """Where a network can be joined: segments, and places alone, each with its part."""

    tails: FloatArray
    heads: FloatArray
    parts: IntArray
    places: FloatArray
    owners: IntArray


@dataclass(frozen=True)
class Network:
    """Existing networks in the coordinates of a frame.

    Attributes
    ----------
    shapes
        Lines and polygons in the user's coordinates.
    part
        The part of each.
    into
        Maps the user's coordinates into the frame.
    outside
        What of it is outside obstacles and within reach; None where there are no obstacles.
    """

    shapes: tuple[Existing, ...]
    part: IntArray
    into: Callable[[FloatArray], FloatArray]
    outside: Joinable | None = None

    @classmethod
    def of(
        cls,
        shapes: tuple[Existing, ...],
        terminals: FloatArray,
        plane: Callable[[FloatArray], FloatArray],
        frame: Frame,
    ) -> Network:
        """Return the network; `plane` maps the user's coordinates to those of the frame's points.

        Whether shapes touch is asked in the user's coordinates, where they were drawn.
        """
        return cls(shapes, parts_of(shapes, terminals), lambda points: frame.into(plane(points)))

    def __len__(self) -> int:
        return int(self.part.max()) + 1

    @cached_property
    def _drawn(self) -> Any:
        """The shapes in the frame."""
        return geometries(self.shapes, self.into)

    @cached_property
    def joinable(self) -> Joinable:
        """Where the network can be joined: all its segments, or what obstacles leave of them."""
        if self.outside is not None:
            return self.outside
        tails, heads, parts = [], [], []
        for shape, part in zip(self.shapes, self.part.tolist(), strict=True):
            for ring in shape.rings:
                points = self.into(ring)
                moved = (points[1:] != points[:-1]).any(axis=1)
                tails.append(points[:-1][moved])
                heads.append(points[1:][moved])
                parts.append(np.full(int(moved.sum()), part))
        return Joinable(
            np.concatenate(tails),
            np.concatenate(heads),
            np.concatenate(parts),
            np.empty((0, 2)),
            np.empty(0, np.int64),
        )

    @property
    def needed(self) -> IntArray:
        """The parts that a tree must join."""
        return needed_parts(self.shapes, self.part)

    def part_at(self, points: FloatArray) -> IntArray:
        """Return the part that each point of the frame lies on, or in; -1 for none."""
        shapely = load_shapely()
        found = np.full(len(points), -1)
        nearest, away = shapely.STRtree(self._drawn).query_nearest(
            shapely.points(points), return_distance=True, all_matches=False
        )
        on = away <= ON
        found[nearest[0][on]] = self.part[nearest[1][on]]
        return found
