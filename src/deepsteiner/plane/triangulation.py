"""The free plane cut into triangles: a constrained Delaunay triangulation of points and walls."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.errors import MissingDependencyError
from ..core.points import FloatArray, IntArray
from .mesh_kernels import Mesh, free_triangles, neighbours_of_vertices

MARGIN = 0.5
"""How far the box around everything is away, as a share of the extent."""


def load_cdt() -> Any:
    """Return the pythoncdt module, or say in one sentence how to get it."""
    try:
        import pythoncdt
    except ImportError:
        raise MissingDependencyError(
            'trees around obstacles need pythoncdt; install it with pip install "deepsteiner[geo]"'
        ) from None
    return pythoncdt


def triangulated(points: FloatArray, rings: list[FloatArray], boxes: Any) -> tuple[Mesh, IntArray]:
    """Return the triangles outside the obstacles, and the vertex of each point.

    Parameters
    ----------
    points
        Points that become vertices; those on a wall split it.
    rings
        Every ring of the obstacles without its closing point.
    boxes
        The `BoxTree` of the obstacles.
    """
    from .sight_kernels import DEPTH

    cdt = load_cdt()
    walls = np.concatenate([np.empty((0, 2)), *rings])
    sizes = np.array([len(ring) for ring in rings], dtype=np.int64)
    given = np.concatenate((points, walls))
    low, high = given.min(axis=0), given.max(axis=0)
    more = MARGIN * float((high - low).max())
    (left, bottom), (right, top) = low - more, high + more
    frame = np.array([[left, bottom], [right, bottom], [right, top], [left, top]])
    places, number = np.unique(np.concatenate((given, frame)), axis=0, return_inverse=True)
    number = number.reshape(-1)
    wall = number[len(points) : len(points) + len(walls)]
    edges = np.stack((wall, wall[_following(sizes)]), axis=1) if len(wall) else wall.reshape(0, 2)
    edges = edges[edges[:, 0] != edges[:, 1]]
    made = cdt.Triangulation(
        cdt.VertexInsertionOrder.AUTO, cdt.IntersectingConstraintEdges.TRY_RESOLVE, DEPTH
    )
    made.insert_vertices(np.ascontiguousarray(places))
    made.insert_edges(np.ascontiguousarray(edges, dtype=np.uint32))
    made.erase_super_triangle()
    vertices = made.vertices_array().view(np.float64).reshape(-1, 2)
    rows = made.triangles_array()
    corners = rows["vertices"].astype(np.int64)
    across = rows["neighbors"].astype(np.int64)
    across[across == cdt.NO_NEIGHBOR] = -1
    fixed = np.array([(one.v1, one.v2) for one in made.fixed_edges], dtype=np.int64).reshape(-1, 2)
    complexes = np.ascontiguousarray(vertices).view(np.complex128).reshape(-1)
    triangles, neighbours = free_triangles(
        complexes, corners, _without(corners, across, fixed, len(vertices)), boxes
    )
    start, around = neighbours_of_vertices(triangles, len(vertices))
    return Mesh(complexes, triangles, neighbours, start, around), number[: len(points)]


def _following(sizes: IntArray) -> IntArray:
    """Return the number of the point that follows each one on its ring."""
    ends = np.cumsum(sizes)
    following = np.arange(1, int(sizes.sum()) + 1)
    following[ends - 1] = ends - sizes
    return following


def _without(corners: IntArray, across: IntArray, fixed: IntArray, count: int) -> IntArray:
    """Return neighbours of triangles, -1 across fixed edges."""
    if not len(fixed):
        return across
    keys = np.sort(fixed.min(axis=1) * count + fixed.max(axis=1))
    following = np.roll(corners, -1, axis=1)
    mine = np.minimum(corners, following) * count + np.maximum(corners, following)
    spot = np.minimum(np.searchsorted(keys, mine), len(keys) - 1)
    return np.where(keys[spot] == mine, -1, across)
