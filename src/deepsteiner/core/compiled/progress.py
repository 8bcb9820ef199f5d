"""What has become of kernels in this process, and how far a compilation is."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable
from typing import Literal, NamedTuple

# Seconds that a function takes on a usual machine, until it is known how fast this one is.
USUAL_SECONDS = 0.12
# What all functions together take in the end, as one, in times of what they took one by one.
AT_ONCE = 0.3
# What takes less is not worth a word.
LONG_SECONDS = 1.0

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
_said = 0  # how long the line is that stands on stderr


def listen(listener: Listener) -> None:
    """Let a listener know when a compilation begins, when it gets on and when it is finished."""
    _listeners.append(listener)


def ignore(listener: Listener) -> None:
    """Tell a listener no more."""
    if listener in _listeners:
        _listeners.remove(listener)


def tell(compiling: Compiling) -> None:
    """Tell all listeners; without any, tell who sits in front of this process."""
    for listener in list(_listeners) or [_say]:
        listener(compiling)


def _say(compiling: Compiling) -> None:
    """Keep a line on stderr up to date, on a terminal or in a notebook, and take it away again."""
    global _said
    if not (_said or (compiling.left >= LONG_SECONDS and _is_watched())):
        return
    line = ""
    if not compiling.finished:
        line = f"compiling {compiling.name}, once: {compiling.done} of {compiling.functions}"
        line += f" functions, about {compiling.left:.0f} s left"
    with contextlib.suppress(OSError, ValueError):  # the terminal has gone
        shown = "\r" + line.ljust(_said) + ("" if line else "\r")
        print(shown, end="", file=sys.stderr, flush=True)
    _said = len(line)


def _is_watched() -> bool:
    import multiprocessing

    if multiprocessing.parent_process() is not None:  # a worker's words would stand among others
        return False
    seen = sys.stderr is not None and not sys.stderr.closed and sys.stderr.isatty()
    return seen or "ipykernel" in sys.modules
