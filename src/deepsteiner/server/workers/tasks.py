"""What a worker does: solve, trace, read a file of points, export a tree. JSON comes out."""

from __future__ import annotations

import io
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ...api import solve
from ...core.errors import FormatError, OptionError
from ...core.points import FloatArray
from ...core.solution import Solution
from ...core.trees import tree_length
from ...geometry.relaxation import refine
from ...geometry.spanning_trees import minimum_spanning_tree
from ...io import load_instances
from ...run.monitor import Progress
from ...solvers.exact import BATCH_LIMIT as EXACT_KERNEL_SIZE
from ...solvers.local import BATCH_LIMIT as LOCAL_KERNEL_SIZE
from ..intake.json_values import collector_paused
from ..intake.systems import check_system
from ..options import takes_start
from .frames import pack_json
from .moves import Moves

if TYPE_CHECKING:
    from .worker import Channel, Task

# Text only: archives could unpack to any size.
READABLE = ("csv", "tsv", "txt", "json", "jsonl", "geojson", "estein", "stp", "tsp")
# How gzip, zip and numpy files begin.
PACKED = (b"\x1f\x8b", b"PK", b"\x93NUMPY")

# Up to here the method's kernel is done before it could make use of a tree.
KERNEL_SIZES = {"exact": EXACT_KERNEL_SIZE, "local": LOCAL_KERNEL_SIZE}

# A worker serves one request at a time.
moves = Moves()


def solve_task(
    channel: Channel,
    call: dict[str, Any],
    most_seconds: float,
    start: Any,
    max_edge: float | None,
    most_relays: int,
    obstacles: list[FloatArray],
    existing: list[FloatArray],
    radius: float | None,
) -> bytes:
    """Solve; return the solution, the spanning tree's length and the relays asked for."""
    beside = {"obstacles": obstacles, "existing": existing}
    call |= {name: shapes for name, shapes in beside.items() if shapes}
    if obstacles or existing:
        start = None
    if radius is not None:
        return _relays_task(channel, call, most_seconds, radius, most_relays)
    begun, told = fitted_start(start, call["method"], call["points"])
    if begun is not None:
        call["start"] = begun
    solution = run_solver(channel, call, most_seconds)
    extended = _with_relays(solution, max_edge, most_relays)
    relays = extended.steiner_points[len(solution.steiner_points) :].tolist()
    return pack_json({**answer(solution), "relays": relays, "start": told})


def _relays_task(
    channel: Channel, call: dict[str, Any], most_seconds: float, radius: float, most: int
) -> bytes:
    """Place few relays; return the network, whose relays are the Steiner points."""
    from ...relays.place import place_relays

    extent = float(np.ptp(call["points"], axis=0).max()) * len(call["points"])
    if extent > most * radius:
        raise OptionError(
            f"radius {radius:g} may need {extent / radius:.3g} relays; "
            f"a request gets at most {most}"
        )
    limit = most_seconds if call["time_limit"] is None else min(call["time_limit"], most_seconds)
    network = place_relays(
        call["points"],
        radius,
        obstacles=call.get("obstacles"),
        effort="fast",
        time_limit=limit,
        seed=call["seed"],
        on_progress=lambda _: not channel.stopped(),
    )
    beside = {"bound": network.lower_bound, "status": network.status, "radius": radius}
    told = {"relays": network.relays.tolist(), "network": {**beside, **network.info}}
    return pack_json({**answer(network.solution), **told, "start": None})


def fitted_start(data: Any, method: str, points: FloatArray) -> tuple[Solution | None, str | None]:
    """Return the tree to begin from, or None, and a word or two on what became of it."""
    if data is None:
        return None, None
    if not takes_start(method):
        return None, f"not taken by {method}"
    if len(points) <= KERNEL_SIZES.get(method, 0):
        return None, "not needed"
    start = Solution.from_dict(data)
    alone = not (len(start.bends) or len(start.joints) or start.regions)
    if not alone or start.terminals.shape != points.shape:
        return None, "does not fit"
    if np.array_equal(start.terminals, points):
        return start, "used"
    steiner, edges = refine(points, start.steiner_points, start.edges)
    length = tree_length(np.concatenate((points, steiner)), edges)
    moved = replace(
        start, terminals=points, steiner_points=steiner, edges=edges, length=length,
        lower_bound=None, status="feasible", crs=None, plane_crs=None,
    )  # fmt: skip
    return moved, "moved"


def trace_task(channel: Channel, call: dict[str, Any], most_seconds: float) -> bytes:
    """Solve and return the steps as well."""
    from .traces import readable_trace

    solution = run_solver(channel, {**call, "trace": True}, most_seconds)
    trace = readable_trace(call["method"], solution.info.pop("trace"), solution)
    return pack_json({**answer(solution), "trace": trace})


def run_solver(channel: Channel, call: dict[str, Any], most_seconds: float) -> Solution:
    """Solve as a request asks, within its own time limit and the server's."""
    deadline = time.perf_counter() + most_seconds
    out_of_time = False

    def on_progress(progress: Progress) -> bool:
        nonlocal out_of_time
        out_of_time = time.perf_counter() > deadline
        channel.report(progress)
        return not (out_of_time or channel.stopped())

    solution = moves.solve(call, on_progress) or solve(**call, on_progress=on_progress)
    moves.remember(call, solution)
    if out_of_time and solution.status == "interrupted":
        return replace(solution, status="time_limit")
    return solution


def answer(solution: Solution) -> dict[str, Any]:
    """Return what every answer with a tree holds."""
    points = solution.terminals
    length = tree_length(points, minimum_spanning_tree(points))
    return {"solution": solution.to_dict(), "mst_length": length}


def _with_relays(solution: Solution, max_edge: float | None, most: int) -> Solution:
    if max_edge is None:
        return solution
    needed = float(np.ceil(solution.edge_lengths() / max_edge).sum()) - len(solution.edges)
    if needed > most:
        raise OptionError(
            f"max_edge {max_edge:g} needs about {needed:.3g} relays; a request gets at most {most}"
        )
    return solution.with_max_edge(max_edge)


def read_task(channel: Channel, name: str, most_points: int, data: bytes) -> bytes:
    """Read the points of a file; longitudes and latitudes are projected to metres."""
    suffix = name.rpartition(".")[2].lower() if "." in name else ""
    unread = "packed files are not read" if data.startswith(PACKED) else ""
    if not unread and suffix in ("npy", "npz", "gz"):
        unread = f".{suffix} is not read here"
    if unread:
        raise FormatError(f"{name}: {unread}; accepted: {', '.join(READABLE)}")
    stream = io.BytesIO(data)
    stream.name = name
    # Anything may be called .txt: there, and without a suffix, the content tells.
    known = suffix in READABLE and suffix != "txt"
    with collector_paused():
        instances = load_instances(stream, format=suffix if known else None)
    points = instances[0]
    if len(points) > most_points:
        raise FormatError(f"{name} holds {len(points)} points; at most {most_points} are accepted")
    notes = [f"{len(points)} points from {name}"]
    if len(instances) > 1:
        notes.append(f"the first of {len(instances)} instances")
    crs, plane_crs = getattr(points, "crs", None), None
    if crs is not None:
        from ...core.geo import plane_of

        check_system(crs, f"{name}: crs")
        plane = plane_of(crs, None, points)
        points, plane_crs = plane.into(points), plane.plane_crs
        notes.append(f"projected from {crs} to metres")
    note = ", ".join(notes)
    return pack_json({"points": points.tolist(), "crs": crs, "plane_crs": plane_crs, "note": note})


def export_task(
    channel: Channel, solution: Any, format: Any, max_edge: float | None, most_relays: int
) -> bytes:
    """Return a solution as a file."""
    stream = io.BytesIO()
    tree = _with_relays(Solution.from_dict(solution), max_edge, most_relays)
    tree.save(stream, format=format)
    return stream.getvalue()


def warm_task(channel: Channel, method: str) -> bytes:
    """Solve random instances of the sizes at which a method uses different kernels.

    The next request for it is then quick.
    """
    rng = np.random.default_rng(0)
    for n in {"policy": (10,), "local": (10, 300)}.get(method, (10, 40)):
        solve(rng.random((n, 2)), method)
    if method == "exact":
        solve(rng.random((12, 2)), "exact", trace=True)
    return b""


def ready_tasks() -> dict[str, Task]:
    """Return what a solver does, once it has loaded the least with which it can begin."""
    answer(solve(np.random.default_rng(0).random((10, 2)), "exact"))
    return {
        "solve": solve_task,
        "trace": trace_task,
        "read": read_task,
        "export": export_task,
        "warm": warm_task,
    }
