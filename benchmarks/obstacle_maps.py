"""Random convex obstacles: rounds, corners in play, time and share proven, by kind of map.

Convex polygons of 3 to 8 corners that do not overlap cover a share of the unit square; terminals
are uniform outside of them. Seconds are those of the processor, kernels warm.

    python benchmarks/obstacle_maps.py --sizes 10 100 --obstacles 10 100 --time-limit 60
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np
import shapely

import deepsteiner as ds

HEADER = (
    "| n | obstacles | covered | maps | proven | rounds | corners in play | seconds, median "
    "| seconds, most |\n|---|---|---|---|---|---|---|---|---|"
)
TRIES = 200_000


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


def row(n: int, count: int, share: float, maps: int, limit: float) -> str:
    """Solve the maps of a kind and return their row."""
    proven, rounds, corners, seconds, covered = 0, [], [], [], []
    for seed in range(maps):
        points, shapes = random_map(seed, n, count, share)
        began = time.process_time()
        solution = ds.solve(points, "exact", obstacles=shapes, time_limit=limit)
        seconds.append(time.process_time() - began)
        proven += solution.status == "optimal"
        rounds.append(solution.info.get("rounds", 0))
        corners.append(solution.info.get("active_corners", 0))
        covered.append(sum(shape.area for shape in shapes))
    cells = (
        n, count, f"{100 * np.mean(covered):.0f} %", maps, proven, f"{np.mean(rounds):.1f}",
        f"{np.mean(corners):.0f}", f"{np.median(seconds):.2f}", f"{max(seconds):.2f}",
    )  # fmt: skip
    return f"| {' | '.join(map(str, cells))} |"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=[10, 30, 100, 300, 1000])
    parser.add_argument("--obstacles", type=int, nargs="+", default=[10, 100, 500])
    parser.add_argument("--covered", type=float, nargs="+", default=[0.05, 0.1, 0.3])
    parser.add_argument("--maps", type=int, default=10, help="of each kind")
    parser.add_argument("--time-limit", type=float, default=60.0, help="seconds for each")
    arguments = parser.parse_args()
    ds.solve([[0, 0], [1, 0], [1, 1]], "exact", obstacles=[[[0.4, -1], [0.6, -1], [0.5, 1]]])
    print(HEADER)
    for n in arguments.sizes:
        for count in arguments.obstacles:
            for share in arguments.covered:
                print(row(n, count, share, arguments.maps, arguments.time_limit), flush=True)


if __name__ == "__main__":
    main()
