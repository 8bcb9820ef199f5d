"""`Soft`: regions that cost more to cross, in the coordinates of a frame.

Crossing a region costs its weight for each unit of length, along a boundary the cheaper side
counts, and where regions overlap the largest weight does.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.points import FloatArray, Frame, IntArray
from .plane import Plane, as_complex
from .shapes import GRID, load_shapely, unite

if TYPE_CHECKING:
    from .soft_kernels import Ground

SAMPLES = (0.04, 0.12, 0.25, 0.4, 0.6, 0.75, 0.88, 0.96)
"""Where ways may cross a wall at first, as shares of its length: graded towards the corners."""
MOST_SAMPLED = 400
"""Places on walls in one search; where there would be more, fewer are taken on each wall."""


@dataclass(frozen=True)
class Soft:
    """Regions that do not overlap, each a shapely polygon with its weight, and what is hard."""

    faces: tuple[tuple[Any, float], ...]
    plane: Plane
    _ways: dict[frozenset[int], Any] = field(default_factory=dict, compare=False, repr=False)

    @classmethod
    def of(cls, shapes: list[tuple[Any, float]], plane: Plane, frame: Frame) -> Soft:
        """Return the regions of shapes with weights, given in the user's coordinates."""
        shapely = load_shapely()
        heavier: Any = shapely.Polygon()
        faces: list[tuple[Any, float]] = []
        for weight in sorted({weight for _, weight in shapes}, reverse=True):
            parts = unite([one for one, other in shapes if other == weight], 0.0, frame.unit)
            layer = shapely.union_all(parts)
            free = shapely.difference(layer, heavier, grid_size=GRID * frame.unit)
            found = shapely.orient_polygons(shapely.get_parts(free))
            faces += [
                (shapely.transform(one, frame.into), weight)
                for one in found
                if one.geom_type == "Polygon" and not one.is_empty
            ]
            heavier = shapely.union_all([heavier, layer])
        return cls(tuple(faces), plane)

    @cached_property
    def ground(self) -> Ground:
        """The regions and the obstacles as kernels take them."""
        from .box_tree import box_tree
        from .soft_kernels import Ground

        rings, weights, faces = [], [], []
        for face, (polygon, weight) in enumerate(self.faces):
            for ring in (polygon.exterior, *polygon.interiors):
                rings.append(np.asarray(ring.coords)[:-1, :2].copy())
                weights.append(np.full(len(rings[-1]), weight))
                faces.append(np.full(len(rings[-1]), face))
        tree = box_tree(rings)
        weight_of, face_of = (
            np.concatenate([kind, *some])[tree.number]
            for kind, some in ((np.empty(0), weights), (np.empty(0, np.int64), faces))
        )
        return Ground(tree, weight_of, face_of, self.plane.boxes)

    def costs(self, nodes: FloatArray, edges: IntArray) -> FloatArray:
        """Return what each edge costs; infinite where it goes through an obstacle."""
        from .soft_kernels import edge_costs

        return edge_costs(self.ground, as_complex(nodes), np.ascontiguousarray(edges))

    @cached_property
    def corners(self) -> frozenset[tuple[float, float]]:
        """The corners of all regions and obstacles."""
        shapes = [one for one, _ in self.faces] + list(self.plane.polygons)
        return frozenset(map(tuple, load_shapely().get_coordinates(shapes).tolist()))

    @cached_property
    def _shapes(self) -> list[Any]:
        return [*(one for one, _ in self.faces), *self.plane.polygons]

    @cached_property
    def _index(self) -> Any:
        return load_shapely().STRtree(self._shapes)

    def near(self, places: FloatArray, reach: float = 0.0) -> frozenset[int]:
        """Return the regions and obstacles that a way through some places touches or comes near."""
        shapely = load_shapely()
        line = shapely.LineString(places)
        found = self._index.query(line, predicate="dwithin", distance=reach)
        return frozenset(found.tolist())

    def way(self, a: FloatArray, b: FloatArray) -> tuple[FloatArray, float]:
        """Return places of a cheap way from a to b between them, and what it costs.

        Ways lead over corners and graded places on the walls of the regions that they touch.
        """
        from .soft_kernels import pair_costs

        ends = np.stack((a, b))
        spots = as_complex(ends)
        active = self.near(ends)
        path, cost = np.empty((0, 2)), float(self.costs(ends, np.array([[0, 1]]))[0])
        while active:
            places, total, following = self._sampled(active)
            reach = pair_costs(self.ground, spots, as_complex(places))
            through = reach[0][:, None] + total + reach[1][None, :]
            first, last = np.unravel_index(int(np.argmin(through)), through.shape)
            if through[first, last] < cost:
                nodes = [int(first)]
                while nodes[-1] != last:
                    nodes.append(int(following[nodes[-1], last]))
                path, cost = places[nodes], float(through[first, last])
            more = self.near(np.concatenate((ends[:1], path, ends[1:])))
            if more <= active:
                break
            active |= more
        return path, cost

    def _sampled(self, active: frozenset[int]) -> tuple[FloatArray, FloatArray, IntArray]:
        """Return places on the walls of some shapes, and the cheapest ways between them."""
        from .soft_kernels import cheapest_ways, pair_costs

        if active not in self._ways:
            rings = [
                np.asarray(ring.coords)[:, :2]
                for one in sorted(active)
                for ring in (self._shapes[one].exterior, *self._shapes[one].interiors)
            ]
            walls = sum(len(ring) - 1 for ring in rings)
            shares = np.array(SAMPLES)
            if walls * (len(SAMPLES) + 1) > MOST_SAMPLED:
                shares = shares[[3]] if walls * 5 > MOST_SAMPLED else shares[1::2]
            if walls * 2 > MOST_SAMPLED:
                shares = shares[:0]
            places = [
                ring[:-1, None] + np.r_[0.0, shares][None, :, None] * np.diff(ring, axis=0)[:, None]
                for ring in rings
            ]
            nodes = np.unique(np.concatenate([one.reshape(-1, 2) for one in places]), axis=0)
            spots = as_complex(nodes)
            self._ways[active] = nodes, *cheapest_ways(pair_costs(self.ground, spots, spots))
        found: tuple[FloatArray, FloatArray, IntArray] = self._ways[active]
        return found

    def outlines(self, back: Any) -> tuple[tuple[FloatArray, ...], ...]:
        """Return the regions as closed rings in the user's coordinates (see `Plane.outlines`)."""
        return Plane(tuple(one for one, _ in self.faces), self.plane.frame).outlines(back)

    @property
    def weights(self) -> tuple[float, ...]:
        """The weight of each region."""
        return tuple(weight for _, weight in self.faces)
