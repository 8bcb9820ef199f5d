"""Measure one method on one dataset, or a whole list of such pairs, resumably."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Executor
from contextlib import suppress
from dataclasses import dataclass, field, replace
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
# Optima are known up to rounding: a gap of fewer percent than this is zero.
ZERO_GAP = 1e-9
# What a row that is not measured yet, and only has a key, lacks.
MEASURED = (
    *("gap_mean", "gap_std", "gap_stderr", "gap_min", "gap_max", "length_mean"),
    *("batch_ms", "throughput"),
)

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
    """Settings that all rows of a run share, and the dataset that was loaded last.

    `single` is the number of instances that are also solved one after the other. `known` holds
    optima by content hash. `report(phase, done, total)` is told the progress inside a row and
    answers whether to go on. Batches are solved on `executor`, that of `engine`, if there is one.
    """

    seed: int = 0
    device: str = "cpu"
    workers: int = 1
    single: int = 0
    known: Mapping[str, FloatArray] | None = None
    report: Report | None = None
    executor: Executor | None = None
    engine: str | None = None
    _loaded: dict[tuple[DatasetSpec, int | None], Instances] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.seed, self.device = check_common(self.seed, self.device)
        for name, least in (("workers", 1), ("single", 0)):
            if getattr(self, name) < least:
                raise OptionError(f"{name} must be at least {least}, got {getattr(self, name)}")
        if self.executor is not None and self.workers != 1:
            raise OptionError("give either workers or an engine, which has workers of its own")

    def load(self, task: Task) -> Instances:
        """Return a task's instances with their optima, loaded once."""
        key = (task.dataset, task.count)
        if key not in self._loaded:
            if task.count is not None and task.count < 1:
                raise OptionError(f"count must be at least 1, got {task.count}")
            instances = task.dataset.load(task.count, self.seed)
            progress = self._progress("optima")
            optima = optimal_lengths(instances, self.known, progress, self.executor)
            # Rows come dataset by dataset: one at a time is enough.
            self._loaded = {key: replace(instances, optima=optima)}
        return self._loaded[key]

    def call(self, task: Task) -> dict[str, Any]:
        """Return the arguments of every call of a task's method, and prepare torch for the calls.

        A learned method gets as many threads as the others do.
        """
        if "torch" in get_method(task.method.name, {}).info.needs:
            # Threads that spin while they wait make a busy machine many times slower.
            os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
            with suppress(MissingDependencyError):  # the method itself says what to install
                load_torch("a learned method").set_num_threads(self.workers)
        options = {"method": task.method.name, "device": self.device, "seed": self.seed}
        return {**options, **task.method.options}

    def measure(self, task: Task) -> Row:
        """Make the row of a task."""
        instances, call = self.load(task), self.call(task)
        points, optima = instances.points, instances.optima
        assert optima is not None
        solve_many(points[: WARM_UP if points.shape[1] <= 30 else 2], **call)
        provenance.restart_memory_peak()
        if self.device != "cpu":
            _cuda().reset_peak_memory_stats()
        solved = solve_many(
            points,
            workers=self.workers,
            executor=self.executor,
            on_progress=self._progress("instances"),
            **call,
        )
        if "interrupted" in solved.statuses:
            raise KeyboardInterrupt
        check_against_optima(solved.lengths, optima, task.label)
        values = _statistics(solved.lengths, optima)
        values |= {
            "batch_ms": _digits(1000 * solved.runtime / len(points)),
            "throughput": _digits(len(points) / solved.runtime),
            "memory_mib": provenance.memory_peak_mib(),
        }
        if self.device != "cpu":
            values["device_memory_mib"] = round(_cuda().max_memory_allocated() / 2**20, 1)
        if single := self.single if task.single is None else task.single:
            values |= self._one_by_one(points[:single], call)
        return self._row(task, points, values)

    def _one_by_one(self, points: FloatArray, call: dict[str, Any]) -> dict[str, Any]:
        solve(points[0], **call)
        progress = self._progress("one by one")
        started = time.perf_counter()
        for index, instance in enumerate(points):
            solve(instance, **call)
            if progress is not None and not progress(Progress(0.0, "", index + 1, len(points))):
                raise KeyboardInterrupt
        spent = time.perf_counter() - started
        return {"single_ms": _digits(1000 * spent / len(points)), "single_count": len(points)}

    def key_of(self, task: Task) -> tuple[Any, ...]:
        """Return the key that the task's row would have."""
        points = task.dataset.load(task.count, self.seed).points
        return self._row(task, points, {}).key

    def _row(self, task: Task, points: FloatArray, values: dict[str, Any]) -> Row:
        """Return the row of a task; without values, one whose key is right."""
        options: dict[str, Any] = dict(task.method.options)
        facts: dict[str, Any] = {}
        if "model" in options:
            model = describe_model(options["model"])
            options["model"], facts = model.name, model.facts
        return Row(
            dataset=task.dataset.label,
            n=points.shape[1],
            count=len(points),
            method=task.method.name,
            options=options,
            device="cpu" if self.device == "cpu" else _cuda().get_device_name(),
            version=__version__,
            points=content_hash(points),
            seed=self.seed,
            workers=self.workers,
            engine=self.engine,
            model=facts,
            **{**provenance.stamp(), **dict.fromkeys(MEASURED, 0.0), **values},
        )

    def _progress(self, phase: str) -> Callable[[Progress], bool] | None:
        report = self.report
        if report is None:
            return None
        return lambda progress: report(phase, progress.done, progress.total)


def run_tasks(
    tasks: Iterable[Task],
    bench: Bench,
    output: str | os.PathLike[str],
    *,
    force: bool = False,
    on_row: Callable[[Task, Row | None], None] = lambda task, row: None,
) -> list[Row]:
    """Make the rows that a file does not hold yet and append each when it is done.

    `on_row` is told each task with its row, or with None where the file already had it.
    """
    have = {row.key for row in read_rows(output)} if os.path.exists(output) and not force else set()
    made = []
    for task in tasks:
        row = None
        if bench.key_of(task) not in have:
            row = bench.measure(task)
            append_row(output, row)
            made.append(row)
            have.add(row.key)
        on_row(task, row)
    return made


def _statistics(lengths: FloatArray, optima: FloatArray) -> dict[str, Any]:
    """Return the gap's mean, spread and extremes in percent, and where the extremes are."""
    safe = np.where(optima > 0.0, optima, 1.0)
    gaps = 100.0 * (lengths - optima) / safe
    gaps[np.abs(gaps) < ZERO_GAP] = 0.0
    order = np.argsort(gaps, kind="stable").tolist()
    deviation = float(gaps.std(ddof=1)) if len(gaps) > 1 else 0.0
    return {
        "gap_mean": float(gaps.mean()),
        "gap_std": deviation,
        "gap_stderr": deviation / float(np.sqrt(len(gaps))),
        "gap_min": float(gaps.min()),
        "gap_max": float(gaps.max()),
        "length_mean": float(lengths.mean()),
        "examples": {"best": order[0], "median": order[len(order) // 2], "worst": order[-1]},
    }


def _digits(value: float) -> float:
    return float(f"{value:.4g}")


def _cuda() -> Any:
    return load_torch("device 'cuda'").cuda
