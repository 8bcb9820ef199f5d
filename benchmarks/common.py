"""What all benchmarks share: provenance, the calibration time, instances, and a table printer."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np

from deepsteiner.benchmark.timings import REFERENCE_CALIBRATION

ROOT = Path(__file__).resolve().parents[1]
SHARED = ROOT.parent / "shared" / "data"
GOLDEN = ROOT / "tests" / "golden"


def calibration(repeats: int = 3) -> float:
    """Return the seconds that a Delaunay triangulation of 100,000 fixed points takes here, now."""
    from scipy.spatial import Delaunay

    points = np.random.default_rng(0).random((100_000, 2))
    Delaunay(points)
    return min(timed(lambda: Delaunay(points)) for _ in range(repeats))


def timed(call) -> float:
    """Return the seconds one call takes."""
    started = time.perf_counter()
    call()
    return time.perf_counter() - started


def print_provenance(seed: int | None = None) -> float:
    """Print commit, machine, versions and calibration; return the factor to the reference."""
    from deepsteiner.benchmark.provenance import commit, machine, versions

    packages = ", ".join(f"{name} {number}" for name, number in versions().items())
    measured = calibration()
    print(f"commit {commit()}; seed {seed}\n{machine()}, {packages}")
    print(
        f"calibration {1000 * measured:.0f} ms (reference {1000 * REFERENCE_CALIBRATION:.0f} ms): "
        f"'scaled' times are measured times x {REFERENCE_CALIBRATION / measured:.2f}\n"
    )
    return REFERENCE_CALIBRATION / measured


def print_table(header: list[str], rows: list[list[object]]) -> None:
    """Print a Markdown table."""
    cells = [header, *[[str(cell) for cell in row] for row in rows]]
    widths = [max(len(row[k]) for row in cells) for k in range(len(header))]
    for number, row in enumerate(cells):
        print("| " + " | ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)) + " |")
        if number == 0:
            print("|" + "|".join("-" * (w + 2) for w in widths) + "|")


def golden(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return points and optima of a golden set."""
    with np.load(GOLDEN / f"{name}.npz") as data:
        return data["points"], data["optimal_length"]


def shared(name: str) -> dict[str, np.ndarray] | None:
    """Return a file of ../shared/data as a dict, or None where it is absent."""
    path = SHARED / name
    if not path.exists():
        return None
    with np.load(path) as data:
        return {key: data[key] for key in data.files}
