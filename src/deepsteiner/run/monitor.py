"""Progress reports, time limits and stopping: one small object that every method consults."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from ..core.errors import OptionError
from ..core.scalars import as_real, as_truth

StopReason = Literal["time_limit", "interrupted"]

# What limits and reports go by.
clock = time.perf_counter


@dataclass(frozen=True, slots=True)
class Progress:
    """What a running method reports: where it is and how good its best tree is so far.

    Attributes
    ----------
    elapsed
        Seconds since the solve began.
    phase
        What is being done, in a few words.
    done, total
        How much of the phase is done, in its own unit (steps, windows, instances); `total` is 0
        where it is not known.
    length, lower_bound
        Of the best tree so far, in the units of the input points; None while not yet known.

    Examples
    --------
    >>> import deepsteiner as ds
    >>> phases = []
    >>> square = [[0, 0], [1, 0], [1, 1], [0, 1]]
    >>> tree = ds.solve(square, "greedy", on_progress=lambda one: phases.append(one.phase))
    >>> len(phases) > 0
    True
    """

    elapsed: float
    phase: str
    done: int = 0
    total: int = 0
    length: float | None = None
    lower_bound: float | None = None


ProgressCallback = Callable[[Progress], Any]
# The one shape of callback inside: `Monitor.report`, or what stands between it and a step. It is
# told (phase, done, total, length, lower_bound), the last ones where they are known. A false answer
# means: stop, and return the best there is.
Report = Callable[..., bool]


class Monitor:
    """Tells a method when to stop, and tells the user how far it is.

    A method calls `report` at least every 50 ms; a false answer means: return the best tree so
    far now. `unit` converts a length of the method's own coordinates into the user's.
    """

    def __init__(
        self, time_limit: float | None = None, on_progress: ProgressCallback | None = None
    ) -> None:
        self.time_limit = check_time_limit(time_limit)
        self.on_progress = on_progress
        self.unit = 1.0
        self.stop_reason: StopReason | None = None
        # What reports have where they know no better: length and lower bound.
        self.known: tuple[float | None, float | None] = (None, None)
        self._start = clock()

    @property
    def is_watched(self) -> bool:
        """Whether anybody hears the reports: a limit, or a callback."""
        return self.time_limit is not None or self.on_progress is not None

    def elapsed(self) -> float:
        """Return the seconds since the solve began."""
        return clock() - self._start

    def remaining(self) -> float:
        """Return the seconds left, infinity where there is no limit."""
        if self.time_limit is None:
            return math.inf
        return max(0.0, self.time_limit - self.elapsed())

    def report(
        self,
        phase: str,
        done: int = 0,
        total: int = 0,
        length: float | Callable[[], float] | None = None,
        lower_bound: float | None = None,
    ) -> bool:
        """Pass one progress report on; return True to go on and False to stop.

        A `length` that takes a while is given as a function, called if anybody listens.
        """
        if self.stop_reason is not None:
            return False
        if self.on_progress is not None:
            length = length() if callable(length) else length
            values = (
                self._scaled(known if value is None else value)
                for value, known in zip((length, lower_bound), self.known, strict=True)
            )
            progress = Progress(self.elapsed(), phase, done, total, *values)
            if as_truth(self.on_progress(progress)) is False:
                self.stop_reason = "interrupted"
                return False
        if self.time_limit is not None and self.elapsed() >= self.time_limit:
            self.stop_reason = "time_limit"
            return False
        return True

    def _scaled(self, value: float | None) -> float | None:
        return None if value is None else float(value) * self.unit


def check_time_limit(time_limit: float | None) -> float | None:
    """Return the limit as a float, or refuse it."""
    if time_limit is None:
        return None
    seconds = as_real(time_limit)
    if seconds is None:
        raise OptionError(f"time_limit must be a number of seconds or None, got {time_limit!r}")
    if math.isnan(seconds) or seconds < 0:
        raise OptionError(f"time_limit must be at least 0 seconds, got {time_limit!r}")
    return seconds
