"""Relays: how many are placed, against cutting up the shortest tree, and against the bound.

    python benchmarks/relays.py --count 100
    python benchmarks/relays.py --count 20 --n 200 --radius 0.03 --effort best

Seconds are those of the processor, kernels warm, without the solve that comes first.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from common import print_table

import deepsteiner as ds

CASES = ((50, 0.1), (50, 0.05), (50, 0.02), (200, 0.05), (200, 0.02))


def row(n: int, radius: float, count: int, effort: str) -> list[object]:
    """Place relays on some random instances; return the means."""
    cut, spanning, placed, bounds, seconds, worse = [], [], [], [], [], 0
    for points in ds.datasets.load("uniform", n=n, count=count):
        tree = ds.solve(points)
        began = time.process_time()
        network = ds.place_relays(tree, radius, effort=effort)
        seconds.append(time.process_time() - began)
        cut.append(len(tree.with_max_edge(radius).steiner_points))
        spanning.append(network.info["from_spanning_tree"])
        placed.append(network.count)
        bounds.append(network.lower_bound)
        worse += network.count > min(cut[-1], spanning[-1])
    relays, first, second, least = map(np.mean, (placed, cut, spanning, bounds))
    return [
        n, radius, count, f"{first:.2f}", f"{second:.2f}", f"{relays:.2f}",
        f"{100 * (1 - relays / first):.1f} %", f"{100 * (1 - relays / second):.1f} %", worse,
        f"{least:.2f}", f"{100 * (relays / least - 1):.0f} %", f"{np.mean(seconds):.2f}",
    ]  # fmt: skip


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--n", type=int)
    parser.add_argument("--radius", type=float)
    parser.add_argument("--effort", default="default")
    given = parser.parse_args()
    cases = CASES if given.n is None else [(given.n, given.radius or 0.1)]
    ds.place_relays(np.random.default_rng(0).random((60, 2)), 0.1)
    header = [
        "n", "radius", "instances", "shortest tree cut", "spanning tree cut", "placed",
        "fewer", "fewer than spanning", "with more", "bound", "gap", "seconds",
    ]  # fmt: skip
    print_table(header, [row(n, radius, given.count, given.effort) for n, radius in cases])


if __name__ == "__main__":
    main()
