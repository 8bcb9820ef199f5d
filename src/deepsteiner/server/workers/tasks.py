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
from ...geometry.spanning_trees import minimum_spanning_tree
from ...io import load_instances
from ...run.monitor import Progress
from ..intake.json_values import collector_paused
from ..intake.systems import check_system
from .frames import pack_json
from .starts import fitted_start

if TYPE_CHECKING:
    from .worker import Channel, Task

# Text only: archives could unpack to any size.
READABLE = ("csv", "tsv", "txt", "json", "jsonl", "geojson", "estein", "stp", "tsp")
MEDIA_TYPES = {
    "json": "application/json",
    "geojson": "application/geo+json",
    "csv": "text/csv; charset=utf-8",
    "svg": "image/svg+xml",
    "png": "image/png",
}


def solve_task(arguments: dict[str, Any], channel: Channel) -> bytes:
    """Solve; return the solution, the spanning tree's length and the relays asked for."""
    points = arguments["points"]
    start, told = fitted_start(arguments["start"], arguments["method"], points)
    solution = run_solver(arguments, channel, {} if start is None else {"start": start})
    relays: list[list[float]] = []
    if arguments["max_edge"] is not None:
        extended = _with_relays(solution, arguments["max_edge"], arguments["most_relays"])
        relays = extended.steiner_points[len(solution.steiner_points) :].tolist()
    return pack_json({**answer(solution, points), "relays": relays, "start": told})


def run_solver(arguments: dict[str, Any], channel: Channel, extra: dict[str, Any]) -> Solution:
    """Solve as a request asks, within its limit or the server's."""
    deadline = time.perf_counter() + arguments["most_seconds"]
    out_of_time = False

    def on_progress(progress: Progress) -> bool:
        nonlocal out_of_time
        out_of_time = time.perf_counter() > deadline
        channel.report(progress)
        return not (out_of_time or channel.stopped())

    solution = solve(
        arguments["points"],
        arguments["method"],
        time_limit=arguments["time_limit"],
        seed=arguments["seed"],
        on_progress=on_progress,
        **arguments["options"],
        **extra,
    )
    if out_of_time and solution.status == "interrupted":
        return replace(solution, status="time_limit")
    return solution


def answer(solution: Solution, points: FloatArray) -> dict[str, Any]:
    """Return what every answer with a tree holds."""
    return {"solution": solution.to_dict(), "mst_length": spanning_length(points)}


def spanning_length(points: FloatArray) -> float:
    """Return the length of the minimum spanning tree."""
    return tree_length(points, minimum_spanning_tree(points))


def _with_relays(solution: Solution, max_edge: float, most: int) -> Solution:
    needed = float(np.ceil(solution.edge_lengths() / max_edge).sum()) - len(solution.edges)
    if needed > most:
        raise OptionError(
            f"max_edge {max_edge:g} needs about {needed:.3g} relays; a request gets at most {most}"
        )
    return solution.with_max_edge(max_edge)


def read_task(arguments: dict[str, Any], channel: Channel) -> bytes:
    """Read the points of a file; longitudes and latitudes are projected to metres."""
    name, data, most = arguments["name"], arguments.get("data", b""), arguments["most_points"]
    if data[:2] == b"\x1f\x8b" or data[:2] == b"PK" or data[:6] == b"\x93NUMPY":
        raise FormatError(f"{name}: packed files are not read; accepted: {', '.join(READABLE)}")
    suffix = name.rpartition(".")[2].lower() if "." in name else ""
    if suffix in ("npy", "npz", "gz"):
        raise FormatError(f"{name}: .{suffix} is not read here; accepted: {', '.join(READABLE)}")
    stream = io.BytesIO(data)
    stream.name = name
    # Anything may be called .txt: there, and without a suffix, the content tells.
    known = suffix in READABLE and suffix != "txt"
    with collector_paused():
        instances = load_instances(stream, format=suffix if known else None)
    points = instances[0]
    if len(points) > most:
        raise FormatError(f"{name} holds {len(points)} points; at most {most} are accepted")
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
    plain = np.asarray(points, dtype=np.float64).tolist()
    note = ", ".join(notes)
    return pack_json({"points": plain, "crs": crs, "plane_crs": plane_crs, "note": note})


def export_task(arguments: dict[str, Any], channel: Channel) -> bytes:
    """Return a solution as a file."""
    solution = Solution.from_dict(arguments["solution"])
    if arguments["max_edge"] is not None:
        solution = _with_relays(solution, arguments["max_edge"], arguments["most_relays"])
    stream = io.BytesIO()
    solution.save(stream, format=arguments["format"])
    return stream.getvalue()


def warm_task(arguments: dict[str, Any], channel: Channel) -> bytes:
    """Load what a method needs, so that the next request for it is quick."""
    warm_up(arguments["method"])
    return b""


def warm_up(method: str) -> None:
    """Solve random instances of the sizes at which a method uses different kernels.

    "start" is the least with which a worker can begin to serve.
    """
    rng = np.random.default_rng(0)
    if method == "start":
        points = rng.random((10, 2))
        solve(points, "exact")
        spanning_length(points)
        return
    for n in {"policy": (10,), "local": (10, 300)}.get(method, (10, 40)):
        solve(rng.random((n, 2)), method)
    if method == "exact":
        solve(rng.random((12, 2)), "exact", trace=True)


def trace_task(arguments: dict[str, Any], channel: Channel) -> bytes:
    """Solve and return the steps as well."""
    from .traces import readable_trace

    solution = run_solver(arguments, channel, {"trace": True})
    records = solution.info.pop("trace")
    trace = readable_trace(arguments["method"], records, solution)
    return pack_json({**answer(solution, arguments["points"]), "trace": trace})


TASKS: dict[str, Task] = {
    "solve": solve_task,
    "trace": trace_task,
    "read": read_task,
    "export": export_task,
    "warm": warm_task,
}
