"""Gap of a policy model on the paper's test sets: Algorithm 1, refined, and with x8 augmentation.

Run: python benchmarks/policy_gap.py [--device cuda] [--count 10000] [--model mst-d1]

Reads the authors' D1 and DEG where ../shared exists (or the file named by --data, with the arrays
d1, d1_optimum, deg, deg_optimum), else the golden uniform instances.
"""

from __future__ import annotations

import argparse

import numpy as np
from common import golden, print_table, shared

import deepsteiner as ds

SETTINGS = [
    {"normalize": False},
    {"refine": True},
    {"augment": True},
    {"augment": True, "refine": True},
]


def datasets(path: str | None) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    if path is not None:
        with np.load(path) as data:
            return {name: (data[name], data[f"{name}_optimum"]) for name in ("d1", "deg")}
    authors, deg = shared("d1_authors.npz"), shared("deg10_authors.npz")
    if authors is None or deg is None:
        return {"u10": golden("u10")}
    return {
        "d1": (authors["test_points"], authors["test_optimal_length"]),
        "deg": (deg["points"], deg["optimal_length"]),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--model", default="mst-d1")
    parser.add_argument("--data")
    given = parser.parse_args()
    call = {"model": given.model, "device": given.device}
    rows: list[list[object]] = []
    for name, (points, optimum) in datasets(given.data).items():
        points, optimum = points[: given.count], optimum[: given.count]
        ds.solve_many(points[:16], "policy", **call)
        for options in SETTINGS:
            solved = ds.solve_many(points, "policy", **call, **options)
            gap = 100 * (solved.lengths / optimum - 1)
            error = gap.std() / np.sqrt(len(gap))
            each = 1000 * solved.runtime / len(points)
            settings = ", ".join(f"{key}={value}" for key, value in options.items())
            rows.append(
                [name, len(points), settings, f"{gap.mean():.4f}", f"{error:.4f}", f"{each:.3f}"]
            )
    print_table(["set", "count", "options", "gap %", "std. error", "ms"], rows)


if __name__ == "__main__":
    main()
