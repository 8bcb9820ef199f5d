"""Records: what is known of every public instance, and the runs that found it.

    python -m benchmarks.records run NAME ... [--limit 60] [--threads 1] [--open]
                        [--out FOLDER] [--engine processes:2 --option tile=65000]
    python -m benchmarks.records add FOLDER        what `run --out` made, perhaps elsewhere
    python -m benchmarks.records write             docs/best-known.md from the rows

A NAME is that of a TSPLIB set, esteinN-K of OR-Library, or uniformN-SEED; * stands for anything,
as in 'rl*'. `run` and `add` keep a run only where it is better than what is stored, and write the
page. TSPLIB and OR-Library need ../shared/data.
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from common import REFERENCE_CALIBRATION, ROOT, print_provenance, print_table
from records.instances import Instance, chosen
from records.page import page
from records.rows import STORED, Record, RecordsError, Store, in_folder

import deepsteiner as ds
from deepsteiner.benchmark.provenance import memory_peak_mib, restart_memory_peak, stamp
from deepsteiner.cli.inputs import method_options
from deepsteiner.errors import DeepSteinerError
from deepsteiner.fleet.engines import Engine, open_engine
from deepsteiner.io import atomic_write
from deepsteiner.io.terminal_hash import places_of

PAGE = ROOT / "docs" / "best-known.md"
REFUSED = "refused"
HEADER = [
    "set", "points", "status", "length", "above best %", "lower bound", "gap %", "s", "GiB",
    "better",
]  # fmt: skip


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.records",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(required=True)
    run = commands.add_parser("run", help="solve instances and keep what is better")
    run.add_argument("names", nargs="+", metavar="NAME")
    run.add_argument("--limit", type=float, help="seconds for each instance")
    run.add_argument("--threads", type=int, default=1)
    run.add_argument("--engine", help="solve on its workers, as `deepsteiner solve --engine` does")
    run.add_argument("--method", default="exact")
    run.add_argument("--option", action="append", default=[], metavar="NAME=VALUE")
    run.add_argument("--largest", type=int, help="leave out instances with more points")
    run.add_argument("--open", action="store_true", help="leave out what is proven already")
    run.add_argument("--out", type=Path, metavar="FOLDER", help="rows and trees go here instead")
    run.set_defaults(call=run_instances)
    add = commands.add_parser("add", help="take over rows and trees of a folder")
    add.add_argument("folder", type=Path)
    add.set_defaults(call=add_folder)
    commands.add_parser("write", help="write the page").set_defaults(call=lambda _: write())
    given = parser.parse_args(arguments)
    try:
        given.call(given)
    except (DeepSteinerError, RecordsError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


def run_instances(given: argparse.Namespace) -> None:
    """Solve the named instances, one after the other; each run is kept before the next begins."""
    store = STORED if given.out is None else in_folder(given.out)
    options = method_options(given.method, given.option)
    known = {**STORED.standings(), **store.standings()} if given.open else {}
    instances = [
        one
        for one in chosen(given.names)
        if (given.largest is None or len(one.points) <= given.largest)
        and not (one.name in known and known[one.name].proven)
    ]
    rows: list[list[object]] = []
    try:
        with nullcontext() if given.engine is None else open_engine(given.engine) as engine:
            for record, solution in runs(given, instances, options, engine):
                rows.append(keep(store, record, solution))
                print(*rows[-1], file=sys.stderr, flush=True)
    finally:  # rows are kept one by one, so the page must follow also where the rest fails
        print_table(HEADER, rows)
        if given.out is None:
            write()
    if refused := [row for row in rows if row[-1] == REFUSED]:
        raise RecordsError(f"{len(refused)} of {len(rows)} runs were not kept; see above")


def runs(
    given: argparse.Namespace,
    instances: list[Instance],
    options: dict[str, Any],
    engine: Engine | None,
) -> Iterator[tuple[Record, ds.Solution]]:
    """Solve instances one by one, kernels loaded; yield the row and the tree of each."""
    solve = solver(given, options, engine)
    for n in (10, 300, 3000):  # those of large instances too
        if any(len(one.points) >= n for one in instances):
            solve(np.random.default_rng(1).random((n, 2)))
    calibration = float(f"{REFERENCE_CALIBRATION / print_provenance():.4g}")
    named = options if given.engine is None else {**options, "engine": given.engine}
    print(f"{given.method}, {named}, limit {given.limit} s, threads {given.threads}\n")
    how = {"limit": given.limit, "threads": given.threads, "options": named}
    for instance in instances:
        solution, peak = measured(solve, instance.points)
        run = {**how, "peak_gib": peak, "calibration": calibration}
        yield record_of(instance, solution, **run), solution


Solver = Callable[[np.ndarray], ds.Solution]


def solver(given: argparse.Namespace, options: dict[str, Any], engine: Engine | None) -> Solver:
    """Return the call that is measured; threads only go to methods that know them."""
    if any(one.name == "threads" for one in ds.methods()[given.method].options):
        options = {**options, "threads": given.threads}
    more: dict[str, Any] = {} if engine is None else {"executor": engine.executor}
    return lambda points: ds.solve(points, given.method, time_limit=given.limit, **options, **more)


def measured(solve: Solver, points: np.ndarray) -> tuple[ds.Solution, float | None]:
    """Return the solution and the peak memory in GiB, that of worker processes added."""
    restart_memory_peak()
    solution = solve(points)
    workers = [memory_peak_mib(one.pid) for one in multiprocessing.active_children()]
    peaks = [memory_peak_mib(), *workers]
    return solution, None if None in peaks else round(sum(map(float, peaks)) / 1024, 2)


def record_of(instance: Instance, solution: ds.Solution, **run: Any) -> Record:
    """Return the row of a run; `run` has the fields that the solution does not know."""
    places = places_of(instance.points)
    return Record(
        name=instance.name,
        n=len(places.distinct),
        sha256=places.stamp["sha256"],
        published=None if instance.published is None else list(instance.published),
        length=solution.length,
        bound=solution.lower_bound,
        status=solution.status,
        seconds=round(solution.runtime, 4),
        method=solution.method,
        **run,
        **stamp(),
    )


def keep(store: Store, record: Record, solution: ds.Solution) -> list[object]:
    """Keep a run where it is better, and return its line."""
    bare = replace(solution.validate(), info={})
    try:
        merit = store.put(record, lambda path: bare.save(path, terminals=False))
    except RecordsError as error:  # the other instances are solved all the same
        print(f"error: {error}", file=sys.stderr)
        merit = REFUSED
    best = min(shortest_known(record), record.length)
    return [
        record.name, record.n, record.status, f"{record.length:.10g}",
        f"{100.0 * (record.length / best - 1.0):.4f}", f"{record.bound or 0:.10g}",
        f"{100.0 * (solution.gap or 0.0):.2g}", f"{record.seconds:.2f}", record.peak_gib, merit,
    ]  # fmt: skip


def shortest_known(record: Record) -> float:
    """Return the length of the shortest tree that is published or stored."""
    published = [] if record.published is None else [record.published[1]]
    stored = STORED.standings().get(record.name)
    return min([*published, record.length if stored is None else stored.tree.length])


def add_folder(given: argparse.Namespace) -> None:
    """Take over what a folder has and is better."""
    other = in_folder(given.folder)
    if not other.rows.exists():
        raise RecordsError(f"{other.rows} does not exist")
    for name, merit in STORED.add(other).items():
        print(f"{name}: {merit}")
    write()


def made() -> str:
    """Return the page that the stored rows make."""
    standings = STORED.standings()
    trees = {name for name in standings if STORED.tree(name).exists()}
    return page(standings.values(), trees)


def write() -> None:
    """Write the page."""
    with atomic_write(PAGE) as stream:
        stream.write(made())


if __name__ == "__main__":
    sys.exit(main())
