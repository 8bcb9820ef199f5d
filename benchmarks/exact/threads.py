"""Proof by the number of threads: uniform points, the time of each stage, memory.

Run: python -m benchmarks.exact.threads [--size 50000] [--threads 1 2 4] [--limit 600] [--seed 1]
"""

from __future__ import annotations

import argparse
import resource
import time

import numpy as np
from common import print_provenance, print_table

import deepsteiner as ds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--size", type=int, default=50_000)
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--limit", type=float, help="seconds for each proof")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    print_provenance(given.seed)
    points = np.random.default_rng(given.seed).random((given.size, 2))
    ds.solve(points[:3000], "exact", threads=max(given.threads))
    rows: list[list[object]] = []
    for threads in given.threads:
        began = time.perf_counter()
        solution = ds.solve(points, "exact", threads=threads, time_limit=given.limit)
        seconds = time.perf_counter() - began
        listed, chosen = (solution.info.get(name, {}) for name in ("generation", "concatenation"))
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        rows.append([
            given.size, threads, solution.status, f"{solution.length:.8f}",
            f"{100 * (solution.gap or 0.0):.2g}", f"{listed.get('seconds', 0.0):.1f}",
            f"{chosen.get('seconds', 0.0):.1f}", f"{seconds:.1f}", f"{memory:.1f}",
        ])  # fmt: skip
        print(rows[-1], {**listed, **chosen}, flush=True)
    header = ["points", "threads", "status", "length", "gap %", "generation s", "concatenation s"]
    print_table([*header, "s", "peak GiB"], rows)


if __name__ == "__main__":
    main()
