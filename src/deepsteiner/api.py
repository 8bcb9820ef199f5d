"""`solve`: validate the points, hand them to a method, validate its tree, give it back."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from .core.device import Device
from .core.errors import InternalError, OptionError, TreeError, repeating_line
from .core.geo import Plane, plane_of
from .core.points import (
    Duplicates,
    FloatArray,
    IntArray,
    Problem,
    as_points,
    check_duplicates_policy,
)
from .core.proofs import is_contradicted, report_contradiction, stated_bound
from .core.scalars import as_real
from .core.solution import Solution, Status
from .core.trees import LENGTH_TOLERANCE, check_tree, tree_length
from .registry import Method, check_common, check_supports, get_method
from .run.method import Run, Tree, instance_seed
from .run.monitor import Monitor, ProgressCallback


def solve(
    points: Any,
    method: str = "auto",
    *,
    time_limit: float | None = None,
    seed: int = 0,
    duplicates: Duplicates = "merge",
    device: Device = "cpu",
    on_progress: ProgressCallback | None = None,
    trace: bool = False,
    crs: str | None = None,
    project_to: str | None = None,
    obstacles: Any = None,
    clearance: float = 0.0,
    **options: Any,
) -> Solution:
    """Connect all points by a short tree that may branch at extra (Steiner) points.

    Parameters
    ----------
    points
        Anything that `np.asarray` turns into (n, 2) finite real numbers, n >= 1. Points that
        `load_points` read from GeoJSON carry their CRS and are projected.
    method
        A name from `methods()`; "auto" picks by size.
    time_limit
        Seconds; the best tree so far comes back with status "time_limit", at most 0.1 s late (5 %
        of limits above 2 s). Compiling and loading kernels, once in a process, comes on top.
    seed
        For the methods that draw random numbers. The same points and seed give the same tree.
    duplicates
        "merge" joins points that coincide, by edges of length zero or next to it; "raise" refuses
        them. Points coincide when they are equal or closer than about 1e-11 of the extent, which
        is what rounding can do to them; `lower_bound` leaves the joining edges out.
    device
        "cpu", "cuda", or "auto" for CUDA where torch finds it. Methods whose `devices` in
        `methods()` do not name "cuda" work on the processor, whatever is said here.
    on_progress
        Called with a `Progress` at least every 50 ms; return False to stop.
    trace
        Put a JSON-able record of the steps into `info["trace"]`.
    crs, project_to
        The coordinate reference system of the points (lon/lat for "EPSG:4326"), and the plane
        to solve in where the local one is not wanted. Needs pyproj.
    obstacles
        What edges must not go through: shapely polygons, GeoJSON, anything with
        `__geo_interface__`, or lists of (k, 2) rings, in the coordinates of the points. They may
        touch, overlap and have holes; edges may run along their boundary. Needs shapely, and a
        method that `supports` obstacles.
    clearance
        A distance to keep from obstacles, in the units of the points (metres with `crs`); lines
        and points are obstacles where it is not 0.
    options
        The method's own options; `methods()[name].options` lists them.

    Returns
    -------
    Solution
        A tree over all points, checked before it is handed out. `status` says how far it can be
        trusted to be the shortest, `lower_bound` and `gap` say how far it can be from it.

    Raises
    ------
    PointsError
        If the points are not finite pairs of numbers, or coincide and `duplicates` is "raise".
    ObstacleError
        If an obstacle cannot be used, or a terminal is inside one or cut off from the others.
    UnknownMethodError, OptionError
        If there is no such method, or an argument or option has a value it cannot have.
    MissingDependencyError
        If the method, the device or the coordinate system needs a package that is not installed.

    Examples
    --------
    >>> solution = solve([[0, 0], [1, 0], [0.5, 1]], method="greedy")
    >>> len(solution.steiner_points), round(solution.length, 6)
    (1, 1.866025)

    """
    policy = check_duplicates_policy(duplicates)
    chosen = get_method(method, options)
    seed, place = check_common(seed, device, chosen)
    monitor = Monitor(time_limit, on_progress)
    given = as_points(points)
    plane = _input_plane(crs or getattr(points, "crs", None), project_to, given)
    shapes = _shapes(obstacles, plane, chosen)
    kept = _check_clearance(clearance)
    inside = as_points(plane.into(given)) if plane else given
    problem = Problem.of(inside, policy, _reach(shapes, kept))
    free = _free_plane(shapes, kept, problem)
    stream = instance_seed(problem.terminals, seed) if chosen.info.random else seed
    run = Run(problem.points, problem.frame, monitor, stream, place, [] if trace else None, free)
    monitor.unit = problem.frame.unit
    try:
        tree = _run_method(chosen, run)
        solution = build_solution(chosen.info.name, problem, tree, run, given, plane)
    except InternalError as error:
        checked = {name: getattr(chosen.options, name) for name in options}
        if plane is not None:
            checked |= {"crs": plane.crs, "project_to": plane.plane_crs}
        error.add_note(f"to repeat it: {repeating_line(given, method, seed, checked)}")
        raise
    if run.trace is not None:
        solution.info["trace"] = run.trace
    return solution


def _run_method(chosen: Method, run: Run) -> Tree:
    """Run a method; one or two distinct points need none."""
    count = len(run.points)
    if count <= (2 if run.plane is None else 1):
        length = float(np.hypot(*(run.points[0] - run.points[-1])))
        run.monitor.report("done", 1, 1, length, length)
        edges = np.array([[0, 1]][: count - 1], dtype=np.int64).reshape(-1, 2)
        return Tree(np.empty((0, 2)), edges, lower_bound=length, optimal=True)
    tree: Tree = chosen.module.solve(run, chosen.options)
    return tree


def build_solution(
    name: str, problem: Problem, tree: Tree, run: Run, given: FloatArray, plane: Plane | None
) -> Solution:
    """Map a tree of the frame back to the user's coordinates and validate it there."""
    steiner, bends = problem.frame.back(tree.steiner), problem.frame.back(tree.bends)
    added = np.concatenate((steiner, bends))
    edges = terminal_edges(problem, tree.edges)
    # Of what `Solution.validate` asks the rest holds: the points were checked when they came in,
    # and the length is summed over these very edges.
    try:
        check_tree(problem.terminals, added, edges)
    except TreeError as error:
        raise InternalError(f"method {name!r} made an invalid tree: {error}") from None
    length = tree_length(np.concatenate((problem.terminals, added)), edges)
    # What joins points that coincide is not part of what was proven: see `core.coincident`.
    joined = tree_length(problem.terminals, problem.ties)
    bound = None if tree.lower_bound is None else tree.lower_bound * problem.frame.unit
    name = tree.method or name
    if bound is not None and is_contradicted(bound, length):
        record = report_contradiction(name, given, bound, length)
        tree = replace(tree, optimal=False, info={**tree.info, "contradiction": record})
        bound = None
    if bound is not None:
        bound = float(stated_bound(bound, length - joined))
    status = _status(tree, run.monitor, length, bound)
    made = length, bound, status, name, run.monitor.elapsed(), dict(tree.info)
    if plane is None and run.plane is None:
        return Solution(given, steiner, edges, *made)
    avoided = () if run.plane is None else run.plane.outlines(plane.back if plane else np.asarray)
    if plane is None:
        return _validated(Solution(given, steiner, edges, *made, bends=bends, obstacles=avoided))
    return _validated(
        Solution(
            given, plane.back(steiner), edges, *made, crs=plane.crs, plane_crs=plane.plane_crs,
            bends=plane.back(bends), obstacles=avoided,
        )
    )  # fmt: skip


def _validated(solution: Solution) -> Solution:
    """Return the solution; what is wrong with it is a fault of the method."""
    try:
        return solution.validate()
    except TreeError as error:
        raise InternalError(f"method {solution.method!r} made an invalid tree: {error}") from None


def _shapes(obstacles: Any, plane: Plane | None, chosen: Method) -> list[Any]:
    """Return the obstacles as shapely shapes in the plane of the solve."""
    if obstacles is None:
        return []
    from .plane.shapes import hard_shapes, load_shapely

    shapes = hard_shapes(obstacles)
    if shapes:
        check_supports(chosen.info, "obstacles")
    if plane is None:
        return shapes
    return [load_shapely().transform(shape, plane.into) for shape in shapes]


def _check_clearance(clearance: Any) -> float:
    width = as_real(clearance)
    if width is None or not 0.0 <= width < np.inf:
        raise OptionError(f"clearance must be a length of at least 0, got {clearance!r}")
    return width


def _reach(shapes: list[Any], clearance: float) -> FloatArray | None:
    """Return corners of boxes that hold the widened obstacles, for the frame."""
    if not shapes:
        return None
    from .plane.shapes import MITRE_LIMIT, load_shapely

    low_x, low_y, high_x, high_y = load_shapely().total_bounds(shapes)
    more = MITRE_LIMIT * clearance
    return np.array([[low_x - more, low_y - more], [high_x + more, high_y + more]])


def _free_plane(shapes: list[Any], clearance: float, problem: Problem) -> Any:
    """Return the plane with the obstacles, terminals checked; None where there are none."""
    if not shapes:
        return None
    from .plane.plane import Plane as Obstructed

    free = Obstructed.of(shapes, clearance, problem.frame)
    free.check_terminals(problem.points, problem.first)
    return free if len(free) else None


def terminal_edges(problem: Problem, edges: IntArray) -> IntArray:
    """Return edges over (terminals, Steiner points), terminals that coincide tied together."""
    distinct, n = len(problem.first), len(problem.terminals)
    if distinct == n:
        return edges
    is_point = edges < distinct
    mapped = np.where(is_point, problem.first[np.where(is_point, edges, 0)], edges + n - distinct)
    return np.concatenate((mapped, problem.ties))


def _input_plane(crs: str | None, project_to: str | None, given: FloatArray) -> Plane | None:
    if crs is not None:
        return plane_of(crs, project_to, given)
    if project_to is not None:
        raise OptionError("project_to needs crs, the coordinate reference system of the points")
    return None


def _status(tree: Tree, monitor: Monitor, length: float, bound: float | None) -> Status:
    """Return the status; what was proven in the frame must still hold for the tree handed out.

    It need not where the coordinates have too few digits for Steiner points, or where very many
    points coincide.
    """
    if tree.optimal and bound is not None and length <= bound * (1.0 + LENGTH_TOLERANCE):
        return "optimal"
    return monitor.stop_reason or "feasible"
