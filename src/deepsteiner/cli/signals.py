"""Signals that end a command: SIGTERM and SIGHUP do what Ctrl-C does; the exit code says which."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType

# Not there on every system.
_OTHERS = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]

_last: int = signal.SIGINT


def exit_code() -> int:
    """Return the exit code of an interrupted command: 128 and the number of its signal."""
    return 128 + _last


@contextlib.contextmanager
def as_interrupts() -> Iterator[None]:
    """Hand SIGTERM and SIGHUP to whatever handles Ctrl-C when they come.

    A signal that is ignored stays so, as under `nohup`.
    """
    global _last
    _last = signal.SIGINT
    previous = {}
    if threading.current_thread() is threading.main_thread():
        for number in _OTHERS:
            if signal.getsignal(number) is not signal.SIG_IGN:
                previous[number] = signal.signal(number, _interrupt)
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


def _interrupt(number: int, frame: FrameType | None) -> None:
    global _last
    _last = number
    handler = signal.getsignal(signal.SIGINT)
    if not callable(handler):  # ignored, as in a shell's background jobs
        raise KeyboardInterrupt
    handler(number, frame)
