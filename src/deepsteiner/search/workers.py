"""Threads over slices of one large instance; results come back in order, whatever the threads."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from itertools import pairwise
from typing import Any, TypeVar

T = TypeVar("T")
Tell = Callable[[str, int, int], bool]

# What one step between two reports should take, and after what time a longer one is reported.
STEP_SECONDS = 0.03
POLL_SECONDS = 0.04


class Workers:
    """A few threads that share the slices of a range, reporting between steps."""

    def __init__(self, threads: int) -> None:
        self.threads = threads
        self._pool = ThreadPoolExecutor(threads)  # starts no thread before it is used

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.shutdown()

    def scratch(self, make: Callable[[], T]) -> Callable[[], T]:
        """Return a function that gives each thread its own copy of what `make` makes."""
        own = threading.local()

        def get() -> T:
            if not hasattr(own, "value"):
                own.value = make()
            value: T = own.value
            return value

        return get

    def map(
        self,
        run: Callable[[int, int], Any],
        total: int,
        step: int,
        tell: Tell | None = None,
        phase: str = "",
        heavy: bool = False,
    ) -> list[Any]:
        """Call run(first, last) over 0..total; return the results in order.

        Slices begin with `step` items and grow or shrink to take STEP_SECONDS. Where `tell` says
        no, the rest is left out. Where even one item may be `heavy`, `tell` hears of it meanwhile.
        """
        results: list[Any] = []
        done = 0
        while done < total:
            began = time.perf_counter()
            bounds = [min(done + k * step, total) for k in range(self.threads + 1)]
            spans = [(a, b) for a, b in pairwise(bounds) if a < b]
            going = True
            if len(spans) == 1 and not heavy:
                results.append(run(*spans[0]))
            else:
                futures = [self._pool.submit(run, *span) for span in spans]
                while wait(futures, POLL_SECONDS).not_done:
                    going = going and (tell is None or tell(phase, done, total))
                results.extend(future.result() for future in futures)
            done = spans[-1][1]
            if tell is not None and not (tell(phase, done, total) and going):
                break
            spent = max(time.perf_counter() - began, 1e-6)
            step = max(1, min(4 * step, int(step * STEP_SECONDS / spent)))
        return results
