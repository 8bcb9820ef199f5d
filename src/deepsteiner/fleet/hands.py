"""Calls on an executor: made a few ahead, told to a monitor, tried again where they are lost."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, wait
from typing import Any

from ..core.errors import DeepSteinerError, OptionError, WorkerError
from ..run.monitor import Monitor
from ..run.watch import Stopped
from .crew import AHEAD, POLL_SECONDS, TRIES, width_of

Call = tuple[Callable[..., Any], tuple[Any, ...]]


class Hands:
    """An executor and a monitor: calls made on the one, told to the other, tried again if lost.

    Where calls are `stoppable` and the executor is one of ours, functions get a last argument
    `go_on()`, and a stop reaches those that run; what runs elsewhere is left to end unseen.
    """

    def __init__(self, executor: Executor, monitor: Monitor, stoppable: bool = False) -> None:
        if not callable(getattr(executor, "submit", None)):
            raise OptionError(
                "executor must be a concurrent.futures.Executor, with a method submit, "
                f"got {type(executor).__name__}"
            )
        self._executor, self.monitor = executor, monitor
        self._submit: Callable[..., Future[Any]] = executor.submit
        self._stop: Callable[[], None] | None = None
        if stoppable and hasattr(executor, "submit_stoppable"):
            self._submit, self._stop = executor.submit_stoppable, getattr(executor, "stop", None)

    def all(self, phase: str, calls: Iterable[Call], total: int) -> list[Any]:
        """Return the results of all calls, in their order."""
        found = dict(self.each(phase, calls, total))
        return [found[number] for number in range(len(found))]

    def each(self, phase: str, calls: Iterable[Call], total: int) -> Iterator[tuple[int, Any]]:
        """Yield the number and the result of each call, as they come."""
        waiting = enumerate(calls)
        running: dict[Future[Any], tuple[int, Call, int]] = {}
        done, more = 0, True
        while more or running:
            while more and len(running) < AHEAD * width_of(self._executor) + 1:
                entry = next(waiting, None)
                more = entry is not None
                if entry is not None:
                    self._begin(running, *entry, 1)
            for future in wait(running, POLL_SECONDS, FIRST_COMPLETED).done:
                number, call, tries = running.pop(future)
                error = future.exception()
                if error is None:
                    done += 1
                    yield number, future.result()
                elif isinstance(error, DeepSteinerError):
                    raise error
                elif tries >= TRIES + 1 or isinstance(error, BrokenExecutor):
                    raise WorkerError(f"{phase} {number} failed on every try ({error})")
                else:
                    self._begin(running, number, call, tries + 1)
            if not self.go_on(phase, done, total):
                for future in running:
                    future.cancel()
                if self._stop is not None:
                    self._stop()
                raise Stopped

    def go_on(self, phase: str, done: int = 0, total: int = 0) -> bool:
        """Tell the monitor; return whether to go on."""
        return self.monitor.report(phase, done, total)

    def _begin(self, running: dict[Future[Any], Any], number: int, call: Call, tries: int) -> None:
        running[self._submit(call[0], *call[1])] = number, call, tries
