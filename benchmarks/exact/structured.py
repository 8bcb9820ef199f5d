"""Proof on clusters, jittered lattices and mixed points, one thread, beside GeoSteiner's times.

Run: python -m benchmarks.exact.structured [--family cl100_005]

Needs ../shared/data/structured.npz. GeoSteiner's stored times are scaled by the calibration, a
Delaunay triangulation that was timed beside them and is timed here. Each instance is solved once by
a call of its own, and again where that call had to get a kernel ready.
"""

from __future__ import annotations

import argparse
import sys
import time

import numpy as np
from common import calibration, print_provenance, print_table, shared

import deepsteiner as ds
from deepsteiner.core.jit import history

FAMILIES = {
    "cl100_005": "100 points in 10 clusters, deviation .005",
    "cl60_001": "60 points in 6 clusters, deviation .001",
    "cl200_01": "200 points in 20 clusters, deviation .01",
    "jit6_05": "6 x 6 lattice, jitter .05",
    "levels": "40 clustered and 40 uniform points",
}


def measure(points: np.ndarray, optimal: np.ndarray) -> tuple[float, int, float]:
    """Return the mean milliseconds, how many were proven, and the largest relative error."""
    seconds, proven, error = 0.0, 0, 0.0
    for one, length in zip(points, optimal, strict=True):
        known = -1
        while len(history) > known:
            known, began = len(history), time.perf_counter()
            solution = ds.solve(one, "exact", threads=1)
            taken = time.perf_counter() - began
        seconds += taken
        proven += solution.status == "optimal"
        error = max(error, abs(solution.length / length - 1.0))
    return 1000.0 * seconds / len(points), proven, error


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--family", action="append", choices=FAMILIES)
    given = parser.parse_args()
    data = shared("structured.npz")
    if data is None:
        print("../shared/data/structured.npz is not there")
        return 2
    print_provenance(0)
    here = 1000.0 * calibration()
    scale = here / float(data["calibration_ms"])
    print(f"calibration {here:.0f} ms, {scale:.2f} times that beside GeoSteiner's times\n")
    rows = []
    for name in given.family or FAMILIES:
        points, theirs = data[f"{name}_points"], scale * float(data[f"{name}_ms"].mean())
        ours, proven, error = measure(points, data[f"{name}_opt"])
        cells = [name, FAMILIES[name], f"{proven} of {len(points)}", f"{error:.0e}"]
        rows.append([*cells, f"{ours:.0f}", f"{theirs:.0f}", f"{ours / theirs:.2f}"])
    header = ["family", "points", "proven", "largest error", "ms", "GeoSteiner, ms", "ratio"]
    print_table(header, rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
