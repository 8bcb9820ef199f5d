"""Threads over the instances of a batch.

Batch kernels are compiled with `nogil=True` and work on a span of instances; Python threads then
share the batch. Compared with numba's own `parallel=True` this compiles several times faster,
which matters to everyone's first call, and runs as fast.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar
from itertools import pairwise

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
