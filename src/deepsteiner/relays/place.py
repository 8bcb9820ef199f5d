"""`place_relays`: few relays so that no hop is longer than the radius."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from ..api import solve
from ..core.coincident import merge_coincident
from ..core.errors import InternalError, OptionError, TreeError
from ..core.geo import Plane, plane_of
from ..core.points import FloatArray, Frame, IntArray, as_points
from ..core.scalars import as_real
from ..core.solution import MOST_RELAYS, Solution, Status
from ..core.trees import cut_edges
from ..registry import check_common
from ..run.monitor import Monitor, ProgressCallback, clock
from .network import RelayNetwork

Effort = Literal["fast", "default", "best"]
PIECES: dict[str, int] = {"fast": 8, "default": 40, "best": 200}
"""Pieces that are built anew, for every terminal."""
LEAST_PIECES = 200
SLICE = 0.02
"""Seconds between two reports, about."""
ROOM = 256
"""Hubs for which there is room before the arrays are packed."""


def place_relays(
    points: Any,
    radius: float,
    *,
    obstacles: Any = None,
    clearance: float = 0.0,
    effort: Effort = "default",
    time_limit: float | None = None,
    seed: int = 0,
    on_progress: ProgressCallback | None = None,
    crs: str | None = None,
    project_to: str | None = None,
) -> RelayNetwork:
    """Connect all points by hops of at most the radius, with as few relays as can be found.

    This is the Steiner tree problem with the fewest Steiner points and bounded edge length. The
    search begins with the shortest tree or the spanning tree, cut into hops, whichever takes fewer
    relays. It then takes out relays around a terminal and builds that piece anew, again and again:
    branching relays stand a whole number of hops away from two neighbours and join as many more
    as pays.

    Parameters
    ----------
    points
        What `solve` takes, or a `Solution`, whose tree is then where the search begins, and whose
        coordinate system and obstacles are kept.
    radius
        The longest hop allowed, in the units of the points (metres with a CRS).
    obstacles, clearance
        What hops must not go through, such as buildings that block radio, and a distance to keep
        from it; as `solve` takes them.
    effort
        "fast", "default" or "best": how long the search goes on.
    time_limit
        Seconds; the best network so far comes back with status "time_limit".
    seed
        The same points, radius and seed give the same network.
    on_progress
        Called with a `Progress` whose `length` is the number of relays; return False to stop.
    crs, project_to
        As `solve` takes them.

    Returns
    -------
    RelayNetwork
        Never with more relays than the shortest tree (or the tree given) cut into hops; with a
        proven lower bound for their number.

    Raises
    ------
    OptionError
        If the radius is not a positive length, or so small that millions of relays are needed.
    PointsError, ObstacleError
        As `solve` does.

    Examples
    --------
    >>> import numpy as np, deepsteiner as ds
    >>> turn = 2 * np.pi * np.arange(5) / 5
    >>> pentagon = np.stack((np.cos(turn), np.sin(turn)), axis=1)
    >>> ds.place_relays(pentagon, radius=1)
    <RelayNetwork: 5 terminals, 1 relays (at least 1), radius 1, optimal, ... s>
    """
    reach = as_real(radius)
    if reach is None or not 0.0 < reach < math.inf:
        raise OptionError(f"radius must be a length greater than 0, got {radius!r}")
    if effort not in PIECES:
        raise OptionError(f"effort must be one of {', '.join(PIECES)}, got {effort!r}")
    stream, _ = check_common(seed, "cpu")
    monitor = Monitor(time_limit, on_progress)
    if isinstance(points, Solution):
        if (obstacles, crs, project_to) != (None, None, None) or clearance:
            raise OptionError("a Solution has its own obstacles and crs; give points to set others")
        if points.existing:
            raise OptionError("place_relays does not take trees that join an existing network")
        starts = _trees_beside(points.validate())
    else:
        around = {
            "obstacles": obstacles,
            "clearance": clearance,
            "crs": crs,
            "project_to": project_to,
        }
        starts = _trees_of(points, around, monitor)
    counts = [_relays_of(start, reach) for start in starts]
    if min(counts) > MOST_RELAYS:
        raise OptionError(
            f"radius {reach:g} needs {min(counts):.3g} relays; at most {MOST_RELAYS} are placed"
        )
    placing = _Placing(starts[int(np.argmin(counts))], reach, monitor)
    placing.search(PIECES[effort], stream)
    info = {"from_shortest_tree": int(counts[0]), "from_spanning_tree": int(counts[-1])}
    return placing.network(info)


def _trees_of(points: Any, around: dict[str, Any], monitor: Monitor) -> list[Solution]:
    """Return a short tree and the spanning tree, around obstacles where there are any."""
    limit = None if monitor.time_limit is None else monitor.remaining() / 2.0
    told: ProgressCallback = lambda progress: monitor.report(progress.phase)  # noqa: E731
    method = "auto" if around["obstacles"] is None else "local"
    short = solve(points, method, time_limit=limit, on_progress=told, **around)
    return [short, solve(points, "mst", **around)]


def _trees_beside(given: Solution) -> list[Solution]:
    """Return a tree without relays of its own, and the spanning tree where nothing is in the way.

    The outlines of a solution are obstacles with their clearance already.
    """
    if given.obstacles:
        return [given]
    return [given, solve(given.terminals, "mst", crs=given.crs, project_to=given.plane_crs)]


def _plane_of(solution: Solution) -> Plane | None:
    return None if solution.crs is None else plane_of(solution.crs, solution.plane_crs)


def _relays_of(tree: Solution, radius: float) -> float:
    """Return how many relays a tree has once its edges are cut into hops."""
    from .local_kernels import ROUNDING

    hops = np.maximum(np.ceil(tree.edge_lengths() / radius * (1.0 - ROUNDING)), 1.0)
    return float(hops.sum()) - len(tree.terminals) + 1.0


class _Placing:
    """The search: a network in the frame of all that is there, changed piece by piece."""

    def __init__(self, start: Solution, radius: float, monitor: Monitor) -> None:
        from ..plane.plane import Plane as Obstructed
        from .bounds import relays_needed

        self.start, self.radius, self.monitor = start, radius, monitor
        self.plane = _plane_of(start)
        into = np.asarray if self.plane is None else self.plane.into
        nodes = as_points(into(start.coordinates))
        self.n = len(start.terminals)
        rings = [[into(ring) for ring in polygon] for polygon in start.obstacles]
        outer = [ring for polygon in rings for ring in polygon]
        self.frame = Frame.of(np.concatenate((nodes, *outer)))
        self.reach = radius / self.frame.unit
        inside = self.frame.into(nodes)
        self.obstructed: Any = None
        if rings:
            from ..plane.shapes import load_shapely

            shapes = [load_shapely().Polygon(one[0], one[1:]) for one in rings]
            self.obstructed = Obstructed.of(shapes, 0.0, self.frame)
        self.tree = inside, start.edges
        _, first, _ = merge_coincident(inside[: self.n])
        self.bound = relays_needed(inside[first], self.reach, monitor)

    def search(self, effort: int, seed: int) -> None:
        """Build pieces anew until the effort is spent or the bound is met."""
        from ..geometry.random_kernels import new_state
        from .search_kernels import improve, network_cost

        places, edges = self.tree
        network, ground = _with_room(places, edges, self.n), _ground(self.obstructed)
        state = new_state(seed)
        total = max(effort * self.n, LEAST_PIECES)
        cost = network_cost(network, self.reach)
        done, step = 0, 4
        while done < total and cost > self.bound and self._told(done, total, cost):
            step = min(step, total - done)
            began = clock()
            cost -= improve(network, ground, self.reach, step, state)
            done += step
            step = max(1, min(2 * step, int(step * SLICE / max(clock() - began, 1e-6))))
            if network.counts[1] + ROOM // 2 > len(network.places):
                network = _with_room(*_living(network), self.n)
        self._told(done, total, cost)
        self.tree = _living(network)

    def _told(self, done: int, total: int, cost: float) -> bool:
        scaled = cost / self.monitor.unit
        return self.monitor.report("placing relays", done, total, scaled, self.bound)

    def network(self, info: dict[str, Any]) -> RelayNetwork:
        """Cut the edges into hops and return the network, checked."""
        start, plane = self.start, self.plane
        places, edges = self.tree
        cuts, hops = cut_edges(places, edges, _pieces(places, edges, self.reach))
        relays = self.frame.back(np.concatenate((places[self.n :], cuts)))
        status: Status = self.monitor.stop_reason or "feasible"
        if len(relays) == self.bound:
            status = "optimal"
        shown = Solution(
            start.terminals,
            relays if plane is None else plane.back(relays),
            hops,
            0.0,
            method="relays",
            runtime=self.monitor.elapsed(),
            info={"relays": len(relays), "max_edge": self.radius, "relay_bound": self.bound},
            crs=start.crs,
            plane_crs=start.plane_crs,
            obstacles=start.obstacles,
        )
        shown = replace(shown, length=math.fsum(shown.edge_lengths()))
        result = RelayNetwork(shown, self.radius, self.bound, status, shown.runtime, info)
        try:
            return result.validate()
        except TreeError as error:
            raise InternalError(f"place_relays made an invalid network: {error}") from None


def _pieces(places: FloatArray, edges: IntArray, radius: float) -> IntArray:
    """Return the number of hops on every edge."""
    from .local_kernels import ROUNDING

    lengths = np.hypot(*(places[edges[:, 0]] - places[edges[:, 1]]).T)
    hops = np.maximum(np.ceil(lengths / radius * (1.0 - ROUNDING)), 1.0)
    return np.asarray(hops, dtype=np.int64)


def _with_room(places: FloatArray, edges: IntArray, n: int) -> Any:
    """Return a network as kernels change it."""
    from ..plane.plane import as_complex
    from .search_kernels import Network

    size = len(places)
    room = size + max(ROOM, size)
    wide, alive = np.zeros(room, np.complex128), np.zeros(room, np.bool_)
    links = np.zeros((room, 2), np.int64)
    wide[:size], alive[:size], links[: len(edges)] = as_complex(places), True, edges
    return Network(wide, alive, links, np.array([n, size, len(edges)]))


def _living(network: Any) -> tuple[FloatArray, IntArray]:
    """Return places and edges of a network without the hubs that are gone."""
    from ..plane.plane import as_pairs

    _, used, count = network.counts.tolist()
    alive = network.alive[:used]
    number = np.cumsum(alive) - 1
    return as_pairs(network.places[:used][alive]), number[network.edges[:count]]


def _ground(obstructed: Any) -> Any:
    """Return the obstacles as kernels take them."""
    from ..plane.plane import as_complex
    from ..plane.sight_kernels import Walls
    from .search_kernels import Ground

    if obstructed is None or not len(obstructed):
        nothing = np.empty(0, np.complex128)
        return Ground(Walls(nothing, nothing, np.empty(0, np.int64)), np.empty((0, 4)), nothing)
    boxes = np.array([polygon.bounds for polygon in obstructed.polygons])
    return Ground(obstructed.walls, boxes, as_complex(obstructed.corners.places))
