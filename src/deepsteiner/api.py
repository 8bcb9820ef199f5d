"""`solve`: validate the points, hand them to a method, validate its tree, give it back."""

from __future__ import annotations

from concurrent.futures import Executor
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
    existing: Any = None,
    clearance: float = 0.0,
    executor: Executor | None = None,
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
        touch, overlap and have holes; edges may run along their boundary. A pair (shape, weight),
        or a GeoJSON property "weight", makes a soft region: crossing it costs its weight, a number
        above 1, for each unit of length; along a boundary the cheaper side counts, and where
        regions overlap the largest weight does. Needs shapely and pythoncdt, and a method that
        `supports` obstacles, or soft regions.
    existing
        What may be joined anywhere for free: shapely lines and polygons, GeoJSON, anything with
        `__geo_interface__`, or lists of (k, 2) arrays of points along lines, in the coordinates
        of the points. What touches is one part. Edges end on parts at `joints` of their own, and
        only new edges count. All points and all parts become one network; a pair (shapes,
        "optional") or a GeoJSON property "optional" marks what a tree may do without. Polygons are
        joined as areas: points inside them are connected already. Lines may run through obstacles,
        and are joined outside of them. Needs shapely, and a method that `supports` existing
        networks.
    clearance
        A distance to keep from hard obstacles, in the units of the points (metres with `crs`);
        lines and points are obstacles where it is not 0.
    executor
        Any `concurrent.futures.Executor`, on which large instances are worked on in tiles by a
        method that `supports` an executor; the tree is the same. Not with obstacles or existing
        networks.
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
    NetworkError
        If an existing network is no lines and polygons, or has coordinates that are not finite.
    UnknownMethodError, OptionError
        If there is no such method, or an argument or option has a value it cannot have.
    MissingDependencyError
        If the method, the device or the coordinate system needs a package that is not installed.
    WorkerError
        If the workers of the executor died at a tile on every try.

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
    hard, soft = _shapes(obstacles, plane, chosen)
    lines = _lines(existing, chosen, bool(soft))
    kept = _check_clearance(clearance)
    inside = as_points(plane.into(given)) if plane else given
    reach = [_network_reach(lines, plane), _reach([*hard, *(one for one, _ in soft)], kept)]
    around = [one for one in reach if len(one)]
    problem = Problem.of(inside, policy, np.concatenate(around) if around else None)
    network = _network(lines, given, plane, problem)
    free, network = _free_plane(hard, soft, kept, problem, network)
    hands = _hands(executor, chosen, monitor, free is not None or network is not None)
    stream = instance_seed(problem.terminals, seed) if chosen.info.random else seed
    steps: list[dict[str, Any]] | None = [] if trace else None
    run = Run(problem.points, problem.frame, monitor, stream, place, steps, free, network, hands)
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
    if run.network is None and count <= (2 if run.plane is None else 1):
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
    if run.network is not None:
        return _joined_solution(name, problem, tree, run, given, plane)
    # Of what `Solution.validate` asks the rest holds: the points were checked when they came in,
    # and the length is summed over these very edges.
    try:
        check_tree(problem.terminals, added, edges)
    except TreeError as error:
        raise InternalError(f"method {name!r} made an invalid tree: {error}") from None
    length = tree_length(np.concatenate((problem.terminals, added)), edges)
    info = dict(tree.info)
    if run.plane is not None and run.plane.soft is not None:
        info["plain_length"] = length
        length = _cost(problem, run, added, edges)
    # What joins points that coincide is not part of what was proven: see `core.coincident`.
    joined = tree_length(problem.terminals, problem.ties)
    bound = None if tree.lower_bound is None else tree.lower_bound * problem.frame.unit
    name = tree.method or name
    if bound is not None and is_contradicted(bound, length):
        record = report_contradiction(name, given, bound, length)
        tree, info["contradiction"] = replace(tree, optimal=False), record
        bound = None
    if bound is not None:
        bound = float(stated_bound(bound, length - joined))
    status = _status(tree, run.monitor, length, bound)
    made = length, bound, status, name, run.monitor.elapsed(), info
    if plane is None and run.plane is None:
        return Solution(given, steiner, edges, *made)
    around = {} if run.plane is None else _surroundings(run, plane.back if plane else np.asarray)
    if plane is None:
        return _validated(Solution(given, steiner, edges, *made, bends=bends, **around))
    return _validated(
        Solution(
            given, plane.back(steiner), edges, *made, crs=plane.crs, plane_crs=plane.plane_crs,
            bends=plane.back(bends), **around,
        )
    )  # fmt: skip


def _joined_solution(
    name: str, problem: Problem, tree: Tree, run: Run, given: FloatArray, plane: Plane | None
) -> Solution:
    """Return the solution of a tree that joins existing networks, validated."""
    back = plane.back if plane else np.asarray
    joints = np.array(back(problem.frame.back(tree.joints)))
    # Joints at terminals that lie on the network are exactly there: mapping back would round.
    own = {(float(x), float(y)): k for k, (x, y) in enumerate(problem.points)}
    for row, (x, y) in enumerate(tree.joints.tolist()):
        if (x, y) in own:
            joints[row] = given[problem.first[own[x, y]]]
    edges = terminal_edges(problem, tree.edges)
    bare = Solution(
        given, back(problem.frame.back(tree.steiner)), edges, 0.0, method=tree.method or name,
        info=dict(tree.info), crs=plane.crs if plane else None,
        plane_crs=plane.plane_crs if plane else None, joints=joints, existing=run.network.shapes,
        bends=np.array(back(problem.frame.back(tree.bends))),
        **({} if run.plane is None else _surroundings(run, back)),
    )  # fmt: skip
    lengths = bare.edge_lengths()
    length = float(np.cumsum(lengths)[-1]) if len(lengths) else 0.0
    bound = None if tree.lower_bound is None else tree.lower_bound * problem.frame.unit
    if bound is not None and is_contradicted(bound, length):
        bare.info["contradiction"] = report_contradiction(bare.method, given, bound, length)
        bound = None
    if bound is not None:
        bound = float(stated_bound(bound, length - tree_length(problem.terminals, problem.ties)))
    status = _status(tree, run.monitor, length, bound)
    return _validated(
        replace(
            bare, length=length, lower_bound=bound, status=status, runtime=run.monitor.elapsed()
        )
    )


def _surroundings(run: Run, back: Any) -> dict[str, Any]:
    """Return what lies in the plane as fields of a solution."""
    around = {"obstacles": run.plane.outlines(back)}
    if (soft := run.plane.soft) is not None:
        around |= {"regions": soft.outlines(back), "weights": soft.weights}
    return around


def _cost(problem: Problem, run: Run, added: FloatArray, edges: IntArray) -> float:
    """Return what a tree costs with soft regions."""
    nodes = problem.frame.into(np.concatenate((problem.terminals, added)))
    return float(run.plane.soft.costs(nodes, edges).sum()) * problem.frame.unit


def _validated(solution: Solution) -> Solution:
    """Return the solution; what is wrong with it is a fault of the method."""
    try:
        return solution.validate()
    except TreeError as error:
        raise InternalError(f"method {solution.method!r} made an invalid tree: {error}") from None


def _shapes(
    obstacles: Any, plane: Plane | None, chosen: Method
) -> tuple[list[Any], list[tuple[Any, float]]]:
    """Return obstacles and soft regions as shapely shapes in the plane of the solve."""
    if obstacles is None:
        return [], []
    from .plane.shapes import hard_and_soft, load_shapely

    hard, soft = hard_and_soft(obstacles)
    if hard:
        check_supports(chosen.info, "obstacles")
    if soft:
        check_supports(chosen.info, "soft regions")
    if plane is None:
        return hard, soft
    into = plane.into
    return (
        [load_shapely().transform(shape, into) for shape in hard],
        [(load_shapely().transform(shape, into), weight) for shape, weight in soft],
    )


def _lines(existing: Any, chosen: Method, regions: bool) -> tuple[Any, ...]:
    """Return existing networks as lines and polygons in the user's coordinates."""
    if existing is None:
        return ()
    from .plane.networks import read_network

    shapes = read_network(existing)
    if shapes:
        check_supports(chosen.info, "existing")
        if regions:
            raise OptionError(
                "soft regions and an existing network cannot be given together; give one of them"
            )
    return shapes


def _network_reach(lines: tuple[Any, ...], plane: Plane | None) -> FloatArray:
    """Return all points of existing networks, for the frame."""
    if not lines:
        return np.empty((0, 2))
    from .core.surroundings.existing import corners_of

    corners = corners_of(lines)
    return plane.into(corners) if plane else corners


def _network(
    lines: tuple[Any, ...], given: FloatArray, plane: Plane | None, problem: Problem
) -> Any:
    """Return the existing networks in the frame; None where there are none."""
    if not lines:
        return None
    from .plane.networks import Network

    return Network.of(lines, given, plane.into if plane else np.asarray, problem.frame)


def _hands(executor: Executor | None, chosen: Method, monitor: Monitor, around: bool) -> Any:
    """Return who makes calls on an executor; None where there is none."""
    if executor is None:
        return None
    from .fleet.hands import Hands

    check_supports(chosen.info, "an executor")
    if around:
        raise OptionError("an executor is for points without obstacles and existing networks")
    return Hands(executor, monitor, stoppable=True)


def _check_clearance(clearance: Any) -> float:
    width = as_real(clearance)
    if width is None or not 0.0 <= width < np.inf:
        raise OptionError(f"clearance must be a length of at least 0, got {clearance!r}")
    return width


def _reach(shapes: list[Any], clearance: float) -> FloatArray:
    """Return corners of boxes that hold the widened obstacles, for the frame."""
    if not shapes:
        return np.empty((0, 2))
    from .plane.shapes import MITRE_LIMIT, load_shapely

    low_x, low_y, high_x, high_y = load_shapely().total_bounds(shapes)
    more = MITRE_LIMIT * clearance
    return np.array([[low_x - more, low_y - more], [high_x + more, high_y + more]])


def _free_plane(
    hard: list[Any], soft: list[tuple[Any, float]], clearance: float, problem: Problem, network: Any
) -> tuple[Any, Any]:
    """Return the plane with what lies in it, terminals checked; None where that is nothing.

    Also returns the existing network, to be joined outside the obstacles only.
    """
    if not hard and not soft:
        return None, network
    from .plane.joining.outside import outside
    from .plane.plane import Plane as Obstructed
    from .plane.soft import Soft

    free = Obstructed.of(hard, clearance, problem.frame)
    if network is not None:
        if not len(free):
            return None, network
        return free, outside(network, free, problem.points, problem.first)
    free.check_terminals(problem.points, problem.first)
    regions = Soft.of(soft, free, problem.frame) if soft else None
    if regions is not None and regions.faces:
        return replace(free, soft=regions), None
    return (free if len(free) else None), None


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
