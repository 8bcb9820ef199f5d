"""Existing networks as a solution keeps them, and the check that a tree joins them as it says.

Lines and polygons that touch are one *part*. What a tree must connect without a cycle is the union
of its edges and the parts, each part one node; parts of which every shape is optional may be left
out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import FormatError, MissingDependencyError, TreeError
from ..points import FloatArray, IntArray
from ..trees import LENGTH_TOLERANCE, check_tree

TOUCHING = 1e-9
"""Shapes closer than this share of the extent touch; so does a joint: more than rounding does."""


@dataclass(frozen=True, eq=False)
class Existing:
    """A line or a polygon of an existing network.

    Attributes
    ----------
    rings
        Of a line one (k, 2) array; of a polygon its outer ring and its holes, closed.
    filled
        Whether it is a polygon: an area that is joined as a whole.
    optional
        Whether a tree may do without it.
    """

    rings: tuple[FloatArray, ...]
    filled: bool = False
    optional: bool = False

    def __post_init__(self) -> None:
        for ring in self.rings:
            ring.flags.writeable = False

    def plain(self) -> dict[str, Any]:
        """Return it as plain values, as files have it."""
        rings = [ring.tolist() for ring in self.rings]
        return {"rings": rings, "filled": self.filled, "optional": self.optional}


def as_existing(value: Any, name: str) -> tuple[Existing, ...]:
    """Return a network read from a file: a list of what `Existing.plain` returns."""
    try:
        return tuple(_shape(one) for one in value)
    except (TypeError, ValueError, KeyError):
        raise FormatError(
            f"{name}: 'existing' must be lines and polygons, each with rings of finite points, "
            "filled and optional"
        ) from None


def _shape(one: Mapping[str, Any]) -> Existing:
    filled, optional = one["filled"], one["optional"]
    rings = tuple(np.array(ring, dtype=np.float64) for ring in one["rings"])
    least = 4 if filled else 2
    good = isinstance(filled, bool) and isinstance(optional, bool) and len(one) == 3
    if not good or len(rings) < 1 or (len(rings) > 1 and not filled):
        raise ValueError
    for ring in rings:
        if ring.ndim != 2 or ring.shape[1] != 2 or len(ring) < least or not np.isfinite(ring).all():
            raise ValueError
    return Existing(rings, filled, optional)


def corners_of(shapes: tuple[Existing, ...]) -> FloatArray:
    """Return all points of a network."""
    return np.concatenate([np.empty((0, 2)), *(ring for one in shapes for ring in one.rings)])


def geometries(shapes: tuple[Existing, ...], into: Callable[[FloatArray], FloatArray]) -> Any:
    """Return a network as an array of shapely geometries, mapped to another plane."""
    shapely = load_shapely()
    found = []
    for one in shapes:
        rings = [into(ring) for ring in one.rings]
        kind = shapely.Polygon(rings[0], rings[1:]) if one.filled else shapely.LineString(rings[0])
        found.append(kind)
    return np.array(found, dtype=object)


def load_shapely() -> Any:
    """Return the shapely module, or say in one sentence how to get it."""
    try:
        import shapely
    except ImportError:
        raise MissingDependencyError(
            'existing networks need shapely; install it with pip install "deepsteiner[geo]"'
        ) from None
    return shapely


def parts_of(shapes: tuple[Existing, ...], terminals: FloatArray) -> IntArray:
    """Return the part of each line or polygon, counted from 0 in the order of their first shapes.

    Whether shapes touch is asked in the coordinates in which they were given.
    """
    drawn = geometries(shapes, np.asarray)
    reach = TOUCHING * float(np.ptp(np.concatenate((terminals, corners_of(shapes))), axis=0).max())
    tree = load_shapely().STRtree(drawn)
    root = list(range(len(shapes)))

    def find(node: int) -> int:
        while root[node] != node:
            root[node] = root[root[node]]
            node = root[node]
        return node

    for a, b in tree.query(drawn, predicate="dwithin", distance=reach).T.tolist():
        one, two = sorted((find(a), find(b)))
        root[two] = one
    found = [find(k) for k in range(len(shapes))]
    return np.unique(found, return_inverse=True)[1].astype(np.int64)


def needed_parts(shapes: tuple[Existing, ...], parts: IntArray) -> IntArray:
    """Return the parts that a tree must join: those that are not optional as a whole."""
    asked = np.array([not one.optional for one in shapes], dtype=np.bool_)
    return np.asarray(np.unique(parts[asked]), dtype=np.int64)


def check_joined(
    terminals: FloatArray,
    added: FloatArray,
    joints: FloatArray,
    edges: IntArray,
    parts: IntArray,
    needed: IntArray,
) -> None:
    """Raise TreeError unless edges and parts together are one tree over all terminals.

    Parameters
    ----------
    terminals, added, joints
        All nodes, in the order in which edges number them; `added` are Steiner points and bends.
    edges
        The edges.
    parts
        The part that each joint lies on.
    needed
        The parts that must be joined.
    """
    missing = np.setdiff1d(needed, parts)
    if len(missing):
        raise TreeError(f"part {int(missing[0])} of the existing network is not joined")
    used, which = np.unique(parts, return_inverse=True)
    first = len(terminals) + len(added)
    bad = (edges < 0) | (edges >= first + len(joints))
    if edges.ndim == 2 and bad.any():
        row = int(np.argmax(bad.any(axis=1)))
        raise TreeError(
            f"edge {edges[row].tolist()} names a node that does not exist; nodes are 0 to "
            f"{first + len(joints) - 1}"
        )
    number = np.concatenate((np.arange(first), first + which.ravel())).astype(np.int64)
    contracted = np.concatenate((added, np.zeros((len(used), 2))))
    if edges.shape != (first + len(used) - 1, 2):
        raise TreeError(
            f"a tree over these points and {len(used)} parts of the network has "
            f"{first + len(used) - 1} edges, got an array of shape {edges.shape}"
        )
    check_tree(terminals, contracted, np.ascontiguousarray(number[edges]))
    loose = np.setdiff1d(np.arange(first, first + len(joints)), edges)
    if len(loose):
        raise TreeError(f"node {int(loose[0])} is a joint without an edge")


def parts_at(joints: FloatArray, drawn: Any, parts: IntArray, everything: FloatArray) -> IntArray:
    """Return the part that each joint lies on; raise TreeError where one lies on none.

    `drawn` are the shapes of the network in the plane of the joints, `everything` all coordinates.
    """
    shapely = load_shapely()
    spots = shapely.points(joints)
    reach = TOUCHING * float(np.ptp(everything, axis=0).max())
    nearest, away = shapely.STRtree(drawn).query_nearest(
        spots, return_distance=True, all_matches=False
    )
    if (away > reach).any():
        joint = int(np.argmax(away))
        raise TreeError(f"joint {joint} is not on the existing network but {away[joint]:.3g} off")
    return np.asarray(parts[nearest[1]], dtype=np.int64)


def check_nearest(
    nodes: FloatArray,
    edges: IntArray,
    first: int,
    drawn: Any,
    shape_parts: IntArray,
    parts: IntArray,
    is_free: Callable[[FloatArray], bool],
) -> None:
    """Raise TreeError where an edge to a part could be shorter by ending elsewhere on it.

    `first` is the number of the first joint, `parts` the part of each. In a strict tree edges meet
    lines at right angles, and corners at no less; this says the same by lengths. `is_free` tells
    whether an edge, given by both ends, goes through no obstacle.
    """
    shapely = load_shapely()
    both = np.concatenate((edges, edges[:, ::-1]))
    both = both[(both[:, 0] >= first) & (both[:, 1] < first)]
    allowed = TOUCHING * float(np.ptp(nodes, axis=0).max())
    wholes = {
        part: shapely.GeometryCollection(drawn[shape_parts == part].tolist())
        for part in np.unique(parts).tolist()
    }
    for joint, other in both.tolist():
        length = float(np.hypot(*(nodes[joint] - nodes[other])))
        spot = shapely.Point(nodes[other])
        way = shapely.get_coordinates(
            shapely.shortest_line(spot, wholes[int(parts[joint - first])])
        )
        least = float(np.hypot(*(way[0] - way[1])))
        if length > least * (1.0 + LENGTH_TOLERANCE) + allowed and is_free(way):
            raise TreeError(
                f"edge [{other}, {joint}] ends on the network {length - least:.3g} farther than it "
                "has to"
            )
