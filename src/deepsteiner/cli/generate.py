"""`deepsteiner generate`: random instances to a file."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from .inputs import instances_from_dataset
from .reports import counted
from .targets import check_target


def generate(
    kind: Annotated[
        str,
        typer.Argument(help="D1, D2, D3, uniform, normal, clustered, grid, separated or lattice."),
    ],
    n: Annotated[int | None, typer.Option("--n", help="Points per instance.")] = None,
    count: Annotated[int, typer.Option(help="How many instances.")] = 1,
    seed: Annotated[int, typer.Option(help="Another seed, other instances.")] = 0,
    split: Annotated[str, typer.Option(help="train, validation or test: disjoint.")] = "test",
    output: Annotated[
        str,
        typer.Option(
            "--output", "-O", metavar="PATH", help="A points file by suffix; - is standard output."
        ),
    ] = "-",
    format: Annotated[
        str | None, typer.Option(help="Overrides the suffix; csv or jsonl on standard output.")
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No report.")] = False,
) -> None:
    """Draw points: the paper's datasets or any kind at any size.

    \b
    Examples:
      deepsteiner generate clustered --n 200 -O points.csv
      deepsteiner generate D1 --count 10000 -O d1.npz
      deepsteiner generate uniform --n 50 | deepsteiner solve -
    """
    from ..io import POINT_FORMATS, save_points

    target = check_target(
        output, POINT_FORMATS, format=format, stdout_format="csv" if count == 1 else "jsonl"
    )
    instances = instances_from_dataset(kind, count=count, split=split, seed=seed, n=n)
    points = [instance.points for instance in instances]
    chosen = format or (target.format if target.is_stdout else None)
    save_points(points[0] if count == 1 else points, output, format=chosen)
    if not (quiet or target.is_stdout):
        size = counted(len(points[0]), "point")
        print(f"{output}: {counted(count, 'instance')} of {size}, {kind}, seed {seed}, {split}")
    sys.stdout.flush()
