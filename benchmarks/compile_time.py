"""Compiling from nothing: the processor time that a method's first solves take, and what takes it.

    python benchmarks/compile_time.py                     `exact`, `local` and `neural`
    python benchmarks/compile_time.py greedy --sizes 9    another method, other sizes
    python benchmarks/compile_time.py exact --functions   also the functions that take longest

Each method is solved by one fresh process with an empty cache, at all sizes one after the other.
Times are processor times; scaled ones are brought to the reference machine by the calibration that
the same process takes right before. A function that is compiled as part of others counts within
the kernel that Python called; the time of its own is without the functions it calls. The exit code
is 1 where the first solve of a method takes longer than it should.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from typing import Any

import numba.core.event as events
import numpy as np
from common import print_table

from deepsteiner.benchmark.provenance import commit, machine, versions
from deepsteiner.benchmark.timings import REFERENCE_CALIBRATION

# Processor seconds at the reference that the first solve, of the first size, may take.
LIMITS = {"exact": 25.0, "local": 30.0, "neural": 45.0}
SIZES = (5, 100, 1000)
LONGEST = 15


class Listener(events.Listener):
    """Hears from numba of every function that it compiles, one within the other."""

    def __init__(self) -> None:
        self.rows: list[tuple[int, str, float, float, str]] = []
        self._open: list[list[float]] = []

    def on_start(self, event: Any) -> None:
        """Take down when a function is begun."""
        self._open.append([time.process_time(), 0.0])

    def on_end(self, event: Any) -> None:
        """Take down that a function is done."""
        now = time.process_time()
        began, within = self._open.pop()
        if self._open:
            self._open[-1][1] += now - began
        function = event.data["dispatcher"].py_func
        name = f"{function.__module__}.{function.__qualname__}"
        types = str(event.data["args"])
        self.rows.append((len(self._open), name, now - began, now - began - within, types))


def calibrated() -> float:
    """Return the processor seconds of the calibration's triangulation."""
    from scipy.spatial import Delaunay

    points = np.random.default_rng(0).random((100_000, 2))
    Delaunay(points)
    taken = []
    for _ in range(3):
        began = time.process_time()
        Delaunay(points)
        taken.append(time.process_time() - began)
    return min(taken)


def measure(method: str, sizes: list[int]) -> dict[str, Any]:
    """Solve in this process, whose cache is empty; return what was compiled for each size."""
    import deepsteiner as ds

    factor = REFERENCE_CALIBRATION / calibrated()
    listener = Listener()
    events.register("numba:compile", listener)
    solves = []
    for n in sizes:
        points = np.random.default_rng(n).random((n, 2))
        first, began = len(listener.rows), time.process_time()
        ds.solve(points, method)
        solves.append((n, time.process_time() - began, listener.rows[first:]))
    return {"factor": factor, "solves": solves}


def measured(method: str, sizes: list[int]) -> dict[str, Any]:
    """Return what a fresh process measures."""
    with tempfile.TemporaryDirectory() as folder:
        kept = {name: one for name, one in os.environ.items() if not name.startswith("NUMBA_")}
        command = [sys.executable, __file__, method, "--sizes", *map(str, sizes), "--inside"]
        done = subprocess.run(
            command,
            env={**kept, "NUMBA_CACHE_DIR": folder},
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def print_solves(method: str, found: dict[str, Any]) -> None:
    rows: list[list[object]] = []
    for n, seconds, compiled in found["solves"]:
        kernels = sum(depth == 0 for depth, *_ in compiled)
        ours = [one for one in compiled if one[1].startswith("deepsteiner.")]
        again = len(ours) - len({one[1] for one in ours})
        scaled = seconds * found["factor"]
        times = [f"{seconds:.1f}", f"{scaled:.1f}"]
        counts = [kernels, len(ours), again, len(compiled) - len(ours)]
        rows.append([f"`{method}` {n:,}", *times, *counts])
    header = ["first solve", "processor s", "scaled", "kernels", "functions", "compiled again"]
    print_table([*header, "numba's own"], rows)


def print_longest(title: str, rows: list[list[Any]], at: int, factor: float) -> None:
    longest = sorted(rows, key=lambda row: -row[at])[:LONGEST]
    print()
    print_table(
        [title, "scaled s"],
        [[row[1].removeprefix("deepsteiner."), f"{row[at] * factor:.2f}"] for row in longest],
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("methods", nargs="*", default=list(LIMITS), metavar="METHOD")
    parser.add_argument("--sizes", type=int, nargs="+", default=list(SIZES))
    parser.add_argument("--functions", action="store_true", help="also which take longest")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.inside:
        print(json.dumps(measure(given.methods[0], given.sizes)))
        return
    packages = ", ".join(f"{name} {number}" for name, number in versions().items())
    print(f"commit {commit()}; seeds are the sizes\n{machine()}, {packages}\n")
    late = []
    for method in given.methods:
        found = measured(method, given.sizes)
        print_solves(method, found)
        if given.functions:
            rows = [row for _, _, compiled in found["solves"] for row in compiled]
            outer = [row for row in rows if row[0] == 0]
            print_longest("kernels that Python calls", outer, 2, found["factor"])
            print_longest("functions, each without those it calls", rows, 3, found["factor"])
        print(flush=True)
        seconds = found["solves"][0][1] * found["factor"]
        if seconds > LIMITS.get(method, float("inf")):
            late.append(f"{method} ({seconds:.1f} s, at most {LIMITS[method]:.0f})")
    if late:
        sys.exit(f"too slow: {', '.join(late)}")


if __name__ == "__main__":
    main()
