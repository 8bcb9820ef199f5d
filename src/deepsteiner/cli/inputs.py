"""What a command works on: instances from files, standard input or a dataset."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..core.device import load_torch
from ..core.errors import FormatError, OptionError
from ..core.solution import Solution

if TYPE_CHECKING:
    from ..io.sources import Source

PLUGIN_HELP = "A Python file with parts of your own that a model needs; repeatable."


@dataclass(frozen=True, slots=True)
class Instance:
    """Points to solve, the name that results give them, and the optimum where it is known."""

    name: str
    points: Any
    optimum: float | None = None


def instances_from_files(files: Sequence[str]) -> list[Instance]:
    """Read every instance of every file, in order; `-` is standard input."""
    from ..io import load_instances

    if list(files).count("-") > 1:
        raise OptionError("standard input (-) can be read only once")
    result: list[Instance] = []
    for file in files:
        members = load_instances(file)
        name = "stdin" if file == "-" else file
        result += [
            Instance(name if len(members) == 1 else f"{name}[{index}]", points)
            for index, points in enumerate(members)
        ]
    return result


def load_plugins(paths: Sequence[str]) -> None:
    """Run Python files of the user's, which register parts of policies."""
    if paths:
        load_torch("--plugin")
        from ..policy.kit.registries import load_module

        for path in paths:
            load_module(Path(path))


def load_shapes(path: str) -> Any:
    """Read obstacles or an existing network from a GeoJSON file."""
    from ..io.json_points import parse_json
    from ..io.sources import read_source

    source = read_source(path)
    value = parse_json(source.text(), source.name)
    if not isinstance(value, dict) or "type" not in value:
        raise FormatError(f"{source.name}: expected GeoJSON, an object with a type")
    return value


def instances_from_dataset(
    name: str, *, count: int | None, split: str, seed: int, n: int | None, file: str | None = None
) -> list[Instance]:
    """Return instances of a named dataset or kind, or of a dataset file with its optima."""
    from .. import datasets

    if count is not None and count < 1:
        raise OptionError(f"--count must be at least 1, got {count}")
    data = datasets.load(
        name, count=count, split=datasets.check_split(split), seed=seed, n=n, path=file
    )
    optima = [None] * len(data) if data.optimal_length is None else data.optimal_length.tolist()
    return [
        Instance(f"{name}[{index}]", points, optimum)
        for index, (points, optimum) in enumerate(zip(data, optima, strict=True))
    ]


def read_points_or_solution(
    file: str, format: str | None = None, *, points_only: bool = False
) -> Solution | list[Any]:
    """Return the solution that a file holds, or else its instances of points."""
    from ..io.points_files import instances_of
    from ..io.solution_files import solution_of
    from ..io.sources import read_source

    source = read_source(file)  # only once: it may be a pipe
    if not points_only and holds_solution(source):
        return solution_of(source)
    return instances_of(source, format=format)


def holds_solution(source: Source) -> bool:
    """Return whether a file's content is a tree (with edges) rather than points."""
    from ..io.json_points import parse_json
    from ..io.points_files import holds_solution_table

    if holds_solution_table(source):
        return True
    try:
        text = source.text()
        value = parse_json(text, source.name) if text.lstrip().startswith("{") else None
    except FormatError:
        return False  # the reader of points says what is wrong
    match value:
        case {"type": "FeatureCollection", "features": list(features)}:
            return any(map(_is_line, features))
        case {"type": "FeatureCollection"}:
            return False
        case {"edges": _}:
            return True
    return False


def _is_line(feature: Any) -> bool:
    match feature:
        case {"geometry": {"type": "LineString" | "MultiLineString"}}:  # two parts across 180°
            return True
    return False


def method_options(method: str, settings: Sequence[str]) -> dict[str, Any]:
    """Return the method's options given as `name=value` texts, converted to their types."""
    from ..core.options import options_from_text
    from ..registry import get_method

    return options_from_text(get_method(method, {}).info.options, settings, method=method)
