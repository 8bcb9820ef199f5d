"""Measure one method on one dataset, or a whole list of such pairs, resumably."""

from __future__ import annotations

import datetime
import os
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .. import __version__
from ..api import solve
from ..batch import solve_many
from ..core.device import load_torch
from ..core.errors import MissingDependencyError, OptionError
from ..core.points import FloatArray
from ..registry import check_common, get_method
from ..run.monitor import Progress
from . import provenance
from .models import describe_model
from .optima import check_against_optima, content_hash, optimal_lengths
from .rows import Row, append_row, read_rows
from .specs import DatasetSpec, Instances, MethodSpec

# Instances solved before the clock starts: kernels are compiled and models loaded then.
WARM_UP = 16
# Optima are known to rounding: a gap closer to zero than this many percent is zero.
ZERO_GAP = 1e-9

Report = Callable[[str, int, int], bool]


@dataclass(frozen=True)
class Task:
    """One row to make. `count` None takes all instances of the dataset; `group` names its table."""

    dataset: DatasetSpec
    method: MethodSpec
    count: int | None = None
    single: int | None = None
    group: str = ""

    @property
    def label(self) -> str:
        """What this is, in words that `--only` is matched against."""
        return " ".join(filter(None, (self.group, self.dataset.label, self.method.text)))


@dataclass
class Bench:
    """Settings that all rows of a run share, and the datasets that were loaded for it.

    `single` is the number of instances that are also solved one after the other. `known` holds
    optima by content hash. `report(phase, done, total)` is told the progress inside a row and
    answers whether to go on.
    """

    seed: int = 0
    device: str = "cpu"
    workers: int = 1
    single: int = 0
    known: Mapping[str, FloatArray] | None = None
    report: Report | None = None
    _loaded: dict[tuple[DatasetSpec, int | None], _Loaded] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.seed, self.device = check_common(self.seed, self.device)
        if self.workers < 1:
            raise OptionError(f"workers must be at least 1, got {self.workers}")
        if self.single < 0:
            raise OptionError(f"single must be at least 0, got {self.single}")

    def load(self, task: Task) -> _Loaded:
        """Return a task's instances with their optima, loaded once."""
        key = (task.dataset, task.count)
        if key not in self._loaded:
            if task.count is not None and task.count < 1:
                raise OptionError(f"count must be at least 1, got {task.count}")
            instances = task.dataset.load(task.count, self.seed)
            self._loaded.clear()  # rows come dataset by dataset: one at a time is enough
            optima = optimal_lengths(instances, self.known, self._progress("optima"))
            self._loaded[key] = _Loaded(instances, optima, content_hash(instances.points))
        return self._loaded[key]

    def key_of(self, task: Task) -> tuple[Any, ...]:
        """Return the key that the task's row would have."""
        points = task.dataset.load(task.count, self.seed).points
        return _blank_row(self, task, points, content_hash(points)).key

    def prepare(self, task: Task) -> None:
        """Give a learned method as many threads as the others get."""
        _prepare_torch(task.method.name, self.workers)

    def measure(self, task: Task) -> Row:
        """Make the row of a task."""
        loaded = self.load(task)
        points = loaded.instances.points
        device = None if self.device == "cpu" else _Accelerator()
        call = {"device": self.device, "seed": self.seed, **task.method.options}
        self.prepare(task)
        _warm_up(points, task.method.name, call)
        provenance.restart_memory_peak()
        if device is not None:
            device.restart_memory_peak()
        solved = solve_many(
            points,
            task.method.name,
            workers=self.workers,
            on_progress=self._progress("instances"),
            **call,
        )
        if "interrupted" in solved.statuses:
            raise KeyboardInterrupt
        check_against_optima(solved.lengths, loaded.optima, task.label)
        memory = provenance.memory_peak_mib()
        values = _statistics(solved.lengths, loaded.optima)
        values |= {
            "batch_ms": _digits(1000 * solved.runtime / len(points)),
            "throughput": _digits(len(points) / solved.runtime),
            "memory_mib": memory,
            "device_memory_mib": None if device is None else device.memory_peak_mib(),
        }
        single = self.single if task.single is None else task.single
        if single:
            values |= self._one_by_one(points[:single], task.method.name, call)
        return _blank_row(self, task, points, loaded.hash, **values)

    def _one_by_one(self, points: FloatArray, method: str, call: dict[str, Any]) -> dict[str, Any]:
        solve(points[0], method, **call)
        progress = self._progress("one by one")
        started = time.perf_counter()
        for index, instance in enumerate(points):
            solve(instance, method, **call)
            if progress is not None and not progress(Progress(0.0, "", index + 1, len(points))):
                raise KeyboardInterrupt
        spent = time.perf_counter() - started
        return {"single_ms": _digits(1000 * spent / len(points)), "single_count": len(points)}

    def _progress(self, phase: str) -> Callable[[Progress], bool] | None:
        report = self.report
        if report is None:
            return None
        return lambda progress: report(phase, progress.done, progress.total)


@dataclass(frozen=True)
class _Loaded:
    instances: Instances
    optima: FloatArray
    hash: str


def run_tasks(
    tasks: Iterable[Task],
    bench: Bench,
    output: str | os.PathLike[str],
    *,
    force: bool = False,
    on_row: Callable[[Task, Row | None], None] | None = None,
) -> list[Row]:
    """Make the rows that a file does not hold yet and append each when it is done.

    `on_row` is told each task with its row, or with None where the file already had it.
    """
    have = {row.key for row in read_rows(output)} if os.path.exists(output) and not force else set()
    made = []
    for task in tasks:
        if bench.key_of(task) in have:
            if on_row is not None:
                on_row(task, None)
            continue
        row = bench.measure(task)
        append_row(output, row)
        made.append(row)
        have.add(row.key)
        if on_row is not None:
            on_row(task, row)
    return made


def _blank_row(bench: Bench, task: Task, points: FloatArray, hash: str, **values: Any) -> Row:
    """Return the row of a task; without values, one whose key is right."""
    options = dict(task.method.options)
    facts: dict[str, Any] = {}
    if "model" in options:
        model = describe_model(options["model"])
        options["model"], facts = model.name, model.facts
    empty = dict.fromkeys(
        ("gap_mean", "gap_std", "gap_stderr", "gap_min", "gap_max", "length_mean"), 0.0
    )
    return Row(
        dataset=task.dataset.label,
        n=points.shape[1],
        count=len(points),
        method=task.method.name,
        options=options,
        device="cpu" if bench.device == "cpu" else _Accelerator().name,
        version=__version__,
        points=hash,
        seed=bench.seed,
        workers=bench.workers,
        machine=provenance.machine(),
        commit=provenance.commit(),
        versions=provenance.versions(),
        date=datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d"),
        model=facts,
        **{"batch_ms": None, "throughput": None, **empty, **values},
    )


def _statistics(lengths: FloatArray, optima: FloatArray) -> dict[str, Any]:
    """Return the gap's mean, spread and extremes in percent, and where the extremes are."""
    safe = np.where(optima > 0.0, optima, 1.0)
    gaps = 100.0 * (lengths - optima) / safe
    gaps[np.abs(gaps) < ZERO_GAP] = 0.0
    order = np.argsort(gaps, kind="stable")
    deviation = float(gaps.std(ddof=1)) if len(gaps) > 1 else 0.0
    return {
        "gap_mean": float(gaps.mean()),
        "gap_std": deviation,
        "gap_stderr": deviation / float(np.sqrt(len(gaps))),
        "gap_min": float(gaps.min()),
        "gap_max": float(gaps.max()),
        "length_mean": float(lengths.mean()),
        "examples": {
            "best": int(order[0]),
            "median": int(order[len(order) // 2]),
            "worst": int(order[-1]),
        },
    }


def _warm_up(points: FloatArray, method: str, call: dict[str, Any]) -> None:
    count = WARM_UP if points.shape[1] <= 30 else 2
    solve_many(points[:count], method, **call)


def _digits(value: float) -> float:
    return float(f"{value:.4g}")


def _prepare_torch(method: str, workers: int) -> None:
    """Set torch's threads where a method needs torch."""
    if "torch" not in get_method(method, {}).info.needs:
        return
    # Threads that spin while they wait make a busy machine many times slower.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    with suppress(MissingDependencyError):  # the method itself says what to install
        load_torch("a learned method").set_num_threads(workers)


class _Accelerator:
    """The CUDA device that torch works on."""

    def __init__(self) -> None:
        self._cuda = load_torch("device 'cuda'").cuda
        self.name = self._cuda.get_device_name()

    def restart_memory_peak(self) -> None:
        self._cuda.reset_peak_memory_stats()

    def memory_peak_mib(self) -> float:
        return float(round(self._cuda.max_memory_allocated() / 2**20, 1))
