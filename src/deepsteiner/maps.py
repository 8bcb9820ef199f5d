"""Maps with obstacles: seeded, with terminals outside them, as GeoJSON where it is wanted.

    convex       convex polygons of up to eight corners that do not overlap
    lakes        smooth round shapes, some with an island
    blocks       the houses of a city: rectangles between streets, some streets wider

Map i of a (kind, n, obstacles, cover, seed) is always the same.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .core.errors import OptionError
from .core.points import FloatArray
from .core.scalars import as_real, as_whole

Ring = FloatArray
MOST_OBSTACLES = 100_000
LARGEST_COVER = 0.6
ATTEMPTS = 60
"""How often a place for an obstacle is looked for before it is made smaller."""


@dataclass(frozen=True, eq=False)
class Map:
    """Terminals in the unit square, and obstacles that none of them is inside of.

    Attributes
    ----------
    points
        The terminals, (n, 2).
    obstacles
        Polygons, each a list of rings: the outer one, then holes.
    name
        The kind of the map.

    Examples
    --------
    >>> import deepsteiner as ds
    >>> town = ds.datasets.generate_map("blocks", 12, obstacles=9)
    >>> town.points.shape, len(town.obstacles)
    ((12, 2), 9)
    >>> ds.solve(town.points, obstacles=town.to_geojson()["obstacles"]).length > 1
    True
    """

    points: FloatArray
    obstacles: list[list[Ring]]
    name: str

    def to_geojson(self) -> dict[str, Any]:
        """Return two FeatureCollections: "points" and "obstacles".

        Examples
        --------
        >>> import deepsteiner as ds
        >>> made = ds.datasets.generate_map("blocks", 12, obstacles=9).to_geojson()
        >>> len(made["points"]["features"]), len(made["obstacles"]["features"])
        (12, 9)
        """
        places = [_feature("Point", place.tolist()) for place in self.points]
        shapes = [
            _feature("Polygon", [ring.tolist() for ring in polygon]) for polygon in self.obstacles
        ]
        return {
            "points": {"type": "FeatureCollection", "deepsteiner": _PLANE, "features": places},
            "obstacles": {"type": "FeatureCollection", "deepsteiner": _PLANE, "features": shapes},
        }


_PLANE = {"coordinates": "plane"}


def _feature(kind: str, coordinates: Any) -> dict[str, Any]:
    geometry = {"type": kind, "coordinates": coordinates}
    return {"type": "Feature", "properties": {}, "geometry": geometry}


def generate_map(
    kind: str, n: int, *, obstacles: int = 20, cover: float = 0.1, seed: int = 0, index: int = 0
) -> Map:
    """Return a random map in the unit square.

    Parameters
    ----------
    kind
        "convex", "lakes" or "blocks".
    n
        The number of terminals, uniform outside the obstacles.
    obstacles
        How many.
    cover
        Which share of the square they cover, about, up to 0.6; of "blocks" exactly.
    seed, index
        Other numbers give other maps.

    Returns
    -------
    Map
        The map.

    Raises
    ------
    OptionError
        If the kind is unknown, or a number out of range.

    Examples
    --------
    >>> generate_map("lakes", 5, obstacles=3).name
    'lakes'
    """
    if kind not in MAPS:
        raise OptionError(f"unknown kind of map {kind!r}; the kinds are: {', '.join(MAPS)}")
    size = _whole("n", n, 1, 10_000_000)
    count = _whole("obstacles", obstacles, 1, MOST_OBSTACLES)
    stream, number = _whole("seed", seed, 0, 2**63 - 1), _whole("index", index, 0, 2**31)
    share = as_real(cover)
    if share is None or not 0.0 < share <= LARGEST_COVER:
        raise OptionError(f"cover must be above 0 and at most {LARGEST_COVER}, got {cover!r}")
    key = (list(MAPS).index(kind), size, count, number)
    rng = np.random.default_rng(np.random.SeedSequence(stream, spawn_key=key))
    shapes = MAPS[kind](rng, count, share)
    return Map(_outside(rng, size, shapes), shapes, kind)


def _whole(name: str, value: Any, least: int, most: int) -> int:
    whole = as_whole(value)
    if whole is None or not least <= whole <= most:
        raise OptionError(f"{name} must be a whole number from {least} to {most}, got {value!r}")
    return whole


def _apart(
    rng: np.random.Generator, count: int, cover: float, shape: Callable[..., list[Ring]]
) -> list[list[Ring]]:
    """Place shapes inside discs that do not touch each other."""
    placed: list[list[Ring]] = []
    centres, radii = np.empty((0, 2)), np.empty(0)
    # A shape fills about half of its disc.
    usual = np.sqrt(cover / (0.55 * np.pi * count))
    for _ in range(count):
        radius = usual * rng.uniform(0.6, 1.3)
        while True:
            radius = min(radius, 0.45)
            tries = rng.uniform(radius, 1.0 - radius, (ATTEMPTS, 2))
            gaps = np.hypot(*(tries[:, None] - centres[None]).transpose(2, 0, 1)) - radii
            free = np.flatnonzero((gaps > 1.05 * radius).all(axis=1))
            if len(free):
                break
            radius *= 0.85
        centre = tries[free[0]]
        centres, radii = np.concatenate((centres, centre[None])), np.append(radii, radius)
        placed.append([centre + radius * ring for ring in shape(rng)])
    return placed


def _closed(ring: FloatArray) -> Ring:
    return np.concatenate((ring, ring[:1]))


def _convex_shape(rng: np.random.Generator) -> list[Ring]:
    """Return points on a circle: always in convex position."""
    corners = int(rng.integers(3, 9))
    while True:
        turn = np.sort(rng.uniform(0.0, 2.0 * np.pi, corners))
        if np.diff(turn, append=turn[0] + 2.0 * np.pi).max() < np.pi:  # not all on one side
            return [_closed(np.stack((np.cos(turn), np.sin(turn)), axis=1))]


def _lake_shape(rng: np.random.Generator) -> list[Ring]:
    """Return a round shore of some waves, and sometimes an island."""
    turn = np.linspace(0.0, 2.0 * np.pi, 28, endpoint=False)
    waves = sum(
        rng.uniform(-0.12, 0.12) * np.cos(k * turn + rng.uniform(0, 2 * np.pi)) for k in (1, 2, 3)
    )
    shore = np.clip(0.72 + waves, 0.3, 1.0)
    circle = np.stack((np.cos(turn), np.sin(turn)), axis=1)
    rings = [_closed(circle * shore[:, None])]
    if rng.random() < 0.25:
        rings.append(_closed((circle * 0.22 * shore[:, None])[::-2]))
    return rings


def _convex(rng: np.random.Generator, count: int, cover: float) -> list[list[Ring]]:
    return _apart(rng, count, cover, _convex_shape)


def _lakes(rng: np.random.Generator, count: int, cover: float) -> list[list[Ring]]:
    return _apart(rng, count, cover, _lake_shape)


def _blocks(rng: np.random.Generator, count: int, cover: float) -> list[list[Ring]]:
    """Return blocks in rows between streets of random widths; the last row may have fewer."""
    columns = int(np.ceil(np.sqrt(count)))
    rows = -(-count // columns)

    def cuts(parts: int, filled: float) -> FloatArray:
        width, street = rng.uniform(0.6, 1.4, parts), rng.uniform(0.4, 1.0, parts + 1)
        width, street = filled * width / width.sum(), (1.0 - filled) * street / street.sum()
        start = np.cumsum(street[:-1]) + np.concatenate(([0.0], np.cumsum(width)[:-1]))
        return np.stack((start, start + width), axis=1)

    filled = np.sqrt(cover)
    across, along = cuts(columns, filled), cuts(rows, filled)
    return [
        [_closed(np.array([[a, c], [b, c], [b, d], [a, d]]))]
        for (c, d) in along
        for (a, b) in across
    ][:count]


def _outside(rng: np.random.Generator, n: int, shapes: list[list[Ring]]) -> FloatArray:
    """Return uniform points outside all shapes, also on no island."""
    from matplotlib.path import Path  # which tells inside from outside for many points at once

    outlines = [Path(polygon[0]) for polygon in shapes]
    boxes = np.array([[*one[0].min(axis=0), *one[0].max(axis=0)] for one in shapes])
    found = np.empty((0, 2))
    while len(found) < n:
        points = rng.random((2 * n + 16, 2))
        free = np.ones(len(points), dtype=np.bool_)
        for outline, (x, y, u, v) in zip(outlines, boxes, strict=True):
            near = np.flatnonzero(
                (points[:, 0] >= x)
                & (points[:, 0] <= u)
                & (points[:, 1] >= y)
                & (points[:, 1] <= v)
            )
            free[near[outline.contains_points(points[near], radius=1e-9)]] = False
        found = np.concatenate((found, points[free]))
    return found[:n]


MAPS: dict[str, Callable[[np.random.Generator, int, float], list[list[Ring]]]] = {
    "convex": _convex,
    "lakes": _lakes,
    "blocks": _blocks,
}
