"""Gap and time of the simple methods on the paper's kinds of instances, beside its figures.

Run: python -m benchmarks.heuristics.baselines          (about a minute)

D1 and DEG are the authors' own instances where ../shared has them, else D1 is the golden set of
the same kind; D2 and D3 are golden sets. The table says which.
"""

from __future__ import annotations

import numpy as np
from common import golden, print_provenance, print_table, shared

import deepsteiner as ds


def datasets() -> dict[str, tuple[str, np.ndarray, np.ndarray]]:
    """Return D1, D2, D3 and DEG by name: which data it is, the points, the optima."""
    names = {"D1": "u10", "D2": "u20", "D3": "g10"}
    sets = {name: (f"{name}, golden {file}", *golden(file)) for name, file in names.items()}
    authors, deg = shared("d1_authors.npz"), shared("deg10_authors.npz")
    if authors is not None:
        sets["D1"] = "D1, authors'", authors["test_points"], authors["test_optimal_length"]
    if deg is not None:
        sets["DEG"] = "DEG, authors'", deg["points"], deg["optimal_length"]
    return sets


# data set, method, options, what the paper prints on its own draws
ROWS = [
    ("D1", "mst", {}, "3.15"),
    ("D2", "mst", {}, "3.19"),
    ("D3", "mst", {}, "3.06"),
    ("DEG", "mst", {}, "3.29"),
    ("D1", "rand1", {}, "25.05"),
    ("D3", "rand1", {"distribution": "uniform"}, "48.44"),
    ("D3", "rand1", {"distribution": "normal"}, ""),
    ("D1", "rand2", {}, "4.20"),
    ("D1", "rand2", {"keep_worsening": True}, "4.20"),
    ("D1", "rand2", {"candidates": "knn"}, "3.64"),
    ("D1", "rand2", {"candidates": "knn", "keep_worsening": True}, "3.64"),
    ("D1", "rand2", {"candidates": "grid", "extent": "unit"}, "3.31"),
    ("D1", "greedy", {"relax": False}, ""),
    ("D2", "greedy", {"relax": False}, ""),
    ("D3", "greedy", {"relax": False}, ""),
    ("DEG", "greedy", {"relax": False}, ""),
    ("D1", "greedy", {"relax": False, "candidates": "knn"}, ""),
    ("D1", "greedy", {"relax": False, "candidates": "grid", "extent": "unit"}, ""),
    ("D1", "greedy", {"relax": False, "candidates": "grid", "extent": "unit", "grid": 20}, ""),
    ("D1", "greedy", {}, ""),
    ("D2", "greedy", {}, ""),
    ("D3", "greedy", {}, ""),
    ("DEG", "greedy", {}, ""),
    ("D1", "exact", {}, "0"),
]


def main() -> None:
    factor = print_provenance(seed=0)
    sets = datasets()
    table: list[list[object]] = []
    for name, method, options, says in ROWS:
        if name not in sets:
            continue
        data, points, optimum = sets[name]
        ds.solve_many(points[:50], method, **options)
        solutions = ds.solve_many(points, method, seed=0, **options)
        gap = 100 * (solutions.lengths / optimum - 1)
        each = 1000 * solutions.runtime / len(points)
        settings = ", ".join(f"{key}={value}" for key, value in options.items())
        table.append(
            [
                data,
                f"{method} {settings}",
                len(points),
                f"{gap.mean():.4g}",
                f"{gap.std() / np.sqrt(len(gap)):.2g}",
                says,
                f"{each:.4f}",
                f"{each * factor:.4f}",
            ]
        )
    header = ["set", "method", "count", "gap %", "std. error", "paper", "ms", "ms scaled"]
    print_table(header, table)


if __name__ == "__main__":
    main()
