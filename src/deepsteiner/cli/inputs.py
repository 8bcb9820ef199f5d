"""What a command works on: instances from files, standard input or a dataset."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..core.errors import OptionError
from ..core.solution import Solution


@dataclass(frozen=True, slots=True)
class Instance:
    """Points to solve, with the name that results call them by and the optimum where known."""

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
    from ..io import load_instances, load_solution
    from ..io.sources import read_source

    source = read_source(file)
    # Standard input can be read only once, so it is handed on from memory.
    content = NamedBytes(source.data) if file == "-" else file
    if not points_only and holds_solution(source.data):
        return load_solution(content)
    return load_instances(content, format=format)


class NamedBytes(io.BytesIO):
    """Bytes read from standard input, as a stream that error messages can name."""

    name = "standard input"


def holds_solution(content: bytes) -> bool:
    """Return whether a file's content is a tree (with edges) rather than points."""
    from ..io.points_files import SOLUTION_MARK

    head = content.removeprefix(b"\xef\xbb\xbf").lstrip()[:1]
    if head != b"{":
        return SOLUTION_MARK.encode() in content[: len(SOLUTION_MARK) + 3]
    try:
        value = json.loads(content)
    except ValueError:
        return False
    if value.get("type") == "FeatureCollection":
        return any(map(_is_line, value.get("features") or ()))
    return "edges" in value


def _is_line(feature: Any) -> bool:
    geometry = feature.get("geometry") if isinstance(feature, dict) else None
    return isinstance(geometry, dict) and geometry.get("type") == "LineString"


def method_options(method: str, settings: Sequence[str]) -> dict[str, Any]:
    """Return the method's options given as `name=value` texts, converted to their types."""
    from ..core.options import from_text
    from ..registry import get_method

    infos = get_method(method, {}).info.options
    result: dict[str, Any] = {}
    for setting in settings:
        name, equals, text = setting.partition("=")
        if not equals or not name:
            raise OptionError(f"-o takes name=value, got {setting!r}")
        if name in result:
            raise OptionError(f"option {name!r} is given twice")
        result[name] = from_text(infos, name, text, method=method)
    return result
