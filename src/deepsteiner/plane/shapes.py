"""Obstacles as people give them, made into polygons that do not overlap.

What overlaps or touches along an edge is united, what is nested is swallowed, holes stay free
ground. Coordinates are snapped to a very fine grid, so that neighbours that share a wall up to
rounding leave no crack between them.
"""

from __future__ import annotations

import numbers
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from ..core.errors import MissingDependencyError, ObstacleError
from ..core.points import LARGEST_COORDINATE
from ..core.scalars import as_real

GRID = 2.0**-40
"""The snapping grid, in units of the frame: far below DEPTH, far above rounding."""
MITRE_LIMIT = 10.0
"""Corners sharper than about 11 degrees are cut off when obstacles are widened."""
SURFACES = ("Polygon", "MultiPolygon")
LINES = ("LineString", "MultiLineString", "LinearRing", "Point", "MultiPoint")
FORMS = "shapely polygons, GeoJSON, objects with __geo_interface__ or rings of (x, y) pairs"


def load_shapely() -> Any:
    """Return the shapely module, or say in one sentence how to get it."""
    try:
        import shapely
    except ImportError:
        raise MissingDependencyError(
            'obstacles need shapely; install it with pip install "deepsteiner[geo]"'
        ) from None
    return shapely


def read_shapes(obstacles: Any) -> list[tuple[Any, float | None]]:
    """Return shapely geometries with their weights; None is the weight of a hard obstacle.

    Parameters
    ----------
    obstacles
        Shapely geometries, GeoJSON, anything with `__geo_interface__`, rings, or a list of these;
        a pair (shape, weight) or a GeoJSON property "weight" makes an obstacle soft.
    """
    found = list(_parts(obstacles, "obstacles"))
    for index, (shape, weight) in enumerate(found):
        _check(shape, weight, index)
    return found


def hard_shapes(obstacles: Any) -> list[Any]:
    """Return the shapes of hard obstacles; soft ones are refused."""
    found = read_shapes(obstacles)
    for index, (_, weight) in enumerate(found):
        if weight is not None:
            raise ObstacleError(
                f"obstacle {index} has the weight {weight:g}, and no method takes soft obstacles; "
                "leave the weight out to make it hard"
            )
    return [shape for shape, _ in found]


def _parts(given: Any, where: str) -> Iterator[tuple[Any, float | None]]:
    if given is None:
        return
    if hasattr(given, "geom_type"):
        yield from _split(given, None)
    elif isinstance(given, Mapping):
        yield from _geojson(given, None, where)
    elif hasattr(given, "__geo_interface__"):
        yield from _geojson(given.__geo_interface__, None, where)
    elif isinstance(given, (str, bytes)) or not hasattr(given, "__len__"):
        raise ObstacleError(f"{where} must be {FORMS}, got {type(given).__name__}")
    elif _is_weighted(given):
        yield from ((shape, float(given[1])) for shape, _ in _parts(given[0], where))
    elif (ring := _ring(given)) is not None:
        yield _polygon(ring, where), None
    else:
        for index, one in enumerate(given):
            yield from _parts(one, f"{where}[{index}]")


def _is_weighted(given: Any) -> bool:
    pair = isinstance(given, (tuple, list)) and len(given) == 2
    return pair and isinstance(given[1], numbers.Real) and not isinstance(given[0], numbers.Real)


def _ring(given: Any) -> np.ndarray[Any, Any] | None:
    try:
        array = np.asarray(given)
    except (ValueError, TypeError):
        return None
    if array.dtype.kind not in "iuf" or array.ndim != 2 or array.shape[1] != 2:
        return None
    return array.astype(np.float64)


def _polygon(ring: np.ndarray[Any, Any], where: str) -> Any:
    if len(ring) < 3:
        raise ObstacleError(f"{where} has {len(ring)} points; a ring needs at least 3")
    if not (np.abs(ring) <= LARGEST_COORDINATE).all():
        raise ObstacleError(f"{where} has a coordinate that is not finite or too large")
    return load_shapely().Polygon(ring)


def _geojson(data: Mapping[str, Any], weight: Any, where: str) -> Iterator[Any]:
    kind = data.get("type")
    if kind == "FeatureCollection" and isinstance(data.get("features"), (list, tuple)):
        for index, feature in enumerate(data["features"]):
            yield from _parts(feature, f"{where}[{index}]")
        return
    if kind == "Feature":
        properties = data.get("properties") or {}
        inner = data.get("geometry")
        if isinstance(inner, Mapping):
            yield from _geojson(inner, properties.get("weight"), where)
        return
    shapely = load_shapely()
    try:
        shape = shapely.geometry.shape(data)
    except (
        ValueError,
        TypeError,
        AttributeError,
        KeyError,
        IndexError,
        shapely.errors.ShapelyError,
    ):
        raise ObstacleError(f"{where} is not a GeoJSON geometry that can be read") from None
    yield from _split(shape, weight)


def _split(shape: Any, weight: Any) -> Iterator[tuple[Any, Any]]:
    if shape.geom_type == "GeometryCollection":
        for part in shape.geoms:
            yield from _split(part, weight)
    elif not shape.is_empty:
        yield shape, weight


def _check(shape: Any, weight: Any, index: int) -> None:
    shapely = load_shapely()
    if shape.geom_type not in SURFACES + LINES:
        raise ObstacleError(f"obstacle {index} is a {shape.geom_type}; polygons are accepted")
    coordinates = shapely.get_coordinates(shape)
    if not (np.abs(coordinates) <= LARGEST_COORDINATE).all():
        raise ObstacleError(f"obstacle {index} has a coordinate that is not finite or too large")
    if weight is None:
        return
    factor = as_real(weight)
    if factor is None or not 1.0 <= factor < np.inf:
        raise ObstacleError(
            f"obstacle {index} has weight {weight!r}; a weight is a finite number of at least 1"
        )


def unite(shapes: list[Any], clearance: float, unit: float) -> list[Any]:
    """Return the union of shapes, widened by a clearance, as polygons that do not overlap.

    Their outer rings run counter-clockwise, their holes clockwise. `unit` is the length of one
    unit of the frame.
    """
    shapely = load_shapely()
    for index, shape in enumerate(shapes):
        if shape.geom_type in LINES and clearance == 0.0:
            raise ObstacleError(
                f"obstacle {index} is a {shape.geom_type}, which blocks nothing without a "
                "clearance; give a polygon, or clearance= a width"
            )
    valid = shapely.make_valid(np.array(shapes, dtype=object))
    if clearance > 0.0:
        valid = shapely.buffer(valid, clearance, join_style="mitre", mitre_limit=MITRE_LIMIT)
    grid = GRID * unit
    whole = shapely.union_all(shapely.set_precision(valid, grid), grid_size=grid)
    whole = _unsnapped(whole, shapely.get_coordinates(valid), grid)
    polygons = [one for one in shapely.get_parts(whole) if one.geom_type == "Polygon"]
    return list(shapely.orient_polygons(np.array(polygons, dtype=object)))


def _unsnapped(whole: Any, given: np.ndarray[Any, Any], grid: float) -> Any:
    """Return a union with its corners back where they were given, up to the grid."""
    from scipy.spatial import cKDTree

    tree = cKDTree(given)

    def moved(corners: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        distance, nearest = tree.query(corners)
        return np.where(distance[:, None] <= grid, given[nearest], corners)

    return load_shapely().transform(whole, moved)
