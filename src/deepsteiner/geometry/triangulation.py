"""The Delaunay triangulation of many points: in tiles, which is faster and can be stopped.

Qhull takes several times longer for a point among a million than for one among a few thousand, and
cannot be interrupted. So the points are cut into tiles of a few thousand; each is triangulated
together with the points in a margin around it. A triangle whose circle lies where a tile knows
every point has no point in its circle at all: it belongs to the triangulation of all points. A
point is complete when that holds for all triangles around it. Triangles without a complete corner
(long ones along the hull and across gaps) join incomplete points only, and a triangle with no point
in its circle is in every triangulation of a subset that has its corners: so they are found in the
triangulation of the incomplete points, starting from the edges that have a triangle on one side
only. In general position the result is the triangulation; where four or more points are on a
circle, tiles may disagree about the triangles in it, and all of them are given.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..core.points import FloatArray, IntArray
from ..core.trees import ranges
from ..run.monitor import Monitor
from ..run.threads import Workers
from ..run.watch import Stopped, Watch

# Up to here one call is as fast (some 40 ms).
TILED_FROM = 10_000
# Up to here it is a matter of milliseconds wherever the points lie.
QUICK = 1000
# Beyond, where one in so many points is on the hull, they lie on lines or on a circle.
ON_RIM = 8
JOGGLE = 1e-14
# Points of a tile, the margin around it in mean distances, and how much it may add.
TILE = 2000
MARGIN = 3.5
MOST_IN_TILE = 3
# How often the margin is halved where it adds more, before there is none at all.
HALVINGS = 8

PHASE = "triangulation"
_NOTHING = np.empty((0, 3), dtype=np.int64)


@dataclass(frozen=True)
class Triangulation:
    """Triangles (m, 3), counterclockwise, ties (k, 2) and loose points.

    A tie joins a point that rounding makes coincide with another, and that therefore is in no
    triangle, to that other point; of a loose one not even that is known.
    """

    triangles: IntArray
    ties: IntArray
    loose: IntArray

    def adjacency(self, n: int) -> tuple[IntArray, IntArray]:
        """Return the triangle across each side (-1: none) and all edges, each once."""
        from .triangulation_kernels import link

        across, edges = link(n, self.triangles)
        return across, edges


def triangulate(
    points: FloatArray, *, threads: int = 1, watch: Watch | None = None, tile: int | None = None
) -> Triangulation:
    """Return the Delaunay triangulation of distinct points.

    The watch hears of it meanwhile, and may stop it: then Stopped is raised. Raises scipy's
    QhullError where the points lie on a line. `tile` is the size of a tile; by default up to
    TILED_FROM points are triangulated in one call.
    """
    watch = watch or unwatched()
    if len(points) <= (2 * tile if tile else TILED_FROM):
        if len(points) <= QUICK:
            return _in_one_call(points)
        return watch.wait(PHASE, lambda: _in_one_call(points))
    tiles = watch.wait(PHASE, lambda: _Tiles(points, tile or TILE))
    tiles.run(threads, watch)
    rest = np.flatnonzero(~tiles.complete)
    if 2 * len(rest) > len(points):
        return watch.wait(PHASE, lambda: _in_one_call(points))
    others = _triangulated_rest(points[rest], threads, watch, tile)
    return watch.wait(PHASE, lambda: tiles.joined(rest, others))


def unwatched() -> Watch:
    """Return a watch that nobody looks at and that stops nothing."""
    return Watch(Monitor(), patient=False)


def _triangulated_rest(
    points: FloatArray, threads: int, watch: Watch, tile: int | None
) -> Triangulation:
    """Return the triangulation of the incomplete points; nothing where they lie on a line."""
    from scipy.spatial import QhullError

    nothing = Triangulation(_NOTHING, _NOTHING[:, :2], np.arange(len(points)))
    if len(points) < 3:
        return nothing
    try:
        return triangulate(points, threads=threads, watch=watch, tile=tile)
    except QhullError:
        return nothing


def _in_one_call(points: FloatArray) -> Triangulation:
    found = delaunay(points)
    triangles = found.simplices.astype(np.int64)
    return Triangulation(triangles, *_dropped(found, len(points), len(points)))


def delaunay(points: FloatArray) -> Any:
    """Return Qhull's triangulation.

    Its time is quadratic in the points on the hull that lie on a line or a circle. Where these are
    many, the points are moved by JOGGLE of their extent first, which decides between equals and
    nothing else. Raises QhullError where all lie on a line.
    """
    from scipy.spatial import Delaunay

    from .triangulation_kernels import rim

    if len(points) <= QUICK:
        return Delaunay(points)
    n, sides = len(points), rim(points, np.lexsort((points[:, 1], points[:, 0])))
    if ON_RIM * sum(sides) <= n or min(sides) == n:
        return Delaunay(points)
    return Delaunay(points, qhull_options=f"QJ{JOGGLE * np.ptp(points):.3e} Qbb Q12")


def _dropped(found: Any, own: int, n: int) -> tuple[IntArray, IntArray]:
    """Return ties and loose points among the first `own` points, which Qhull left out."""
    left_out = found.coplanar[found.coplanar[:, 0] < own].astype(np.int64)
    known = left_out[:, 2] < n  # beyond them is the point that Qhull adds, at infinity
    return left_out[known][:, [0, 2]], left_out[~known, 0]


class _Tile(NamedTuple):
    """A tile's certain triangles, its own and those that cross its rim, and its ties."""

    inner: IntArray = _NOTHING
    crossing: IntArray = _NOTHING
    ties: IntArray = _NOTHING[:, :2]


class _Tiles:
    """Points cut into tiles, and what has been found in them."""

    def __init__(self, points: FloatArray, size: int) -> None:
        self.points, self.size = points, size
        self.order, self.start = _cut(points, size)
        self.placed = self.points[self.order]
        low = np.minimum.reduceat(self.placed, self.start[:-1])
        high = np.maximum.reduceat(self.placed, self.start[:-1])
        self.boxes = np.stack((low, high), axis=2)  # tile, axis, end
        self.complete = np.zeros(len(self.points), dtype=np.bool_)
        self.found: list[_Tile] = []
        self.bounds = np.stack((low.min(axis=0), high.max(axis=0)), axis=1)

    def run(self, threads: int, watch: Watch) -> None:
        """Triangulate every tile."""
        with Workers(threads) as workers:
            slices = workers.map(
                lambda first, last: [self._triangulate(number) for number in range(first, last)],
                len(self.boxes), 1, watch.go_on, PHASE, heavy=watch.patient, leave=True,
            )  # fmt: skip
        self.found = [tile for tiles in slices for tile in tiles]
        if len(self.found) < len(self.boxes):
            raise Stopped

    def _triangulate(self, number: int) -> _Tile:
        """Return what is certain in a tile; nothing where all of its points stay incomplete."""
        from scipy.spatial import QhullError

        from .triangulation_kernels import certified

        surroundings = self._surroundings(number)
        if surroundings is None:
            return _Tile()
        rows, area = surroundings
        own = int(self.start[number + 1] - self.start[number])
        centre = self.boxes[number].mean(axis=1)
        points = self.placed[rows] - centre
        try:
            found = delaunay(points)
        except QhullError:  # on a line
            return _Tile()
        triangles, across = found.simplices, found.neighbors
        limits = (area - centre[:, None]).ravel()
        rim = (self.bounds - centre[:, None]).ravel()
        complete, kept = certified(points, own, triangles, across, limits, rim)
        names = self.order[rows]
        ties = _dropped(found, own, len(points))[0]
        complete[ties[:, 0]] = True
        self.complete[names[:own][complete]] = True
        certain = triangles[kept]
        inside = (certain < own).all(axis=1)
        return _Tile(names[certain[inside]], names[certain[~inside]], names[ties])

    def _surroundings(self, number: int) -> tuple[IntArray, FloatArray] | None:
        """Return a tile's points and those in its margin, and the area they come from.

        None where even its own box holds too many points of others: boxes overlap where very many
        points share a coordinate.
        """
        low, high = self.start[number], self.start[number + 1]
        box = self.boxes[number]
        sides = box[:, 1] - box[:, 0]
        margin = MARGIN * np.sqrt(max(sides.prod(), sides.max() ** 2 / (high - low)) / (high - low))
        for halvings in range(HALVINGS + 1):
            wide = margin * (0.5**halvings if halvings < HALVINGS else 0.0)
            area = box + np.array([-wide, wide])
            near = (self.boxes[:, :, 0] <= area[:, 1]) & (self.boxes[:, :, 1] >= area[:, 0])
            others = np.setdiff1d(np.flatnonzero(near.all(axis=1)), number)
            rows = ranges(self.start[others], self.start[others + 1] - self.start[others])
            there = self.placed[rows]
            rows = rows[((there >= area[:, 0]) & (there <= area[:, 1])).all(axis=1)]
            if len(rows) <= MOST_IN_TILE * self.size:
                break
        else:
            return None
        area[:, 0] = np.where(area[:, 0] <= self.bounds[:, 0], -np.inf, area[:, 0])
        area[:, 1] = np.where(area[:, 1] >= self.bounds[:, 1], np.inf, area[:, 1])
        return np.concatenate((np.arange(low, high), rows)), area

    def joined(self, rest: IntArray, triangulation: Triangulation) -> Triangulation:
        """Return the triangles of all tiles, and those of the incomplete points between them."""
        crossing = _unique_triangles(np.concatenate([tile.crossing for tile in self.found]))
        found = np.concatenate((*(tile.inner for tile in self.found), crossing))
        missing = _missing(len(self.points), found, ~self.complete, rest[triangulation.triangles])
        ties = np.concatenate((*(tile.ties for tile in self.found), rest[triangulation.ties]))
        return Triangulation(np.concatenate((found, missing)), ties, rest[triangulation.loose])


def _cut(points: FloatArray, size: int) -> tuple[IntArray, IntArray]:
    """Return an order of the points in which tiles follow each other, and where each begins.

    Tiles are halved across their longer side, so that they fit clusters.
    """
    columns = np.ascontiguousarray(points.T)
    open_tiles: list[tuple[IntArray, int]] = [(np.arange(len(points)), -(-len(points) // size))]
    tiles: list[IntArray] = []
    while open_tiles:
        rows, count = open_tiles.pop()
        if count == 1:
            tiles.append(rows)
            continue
        x, y = columns[0, rows], columns[1, rows]
        middle = len(rows) * (count // 2) // count
        split = np.argpartition(x if np.ptp(x) >= np.ptp(y) else y, middle)
        open_tiles.append((rows[split[middle:]], count - count // 2))
        open_tiles.append((rows[split[:middle]], count // 2))
    start = np.cumsum([0, *(len(rows) for rows in tiles)])
    return np.concatenate(tiles), start


def _unique_triangles(triangles: IntArray) -> IntArray:
    """Return each triangle once, beginning with its lowest corner."""
    first = np.argmin(triangles, axis=1)[:, None]
    turned = np.take_along_axis(triangles, (first + np.arange(3)) % 3, axis=1)
    return np.unique(turned, axis=0)


def _missing(n: int, found: IntArray, open_point: NDArray[np.bool_], others: IntArray) -> IntArray:
    """Return those of the `others` that fill what the triangles found so far leave open."""
    from .triangulation_kernels import link

    if len(others) == 0:
        return others
    taken = _keys(n, _sides(found[open_point[found].sum(axis=1) >= 2]))
    own = _sides(others)
    covered, bordered = np.isin(_keys(n, own), taken), np.isin(_keys(n, own[:, ::-1]), taken)
    across: Any = link(n, others)[0].ravel()
    free = np.flatnonzero((across >= 0) & ~covered & ~bordered)
    label = component_labels(len(others), np.stack((free // 3, across[free]), axis=1))
    begin = np.flatnonzero(bordered & ~covered) // 3
    return others[np.isin(label, label[begin])]


def component_labels(size: int, pairs: IntArray) -> IntArray:
    """Return the number of the component of each of `size` vertices that pairs join."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    ones = np.ones(len(pairs), dtype=np.int8)
    graph = coo_array((ones, tuple(pairs.T)), shape=(size, size))
    label: IntArray = connected_components(graph, directed=False)[1]
    return label


def _sides(triangles: IntArray) -> IntArray:
    """Return the directed sides of triangles, the one opposite each corner."""
    return np.stack((triangles[:, [1, 2, 0]], triangles[:, [2, 0, 1]]), axis=2).reshape(-1, 2)


def _keys(n: int, sides: IntArray) -> IntArray:
    return sides[:, 0] * n + sides[:, 1]
