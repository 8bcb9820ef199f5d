"""The TSPLIB point sets: time to proof, beside the stored optimum.

Run: python -m benchmarks.exact.tsplib [--limit 300] [--open] [NAME ...]     (needs ../shared/data)

`--open` takes the sets without a stored optimum, which GeoSteiner did not finish in 90 s.
"""

from __future__ import annotations

import argparse
import sys

import numpy as np
from common import print_provenance, print_table, shared

import deepsteiner as ds

# GeoSteiner 5.3 in one process, seconds, where it was measured; "> 90" did not finish.
GEOSTEINER = {
    "kroA100": "0.19", "eil101": "1.2", "pr136": "21", "a280": "10", "fl417": "61",
    "pr1002": "14", "u1060": "42", "pr226": "> 90", "pr264": "> 90", "pcb442": "> 90",
    "d493": "> 90", "p654": "> 90", "d1291": "> 90", "fl1400": "> 90", "u1432": "> 90",
}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--limit", type=float, default=300)
    parser.add_argument("--open", action="store_true")
    parser.add_argument("names", nargs="*")
    arguments = parser.parse_args()
    data = shared("tsplib.npz")
    if data is None:
        sys.exit("needs ../shared/data/tsplib.npz")
    names = [key.removesuffix("_points") for key in data if key.endswith("_points")]
    chosen = arguments.names or [
        name for name in names if arguments.open != (f"{name}_optimal_length" in data)
    ]
    ds.solve(np.random.default_rng(1).random((60, 2)), "exact")
    factor = print_provenance()
    rows: list[list[object]] = []
    for name in sorted(chosen, key=lambda name: len(data[f"{name}_points"])):
        points = data[f"{name}_points"]
        solution = ds.solve(points, "exact", time_limit=arguments.limit)
        optimum = data.get(f"{name}_optimal_length")
        error = "" if optimum is None else f"{solution.length / float(optimum) - 1:.1e}"
        stages = {**solution.info.get("generation", {}), **solution.info.get("concatenation", {})}
        row = [name, len(points), solution.status, f"{solution.length:.4f}", error,
               f"{solution.gap:.2g}", f"{solution.runtime:.2f}", f"{solution.runtime * factor:.2f}",
               stages.get("trees", ""), stages.get("nodes", ""),
               GEOSTEINER.get(name, "")]  # fmt: skip
        rows.append(row)
        print(*row, file=sys.stderr, flush=True)
    header = ["set", "n", "status", "length", "vs stored", "gap", "s", "s scaled", "FSTs", "nodes"]
    header.append("GeoSteiner s")
    print_table(header, rows)


if __name__ == "__main__":
    main()
