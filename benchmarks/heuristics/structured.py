"""`local` and `neural` on points that people have: boards, streets, lattices, clusters.

Run: python -m benchmarks.heuristics.structured [--against ../checkout] [--effort fast] [SET ...]

Sets are TSPLIB's drilled boards and alike, the families of structured.npz (mean and worst gap of
all instances), uniform points and, held out from all choices of settings, random boards, ladders,
strips, streets and lattices of `kinds` ("held out" names them all). The gap is to the published
optimum, to the shortest tree known or, of what is held out, to the tree of `exact` within --limit
seconds. Times are of the processor, in milliseconds for a solve, one thread; with `--against` two
checkouts take turns in one run, and the ratio of their times follows the other's gap. Needs
../shared/data.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from common import ROOT, SHARED, print_provenance, print_table
from kinds import drawn

import deepsteiner as ds

BOARDS = (
    "pr264", "a280", "fl417", "pcb442", "p654", "d1291", "fl1400", "u1432", "fl1577", "d1655",
    "u2152", "rl5915", "rl11849",
)  # fmt: skip
FAMILIES = ("cl100_005", "cl60_001", "cl200_01", "jit6_05", "levels")
UNIFORM = {"uniform 100": (100, 20), "uniform 1000": (1000, 4), "uniform 10000": (10_000, 1)}
# Kind, points and instances.
HELD_OUT = {
    f"{kind} {n}": (kind, n, count)
    for n, count in ((150, 6), (500, 4))
    for kind in (
        "board", "drilled rows", "panel", "ladders", "strips", "streets", "half a lattice",
        "rounded", "jittered 0.07", "jittered 0.3", "clusters 0.01", "clusters 0.001",
    )
}  # fmt: skip
FIRST_SEED = 100
# Shortest trees known where no optimum is published: pr264 is proven (python -m
# benchmarks.exact.tsplib pr264).
KNOWN = {"pr264": 40017.06408}
METHODS = ("local", "neural")
EFFORTS = ("fast", "default", "best")


@cache
def instances(name: str, limit: float) -> tuple[list[np.ndarray], list[float] | None]:
    """Return the instances of a set, and what their gaps are measured from."""
    if name in HELD_OUT:
        kind, n, count = HELD_OUT[name]
        points = [drawn(kind, n, FIRST_SEED + number) for number in range(count)]
        found = [ds.solve(one, "exact", time_limit=limit) for one in points]
        proven = sum(one.status == "optimal" for one in found)
        print(f"{name}: {proven} of {count} proven", file=sys.stderr, flush=True)
        return points, [one.length for one in found]
    if name in UNIFORM:
        n, count = UNIFORM[name]
        rng = np.random.default_rng(n)
        return [rng.random((n, 2)) for _ in range(count)], None
    files = ["structured.npz"] if name in FAMILIES else ["tsplib_large.npz", "tsplib.npz"]
    data: dict[str, np.ndarray] = {}
    for file in files[::-1]:
        with np.load(SHARED / file) as stored:
            data |= {key: stored[key] for key in stored.files if key.startswith(f"{name}_")}
    if name in FAMILIES:
        return list(data[f"{name}_points"]), data[f"{name}_opt"].tolist()
    best = KNOWN.get(name)
    if best is None:
        published = data.get(f"{name}_published")
        best = float(data[f"{name}_optimal_length"] if published is None else published[1])
    return [data[f"{name}_points"]], [best]


class Worker:
    """A process that solves with the package of a checkout."""

    def __init__(self, checkout: Path) -> None:
        self.process = subprocess.Popen(
            [sys.executable, Path(__file__).with_name("solve_lines.py")],
            env={**os.environ, "PYTHONPATH": str(checkout / "src")},
            cwd=checkout, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip

    def solve(self, points: list[np.ndarray], *what: str) -> tuple[np.ndarray, float]:
        """Return lengths and the processor seconds of one solve, the least of two calls."""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "points.npz"
            np.savez(path, *points)
            return self._solve(str(path), *what)

    def _solve(self, *what: str) -> tuple[np.ndarray, float]:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        seconds = []
        for _ in range(2):
            print(json.dumps(what), file=self.process.stdin, flush=True)
            lengths, one = json.loads(self.process.stdout.readline())
            seconds.append(one)
            if one > 2.0:
                break
        return np.array(lengths), min(seconds)

    def close(self) -> None:
        """End the process."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()


def cells(answers: list[tuple[np.ndarray, float]], best: Any) -> list[object]:
    """Return gap and time of the first answer, then of the second the gap and the ratio."""
    base = answers[-1][0] if best is None else np.array(best)
    row: list[object] = []
    for number, (lengths, seconds) in enumerate(answers):
        gap = 100.0 * (lengths / base - 1.0)
        words = f"{gap.mean():.5f}" + (f", {gap.max():.5f}" if len(gap) > 1 else "")
        more = f"{1000 * seconds:.1f}" if number == 0 else f"{answers[0][1] / seconds:.2f}"
        row += [words, more]
    return row


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sets", nargs="*")
    parser.add_argument("--limit", type=float, default=10.0)
    parser.add_argument("--against", type=Path)
    parser.add_argument("--effort", action="append", choices=EFFORTS)
    parser.add_argument("--method", action="append", choices=METHODS)
    given = parser.parse_args()
    everything = (*BOARDS, *FAMILIES, *UNIFORM)
    sets = [one for name in given.sets for one in (HELD_OUT if name == "held out" else (name,))]
    unknown = [name for name in sets if name not in everything and name not in HELD_OUT]
    if unknown:
        parser.error(f"no set {unknown[0]!r}: there are {', '.join((*everything, *HELD_OUT))}")
    if not (SHARED / "structured.npz").exists():
        print("needs ../shared/data", file=sys.stderr)
        return 2
    print_provenance()
    checkouts = [ROOT, *([given.against.resolve()] if given.against else [])]
    workers = [Worker(path) for path in checkouts]
    rows: list[list[object]] = []
    for name in sets or everything:
        points, best = instances(name, given.limit)
        for method in given.method or METHODS:
            for effort in given.effort or EFFORTS:
                answers = [worker.solve(points, method, effort) for worker in workers]
                row = [name, method, effort, *cells(answers, best)]
                print(*row, sep="  ", flush=True, file=sys.stderr)
                rows.append(row)
    for worker in workers:
        worker.close()
    header = ["set", "method", "effort", "gap %", "ms"]
    print_table([*header, *(["gap % there", "time / there"] if given.against else [])], rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
