"""Obstacles as a solution keeps them, and the check that no edge goes through one.

The check is made by shapely, on polygons shrunk by a hair: it shares nothing with the kernels that
found the tree.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .errors import FormatError, MissingDependencyError, TreeError
from .points import FloatArray, IntArray

Polygon = tuple[FloatArray, ...]
"""An outer ring and its holes, each (k, 2), closed."""

ALLOWED_DEPTH = 1e-9
"""How deep an edge may go into an obstacle, as a share of the extent: more than rounding does."""


def as_obstacles(value: Any, name: str) -> tuple[Polygon, ...]:
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
        raise FormatError(f"{name}: 'obstacles' must be polygons, each a list of closed rings")
    for ring in rings:
        ring.flags.writeable = False
    return polygons


def check_free(
    nodes: FloatArray,
    edges: IntArray,
    obstacles: tuple[Polygon, ...],
    into: Callable[[FloatArray], FloatArray],
) -> None:
    """Raise TreeError where an edge goes through an obstacle.

    `into` maps the obstacles to the plane of the nodes.
    """
    try:
        import shapely
    except ImportError:
        raise MissingDependencyError(
            'checking obstacles needs shapely; install it with pip install "deepsteiner[geo]"'
        ) from None
    polygons = [
        shapely.Polygon(into(one[0]), [into(hole) for hole in one[1:]]) for one in obstacles
    ]
    everything = np.concatenate((nodes, *(shapely.get_coordinates(one) for one in polygons)))
    depth = ALLOWED_DEPTH * float(np.ptp(everything, axis=0).max())
    shrunk = shapely.buffer(np.array(polygons, dtype=object), -depth, join_style="mitre")
    lines = shapely.linestrings(nodes[edges])
    crossing = shapely.STRtree(shrunk).query(lines, predicate="intersects")
    if crossing.size:
        edge, obstacle = crossing[:, 0].tolist()
        raise TreeError(f"edge {edges[edge].tolist()} goes through obstacle {obstacle}")
