"""A log that strangers cannot fill: a few messages a minute, and a count of the rest."""

from __future__ import annotations

import logging
import sys
import time

MESSAGES = 10
MINUTE = 60.0


class LogBudget(logging.Filter):
    """Lets `MESSAGES` through a minute; also a filter for Python's loggers."""

    def __init__(self) -> None:
        super().__init__()
        self._since = -MINUTE
        self._used = 0

    def allows(self) -> bool:
        """Return whether one more message may be written, and count it."""
        now = time.monotonic()
        if now - self._since >= MINUTE:
            self._tell_left_out()
            self._since, self._used = now, 0
        self._used += 1
        return self._used <= MESSAGES

    def write(self, message: str) -> None:
        """Write a line to the log, if there is room."""
        if self.allows():
            print(message, file=sys.stderr, flush=True)

    def filter(self, record: logging.LogRecord) -> bool:
        """Decide on a message of a library."""
        return self.allows()

    def _tell_left_out(self) -> None:
        left_out = self._used - MESSAGES
        if left_out > 0:
            print(f"{left_out} more messages were left out", file=sys.stderr, flush=True)
