"""`deepsteiner generate`: random instances to a file."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from ..inputs import instances_from_dataset
from ..reports import counted
from ..targets import check_target, write_points


def generate(
    kind: Annotated[
        str,
        typer.Argument(
            help="D1, D2, D3, uniform, normal, clustered, grid, separated or lattice; with "
            "--labels also mixture: what `neural` learns from."
        ),
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
    labels: Annotated[
        bool, typer.Option("--labels", help="Write shortest trees too, with proof: a label file.")
    ] = False,
    workers: Annotated[int, typer.Option(help="Processes that solve for --labels.")] = 1,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No report.")] = False,
) -> None:
    """Draw points: the paper's datasets or any kind at any size.

    \b
    Examples:
      deepsteiner generate clustered --n 200 -O points.csv
      deepsteiner generate D1 --count 10000 -O d1.npz
      deepsteiner generate uniform --n 50 | deepsteiner solve -
      deepsteiner generate mixture --labels --split train --count 5000 -O labels.npz
    """
    if labels:
        _generate_labels(kind, n, count, seed, split, output, workers, quiet)
        return
    from ...io import POINT_FORMATS

    target = check_target(
        output, POINT_FORMATS, format=format, stdout_format="csv" if count == 1 else "jsonl"
    )
    instances = instances_from_dataset(kind, count=count, split=split, seed=seed, n=n)
    points = [instance.points for instance in instances]
    write_points(points, target, format)
    if not (quiet or target.is_stdout):
        size = counted(len(points[0]), "point")
        print(f"{output}: {counted(count, 'instance')} of {size}, {kind}, seed {seed}, {split}")
    sys.stdout.flush()


def _generate_labels(
    kind: str,
    n: int | None,
    count: int,
    seed: int,
    split: str,
    output: str,
    workers: int,
    quiet: bool,
) -> None:
    """Write instances with their proven shortest trees to an .npz file."""
    from ...batch import solve_many
    from ...core.errors import OptionError
    from ...datasets import check_split
    from ...scoring.labels import mixture, proven, save_labels

    if not output.endswith(".npz"):
        raise OptionError(f"a label file ends in .npz, got {output!r}")
    if kind == "mixture":
        points = list(mixture(count, seed, check_split(split)))
    else:
        instances = instances_from_dataset(kind, count=count, split=split, seed=seed, n=n)
        points = [instance.points for instance in instances]
    found = proven(solve_many(points, "exact", workers=workers))
    save_labels(output, found, f"{kind} {count} {seed} {split}")
    if not quiet:
        print(f"{output}: {counted(len(found), 'shortest tree')}, {kind}, seed {seed}, {split}")
    sys.stdout.flush()
