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
from .core.solution import Solution, Status
from .core.trees import LENGTH_TOLERANCE, check_tree, tree_length
from .registry import Method, check_common, get_method
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
    problem = Problem.of(as_points(plane.into(given)) if plane else given, policy)
    stream = instance_seed(problem.terminals, seed) if chosen.info.random else seed
    run = Run(problem.points, problem.frame, monitor, stream, place, [] if trace else None)
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
    if count <= 2:
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
    steiner = problem.frame.back(tree.steiner)
    edges = terminal_edges(problem, tree.edges)
    # Of what `Solution.validate` asks the rest holds: the points were checked when they came in,
    # and the length is summed over these very edges.
    try:
        check_tree(problem.terminals, steiner, edges)
    except TreeError as error:
        raise InternalError(f"method {name!r} made an invalid tree: {error}") from None
    length = tree_length(np.concatenate((problem.terminals, steiner)), edges)
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
    if plane is None:
        return Solution(given, steiner, edges, *made)
    return Solution(
        given, plane.back(steiner), edges, *made, crs=plane.crs, plane_crs=plane.plane_crs
    ).validate()


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
