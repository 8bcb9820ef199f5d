"""Chunks on an executor: handed out, taken back in any order, tried again where they are lost."""

from __future__ import annotations

import time
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    CancelledError,
    Executor,
    Future,
    wait,
)
from dataclasses import dataclass
from typing import Any

from ..core.errors import DeepSteinerError, OptionError, WorkerError
from ..core.scalars import as_whole
from ..run.threads import cores
from .chunks import Answer, Call, Chunk, solve_chunk
from .estimates import Estimates

# How long the caller waits for a chunk before it looks whether to go on.
POLL_SECONDS = 0.04
# How long what runs has to end after a stop.
STOP_SECONDS = 1.0
# Chunks under way for each worker: one at work, one to go on with.
AHEAD = 2
# How often a chunk is tried as a whole, and then into how many pieces it falls, each tried once:
# the instance at fault is soon alone, and the others are solved.
TRIES, PIECES = 2, 8
# Clusters grow and shrink; asking them how large they are takes a moment.
WIDTH_SECONDS = 5.0


@dataclass(eq=False)
class Handed:
    """A chunk that is under way: how often it was tried, and what it belongs to.

    `ticket` is the number of the chunk that was handed in; its pieces keep it.
    """

    chunk: Chunk
    ticket: int
    tries: int = 1


@dataclass(frozen=True, eq=False)
class Done:
    """A chunk that came back: with an answer, with the instances' own error, or given up."""

    chunk: Chunk
    ticket: int
    answer: Answer | DeepSteinerError | None
    reason: str = ""


class Crew:
    """The workers of an executor, known by nothing but `submit` and its futures.

    An executor with `submit_stoppable` and `stop` (ours have them) is told to stop what runs; of
    others, what runs is left to end unseen.
    """

    def __init__(self, executor: Executor, call: Call) -> None:
        if not callable(getattr(executor, "submit", None)):
            raise OptionError(
                "executor must be a concurrent.futures.Executor, with a method submit, "
                f"got {type(executor).__name__}"
            )
        self._executor = executor
        self._submit = getattr(executor, "submit_stoppable", executor.submit)
        self._call = call
        self._running: dict[Future[Any], Handed] = {}
        self._width, self._asked = 1, -WIDTH_SECONDS
        self.estimates = Estimates()
        # What a broken executor did not solve.
        self.left: list[Chunk] = []
        self.broken: str | None = None

    @property
    def width(self) -> int:
        """How many chunks are thought to run at the same time."""
        if time.monotonic() - self._asked >= WIDTH_SECONDS:
            self._width = width_of(self._executor)
            self._asked = time.monotonic()
        return self._width

    @property
    def busy(self) -> bool:
        """Whether anything is under way."""
        return bool(self._running)

    @property
    def has_room(self) -> bool:
        """Whether another chunk should be handed in now."""
        return self.broken is None and len(self._running) < AHEAD * self.width + 1

    def hand(self, chunk: Chunk, ticket: int = 0) -> None:
        """Hand in a chunk."""
        self._begin(Handed(chunk, ticket))

    def _begin(self, handed: Handed) -> None:
        if self.broken is None:
            try:
                future = self._submit(solve_chunk, handed.chunk, self._call)
            except Exception as error:  # each kind of executor has its own
                self.broken = _words(error)
            else:
                self._running[future] = handed
                return
        self.left.append(handed.chunk)

    def take(self, seconds: float = POLL_SECONDS) -> list[Done]:
        """Return what comes back within so many seconds; what is lost is handed out again."""
        ended = wait(self._running, seconds, FIRST_COMPLETED).done
        return [done for future in ended for done in self._end(future, self._running.pop(future))]

    def _end(self, future: Future[Any], handed: Handed) -> list[Done]:
        try:
            answer = future.result()
        except BrokenExecutor as error:
            self.broken = self.broken or _words(error)
            self.left.append(handed.chunk)
            return []
        except (Exception, CancelledError) as error:
            return self._again(handed, _words(error))
        if isinstance(answer, Answer) and answer.warm:
            self.estimates.learn(handed.chunk.sizes, answer.seconds)
        return [Done(handed.chunk, handed.ticket, answer)]

    def _again(self, handed: Handed, reason: str) -> list[Done]:
        """Try a chunk again, then in pieces; give up an instance that fails alone."""
        chunk, ticket = handed.chunk, handed.ticket
        if handed.tries < TRIES:
            self._begin(Handed(chunk, ticket, handed.tries + 1))
        elif len(chunk.rows) == 1:
            return [Done(chunk, ticket, None, reason)]
        else:
            for piece in chunk.split(PIECES):
                # An instance alone has the right to a second try: it may have been the machine.
                tries = 1 if len(piece.rows) == 1 else TRIES
                self._begin(Handed(piece, ticket, tries))
        return []

    def stop(self) -> list[Done]:
        """Cancel what has not begun, and return what ends within a moment."""
        if hasattr(self._executor, "stop"):
            self._executor.stop()
        for future in list(self._running):
            if future.cancel():
                del self._running[future]
        ended = wait(self._running, STOP_SECONDS).done
        found = [
            Done(self._running[future].chunk, self._running[future].ticket, future.result())
            for future in ended
            if not future.cancelled() and future.exception() is None
        ]
        self._running.clear()
        return found


def width_of(executor: Executor) -> int:
    """Return how many calls an executor runs at the same time, or this machine's cores.

    Only how much is handed out at a time depends on it.
    """
    client = getattr(executor, "_client", None)  # of Dask
    try:
        if client is not None and hasattr(client, "nthreads"):
            return int(max(1, sum(client.nthreads().values())))
    except Exception:  # a cluster that does not answer will say so when it is used
        return cores()
    for name in ("width", "_max_workers", "num_workers"):
        whole = as_whole(getattr(executor, name, None))
        if whole is not None and whole > 0:
            return whole
    return cores()


def failure(
    failed: dict[int, str], finished: int, total: int | None, why: str | None
) -> WorkerError:
    """Return the error that names the instances which were given up, or not reached."""
    of = f" of {total}" if total is not None else ""
    end = f"{finished}{of} instances are finished"
    first = min(failed)
    if why is not None:
        return WorkerError(
            f"the executor broke ({why}); instance {first} and others are not solved; {end}", failed
        )
    shown = ", ".join(map(str, sorted(failed)[:10])) + (", ..." if len(failed) > 10 else "")
    noun = "instance" if len(failed) == 1 else "instances"
    return WorkerError(f"{noun} {shown} failed on every try ({failed[first]}); {end}", failed)


def _words(error: BaseException) -> str:
    text = " ".join(str(error).split())
    name = type(error).__name__
    return f"{name}: {text[:200]}" if text else name
