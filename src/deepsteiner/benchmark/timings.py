"""Rows of times: single calls, large instances and rates of batches, one line of JSON each.

The scripts in `benchmarks/` write them (`--rows FILE`); the README's tables are made of those
that come with the package.
"""

from __future__ import annotations

import dataclasses
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from ..io.atomic import atomic_write
from . import provenance
from .rows import STORED as STORED_ROWS
from .rows import read_folder, read_records

STORED = STORED_ROWS / "timings"
# The calibration (a Delaunay triangulation of 100,000 fixed points) that scaled times stand for.
REFERENCE_CALIBRATION = 0.530
# GeoSteiner 5.3 in one process, one thread, uniform points, where the calibration took that long:
# mean milliseconds per instance.
GEOSTEINER_MS = {10: 1.05, 20: 7.7, 50: 53, 100: 150, 200: 460, 500: 1540, 1000: 4700}


@dataclass(frozen=True)
class Timing:
    """What one method took on `count` instances of n points.

    `call` is "solve" where each was solved by a call of its own, "solve_many" for a batch.
    `seconds` is the mean per instance and `saving` how many percent shorter than the spanning
    tree the trees are. `proven` counts proven optima; `peak_gib` is the peak memory of the process
    and `calibration` the seconds of the calibration in the same run.
    """

    dataset: str
    n: int
    count: int
    method: str
    options: dict[str, Any]
    call: Literal["solve", "solve_many"]
    threads: int
    seconds: float
    calibration: float
    seed: int | None
    commit: str | None
    machine: str
    versions: dict[str, str]
    date: str
    proven: int = 0
    length: float | None = None
    saving: float | None = None
    peak_gib: float | None = None

    @property
    def scaled_ms(self) -> float:
        """Milliseconds per instance on a machine whose calibration takes the reference time."""
        return 1000.0 * self.seconds * REFERENCE_CALIBRATION / self.calibration

    @property
    def key(self) -> tuple[Any, ...]:
        """What tells rows apart: a later one of the same key replaces the earlier."""
        options = json.dumps(self.options, sort_keys=True)
        return self.dataset, self.n, self.method, options, self.call, self.threads


def make_timing(**values: Any) -> Timing:
    """Return a row with today's date and where it was made."""
    return Timing(**{**provenance.stamp(), "machine": f"{os.cpu_count() or 1} cores", **values})


def stored_timings() -> list[Timing]:
    """Return the rows of times that come with the package."""
    return read_folder(Timing, STORED)


def write_timing(path: str | os.PathLike[str], row: Timing) -> None:
    """Put a row into a file, in place of an earlier one with the same key."""
    target = Path(path)
    rows = {one.key: one for one in read_records(Timing, target)} if target.exists() else {}
    rows[row.key] = row
    target.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(target) as stream:
        stream.writelines(json.dumps(dataclasses.asdict(one)) + "\n" for one in rows.values())
