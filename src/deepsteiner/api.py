"""`solve`: validate the points, hand them to a method, validate its tree, give it back."""

from __future__ import annotations

from typing import Any

import numpy as np

from .core.errors import OptionError, TreeError
from .core.geo import Plane, plane_of
from .core.jit import prepare_kernels
from .core.method import Run, Tree, instance_seed
from .core.points import FloatArray, IntArray, Problem, as_points, check_duplicates_policy
from .core.progress import Monitor, ProgressCallback
from .core.solution import Solution, Status
from .core.trees import check_tree, tree_length
from .registry import Method, check_common, get_method


def solve(
    points: Any,
    method: str = "auto",
    *,
    time_limit: float | None = None,
    seed: int = 0,
    duplicates: str = "merge",
    device: str = "cpu",
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
        "merge" joins repeated points by edges of length zero; "raise" refuses them.
    device
        "cpu", "cuda" or "auto", for the methods that can use an accelerator.
    on_progress
        Called with a `Progress` at least every 50 ms; return False to stop.
    trace
        Put a JSON-able record of the steps into `info["trace"]`.
    crs, project_to
        The coordinate reference system of the points (lon/lat for "EPSG:4326"), and the plane
        to solve in where the local one is not wanted. Needs pyproj.
    options
        The method's own options; `methods()[name].options` lists them.

    Examples
    --------
    >>> solution = solve([[0, 0], [1, 0], [0.5, 1]], method="greedy")
    >>> len(solution.steiner_points), round(solution.length, 6)
    (1, 1.866025)

    """
    check_common(seed, device)
    policy = check_duplicates_policy(duplicates)
    chosen = get_method(method, options)
    monitor = Monitor(time_limit, on_progress)
    given = as_points(points)
    plane = _input_plane(crs or getattr(points, "crs", None), project_to, given)
    problem = Problem.of(as_points(plane.into(given)) if plane else given, policy)
    steps: list[dict[str, Any]] | None = [] if trace else None
    tree = run_method(chosen, problem, monitor, seed, device, steps)
    solution = build_solution(chosen, problem, tree, monitor, given, plane)
    if steps is not None:
        solution.info["trace"] = steps
    return solution


def run_method(
    chosen: Method,
    problem: Problem,
    monitor: Monitor,
    seed: int,
    device: str = "cpu",
    trace: list[dict[str, Any]] | None = None,
) -> Tree:
    """Run a method on a problem; one or two distinct points need none."""
    monitor.unit = problem.frame.unit
    count = len(problem.points)
    if count <= 2:
        length = float(np.hypot(*(problem.points[0] - problem.points[-1])))
        edges = np.array([[0, 1]] if count == 2 else [], dtype=np.int64).reshape(-1, 2)
        monitor.report("done", 1, 1, length, length)
        return Tree(np.empty((0, 2)), edges, lower_bound=length, optimal=True)
    stream = instance_seed(problem.terminals, seed) if chosen.info.random else seed
    run = Run(problem.points, problem.frame, monitor, stream, device, trace)
    prepare_kernels()
    tree: Tree = chosen.module.solve(run, chosen.options)
    return tree


def build_solution(
    chosen: Method,
    problem: Problem,
    tree: Tree,
    monitor: Monitor,
    given: FloatArray,
    plane: Plane | None,
) -> Solution:
    """Map a tree of the frame back to the user's coordinates and validate it there."""
    steiner = problem.frame.back(tree.steiner)
    edges = terminal_edges(problem, tree.edges)
    # Of what `Solution.validate` asks the rest holds: the points were checked when they came in,
    # and the length is summed over these very edges.
    try:
        check_tree(problem.terminals, steiner, edges)
    except TreeError as error:
        name = chosen.info.name
        raise TreeError(f"internal error: method {name!r} made an invalid tree: {error}") from None
    length = tree_length(np.concatenate((problem.terminals, steiner)), edges)
    bound = None if tree.lower_bound is None else min(tree.lower_bound * problem.frame.unit, length)
    solution = Solution(
        given,
        steiner if plane is None else plane.back(steiner),
        edges,
        length,
        length if tree.optimal else bound,
        _status(tree, monitor),
        tree.method or chosen.info.name,
        monitor.elapsed(),
        dict(tree.info),
        None if plane is None else plane.crs,
        None if plane is None else plane.plane_crs,
    )
    return solution if plane is None else solution.validate()


def terminal_edges(problem: Problem, edges: IntArray) -> IntArray:
    """Return edges over (terminals, Steiner points), repeated terminals tied to their first."""
    distinct, n = len(problem.first), len(problem.terminals)
    if distinct == n:
        return edges
    is_point = edges < distinct
    mapped = np.where(is_point, problem.first[np.where(is_point, edges, 0)], edges + n - distinct)
    repeated = np.flatnonzero(np.arange(n) != problem.first[problem.owner])
    ties = np.stack((problem.first[problem.owner[repeated]], repeated), axis=1)
    return np.concatenate((mapped, ties))


def _input_plane(crs: str | None, project_to: str | None, given: FloatArray) -> Plane | None:
    if crs is not None:
        return plane_of(crs, project_to, given)
    if project_to is not None:
        raise OptionError("project_to needs crs, the coordinate reference system of the points")
    return None


def _status(tree: Tree, monitor: Monitor) -> Status:
    if tree.optimal:
        return "optimal"
    return monitor.stop_reason or "feasible"
