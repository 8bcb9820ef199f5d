"""Learning curves: validation gaps of training runs, kept beside the stored results.

`python -m deepsteiner.benchmark.report.curves RUNS TARGET` keeps, of every `RUNS/NAME/log.jsonl`,
the validation records as `TARGET/NAME.jsonl`.
"""

from __future__ import annotations

import json
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...core.errors import FormatError
from ...io.atomic import atomic_write
from ..rows import STORED

CURVES = STORED / "curves"


@dataclass(frozen=True)
class LearningCurve:
    """Gap in percent over the steps of a run."""

    name: str
    points: tuple[tuple[float, float], ...]


def learning_curves(folder: Path = CURVES) -> list[LearningCurve]:
    """Return the curves of a folder of logs (NAME.jsonl) or of runs (NAME/log.jsonl).

    The parts of a training (NAME-begun, NAME-continued, NAME-continued-2, NAME) make one curve.
    """
    logs = {path.stem: path for path in folder.glob("*.jsonl")}
    logs |= {path.parent.name: path for path in folder.glob("*/log.jsonl")}
    found: dict[str, list[tuple[float, float]]] = {}
    for name, path in sorted(logs.items(), key=lambda log: _part(log[0])):
        points = found.setdefault(_part(name)[0], [])
        before = points[-1][0] if points else 0.0
        points += [(before + float(r["step"]), float(r["gap"])) for r in _validations(path)]
    return [LearningCurve(name, tuple(points)) for name, points in found.items() if len(points) > 1]


def _part(name: str) -> tuple[str, bool, str]:
    """Return the training that a run is part of, and what sorts it among the parts."""
    found = re.fullmatch(r"(.+?)(-begun|-continued(?:-\d+)?)?", name)
    assert found is not None
    return found[1], found[2] is None, found[2] or ""


def keep(runs: Path, target: Path) -> list[Path]:
    """Write the validation records of every run to a folder; return the files."""
    written = []
    for log in sorted(runs.glob("*/log.jsonl")):
        records = _validations(log)
        if records:
            path = target / f"{log.parent.name}.jsonl"
            target.mkdir(parents=True, exist_ok=True)
            with atomic_write(path) as stream:
                stream.writelines(json.dumps(record) + "\n" for record in records)
            written.append(path)
    return written


def _validations(path: Path) -> list[dict[str, Any]]:
    records = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        try:
            record = json.loads(line)
        except ValueError:
            raise FormatError(f"{path}, line {number}: expected one JSON object a line") from None
        if isinstance(record, dict) and "gap" in record and "step" in record:
            records.append(record)
    return records


if __name__ == "__main__":
    if len(sys.argv) != 3 or not Path(sys.argv[1]).is_dir():
        sys.exit(
            "usage: python -m deepsteiner.benchmark.report.curves RUNS TARGET (RUNS is a folder)"
        )
    for file in keep(Path(sys.argv[1]), Path(sys.argv[2])):
        print(file)
