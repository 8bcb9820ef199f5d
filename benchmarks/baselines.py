"""Gap and time of the simple methods on the paper's data sets, beside the paper's figures.

Run: python benchmarks/baselines.py          (about a minute; authors' sets where ../shared exists)
"""

from __future__ import annotations

import numpy as np
from common import golden, print_provenance, print_table, shared

import deepsteiner as ds


def datasets() -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Return D1, D2, D3 and DEG with their optima: the authors' own where there."""
    sets = {"D1": golden("u10"), "D2": golden("u20"), "D3": golden("g10")}
    authors, deg = shared("d1_authors.npz"), shared("deg10_authors.npz")
    if authors is not None:
        sets["D1"] = authors["test_points"], authors["test_optimal_length"]
    if deg is not None:
        sets["DEG"] = deg["points"], deg["optimal_length"]
    return sets


# data set, method, options, what the paper (or the anchor) says
ROWS = [
    ("D1", "mst", {}, "3.15"),
    ("D2", "mst", {}, "3.19"),
    ("D3", "mst", {}, "3.06"),
    ("DEG", "mst", {}, "3.29"),
    ("D1", "rand1", {}, "25.05 printed, 24.6 anchor"),
    ("D3", "rand1", {"distribution": "uniform"}, "48.44 printed, 46.3 anchor"),
    ("D3", "rand1", {"distribution": "normal"}, "27.2 anchor"),
    ("D1", "rand2", {}, "4.20 printed, 2.93 anchor"),
    ("D1", "rand2", {"keep_worsening": True}, "4.20 printed, 4.03 anchor"),
    ("D1", "rand2", {"candidates": "knn"}, "3.64 printed, 2.97 anchor"),
    ("D1", "rand2", {"candidates": "knn", "keep_worsening": True}, "3.64 printed, 4.63 anchor"),
    ("D1", "rand2", {"candidates": "grid", "extent": "unit"}, "3.31 printed, 3.08 anchor"),
    ("D1", "greedy", {"relax": False}, "0.09 anchor"),
    ("D2", "greedy", {"relax": False}, "0.099 anchor"),
    ("D3", "greedy", {"relax": False}, "0.087 anchor"),
    ("DEG", "greedy", {"relax": False}, "0.098 anchor"),
    ("D1", "greedy", {"relax": False, "candidates": "knn"}, "0.085 anchor"),
    ("D1", "greedy", {"relax": False, "candidates": "grid", "extent": "unit"}, "1.10 anchor"),
    (
        "D1",
        "greedy",
        {"relax": False, "candidates": "grid", "extent": "unit", "grid": 20},
        "0.48 anchor",
    ),
    ("D1", "greedy", {}, "at most 0.06"),
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
        points, optimum = sets[name]
        ds.solve_many(points[:50], method, **options)
        solutions = ds.solve_many(points, method, seed=0, **options)
        gap = 100 * (solutions.lengths / optimum - 1)
        each = 1000 * solutions.runtime / len(points)
        settings = ", ".join(f"{key}={value}" for key, value in options.items())
        table.append(
            [
                name,
                f"{method} {settings}",
                len(points),
                f"{gap.mean():.4g}",
                f"{gap.std() / np.sqrt(len(gap)):.2g}",
                says,
                f"{each:.4f}",
                f"{each * factor:.4f}",
            ]
        )
    header = ["set", "method", "count", "gap %", "std. error", "paper / anchor", "ms", "ms scaled"]
    print_table(header, table)


if __name__ == "__main__":
    main()
