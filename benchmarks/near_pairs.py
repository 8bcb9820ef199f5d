"""Pairs of points at distance 0 and 1e-17 ... 1e-8: what they change in `exact`'s length.

    python benchmarks/near_pairs.py
    python benchmarks/near_pairs.py --sizes 4 10 --count 200

Each instance is uniform points, some of them again at the given distance and in a random direction.
The length may differ from that without the copies by no more than the summed distances plus 1e-12
of the length. The exit status is 1 where it does.
"""

from __future__ import annotations

import argparse
import sys

import numpy as np
from common import print_provenance, print_table

import deepsteiner as ds

DISTANCES = (0.0, *(10.0**exponent for exponent in range(-17, -7)))


def excess(rng: np.random.Generator, n: int, distance: float) -> tuple[float, bool]:
    """Return how much more than allowed one instance differs (relatively), and if it is proven."""
    points = rng.random((n, 2))
    copies = int(rng.integers(1, max(2, n // 4)))
    angle = rng.uniform(0, 2 * np.pi, copies)
    step = distance * np.stack((np.cos(angle), np.sin(angle)), axis=1)
    with_copies = np.concatenate((points, points[:copies] + step))
    apart = np.hypot(*(with_copies[n:] - points[:copies]).T).sum()
    merged, both = ds.solve(points, "exact"), ds.solve(with_copies, "exact")
    proven = both.status == merged.status == "optimal" and both.lower_bound <= both.length
    return (abs(both.length - merged.length) - apart) / merged.length, proven


def main() -> int:
    """Print a table of the worst differences."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=[4, 10, 30, 5000])
    parser.add_argument("--count", type=int, default=100, help="instances of up to 100 points")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    print_provenance(arguments.seed)
    rows, failed = [], False
    for n in arguments.sizes:
        count = arguments.count if n <= 100 else 1
        for k, distance in enumerate(DISTANCES):
            rng = np.random.default_rng([arguments.seed, n, k])
            results = [excess(rng, n, distance) for _ in range(count)]
            worst = max(value for value, _ in results)
            proven = sum(ok for _, ok in results)
            failed |= worst > 1e-12 or proven < count
            rows.append([n, f"{distance:g}", count, proven, f"{max(worst, 0.0):.1e}"])
    print_table(["points", "distance", "instances", "proven", "beyond the distances"], rows)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
