"""`local`: gap and time on golden, OR-Library and TSPLIB instances, at scale, and under limits.

    python -m benchmarks.heuristics.local                         the first four tables (5 minutes)
    python -m benchmarks.heuristics.local small --effort fast     one table, one effort
    python -m benchmarks.heuristics.local large                   to 1,000,000 points (half an hour)
    python -m benchmarks.heuristics.local degenerate limits       the other two (minutes)

Tables: small (golden and OR-Library up to 1000 points), batch (solve_many), library (OR-Library's
10,000 points), tsplib; large (uniform points), degenerate (100,000 points that are clustered, on a
lattice, on a line, repeated), limits (what a time limit gives, and the longest silence). One
thread, except the last three, which use every core. "scaled" times are those of the reference
calibration. The gap is (length - optimum) / optimum.
"""

from __future__ import annotations

import argparse
import os
import resource
import time

import numpy as np
from common import (
    REFERENCE_CALIBRATION,
    calibration,
    golden,
    print_provenance,
    print_table,
    shared,
    timed,
)

import deepsteiner as ds
from deepsteiner.geometry.triangulation import triangulate

EFFORTS = ("fast", "default", "best")
GOLDEN = {"u10": 200, "u20": 100, "u50": 50, "u100": 30, "u200": 20, "u500": 4}
# OR-Library's 10,000 points, proven (docs/best-known.md).
LIBRARY_OPTIMUM = 62.924786
OTHERS = {"c50": 20, "c100": 10, "i12": 40, "i30": 20}


class Sizes:
    """How much of everything to run."""

    def __init__(self, quick: bool) -> None:
        self.share = 4 if quick else 1

    def some(self, count: int) -> int:
        """Return the number of instances to run of so many."""
        return max(2, count // self.share)


def small_sets(sizes: Sizes) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Return points and optima by name."""
    sets = {}
    for name, count in {**GOLDEN, **OTHERS}.items():
        points, optima = golden(name)
        sets[f"golden {name}"] = points[: sizes.some(count)], optima[: sizes.some(count)]
    library = shared("orlib_estein.npz")
    if library is not None:
        for n in (10, 20, 50, 100, 250, 500, 1000):
            count = sizes.some(15)
            sets[f"OR-Library {n}"] = library[f"points_{n}"][:count], library[f"optimal_{n}"]
    return sets


def small(efforts: list[str], scale: float, sizes: Sizes) -> None:
    """Print gap and time of every effort on every set of up to 1000 points."""
    rows: list[list[object]] = []
    for name, (points, optima) in small_sets(sizes).items():
        n = points.shape[1]
        for effort in efforts:
            ds.solve(points[0], "local", effort=effort, threads=1)
            began = time.perf_counter()
            solved = [ds.solve(one, "local", effort=effort, threads=1) for one in points]
            ms = 1e3 * (time.perf_counter() - began) / len(points)
            gaps = 100.0 * (np.array([s.length for s in solved]) / optima[: len(points)] - 1.0)
            for solution in solved:
                solution.validate(strict=True)
            cells = [*_gap_cells(gaps), f"{ms:.2f}", f"{ms * scale:.2f}"]
            rows.append([name, n, len(points), effort, *cells])
    header = ["set", "n", "count", "effort", "gap %", "std. error", "worst %", "ms", "ms scaled"]
    print_table(header, rows)


def _gap_cells(gaps: np.ndarray) -> list[str]:
    return [
        f"{gaps.mean():.4f}",
        f"{gaps.std() / np.sqrt(len(gaps)):.4f}",
        f"{gaps.max():.4f}",
    ]


def batch(efforts: list[str], scale: float, sizes: Sizes) -> None:
    """Print what one instance costs in solve_many (the best effort has no batch kernel)."""
    rows: list[list[object]] = []
    for name in ("u10", "u20", "u50", "u100"):
        points, optima = golden(name)
        count = sizes.some(len(points))
        for effort in [effort for effort in efforts if effort != "best"]:
            ds.solve_many(points[:4], "local", effort=effort)
            solved = ds.solve_many(points[:count], "local", effort=effort).validate(strict=True)
            gaps = 100.0 * (solved.lengths / optima[:count] - 1.0)
            ms = 1e3 * solved.runtime / count
            cells = [*_gap_cells(gaps), f"{ms:.3f}", f"{ms * scale:.3f}"]
            rows.append([name, count, effort, *cells])
    header = ["solve_many", "count", "effort", "gap %", "std. error", "worst %", "ms", "ms scaled"]
    print_table(header, rows)


def library(efforts: list[str], scale: float, sizes: Sizes) -> None:
    """Print OR-Library's 10,000-point instance."""
    data = shared("orlib_estein.npz")
    if data is None:
        print("OR-Library's instances are not here")
        return
    rows: list[list[object]] = []
    for effort in efforts:
        began = time.perf_counter()
        solution = ds.solve(data["points_10000"][0], "local", effort=effort, threads=1)
        seconds = time.perf_counter() - began
        above = 100.0 * (solution.length / LIBRARY_OPTIMUM - 1.0)
        cells = [f"{solution.length:.5f}", f"{above:.4f}", f"{seconds:.2f}"]
        rows.append([effort, *cells, f"{seconds * scale:.2f}"])
    header = ["OR-Library 10,000", "length", f"above {LIBRARY_OPTIMUM}, %", "s", "s scaled"]
    print_table(header, rows)


def tsplib(efforts: list[str], scale: float, sizes: Sizes) -> None:
    """Print every TSPLIB instance; the length where no optimum is known."""
    data = shared("tsplib.npz")
    if data is None:
        print("TSPLIB's instances are not here")
        return
    efforts = [effort for effort in efforts if effort != "fast"] or efforts
    names = [key.removesuffix("_points") for key in data if key.endswith("_points")]
    rows: list[list[object]] = []
    gaps: dict[str, list[float]] = {effort: [] for effort in efforts}
    spent: dict[str, list[float]] = {effort: [] for effort in efforts}
    for name in names[:: sizes.share]:
        points, optimum = data[f"{name}_points"], data.get(f"{name}_optimal_length")
        row: list[object] = [name, len(points)]
        for effort in efforts:
            began = time.perf_counter()
            length = ds.solve(points, "local", effort=effort, threads=1).length
            spent[effort].append(time.perf_counter() - began)
            gap = np.nan if optimum is None else 100.0 * (length / float(optimum) - 1.0)
            gaps[effort].append(gap)
            row += [f"{length:.3f}" if np.isnan(gap) else f"{gap:.4f} %"]
            row += [f"{spent[effort][-1]:.2f}", f"{spent[effort][-1] * scale:.2f}"]
        rows.append(row)
    mean: list[object] = ["mean", ""]
    worst: list[object] = ["worst", ""]
    for effort in efforts:
        for row, of in ((mean, np.nanmean), (worst, np.nanmax)):
            seconds = float(of(spent[effort]))
            row += [f"{of(gaps[effort]):.4f} %", f"{seconds:.2f}", f"{seconds * scale:.2f}"]
    header = ["TSPLIB", "n"]
    for effort in efforts:
        header += [f"{effort}: gap or length", "s", "s scaled"]
    print_table(header, [*rows, mean, worst])


def large(efforts: list[str], scale: float, counts: list[int]) -> None:
    """Print saving over the spanning tree, time and memory of large uniform instances."""
    rows: list[list[object]] = []
    efforts = [effort for effort in efforts if effort != "best"] or efforts
    per_point: dict[str, list[float]] = {effort: [] for effort in efforts}
    for n in sorted(counts):
        points = np.random.default_rng(n).random((n, 2))
        threads = os.cpu_count() or 1 if n >= 20_000 else 1
        first = timed(lambda p=points, t=threads: triangulate(p, threads=t))
        for effort in efforts:
            silence = Silence()
            began = time.perf_counter()
            solution = ds.solve(points, "local", effort=effort, on_progress=silence)
            seconds = time.perf_counter() - began
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
            per_point[effort].append(1e6 * (seconds - first) / n)
            rows.append(
                [
                    n,
                    effort,
                    f"{100 * solution.info['saving']:.3f}",
                    f"{seconds:.1f}",
                    f"{seconds * scale:.1f}",
                    f"{first:.2f}",
                    f"{per_point[effort][-1]:.1f}",
                    f"{per_point[effort][-1] * scale:.1f}",
                    f"{peak:.2f}",
                    f"{silence.longest:.2f}",
                ]
            )
            print("|", *rows[-1], flush=True)
    print()
    header = ["n", "effort", "saved %", "s", "s scaled", "triangulation s"]
    header += ["us/point without it", "scaled", "peak GiB so far", "longest silence s"]
    print_table(header, rows)
    for effort, values in per_point.items():
        print(f"{effort}: time per point grows by {values[-1] / values[0]:.2f}")


class Silence:
    """A progress callback that remembers the longest time between two reports."""

    def __init__(self) -> None:
        self.longest = 0.0
        self._last: float | None = None

    def __call__(self, report: ds.Progress) -> None:
        """Hear one report."""
        now = time.perf_counter()
        if self._last is not None:
            self.longest = max(self.longest, now - self._last)
        self._last = now


def awkward(name: str, n: int) -> np.ndarray:
    """Return n points (a few less on the lattice) that lie badly."""
    rng = np.random.default_rng(0)
    if name == "lattice":
        side = int(np.sqrt(n))
        return np.stack(np.meshgrid(np.arange(side), np.arange(side)), axis=-1).reshape(-1, 2)
    if name == "collinear":
        return rng.random((n, 1)) * [[0.6, 0.8]]
    if name == "duplicates":
        return rng.integers(0, 100, (n, 2)).astype(float)
    if name == "repeated uniform":
        return rng.random((n // 10, 2))[rng.integers(0, n // 10, n)]
    return rng.random((15, 2))[rng.integers(0, 15, n)] + 1e-4 * rng.normal(size=(n, 2))


def degenerate(efforts: list[str], scale: float, counts: list[int]) -> None:
    """Print time and saving on large inputs that lie badly."""
    rows: list[list[object]] = []
    for name in ("clustered", "lattice", "collinear", "duplicates", "repeated uniform"):
        points = awkward(name, 100_000)
        distinct = len(np.unique(points, axis=0))
        for effort in [effort for effort in efforts if effort != "best"] or efforts:
            silence = Silence()
            began = time.perf_counter()
            solution = ds.solve(points, "local", effort=effort, on_progress=silence)
            seconds = time.perf_counter() - began
            solution.validate(strict=True)
            cells = [f"{100 * solution.info['saving']:.3f}", f"{seconds:.1f}"]
            cells += [f"{seconds * scale:.1f}", f"{silence.longest:.2f}"]
            rows.append([name, len(points), distinct, effort, *cells])
            print("|", *rows[-1], flush=True)
    print()
    header = ["points", "n", "distinct", "effort", "saved %", "s", "s scaled", "longest silence s"]
    print_table(header, rows)


def limits(efforts: list[str], scale: float, counts: list[int]) -> None:
    """Print what comes back, and when, under time limits."""
    rows: list[list[object]] = []
    for n in (20_000, 200_000, 1_000_000):
        points = np.random.default_rng(n).random((n, 2))
        for limit in (1.0, 2.0, 5.0, 10.0, 20.0):
            silence = Silence()
            began = time.perf_counter()
            options = {"time_limit": limit, "on_progress": silence, "effort": efforts[0]}
            solution = ds.solve(points, "local", **options)
            seconds = time.perf_counter() - began
            saving = 100 * solution.info["saving"]
            cells = [f"{seconds:.2f}", solution.status, f"{solution.length:.2f}", f"{saving:.3f}"]
            rows.append([n, efforts[0], limit, *cells, f"{silence.longest:.2f}"])
            print("|", *rows[-1], flush=True)
    print()
    header = ["n", "effort", "limit s", "s", "status", "length", "saved %", "longest silence s"]
    print_table(header, rows)


QUICK = {"small": small, "batch": batch, "library": library, "tsplib": tsplib}
LARGE = {"large": large, "degenerate": degenerate, "limits": limits}


def main() -> None:
    """Print the tables that are named, or the quick ones."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tables", nargs="*", help=f"of {', '.join([*QUICK, *LARGE])}")
    parser.add_argument("--effort", choices=EFFORTS, action="append")
    parser.add_argument("--quick", action="store_true", help="a quarter of the instances")
    parser.add_argument("--sizes", type=int, nargs="+", default=[10_000, 100_000, 1_000_000])
    arguments = parser.parse_args()
    unknown = set(arguments.tables) - set(QUICK) - set(LARGE)
    if unknown:
        parser.error(f"no such table: {', '.join(sorted(unknown))}")
    efforts = arguments.effort or list(EFFORTS)
    for n in (50, 300, 25_000):  # compiles
        ds.solve(np.random.default_rng(0).random((n, 2)), "local", effort=efforts[0])
    scale = print_provenance(seed=0)
    for number, name in enumerate(arguments.tables or QUICK):
        if number:
            measured = calibration()
            scale = REFERENCE_CALIBRATION / measured
            print(f"\ncalibration {1000 * measured:.0f} ms before this table: x {scale:.2f}\n")
        if name in QUICK:
            QUICK[name](efforts, scale, Sizes(arguments.quick))
        else:
            LARGE[name](efforts, scale, arguments.sizes)


if __name__ == "__main__":
    main()
