"""Rows of the yardstick: stored, read, and compared with those of another version."""

from __future__ import annotations

import dataclasses
import datetime
import json
import os
import platform
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np
from yardstick.cases import SEED, Case, content_hash, instances
from yardstick.run import Clock, Measured, Sample

STORED = Path(__file__).parents[1] / "stored" / "quick"
BEST = STORED.parent / "quick-lengths.json"
PACKAGES = ("numpy", "scipy", "numba", "highspy", "torch")
# Lengths differ by rounding up to this share of them.
ROUNDING = 1e-9


class RowsError(Exception):
    """Stored rows or lengths that cannot be used."""


@dataclass(frozen=True)
class Row:
    """What one version did in one case.

    `wall` and `cpu` are the times of an instance (in a fresh process: of the process) by the clock
    and of the processor, with their noise; `wall_calibration` and `cpu_calibration` those of the
    calibration in the same run. Gaps are in percent above the best known lengths. `points` is a
    hash of the instances.
    """

    case: str
    count: int
    wall: Clock
    cpu: Clock
    wall_calibration: Clock
    cpu_calibration: Clock
    gap_mean: float
    gap_worst: float
    lengths: list[float]
    proven: int
    points: str
    rounds: int
    seed: int
    commit: str
    machine: str
    versions: dict[str, str]
    date: str


CLOCKS = ("wall", "cpu", "wall_calibration", "cpu_calibration")


def rows_of(
    measured: Measured, place: int, cases: Sequence[Case], commit: str, best: Mapping[str, Any]
) -> list[Row]:
    """Return the rows of one checkout; cases that failed have none."""
    found = []
    for case in cases:
        sample = measured.samples[place][case.name]
        if sample.error is None and sample.rounds:
            found.append(_row(case, sample, measured.calibration, commit, best))
    return found


def _row(
    case: Case, sample: Sample, calibration: Sample, commit: str, best: Mapping[str, Any]
) -> Row:
    gaps = 100.0 * (np.array(sample.lengths) / lengths_of(best, case) - 1.0)
    return Row(
        case=case.name,
        count=case.count,
        wall=_rounded(sample.wall, case.count),
        cpu=_rounded(sample.cpu, case.count),
        wall_calibration=_rounded(calibration.wall),
        cpu_calibration=_rounded(calibration.cpu),
        gap_mean=round(float(gaps.mean()), 9) + 0.0,
        gap_worst=round(float(gaps.max()), 9) + 0.0,
        lengths=sample.lengths,
        proven=sample.statuses.count("optimal"),
        points=content_hash(case.points),
        rounds=len(sample.rounds),
        seed=SEED,
        commit=commit,
        machine=machine(),
        versions=versions(),
        date=datetime.datetime.now(datetime.UTC).isoformat(),
    )


def _rounded(clock: Clock, count: int = 1) -> Clock:
    return Clock(float(f"{clock.seconds / count:.5g}"), round(clock.noise, 4))


def machine() -> str:
    """Return what kind of machine this is, in words."""
    cores = os.cpu_count() or 1
    return f"{platform.machine()}, {cores} core{'' if cores == 1 else 's'}"


def versions() -> dict[str, str]:
    """Return the versions that times depend on."""
    found = {"python": platform.python_version()}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def lengths_of(best: Mapping[str, Any], case: Case) -> np.ndarray:
    """Return the best known lengths of a case's instances."""
    known = best.get(case.set)
    if known is None or len(known["lengths"]) < case.count:
        raise RowsError(f"{BEST.name} has no lengths for {case.set!r}; run quick.py --prove")
    return np.array(known["lengths"][: case.count])


def read_best() -> dict[str, Any]:
    """Return the stored lengths; other instances than those they were proven for are refused."""
    try:
        found = json.loads(BEST.read_text(encoding="utf-8"))["sets"]
    except (OSError, ValueError, KeyError):
        raise RowsError(f"{BEST} cannot be read; run quick.py --prove") from None
    for name, known in found.items():
        kind, n = name.split()
        if known["points"] != content_hash(instances(kind, int(n), len(known["lengths"]))):
            raise RowsError(f"{BEST.name}: {name!r} is of other points; run quick.py --prove")
    return found


def write_rows(name: str, rows: Sequence[Row]) -> Path:
    """Write the rows of a version under a name; return the file."""
    path = STORED / f"{check_name(name)}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_suffix(".part")
    draft.write_text("".join(json.dumps(dataclasses.asdict(row)) + "\n" for row in rows))
    draft.replace(path)
    return path


def check_name(name: str) -> str:
    """Return a name that can be a file's."""
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._+-]*", name):
        raise RowsError(f"a name has letters, digits, dots and dashes only, got {name!r}")
    return name


def read_rows(path: Path) -> dict[str, Row]:
    """Return the rows of a file by case."""
    try:
        records = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        rows = [Row(**record | {key: Clock(*record[key]) for key in CLOCKS}) for record in records]
    except (OSError, ValueError, TypeError, KeyError):
        raise RowsError(f"{path} holds no rows of the yardstick") from None
    return {row.case: row for row in rows}


def stored() -> dict[str, dict[str, Row]]:
    """Return all stored versions by name, the oldest first."""
    found = {path.stem: read_rows(path) for path in STORED.glob("*.jsonl")}
    return dict(sorted(found.items(), key=lambda one: min(r.date for r in one[1].values())))


@dataclass(frozen=True)
class Comparison:
    """A case now and in another version: times over the other's, and what is worse."""

    wall: float | None
    cpu: float | None
    faults: tuple[str, ...]


def compare(row: Row, other: Row | None, *, same_run: bool, tolerance: float) -> Comparison:
    """Compare a case with that of another version.

    Slower is by more than the tolerance and the noise of both, by the clock or of the processor.
    Between runs the calibration stands for the machine, and its noise counts too. A longer tree is
    always worse.
    """
    if other is None or other.points != row.points:
        return Comparison(None, None, ())
    faults = _longer(row, other)
    if row.proven < other.proven:
        faults.append(f"{row.proven} of {row.count} proven, {other.proven} before")
    speeds = []
    for words, name in (("by the clock", "wall"), ("of the processor", "cpu")):
        speed, noise = _speed(row, other, name, same_run)
        speeds.append(speed)
        if speed > 1.0 + tolerance + noise:
            faults.append(f"{speed:.2f} times as long {words}, noise {100 * noise:.0f} %")
    return Comparison(*speeds, tuple(faults))


def _speed(row: Row, other: Row, name: str, same_run: bool) -> tuple[float, float]:
    """Return how many times as long a case takes, and the noise of that."""
    mine, theirs = getattr(row, name), getattr(other, name)
    speed, noise = mine.seconds / theirs.seconds, mine.noise + theirs.noise
    if not same_run:
        here, there = (getattr(one, f"{name}_calibration") for one in (row, other))
        speed *= there.seconds / here.seconds
        noise += here.noise + there.noise
    return speed, noise


def _longer(row: Row, other: Row) -> list[str]:
    excess = np.array(row.lengths) / np.array(other.lengths) - 1.0
    longer = int((excess > ROUNDING).sum())
    if not longer:
        return []
    return [
        f"longer trees in {longer} of {row.count}, by at most {100 * excess.max():.2g} % "
        f"(mean gap {row.gap_mean:.4g} %, before {other.gap_mean:.4g} %)"
    ]


def impossible(row: Row, case: Case, best: Mapping[str, Any]) -> str | None:
    """Return what is wrong where a tree is shorter than a proven optimum."""
    if not best[case.set]["how"].startswith("proven"):
        return None
    if np.all(np.array(row.lengths) >= lengths_of(best, case) * (1.0 - ROUNDING)):
        return None
    return "a tree is shorter than the proven optimum: one of the two is wrong"
