"""What a picture of a tree shows, whatever draws it: nodes by kind, segments, words, aspect."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

import numpy as np

from ..core.points import FloatArray, IntArray
from ..core.solution import Solution

EDGE_COLOUR = "#2b6ca3"
INK = "#16181c"
PAPER = "#ffffff"
QUIET = "#666b73"


@dataclass(frozen=True, slots=True)
class Scene:
    """Coordinates to draw. `aspect` is the height of one unit of y over the width of one of x."""

    terminals: FloatArray
    steiner: FloatArray
    relays: FloatArray
    segments: FloatArray
    aspect: float
    geographic: bool
    bends: FloatArray = field(default_factory=lambda: np.empty((0, 2)))
    obstacles: tuple[tuple[FloatArray, ...], ...] = ()
    joints: FloatArray = field(default_factory=lambda: np.empty((0, 2)))
    existing: tuple[FloatArray, ...] = ()
    regions: tuple[tuple[FloatArray, ...], ...] = ()

    @property
    def node_count(self) -> int:
        """How many nodes are drawn."""
        return sum(map(len, (self.terminals, self.steiner, self.relays, self.bends, self.joints)))

    def box(self) -> tuple[FloatArray, FloatArray]:
        """Return the middle of all that is drawn, and its width and height in units of x."""
        outer = [polygon[0] for polygon in (*self.obstacles, *self.regions)]
        nodes = np.concatenate(
            (self.terminals, self.steiner, self.relays, self.bends, *outer, *self.existing)
        )
        low, high = nodes.min(axis=0), nodes.max(axis=0)
        return low / 2 + high / 2, (high - low) * np.array([1.0, self.aspect])


def scene_of(solution: Solution) -> Scene:
    """Return what to draw for a solution."""
    relays = int(solution.info.get("relays", 0))
    n = len(solution.terminals)
    nodes, edges, crs = solution.coordinates, solution.edges, solution.crs
    lines = tuple(ring for one in solution.existing for ring in one.rings)
    later = len(solution.bends), len(solution.joints)
    scene = _scene(nodes, n, relays, edges, crs, later, solution.obstacles, lines)
    return replace(scene, regions=solution.regions)


def scene_of_points(points: FloatArray, *, crs: str | None = None) -> Scene:
    """Return what to draw for points alone."""
    return _scene(points, len(points), 0, np.empty((0, 2), dtype=np.int64), crs)


def _scene(
    nodes: FloatArray,
    n: int,
    relays: int,
    edges: IntArray,
    crs: str | None,
    later: tuple[int, int] = (0, 0),
    obstacles: tuple[tuple[FloatArray, ...], ...] = (),
    existing: tuple[FloatArray, ...] = (),
) -> Scene:
    """Return the scene of n terminals, Steiner points, relays, and `later` bends and joints."""
    largest_x, largest_y = np.abs(nodes).max(axis=0)
    # A CRS may also be a projected one in metres, whose coordinates are drawn as they are.
    geographic = bool(crs is not None and largest_x <= 360 and largest_y <= 90)
    aspect = 1.0
    if geographic:
        if np.ptp(nodes[:, 0]) > 180:  # on one side of the antimeridian no edge crosses the map
            nodes = np.column_stack((nodes[:, 0] % 360, nodes[:, 1]))
            existing = tuple(np.column_stack((one[:, 0] % 360, one[:, 1])) for one in existing)
        middle = (nodes[:, 1].min() + nodes[:, 1].max()) / 2
        aspect = 1 / max(math.cos(math.radians(middle)), 0.05)
    first_joint = len(nodes) - later[1]
    first_bend = first_joint - later[0]
    first_relay = first_bend - relays
    parts = nodes[:n], nodes[n:first_relay], nodes[first_relay:first_bend], nodes[edges]
    bends, joints = nodes[first_bend:first_joint], nodes[first_joint:]
    return Scene(*parts, aspect, geographic, bends, obstacles, joints, existing)


def length_text(solution: Solution) -> str:
    """Return the length as people read it, in metres or kilometres where it is geographic.

    >>> length_text(Solution([[0, 0], [3, 4]], [], [[0, 1]], 5.0))
    '5'
    """
    if solution.crs is None:
        return f"{solution.length:.6g}"
    if solution.length >= 10_000:
        return f"{solution.length / 1000:.6g} km"
    return f"{solution.length:.6g} m"


def quality_text(solution: Solution) -> str:
    """Return what is proven about the length: optimal, a gap, or nothing.

    >>> quality_text(Solution([[0, 0], [3, 4]], [], [[0, 1]], 5.0, lower_bound=4.0))
    'gap 25 %'
    """
    if solution.status == "optimal":
        return "optimal"
    if solution.gap is None:
        return ""
    return f"gap {100 * solution.gap:.3g} %"


def heading(solution: Solution, *, stacked: bool = False) -> str:
    """Return the title of a picture: method, length and gap; `stacked`, the method on top.

    >>> tree = Solution([[0, 0], [3, 4]], [], [[0, 1]], 5.0, method="mst")
    >>> heading(tree), heading(tree, stacked=True)
    ('mst, length 5', 'mst\\nlength 5')
    """
    result = ", ".join(filter(None, (f"length {length_text(solution)}", quality_text(solution))))
    if stacked:
        return f"{solution.method or 'tree'}\n{result}"
    return f"{solution.method}, {result}" if solution.method else result


def count_text(scene: Scene) -> str:
    """Return how many nodes of each kind there are, with their signs: a legend in one line."""
    kinds = (
        ("●", "terminal", scene.terminals),
        ("○", "Steiner point", scene.steiner),
        ("■", "relay", scene.relays),
        ("◆", "bend", scene.bends),
        ("▪", "joint", scene.joints),
    )
    return "   ".join(
        f"{sign} {len(nodes):,} {noun}{'' if len(nodes) == 1 else 's'}"
        for sign, noun, nodes in kinds
        if len(nodes)
    )
