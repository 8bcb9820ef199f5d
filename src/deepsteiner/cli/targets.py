"""Where results go: output paths are checked before any work and written in one piece."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

from ..core.errors import FormatError
from ..core.solution import Solution, SolutionFormat
from ..io.atomic import check_can_write
from ..io.sources import suffix_of, write_target

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
    stdout = path == "-"
    chosen = format or (stdout_format if stdout else suffix_of(path))
    if chosen not in formats:
        name = "standard output" if stdout else path
        got = f"'.{chosen}'" if chosen else "no suffix"
        raise FormatError(f"{name}: expected a suffix among {', '.join(formats)}, got {got}")
    if not stdout:
        check_can_write(path)
    return Target(path, chosen)


def write_solutions(
    solutions: Sequence[Solution], target: Target, *, terminals: bool = True
) -> None:
    """Write solutions in the target's format; all but jsonl hold one.

    Of json the terminals may be left out.
    """
    if target.format == "jsonl":
        lines = (json.dumps(one.to_dict(), separators=(",", ":")) + "\n" for one in solutions)
        write_target(target.path, "".join(lines))
    else:
        (solution,) = solutions
        chosen = cast(SolutionFormat, target.format)
        solution.save(target.path, format=chosen, terminals=terminals)


def write_points(instances: Sequence[Any], target: Target, format: str | None) -> None:
    """Write instances of points; without a `format`, the suffix of a file decides."""
    from ..io import save_points

    chosen = target.format if target.is_stdout else format
    save_points(instances[0] if len(instances) == 1 else instances, target.path, format=chosen)
