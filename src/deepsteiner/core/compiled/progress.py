"""What has become of kernels in this process, and how far a compilation is."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Literal, NamedTuple

# Seconds that a function takes on a usual machine, until it is known how fast this one is.
USUAL_SECONDS = 0.12
# What all functions together take in the end, as one, in times of what they took one by one.
AT_ONCE = 0.3


State = Literal["prebuilt", "cached", "compiled"]


class Event(NamedTuple):
    """A kernel that this process has got ready, how, and how long that took."""

    state: State
    kernel: str
    signature: str
    seconds: float
    inner: bool  # compiled as part of another kernel


class Compiling:
    """One kernel that Python called and that is being compiled, with all the functions it calls."""

    def __init__(self, kernel: str, functions: int) -> None:
        self.name = kernel.rpartition(".")[2]
        self.functions = functions
        self.done = 0
        self.finished = False
        self._began = time.perf_counter()

    @property
    def seconds(self) -> float:
        """How long it has taken so far."""
        return time.perf_counter() - self._began

    @property
    def left(self) -> float:
        """About how many seconds it will go on; 0 when the guess was wrong or it is finished."""
        each = USUAL_SECONDS
        if self.done > self.functions // 4:
            each = self.seconds / (self.done + 1)
        whole = each * self.functions * (1 + AT_ONCE)
        return 0.0 if self.finished else max(0.0, whole - self.seconds)


Listener = Callable[[Compiling], None]
_listeners: list[Listener] = []


def listen(listener: Listener) -> None:
    """Let a listener know when a compilation begins, when it gets on and when it is finished."""
    _listeners.append(listener)


def ignore(listener: Listener) -> None:
    """Tell a listener no more."""
    if listener in _listeners:
        _listeners.remove(listener)


def tell(compiling: Compiling) -> None:
    """Tell all listeners."""
    for listener in list(_listeners):
        listener(compiling)
