"""`local` and `neural` on points that people have: boards, streets, lattices, clusters.

Run: python -m benchmarks.heuristics.structured [--against ../checkout] [--effort fast] [SET ...]

Sets are TSPLIB's drilled boards and alike, the families of structured.npz (mean and worst gap of
all instances) and uniform points. The gap is to the published optimum, or to the shortest tree
known. Times are of the processor, in milliseconds for a solve, one thread; with `--against` two
checkouts take turns in one run, and the ratio of their times follows the other's gap. Needs
../shared/data.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from common import ROOT, SHARED, print_provenance, print_table

BOARDS = (
    "pr264", "a280", "fl417", "pcb442", "p654", "d1291", "fl1400", "u1432", "fl1577", "d1655",
    "u2152", "rl5915", "rl11849",
)  # fmt: skip
FAMILIES = ("cl100_005", "cl60_001", "cl200_01", "jit6_05", "levels")
UNIFORM = {"uniform 100": (100, 20), "uniform 1000": (1000, 4), "uniform 10000": (10_000, 1)}
# Shortest trees known where no optimum is published: pr264 is proven (python -m
# benchmarks.exact.tsplib pr264).
KNOWN = {"pr264": 40017.06408}
METHODS = ("local", "neural")
EFFORTS = ("fast", "default", "best")


def instances(name: str) -> tuple[list[np.ndarray], list[float] | None]:
    """Return the instances of a set, and what their gaps are measured from."""
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


def work() -> None:
    """Solve the set that each line of input names; print lengths and processor seconds."""
    import deepsteiner as ds

    for line in sys.stdin:
        name, method, effort = json.loads(line)
        points = instances(name)[0]
        options = {"effort": effort, "threads": 1}
        ds.solve(points[0][:200], method, **options)
        began = time.process_time()
        lengths = [ds.solve(one, method, **options).length for one in points]
        seconds = (time.process_time() - began) / len(points)
        print(json.dumps([lengths, seconds]), flush=True)


class Worker:
    """A process that solves with the package of a checkout."""

    def __init__(self, checkout: Path) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.heuristics.structured", "--work"],
            env={**os.environ, "PYTHONPATH": f"{checkout / 'src'}:{ROOT / 'benchmarks'}"},
            cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip

    def solve(self, *what: str) -> tuple[np.ndarray, float]:
        """Return lengths and the processor seconds of one solve, the least of two calls."""
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
    parser.add_argument("--against", type=Path)
    parser.add_argument("--effort", action="append", choices=EFFORTS)
    parser.add_argument("--method", action="append", choices=METHODS)
    parser.add_argument("--work", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.work:
        work()
        return 0
    everything = (*BOARDS, *FAMILIES, *UNIFORM)
    unknown = [name for name in given.sets if name not in everything]
    if unknown:
        parser.error(f"no set {unknown[0]!r}: there are {', '.join(everything)}")
    if not (SHARED / "structured.npz").exists():
        print("needs ../shared/data", file=sys.stderr)
        return 2
    print_provenance()
    checkouts = [ROOT, *([given.against.resolve()] if given.against else [])]
    workers = [Worker(path) for path in checkouts]
    rows: list[list[object]] = []
    for name in given.sets or everything:
        for method in given.method or METHODS:
            for effort in given.effort or EFFORTS:
                answers = [worker.solve(name, method, effort) for worker in workers]
                row = [name, method, effort, *cells(answers, instances(name)[1])]
                print(*row, sep="  ", flush=True, file=sys.stderr)
                rows.append(row)
    for worker in workers:
        worker.close()
    header = ["set", "method", "effort", "gap %", "ms"]
    print_table([*header, *(["gap % there", "time / there"] if given.against else [])], rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
