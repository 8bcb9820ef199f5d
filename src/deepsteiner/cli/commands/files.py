"""`deepsteiner convert` and `deepsteiner plot`: points or solutions in another form."""

from __future__ import annotations

from typing import Annotated

import typer

from ...core.errors import FormatError
from ...core.solution import Solution
from ..inputs import read_points_or_solution
from ..reports import counted
from ..targets import (
    PICTURE_FORMATS,
    SOLUTION_FORMATS,
    Target,
    check_target,
    write_points,
    write_solutions,
)

FormatOption = Annotated[
    str | None,
    typer.Option("--format", metavar="NAME", help="Of the output; overrides the suffix."),
]
FromOption = Annotated[
    str | None, typer.Option("--from", metavar="NAME", help="Of the input; overrides the suffix.")
]
QuietOption = Annotated[bool, typer.Option("--quiet", "-q", help="No report.")]


def convert(
    source: Annotated[str, typer.Argument(metavar="IN", help="Points or a solution; - is stdin.")],
    destination: Annotated[str, typer.Argument(metavar="OUT", help="- is standard output.")],
    format: FormatOption = None,
    source_format: FromOption = None,
    points_only: Annotated[
        bool, typer.Option("--points", help="Of a solution, write its terminals.")
    ] = False,
    quiet: QuietOption = False,
) -> None:
    """Convert points, or a solution, to another format chosen by the suffix.

    Points: csv, tsv, txt, json, jsonl, npy, npz, geojson, estein, stp, tsp.
    Solutions: json, jsonl, geojson, csv, svg, png, pdf.

    \b
    Examples:
      deepsteiner convert berlin52.tsp berlin52.csv
      deepsteiner convert tree.json tree.geojson
      deepsteiner convert tree.json points.csv --points
    """
    from ...io import POINT_FORMATS

    any_format = tuple(dict.fromkeys((*POINT_FORMATS, *SOLUTION_FORMATS)))
    target = check_target(destination, any_format, format=format, stdout_format="json")
    found = read_points_or_solution(source, source_format, points_only=points_only)
    if isinstance(found, Solution):
        _expect_format(target, SOLUTION_FORMATS, "a solution")
        write_solutions([found], target)
        words = "1 solution"
    else:
        _expect_format(target, POINT_FORMATS, "points")
        write_points(found, target, format)
        words = counted(len(found), "instance")
    if not (quiet or target.is_stdout):
        print(f"{target.path}: {words} as {target.format}")


def plot(
    source: Annotated[
        str, typer.Argument(metavar="FILE", help="Points or a solution; - is standard input.")
    ],
    output: Annotated[
        str, typer.Option("--output", "-O", metavar="PATH", help="png, pdf or svg; - is stdout.")
    ],
    format: FormatOption = None,
    source_format: FromOption = None,
    quiet: QuietOption = False,
) -> None:
    """Draw points or a solution.

    \b
    Examples:
      deepsteiner plot tree.json -O tree.png
      deepsteiner plot cities.csv -O cities.pdf
    """
    from ...io.solution_files import write_picture
    from ...viz.plot import figure_of, plot_points

    target = check_target(output, PICTURE_FORMATS, format=format, stdout_format="png")
    found = read_points_or_solution(source, source_format)
    if not isinstance(found, Solution) and len(found) > 1:
        raise FormatError(f"{source} holds {len(found)} instances; plot draws a file with one")
    drawn = found if isinstance(found, Solution) else figure_of(plot_points(found[0]))
    write_picture(drawn, target.path, target.format)
    if not (quiet or target.is_stdout):
        print(f"{target.path}: drawn")


def _expect_format(target: Target, formats: tuple[str, ...], what: str) -> None:
    if target.format not in formats:
        raise FormatError(
            f"{target.path}: {what} can be written as {', '.join(formats)}, not {target.format}"
        )
