"""Proof on TSPLIB's point sets, against the published optima.

Run: python -m benchmarks.exact.published [--limit 60] [--threads 1] [NAME ...]

Needs ../shared/data/tsplib.npz and tsplib_large.npz. Where a published lower and upper bound differ
the set was open; the difference shown is to the upper one.
"""

from __future__ import annotations

import argparse
import sys
import time

import numpy as np
from common import print_provenance, print_table, shared

import deepsteiner as ds


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*")
    parser.add_argument("--limit", type=float, default=60.0, help="seconds for each set")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--largest", type=int, default=20_000, help="points")
    given = parser.parse_args()
    small, large = shared("tsplib.npz"), shared("tsplib_large.npz")
    if small is None or large is None:
        print("../shared/data/tsplib.npz or tsplib_large.npz is not there")
        return 2
    data = {**small, **large}
    found = {name.removesuffix("_points"): points for name, points in data.items() if "_p" in name}
    print_provenance(0)
    print(f"limit {given.limit:g} s, {given.threads} threads\n")
    ds.solve(np.random.default_rng(0).random((300, 2)), "exact")
    rows = []
    for name, points in sorted(found.items(), key=lambda item: len(item[1])):
        if f"{name}_points" not in data or len(points) > given.largest:
            continue
        if given.names and name not in given.names:
            continue
        rows.append(measure(name, points, data, given))
    header = ["set", "points", "status", "length", "gap %", "published", "difference", "seconds"]
    print_table(header, rows)
    return 0


def measure(
    name: str, points: np.ndarray, data: dict[str, np.ndarray], given: argparse.Namespace
) -> list[object]:
    """Solve one set; return its row."""
    known = data.get(f"{name}_optimal_length", data.get(f"{name}_published"))
    began = time.perf_counter()
    solution = ds.solve(points, "exact", time_limit=given.limit, threads=given.threads)
    seconds = time.perf_counter() - began
    published = difference = "-"
    if known is not None:
        low, high = float(np.min(known)), float(np.max(known))
        published = f"{high:.10g}" if low == high else f"{low:.10g} to {high:.10g}"
        difference = f"{solution.length / high - 1.0:.0e}"
    gap = f"{100.0 * (solution.gap or 0.0):.2g}"
    cells = [name, len(points), solution.status, f"{solution.length:.10g}", gap]
    return [*cells, published, difference, f"{seconds:.1f}"]


if __name__ == "__main__":
    sys.exit(main())
