"""How long instances take: guessed at first, then learnt from chunks that are done."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from ..core.errors import DeepSteinerError
from ..core.points import Array, FloatArray, IntArray

# A guess for one instance of 10 points, and how the time grows with the number of points. Only the
# first chunks are cut by it.
FIRST_SECONDS, GROWTH = 1e-4, 1.4
# One chunk says so much about its sizes: times vary, and workers differ.
TRUST, WILDEST = 0.5, 16.0
# How long a chunk should take. Shorter ones cost more to hand over, longer ones make a stop, a loss
# and the wait for the last one cost more.
CHUNK_SECONDS, LEAST_SECONDS = 0.5, 0.05
# A chunk is not larger than this, whatever it takes: engines want messages of a few MiB.
MOST_POINTS, MOST_INSTANCES = 1 << 18, 1 << 15
_CLASSES = 64


class Estimates:
    """Seconds that an instance takes, by its number of points: one number for each power of two."""

    def __init__(self) -> None:
        sizes = 2.0 ** np.arange(_CLASSES)
        self._seconds = FIRST_SECONDS * (sizes / 10.0) ** GROWTH
        self._heard = np.zeros(_CLASSES, dtype=bool)

    def of(self, sizes: Array) -> FloatArray:
        """Return the seconds that instances of these sizes are thought to take."""
        sizes = np.asarray(sizes, dtype=np.float64)
        steps = _classes(sizes)
        return np.asarray(self._seconds[steps] * (sizes / 2.0**steps) ** GROWTH)

    @property
    def goal(self) -> float:
        """How many seconds a chunk should take: little, as long as nothing is known."""
        return CHUNK_SECONDS if self._heard.any() else LEAST_SECONDS

    def one(self, size: int) -> float:
        """Return the seconds that one instance is thought to take."""
        step = max(size, 1).bit_length() - 1
        return float(self._seconds[step] * (size / 2.0**step) ** GROWTH)

    def learn(self, sizes: Array, seconds: float) -> None:
        """Take note of how long a chunk of these sizes took."""
        thought = self.of(sizes)
        total = float(thought.sum())
        if not total > 0.0:
            return
        ratio = min(max(seconds / total, 1.0 / WILDEST), WILDEST)
        shares = np.bincount(_classes(sizes), thought / total, _CLASSES)
        trust = np.where(self._heard, TRUST, 1.0)
        self._seconds *= ratio ** (shares * trust)
        self._heard |= shares > 0.0
        self._guess_the_rest()

    def _guess_the_rest(self) -> None:
        """Let sizes of which nothing was heard follow the nearest ones that were heard of."""
        heard = np.flatnonzero(self._heard)
        for step in np.flatnonzero(~self._heard).tolist():
            nearest = int(heard[np.argmin(np.abs(heard - step))])
            self._seconds[step] = self._seconds[nearest] * 2.0 ** (GROWTH * (step - nearest))


def _classes(sizes: Array) -> IntArray:
    return np.asarray(np.frexp(np.maximum(np.asarray(sizes, np.float64), 1.0))[1] - 1)


class Cutter:
    """Cuts a batch into chunks of about equal work, the largest instances first.

    Towards the end chunks get smaller, so that all workers end at about the same time.
    """

    def __init__(self, sizes: IntArray, estimates: Estimates) -> None:
        self._rows = np.argsort(-sizes, kind="stable")
        self._sizes = sizes[self._rows]
        self._kinds, self._left = np.unique(sizes, return_counts=True)
        self._estimates = estimates
        self._next = 0

    def cut(self, width: int) -> IntArray | None:
        """Return the rows of the next chunk for one of `width` workers, or None after the last."""
        if self._next >= len(self._rows):
            return None
        left = float(self._estimates.of(self._kinds) @ self._left)
        goal = min(self._estimates.goal, max(LEAST_SECONDS, left / (3 * width)))
        sizes = self._sizes[self._next : self._next + MOST_INSTANCES]
        count = chunk_length(sizes, self._estimates.of(sizes), goal)
        np.subtract.at(self._left, np.searchsorted(self._kinds, sizes[:count]), 1)
        rows = self._rows[self._next : self._next + count]
        self._next += count
        return np.asarray(np.sort(rows), dtype=np.int64)


def chunk_length(sizes: Array, seconds: FloatArray, goal: float) -> int:
    """Return how many of the first instances make a chunk that takes about `goal` seconds."""
    enough = (np.cumsum(seconds) >= goal) | (np.cumsum(sizes, dtype=np.int64) >= MOST_POINTS)
    return int(np.argmax(enough)) + 1 if enough.any() else len(sizes)


def in_chunks(
    instances: Iterable[FloatArray], estimates: Estimates
) -> Iterator[Sequence[FloatArray]]:
    """Yield the instances of a stream some at a time: as many as make a chunk by then."""
    waiting: list[FloatArray] = []
    seconds, points = 0.0, 0
    try:
        for one in instances:
            waiting.append(one)
            points += len(one)
            seconds += estimates.one(len(one))
            large = points >= MOST_POINTS or len(waiting) >= MOST_INSTANCES
            if large or seconds >= estimates.goal:
                yield waiting
                waiting, seconds, points = [], 0.0, 0
    except DeepSteinerError:
        if waiting:  # what came before the bad one
            yield waiting
        raise
    if waiting:
        yield waiting
