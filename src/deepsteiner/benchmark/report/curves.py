"""Learning curves: validation gaps of training runs, kept beside the stored results.

`python -m deepsteiner.benchmark.report.curves RUNS TARGET` keeps, of every `RUNS/NAME/log.jsonl`,
the validation records as `TARGET/NAME.jsonl`.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

from ...io.atomic import atomic_write
from ..rows import STORED, read_objects

CURVES = STORED / "curves"


def learning_curves(folder: Path = CURVES) -> dict[str, list[tuple[float, float]]]:
    """Return the (step, gap in percent) pairs of every training in a folder, by name.

    The folder holds logs (NAME.jsonl) or runs (NAME/log.jsonl). The parts of a training
    (NAME-begun, NAME-continued, NAME-continued-2, NAME) make one curve.
    """
    logs = {path.stem: path for path in folder.glob("*.jsonl")}
    logs |= {path.parent.name: path for path in folder.glob("*/log.jsonl")}
    found: dict[str, list[tuple[float, float]]] = {}
    for name, path in sorted(logs.items(), key=lambda log: _part(log[0])):
        points = found.setdefault(_part(name)[0], [])
        before = points[-1][0] if points else 0.0
        points += [(before + float(r["step"]), float(r["gap"])) for r in _validations(path)]
    return {name: points for name, points in found.items() if len(points) > 1}


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
    return [record for _, record in read_objects(path) if {"gap", "step"} <= record.keys()]


if __name__ == "__main__":
    if len(sys.argv) != 3 or not Path(sys.argv[1]).is_dir():
        sys.exit(
            "usage: python -m deepsteiner.benchmark.report.curves RUNS TARGET (RUNS is a folder)"
        )
    for file in keep(Path(sys.argv[1]), Path(sys.argv[2])):
        print(file)
