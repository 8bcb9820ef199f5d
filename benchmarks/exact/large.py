"""Large uniform instances: time, memory and proof.

Run: python -m benchmarks.exact.large 2000 5000 [--limit 1200] [--seed 0] [--rows FILE]

10,000 points are OR-Library's where they are at hand; `--rows` keeps that row, for the README.
"""

from __future__ import annotations

import argparse
import resource
import sys
from pathlib import Path

import numpy as np
from common import REFERENCE_CALIBRATION, print_provenance, print_table, shared

import deepsteiner as ds
from deepsteiner.benchmark.timings import make_timing, write_timing
from deepsteiner.run.threads import cores

LIBRARY = 10_000


def points_of(n: int, seed: int) -> np.ndarray:
    """Return OR-Library's instance at n = 10,000 where it is there, else uniform points."""
    orlib = shared("orlib_estein.npz")
    if n == LIBRARY and orlib is not None:
        return orlib["points_10000"][0]
    return ds.datasets.load("uniform", count=1, n=n, seed=seed).points[0]


def keep(path: Path, solution: ds.Solution, memory: float, factor: float) -> None:
    """Write the row of OR-Library's instance for the README."""
    row = make_timing(
        dataset="OR-Library",
        n=len(solution.terminals),
        count=1,
        method="exact",
        options={},
        call="solve",
        threads=cores(),  # from 2,000 points on `exact` uses them all
        seconds=round(solution.runtime, 2),
        calibration=float(f"{REFERENCE_CALIBRATION / factor:.4g}"),
        seed=None,
        proven=int(solution.status == "optimal"),
        length=solution.length,
        peak_gib=round(memory, 2),
    )
    write_timing(path, row)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sizes", nargs="+", type=int)
    parser.add_argument("--limit", type=float)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--rows", type=Path, metavar="FILE", help="keep the row of OR-Library")
    arguments = parser.parse_args()
    ds.solve(np.random.default_rng(1).random((200, 2)), "exact")
    factor = print_provenance(arguments.seed)
    rows: list[list[object]] = []
    for n in arguments.sizes:
        solution = ds.solve(points_of(n, arguments.seed), "exact", time_limit=arguments.limit)
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        generation = solution.info.get("generation", {}).get("seconds", np.nan)
        row = [n, solution.status, f"{solution.length:.6f}", f"{solution.lower_bound:.6f}",
               f"{100 * solution.gap:.2g} %", f"{generation:.1f}", f"{solution.runtime:.1f}",
               f"{solution.runtime * factor:.1f}", f"{memory:.2f}"]  # fmt: skip
        rows.append(row)
        print(*row, file=sys.stderr, flush=True)
        if arguments.rows and n == LIBRARY and shared("orlib_estein.npz") is not None:
            keep(arguments.rows, solution, memory, factor)
    header = ["n", "status", "length", "bound", "gap", "generation s", "s", "s scaled", "peak GiB"]
    print_table(header, rows)


if __name__ == "__main__":
    main()
