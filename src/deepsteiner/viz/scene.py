"""What a picture of a tree shows, whatever draws it: nodes by kind, segments, words, aspect."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ..core.points import FloatArray
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
    aspect: float = 1.0
    geographic: bool = False

    @property
    def node_count(self) -> int:
        """How many nodes are drawn."""
        return len(self.terminals) + len(self.steiner) + len(self.relays)

    def box(self) -> tuple[FloatArray, FloatArray]:
        """Return the lower left and upper right corners of all nodes."""
        nodes = np.concatenate((self.terminals, self.steiner, self.relays))
        return nodes.min(axis=0), nodes.max(axis=0)


def scene_of(solution: Solution) -> Scene:
    """Return what to draw for a solution."""
    nodes = solution.coordinates
    geographic = solution.crs is not None and _looks_like_degrees(nodes)
    if geographic:
        nodes = _unwrapped(nodes)
    n = len(solution.terminals)
    relay_start = len(nodes) - int(solution.info.get("relays", 0))
    return Scene(
        nodes[:n],
        nodes[n:relay_start],
        nodes[relay_start:],
        nodes[solution.edges],
        _degree_aspect(nodes) if geographic else 1.0,
        geographic,
    )


def scene_of_points(points: FloatArray, *, crs: str | None = None) -> Scene:
    """Return what to draw for points alone."""
    geographic = crs is not None and _looks_like_degrees(points)
    nodes = _unwrapped(points) if geographic else points
    nothing = np.empty((0, 2))
    aspect = _degree_aspect(nodes) if geographic else 1.0
    return Scene(nodes, nothing, nothing, np.empty((0, 2, 2)), aspect, geographic)


def _looks_like_degrees(nodes: FloatArray) -> bool:
    # A CRS may also be a projected one in metres, whose coordinates are drawn as they are.
    return bool(np.abs(nodes[:, 0]).max() <= 360 and np.abs(nodes[:, 1]).max() <= 90)


def _unwrapped(nodes: FloatArray) -> FloatArray:
    """Return lon/lat nodes on one side of the antimeridian, so that edges do not cross the map."""
    if np.ptp(nodes[:, 0]) <= 180:
        return nodes
    return np.column_stack((nodes[:, 0] % 360, nodes[:, 1]))


def _degree_aspect(nodes: FloatArray) -> float:
    middle = (nodes[:, 1].min() + nodes[:, 1].max()) / 2
    return 1 / max(math.cos(math.radians(middle)), 0.05)


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


def heading(solution: Solution) -> str:
    """Return the title of a picture: method, length and gap."""
    parts = (solution.method, f"length {length_text(solution)}", quality_text(solution))
    return ", ".join(part for part in parts if part)


def count_text(scene: Scene) -> str:
    """Return how many nodes of each kind there are, with their signs: a legend in one line."""
    parts = [_counted("●", len(scene.terminals), "terminal")]
    if len(scene.steiner):
        parts.append(_counted("○", len(scene.steiner), "Steiner point"))
    if len(scene.relays):
        parts.append(_counted("■", len(scene.relays), "relay"))
    return "   ".join(parts)


def _counted(sign: str, count: int, noun: str) -> str:
    return f"{sign} {count:,} {noun}{'' if count == 1 else 's'}"
