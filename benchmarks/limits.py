"""How far every method overshoots a time limit, and how long it is silent.

    python benchmarks/limits.py [--quick] [--methods neural,auto] [--sets tight,lattice-70]

Every method runs in a process of its own, whose kernels are loaded before anything is measured:
limits hold for warm kernels. A run that is late by LATE or more is repeated, and the best of its
repeats counts, since a busy machine makes any run late but none early. "Silence" is the longest
time between two progress reports, or from the last one to the end. The second figure of each pair
is processor time, which other processes touch less.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import threading
import time
from contextlib import suppress
from dataclasses import asdict, dataclass
from itertools import pairwise

import numpy as np
from common import print_provenance, print_table

import deepsteiner as ds
from deepsteiner import datasets
from deepsteiner.core.errors import PointsError
from deepsteiner.run.watch import THREAD_NAME

LIMITS = (0.0, 0.001, 0.05, 1.0)
LATE = 0.05
REPEATS = 4
SEED = 15


def tight_clusters(n: int, centres: int, deviation: float) -> np.ndarray:
    """Return n points around a few centres, as `clustered` with another deviation."""
    rng = np.random.default_rng(SEED)
    middles = 0.1 + 0.8 * rng.random((centres, 2))
    return middles[rng.integers(0, centres, n)] + deviation * rng.standard_normal((n, 2))


def lattice(side: int) -> np.ndarray:
    """Return a square lattice."""
    return np.stack(np.meshgrid(np.arange(side), np.arange(side)), axis=-1).reshape(-1, 2) / side


def instances() -> dict[str, np.ndarray]:
    """Return the instances by name."""
    drawn = {
        f"uniform-{n}": datasets.load("uniform", n=n, count=1, seed=SEED)[0]
        for n in (10, 100, 1000, 5000)
    }
    return {
        **drawn,
        "lattice-10": lattice(10),
        "lattice-70": lattice(70),
        "tight-005": tight_clusters(150, 15, 0.005),
        "tight-001": tight_clusters(150, 10, 0.001),
        "clustered-5000": datasets.load("clustered", n=5000, count=1, seed=SEED)[0],
    }


QUICK_SETS = ("uniform-100", "lattice-10", "tight-005", "clustered-5000")


@dataclass(frozen=True)
class Measured:
    """One solve: seconds beyond the limit, and the longest silence in wall and processor time."""

    limit: float
    over: float
    silence: float
    silence_cpu: float
    status: str


def measure(method: str, points: np.ndarray, limit: float) -> Measured:
    """Solve once and note every report."""
    for thread in threading.enumerate():  # a long call that a limit cut off ends by itself
        if thread.name.startswith(THREAD_NAME):
            thread.join()
    times = [(time.perf_counter(), time.process_time())]

    def note(_: ds.Progress) -> None:
        times.append((time.perf_counter(), time.process_time()))

    solution = ds.solve(points, method, time_limit=limit, on_progress=note)
    note(None)
    gaps = [(b[0] - a[0], b[1] - a[1]) for a, b in pairwise(times)]
    over = max(0.0, times[-1][0] - times[0][0] - limit)
    silence, silence_cpu = (max(gap[k] for gap in gaps) for k in (0, 1))
    return Measured(limit, over, silence, silence_cpu, solution.status)


def best_of_repeats(method: str, points: np.ndarray, limit: float) -> Measured:
    """Measure once, and again while it is late."""
    runs = [measure(method, points, limit)]
    while len(runs) < REPEATS and min(run.over for run in runs) >= LATE:
        runs.append(measure(method, points, limit))
    return min(runs, key=lambda run: run.over)


def serve(method: str, names: list[str]) -> None:
    """Measure one method on some sets; write a line of JSON for each run."""
    sets = instances()
    for warm in ("uniform-100", "lattice-10", "uniform-1000"):  # loads the kernels
        with suppress(PointsError):
            ds.solve(sets[warm], method, time_limit=20)
    for name in names:
        try:
            for limit in (1.0, 0.05, 0.0):
                ds.solve(sets[name], method, time_limit=limit)
        except PointsError as error:
            print(json.dumps({"set": name, "refused": str(error)}), flush=True)
            continue
        for limit in LIMITS:
            found = best_of_repeats(method, sets[name], limit)
            print(json.dumps({"set": name, **asdict(found)}), flush=True)


def ask(method: str, names: list[str]) -> list[dict[str, object]]:
    """Measure a method in a process of its own."""
    command = [sys.executable, __file__, "--serve", method, "--sets", ",".join(names)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def main() -> None:
    """Print the overshoot at every limit and the longest silence, by method and set."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="four sets instead of nine")
    parser.add_argument("--methods", help="names, by commas; all by default")
    parser.add_argument("--sets", help="names, by commas; all by default")
    parser.add_argument("--serve", help=argparse.SUPPRESS)
    given = parser.parse_args()
    every = QUICK_SETS if given.quick else tuple(instances())
    names = given.sets.split(",") if given.sets else list(every)
    if given.serve:
        serve(given.serve, names)
        return
    print_provenance(SEED)
    rows: list[list[object]] = []
    worst = (0.0, "")
    for method in given.methods.split(",") if given.methods else ds.methods():
        lines = ask(method, names)
        for name in names:
            found = [line for line in lines if line["set"] == name]
            if "refused" in found[0]:
                rows.append([method, name, *["refused"] * len(LIMITS), "", ""])
                continue
            worst = max(worst, *((run["over"], f"{method} on {name}") for run in found))
            late = [f"{1000 * run['over']:.0f}" for run in found]
            if any(run["status"] not in ("time_limit", "optimal") for run in found[:1]):
                late[0] += f" ({found[0]['status']})"
            silent = max(found, key=lambda run: run["silence_cpu"])
            cells = [f"{1000 * silent[key]:.0f}" for key in ("silence", "silence_cpu")]
            rows.append([method, name, *late, *cells])
        print(f"{method}: done", file=sys.stderr, flush=True)
    late = [f"late at {limit:g} s, ms" for limit in LIMITS]
    print_table(["method", "points", *late, "silence, ms", "of processor time"], rows)
    print(f"\nworst: {1000 * worst[0]:.0f} ms, {worst[1]}")


if __name__ == "__main__":
    main()
