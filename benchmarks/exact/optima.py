"""Every instance with a stored optimum: is ours as short, proven, and never longer?

Run: python -m benchmarks.exact.optima [--quick]     (about ten minutes; needs ../shared/data)
"""

from __future__ import annotations

import sys

import numpy as np
from common import GOLDEN, golden, print_provenance, print_table, shared

import deepsteiner as ds


def sets(quick: bool):
    """Yield (name, points (B, n, 2), optima (B,))."""
    for path in sorted(GOLDEN.glob("*.npz")):
        yield (path.stem, *golden(path.stem))
    authors, deg, orlib = (
        shared(f"{name}.npz") for name in ("d1_authors", "deg10_authors", "orlib_estein")
    )
    if authors is not None:
        yield "D1 test", authors["test_points"], authors["test_optimal_length"]
        yield "D1 train", authors["train_points"], authors["train_optimal_length"]
    if deg is not None:
        yield "DEG", deg["points"], deg["optimal_length"]
    if orlib is not None:
        for n in (10, 20, 30, 40, 50, 60, 70, 80, 90, 100, 250, 500, 1000):
            if not (quick and n > 250):
                yield f"OR-Library {n}", orlib[f"points_{n}"], orlib[f"optimal_{n}"]


def main() -> None:
    print_provenance()
    rows: list[list[object]] = []
    misses = 0
    for name, points, optimum in sets("--quick" in sys.argv):
        solved = ds.solve_many(points, "exact")
        solved.validate(strict=True)
        error = solved.lengths / optimum - 1
        proven = sum(status == "optimal" for status in solved.statuses)
        missed = int((np.abs(error) > 1e-9).sum()) + len(points) - proven
        misses += missed
        rows.append(
            [name, len(points), points.shape[1], proven, f"{error.min():.1e}", f"{error.max():.1e}",
             missed, f"{solved.runtime:.1f}"]
        )  # fmt: skip
        print(f"{name}: {missed} misses", file=sys.stderr, flush=True)
    header = [
        "set",
        "count",
        "n",
        "proven",
        "shortest vs stored",
        "longest vs stored",
        "misses",
        "s",
    ]
    print_table(header, rows)
    print(f"\n{misses} misses in {sum(int(row[1]) for row in rows)} instances")


if __name__ == "__main__":
    main()
