"""Long calls under a watch: the user hears of them, and may stop waiting for them."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from threading import Thread
from typing import TypeVar

import numpy as np

from ..core.points import IntArray
from .monitor import Monitor

T = TypeVar("T")

# How long a call may take before the user hears of it.
POLL_SECONDS = 0.03
THREAD_NAME = "deepsteiner call"


class Stopped(Exception):  # noqa: N818 (no error, and it never leaves a method)
    """The user or a limit asked to stop before a call was done."""


class Watch:
    """A monitor's reports, with some time kept back for what has to follow a stop.

    `reserve` is how many seconds before the limit `go_on` already says no. Where `patient` is
    false, calls are made directly: right for instances on which none takes long.
    """

    def __init__(self, monitor: Monitor, reserve: float = 0.0, patient: bool = True) -> None:
        self.monitor = monitor
        self.reserve = reserve
        self.patient = patient

    def go_on(self, phase: str, done: int = 0, total: int = 0, length: float | None = None) -> bool:
        """Report; return True to go on and False to stop."""
        return self.monitor.report(phase, done, total, length) and self.in_time()

    def in_time(self) -> bool:
        """Return whether more than the reserve is left; where not, the run counts as stopped."""
        if self.monitor.remaining() > self.reserve:
            return True
        self.monitor.stop_reason = self.monitor.stop_reason or "time_limit"
        return False

    def wait(self, phase: str, call: Callable[[], T], length: float | None = None) -> T:
        """Return call(), reporting while it runs in a thread of its own.

        Raises Stopped where the answer to a report is no. The call then ends by itself, unseen:
        it must not write to anything that is still needed.
        """
        if not self.go_on(phase, length=length):
            raise Stopped
        if not self.patient:
            return call()
        return waited(call, lambda: self.go_on(phase, length=length))


def waited(call: Callable[[], T], go_on: Callable[[], bool]) -> T:
    """Return call(), made in a thread of its own; `go_on` is called every POLL_SECONDS.

    Raises Stopped where it says no; see `Watch.wait`.
    """
    future = _begin(call)
    while True:
        try:
            return future.result(POLL_SECONDS)
        except TimeoutError:
            if future.done():
                raise
            if not go_on():
                raise Stopped from None


def hurried(call: Callable[[IntArray], T], go_on: Callable[[], bool]) -> T:
    """Return call(stop), made in a thread of its own; `go_on` is called every POLL_SECONDS.

    Where it says no, stop[0] becomes 1. A kernel that looks at it now and then leaves out what it
    can and ends within milliseconds, with the best it has.
    """
    stop = never()
    future = _begin(lambda: call(stop))
    try:
        while not future.done() and stop[0] == 0:
            with suppress(TimeoutError):
                return future.result(POLL_SECONDS)
            stop[0] = 0 if go_on() else 1
        return future.result()
    finally:
        stop[0] = 1  # where an interrupt ends the wait, nobody wants the result


def never() -> IntArray:
    """Return what a kernel looks at to see whether to hurry: not yet."""
    return np.zeros(1, dtype=np.int64)


def _begin(call: Callable[[], T]) -> Future[T]:
    """Begin a call in a thread of its own."""
    future: Future[T] = Future()
    Thread(target=_fulfil, args=(future, call), name=THREAD_NAME, daemon=True).start()
    return future


def _fulfil(future: Future[T], call: Callable[[], T]) -> None:
    try:
        future.set_result(call())
    except BaseException as error:  # handed over to the thread that waits
        future.set_exception(error)
