"""`local`: gap and time on golden, OR-Library and TSPLIB instances, and at scale.

    python benchmarks/local.py                  the tables: efforts x instance sets
    python benchmarks/local.py --effort fast    one effort only
    python benchmarks/local.py --large          100,000 and 1,000,000 uniform points (minutes)

One thread, except --large, which uses every core. Times are scaled to the reference calibration.
"""

from __future__ import annotations

import argparse
import resource
import time

import numpy as np
from common import golden, print_provenance, print_table, shared

import deepsteiner as ds

EFFORTS = ("fast", "default", "best")
GOLDEN = {"u10": 100, "u20": 50, "u50": 10, "u100": 20, "u200": 10, "u500": 5, "c50": 10, "c100": 5}
GRIDS = {"i12": 20, "i30": 10}


def measure(sets, effort: str, scale: float) -> tuple[float, float, float]:
    """Return mean gap, worst gap (both in %) and mean scaled ms over (points, optimum) pairs."""
    gaps, seconds = [], []
    for points, optimum in sets:
        began = time.perf_counter()
        length = ds.solve(points, "local", effort=effort, threads=1).length
        seconds.append(time.perf_counter() - began)
        gaps.append(100.0 * (length / optimum - 1.0))
    return float(np.mean(gaps)), float(np.max(gaps)), 1e3 * scale * float(np.mean(seconds))


def instance_sets() -> dict[str, list[tuple[np.ndarray, float]]]:
    """Return the instance sets by name."""
    sets = {}
    for name, count in {**GOLDEN, **GRIDS}.items():
        points, optima = golden(name)
        sets[name] = list(zip(points[:count], optima[:count], strict=True))
    library = shared("orlib_estein.npz")
    if library is not None:
        for n in (100, 250, 500, 1000):
            pairs = zip(library[f"points_{n}"], library[f"optimal_{n}"], strict=True)
            sets[f"OR-Library {n}"] = list(pairs)[:5]
    return sets


def tables(efforts: list[str], scale: float) -> None:
    """Print gap and time of every effort on every instance set."""
    rows = []
    for name, pairs in instance_sets().items():
        row: list[object] = [name]
        for effort in efforts:
            measure(pairs[:1], effort, scale)
            mean, worst, ms = measure(pairs, effort, scale)
            row.append(f"{mean:.4f} / {worst:.4f} / {ms:.1f}")
        rows.append(row)
    print_table(["instances", *(f"{e}: mean % / worst % / ms" for e in efforts)], rows)
    print()


def batch_table(efforts: list[str], scale: float) -> None:
    """Print what one instance costs in solve_many (the best effort has no batch kernel)."""
    efforts = [effort for effort in efforts if effort != "best"]
    if not efforts:
        return
    rows = []
    for name in ("u10", "u20", "u50"):
        points, optima = golden(name)
        row: list[object] = [name]
        for effort in efforts:
            ds.solve_many(points[:4], "local", effort=effort)
            began = time.perf_counter()
            lengths = ds.solve_many(points, "local", effort=effort).lengths
            ms = 1e3 * scale * (time.perf_counter() - began) / len(points)
            row.append(f"{100.0 * np.mean(lengths / optima - 1.0):.4f} / {ms:.3f}")
        rows.append(row)
    print_table(["solve_many", *(f"{e}: % / ms" for e in efforts)], rows)
    print()


def tsplib(efforts: list[str], scale: float) -> None:
    """Print mean and worst gap over TSPLIB, with the slowest instance."""
    data = shared("tsplib.npz")
    if data is None:
        return
    names = [key[: -len("_points")] for key in data if key.endswith("_points")]
    for effort in efforts:
        gaps, times = {}, {}
        for name in names:
            began = time.perf_counter()
            length = ds.solve(data[f"{name}_points"], "local", effort=effort, threads=1).length
            times[name] = scale * (time.perf_counter() - began)
            optimum = data.get(f"{name}_optimal_length")
            if optimum is not None:
                gaps[name] = 100.0 * (length / float(optimum) - 1.0)
        worst, slowest = max(gaps, key=gaps.__getitem__), max(times, key=times.__getitem__)
        print(
            f"TSPLIB, {effort}: mean gap {np.mean(list(gaps.values())):.4f} % over {len(gaps)}, "
            f"worst {gaps[worst]:.4f} % ({worst}); mean {np.mean(list(times.values())):.2f} s "
            f"over {len(times)}, slowest {times[slowest]:.1f} s ({slowest})",
            flush=True,
        )
    print()


def ten_thousand(efforts: list[str], scale: float) -> None:
    """Print OR-Library's 10,000-point instance."""
    library = shared("orlib_estein.npz")
    if library is None:
        return
    for effort in efforts:
        began = time.perf_counter()
        solution = ds.solve(library["points_10000"][0], "local", effort=effort, threads=1)
        seconds = scale * (time.perf_counter() - began)
        print(f"OR-Library 10000, {effort}: {solution.length:.5f} in {seconds:.2f} s", flush=True)
    print()


def large(efforts: list[str], sizes: list[int], scale: float) -> None:
    """Print saving over the spanning tree, time and memory of large uniform instances."""
    rows = []
    for effort in efforts:
        for n in sizes:
            points = np.random.default_rng(n).random((n, 2))
            reports: list[ds.Progress] = []
            began = time.perf_counter()
            solution = ds.solve(points, "local", effort=effort, on_progress=reports.append)
            seconds = scale * (time.perf_counter() - began)
            surveyed = scale * next(r.elapsed for r in reports if r.phase.startswith("trees"))
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
            rows.append(
                [
                    effort,
                    n,
                    f"{100 * solution.info['saving']:.3f}",
                    f"{seconds:.1f}",
                    f"{1e6 * (seconds - surveyed) / n:.1f}",
                    f"{peak:.2f}",
                ]
            )
            print(*rows[-1], flush=True)
    header = ["effort", "points", "saved %", "s", "us/point after triangulation", "peak GiB"]
    print_table(header, rows)


def main() -> None:
    """Run what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--effort", choices=EFFORTS, action="append")
    parser.add_argument("--large", action="store_true")
    parser.add_argument("--sizes", type=int, nargs="+", default=[10_000, 100_000, 1_000_000])
    arguments = parser.parse_args()
    efforts = arguments.effort or list(EFFORTS)
    ds.solve(np.random.default_rng(0).random((300, 2)), "local")  # compiles
    scale = print_provenance()
    if arguments.large:
        large(efforts, arguments.sizes, scale)
        return
    tables(efforts, scale)
    batch_table(efforts, scale)
    ten_thousand(efforts, scale)
    tsplib(efforts, scale)


if __name__ == "__main__":
    main()
