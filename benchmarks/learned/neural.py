"""Gap, validity and time of `neural` on every set with known optima, beside its targets.

    python -m benchmarks.learned.neural                      everything, one thread (ten minutes)
    python -m benchmarks.learned.neural --quick              a few of each set (two minutes)
    python -m benchmarks.learned.neural --sets golden u50    sets whose names begin so
    python -m benchmarks.learned.neural --count 50 --json rows.json

"third" is the method as it is: no piece of more than a third of the terminals goes to the exact
solver. "none" switches all exact re-solving off, "any" allows pieces of any size. Times are one
thread's, a batch's share (solve_many) and alone (solve), scaled to the reference calibration, which
is measured again before each group of sets. The gap is (length - optimum) / optimum; a cell is met
where its mean is not above the target.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from common import REFERENCE_CALIBRATION, calibration, print_provenance, print_table
from learned.neural_sets import EFFORTS, TARGET_MS, Counts, Loaded, Trial, trials

import deepsteiner as ds
from deepsteiner.benchmark.optima import check_against_optima, read_optima
from deepsteiner.benchmark.provenance import commit, machine, versions
from deepsteiner.core.errors import TreeError
from deepsteiner.solvers import neural

PIECES = ("third", "none", "any")
# Instances that are also solved one by one, for what a single call costs.
ALONE = 100
# Calls of less than so many seconds are made so many times.
SHORT, REPEATS = 1.0, 3


@dataclass(frozen=True)
class Row:
    """What one setting did on one set; gaps and shares in %, times in scaled ms."""

    set: str
    n: int
    count: int
    effort: str
    pieces: str
    gap: float
    error: float
    worst: float
    optimal: float
    valid: float
    ms_batch: float
    ms_alone: float
    calibration: float
    target_gap: float
    target_ms: float | None

    @property
    def gap_met(self) -> bool:
        """Whether the mean gap is at most the target."""
        return self.gap <= self.target_gap

    @property
    def time_met(self) -> bool:
        """Whether a batch's share of time is at most the target, where there is one."""
        return self.target_ms is None or self.ms_batch <= self.target_ms


def measure(trial: Trial, loaded: Loaded, effort: str, pieces: str, calibrated: float) -> Row:
    """Solve a set with one setting, as a batch and, some instances, one by one."""
    points, optima = loaded
    options: dict[str, Any] = {"effort": effort, "pieces": pieces, "threads": 1}
    ds.solve(points[0], "neural", **options)
    spent, solved = shortest(lambda: ds.solve_many(points, "neural", **options))
    batch = spent / len(points)
    check_against_optima(solved.lengths, optima, trial.name)
    gaps = 100.0 * np.maximum(solved.lengths / optima - 1.0, 0.0)  # rounding
    scale = REFERENCE_CALIBRATION / calibrated
    return Row(
        trial.name,
        points.shape[1],
        len(points),
        effort,
        pieces,
        gap=float(gaps.mean()),
        error=float(gaps.std() / np.sqrt(len(gaps))),
        worst=float(gaps.max()),
        optimal=100.0 * float((gaps < 1e-7).mean()),
        valid=valid_share(solved),
        ms_batch=scale * batch,
        ms_alone=scale
        * (alone(points, options) if points.shape[1] <= neural.BATCH_LIMIT else batch),
        calibration=calibrated,
        target_gap=trial.targets[effort],
        target_ms=TARGET_MS.get(points.shape[1], {}).get(effort),
    )


def alone(points: np.ndarray, options: dict[str, Any]) -> float:
    """Return the ms of one call of `solve`."""
    some = points[:ALONE]
    spent, _ = shortest(lambda: [ds.solve(one, "neural", **options) for one in some])
    return spent / len(some)


def shortest(call: Callable[[], Any]) -> tuple[float, Any]:
    """Return ms and result of a call; of a short one, as of the calibration, the shortest time."""
    found, result = np.inf, None
    for _ in range(REPEATS):
        began = time.perf_counter()
        result = call()
        found = min(found, time.perf_counter() - began)
        if found > SHORT:
            break
    return 1e3 * found, result


def valid_share(solved: ds.Solutions) -> float:
    """Return the percentage of trees that are valid and strict."""
    try:
        solved.validate(strict=True)
    except TreeError:
        return 100.0 * sum(map(is_valid, solved)) / len(solved)
    return 100.0


def is_valid(solution: ds.Solution) -> bool:
    """Return whether one tree is valid and strict."""
    try:
        solution.validate(strict=True)
    except TreeError:
        return False
    return True


def run(given: argparse.Namespace) -> list[Row]:
    """Measure all that is wanted, telling about each set at once."""
    rows: list[Row] = []
    group, calibrated = "", 0.0
    counts = Counts(given.quick, given.count)
    for trial in trials(given.optima):
        if given.sets and not trial.name.startswith(tuple(given.sets)):
            continue
        if trial.group != group:
            group, calibrated = trial.group, calibration(repeats=2)
            print(f"\n{group} (calibration {1e3 * calibrated:.0f} ms)")
        loaded = counts.some(*trial.load())
        for effort in given.effort or EFFORTS:
            for pieces in given.pieces or PIECES:
                rows.append(measure(trial, loaded, effort, pieces, calibrated))
                print(line(rows[-1]), flush=True)
    return rows


def line(row: Row) -> str:
    """Return a row in words."""
    return (
        f"{row.set:16} {row.effort:8} {row.pieces:6} {row.gap:.5f} ± {row.error:.5f} %, "
        f"worst {row.worst:.3f}, optimal {row.optimal:.1f} %, valid {row.valid:.1f} %, "
        f"{row.ms_batch:.3f} ms ({row.ms_alone:.3f} alone)"
    )


def verdict(met: bool) -> str:
    """Return a verdict in a word."""
    return "met" if met else "**missed**"


def print_tables(rows: Sequence[Row]) -> None:
    """Print gaps and times beside their targets, and the other ways to use exact pieces."""
    by_key = {(row.set, row.effort, row.pieces): row for row in rows}
    sets = {row.set: row for row in rows}
    efforts = [effort for effort in EFFORTS if any(row.effort == effort for row in rows)]
    pieces = [one for one in PIECES if any(row.pieces == one for row in rows)]
    if "third" in pieces:
        print("\nMean gap in % ± standard error, worst; target.\n")
        cells = [
            [name, row.n, row.count, *(gap_cell(by_key[name, e, "third"]) for e in efforts)]
            for name, row in sets.items()
        ]
        print_table(["set", "n", "count", *efforts], cells)
        print("\nScaled ms of one thread: in a batch, alone; target (of the batch).\n")
        cells = [
            [name, row.n, *(time_cell(by_key[name, e, "third"]) for e in efforts)]
            for name, row in sets.items()
        ]
        print_table(["set", "n", *efforts], cells)
    print("\nMean gap in % / scaled ms in a batch, by what may be solved exactly.\n")
    columns = [(effort, one) for effort in efforts for one in pieces]
    cells = [
        [name, *(f"{by_key[name, *c].gap:.5f} / {by_key[name, *c].ms_batch:.2f}" for c in columns)]
        for name in sets
    ]
    print_table(["set", *(f"{effort}, {one}" for effort, one in columns)], cells)


def gap_cell(row: Row) -> str:
    """Return gap, standard error, worst gap and the verdict."""
    return (
        f"{row.gap:.5f} ± {row.error:.5f}, {row.worst:.3f}; "
        f"≤ {row.target_gap:g} {verdict(row.gap_met)}"
    )


def time_cell(row: Row) -> str:
    """Return both times, and the verdict where a time has a target."""
    target = "" if row.target_ms is None else f"; ≤ {row.target_ms:g} {verdict(row.time_met)}"
    return f"{row.ms_batch:.2f}, {row.ms_alone:.2f}{target}"


def print_summary(rows: Sequence[Row]) -> None:
    """Print how many cells are met, which are not, and the share of valid trees."""
    real = [row for row in rows if row.pieces == "third"]
    timed = [row for row in real if row.target_ms is not None]
    gaps_met, times_met = (sum(r.gap_met for r in real), sum(r.time_met for r in timed))
    print(f"\ngaps: {gaps_met} of {len(real)} met; times: {times_met} of {len(timed)} met")
    for row in real:
        if not row.gap_met:
            near = ", within two standard errors" * (row.gap - 2 * row.error <= row.target_gap)
            print(f"missed: {row.set} {row.effort}: {row.gap:.5f} > {row.target_gap:g} %{near}")
    for row in timed:
        if not row.time_met:
            print(f"missed: {row.set} {row.effort}: {row.ms_batch:.2f} > {row.target_ms:g} ms")
    bad = [row for row in rows if row.valid < 100.0]
    print(f"valid strict trees: {'100 % in every row' if not bad else verdict(False)}")
    for row in bad:
        print(f"missed: {row.set} {row.effort} {row.pieces}: {row.valid:.2f} % valid")


def write_rows(path: Path, rows: Sequence[Row]) -> None:
    """Write the rows with where they come from."""
    facts = {
        "commit": commit(),
        "machine": machine(),
        "versions": versions(),
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "reference_calibration": REFERENCE_CALIBRATION,
    }
    found = [
        asdict(row) | {"gap_met": row.gap_met, "time_met": row.time_met if row.target_ms else None}
        for row in rows
    ]
    path.write_text(json.dumps({"provenance": facts, "rows": found}, indent=1) + "\n")


def main() -> None:
    """Run what the command line says."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", nargs="+", help="beginnings of names of sets; default: all")
    parser.add_argument("--effort", choices=EFFORTS, action="append")
    parser.add_argument("--pieces", choices=PIECES, action="append")
    parser.add_argument("--count", type=int, help="at most so many instances of each set")
    parser.add_argument("--quick", action="store_true", help="a few instances of each set")
    parser.add_argument("--optima", type=read_optima, default={}, help="a .npz of known optima")
    parser.add_argument("--json", type=Path, help="write the rows to this file")
    given = parser.parse_args()
    for n in (20, 100, 300):  # compiles
        ds.solve(np.random.default_rng(0).random((n, 2)), "neural")
    print_provenance()
    began = time.perf_counter()
    rows = run(given)
    print_tables(rows)
    print_summary(rows)
    print(f"\n{(time.perf_counter() - began) / 60:.1f} minutes")
    if given.json:
        write_rows(given.json, rows)


if __name__ == "__main__":
    main()
