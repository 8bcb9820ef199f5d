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
THIN = 2.0**-29
"""Walls thinner than this, in units of the frame, have no width: there are none.

Neither obstacles nowhere thicker than this, nor such parts of thicker ones. It is above what contacts of an edge with walls are told apart by, and a hundred times DEPTH: an
edge could go through a thinner one or not, as rounding has it.
"""
SHARPEST = 1e6
"""Mitres that give corners back: those below some 2e-6 radians are thin parts themselves."""
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


def hard_and_soft(obstacles: Any) -> tuple[list[Any], list[tuple[Any, float]]]:
    """Return the shapes of hard obstacles, and those of soft regions with their weights.

    An infinite weight makes an obstacle hard; a weight of 1 is no region at all.
    """
    found = read_shapes(obstacles)
    weights = [np.inf if weight is None else float(weight) for _, weight in found]
    hard = [shape for (shape, _), weight in zip(found, weights, strict=True) if weight == np.inf]
    soft = []
    for index, ((shape, _), weight) in enumerate(zip(found, weights, strict=True)):
        if weight < np.inf and shape.geom_type not in SURFACES:
            raise ObstacleError(
                f"obstacle {index} is a {shape.geom_type} with a weight; soft regions are polygons"
            )
        if 1.0 < weight < np.inf:
            soft.append((shape, weight))
    return hard, soft


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
        yield from ((shape, given[1]) for shape, _ in _parts(given[0], where))
    elif (ring := _ring(given)) is not None:
        yield _polygon(ring, where), None
    else:
        for index, one in enumerate(given):
            yield from _parts(one, f"{where}[{index}]")


def _is_weighted(given: Any) -> bool:
    if not isinstance(given, (tuple, list)) or len(given) != 2:
        return False
    shape, weight = given
    if isinstance(weight, numbers.Real) or (isinstance(given, tuple) and weight is None):
        return not isinstance(shape, numbers.Real)
    # A shape beside something that is no shape: `_check` says what is wrong with the weight.
    is_shape = hasattr(shape, "geom_type") or isinstance(shape, Mapping)
    return is_shape and isinstance(weight, (str, bytes, complex))


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
    if factor is None or not factor >= 1.0:
        raise ObstacleError(
            f"obstacle {index} has weight {weight!r}; a weight is a number of at least 1, infinite "
            "or none where the obstacle is hard"
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
    snapped = shapely.set_precision(valid, grid)
    united = [
        snapped[group[0]] if len(group) == 1 else shapely.union_all(snapped[group], grid_size=grid)
        for group in _touching(snapped, 2.0 * grid)
    ]
    whole = _unsnapped(np.array(united, dtype=object), shapely.get_coordinates(valid), grid)
    return list(shapely.orient_polygons(_opened(_surfaces(whole), unit)))


def _surfaces(shapes: Any) -> Any:
    """Return the polygons among the parts of some shapes."""
    shapely = load_shapely()
    parts = shapely.get_parts(shapes)
    return parts[shapely.get_type_id(parts) == shapely.GeometryType.POLYGON]


def _opened(polygons: Any, unit: float) -> Any:
    """Return polygons without what is thinner than THIN: some of them, and parts of others.

    A polygon shrunk by half of THIN and widened again lacks its thin walls. Mitres give it back
    its corners, and what they add beyond them is cut off again.
    """
    shapely = load_shapely()
    width = THIN * unit
    polygons = polygons[~_is_thin(polygons, width)]
    near = shapely.minimum_clearance(polygons) < width
    if not near.any():
        return polygons
    given, style = polygons[near], {"join_style": "mitre", "mitre_limit": SHARPEST}
    core = shapely.buffer(given, -0.5 * width, **style)
    grid = GRID * unit
    opened = shapely.intersection(shapely.buffer(core, 0.5 * width, **style), given, grid_size=grid)
    parts = _surfaces(_unsnapped(opened, shapely.get_coordinates(given), grid))
    return np.concatenate((polygons[~near], parts[~_is_thin(parts, width)]))


def _is_thin(polygons: Any, width: float) -> Any:
    """Flag polygons that are empty or nowhere thicker than a width."""
    shapely = load_shapely()
    # All inside is then within half the width of the boundary, whose length bounds the area.
    thin = 2.0 * shapely.area(polygons) <= width * shapely.length(polygons)
    thin[thin] = shapely.is_empty(shapely.buffer(polygons[thin], -0.5 * width))
    return thin


def _touching(shapes: Any, reach: float) -> list[Any]:
    """Return groups of shapes, as their numbers: no two of different groups are within reach."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    near = load_shapely().STRtree(shapes).query(shapes, predicate="dwithin", distance=reach)
    size = len(shapes)
    graph = coo_array((np.ones(near.shape[1], np.bool_), tuple(near)), shape=(size, size))
    _, label = connected_components(graph, directed=False)
    order = np.argsort(label, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(label[order])) + 1)


def _unsnapped(whole: Any, given: np.ndarray[Any, Any], grid: float) -> Any:
    """Return unions with their corners back where they were given, up to the grid."""
    from scipy.spatial import cKDTree

    tree = cKDTree(given)

    def moved(corners: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        distance, nearest = tree.query(corners)
        return np.where(distance[:, None] <= grid, given[nearest], corners)

    return load_shapely().transform(whole, moved)
