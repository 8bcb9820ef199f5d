"""The TSPLIB point sets: time to proof, beside the stored or published optimum.

Run: python -m benchmarks.exact.tsplib [--limit 300] [--largest 2400] [--threads 1] [NAME ...]

Needs ../shared/data. `--open` takes the sets without a known optimum. Where the published lower and
upper bound differ a set was open in 2015; the difference shown is to the upper one.
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
HEADER = ["set", "points", "status", "length", "gap %", "published", "difference", "s", "s scaled"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*")
    parser.add_argument("--limit", type=float, default=300, help="seconds for each set")
    parser.add_argument("--largest", type=int, default=2400, help="points of the sets that are run")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--open", action="store_true")
    given = parser.parse_args()
    small, large = shared("tsplib.npz"), shared("tsplib_large.npz")
    if small is None or large is None:
        sys.exit("needs ../shared/data/tsplib.npz and tsplib_large.npz")
    data = {**small, **large}
    names = given.names or [
        key.removesuffix("_points")
        for key, points in data.items()
        if key.endswith("_points") and len(points) <= given.largest
    ]
    if given.open:
        names = [name for name in names if known(data, name) is None]
    ds.solve(np.random.default_rng(1).random((300, 2)), "exact")
    factor = print_provenance()
    print(f"limit {given.limit:g} s, threads {given.threads}\n")
    rows: list[list[object]] = []
    for name in sorted(names, key=lambda name: len(data[f"{name}_points"])):
        rows.append(row(data, name, given, factor))
        print(*rows[-1], file=sys.stderr, flush=True)
    print_table([*HEADER, "FSTs", "nodes", "GeoSteiner s"], rows)


def known(data: dict[str, np.ndarray], name: str) -> tuple[float, float] | None:
    """Return the best known bounds of a set, equal where it is solved."""
    found = data.get(f"{name}_optimal_length", data.get(f"{name}_published"))
    return None if found is None else (float(np.min(found)), float(np.max(found)))


def row(
    data: dict[str, np.ndarray], name: str, given: argparse.Namespace, factor: float
) -> list[object]:
    """Solve one set."""
    points = data[f"{name}_points"]
    solution = ds.solve(points, "exact", time_limit=given.limit, threads=given.threads)
    published = difference = ""
    if (bounds := known(data, name)) is not None:
        low, high = bounds
        published = f"{high:.10g}" if low == high else f"{low:.10g} to {high:.10g}"
        difference = f"{solution.length / high - 1.0:.0e}"
    stages = {**solution.info.get("generation", {}), **solution.info.get("concatenation", {})}
    return [
        name, len(points), solution.status, f"{solution.length:.10g}",
        f"{100.0 * (solution.gap or 0.0):.2g}", published, difference,
        f"{solution.runtime:.2f}", f"{solution.runtime * factor:.2f}",
        stages.get("trees", ""), stages.get("nodes", ""), GEOSTEINER.get(name, ""),
    ]  # fmt: skip


if __name__ == "__main__":
    main()
