"""Threads: over the instances of a batch, over its chunks, over the slices of one large instance.

Batch kernels are compiled with `nogil=True` and work on a span of instances; Python threads then
share the batch. Compared with numba's own `parallel=True` this compiles several times faster,
which matters to everyone's first call, and runs as fast.
"""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextvars import ContextVar, copy_context
from functools import partial
from typing import Any, Generic, TypeVar

from .monitor import Report
from .watch import THREAD_NAME

T = TypeVar("T")
R = TypeVar("R")

# What a slice should take here, where it is reported when it is done, and in a thread apart, where
# reports go on meanwhile.
STEP_SECONDS, APART_SECONDS = 0.03, 0.06
POLL_SECONDS = 0.04
# Slices handed out at a time, for each thread: whoever is done early goes on at once.
AHEAD = 2

_THREADS: ContextVar[int] = ContextVar("threads", default=1)


def cores() -> int:
    """Return how many cores this process may use; OMP_NUM_THREADS, where it is set, says so."""
    said = os.environ.get("OMP_NUM_THREADS", "")
    if said.isdecimal() and int(said) > 0:
        return int(said)
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


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
        list(pool.map(run, bounds[:-1], bounds[1:]))  # which raises what a call raised


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


class _Own(threading.local, Generic[T]):
    """A value of which each thread has its own: this `__init__` runs again in every one."""

    def __init__(self, make: Callable[[], T]) -> None:
        self.value = make()


class Workers:
    """A few threads that share the slices of a range, reporting between steps."""

    def __init__(self, threads: int) -> None:
        self.threads = threads
        self._pool = self._new_pool()

    def _new_pool(self) -> ThreadPoolExecutor:
        """Return a pool; it starts no thread before it is used."""
        return ThreadPoolExecutor(self.threads, thread_name_prefix=THREAD_NAME)

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.shutdown()

    def scratch(self, make: Callable[[], T]) -> Callable[[], T]:
        """Return a function that gives each thread its own copy of what `make` makes."""
        own = _Own(make)
        return lambda: own.value

    def each(self, run: Callable[[T], R], items: Sequence[T]) -> list[R]:
        """Call run(item) for every item; return the results in order.

        A thread that is done takes the next item itself: to be handed each one by this thread, and
        to hand each result back, takes longer than a small item where many threads want to talk.
        """
        results: list[Any] = [None] * len(items)
        waiting = iter(range(len(items)))  # of which each thread takes the next, one at a time

        def take() -> None:
            for place in waiting:
                results[place] = run(items[place])

        takers = [self._pool.submit(take) for _ in range(min(self.threads, len(items)))]
        for taker in takers:
            taker.result()
        return results

    def map(
        self,
        run: Callable[[int, int], Any],
        total: int,
        step: int,
        report: Report | None = None,
        phase: str = "",
        heavy: bool = False,
        leave: bool = False,
    ) -> list[Any]:
        """Call run(first, last) over 0..total; return the results in order.

        Slices begin with `step` items and grow or shrink to take STEP_SECONDS (APART_SECONDS with
        several threads). Where `report` says no, the rest is left out. Where even one item may be
        `heavy`, `report` hears of it meanwhile; with `leave` a slice that is then under way is left
        to end by itself, unseen: it must not write to anything that is still needed.
        """
        results: list[Any] = []
        slices: deque[tuple[int, Future[tuple[float, Any]]]] = deque()
        handed, done, going = 0, 0, True
        apart = heavy or (self.threads > 1 and total > step)
        ahead, seconds = (self.threads * AHEAD, APART_SECONDS) if apart else (1, STEP_SECONDS)
        while done < total:
            while going and handed < total and len(slices) < ahead:
                last = min(handed + step, total)
                slices.append((last, self._begin(apart, run, handed, last)))
                handed = last
            if not slices:
                break
            last, future = slices[0]
            if wait((future,), POLL_SECONDS).not_done:
                going = going and (report is None or report(phase, done, total))
                if leave and not going:
                    self._leave()
                    break
                continue
            slices.popleft()
            spent, result = future.result()
            results.append(result)
            size, done = last - done, last
            going = (report is None or report(phase, done, total)) and going
            while not going and slices and slices[-1][1].cancel():
                slices.pop()
            step = max(1, min(4 * size, int(size * seconds / max(spent, 1e-6))))
        return results

    def _leave(self) -> None:
        """Go on without the threads that are still at work."""
        self._pool.shutdown(wait=False, cancel_futures=True)
        self._pool = self._new_pool()

    def _begin(
        self, apart: bool, run: Callable[[int, int], Any], first: int, last: int
    ) -> Future[tuple[float, Any]]:
        """Begin a slice in a thread of the pool, or do it here and now."""
        if apart:
            return self._pool.submit(_timed, run, first, last)
        future: Future[tuple[float, Any]] = Future()
        future.set_result(_timed(run, first, last))
        return future


def _timed(run: Callable[[int, int], Any], first: int, last: int) -> tuple[float, Any]:
    began = time.perf_counter()
    result = run(first, last)
    return time.perf_counter() - began, result
