"""Solutions for other libraries: networkx, scipy, shapely and GeoJSON."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.errors import MissingDependencyError
from ..core.geo import LONLAT, to_lonlat
from ..core.points import FloatArray
from ..core.solution import Solution
from .json_points import MEMBER


def node_kinds(solution: Solution) -> list[str]:
    """Return "terminal", "steiner" or "relay" for every node."""
    relays = int(solution.info.get("relays", 0))
    steiner = len(solution.steiner_points) - relays
    return ["terminal"] * len(solution.terminals) + ["steiner"] * steiner + ["relay"] * relays


def solution_to_networkx(solution: Solution) -> Any:
    """Return a networkx Graph; nodes carry `pos` and `kind`, edges `length`."""
    try:
        import networkx
    except ImportError:
        raise _missing("networkx") from None
    graph = networkx.Graph(
        length=solution.length,
        lower_bound=solution.lower_bound,
        status=solution.status,
        method=solution.method,
        crs=solution.crs,
    )
    positions = solution.coordinates.tolist()
    for node, (position, kind) in enumerate(zip(positions, node_kinds(solution), strict=True)):
        graph.add_node(node, pos=tuple(position), kind=kind)
    lengths = solution.edge_lengths().tolist()
    for (start, end), length in zip(solution.edges.tolist(), lengths, strict=True):
        graph.add_edge(start, end, length=length)
    return graph


def solution_to_shapely(solution: Solution) -> Any:
    """Return the edges as a shapely MultiLineString, in the order of `edges`."""
    try:
        import shapely
    except ImportError:
        raise _missing("shapely") from None
    return shapely.geometry.shape(solution_to_geometry(solution))


def solution_to_geometry(solution: Solution) -> dict[str, Any]:
    """Return the edges as the mapping of a MultiLineString, in the order of `edges`."""
    lines = solution.coordinates[solution.edges].tolist()
    return {"type": "MultiLineString", "coordinates": lines}


def solution_to_scipy_sparse(solution: Solution) -> Any:
    """Return the edge lengths as a symmetric csr_array; zeros are stored as well."""
    from scipy.sparse import csr_array

    ends = solution.edges.astype(np.int32)  # what scipy's graph routines want
    rows, columns = np.concatenate((ends, ends[:, ::-1])).T
    lengths = np.tile(solution.edge_lengths(), 2)
    size = len(solution.coordinates)
    return csr_array((lengths, (rows, columns)), shape=(size, size))


def solution_to_geojson(solution: Solution) -> dict[str, Any]:
    """Return a GeoJSON FeatureCollection: a Point for every node, a line for every edge.

    Geographic solutions are written as longitude and latitude (RFC 7946); those in a projected
    system keep their exact input coordinates as `position` besides. Plane coordinates are written
    as they are. The member `deepsteiner` says which, and holds length, bound, status and so on.
    """
    from .solution_files import solution_to_dict

    plane = solution.crs is None
    exact = solution.coordinates
    shown = exact if plane else to_lonlat(exact, solution.crs)
    summary = {
        name: value
        for name, value in solution_to_dict(solution).items()
        if name not in ("terminals", "steiner_points", "edges")
    }
    return {
        "type": "FeatureCollection",
        MEMBER: {**summary, "coordinates": "plane" if plane else "geographic"},
        "features": [
            *_nodes(solution, shown, None if plane or solution.crs == LONLAT else exact),
            *_edges(solution, shown),
        ],
    }


def _nodes(solution: Solution, shown: FloatArray, exact: FloatArray | None) -> list[dict[str, Any]]:
    features = []
    for node, (position, kind) in enumerate(zip(shown.tolist(), node_kinds(solution), strict=True)):
        properties: dict[str, Any] = {"kind": kind, "id": node}
        if exact is not None:
            properties["position"] = exact[node].tolist()
        features.append(_feature({"type": "Point", "coordinates": position}, properties))
    return features


def _edges(solution: Solution, shown: FloatArray) -> list[dict[str, Any]]:
    lengths = solution.edge_lengths().tolist()
    return [
        _feature(
            _line(shown[start], shown[end], solution.crs is not None),
            {"kind": "edge", "from": start, "to": end, "length": length},
        )
        for (start, end), length in zip(solution.edges.tolist(), lengths, strict=True)
    ]


def _line(start: FloatArray, end: FloatArray, geographic: bool) -> dict[str, Any]:
    step = float(end[0] - start[0])
    if not geographic or abs(step) <= 180.0:
        return {"type": "LineString", "coordinates": [start.tolist(), end.tolist()]}
    # RFC 7946 asks that lines be cut where they cross the antimeridian.
    side = 180.0 if start[0] > 0 else -180.0
    around = step + (360.0 if step < 0 else -360.0)
    share = (side - float(start[0])) / around if around else 0.0
    latitude = float(start[1] + np.clip(share, 0.0, 1.0) * (end[1] - start[1]))
    return {
        "type": "MultiLineString",
        "coordinates": [
            [start.tolist(), [side, latitude]],
            [[-side, latitude], end.tolist()],
        ],
    }


def _feature(geometry: dict[str, Any], properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "Feature", "geometry": geometry, "properties": properties}


def _missing(package: str) -> MissingDependencyError:
    return MissingDependencyError(
        f'this export needs {package}; install it with pip install "deepsteiner[geo]"'
    )
