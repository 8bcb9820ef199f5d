"""`deepsteiner generate`: random instances to a file."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Annotated, Any

import typer

from ...core.errors import OptionError
from ..inputs import instances_from_dataset
from ..reports import counted
from ..streaming import engine_of
from ..targets import Target, check_target, write_points


def generate(
    kind: Annotated[
        str,
        typer.Argument(
            help="D1, D2, D3, uniform, normal, clustered, grid, separated or lattice; with "
            "--labels also mixture: what `neural` learns from; with --obstacles convex, lakes or "
            "blocks."
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
    engine: Annotated[
        str | None,
        typer.Option(help="Or workers for --labels: processes:8, dask, dask://host:port, ray."),
    ] = None,
    obstacles: Annotated[
        str | None,
        typer.Option(metavar="PATH", help="Make a map: obstacles to this GeoJSON file."),
    ] = None,
    obstacle_count: Annotated[int, typer.Option(help="Obstacles of a map.")] = 20,
    cover: Annotated[float, typer.Option(help="The share of a map that they cover.")] = 0.1,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No report.")] = False,
) -> None:
    """Draw points: the paper's datasets or any kind at any size; or a map with obstacles.

    \b
    Examples:
      deepsteiner generate clustered --n 200 -O points.csv
      deepsteiner generate D1 --count 10000 -O d1.npz
      deepsteiner generate uniform --n 50 | deepsteiner solve -
      deepsteiner generate lakes --n 30 --obstacles lakes.geojson -O sites.csv
      deepsteiner generate mixture --labels --split train --count 5000 -O labels.npz
    """
    from ...io import POINT_FORMATS

    if obstacles is not None:
        if labels or count != 1:
            raise OptionError("--obstacles makes one map; it takes neither --labels nor --count")
        target = check_target(output, POINT_FORMATS, format=format, stdout_format="csv")
        _write_map(kind, n, seed, obstacles, obstacle_count, cover, target, format)
        if not (quiet or output == "-"):
            shapes = counted(obstacle_count, "obstacle")
            print(
                f"{output}: {counted(n or 0, 'point')}, {obstacles}: {shapes}, {kind}, seed {seed}"
            )
        return
    if not labels:
        stdout_format = "csv" if count == 1 else "jsonl"
        target = check_target(output, POINT_FORMATS, format=format, stdout_format=stdout_format)
        if engine is not None:
            raise OptionError("--engine is for --labels")
    elif not output.endswith(".npz"):
        raise OptionError(f"a label file ends in .npz, got {output!r}")
    if labels and kind == "mixture":
        from ...datasets import check_split
        from ...scoring.labels import mixture

        points = list(mixture(count, seed, check_split(split)))
    else:
        instances = instances_from_dataset(kind, count=count, split=split, seed=seed, n=n)
        points = [instance.points for instance in instances]
    if labels:
        source = f"{kind} {count} {seed} {split}"
        with engine_of(engine, quiet=quiet) as executor:
            words = _write_labels(points, output, source, workers, executor)
    else:
        write_points(points, target, format)
        words = f"{counted(count, 'instance')} of {counted(len(points[0]), 'point')}"
    if not (quiet or output == "-"):
        print(f"{output}: {words}, {kind}, seed {seed}, {split}")


def _write_map(
    kind: str,
    n: int | None,
    seed: int,
    path: str,
    count: int,
    cover: float,
    target: Target,
    format: str | None,
) -> None:
    """Write the points and the obstacles of a map."""
    from ...datasets import generate_map
    from ...io.sources import write_target

    if n is None:
        raise OptionError("a map needs --n, the number of points")
    shapes = check_target(path, ("geojson", "json"), stdout_format="geojson")
    found = generate_map(kind, n, obstacles=count, cover=cover, seed=seed)
    write_target(shapes.path, json.dumps(found.to_geojson()["obstacles"]) + "\n")
    write_points([found.points], target, format)


def _write_labels(
    points: Sequence[Any], output: str, source: str, workers: int, executor: Any
) -> str:
    """Write instances with their proven shortest trees; return what there is, in words."""
    from ...batch import solve_many
    from ...scoring.labels import proven, save_labels

    found = proven(solve_many(points, "exact", workers=workers, executor=executor))
    save_labels(output, found, source)
    return counted(len(found), "shortest tree")
