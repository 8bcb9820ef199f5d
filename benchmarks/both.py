"""Trees around obstacles that join existing networks: gaps to the bound, time, and at any size.

    python benchmarks/both.py --sizes 10 30 100 --obstacles 10 30 --seeds 3

Terminals and obstacles of `generate_map`, lines anywhere: some run through obstacles. Half of the
lines are optional. The bound is that of `exact`: where its status is "optimal" it is the length of
a shortest tree. Times are of the processor, with kernels warm.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np

import deepsteiner as ds

RUNS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("exact", {}),
    ("local", {"effort": "fast"}),
    ("local", {"effort": "default"}),
    ("mst", {}),
)


def instance(kind: str, n: int, obstacles: int, lines: int, seed: int) -> tuple[Any, Any, Any]:
    """Return points, obstacles and lines, half of these optional."""
    town = ds.datasets.generate_map(kind, n, obstacles=obstacles, cover=0.2, seed=seed)
    random = np.random.default_rng(seed)
    tails = random.random((lines, 2))
    heads = tails + 0.5 / np.sqrt(lines) * random.normal(size=(lines, 2))
    every = list(np.stack((tails, heads), axis=1))
    return town.points, town.obstacles, [every[::2], (every[1::2], "optional")]


def main() -> None:
    """Print a row for every run."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kinds", nargs="+", default=["convex", "lakes", "blocks"])
    parser.add_argument("--sizes", type=int, nargs="+", default=[10, 30, 100])
    parser.add_argument("--obstacles", type=int, nargs="+", default=[10, 30])
    parser.add_argument("--lines", type=int, default=6)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--methods", nargs="+", default=["exact", "local", "mst"])
    parser.add_argument("--time-limit", type=float, help="seconds for each solve")
    given = parser.parse_args()
    runs = [one for one in RUNS if one[0] in given.methods]
    points, shapes, lines = instance("convex", 12, 5, 3, 1000)
    for method, options in runs:
        ds.solve(points, method, obstacles=shapes, existing=lines, **options)
    print("| kind | n | obstacles | method | proven | above the bound, mean % | s |")
    print("|---|---|---|---|---|---|---|")
    for kind in given.kinds:
        for n in given.sizes:
            for count in given.obstacles:
                _rows(kind, n, count, given, runs)


def _rows(kind: str, n: int, count: int, given: Any, runs: Any) -> None:
    """Print the rows of one kind and size."""
    gaps: dict[str, list[float]] = {}
    seconds: dict[str, float] = {}
    proven: dict[str, int] = {}
    for seed in range(given.seeds):
        points, shapes, lines = instance(kind, n, count, given.lines, seed)
        bound = None
        for method, options in runs:
            name = " ".join([method, *options.values()])
            began = time.process_time()
            try:
                found = ds.solve(
                    points, method, obstacles=shapes, existing=lines,
                    time_limit=given.time_limit, **options,
                )  # fmt: skip
            except ds.errors.ObstacleError:
                break  # a line within an obstacle
            seconds[name] = seconds.get(name, 0.0) + time.process_time() - began
            bound = found.lower_bound if method == "exact" else bound
            proven[name] = proven.get(name, 0) + (found.status == "optimal")
            gaps.setdefault(name, []).append(100 * (found.length / (bound or np.nan) - 1))
    for name, every in gaps.items():
        print(
            f"| {kind} | {n} | {count} | {name} | {proven[name]} of {len(every)} "
            f"| {np.mean(every):.3f} | {seconds[name] / len(every):.2f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
