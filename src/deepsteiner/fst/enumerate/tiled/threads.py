"""Tiles on threads of this process: what is held at once is what is under way, not everything."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from itertools import islice
from threading import Event
from typing import Any

from ....run.monitor import Report
from ....run.watch import POLL_SECONDS, THREAD_NAME, Stopped
from .generate import Call


class ThreadHands:
    """Hands that are threads of this process; each works on one tile at a time."""

    def __init__(self, threads: int, report: Report) -> None:
        self._threads, self._report = threads, report

    def each(self, phase: str, calls: Iterable[Call], total: int) -> Iterator[tuple[int, Any]]:
        """Yield the number and the result of each call, as they come; raise Stopped if told to."""
        waiting, stopped, done = enumerate(calls), Event(), 0
        running: dict[Future[Any], int] = {}
        with ThreadPoolExecutor(self._threads, thread_name_prefix=THREAD_NAME) as pool:
            try:
                while True:
                    for number, (call, given) in islice(waiting, self._threads - len(running)):
                        future = pool.submit(call, *given, lambda: not stopped.is_set())
                        running[future] = number
                    if not running:
                        return
                    for future in wait(running, POLL_SECONDS, FIRST_COMPLETED).done:
                        done += 1
                        yield running.pop(future), future.result()
                    if not self._report(phase, done, total):
                        raise Stopped
            finally:
                stopped.set()

    def go_on(self, phase: str) -> bool:
        """Return whether to go on."""
        return self._report(phase, 0, 0)
