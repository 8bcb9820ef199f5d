"""Trees around random convex obstacles: gaps of `local` to proofs, and time at any size.

    python benchmarks/obstacles_at_scale.py --gaps              # against exact, n up to 100
    python benchmarks/obstacles_at_scale.py --large 100000 25000 --effort default

Seconds are those of the processor and of the clock, kernels warm; memory is the peak of the
process. Obstacles that overlap are united, and points of one region of the free plane are kept.
"""

from __future__ import annotations

import argparse
import resource
import time
from typing import Any

import numpy as np
import shapely

import deepsteiner as ds

COVERS = (0.05, 0.1, 0.3)
SIZES = ((10, 10), (30, 30), (100, 30), (30, 100), (100, 100))


def random_map(n: int, count: int, cover: float, seed: int) -> tuple[np.ndarray, list[Any]]:
    """Return points and convex polygons that cover about a share of the unit square."""
    random = np.random.default_rng(seed)
    radius = np.sqrt(cover / count / 2.0)
    shapes = []
    for _ in range(count):
        turn = np.sort(random.random(random.integers(3, 7))) * 2.0 * np.pi
        ring = np.c_[np.cos(turn), np.sin(turn)] * radius * random.uniform(0.6, 1.4)
        shapes.append(shapely.Polygon(random.random(2) + ring))
    index = shapely.STRtree(shapes)
    points = random.random((3 * n + 10, 2))
    inside = np.unique(index.query(shapely.points(points), "intersects")[0])
    return np.delete(points, inside, axis=0)[:n], shapes


def solved(points: np.ndarray, shapes: list[Any], method: str, **options: Any) -> Any:
    """Solve; points that are cut off are left out one by one."""
    while True:
        try:
            began = time.process_time(), time.perf_counter()
            solution = ds.solve(points, method, obstacles=shapes, **options)
            return solution, time.process_time() - began[0], time.perf_counter() - began[1]
        except ds.errors.ObstacleError as error:
            row = int(str(error).split()[1])
            points = np.delete(points, row, axis=0)


def gaps(seeds: int, limit: float) -> None:
    """Print the gaps of every effort to the proven length."""
    print("| n | obstacles | cover | proven | gap fast % | gap default % | seconds |")
    print("|---|---|---|---|---|---|---|")
    for n, count in SIZES:
        for cover in COVERS:
            rows = []
            for seed in range(seeds):
                points, shapes = random_map(n, count, cover, seed)
                exact, _, _ = solved(points, shapes, "exact", time_limit=limit)
                if exact.status != "optimal":
                    continue
                kept, spent = exact.terminals, 0.0
                row = []
                for effort in ("fast", "default"):
                    found, seconds, _ = solved(kept, shapes, "local", effort=effort)
                    row.append(100.0 * (found.length / exact.length - 1.0))
                    spent = seconds
                rows.append((*row, spent))
            means = np.mean(rows, axis=0) if rows else (np.nan,) * 3
            cells = [n, count, cover, f"{len(rows)}/{seeds}", *(f"{one:.4f}" for one in means)]
            print(f"| {' | '.join(map(str, cells))} |", flush=True)


def large(n: int, count: int, cover: float, effort: str) -> None:
    """Print length, time and memory of a large instance."""
    points, shapes = random_map(n, count, cover, 0)
    warm, few = random_map(60, 20, 0.1, 1)
    solved(warm, few, "local", effort=effort)
    for method, options in (("mst", {}), ("local", {"effort": effort})):
        solution, cpu, wall = solved(points, shapes, method, **options)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        print(
            f"{method}: n {len(solution.terminals)}, length {solution.length:.6f}, bends "
            f"{len(solution.bends)}, {cpu:.1f} s of processor, {wall:.1f} s, {peak:.2f} GiB",
            flush=True,
        )


def main() -> None:
    """Run what the arguments ask for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--gaps", action="store_true")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--time-limit", type=float, default=60.0, help="seconds for a proof")
    parser.add_argument("--large", type=int, nargs=2, metavar=("POINTS", "OBSTACLES"))
    parser.add_argument("--cover", type=float, default=0.1)
    parser.add_argument("--effort", default="default")
    arguments = parser.parse_args()
    if arguments.gaps:
        gaps(arguments.seeds, arguments.time_limit)
    if arguments.large:
        large(*arguments.large, arguments.cover, arguments.effort)


if __name__ == "__main__":
    main()
