"""Gap, time and share of the saving of smith, thompson and dreyer; bereta's anytime curve.

Run: python -m benchmarks.heuristics.classics           (about three minutes; one thread)
     python -m benchmarks.heuristics.classics --quick   (a tenth of the instances)
     python -m benchmarks.heuristics.classics uniform   (or tsplib, large, bereta: one table)

`share` is the part of the optimum's saving over the spanning tree that the method finds, the mean
length of the instances taken together. "in C": gap / ms of Smith, Lee and Liebman's heuristic in C,
without relaxation, on instances of the same kind. "paper": the Deep-Steiner paper's cells for
bereta, on its own draws; ours are the authors' D1 where ../shared has it, and golden sets.
"""

from __future__ import annotations

import argparse

import numpy as np
from common import golden, print_provenance, print_table, shared

import deepsteiner as ds

SIZES = (10, 20, 50, 100, 200, 500, 1000)
METHODS: list[tuple[str, dict[str, object]]] = [
    ("smith", {}),
    ("smith", {"refine": False}),
    ("thompson", {}),
    ("dreyer", {"variant": "incremental"}),
    ("dreyer", {"variant": "insertion"}),
]
# Gap % / ms of Smith, Lee and Liebman's heuristic in C.
SMITH_IN_C = dict(
    zip(
        SIZES,
        (".354/.006", ".378/.016", ".405/.05", ".416/.12", ".425/.25", ".428/.72", ".419/1.6"),
        strict=True,
    )
)
# The paper's gaps after 10, 20 and 50 iterations.
BERETA_PAPER = {
    "D1": {10: 1.67, 20: 1.08, 50: 0.59},
    "D2": {10: 2.43, 20: 1.92, 50: 1.18},
    "D3": {10: 1.67, 20: 1.13, 50: 0.61},
}


def uniform_sets(quick: bool) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Return uniform instances by name: golden ones, and the OR-Library's where it is there."""
    sets = {f"golden {n}": golden(f"u{n}") for n in SIZES[:-1]}
    if quick:
        sets = {name: (p[: max(4, len(p) // 10)], o) for name, (p, o) in sets.items()}
    library = shared("orlib_estein.npz")
    if library is not None:
        for n in (10, 20, 50, 100, 250, 500, 1000):
            sets[f"OR-Library {n}"] = library[f"points_{n}"], library[f"optimal_{n}"]
    return sets


def classic_rows(factor: float, quick: bool) -> list[list[object]]:
    rows: list[list[object]] = []
    for name, (points, optimum) in uniform_sets(quick).items():
        optimum = optimum[: len(points)]
        spanning = ds.solve_many(points, "mst").lengths
        for method, options in METHODS:
            ds.solve_many(points[:4], method, **options)
            solved = ds.solve_many(points, method, **options).validate(strict=True)
            gap = 100 * (solved.lengths / optimum - 1)
            share = (spanning - solved.lengths).sum() / (spanning - optimum).sum()
            each = 1000 * solved.runtime / len(points)
            other = SMITH_IN_C.get(points.shape[1], "") if method == "smith" else ""
            settings = ", ".join(f"{key}={value}" for key, value in options.items())
            rows.append(
                [
                    name,
                    len(points),
                    f"{method} {settings}",
                    f"{gap.mean():.3f}",
                    f"{gap.std() / np.sqrt(len(gap)):.3f}",
                    f"{100 * share:.1f}",
                    f"{each:.3f}",
                    f"{each * factor:.3f}",
                    other,
                ]
            )
    return rows


def tsplib_rows(factor: float, quick: bool) -> list[list[object]]:
    data = shared("tsplib.npz")
    if data is None:
        return []
    names = [key.removesuffix("_optimal_length") for key in data if key.endswith("_optimal_length")]
    names = names[:: 5 if quick else 1]
    spanning = {name: ds.solve(data[f"{name}_points"], "mst").length for name in names}
    rows: list[list[object]] = []
    for method, options in METHODS:
        gaps, shares, seconds = [], [], []
        for name in names:
            optimum = float(data[f"{name}_optimal_length"])
            solution = ds.solve(data[f"{name}_points"], method, **options).validate(strict=True)
            gaps.append(100 * (solution.length / optimum - 1))
            shares.append((spanning[name] - solution.length) / (spanning[name] - optimum))
            seconds.append(solution.runtime)
        worst = int(np.argmax(gaps))
        settings = ", ".join(f"{key}={value}" for key, value in options.items())
        rows.append(
            [
                f"{method} {settings}",
                len(names),
                f"{np.mean(gaps):.3f}",
                f"{np.std(gaps) / np.sqrt(len(gaps)):.3f}",
                f"{gaps[worst]:.3f} ({names[worst]})",
                f"{100 * np.mean(shares):.1f}",
                f"{1000 * np.mean(seconds):.1f}",
                f"{1000 * factor * np.mean(seconds):.1f}",
            ]
        )
    return rows


def large_rows(factor: float, quick: bool) -> list[list[object]]:
    n = 20_000 if quick else 100_000
    points = np.random.default_rng(n).random((n, 2))
    spanning = ds.solve(points, "mst").length
    rows: list[list[object]] = []
    for method, options in [("mst", {}), *METHODS]:
        solution = ds.solve(points, method, **options).validate(strict=True)
        settings = ", ".join(f"{key}={value}" for key, value in options.items())
        saved = 100 * (1 - solution.length / spanning)
        spent = solution.runtime
        cells = [f"{saved:.3f}", f"{spent:.2f}", f"{spent * factor:.2f}"]
        rows.append([n, f"{method} {settings}", *cells])
    return rows


def bereta_rows(factor: float, quick: bool) -> list[list[object]]:
    authors = shared("d1_authors.npz")
    sets = {"D1": golden("u10"), "D2": golden("u20"), "D3": golden("g10")}
    if authors is not None:
        sets["D1"] = authors["test_points"], authors["test_optimal_length"]
    rows: list[list[object]] = []
    for name, (points, optimum) in sets.items():
        for iterations in (10, 20, 50, 500):
            count = min(len(points), 1000 if iterations == 500 else 10_000) // (10 if quick else 1)
            ds.solve_many(points[:4], "bereta")
            solved = ds.solve_many(points[:count], "bereta", iterations=iterations, seed=0)
            gap = 100 * (solved.validate(strict=True).lengths / optimum[:count] - 1)
            each = 1000 * solved.runtime / count
            rows.append(
                [
                    name,
                    count,
                    iterations,
                    f"{gap.mean():.3f}",
                    f"{gap.std() / np.sqrt(count):.3f}",
                    BERETA_PAPER[name].get(iterations, ""),
                    f"{each:.3f}",
                    f"{each * factor:.3f}",
                ]
            )
    return rows


TABLES = {
    "uniform": (
        ["set", "count", "method", "gap %", "std. error", "share %", "ms", "ms scaled", "in C"],
        classic_rows,
    ),
    "tsplib": (
        ["TSPLIB", "count", "gap %", "std. error", "worst %", "share %", "ms", "ms scaled"],
        tsplib_rows,
    ),
    "large": (["n uniform", "method", "saved %", "s", "s scaled"], large_rows),
    "bereta": (
        ["set", "count", "iterations", "gap %", "std. error", "paper", "ms", "ms scaled"],
        bereta_rows,
    ),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tables", nargs="*", help=f"of {', '.join(TABLES)}; all by default")
    parser.add_argument("--quick", action="store_true", help="a tenth of the instances")
    arguments = parser.parse_args()
    unknown = set(arguments.tables) - set(TABLES)
    if unknown:
        parser.error(f"no such table: {', '.join(sorted(unknown))}")
    factor = print_provenance(seed=0)
    for number, name in enumerate(arguments.tables or TABLES):
        if number:
            print()
        header, rows_of = TABLES[name]
        print_table(header, rows_of(factor, arguments.quick))


if __name__ == "__main__":
    main()
