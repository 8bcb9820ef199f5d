"""Runs the cases in worker processes, one a checkout, taking turns, and keeps what they said."""

from __future__ import annotations

import json
import os
import selectors
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from yardstick.cases import Case

HERE = Path(__file__).parent
# Seconds after which a worker is given up: for a case, and where kernels may have to be compiled.
PATIENCE, COMPILING = 120.0, 900.0
# A fresh process is dear: it is timed in so many rounds only.
FRESH_ROUNDS = 3
FRESH = """
import json, sys, numpy, deepsteiner as ds
points = numpy.load(sys.argv[1])[sys.argv[2]][0]
tree = ds.solve(points, sys.argv[3])
print(json.dumps([float(tree.length), str(tree.status)]))
"""


class CheckoutError(Exception):
    """A folder that cannot be measured."""


class Clock(NamedTuple):
    """A time: the shortest of every call, and how much longer the second shortest was.

    The shortest is what is left when nobody disturbs; one that stands alone is luck.
    """

    seconds: float
    noise: float


@dataclass
class Sample:
    """What one checkout did in one case: the times of every call, round by round, and the trees."""

    rounds: list[list[list[float]]] = field(default_factory=list)
    lengths: list[float] = field(default_factory=list)
    statuses: list[str] = field(default_factory=list)
    error: str | None = None

    @property
    def wall(self) -> Clock:
        """The time by the clock of all calls together."""
        return self._clock(0)

    @property
    def cpu(self) -> Clock:
        """The processor's time of all calls together: other work hardly disturbs it."""
        return self._clock(1)

    def _clock(self, place: int) -> Clock:
        ordered = np.sort(np.array(self.rounds)[:, :, place], axis=0)
        shortest = float(ordered[0].sum())
        noise = float(ordered[1].sum()) / shortest - 1.0 if len(ordered) > 1 else 1.0
        return Clock(shortest, noise)

    def add(self, answer: dict[str, Any]) -> None:
        """Take what a worker said about one round."""
        if "error" in answer:
            self.error = answer["error"]
            return
        if self.lengths and self.lengths != answer["lengths"]:
            self.error = "the same points gave trees of other lengths in another round"
        self.rounds.append(answer["times"])
        self.lengths, self.statuses = answer["lengths"], answer["statuses"]


@dataclass
class Measured:
    """All samples of one run, by checkout and case, and the calibration of every round."""

    samples: list[dict[str, Sample]]
    calibration: Sample = field(default_factory=Sample)


class Worker:
    """A process that solves with one checkout's package."""

    def __init__(self, checkout: Path, points: Path) -> None:
        self.checkout, self.points = checkout, points
        self._start()

    def _start(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, str(HERE / "worker.py"), str(self.points)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment(self.checkout),
            text=True,
            bufsize=1,
        )
        said = self._hear(PATIENCE)
        package = Path(said.get("package", "nowhere")).resolve()
        if not package.is_relative_to(self.checkout.resolve()):
            self.close()
            raise CheckoutError(f"{self.checkout}: the package was imported from {package.parent}")

    def ask(self, case: Case, count: int | None = None, patience: float = PATIENCE) -> dict:
        """Return what the worker says about one round of a case, or of its first instances."""
        order = {"method": case.method, "mode": case.mode, "set": case.set}
        order |= {"options": case.options, "count": case.count if count is None else count}
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(json.dumps(order) + "\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            pass  # it died of the case before; hearing nothing says so
        answer = self._hear(patience)
        if self.process.poll() is not None:
            self._start()
        return answer

    def _hear(self, patience: float) -> dict[str, Any]:
        assert self.process.stdout is not None
        with selectors.DefaultSelector() as selector:
            selector.register(self.process.stdout, selectors.EVENT_READ)
            if not selector.select(patience):
                self.close()
                return {"error": f"no answer within {patience:.0f} s"}
        line = self.process.stdout.readline()
        if not line:
            return {"error": f"the process ended with code {self.process.wait()}"}
        return json.loads(line)

    def close(self) -> None:
        """End the process."""
        self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout):
            if stream is not None:
                stream.close()


def environment(checkout: Path) -> dict[str, str]:
    """Return the variables of a worker: its own package, and one thread for linear algebra."""
    own = {"PYTHONPATH": str(checkout / "src"), "OMP_NUM_THREADS": "1"}
    return {**os.environ, **own, "OMP_WAIT_POLICY": "passive"}


def check_checkout(path: Path) -> Path:
    """Return the folder, or say that it is no checkout."""
    if not (path / "src" / "deepsteiner" / "__init__.py").is_file():
        raise CheckoutError(f"{path} is no checkout: it has no src/deepsteiner")
    return path


def commit_of(checkout: Path) -> str:
    """Return the commit of a checkout, with a plus where its source was changed."""
    git = ["git", "-C", str(checkout)]
    found = subprocess.run(
        [*git, "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False
    )
    if found.returncode:
        return "unknown"
    changed = subprocess.run(
        [*git, "status", "--porcelain", "--untracked-files=no", "--", "src"],
        capture_output=True,
        text=True,
        check=False,
    )
    return found.stdout.strip() + ("+" if changed.stdout.strip() else "")


def clocks() -> np.ndarray:
    """Return seconds by the clock, and of the processor here and in children that ended."""
    return np.array((time.perf_counter(), sum(os.times()[:4])))


def calibrate() -> list[float]:
    """Return what a Delaunay triangulation of 100,000 fixed points takes, now."""
    from scipy.spatial import Delaunay

    points = np.random.default_rng(0).random((100_000, 2))
    began = clocks()
    Delaunay(points)
    return (clocks() - began).tolist()


def run_fresh(checkout: Path, case: Case, points: Path) -> dict[str, Any]:
    """Time the first solve of a fresh process, from its start to its end."""
    arguments = [sys.executable, "-c", FRESH, str(points), case.set, case.method]
    began = clocks()
    try:
        done = subprocess.run(
            arguments,
            env=environment(checkout),
            capture_output=True,
            text=True,
            timeout=COMPILING,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return {"error": f"no answer within {COMPILING:.0f} s"}
    times = (clocks() - began).tolist()
    if done.returncode:
        return {"error": (done.stderr.strip().splitlines() or ["no message"])[-1]}
    length, status = json.loads(done.stdout.strip().splitlines()[-1])
    return {"times": [times], "lengths": [length], "statuses": [status]}


def run(
    checkouts: Sequence[Path],
    cases: Sequence[Case],
    rounds: int,
    points: Path,
    tell: Callable[[str], None],
) -> Measured:
    """Measure every case in every checkout, so many times.

    The checkouts take turns within a case, and who begins changes: what else the machine does
    meets all of them alike.
    """
    found = Measured([{case.name: Sample() for case in cases} for _ in checkouts])
    workers = [Worker(path, points) for path in checkouts]
    try:
        for worker in workers:
            tell(f"warming up {worker.checkout} (compiles kernels where that was never done)")
            warm_up(worker, cases)
        calibrate()
        for number in range(rounds):
            tell(f"round {number + 1} of {rounds}")
            found.calibration.rounds.append([calibrate()])
            for case in cases:
                turns = list(enumerate(workers))
                for place, worker in turns if number % 2 else turns[::-1]:
                    sample = found.samples[place][case.name]
                    if sample.error is not None:
                        continue
                    if case.mode != "first":
                        sample.add(worker.ask(case))
                    elif number < FRESH_ROUNDS:
                        sample.add(run_fresh(worker.checkout, case, points))
    finally:
        for worker in workers:
            worker.close()
    return found


def warm_up(worker: Worker, cases: Sequence[Case]) -> None:
    """Solve one instance of every case, two of a batch: kernels are compiled and models loaded."""
    for case in cases:
        if case.mode == "first":
            run_fresh(worker.checkout, case, worker.points)
        else:
            worker.ask(case, 2 if case.mode == "batch" else 1, COMPILING)
