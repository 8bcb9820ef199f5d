"""`neural` or `local` at scale: one large instance phase by phase, or batches of small ones.

    python -m benchmarks.learned.neural_scale --points 1000000 --effort fast --threads 16
    python -m benchmarks.learned.neural_scale --points 1000000 --method local --rows FILE
    python -m benchmarks.learned.neural_scale --rates --threads 16

The first prints the saving over the minimum spanning tree, the seconds of every phase with the
cores that were busy in it, and the memory. The second prints how many instances of 20 and of 100
points `solve_many` solves in a second. Points are uniform. Kernels are compiled before anything is
timed; times are as measured on this machine. `--rows` keeps what was measured, for the README.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import time

import numpy as np
from common import REFERENCE_CALIBRATION, print_provenance, print_table

import deepsteiner as ds
from deepsteiner.benchmark.provenance import commit, machine, versions
from deepsteiner.benchmark.timings import make_timing, write_timing

GIB = 2**30
# The sizes of which batches are timed.
RATES = (20, 100)


class Phases:
    """Wall-clock and processor seconds by phase, from the reports of a run."""

    def __init__(self) -> None:
        self.rows: dict[str, list[float]] = {}
        self.longest_silence = 0.0
        self._phase, self._wall, self._cpu = "checks before", time.perf_counter(), _cpu_seconds()

    def hear(self, progress: ds.Progress) -> None:
        """Take one report."""
        self.turn(",".join(progress.phase.split(",")[:2]))

    def turn(self, phase: str) -> None:
        """Book the time since the last report, and go on with this phase."""
        wall, cpu = time.perf_counter(), _cpu_seconds()
        row = self.rows.setdefault(self._phase, [0.0, 0.0, 0.0])
        row[0] += wall - self._wall
        row[1] += cpu - self._cpu
        row[2] = max(row[2], _memory_now())
        if self._phase != "checks before":
            self.longest_silence = max(self.longest_silence, wall - self._wall)
        self._phase, self._wall, self._cpu = phase, wall, cpu


def _cpu_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def _memory_now() -> float:
    """Return the resident memory in GiB."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / GIB


def _peak_memory() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / GIB


def one_large(given: argparse.Namespace) -> dict[str, object]:
    """Solve one instance, print what it took, and return that."""
    call = {"effort": given.effort, "threads": given.threads, "time_limit": given.time_limit}
    ds.solve(np.random.default_rng(1).random((12_000, 2)), given.method, **call)
    points = np.random.default_rng(given.seed).random((given.points, 2))
    before = _memory_now()
    phases = Phases()
    began = time.perf_counter()
    solution = ds.solve(points, given.method, on_progress=phases.hear, **call)
    seconds = time.perf_counter() - began
    phases.turn("end")
    saving, peak = 100.0 * solution.info["saving"], _peak_memory()
    rows = [
        [name, f"{wall:.2f}", f"{cpu:.2f}", f"{cpu / max(wall, 1e-9):.1f}", f"{memory:.2f}"]
        for name, (wall, cpu, memory) in phases.rows.items()
    ]
    print_table(["phase", "s", "processor s", "cores busy", "GiB"], rows)
    print(
        f"\n{given.points} points, {given.method} {given.effort}, {given.threads} threads: "
        f"{saving:.4f} % saved in {seconds:.1f} s, peak {peak:.2f} GiB "
        f"({(peak - before) * GIB / given.points:.0f} bytes a point more than before), "
        f"{solution.status}, longest silence {1000 * phases.longest_silence:.0f} ms"
    )
    return {
        "points": given.points, "method": given.method, "effort": given.effort,
        "threads": given.threads, "seed": given.seed, "saving_percent": saving,
        "length": solution.length, "status": solution.status, "seconds": seconds,
        "peak_gib": peak, "before_gib": before, "longest_silence": phases.longest_silence,
        "phases": {name: row[:2] for name, row in phases.rows.items()},
    }  # fmt: skip


def rates(given: argparse.Namespace) -> dict[str, object]:
    """Print how many small instances a second `solve_many` solves."""
    rows: list[list[object]] = []
    record: dict[str, object] = {}
    for n in RATES:
        batch = np.random.default_rng(given.seed).random((given.instances * 20 // n, n, 2))
        call = {"effort": given.effort, "workers": given.threads}
        ds.solve_many(batch[: 64 * given.threads], given.method, **call)
        best = np.inf
        for _ in range(given.repeats):
            began = time.perf_counter()
            solved = ds.solve_many(batch, given.method, **call)
            best = min(best, time.perf_counter() - began)
        rate = len(batch) / best
        mean = f"{solved.lengths.mean():.5f}"
        rows.append([n, len(batch), f"{best:.2f}", f"{rate:.0f}", mean])
        record[str(n)] = {"instances": len(batch), "seconds": best, "rate": rate}
    print_table(["n", "instances", "s", "instances/s", "mean length"], rows)
    return record


def keep(given: argparse.Namespace, measured: dict[str, dict], calibrated: float) -> None:
    """Write the rows of what was measured for the README."""
    shared = {
        "dataset": "uniform",
        "method": given.method,
        "options": {"effort": given.effort},
        "threads": given.threads,
        "seed": given.seed,
        "calibration": float(f"{calibrated:.4g}"),
    }
    if (large := measured.get("large")) is not None:
        facts = {"saving": round(large["saving_percent"], 4), "length": large["length"]}
        facts |= {"seconds": round(large["seconds"], 2), "peak_gib": round(large["peak_gib"], 2)}
        row = make_timing(n=given.points, count=1, call="solve", **shared, **facts)
        write_timing(given.rows, row)
    for n, rate in measured.get("rates", {}).items():
        each = float(f"{rate['seconds'] / rate['instances']:.4g}")
        facts = {"n": int(n), "count": rate["instances"], "seconds": each}
        write_timing(given.rows, make_timing(call="solve_many", **shared, **facts))


def main() -> None:
    """Run what the command line says."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--points", type=int, default=100_000)
    parser.add_argument("--method", default="neural")
    parser.add_argument("--effort", default="fast")
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--time-limit", type=float)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--rates", action="store_true", help="batches of small instances instead")
    parser.add_argument("--instances", type=int, default=100_000, help="with --rates, at n = 20")
    parser.add_argument("--repeats", type=int, default=3, help="with --rates; the best one counts")
    parser.add_argument("--json", help="write what was measured to this file")
    parser.add_argument("--rows", metavar="FILE", help="keep it as rows in this file")
    given = parser.parse_args()
    calibrated = REFERENCE_CALIBRATION / print_provenance(given.seed)
    measured = {"rates": rates(given)} if given.rates else {"large": one_large(given)}
    if given.rows:
        keep(given, measured, calibrated)
    if given.json:
        facts = {"commit": commit(), "machine": machine(), "versions": versions()}
        with open(given.json, "w") as file:
            json.dump({"provenance": facts, **measured}, file, indent=1)


if __name__ == "__main__":
    main()
