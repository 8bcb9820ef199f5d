"""One point moves again and again among obstacles, as when it is dragged: tree after tree, proven.

What the place of that point does not change is kept (`solvers.around.moving`) for as long as a tree
lives that was made so, and serves the next move of the same point.
"""

from __future__ import annotations

import threading
import weakref
from dataclasses import dataclass, field

import numpy as np

from .api import build_solution
from .core.points import FloatArray, Frame, Problem
from .core.solution import Solution
from .plane.plane import Plane
from .plane.shapes import load_shapely
from .run.method import Run
from .run.monitor import Monitor
from .solvers.around.moving import LEAST, Moving

MOST = 60
"""Points up to which one that moves is worth a proof of its own."""
ROOM = 0.5
"""How far a point may be dragged beyond all else, in extents, before all is begun anew."""


@dataclass
class _Drag:
    """What is kept while one point moves; one tree at a time is made of it."""

    moving: Moving
    lock: threading.Lock = field(default_factory=threading.Lock)

    @classmethod
    def of(cls, solution: Solution, points: FloatArray, index: int) -> _Drag:
        polygon = load_shapely().Polygon
        shapes = [polygon(one[0], one[1:]) for one in solution.obstacles]
        corners = [ring for one in solution.obstacles for ring in one]
        everything = np.concatenate((points, solution.terminals, *corners))
        low, high = everything.min(axis=0), everything.max(axis=0)
        room = ROOM * float((high - low).max())
        frame = Frame.of(np.stack((low - room, high + room)))
        return cls(Moving(Plane.of(shapes, 0.0, frame), index))

    def fits(self, index: int, place: FloatArray) -> bool:
        """Whether it is that point that moves, to a place that the frame holds."""
        inside = self.moving.plane.frame.into(place)
        return self.moving.index == index and bool((np.abs(inside) <= 1.0).all())


_drags: weakref.WeakKeyDictionary[Solution, _Drag] = weakref.WeakKeyDictionary()


def dragged(
    solution: Solution, index: int, place: FloatArray, monitor: Monitor | None = None
) -> Solution | None:
    """Return the shortest tree with one point at another place; None where nothing can be kept.

    Parameters
    ----------
    solution
        A tree; kept is most where it was made by moving the same point.
    index, place
        The point and its new place.
    monitor
        The limits; none where it is None.

    Raises
    ------
    ObstacleError
        If the place is inside an obstacle or cut off from the other points.
    """
    points = solution.terminals.copy()
    points[index] = place
    plain = not (solution.existing or solution.regions or solution.crs)
    if not solution.obstacles or not plain or not LEAST <= len(points) <= MOST:
        return None
    drag = _drags.get(solution)
    if drag is None or not drag.fits(index, place):
        drag = _Drag.of(solution, points, index)
    with drag.lock:
        plane, monitor = drag.moving.plane, monitor or Monitor()
        problem = Problem.within(plane.frame, points)
        if len(problem.ties) or not len(plane):
            return None
        plane.check_terminals(problem.points, problem.first)
        run = Run(problem.points, problem.frame, monitor, 0, plane=plane)
        monitor.unit = problem.frame.unit
        found = build_solution("exact", problem, drag.moving.tree(run), run, points, None)
    _drags[found] = drag
    return found
