"""Trees that join existing networks: time to proof, and how far `local` and `mst` are from it.

    python benchmarks/existing.py --points 100 --lines 50 --seeds 5

Random points and lines in a square; lines that cross are one part. Once with every part to be
joined, once with all of them optional. Times are of the processor, with kernels warm.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

import deepsteiner as ds

RUNS = (
    ("exact", {}),
    ("local", {"effort": "fast"}),
    ("local", {"effort": "default"}),
    ("local", {"effort": "best"}),
    ("mst", {}),
)


def instance(points: int, lines: int, seed: int) -> tuple[np.ndarray, list[np.ndarray]]:
    """Return random points and lines of about a thirteenth of the side."""
    random = np.random.default_rng(seed)
    places, tails = random.random((points, 2)), random.random((lines, 2))
    heads = tails + 0.075 * random.normal(size=(lines, 2))
    return places, list(np.stack((tails, heads), axis=1))


def main() -> None:
    """Print a row for every run."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--points", type=int, default=100)
    parser.add_argument("--lines", type=int, default=50)
    parser.add_argument("--seeds", type=int, default=5)
    given = parser.parse_args()
    warm = instance(20, 8, 0)
    for method, options in RUNS:
        ds.solve(warm[0], method, existing=warm[1], **options)
    print(f"{'parts':<9} {'seed':>4} {'method':<14} {'length':>10} {'gap %':>8} {'s':>7}  status")
    for optional in (False, True):
        for seed in range(given.seeds):
            points, lines = instance(given.points, given.lines, seed)
            network = (lines, "optional") if optional else lines
            optimum = None
            for method, options in RUNS:
                began = time.process_time()
                found = ds.solve(points, method, existing=network, **options)
                spent = time.process_time() - began
                optimum = optimum or found.lower_bound or found.length
                name = " ".join([method, *options.values()])
                gap = 100 * (found.length / optimum - 1)
                print(
                    f"{'optional' if optional else 'joined':<9} {seed:>4} {name:<14} "
                    f"{found.length:>10.6f} {gap:>8.4f} {spent:>7.2f}  {found.status}"
                )


if __name__ == "__main__":
    main()
