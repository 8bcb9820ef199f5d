"""Time of the exact solver by size, one thread, after a warm-up, beside GeoSteiner's.

Run: python benchmarks/exact_speed.py [--sizes 10,20,50] [--geosteiner FOLDER]

`--geosteiner` names a folder with GeoSteiner's programs `efst` and `bb`; they are then run as
`efst | bb` on the same points (scaled by 2**20), which includes their start-up.
"""

from __future__ import annotations

import argparse
import subprocess
import time
from pathlib import Path

import numpy as np
from common import golden, print_provenance, print_table, shared

import deepsteiner as ds

# GeoSteiner 5.3 in one process, mean ms (docs/benchmarks.md), and half of it: what we ask of ours.
GEOSTEINER_MS = {10: 1.05, 20: 7.7, 50: 53, 100: 150, 200: 460, 500: 1540, 1000: 4700}
LATTICE_MS = {"lat4x4": 150, "lat5x5": 1070, "lat6x6": 6240}
LIMIT_MS = {10: 0.5, 20: 3.5, 50: 26, 100: 75, 200: 220, 500: 750, 1000: 2300}
LATTICE_LIMIT_MS = {"lat4x4": 100, "lat5x5": 500, "lat6x6": 3000}
COUNTS = {10: 2000, 20: 300, 50: 100, 100: 50, 200: 20, 500: 4, 1000: 4}


def instances(n: int) -> np.ndarray:
    """Return uniform points: the golden ones, OR-Library's at n = 1000, or our own."""
    if n <= 500:
        return golden(f"u{n}")[0][: COUNTS[n]]
    orlib = shared("orlib_estein.npz")
    if orlib is not None:
        return orlib[f"points_{n}"][: COUNTS[n]]
    return ds.datasets.load("uniform", count=COUNTS[n], n=n).points


def milliseconds(points: np.ndarray) -> tuple[float, float, float, bool]:
    """Return mean total, generation and concatenation times, and whether all were proven."""
    if points.shape[1] <= 10:
        solved = ds.solve_many(points, "exact")
        return 1000 * solved.runtime / len(points), np.nan, np.nan, _proven(solved)
    solved = [ds.solve(one, "exact") for one in points]
    stages = [
        (
            s.runtime,
            s.info["generation"].get("seconds", np.nan),
            s.info.get("concatenation", {}).get("seconds", np.nan),
        )
        for s in solved
    ]
    total, generation, concatenation = 1000 * np.array(stages).mean(axis=0)
    return total, generation, concatenation, _proven(solved)


def _proven(solved) -> bool:
    return all(solution.status == "optimal" for solution in solved)


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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", default="10,20,50,100,200,500,1000")
    parser.add_argument("--geosteiner", type=Path, metavar="FOLDER")
    arguments = parser.parse_args()
    for size in (10, 20, 60, 200):  # compiles every kernel
        ds.solve(np.random.default_rng(1).random((size, 2)), "exact")
    for name in LATTICE_MS:  # these use linear programmes, which uniform points do not
        ds.solve(golden(name)[0][0], "exact")
    factor = print_provenance()
    header = ["points", "count", "proven", "ms", "ms scaled", "generation", "concatenation"]
    header += ["asked", "GeoSteiner, anchor"]
    header += ["GeoSteiner, here"] if arguments.geosteiner else []
    rows: list[list[object]] = []
    times: dict[int, float] = {}
    cases = [(f"{n} uniform", instances(n), LIMIT_MS[n], GEOSTEINER_MS[n])
             for n in map(int, arguments.sizes.split(","))]  # fmt: skip
    cases += [
        (name, golden(name)[0], LATTICE_LIMIT_MS[name], LATTICE_MS[name]) for name in LATTICE_MS
    ]
    for name, points, limit, anchor in cases:
        total, generation, concatenation, proven = milliseconds(points)
        times[points.shape[1]] = total
        row = [name, len(points), "all" if proven else "NOT ALL", f"{total:.3g}"]
        row += [f"{total * factor:.3g}", f"{generation:.3g}", f"{concatenation:.3g}", limit, anchor]
        if arguments.geosteiner:
            row.append(f"{geosteiner_milliseconds(arguments.geosteiner, points):.3g}")
        rows.append(row)
    print_table(header, rows)
    uniform = [n for n in (50, 100, 200, 500, 1000) if n in times]
    if len(uniform) > 1:
        slope = np.polyfit(np.log(uniform), np.log([times[n] for n in uniform]), 1)[0]
        print(f"\ngrowth exponent from n = {uniform[0]} to {uniform[-1]}: {slope:.2f}")


if __name__ == "__main__":
    main()
