"""Obstacles as a solution keeps them, and the check that no edge goes through one.

The check is made by shapely, on polygons shrunk by a hair: it shares nothing with the kernels that
found the tree.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..errors import FormatError, MissingDependencyError, TreeError
from ..points import FloatArray, IntArray
from ..scalars import as_real

Polygon = tuple[FloatArray, ...]
"""An outer ring and its holes, each (k, 2), closed."""

ALLOWED_DEPTH = 1e-9
"""How deep an edge may go into an obstacle, as a share of the extent: more than rounding does."""

HAIR = 1e-10
"""How far regions are shrunk before edges are weighed, as a share of the extent."""


def as_obstacles(value: Any, name: str, field: str = "obstacles") -> tuple[Polygon, ...]:
    """Return polygons read from a file: a list of lists of rings."""
    try:
        polygons = tuple(tuple(np.array(ring, dtype=np.float64) for ring in one) for one in value)
    except (TypeError, ValueError):
        polygons = ((np.empty(0),),)
    rings = [ring for one in polygons for ring in one]
    whole = all(len(one) for one in polygons) and all(
        ring.ndim == 2 and ring.shape[1] == 2 and len(ring) >= 4 and np.isfinite(ring).all()
        for ring in rings
    )
    if not whole:
        raise FormatError(f"{name}: {field!r} must be polygons, each a list of closed rings")
    for ring in rings:
        ring.flags.writeable = False
    return polygons


def as_weights(value: Any, count: int, name: str) -> tuple[float, ...]:
    """Return the weights of so many regions, read from a file."""
    weights = tuple(map(as_real, value)) if isinstance(value, (list, tuple)) else ()
    if len(weights) != count or any(one is None or not 1.0 < one < np.inf for one in weights):
        raise FormatError(f"{name}: 'weights' must be one number above 1 for each region")
    return tuple(one for one in weights if one is not None)


def weighted_lengths(
    nodes: FloatArray,
    edges: IntArray,
    regions: tuple[Polygon, ...],
    weights: tuple[float, ...],
    into: Callable[[FloatArray], FloatArray],
) -> FloatArray:
    """Return what each edge costs: its length, in a region times the region's weight.

    The regions of at least some weight are united and shrunk by a hair, so that along a boundary
    the cheaper side counts, and where regions overlap the dearer one. `into` maps the regions to
    the plane of the nodes.
    """
    shapely = _shapely("weighing edges")
    lines = shapely.linestrings(nodes[edges])
    costs = np.asarray(shapely.length(lines), dtype=np.float64).copy()
    polygons = np.array([_polygon(shapely, one, into) for one in regions], dtype=object)
    everything = np.concatenate((nodes, shapely.get_coordinates(polygons)))
    hair = HAIR * float(np.ptp(everything, axis=0).max())
    below = 1.0
    for weight in sorted(set(weights)):
        # On a grid, so that neighbours that share a wall up to rounding leave no crack.
        heavy = shapely.union_all(polygons[np.array(weights) >= weight], grid_size=0.1 * hair)
        inner = shapely.buffer(heavy, -hair, join_style="mitre")
        shapely.prepare(inner)
        costs += (weight - below) * shapely.length(shapely.intersection(lines, inner))
        below = weight
    return costs


def _shapely(what: str) -> Any:
    try:
        import shapely
    except ImportError:
        raise MissingDependencyError(
            f'{what} needs shapely; install it with pip install "deepsteiner[geo]"'
        ) from None
    return shapely


def _polygon(shapely: Any, one: Polygon, into: Callable[[FloatArray], FloatArray]) -> Any:
    return shapely.Polygon(into(one[0]), [into(hole) for hole in one[1:]])


def check_free(
    nodes: FloatArray,
    edges: IntArray,
    obstacles: tuple[Polygon, ...],
    into: Callable[[FloatArray], FloatArray],
) -> None:
    """Raise TreeError where an edge goes through an obstacle.

    `into` maps the obstacles to the plane of the nodes.
    """
    crossing = crossings(nodes, edges, obstacles, into)
    if crossing.size:
        edge, obstacle = crossing[:, 0].tolist()
        raise TreeError(f"edge {edges[edge].tolist()} goes through obstacle {obstacle}")


def crossing_edges(
    nodes: FloatArray,
    edges: IntArray,
    obstacles: tuple[Polygon, ...],
    into: Callable[[FloatArray], FloatArray],
) -> IntArray:
    """Return the numbers of the edges that go through an obstacle."""
    if not obstacles or not len(edges):
        return np.empty(0, dtype=np.int64)
    return np.unique(crossings(nodes, edges, obstacles, into)[0])


def crossings(
    nodes: FloatArray,
    edges: IntArray,
    obstacles: tuple[Polygon, ...],
    into: Callable[[FloatArray], FloatArray],
) -> IntArray:
    """Return pairs of an edge and an obstacle that it goes through, (2, k)."""
    shapely = _shapely("checking obstacles")
    polygons = [_polygon(shapely, one, into) for one in obstacles]
    everything = np.concatenate((nodes, *(shapely.get_coordinates(one) for one in polygons)))
    depth = ALLOWED_DEPTH * float(np.ptp(everything, axis=0).max())
    shrunk = shapely.buffer(np.array(polygons, dtype=object), -depth, join_style="mitre")
    lines = shapely.linestrings(nodes[edges])
    found: IntArray = shapely.STRtree(shrunk).query(lines, predicate="intersects")
    return found
