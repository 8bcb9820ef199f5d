"""A solution as GeoJSON: a Point for every node, a line for every edge, and a member of our own."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.errors import FormatError
from ..core.geo import LONLAT, to_lonlat
from ..core.solution import Solution
from .export import ARRAYS, NODE_KINDS, edges_of, nodes_of
from .json_points import MEMBER, feature
from .sources import shown


def solution_to_geojson(solution: Solution, data: dict[str, Any]) -> dict[str, Any]:
    """Return the FeatureCollection of a solution, given also as its dictionary.

    Geographic solutions are written as longitude and latitude (RFC 7946); those in a projected
    system keep their exact input coordinates as `position` besides. Plane coordinates are written
    as they are. The member `deepsteiner` says which, and holds length, bound, status and so on.
    """
    plane = solution.crs is None
    exact = solution.coordinates
    drawn = (exact if plane else to_lonlat(exact, solution.crs)).tolist()
    summary = {
        name: value for name, value in data.items() if name not in (*ARRAYS, "bends", "joints")
    }
    features = []
    for node, kind, position in nodes_of(solution):
        kept = {} if solution.crs in (None, LONLAT) else {"position": position}
        features.append(feature("Point", drawn[node], kind=kind, id=node, **kept))
    for start, end, length in edges_of(solution):
        properties = {"kind": "edge", "from": start, "to": end, "length": length}
        ends = [drawn[start], drawn[end]]
        if plane or abs(ends[1][0] - ends[0][0]) <= 180.0:
            features.append(feature("LineString", ends, **properties))
        else:
            features.append(feature("MultiLineString", _cut(*ends), **properties))
    soft = list(zip(solution.regions, solution.weights, strict=True))
    areas: list[Any] = [("obstacle", one, {}) for one in solution.obstacles]
    areas += [("region", one, {"weight": weight}) for one, weight in soft]
    for index, (kind, polygon, more) in enumerate(areas):
        rings = [(ring if plane else to_lonlat(ring, solution.crs)).tolist() for ring in polygon]
        features.append(feature("Polygon", rings, kind=kind, id=index, **more))
    for index, shape in enumerate(solution.existing):
        rings = [
            (ring if plane else to_lonlat(ring, solution.crs)).tolist() for ring in shape.rings
        ]
        geometry, places = ("Polygon", rings) if shape.filled else ("LineString", rings[0])
        features.append(
            feature(geometry, places, kind="existing", id=index, optional=shape.optional)
        )
    return {
        "type": "FeatureCollection",
        MEMBER: {**summary, "coordinates": "plane" if plane else "geographic"},
        "features": features,
    }


def _cut(start: list[float], end: list[float]) -> list[list[list[float]]]:
    """Return a line in two parts: RFC 7946 asks that it be cut where it crosses 180 degrees."""
    step = end[0] - start[0]
    side = 180.0 if start[0] > 0 else -180.0
    around = step + (360.0 if step < 0 else -360.0)
    share = (side - start[0]) / around if around else 0.0
    latitude = float(start[1] + np.clip(share, 0.0, 1.0) * (end[1] - start[1]))
    return [[start, [side, latitude]], [[-side, latitude], end]]


def dict_from_geojson(value: Any, name: str) -> dict[str, Any]:
    """Return the dictionary of a solution from its GeoJSON; the caller checks its fields."""
    summary = value.get(MEMBER) if isinstance(value, dict) else None
    if not isinstance(summary, dict) or "format" not in summary:
        raise FormatError(
            f"{name}: expected GeoJSON with a member {MEMBER!r}, as a saved solution has"
        )
    data = {field: content for field, content in summary.items() if field != "coordinates"}
    terminals: list[Any] = []
    others: list[Any] = []
    bends: list[Any] = []
    joints: list[Any] = []
    edges: list[Any] = []
    try:
        for part in value["features"]:
            properties = part["properties"]
            kind = properties["kind"]
            if kind == "edge":
                edges.append([properties["from"], properties["to"]])
                continue
            if kind in ("obstacle", "region", "existing"):  # the member has it in full
                continue
            place = len(terminals) + len(others) + len(bends) + len(joints)
            _check_node(properties, place, bool(others or bends or joints), name)
            position = properties.get("position", part["geometry"]["coordinates"])
            kinds = {"terminal": terminals, "bend": bends, "joint": joints}
            kinds.get(kind, others).append(position)
    except (KeyError, TypeError, AttributeError):
        raise FormatError(
            f"{name}: expected features with kind, id, from and to, as a saved solution has"
        ) from None
    if bends:
        data["bends"] = bends
    if joints:
        data["joints"] = joints
    return {**data, **dict(zip(ARRAYS, (terminals, others, edges), strict=True))}


def _check_node(properties: dict[str, Any], expected: int, others: bool, name: str) -> None:
    kind = properties["kind"]
    if kind not in NODE_KINDS:
        raise FormatError(
            f"{name}: kind must be one of {', '.join(NODE_KINDS)}, edge; got {shown(kind)}"
        )
    if properties["id"] != expected or (kind == "terminal" and others):
        raise FormatError(
            f"{name}: nodes must be numbered from 0 with terminals first; "
            f"got {kind} {shown(properties['id'])} in place {expected}"
        )
