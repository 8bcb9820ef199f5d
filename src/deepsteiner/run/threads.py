"""Threads over the instances of a batch, or over the chunks of one.

Batch kernels are compiled with `nogil=True` and work on a span of instances; Python threads then
share the batch. Compared with numba's own `parallel=True` this compiles several times faster,
which matters to everyone's first call, and runs as fast.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar, copy_context
from functools import partial
from itertools import pairwise
from typing import Any

_THREADS: ContextVar[int] = ContextVar("threads", default=1)


def use_threads(count: int) -> None:
    """Let batches started from this context use `count` threads."""
    _THREADS.set(count)


def share(count: int, run: Callable[[int, int], None]) -> None:
    """Call `run(first, last)` over 0..count, split among the threads."""
    chunks = max(1, min(_THREADS.get(), count))
    if chunks == 1:
        run(0, count)
        return
    bounds = [count * i // chunks for i in range(chunks + 1)]
    with ThreadPoolExecutor(chunks) as pool:
        for done in [pool.submit(run, *span) for span in pairwise(bounds)]:
            done.result()


class Lanes:
    """Calls under way on some threads, their results taken in order; one lane is this thread."""

    def __init__(self, count: int) -> None:
        self._pool = ThreadPoolExecutor(count) if count > 1 else None
        # A call for every thread, and one for each to go on with while a result is taken.
        self._room = 2 * count if count > 1 else 1
        self._calls: deque[Callable[[], Any]] = deque()

    def __enter__(self) -> Lanes:
        return self

    def __exit__(self, *_: object) -> None:
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)

    @property
    def waiting(self) -> bool:
        """Whether a result is still to be taken."""
        return bool(self._calls)

    @property
    def full(self) -> bool:
        """Whether a result must be taken before another call can be made."""
        return len(self._calls) >= self._room

    def submit(self, call: Callable[..., Any], *arguments: Any) -> None:
        """Begin a call, in a context of its own; in this thread it waits for `result`."""
        run = partial(copy_context().run, call, *arguments)
        self._calls.append(run if self._pool is None else self._pool.submit(run).result)

    def result(self) -> Any:
        """Return what the oldest call gave."""
        return self._calls.popleft()()
