"""Drilled boards and near-lattices, the structured instances that are hard for exact solvers.

Run: python -m benchmarks.exact.boards [--limit 120]
"""

from __future__ import annotations

import argparse
import sys

import numpy as np
from common import print_provenance, print_table

import deepsteiner as ds


def boards(seed: int = 0):
    """Yield (name, points): lattices with jitter, and lattices with holes left out."""
    rng = np.random.default_rng(seed)
    for side, jitter in ((15, 0.1), (20, 0.1), (15, 0.03)):
        lattice = np.stack(np.meshgrid(np.arange(side), np.arange(side)), axis=-1).reshape(-1, 2)
        yield (
            f"{side}x{side}, jitter {jitter}",
            lattice + jitter * rng.standard_normal((side**2, 2)),
        )
    for side, share in ((20, 0.5), (25, 0.4)):
        lattice = np.stack(np.meshgrid(np.arange(side), np.arange(side)), axis=-1).reshape(-1, 2)
        kept = rng.permutation(side**2)[: int(share * side**2)]
        yield f"{share:.0%} of {side}x{side}", lattice[np.sort(kept)].astype(float)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--limit", type=float, default=120)
    limit = parser.parse_args().limit
    ds.solve(np.random.default_rng(1).random((60, 2)), "exact")
    factor = print_provenance(seed=0)
    rows: list[list[object]] = []
    for name, points in boards():
        solution = ds.solve(points, "exact", time_limit=limit)
        row = [name, len(points), solution.status, f"{solution.length:.6f}", f"{solution.gap:.2g}",
               f"{solution.runtime:.2f}", f"{solution.runtime * factor:.2f}",
               solution.info["generation"]["trees"]]  # fmt: skip
        rows.append(row)
        print(*row, file=sys.stderr, flush=True)
    print_table(["board", "n", "status", "length", "gap", "s", "s scaled", "FSTs"], rows)


if __name__ == "__main__":
    main()
