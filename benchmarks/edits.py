"""Edits: the time of moving one point against a fresh solve, and how much longer the tree is.

    python benchmarks/edits.py --n 10000 --moves 20 --fresh 3
    python benchmarks/edits.py --n 1000 --moves 20 --obstacles 50

Seconds are those of the processor, kernels warm. The tree after each of the first moves is
compared with a fresh solve of the same points; 'longer' is the mean, in percent. With obstacles,
random convex ones that cover a tenth of the square, points move to places outside them.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np
from common import print_table
from obstacles_at_scale import random_map

import deepsteiner as ds

COVER = 0.1


def seconds(call: Any) -> tuple[float, ds.Solution]:
    """Return how long a call takes and what it returns."""
    began = time.process_time()
    result = call()
    return time.process_time() - began, result


def main() -> None:
    """Print one row."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n", type=int, default=10_000)
    parser.add_argument("--moves", type=int, default=20)
    parser.add_argument("--fresh", type=int, default=3)
    parser.add_argument("--method", default="auto")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--obstacles", type=int, default=0)
    given = parser.parse_args()
    rng = np.random.default_rng(given.seed)
    points, places = rng.random((given.n, 2)), rng.random((given.moves, 2))
    around: dict[str, Any] = {}
    if given.obstacles:
        free, shapes = random_map(given.n + given.moves, given.obstacles, COVER, given.seed)
        points, places = np.split(free, [given.n])
        around = {"obstacles": shapes}
    ds.solve(rng.random((max(200, given.n // 10), 2)), given.method)
    ds.solve(points[:200], given.method, **around).with_points(move={0: places[0]})
    once, tree = seconds(lambda: ds.solve(points, given.method, **around))
    times, longer = [], []
    for number in range(given.moves):
        index, place = int(rng.integers(given.n)), places[number]
        took, moved = seconds(lambda: tree.with_points(move={index: place}))  # noqa: B023
        times.append(took)
        if number < given.fresh:
            again, fresh = seconds(lambda: ds.solve(moved.terminals, given.method, **around))  # noqa: B023
            once = min(once, again)
            longer.append(100.0 * (moved.length / fresh.length - 1.0))
    header = ["n", "obstacles", "method", "fresh, s", "move, s", "share", "longer by", "by at most"]
    row = [
        given.n, given.obstacles, tree.method, f"{once:.2f}", f"{np.mean(times):.3f}",
        f"{100 * np.mean(times) / once:.2f} %", f"{np.mean(longer):+.4f} %",
        f"{np.max(longer):+.4f} %",
    ]  # fmt: skip
    print_table(header, [row])


if __name__ == "__main__":
    main()
