"""Geography: from longitudes and latitudes into a plane in metres, and back.

Degrees are no plane coordinates: a tree solved in them is a wrong tree. `plane_of` chooses the
plane, `Plane.into` and `Plane.back` map between it and the input coordinates.
"""

from __future__ import annotations

import reprlib
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from .errors import MissingDependencyError, OptionError, PointsError
from .points import FloatArray, as_points
from .scalars import as_whole

LONLAT = "EPSG:4326"

# Azimuthal equidistant: at distance r from the centre the scale is off by (r / R)**2 / 6 across
# the radius and by nothing along it, so at most 0.41 % here. Beyond, a plane has little meaning.
LARGEST_RADIUS = 1_000_000.0
EARTH_RADIUS = 6_371_000.0


class GeoPoints(np.ndarray[Any, np.dtype[np.float64]]):
    """An (n, 2) array that knows its coordinate reference system: x or longitude comes first.

    >>> points = GeoPoints([[13.4, 52.5], [2.35, 48.86]], crs="EPSG:4326")
    >>> points[:1].crs
    'EPSG:4326'
    """

    crs: str | None

    def __new__(cls, points: Any, crs: Any = LONLAT) -> GeoPoints:
        """Wrap points given as (longitude, latitude) or (x, y) in the given system."""
        result = np.array(points, dtype=np.float64).view(cls)
        result.crs = crs_text(crs)
        return result

    def __array_finalize__(self, obj: Any) -> None:
        self.crs = getattr(obj, "crs", None)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        result = super().__array_function__(function, types, args, kwargs)
        # numpy joins arrays into plain ones; losing the system would make degrees a plane.
        if function in (np.concatenate, np.stack, np.vstack):
            systems = {getattr(array, "crs", None) for array in args[0]}
            if len(systems) > 1:
                raise PointsError(f"points in different systems cannot be joined: {systems}")
            result = GeoPoints(result, systems.pop())
        return result

    def __reduce__(self) -> tuple[Any, ...]:
        return _with_crs, (np.asarray(self), self.crs)


def _with_crs(points: FloatArray, crs: str | None) -> GeoPoints:
    result = points.view(GeoPoints)
    result.crs = crs
    return result


@dataclass(frozen=True, slots=True)
class Plane:
    """A plane in metres for coordinates in `crs`; `plane_of(crs, plane_crs)` rebuilds it."""

    crs: str
    plane_crs: str
    unit: float
    is_lonlat: bool

    def into(self, points: Any) -> FloatArray:
        """Map coordinates of `crs` to metres in the plane."""
        array = np.array(points, dtype=np.float64).reshape(-1, 2)
        if self.is_lonlat:
            check_lonlat(array)
        mapped = _transformed(array, self.crs, self.plane_crs)
        bad = ~np.isfinite(mapped).all(axis=1)
        if bad.any():
            row = int(np.argmax(bad))
            raise PointsError(
                f"point {row} is ({array[row, 0]:g}, {array[row, 1]:g}) in {self.crs}, "
                f"which {self.plane_crs} cannot show"
            )
        return mapped * self.unit if self.unit != 1.0 else mapped

    def back(self, metres: Any) -> FloatArray:
        """Map metres in the plane back to coordinates of `crs`."""
        array = np.array(metres, dtype=np.float64).reshape(-1, 2)
        if self.unit != 1.0:
            array /= self.unit
        return _transformed(array, self.plane_crs, self.crs)


def plane_of(crs: Any, plane_crs: Any = None, points: Any = None) -> Plane:
    """Return the plane in which points given in `crs` are solved.

    A projected system is its own plane (feet become metres). For longitudes and latitudes, and
    for web Mercator, whose metres are none, it is `plane_crs`, or else the azimuthal equidistant
    projection centred on the points: true distances and directions from the centre, a scale
    within 0.41 % up to 1,000 km from it, and no seam at the poles or the antimeridian.
    """
    source_text = crs_text(crs)
    source = _crs(source_text)
    if plane_crs is not None:
        plane_text = crs_text(plane_crs)
    elif source.is_projected and not _is_web_mercator(source):
        plane_text = source_text
    else:
        plane_text = _local_plane(source_text, source, points)
    plane = _crs(plane_text)
    if not plane.is_projected:
        raise OptionError(
            f"{plane_text!r} is not a projected system; the plane to solve in must be one in "
            "metres, such as 'EPSG:25832'"
        )
    unit = float(plane.axis_info[0].unit_conversion_factor)
    return Plane(source_text, plane_text, unit, bool(source.is_geographic))


def to_lonlat(points: Any, crs: Any) -> FloatArray:
    """Return coordinates given in `crs` as WGS 84 longitudes and latitudes in degrees."""
    array = np.array(points, dtype=np.float64).reshape(-1, 2)
    return _transformed(array, crs_text(crs), LONLAT)


def check_lonlat(points: FloatArray, what: str = "points") -> None:
    """Raise PointsError unless longitudes and latitudes are such (degrees, in this order)."""
    bad = ~((np.abs(points[:, 1]) <= 90.0) & (np.abs(points[:, 0]) <= 360.0))
    if bad.any():
        row = int(np.argmax(bad))
        raise PointsError(
            f"{what}: point {row} is ({points[row, 0]:g}, {points[row, 1]:g}); expected "
            "(longitude, latitude) in degrees with latitudes from -90 to 90"
        )


def crs_text(crs: Any) -> str:
    """Return the text of a system given as text, as an EPSG number or as a pyproj CRS."""
    if isinstance(crs, str) and crs.strip():
        if any("\ud800" <= letter <= "\udfff" for letter in crs):
            raise OptionError(f"crs must be Unicode text, got {reprlib.repr(crs.strip())}")
        return crs.strip()
    number = as_whole(crs)
    if number is not None:
        return f"EPSG:{number}"
    if hasattr(crs, "to_string"):
        return str(crs.to_string())
    raise OptionError(
        "crs must be text such as 'EPSG:4326', an EPSG number or a pyproj CRS, "
        f"got {reprlib.repr(crs)}"
    )


def _local_plane(source_text: str, source: Any, points: Any) -> str:
    if points is None:
        raise OptionError(f"points are needed to choose a plane for {source_text!r}")
    lonlat = np.array(as_points(np.asarray(points)))
    if not source.is_geographic:
        lonlat = to_lonlat(lonlat, source_text)
    check_lonlat(lonlat)
    longitude, latitude = _centre(lonlat)
    ellipsoid = source.ellipsoid
    flattening = float(ellipsoid.inverse_flattening)
    shape = f"+rf={flattening!r}" if flattening else f"+b={float(ellipsoid.semi_minor_metre)!r}"
    return (
        f"+proj=aeqd +lat_0={latitude!r} +lon_0={longitude!r} "
        f"+a={float(ellipsoid.semi_major_metre)!r} {shape} +units=m +no_defs +type=crs"
    )


def _centre(lonlat: FloatArray) -> tuple[float, float]:
    """Return the middle of the points on the globe, or refuse points that span too much of it."""
    longitude, latitude = np.radians(lonlat).T
    across = np.cos(latitude)
    on_sphere = np.stack(
        (across * np.cos(longitude), across * np.sin(longitude), np.sin(latitude)), axis=1
    )
    # The middle of the box, unlike the mean, ignores the points' order and density.
    middle = on_sphere.min(axis=0) / 2 + on_sphere.max(axis=0) / 2
    chord = np.linalg.norm(on_sphere - middle / max(np.linalg.norm(middle), 1e-9), axis=1).max()
    radius = 2 * EARTH_RADIUS * float(np.arcsin(min(chord / 2, 1.0)))
    if radius > LARGEST_RADIUS:
        raise PointsError(
            f"the points reach {radius / 1000:.0f} km from their centre, and beyond "
            f"{LARGEST_RADIUS / 1000:.0f} km no plane measures lengths well; project_to= a "
            "projected system accepts its distortion"
        )
    x, y, z = middle
    turned, raised = np.degrees((np.arctan2(y, x), np.arctan2(z, np.hypot(x, y)))).tolist()
    # Rounded to about a metre, so that the text that describes the plane stays readable.
    return round(turned, 5), round(raised, 5)


def _is_web_mercator(crs: Any) -> bool:
    operation = crs.coordinate_operation
    return operation is not None and "Pseudo" in operation.method_name


def _transformed(array: FloatArray, source: str, target: str) -> FloatArray:
    if source == target:
        return array
    mapped = _transformer(source, target).transform(array[:, 0], array[:, 1])
    return np.stack(mapped, axis=1).astype(np.float64, copy=False)


def _pyproj() -> Any:
    try:
        import pyproj
    except ImportError:
        raise MissingDependencyError(
            "geographic coordinates need pyproj to be solved in metres; install it with "
            'pip install "deepsteiner[geo]"'
        ) from None
    return pyproj


@lru_cache(maxsize=256)
def _crs(text: str) -> Any:
    pyproj = _pyproj()
    try:
        crs = pyproj.CRS.from_user_input(text)
    except pyproj.exceptions.CRSError:
        raise OptionError(
            f"{reprlib.repr(text)} is not a coordinate reference system that pyproj knows; "
            "expected something like 'EPSG:4326'"
        ) from None
    if not (crs.is_geographic or crs.is_projected):
        raise OptionError(
            f"{text!r} is neither a geographic (longitude, latitude) nor a projected system"
        )
    if crs.is_geographic and not _is_greenwich_degrees(crs):
        raise OptionError(
            f"{text!r} does not count degrees from Greenwich; convert the points to {LONLAT}"
        )
    return crs


def _is_greenwich_degrees(crs: Any) -> bool:
    degrees = all(axis.unit_name.startswith("degree") for axis in crs.axis_info[:2])
    meridian = crs.prime_meridian
    return degrees and (meridian is None or meridian.longitude == 0.0)


@lru_cache(maxsize=256)
def _transformer(source: str, target: str) -> Any:
    return _pyproj().Transformer.from_crs(_crs(source), _crs(target), always_xy=True)
