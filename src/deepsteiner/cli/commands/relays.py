"""`deepsteiner relays`: few relays so that no hop is longer than the radius."""

from __future__ import annotations

import json
from typing import Annotated, cast

import typer

from ...core.errors import OptionError
from ...core.solution import Solution, SolutionFormat
from .. import INTERRUPTED
from ..inputs import load_shapes, read_points_or_solution
from ..reports import counted, seconds
from ..targets import SOLUTION_FORMATS, check_target
from ..watch import Watch


def relays(
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="Points, or a tree to begin with; - is stdin.")
    ],
    radius: Annotated[
        float, typer.Option(metavar="LENGTH", help="The longest hop; in metres with a CRS.")
    ],
    obstacles: Annotated[
        list[str] | None,
        typer.Option(metavar="PATH", help="GeoJSON polygons that block radio; repeatable."),
    ] = None,
    clearance: Annotated[
        float, typer.Option(metavar="LENGTH", help="A distance to keep from obstacles.")
    ] = 0.0,
    effort: Annotated[str, typer.Option(help="fast, default or best.")] = "default",
    time_limit: Annotated[
        float | None, typer.Option(metavar="SECONDS", help="Then the best network so far.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Of the search.")] = 0,
    crs: Annotated[
        str | None, typer.Option(help="What the coordinates are, as EPSG:4326 for lon/lat.")
    ] = None,
    project_to: Annotated[
        str | None, typer.Option(metavar="CRS", help="The plane to measure in.")
    ] = None,
    output: Annotated[
        str | None,
        typer.Option(
            "--output",
            "-O",
            metavar="PATH",
            help="json, geojson, csv, svg, png or pdf; - is stdout.",
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No report, no progress.")] = False,
) -> None:
    """Place as few relays as can be found so that every hop is at most the radius.

    The network never has more relays than the shortest tree cut into hops. A lower bound says how
    many are needed at least.

    \b
    Examples:
      deepsteiner relays sites.csv --radius 2.5
      deepsteiner relays sites.csv --radius 2.5 --obstacles hills.geojson -O network.svg
      deepsteiner relays masts.geojson --radius 3000 -O network.geojson
    """
    from ...relays.place import Effort, place_relays

    formats = tuple(name for name in SOLUTION_FORMATS if name != "jsonl")
    target = None if output is None else check_target(output, formats, stdout_format="json")
    if target is not None and target.is_stdout and as_json:
        raise OptionError("--json and -O - both write to standard output; give one of them")
    found = read_points_or_solution(file)
    if not isinstance(found, Solution):
        if len(found) != 1:
            raise OptionError(f"{file} holds {len(found)} instances; relays takes a file with one")
        found = found[0]
    with Watch(quiet=quiet, verbose=False) as watch:
        network = place_relays(
            found,
            radius,
            obstacles=[load_shapes(path) for path in obstacles] if obstacles else None,
            clearance=clearance,
            effort=cast(Effort, effort),
            time_limit=time_limit,
            seed=seed,
            on_progress=watch,
            crs=crs,
            project_to=project_to,
        )
    if target is not None:
        network.save(target.path, format=cast(SolutionFormat, target.format))
    if as_json:
        print(json.dumps(network.to_dict(), separators=(",", ":")))
    elif not quiet and (target is None or not target.is_stdout):
        name = "stdin" if file == "-" else file
        rows = [
            ("needed", f"at least {network.lower_bound}"),
            ("longest", f"hop {network.hops.max(initial=0.0):.6g} of {network.radius:g}"),
            ("instead", f"of {network.info['from_shortest_tree']} on the shortest tree"),
            ("status", network.status.replace("_", " ")),
            ("time", seconds(network.runtime)),
        ]
        if target is not None:
            rows.append(("written", target.path))
        terminals = counted(len(network.terminals), "terminal")
        print(f"{name}: {terminals}, {counted(network.count, 'relay')}")
        print("\n".join(f"  {name:<9}{value}" for name, value in rows))
    if watch.stopped:
        raise typer.Exit(INTERRUPTED)
