"""`deepsteiner solve`: points in, trees out."""

from __future__ import annotations

import sys
from dataclasses import replace
from functools import partial
from typing import Annotated, Any

import typer

from ...core.errors import OptionError
from .. import INTERRUPTED, NOT_PROVEN, reports
from ..inputs import (
    PLUGIN_HELP,
    Instance,
    instances_from_dataset,
    instances_from_files,
    load_plugins,
    load_shapes,
    method_options,
)
from ..solving import Solved, finished, prepare
from ..streaming import (
    Request,
    TilesRequest,
    check_output,
    engine_of,
    is_stream,
    refuse_for_streams,
    solve_in_tiles,
    solve_to_writer,
    stream_source,
)
from ..targets import SOLUTION_FORMATS, Target, check_target, write_solutions
from ..watch import Watch, say

# How many instances of a dataset are solved unless --count says otherwise.
DEFAULT_COUNT = 100

# The panels of the help page.
_input = partial(typer.Option, rich_help_panel="Input")
_solver = partial(typer.Option, rich_help_panel="Solver")
_output = partial(typer.Option, rich_help_panel="Output")


def complete_method(incomplete: str) -> list[str]:
    """Return the methods whose names begin like this, for the shell's completion."""
    from ...registry import MODULES

    return [name for name in MODULES if name.startswith(incomplete)]


def solve(
    files: Annotated[
        list[str] | None, typer.Argument(help="Point files in any format; - is standard input.")
    ] = None,
    method: Annotated[
        str,
        _solver(
            "--method", "-m", help="See 'deepsteiner methods'.", autocompletion=complete_method
        ),
    ] = "auto",
    option: Annotated[
        list[str] | None,
        _solver(
            "--option", "-o", metavar="NAME=VALUE", help="An option of the method; repeatable."
        ),
    ] = None,
    dataset: Annotated[
        str | None, _input(metavar="NAME", help="Instead of files: D1, D2, D3 or a kind.")
    ] = None,
    dataset_file: Annotated[
        str | None, _input(metavar="PATH", help="A dataset file with points and optima.")
    ] = None,
    count: Annotated[
        int | None, _input(help=f"Instances (default: {DEFAULT_COUNT}, or all of a file).")
    ] = None,
    split: Annotated[str, _input(help="Its split: train, validation or test.")] = "test",
    n: Annotated[int | None, _input("--n", help="Points per instance of a kind.")] = None,
    time_limit: Annotated[
        float | None, _solver(metavar="SECONDS", help="Per instance; then the best so far.")
    ] = None,
    seed: Annotated[int, _solver(help="For random methods and for the dataset.")] = 0,
    duplicates: Annotated[str, _input(help="Repeated points: merge or raise.")] = "merge",
    workers: Annotated[int, _solver(help="Threads or processes for many instances.")] = 1,
    engine: Annotated[
        str | None,
        _solver(
            metavar="ENGINE",
            help="Workers for many instances: processes:8, dask, dask://host:port or ray.",
        ),
    ] = None,
    device: Annotated[str, _solver(help="cpu, cuda or auto, for learned methods.")] = "cpu",
    crs: Annotated[
        str | None, _input(help="What the coordinates are, as EPSG:4326 for lon/lat.")
    ] = None,
    project_to: Annotated[
        str | None, _input(metavar="CRS", help="The plane to solve in (default: a local one).")
    ] = None,
    obstacles: Annotated[
        list[str] | None,
        _input(metavar="PATH", help="GeoJSON polygons that edges must not cross; repeatable."),
    ] = None,
    clearance: Annotated[
        float | None, _input(metavar="LENGTH", help="A distance to keep from obstacles.")
    ] = None,
    existing: Annotated[
        list[str] | None,
        _input(metavar="PATH", help="GeoJSON lines and polygons to join for free; repeatable."),
    ] = None,
    junction_cost: Annotated[
        float | None,
        _solver(metavar="LENGTH", help="What a Steiner point costs, as a length (-m local)."),
    ] = None,
    max_edge: Annotated[
        float | None, _output(metavar="LENGTH", help="Insert relays on longer edges.")
    ] = None,
    output: Annotated[
        str | None,
        _output(
            "--output",
            "-O",
            metavar="PATH",
            help="Write json, geojson, csv, svg, png or pdf; many instances: jsonl; "
            "- is standard output.",
        ),
    ] = None,
    without_terminals: Annotated[
        bool, _output("--without-terminals", help="Of json: a hash in place of the points.")
    ] = False,
    tiles: Annotated[
        int | None,
        _input(
            metavar="POINTS",
            help="One huge npy or Parquet file, in tiles of so many; -O names a new folder.",
        ),
    ] = None,
    stream: Annotated[
        bool,
        _input(
            "--stream", help="Read and write jsonl or parquet piece by piece; as for large files."
        ),
    ] = False,
    resume: Annotated[
        bool, _output("--resume", help="Go on after what the output of a stream already has.")
    ] = False,
    as_json: Annotated[bool, _output("--json", help="Print one JSON object per instance.")] = False,
    trace: Annotated[bool, _solver("--trace", help="Record the steps in the result.")] = False,
    plugin: Annotated[list[str] | None, _solver(metavar="FILE", help=PLUGIN_HELP)] = None,
    prove: Annotated[
        bool, _solver("--prove", help="Exit with 3 unless the tree is proven optimal.")
    ] = False,
    quiet: Annotated[bool, _output("--quiet", "-q", help="No report, no progress.")] = False,
    verbose: Annotated[bool, _output("--verbose", "-v", help="Phases and counts.")] = False,
) -> None:
    """Connect points by a short tree that may branch at extra points.

    \b
    Examples:
      deepsteiner solve cities.csv
      deepsteiner solve cities.csv -m greedy -o relax=no -O tree.json
      cat cities.csv | deepsteiner solve - -O - > tree.json
      deepsteiner solve a.csv b.csv c.csv -O results.jsonl
      deepsteiner solve sites.csv --obstacles lakes.geojson -O tree.svg
      deepsteiner solve sites.csv --existing pipes.geojson -O tree.geojson
      deepsteiner solve --dataset D1 --count 1000 --json > results.jsonl
      deepsteiner solve nets.jsonl -O trees.jsonl --resume --engine processes:8

    Ctrl-C stops the solver. A single instance then has its best tree so far; of many, those
    that are finished are written, in order. SIGTERM and SIGHUP do the same. The exit code is
    130, 143 or 129. A second Ctrl-C gives the instance at hand up at once.
    """
    _check_numbers(workers, max_edge)
    load_plugins(plugin or [])
    if engine is not None and workers != 1:
        raise OptionError("give either --workers or --engine, which has workers of its own")
    method = "exact" if prove and method == "auto" else method
    if junction_cost is not None:
        method = "local" if method == "auto" else method
        option = [*(option or []), f"junction_cost={junction_cost!r}"]
    options = method_options(method, option or [])
    single = {
        "--crs": crs, "--project-to": project_to, "--trace": trace,
        "--without-terminals": without_terminals, "--obstacles": obstacles,
        "--clearance": clearance, "--existing": existing,
    }  # fmt: skip
    if tiles is not None:
        refuse_for_streams("--tiles", single)
        given = TilesRequest(files or [], output, tiles, "neural" if method == "auto" else method)
        with engine_of(engine, quiet=quiet) as executor, Watch(quiet=quiet, verbose=verbose) as w:
            words = solve_in_tiles(given, options, workers, executor, w)
        if words and not quiet:
            print(words)
        _finish(w, False, 0, 0)
        return
    common = {"time_limit": time_limit, "seed": seed, "duplicates": duplicates, "device": device}
    if is_stream(files or [], output, stream or resume):
        refuse_for_streams("a stream", single)
        name, source = stream_source(files, dataset, dataset_file, count, split, seed, n)
        request = Request(name, source, check_output(output, as_json), resume, max_edge)
        call = {"method": method, "options": options, "common": common}
        with engine_of(engine, quiet=quiet) as executor, Watch(quiet=quiet, verbose=verbose) as w:
            tally = solve_to_writer(request, call, workers, executor, w)
        if not (quiet or request.output == "-" or w.hung_up):
            print(f"{request.output}: {tally.words()}")
        _finish(w, prove, tally.solved - tally.optimal, tally.solved)
        return
    target = _check_output(output, as_json)
    instances = _instances(files, dataset, dataset_file, count, split=split, seed=seed, n=n)
    target = _target_for(target, len(instances))
    if without_terminals and (target is None or target.format != "json"):
        raise OptionError("--without-terminals is for one instance, written as json: -O tree.json")
    alone = {
        "crs": crs,
        "project_to": project_to,
        "trace": trace or None,
        "obstacles": [load_shapes(path) for path in obstacles] if obstacles else None,
        "existing": [load_shapes(path) for path in existing] if existing else None,
        "clearance": clearance,
    }
    asked = {name: value for name, value in alone.items() if value is not None}
    with engine_of(engine, quiet=quiet) as executor, Watch(quiet=quiet, verbose=verbose) as watch:
        job = prepare(instances, method, options, common, workers, watch, executor, **asked)
        try:
            job.run()
        finally:  # however it ended, finished instances are kept
            if target is not None and not target.is_stdout:
                watch.begin_writing()
            solved = finished(job, instances)
            if max_edge is not None:
                solved = [(instance, one.with_max_edge(max_edge)) for instance, one in solved]
            if solved:
                _write(solved, len(instances), target, as_json, not without_terminals)
            elif watch.stopped:
                say("nothing is finished, so nothing is written")
    silent = quiet or as_json or (target is not None and target.is_stdout) or watch.hung_up
    if solved and not silent:
        _print_report(solved, target, verbose)
    _finish(watch, prove, sum(one.status != "optimal" for _, one in solved), len(solved))


def _finish(watch: Watch, prove: bool, unproven: int, count: int) -> None:
    """Exit with the code that says how it ended, unless all is well."""
    if watch.stopped:
        raise typer.Exit(INTERRUPTED)
    if prove and unproven:
        print(f"not proven optimal: {unproven} of {count}", file=sys.stderr)
        raise typer.Exit(NOT_PROVEN)


def _check_output(output: str | None, as_json: bool) -> Target | None:
    if output is None:
        return None
    if output == "-" and as_json:
        raise OptionError("--json and -O - both write to standard output; give one of them")
    return check_target(output, SOLUTION_FORMATS, stdout_format="json")


def _check_numbers(workers: int, max_edge: float | None) -> None:
    if workers < 1:
        raise OptionError(f"--workers must be at least 1, got {workers}")
    if max_edge is not None and not max_edge > 0:
        raise OptionError(f"--max-edge must be a length greater than 0, got {max_edge!r}")


def _instances(
    files: list[str] | None, name: str | None, path: str | None, count: int | None, **drawn: Any
) -> list[Instance]:
    """Return what to solve: the points of files, or a dataset by its name or its file."""
    if (name is not None or path is not None) == bool(files):
        raise OptionError("give either point files (- is standard input) or --dataset NAME")
    if files:
        return instances_from_files(files)
    if name == "DEG" and path is None:
        raise OptionError("DEG is read from a file of yours: give --dataset-file PATH")
    if count is None and path is None:
        count = DEFAULT_COUNT
    return instances_from_dataset(name or str(path), count=count, file=path, **drawn)


def _target_for(target: Target | None, count: int) -> Target | None:
    """Return the target fit for that many results: several need one line of JSON each."""
    if target is None or count == 1 or target.format == "jsonl":
        return target
    if target.is_stdout:
        return replace(target, format="jsonl")
    raise OptionError(
        f"{target.path} holds one solution, but {count} instances are given; use a .jsonl file"
    )


def _write(
    solved: Solved, count: int, target: Target | None, as_json: bool, terminals: bool
) -> None:
    """Write the solutions; if some of the `count` instances are missing, say how many are there."""
    solutions = [solution for _, solution in solved]
    if count > 1:
        # Each line says which instance it solves.
        solutions = [
            replace(solution, info={**solution.info, "instance": instance.name})
            for instance, solution in solved
        ]
    if target is not None:
        write_solutions(solutions, target, terminals=terminals)
    if as_json:
        write_solutions(solutions, Target("-", "jsonl"))
    if len(solved) < count:
        written = "" if target is None or target.is_stdout else f", written to {target.path}"
        say(f"{len(solved):,} of {count:,} instances finished{written}")


def _print_report(solved: Solved, target: Target | None, verbose: bool) -> None:
    written = None if target is None else target.path
    if len(solved) == 1:
        print(reports.block(*solved[0], written))
        if verbose and (found := reports.details(solved[0][1])):
            print(found)
        return
    print(reports.line_header())
    for instance, solution in solved:
        print(reports.line(instance, solution))
    print(reports.summary(solved))
    if written is not None:
        print(f"written to {written}")
