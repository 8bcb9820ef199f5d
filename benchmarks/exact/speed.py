"""Time of the exact solver by size, one thread, after a warm-up, beside GeoSteiner's.

Run: python -m benchmarks.exact.speed [--sizes 10,20,50] [--rows FILE] [--geosteiner FOLDER]

"alone": every instance solved by a call of its own; "in a batch": the time of `solve_many` over
the number of instances, where there is a kernel for batches. Of three passes the shortest time of
each call counts. `--rows` keeps what was measured, for the README. `--geosteiner` names a folder
with GeoSteiner's programs `efst` and `bb`; they are then run as `efst | bb` on the same points
(scaled by 2**20), which includes their start-up.
"""

from __future__ import annotations

import argparse
import subprocess
import time
from pathlib import Path

import numpy as np
from common import (
    REFERENCE_CALIBRATION,
    calibration,
    golden,
    print_provenance,
    print_table,
    shared,
    timed,
)

import deepsteiner as ds
from deepsteiner.benchmark.timings import GEOSTEINER_MS, make_timing, write_timing

LATTICE_MS = {"lat4x4": 150, "lat5x5": 1070, "lat6x6": 6240}
COUNTS = {10: 1000, 20: 300, 50: 100, 100: 50, 200: 20, 500: 4, 1000: 4}
# Sizes that `solve_many` has a kernel for.
BATCHES = (10, 20)
PASSES = 3


def instances(n: int) -> np.ndarray:
    """Return uniform points: the golden ones, OR-Library's at n = 1000, or our own."""
    if n <= 500:
        return golden(f"u{n}")[0][: COUNTS[n]]
    orlib = shared("orlib_estein.npz")
    if orlib is not None:
        return orlib[f"points_{n}"][: COUNTS[n]]
    return ds.datasets.load("uniform", count=COUNTS[n], n=n).points


def alone(points: np.ndarray) -> tuple[float, dict[str, float], int]:
    """Return the mean seconds of a call, those of its stages, and how many were proven."""
    shortest = np.full(len(points), np.inf)
    for _ in range(PASSES):
        for k, one in enumerate(points):
            began = time.perf_counter()
            ds.solve(one, "exact")
            shortest[k] = min(shortest[k], time.perf_counter() - began)
    solved = [ds.solve(one, "exact") for one in points]
    stages = {
        stage: float(np.mean([s.info.get(stage, {}).get("seconds", np.nan) for s in solved]))
        for stage in ("generation", "concatenation")
    }
    proven = sum(solution.status == "optimal" for solution in solved)
    return float(shortest.mean()), stages, proven


def in_a_batch(points: np.ndarray) -> float:
    """Return the seconds of an instance in a batch."""
    return min(timed(lambda: ds.solve_many(points, "exact")) for _ in range(PASSES)) / len(points)


def geosteiner_milliseconds(folder: Path, points: np.ndarray) -> float:
    """Run the user's own `efst | bb` on every instance; return the mean time."""
    total = 0.0
    for one in points:
        text = "".join(f"{x:.17g} {y:.17g}\n" for x, y in one * 2.0**20)
        started = time.perf_counter()
        trees = subprocess.run(
            [str(folder / "efst")], input=text, capture_output=True, text=True, check=True
        )
        subprocess.run(
            [str(folder / "bb")], input=trees.stdout, capture_output=True, text=True, check=True
        )
        total += time.perf_counter() - started
    return 1000 * total / len(points)


def measure(name: str, points: np.ndarray, theirs: float) -> dict[str, object]:
    """Return what one set took."""
    seconds, stages, proven = alone(points)
    uniform = name.endswith("uniform")
    batch = in_a_batch(points) if uniform and points.shape[1] in BATCHES else None
    return {
        "name": name, "points": points, "uniform": uniform, "alone": seconds, "batch": batch,
        "stages": stages, "proven": proven, "theirs": theirs,
    }  # fmt: skip


def keep(path: Path, found: dict[str, object], calibrated: float) -> None:
    """Write the rows of a set for the README."""
    for call, seconds in (("solve", found["alone"]), ("solve_many", found["batch"])):
        if seconds is not None:
            row = make_timing(
                dataset="uniform",
                n=found["points"].shape[1],
                count=len(found["points"]),
                method="exact",
                options={},
                call=call,
                threads=1,
                seconds=float(f"{seconds:.5g}"),
                calibration=float(f"{calibrated:.4g}"),
                seed=None,
                proven=found["proven"],
            )
            write_timing(path, row)


def table_row(found: dict[str, object], scale: float) -> list[object]:
    """Return the cells of a set."""
    cells = [found["name"], len(found["points"]), found["proven"]]
    for seconds in (found["alone"], found["batch"]):
        times = ["", ""] if seconds is None else [1000 * seconds, 1000 * seconds * scale]
        cells += [f"{ms:.3g}" if ms else "" for ms in times]
    stages = [1000 * found["stages"][stage] for stage in ("generation", "concatenation")]
    return [*cells, *("" if np.isnan(ms) else f"{ms:.3g}" for ms in stages), found["theirs"]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", default="10,20,50,100,200,500,1000")
    parser.add_argument("--geosteiner", type=Path, metavar="FOLDER")
    parser.add_argument(
        "--rows", type=Path, metavar="FILE", help="keep the times of uniform points"
    )
    given = parser.parse_args()
    for size in (10, 20, 60, 200):  # compiles every kernel
        ds.solve(np.random.default_rng(1).random((size, 2)), "exact")
    for name in LATTICE_MS:  # these use linear programmes, which uniform points do not
        ds.solve(golden(name)[0][0], "exact")
    sizes = [int(size) for size in given.sizes.split(",")]
    cases = [(f"{n} uniform", instances(n), GEOSTEINER_MS[n]) for n in sizes]
    cases += [(name, golden(name)[0], ms) for name, ms in LATTICE_MS.items()]
    print_provenance()
    # As of each call, the shortest counts; it is timed beside every set, since machines change.
    calibrated, found = calibration(), []
    for case in cases:
        found.append(measure(*case))
        calibrated = min(calibrated, calibration(repeats=2))
    scale = REFERENCE_CALIBRATION / calibrated
    print(f"shortest calibration of the run {1000 * calibrated:.0f} ms: x {scale:.2f}\n")
    header = ["points", "count", "proven", "ms alone", "scaled", "ms in a batch", "scaled"]
    header += ["generation", "concatenation", "GeoSteiner 5.3"]
    rows = [table_row(one, scale) for one in found]
    if given.geosteiner:
        header.append("GeoSteiner, here")
        for row, one in zip(rows, found, strict=True):
            row.append(f"{geosteiner_milliseconds(given.geosteiner, one['points']):.3g}")
    print_table(header, rows)
    for one in found if given.rows else ():
        if one["uniform"]:
            keep(given.rows, one, calibrated)
    larger = [one for one in found if one["uniform"] and one["points"].shape[1] >= 50]
    if len(larger) > 1:
        ends = [one["points"].shape[1] for one in larger]
        slope = np.polyfit(np.log(ends), np.log([one["alone"] for one in larger]), 1)[0]
        print(f"\ngrowth exponent from n = {ends[0]} to {ends[-1]}: {slope:.2f}")


if __name__ == "__main__":
    main()
