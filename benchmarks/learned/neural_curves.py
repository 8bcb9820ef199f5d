"""Gap against time of `neural`, of `local`, and of `neural` with regressions.

    python -m benchmarks.learned.neural_curves --optima optima.npz --prove      optima (minutes)
    python -m benchmarks.learned.neural_curves --optima optima.npz --json cpu.json      one thread
    python -m benchmarks.learned.neural_curves --optima optima.npz --json gpu.json --device cuda
    python -m benchmarks.learned.neural_curves --read cpu.json --figure docs/neural-curves.png

Uniform points, n = 20, 100, 1000 (gap to the optimum) and 100,000 (gap to the best tree known).
Curves: `local`, `neural` with pieces of at most a third of the points solved exactly ("third") and
of any size ("any"), and both again with a logistic
regression of regression_score.py, on the same labels, in the network's place.
Up to 1000 points each curve has a point for every effort and for budgets between the efforts, each
a run of its own; above, it is what a run of each effort had reached after a time, and "any" is
left out: of so many points it does the same as "third".

On the CPU one thread serves up to 1000 points and every core above. With a device, that device
scores the trees, and every core does the rest; `local` then has every core too.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from common import REFERENCE_CALIBRATION, calibration
from learned import regression_score
from learned.neural_figure import draw, print_points, print_verdicts

import deepsteiner as ds
from deepsteiner import datasets
from deepsteiner.benchmark.optima import content_hash, read_optima, write_optima
from deepsteiner.benchmark.provenance import commit, machine, versions
from deepsteiner.solvers import local, neural

EFFORTS = ("fast", "default", "best")
# Instances of each size: proven, usually measured, and measured in a hurry.
COUNTS = {20: 2000, 100: 300, 1000: 20, 100_000: 1}
USUAL = {20: 1000, 100: 200, 1000: 10, 100_000: 1}
QUICK = {20: 300, 100: 60, 1000: 4, 100_000: 1}
SEED = 9
# Short measurements are made so many times, and the shortest counts.
REPEATS, SHORT = 3, 1.0
# From here on a run is watched, and every core is used.
MANY = 20_000
MODULES: dict[str, Any] = {"local": local, "neural": neural}


@dataclass(frozen=True)
class Curve:
    """One way to solve: a method, its options, and a regression in the network's place."""

    name: str
    method: str
    pieces: str | None = None
    score: str | None = None


def curves(scores: list[str], n: int) -> list[Curve]:
    """Return the curves at a size, with these regressions (of two, the better counts)."""
    found = [Curve("local", "local")]
    for pieces in ("third", "any") if n < MANY else ("third",):
        found.append(Curve(f"neural, {pieces}", "neural", pieces))
        found += [Curve(f"neural, {pieces}, regression", "neural", pieces, one) for one in scores]
    return found


def instances(n: int) -> np.ndarray:
    """Return the uniform points of a size."""
    return np.asarray(datasets.generate("uniform", n, COUNTS[n], SEED).points)


def prove(path: Path, sizes: list[int]) -> None:
    """Write the optima of all sizes, and the best length we can find of the largest."""
    found = read_optima(path) if path.exists() else {}
    for n in sizes:
        points = instances(n)
        began = time.perf_counter()
        if n < MANY:
            solved = ds.solve_many(points, "exact")
            assert set(solved.statuses) == {"optimal"}
            lengths = solved.lengths
        else:
            first = ds.solve(points[0], "neural", effort="best", pieces="any")
            lengths = np.array([ds.solve(points[0], "local", effort="best", start=first).length])
        name = content_hash(points)
        found[name] = np.minimum(found[name], lengths) if name in found else lengths
        write_optima(path, found)
        print(f"n = {n}: {len(points)} in {time.perf_counter() - began:.0f} s", flush=True)


def budgets(curve: Curve, effort: str, n: int) -> Iterator[tuple[str, Any]]:
    """Yield names and changed settings of an effort: less of what it spends, and all of it."""
    whole: Any = MODULES[curve.method].EFFORTS[effort]
    if curve.method == "neural":
        less = _less_neural(whole, n, curve.pieces == "any")
    else:
        less = _less_local(whole, n, effort == "best")
    for name, setting in less if n < MANY else ():
        yield f"{effort}, {name}", setting
    yield effort, whole


def _less_neural(whole: Any, n: int, any_size: bool) -> Iterator[tuple[str, Any]]:
    if n > neural.BATCH_LIMIT:
        for kept in sorted({0, 1, len(whole.regions) // 2} - {len(whole.regions)}):
            yield f"{kept} region passes", replace(whole, regions=whole.regions[:kept])
    elif not any_size:  # where there is no search, there is none to cut short
        for part in (0.0, 0.1, 0.4):
            pairs, trials = int(part * whole.pairs), int(part * whole.trials)
            yield f"{part:.0%} of the flips", replace(whole, pairs=pairs, trials=trials)


def _less_local(whole: Any, n: int, best: bool) -> Iterator[tuple[str, Any]]:
    if best:
        yield "trees of 6", replace(whole, grown_largest=6)
    elif n > local.BATCH_LIMIT:
        for kept in (1, len(whole.windows)):
            windows = whole.windows[:kept]
            yield f"{kept} passes alone", replace(whole, windows=windows, regions=(), whole=0)


@contextmanager
def prepared(curve: Curve, folder: Path) -> Iterator[dict[str, Any]]:
    """Yield the options of a curve, with the regression's bars in force."""
    options: dict[str, Any] = {} if curve.pieces is None else {"pieces": curve.pieces}
    if curve.score is not None:
        options["model"] = str(regression_score.make(folder / curve.score, curve.score))
    with nullcontext() if curve.score is None else regression_score.bars(curve.score):
        yield options


class Bench:
    """Measures curves on one machine with one choice of device and threads."""

    def __init__(self, given: argparse.Namespace, known: dict[str, np.ndarray]) -> None:
        self.known = known
        self.device = given.device
        self.cores = given.threads or os.cpu_count() or 1
        self.efforts = given.effort or EFFORTS
        self.counts = QUICK if given.quick else COUNTS if given.all else USUAL
        self.scores = given.scores
        self.rows: list[dict[str, Any]] = []

    def threads(self, n: int) -> int:
        """Return how many threads serve a size."""
        return self.cores if n >= MANY or self.device != "cpu" else 1

    def run(self, n: int, folder: Path) -> None:
        """Measure every curve at a size."""
        points = instances(n)
        best = self.known.get(content_hash(points))
        if best is None:
            print(f"n = {n}: the optima file knows no such instances; run --prove first")
            return
        points, best = points[: self.counts[n]], best[: self.counts[n]]
        for effort in self.efforts:
            facts = {"n": n, "effort": effort, "threads": self.threads(n)}
            facts["calibration"] = calibration(repeats=2)
            for curve in curves(self.scores, n):
                with prepared(curve, folder) as options:
                    if curve.method == "neural" and self.device != "cpu":
                        options["device"] = self.device
                    named = {**facts, "curve": curve.name, "score": curve.score}
                    measured = self._watched if n >= MANY else self._in_batches
                    measured(curve, {**options, "effort": effort}, points, best, named)

    def _in_batches(
        self,
        curve: Curve,
        options: dict[str, Any],
        points: np.ndarray,
        best: np.ndarray,
        facts: dict[str, Any],
    ) -> None:
        """Add a row for every budget of an effort: mean time and gap."""
        efforts, effort = MODULES[curve.method].EFFORTS, options["effort"]
        for budget, setting in budgets(curve, effort, points.shape[1]):
            with mock.patch.dict(efforts, {effort: setting}):
                lengths, seconds = self._solve(curve.method, options, points)
            gaps = 100.0 * np.maximum(lengths / best - 1.0, 0.0)
            row = {**facts, "budget": budget, "kind": "run", "seconds": seconds}
            row |= {"gap": float(gaps.mean()), "error": float(gaps.std() / np.sqrt(len(gaps)))}
            self._add({**row, "count": len(points)})

    def _solve(
        self, method: str, options: dict[str, Any], points: np.ndarray
    ) -> tuple[np.ndarray, float]:
        """Return lengths and seconds an instance.

        Several threads share a batch where there is a kernel for it. Elsewhere one solves alone,
        and the others are taken to do as much.
        """
        n = points.shape[1]
        batch = n <= neural.BATCH_LIMIT and (method, options["effort"]) != ("local", "best")
        workers = self.threads(n) if batch else 1
        ds.solve_many(points[: 2 * workers], method, workers=workers, **options)
        shortest = np.inf
        for _ in range(REPEATS):
            began = time.perf_counter()
            lengths = ds.solve_many(points, method, workers=workers, **options).lengths
            shortest = min(shortest, time.perf_counter() - began)
            if shortest > SHORT:
                break
        return lengths, shortest / len(points) / (1 if batch else self.threads(n))

    def _watched(
        self,
        curve: Curve,
        options: dict[str, Any],
        points: np.ndarray,
        best: np.ndarray,
        facts: dict[str, Any],
    ) -> None:
        """Add rows for what one run had reached on the way, and for its end."""
        heard: list[ds.Progress] = []
        began = time.perf_counter()
        solution = ds.solve(
            points[0], curve.method, on_progress=heard.append, threads=self.cores, **options
        )
        end = time.perf_counter() - began
        spanning = next(one.length for one in heard if one.length is not None)
        shortest = spanning
        facts |= {"kind": "trace", "error": 0.0, "count": 1}
        for one in heard:
            if one.length is not None and one.length < shortest * (1 - 1e-6):
                shortest = one.length
                gap = 100.0 * (shortest / best[0] - 1.0)
                reached = {"budget": "", "seconds": one.elapsed, "gap": gap, "length": shortest}
                self.rows.append({**facts, **reached})
        gap = 100.0 * (solution.length / best[0] - 1.0)
        row = {**facts, "kind": "run", "budget": options["effort"], "seconds": end, "gap": gap}
        self._add({**row, "length": solution.length, "saving": 1.0 - solution.length / spanning})

    def _add(self, row: dict[str, Any]) -> None:
        self.rows.append(row)
        score = f" ({row['score']})" if row["score"] else ""
        print(
            f"n = {row['n']:6} {row['curve'] + score:36} {row['budget']:28} "
            f"{1e3 * row['seconds']:10.3f} ms  {row['gap']:.5f} ± {row['error']:.5f} %",
            flush=True,
        )


def provenance(given: argparse.Namespace) -> dict[str, Any]:
    """Return where the rows come from."""
    return {
        "commit": commit(),
        "machine": machine(),
        "versions": versions(),
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "device": given.device,
        "reference_calibration": REFERENCE_CALIBRATION,
    }


def warm_up(device: str) -> None:
    """Compile all that the curves use."""
    rng = np.random.default_rng(0)
    for n in (20, 100, 300, 25_000):
        for method, options in (("local", {}), ("neural", {"device": device})):
            ds.solve(
                rng.random((n, 2)), method, effort="default" if n < MANY else "fast", **options
            )


def main() -> None:
    """Measure, or read, then draw and judge."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--optima", type=Path, help="the .npz file of optima")
    parser.add_argument("--prove", action="store_true", help="write that file and end")
    parser.add_argument("--sizes", type=int, nargs="+", choices=COUNTS, default=list(COUNTS))
    parser.add_argument("--effort", choices=EFFORTS, action="append")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument(
        "--scores", choices=regression_score.KINDS, nargs="+", default=["competition"]
    )
    parser.add_argument("--threads", type=int, help="how many where every core is used")
    parser.add_argument("--quick", action="store_true", help="a few instances of each size")
    parser.add_argument("--all", action="store_true", help="all proven instances (twice as long)")
    parser.add_argument("--json", type=Path, help="write the rows to this file")
    parser.add_argument("--read", type=Path, help="rows of an earlier run, instead of measuring")
    parser.add_argument("--figure", type=Path, help="draw the curves to this .svg or .png file")
    given = parser.parse_args()
    if given.prove and given.optima:
        prove(given.optima, given.sizes)
        return
    if given.read:
        found = json.loads(given.read.read_text(encoding="utf-8"))
    elif given.optima:
        warm_up(given.device)
        bench = Bench(given, read_optima(given.optima))
        with tempfile.TemporaryDirectory() as folder:
            for n in given.sizes:
                bench.run(n, Path(folder))
                # After every size, so that a run cut short leaves the sizes it finished.
                found = {"provenance": provenance(given), "rows": bench.rows}
                if given.json:
                    given.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    else:
        parser.error("give --optima FILE to measure, or --read FILE")
    print_points(found["rows"])
    print_verdicts(found["rows"])
    if given.figure:
        draw(found, given.figure)


if __name__ == "__main__":
    main()
