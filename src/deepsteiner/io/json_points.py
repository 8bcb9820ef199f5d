"""Points in JSON, JSON lines and GeoJSON."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from types import NoneType
from typing import Any

import numpy as np

from ..core.errors import FormatError, PointsError
from ..core.geo import LONLAT
from ..core.points import FloatArray, as_points
from .sources import Source, shorten, shown
from .text import coordinate_names, in_system, terminals_of

# The types of GeoJSON that hold points, and the member that holds what each is made of.
CONTENTS = {
    "Feature": "geometry",
    "FeatureCollection": "features",
    "GeometryCollection": "geometries",
    "MultiPoint": "coordinates",
    "Point": "coordinates",
}
GEOJSON_TYPES = tuple(CONTENTS)
OTHER_GEOMETRIES = ("LineString", "MultiLineString", "MultiPolygon", "Polygon")
# The member of a GeoJSON object that holds what GeoJSON itself has no place for.
MEMBER = "deepsteiner"
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
EXPECTED = 'expected [[x, y], ...], {"points": [[x, y], ...]}, a saved solution or GeoJSON'


def parse_json(text: str, name: str, line: int | None = None) -> Any:
    """Return the value of a JSON text, or say where it stops being JSON.

    `line` is the line of the file that the text is, where it is not the whole file.
    """
    where = name if line is None else f"{name}, line {line}"
    hint = "" if line is None else "; expected one instance a line"
    try:
        return loads(text)
    except FormatError as error:
        raise FormatError(f"{where}: {error}") from None
    except json.JSONDecodeError as error:
        where = f"{name}, line {line or error.lineno}"
        reason = f"{error.msg}, column {error.colno}"
    except (ValueError, RecursionError):
        reason = "a number too long or lists too deep"
    raise FormatError(f"{where}: not valid JSON ({reason}){hint}")


def loads(text: str) -> Any:
    """Return the value of a JSON text; refuse repeated names and broken characters.

    The letter of the standard allows both, but the first is ambiguous, and the second cannot be
    written again.
    """
    value = json.loads(text, object_pairs_hook=_unique)
    if _SURROGATE.search(text):
        try:
            json.dumps(value, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            raise FormatError("a string holds half of a surrogate pair") from None
    return value


def _unique(members: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(members)
    if len(result) < len(members):
        name = Counter(name for name, _ in members).most_common(1)[0][0]
        raise FormatError(f"an object has two members {shown(name)}")
    return result


def read_json(source: Source, key: str | None = None) -> list[FloatArray]:
    """Read the instances of a JSON file; `key` names the member that holds them."""
    return points_of_value(parse_json(source.text(), source.name), source.name, key)


def read_jsonl(source: Source, key: str | None = None) -> list[FloatArray]:
    """Read one instance a line."""
    instances: list[FloatArray] = []
    for number, line in source.lines():
        value = parse_json(line, source.name, number)
        instances += points_of_value(value, source.at(number), key)
    return instances


def write_json(instances: list[FloatArray]) -> str:
    """Return the instances as one JSON object that reads back bit for bit."""
    points: list[Any] = [np.asarray(points).tolist() for points in instances]
    return _dump(points[0] if len(points) == 1 else points, instances[0]) + "\n"


def write_jsonl(instances: list[FloatArray]) -> str:
    """Return one JSON object a line."""
    return "".join(_dump(np.asarray(one).tolist(), one) + "\n" for one in instances)


def write_geojson(points: FloatArray) -> str:
    """Return the points as a GeoJSON FeatureCollection."""
    features = [
        feature("Point", position, id=index)
        for index, position in enumerate(np.asarray(points).tolist())
    ]
    crs = getattr(points, "crs", None)
    collection: dict[str, Any] = {"type": "FeatureCollection"}
    if crs is None:
        collection[MEMBER] = {"coordinates": "plane"}
    elif crs != LONLAT:
        # RFC 7946 knows longitude and latitude only; this is the older form GIS tools still read.
        collection["crs"] = {"type": "name", "properties": {"name": crs}}
    return json.dumps({**collection, "features": features}, allow_nan=False) + "\n"


def feature(kind: str, coordinates: Any, /, **properties: Any) -> dict[str, Any]:
    """Return a GeoJSON Feature of a kind of geometry, as "Point"."""
    geometry = {"type": kind, "coordinates": coordinates}
    return {"type": "Feature", "geometry": geometry, "properties": properties}


def _dump(points: Any, first: FloatArray) -> str:
    crs = getattr(first, "crs", None)
    value = {"points": points} if crs is None else {"points": points, "crs": crs}
    return json.dumps(value, allow_nan=False)


def points_of_value(value: Any, where: str, key: str | None = None) -> list[FloatArray]:
    """Return the instances that a parsed JSON value holds."""
    if isinstance(value, list) and key is None:
        return _from_list(value, where, None)
    if not isinstance(value, dict):
        raise FormatError(f"{where}: {EXPECTED}, got {shown(value)}")
    if key is None and value.get("type") in GEOJSON_TYPES + OTHER_GEOMETRIES:
        return [_from_geojson(value, where)]
    names = ("points", "terminals") if key is None else (key,)
    name = next((name for name in names if name in value), None)
    if name is None:
        members = ", ".join(map(shorten, list(value)[:8])) or "none"
        if key is not None:
            raise FormatError(f"{where}: no member {key!r}; its members are: {members}")
        raise FormatError(f"{where}: {EXPECTED}, got an object with members: {members}")
    if not isinstance(value[name], list):
        got = "the hash of a tree's terminals" if "edges" in value else shown(value[name])
        raise FormatError(f"{where}: {name!r} must be a list of [x, y] pairs, got {got}")
    return _from_list(value[name], where, value.get("crs"))


def _from_list(value: list[Any], where: str, crs: Any) -> list[FloatArray]:
    several = bool(value) and isinstance(value[0], list) and bool(value[0])
    if several and isinstance(value[0][0], list):
        return [
            _one(points, f"{where}, instance {index}", crs) for index, points in enumerate(value)
        ]
    return [_one(value, where, crs)]


def _one(value: Any, where: str, crs: Any) -> FloatArray:
    if isinstance(value, list) and value and all(isinstance(item, dict) for item in value):
        value, crs = _from_objects(value, where, crs)
    points = as_points(value, what=where)
    if isinstance(crs, bool) or not isinstance(crs, (str, int, NoneType)):
        raise FormatError(f"{where}: 'crs' must be text such as 'EPSG:4326', got {shown(crs)}")
    return in_system(points, crs, where)


def _from_objects(value: list[dict[str, Any]], where: str, crs: Any) -> tuple[list[Any], Any]:
    named = coordinate_names(value[0])
    if named is None:
        raise FormatError(
            f"{where}: expected points as [x, y] or with members x and y or lon and lat"
        )
    first, second, system = named
    try:
        return [[item[first], item[second]] for item in value], crs or system
    except KeyError as missing:
        raise FormatError(f"{where}: a point has no member {missing}") from None


def _from_geojson(value: dict[str, Any], where: str) -> FloatArray:
    member = value.get(MEMBER)
    if isinstance(member, dict) and "format" in member:
        from .solution_geojson import dict_from_geojson

        return terminals_of(dict_from_geojson(value, where), where)
    positions = list(_positions(value, where))
    if not positions:
        raise PointsError(f"{where}: no points given; at least one Point is needed")
    points = as_points(positions, what=where)
    if isinstance(member, dict) and member.get("coordinates") == "plane":
        return points
    return in_system(points, _geojson_crs(value.get("crs"), where), where)


def _positions(value: Any, where: str) -> Iterator[list[Any]]:
    kind = value.get("type") if isinstance(value, dict) else None
    if kind not in GEOJSON_TYPES:
        accepted = ", ".join(GEOJSON_TYPES)
        raise FormatError(
            f"{where}: expected points, got GeoJSON {shown(kind)}; accepted: {accepted}"
        )
    content = value.get(CONTENTS[kind], ...)
    if content is ... or (kind not in ("Feature", "Point") and not isinstance(content, list)):
        raise FormatError(f"{where}: this {kind!r} is not valid GeoJSON")
    if kind == "Point":
        yield from [_position(content, where)] if content else []
    elif kind == "MultiPoint":
        yield from (_position(position, where) for position in content)
    elif kind != "Feature":
        for part in content:
            yield from _positions(part, where)
    elif content is not None:
        yield from _positions(content, where)


def _position(position: Any, where: str) -> list[Any]:
    # A third number is an altitude, which RFC 7946 lets readers ignore.
    if not isinstance(position, list) or len(position) not in (2, 3):
        raise FormatError(
            f"{where}: expected a GeoJSON position [longitude, latitude], got {shown(position)}"
        )
    return position[:2]


def _geojson_crs(member: Any, where: str) -> str:
    if member is None:
        return LONLAT
    try:
        name = member["properties"]["name"]
    except (KeyError, TypeError):
        name = None
    if not isinstance(name, str):
        raise FormatError(f"{where}: the 'crs' member of this GeoJSON does not name a system")
    return LONLAT if name.endswith("CRS84") else name
