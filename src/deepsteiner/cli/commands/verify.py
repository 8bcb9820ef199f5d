"""`deepsteiner verify`: is this file, whoever made it, the tree it claims to be?"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from ...core.errors import FormatError, OptionError, TreeError
from ...core.points import FloatArray
from ...core.trees import LENGTH_TOLERANCE
from ..checks import run_checks


def verify(
    file: Annotated[
        str, typer.Argument(help="A tree as json, geojson, csv or a folder of parts; - is stdin.")
    ],
    points: Annotated[
        str | None, typer.Option(metavar="FILE", help="The terminals must be these points.")
    ] = None,
    key: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Which array, member or number (from 0) of FILE."),
    ] = None,
    existing: Annotated[
        list[str] | None,
        typer.Option(metavar="FILE", help="The network joined must be this GeoJSON; repeatable."),
    ] = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Steiner points: degree 3, angles of 120 degrees.")
    ] = False,
    tolerance: Annotated[
        float, typer.Option(help="Relative error allowed in the stated length.")
    ] = LENGTH_TOLERANCE,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Only the exit code.")] = False,
) -> None:
    """Check a tree file, one property after the other; exit with 2 if one fails.

    A JSON file needs terminals and edges, and steiner_points if there are any (nodes are numbered
    terminals first, from 0; bends and joints come last); length, lower_bound and status are
    checked where they are given.
    That a bound is valid, or a tree the shortest, is not proven here.

    A tree saved without its terminals has a hash of them and needs --points; neither their order
    matters, nor whether some are given twice.

    \b
    Examples:
      deepsteiner verify tree.json --strict
      deepsteiner verify tree.geojson --points cities.geojson
      deepsteiner verify tree.json --existing pipes.geojson
      deepsteiner verify docs/best-known/rl11849.json --points rl11849.tsp
    """
    from ...fleet.tiles.store import is_parted
    from ...io.sources import reading
    from ...io.terminal_hash import points_needed, stamp_of

    if not 0 <= tolerance < 1:
        raise OptionError(f"--tolerance must be at least 0 and below 1, got {tolerance!r}")
    if is_parted(file):
        verify_parts(file, points, tolerance, quiet=quiet or as_json)
        if as_json:
            print(json.dumps({"valid": True, "checks": []}))
        return
    with reading(file):
        data = read_tree(file)
        if existing:
            data = with_network(data, existing, file)
        wanted = read_wanted(points, key)
        if wanted is None and (stated := stamp_of(data["terminals"], file)) is not None:
            raise points_needed(stated, file)
        checks = list(run_checks(data, wanted, strict=strict, tolerance=tolerance))
    failed = [check for check in checks if check.passed is False]
    if as_json:
        print(json.dumps({"valid": not failed, "checks": [asdict(check) for check in checks]}))
    elif not quiet:
        for check in checks:
            word = {True: "ok", False: "FAIL", None: "-"}[check.passed]
            print(f"{word:<5} {check.name:<10} {check.finding}")
    if failed:
        raise TreeError(f"{file} fails the {failed[0].name} check: {failed[0].finding}")


def with_network(data: Mapping[str, Any], files: list[str], name: str) -> Mapping[str, Any]:
    """Return the fields of a tree with the existing network of some files.

    Where the tree has its own, it must be the same.
    """
    from ...plane.networks import read_network
    from ..inputs import load_shapes

    given = [one.plain() for one in read_network([load_shapes(path) for path in files])]
    if data.get("existing") and list(data["existing"]) != given:
        raise TreeError(f"{name} joins another existing network than the one given")
    return {**data, "existing": given}


def verify_parts(folder: str, points: str | None, tolerance: float, *, quiet: bool) -> None:
    """Check a tree that is a folder of parts, one part at a time."""
    from tempfile import TemporaryDirectory

    from ...fleet.tiles.sources import mapped_points
    from ...fleet.tiles.store import check_parted, load_parted

    if points is None:
        raise OptionError(f"{folder} is a tree in parts, without its points; give --points FILE")
    tree = load_parted(folder)
    with TemporaryDirectory() as work:
        length = check_parted(tree, mapped_points(points, Path(work)), tolerance)
    if not quiet:
        print(f"ok    {tree.parts} parts: one tree over {tree.points:,} points, length {length!r}")


def read_wanted(points: str | None, key: str | None) -> FloatArray | None:
    """Return the points that the terminals must be, if any are given."""
    from ...io import load_points

    if points is None:
        if key is not None:
            raise OptionError("--key chooses among the points of --points FILE, which is missing")
        return None
    return load_points(points, key=int(key) if key and key.isdecimal() else key)


def read_tree(file: str) -> Mapping[str, Any]:
    """Return the fields of a tree file as they stand there; nothing is checked yet."""
    from ...io.solution_files import tree_fields
    from ...io.sources import read_source

    source = read_source(file)
    fields = tree_fields(source) or {}
    if "points" in fields:
        fields = {"terminals": fields["points"], **fields}
    if not {"terminals", "edges"} <= set(fields):
        raise FormatError(f"{source.name}: expected a tree with 'terminals' and 'edges'")
    return fields
