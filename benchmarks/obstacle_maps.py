"""Random convex obstacles: rounds, corners in play, time and share proven, by kind of map.

Convex polygons of 3 to 8 corners that do not overlap cover a share of the unit square; terminals
are uniform outside of them. Seconds are those of the processor, kernels warm.

    python benchmarks/obstacle_maps.py --sizes 10 100 --obstacles 10 100 --time-limit 60
    python benchmarks/obstacle_maps.py --maps 5 --workers 12 --seconds 500 --out rows.jsonl

A map counts as proven where its proof took no longer than the limit, on the clock of its process.
"""

from __future__ import annotations

import argparse
import itertools
import json
import multiprocessing
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import shapely

import deepsteiner as ds

HEADER = (
    "| n | obstacles | covered | maps | proven | rounds | corners in play | seconds, median "
    "| seconds, most |\n|---|---|---|---|---|---|---|---|---|"
)
TRIES = 200_000
LONGEST = 3600.0
"""Seconds after which workers of which nothing is heard are given up."""


def random_map(seed: int, n: int, count: int, share: float) -> tuple[np.ndarray, list[Any]]:
    """Return terminals and obstacles that cover a share of the unit square."""
    random = np.random.default_rng([seed, n, count, round(100 * share)])
    radius = np.sqrt(share / count / 2.0)
    shapes: list[Any] = []
    for _ in range(TRIES):
        if len(shapes) == count:
            break
        turn = np.sort(random.random(int(random.integers(3, 9)))) * 2 * np.pi
        ring = np.c_[np.cos(turn), np.sin(turn)]
        shape = shapely.Polygon(ring)
        if shape.area < 0.5:
            continue
        size = radius * random.uniform(0.7, 1.3) * np.sqrt(2.0 / shape.area)
        shape = shapely.Polygon(random.random(2) + size * ring)
        if not shapely.box(0, 0, 1, 1).contains(shape):
            continue
        if not shapes or not shapely.STRtree(shapes).query(shape, "intersects").size:
            shapes.append(shape)
    points = random.random((4 * n + 100, 2))
    inside = shapely.STRtree(shapes).query(shapely.points(points), "intersects")[0]
    return np.delete(points, np.unique(inside), axis=0)[:n], shapes


def solved(job: tuple[int, int, float, int, float]) -> dict[str, Any]:
    """Solve a map; return what its row is made of."""
    n, count, share, seed, limit = job
    points, shapes = random_map(seed, n, count, share)
    began = time.process_time()
    solution = ds.solve(points, "exact", obstacles=shapes, time_limit=limit)
    return {
        "n": n,
        "obstacles": count,
        "share": share,
        "seed": seed,
        "seconds": time.process_time() - began,
        "proven": solution.status == "optimal",
        "gap": solution.gap,
        "rounds": solution.info.get("rounds", 0),
        "corners": solution.info.get("active_corners", 0),
        "covered": sum(shape.area for shape in shapes),
    }


def row(kind: tuple[int, int, float], maps: list[dict[str, Any]]) -> str:
    """Return the row of a kind of maps."""

    def all_of(name: str) -> list[Any]:
        return [one[name] for one in maps]

    seconds = all_of("seconds")
    cells = (
        *kind[:2], f"{100 * np.mean(all_of('covered')):.0f} %", len(maps), sum(all_of("proven")),
        f"{np.mean(all_of('rounds')):.1f}", f"{np.mean(all_of('corners')):.0f}",
        f"{np.median(seconds):.2f}", f"{max(seconds):.2f}",
    )  # fmt: skip
    return f"| {' | '.join(map(str, cells))} |"


def warm(_: Any = None) -> None:
    """Load what a proof needs."""
    ds.solve([[0, 0], [1, 0], [1, 1]], "exact", obstacles=[[[0.4, -1], [0.6, -1], [0.5, 1]]])
    points, shapes = random_map(0, 12, 10, 0.1)
    ds.solve(points, "exact", obstacles=shapes, time_limit=60.0)


def results(jobs: list[Any], workers: int, until: float) -> Iterator[dict[str, Any]]:
    """Solve maps, in several processes, until a time of `perf_counter`."""
    warm()
    if workers <= 1:
        for job in jobs:
            if time.perf_counter() > until:
                return
            yield solved(job)
        return
    for name in ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ.setdefault(name, "1")
    with multiprocessing.get_context("spawn").Pool(workers, warm) as pool:
        waiting = pool.imap_unordered(solved, jobs)
        try:
            while True:
                yield waiting.next(min(max(0.01, until - time.perf_counter()), LONGEST))
        except (StopIteration, multiprocessing.TimeoutError):
            pool.terminate()


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=[10, 30, 100, 300, 1000])
    parser.add_argument("--obstacles", type=int, nargs="+", default=[10, 100, 500])
    parser.add_argument("--covered", type=float, nargs="+", default=[0.05, 0.1, 0.3])
    parser.add_argument("--maps", type=int, default=10, help="of each kind")
    parser.add_argument("--time-limit", type=float, default=60.0, help="seconds for each")
    parser.add_argument("--workers", type=int, default=1, help="processes")
    parser.add_argument("--seconds", type=float, default=np.inf, help="begin no map after so many")
    parser.add_argument("--out", type=Path, help="file for a line of JSON for each map")
    arguments = parser.parse_args()
    kinds = list(itertools.product(arguments.sizes, arguments.obstacles, arguments.covered))
    # Seeds first: a limit of seconds then leaves out whole seeds, not whole kinds.
    jobs = [(*kind, seed, arguments.time_limit) for seed in range(arguments.maps) for kind in kinds]
    found: dict[tuple[int, int, float], list[dict[str, Any]]] = {kind: [] for kind in kinds}
    until = time.perf_counter() + arguments.seconds
    if arguments.out:
        arguments.out.write_text("")
    for one in results(jobs, arguments.workers, until):
        found[one["n"], one["obstacles"], one["share"]].append(one)
        if arguments.out:
            with arguments.out.open("a") as file:
                file.write(json.dumps(one) + "\n")
    print(HEADER)
    for kind, maps in found.items():
        if maps:
            print(row(kind, maps))
    done = sum(map(len, found.values()))
    if done < len(jobs):
        print(f"\n{len(jobs) - done} of {len(jobs)} maps were not finished in time")


if __name__ == "__main__":
    main()
