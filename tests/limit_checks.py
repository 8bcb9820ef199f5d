"""What every method promises about limits and reports, as a check that any method can be put to.

Seconds are those of the processor that the process has used, and the limits of a run go by that
clock too: on a busy machine a run takes longer, but it does no more.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np

import deepsteiner as ds
from deepsteiner import registry
from deepsteiner.core.options import NoOptions
from deepsteiner.run import monitor
from deepsteiner.run.method import MethodInfo
from deepsteiner.run.watch import THREAD_NAME

# The promises are 0.1 s and 0.05 s. A crowded cache may make any code slower by half.
LATE, SILENT = 0.25, 0.25
# Kernels that are reached for the first time are loaded meanwhile.
ATTEMPTS = 4


@dataclass(frozen=True)
class Observed:
    """One run: what came back, seconds after the limit or the no, and the longest silence."""

    solution: ds.Solution
    late: float
    silent: float


def observe(
    monkeypatch: Any, method: str, points: np.ndarray, limit: float | None, stop_at: int | None
) -> Observed:
    """Solve with a limit, or with a no as the answer to report number `stop_at`."""
    monkeypatch.setattr(monitor, "clock", time.process_time)
    quiet()
    times = [time.process_time()]
    due = None if limit is None else times[0] + limit

    def heard(_: ds.Progress) -> bool:
        nonlocal due
        times.append(time.process_time())
        if len(times) - 1 == stop_at:
            due = times[-1]
        return len(times) - 1 != stop_at

    solution = ds.solve(points, method, time_limit=limit, on_progress=heard)
    times.append(time.process_time())
    late = 0.0 if due is None else max(0.0, times[-1] - due)
    return Observed(solution, late, float(np.diff(times).max()))


def quiet() -> None:
    """Wait for calls that an earlier run has left behind."""
    for thread in threading.enumerate():
        if thread.name.startswith(THREAD_NAME):
            thread.join(20)


def check_limits(monkeypatch: Any, method: str, points: np.ndarray) -> None:
    """Fail where a method is late, silent, or calls an unfinished tree finished."""
    for limit, stop_at in ((0.0, None), (0.001, None), (0.05, None), (0.4, None), (None, 3)):
        for attempt in range(1, ATTEMPTS + 1):
            seen = observe(monkeypatch, method, points, limit, stop_at)
            seen.solution.validate()
            what = f"{method}, {len(points)} points, limit {limit}: "
            if seen.late <= LATE and seen.silent <= SILENT:
                break
            assert attempt < ATTEMPTS or seen.late <= LATE, f"{what}{seen.late:.2f} s late"
            assert attempt < ATTEMPTS or seen.silent <= SILENT, f"{what}{seen.silent:.2f} s silent"
        if limit == 0.0:
            assert seen.solution.status == "time_limit", f"{what}{seen.solution.status}"


def register(monkeypatch: Any, solve: Callable[..., Any]) -> str:
    """Make a method of a function, for the time of a test; return its name."""
    module = ModuleType("deepsteiner_test_method")
    module.INFO = MethodInfo("fake", "a method for a test", "none")
    module.Options, module.solve = NoOptions, solve
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setattr(registry, "MODULES", {**registry.MODULES, "fake": module.__name__})
    monkeypatch.setattr(registry, "_module", registry._module.__wrapped__)
    return "fake"


def ends(call: Callable[[], Any], seconds: float = 60.0) -> Any:
    """Return call(), or fail where it does not end: the thread it runs in is then left behind."""
    done: list[Any] = []
    thread = threading.Thread(target=lambda: done.append(call()), daemon=True)
    thread.start()
    thread.join(seconds)
    assert done, f"no end after {seconds} s"
    return done[0]
