"""Where results go: output paths are checked before any work and written in one piece."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from ..core.errors import FormatError
from ..core.solution import Solution, SolutionFormat

SOLUTION_FORMATS = ("json", "jsonl", "geojson", "csv", "svg", "png", "pdf")
PICTURE_FORMATS = ("png", "pdf", "svg")


@dataclass(frozen=True, slots=True)
class Target:
    """A checked place to write to: a file, or standard output for `-`."""

    path: str
    format: str

    @property
    def is_stdout(self) -> bool:
        """Whether this is standard output."""
        return self.path == "-"


def check_target(
    path: str, formats: Sequence[str], *, format: str | None = None, stdout_format: str
) -> Target:
    """Return the target, or say why it cannot be written: unknown format, folder missing."""
    if path == "-":
        return Target(path, _known(format or stdout_format, formats, "standard output"))
    chosen = _known(format or Path(path).suffix.lower().removeprefix("."), formats, path)
    if Path(path).is_dir():
        raise FormatError(f"{path} is a folder; expected the name of a file to write")
    folder = Path(path).parent
    if not folder.is_dir():
        raise FormatError(f"{path} cannot be written: the folder {folder} does not exist")
    if not os.access(folder, os.W_OK):
        raise FormatError(f"{path} cannot be written: the folder {folder} is not writable")
    return Target(path, chosen)


def _known(format: str, formats: Sequence[str], path: str) -> str:
    if format not in formats:
        got = f"'.{format}'" if format else "no suffix"
        raise FormatError(f"{path}: expected a suffix among {', '.join(formats)}, got {got}")
    return format


def write_solution(solution: Solution, target: Target) -> None:
    """Write one solution in the target's format."""
    if target.format == "jsonl":
        write_lines([solution_line(solution)], target)
        return
    solution.save(target.path, format=cast(SolutionFormat, target.format))


def write_points(instances: Sequence[Any], target: Target, format: str | None) -> None:
    """Write instances of points; without a `format`, the suffix of a file decides."""
    from ..io import save_points

    chosen = target.format if target.is_stdout else format
    save_points(instances[0] if len(instances) == 1 else instances, target.path, format=chosen)


def solution_line(solution: Solution) -> str:
    """Return a solution as one line of JSON."""
    import json

    return json.dumps(solution.to_dict(), separators=(",", ":"))


def write_lines(lines: Iterable[str], target: Target) -> None:
    """Write lines of text, all or none of them."""
    from ..io.atomic import atomic_write

    if target.is_stdout:
        sys.stdout.writelines(f"{line}\n" for line in lines)
        return
    with atomic_write(target.path, "w") as stream:
        stream.writelines(f"{line}\n" for line in lines)
