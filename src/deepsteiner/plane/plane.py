"""`Plane`: the plane with hard obstacles, in the coordinates of a frame."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.errors import ObstacleError
from ..core.points import FloatArray, Frame, IntArray
from .shapes import load_shapely, unite

if TYPE_CHECKING:
    from .box_tree_kernels import BoxTree
    from .sight_kernels import Complexes, Flags, Walls

BENT = 1e-12
"""Sine of the least turn at a corner that a shortest way can notice."""
SHORT_WALL = 1e-6
"""Walls shorter than this have no direction that is known well enough to rule out edges."""
OUTSIDE = -1
"""The region outside all obstacles; others are numbers of holes."""


@dataclass(frozen=True)
class Corners:
    """Corners of obstacles where shortest ways may bend.

    Attributes
    ----------
    places
        Where they are, (k, 2).
    owner
        The obstacle of each.
    side
        The direction, as an angle, of the wall from which the free directions are counted,
        counter-clockwise.
    free
        The free angle at each, more than pi; 2 pi where nothing is known about directions, since
        other walls touch the corner or one of its own is too short.
    """

    places: FloatArray
    owner: IntArray
    side: FloatArray
    free: FloatArray

    def of(self, obstacles: Any) -> Corners:
        """Return the corners of some obstacles, each place once."""
        # Corners come in the order of their obstacles.
        chosen = np.array(sorted(obstacles), dtype=np.int64)
        starts, ends = np.searchsorted(self.owner, chosen), np.searchsorted(self.owner, chosen + 1)
        keep = np.concatenate(
            [np.empty(0, np.int64), *map(np.arange, starts.tolist(), ends.tolist())]
        )
        places, first, count = np.unique(
            self.places[keep], axis=0, return_index=True, return_counts=True
        )
        rows = keep[first]
        free = np.where(count > 1, 2.0 * np.pi, self.free[rows])
        return Corners(places, self.owner[rows], self.side[rows], free)


@dataclass(frozen=True)
class Plane:
    """The plane with hard obstacles.

    Attributes
    ----------
    polygons
        Shapely polygons in the frame, united, widened by the clearance; they do not overlap.
    frame
        The frame.
    home
        The regions of the free plane that a tree may be in, once it is known where terminals are:
        one, or several that an existing network connects.
    soft
        The soft regions beside them (a `soft.Soft`), None where there are none.
    """

    polygons: tuple[Any, ...]
    frame: Frame
    home: list[int] = field(default_factory=list)
    soft: Any = None

    @classmethod
    def of(cls, shapes: list[Any], clearance: float, frame: Frame) -> Plane:
        """Return the plane with shapely shapes in it, given in the user's coordinates."""
        shapely = load_shapely()
        united = unite(shapes, clearance, frame.unit) if shapes else []
        return cls(tuple(shapely.transform(one, frame.into) for one in united), frame)

    def __len__(self) -> int:
        return len(self.polygons)

    @cached_property
    def rings(self) -> list[tuple[FloatArray, int]]:
        """Every ring without its closing point, the inside to its left, and its obstacle."""
        found = []
        for owner, polygon in enumerate(self.polygons):
            for ring in (polygon.exterior, *polygon.interiors):
                found.append((np.asarray(ring.coords)[:-1, :2].copy(), owner))
        return found

    @cached_property
    def walls(self) -> Walls:
        """The boundary of all obstacles, as kernels take it."""
        return self.walls_of(range(len(self)))

    @cached_property
    def boxes(self) -> BoxTree:
        """The walls under a tree of boxes, for questions about very many of them."""
        from .box_tree import box_tree

        return box_tree([ring for ring, _ in self.rings])

    @cached_property
    def _first_ring(self) -> list[int]:
        """Where the rings of each obstacle begin among all rings, and their end."""
        sizes = (1 + len(one.interiors) for one in self.polygons)
        return list(itertools.accumulate(sizes, initial=0))

    def walls_of(self, obstacles: Iterable[int]) -> Walls:
        """Return the boundary of some obstacles."""
        from .sight_kernels import Walls

        first = self._first_ring
        rings = [
            ring
            for one in sorted(set(obstacles))
            for ring in self.rings[first[one] : first[one + 1]]
        ]
        tails = [np.empty((0, 2)), *(ring for ring, _ in rings)]
        heads = [np.empty((0, 2)), *(np.roll(ring, -1, axis=0) for ring, _ in rings)]
        owners = [np.full(len(ring), owner) for ring, owner in rings]
        return Walls(
            as_complex(np.concatenate(tails)),
            as_complex(np.concatenate(heads)),
            np.concatenate([np.empty(0, np.int64), *owners]),
        )

    @cached_property
    def corners(self) -> Corners:
        """The corners of all obstacles that shortest ways may bend at.

        These are the convex ones, and all where obstacles touch: between walls of two rings, none
        of them convex there, a way may bend, too.
        """
        parts = [_turns(ring, owner) for ring, owner in self.rings]
        if not parts:
            none = np.empty(0)
            return Corners(np.empty((0, 2)), np.empty(0, np.int64), none, none)
        places, owner, side, free, convex = map(np.concatenate, zip(*parts, strict=True))
        touched = self._touched(places)
        keep = convex | touched
        free = np.where(touched, 2.0 * np.pi, free)
        return Corners(places[keep], owner[keep], side[keep], free[keep])

    def _touched(self, places: FloatArray) -> Flags:
        """Return which corners lie on more than the two walls that meet there."""
        from .sight_kernels import DEPTH

        shapely = load_shapely()
        walls = self.walls
        lines = shapely.linestrings(np.stack((as_pairs(walls.tail), as_pairs(walls.head)), axis=1))
        spots = shapely.points(places)
        near = shapely.STRtree(lines).query(spots, predicate="dwithin", distance=DEPTH)
        return np.asarray(np.bincount(near[0], minlength=len(places)) > 2)

    def clear(self, nodes: FloatArray, edges: IntArray) -> Flags:
        """Return which edges cross no obstacle."""
        from .box_tree_kernels import clear_edges

        return clear_edges(self.boxes, as_complex(nodes), np.ascontiguousarray(edges))

    def sees(self, a: Any, b: Any) -> bool:
        """Return whether the segment between two places of the frame crosses no obstacle."""
        return bool(self.clear(np.array([a, b], dtype=np.float64), np.array([[0, 1]]))[0])

    @cached_property
    def corner_places(self) -> frozenset[tuple[float, float]]:
        """The places of all corners."""
        return frozenset(map(tuple, self.corners.places.tolist()))

    def crossed(self, nodes: FloatArray, edges: IntArray) -> list[int]:
        """Return the obstacles that some edge of a tree goes through."""
        from .sight_kernels import all_see

        if not len(self) or not len(edges):
            return []
        blocked = edges[~self.clear(nodes, edges)]
        if not len(blocked):
            return []
        lines = load_shapely().linestrings(nodes[blocked])
        pairs = self._index.query(lines, predicate="intersects")
        places = as_complex(nodes)
        found = []
        for obstacle in np.unique(pairs[1]).tolist():
            some = np.ascontiguousarray(blocked[pairs[0][pairs[1] == obstacle]])
            if not all_see(self.walls_of([obstacle]), places, some).all():
                found.append(obstacle)
        return found

    def outlines(self, back: Any) -> tuple[tuple[FloatArray, ...], ...]:
        """Return the polygons as closed rings in the user's coordinates.

        `back` maps from the plane of the solve, where that is another one.
        """
        found = []
        for polygon in self.polygons:
            rings = (polygon.exterior, *polygon.interiors)
            found.append(
                tuple(back(self.frame.back(np.asarray(ring.coords)[:, :2])) for ring in rings)
            )
        return tuple(found)

    def unreachable(self, nodes: FloatArray) -> Flags:
        """Return which nodes are inside an obstacle, or cut off from the terminals by one."""
        deep = self.inside(nodes)
        return deep | ~np.isin(self.regions(nodes), self.home) if self.home else deep

    def within(self, region: int) -> Plane:
        """Return the same plane for a tree that stays in one region."""
        if self.home == [region]:
            return self
        found = copy.copy(self)  # with all that was found out about it
        object.__setattr__(found, "home", [region])
        return found

    def inside(self, nodes: FloatArray) -> Flags:
        """Return which nodes are inside an obstacle."""
        from .box_tree_kernels import deep_places

        return deep_places(self.boxes, as_complex(nodes))

    def nearest_outside(self, nodes: FloatArray) -> FloatArray:
        """Return the nearest places on the boundary of the obstacle around each of some nodes."""
        shapely = load_shapely()
        found = np.empty((len(nodes), 2))
        for row, spot in enumerate(shapely.points(nodes)):
            owner = self._index.query(spot, predicate="intersects")[0]
            boundary = self.polygons[owner].boundary
            found[row] = shapely.get_coordinates(shapely.shortest_line(boundary, spot))[0]
        return found

    @cached_property
    def _index(self) -> Any:
        return load_shapely().STRtree(self.polygons)

    def check_terminals(self, points: FloatArray, first: IntArray) -> None:
        """Raise ObstacleError where a terminal is inside an obstacle or cut off from the rest.

        `first` has the number in the input of each point.
        """
        if not len(self):
            return
        self.check_outside(points, first)
        region = self.regions(points)
        self.home[:] = [int(region[0])]
        apart = np.flatnonzero(region != region[0])
        if len(apart):
            row = int(apart[0])
            x, y = self.frame.back(points[row : row + 1])[0]
            raise ObstacleError(
                f"point {first[row]} at ({x:g}, {y:g}) is cut off from point {first[0]} by "
                "obstacles; no tree joins them"
            )

    def check_outside(self, points: FloatArray, first: IntArray) -> None:
        """Raise ObstacleError where a terminal is inside an obstacle."""
        deep = self.inside(points)
        if deep.any():
            row = int(np.argmax(deep))
            x, y = self.frame.back(points[row : row + 1])[0]
            raise ObstacleError(
                f"point {first[row]} at ({x:g}, {y:g}) is inside an obstacle; terminals must be "
                "outside, or on the boundary"
            )

    def regions(self, points: FloatArray) -> IntArray:
        """Return the region of the free plane that each point lies in."""
        if not self._holes:
            return np.full(len(points), OUTSIDE)
        inner = self._innermost(load_shapely().points(points)).tolist()
        return np.array([self._region_of_hole[one] for one in inner], dtype=np.int64)

    @cached_property
    def _holes(self) -> list[tuple[Any, int]]:
        """The holes of all obstacles, as polygons, and whose they are."""
        shapely = load_shapely()
        pierced = np.flatnonzero(shapely.get_num_interior_rings(list(self.polygons)))
        return [
            (shapely.Polygon(ring), owner)
            for owner in pierced.tolist()
            for ring in self.polygons[owner].interiors
        ]

    @cached_property
    def _hole_index(self) -> Any:
        return load_shapely().STRtree([hole for hole, _ in self._holes])

    def _innermost(self, spots: Any, own: Any = None) -> IntArray:
        """Return the smallest hole around each spot, but those of its own obstacle.

        The number of holes stands for the outside. A spot on the wall of a hole is in the hole,
        also where rounding put it just beyond the wall.
        """
        from .sight_kernels import DEPTH

        holes = self._holes
        result = np.full(len(spots), len(holes))
        near = self._hole_index.query(spots, predicate="dwithin", distance=DEPTH)
        for row, hole in near.T.tolist():
            if own is not None and holes[hole][1] == own[row]:
                continue
            if result[row] == len(holes) or holes[hole][0].area < holes[result[row]][0].area:
                result[row] = hole
        return result

    @cached_property
    def _region_of_hole(self) -> list[int]:
        """The region that each hole is a part of, and last that of the outside.

        A hole that touches another ring of its obstacle can be left through that point.
        """
        shapely, holes = load_shapely(), self._holes
        root = list(range(len(holes) + 1))

        def find(node: int) -> int:
            while root[node] != node:
                node = root[node]
            return node

        owners = [owner for _, owner in holes]
        corners = [self.polygons[owner].exterior.coords[0] for owner in owners]
        parents = self._innermost(shapely.points(corners), owners)
        for k, (hole, owner) in enumerate(holes):
            if hole.exterior.intersects(self.polygons[owner].exterior):
                root[find(k)] = find(int(parents[k]))
            for j in range(k):
                if holes[j][1] == owner and hole.intersects(holes[j][0]):
                    root[find(k)] = find(j)
        return [find(one) for one in range(len(root))]


def _turns(ring: FloatArray, owner: int) -> tuple[Any, ...]:
    """Return the corners of a ring (see `Corners`), and which of them are convex."""
    before, after = np.roll(ring, 1, axis=0) - ring, np.roll(ring, -1, axis=0) - ring
    sine = after[:, 0] * before[:, 1] - after[:, 1] * before[:, 0]
    size = np.hypot(*before.T) * np.hypot(*after.T)
    side = np.arctan2(before[:, 1], before[:, 0])
    free = (np.arctan2(after[:, 1], after[:, 0]) - side) % (2.0 * np.pi)
    shortest = np.minimum(np.hypot(*before.T), np.hypot(*after.T))
    free = np.where(shortest < SHORT_WALL, 2.0 * np.pi, free)
    return ring, np.full(len(ring), owner), side, free, sine > BENT * size


def as_complex(points: FloatArray) -> Complexes:
    """Return (n, 2) points as complex numbers."""
    return np.ascontiguousarray(points, dtype=np.float64).view(np.complex128).reshape(-1)


def as_pairs(places: Complexes) -> FloatArray:
    """Return complex numbers as (n, 2) points."""
    return np.ascontiguousarray(places).view(np.float64).reshape(-1, 2)
