"""The bytes of a request as they arrive: how many, how slowly, and where they are checked.

A few bytes of JSON can become hundreds in memory, so lists, objects and values are counted
meanwhile and limited beside the bytes themselves: what is parsed is never much larger. Marks inside
strings count as well; good requests have none to speak of.
"""

from __future__ import annotations

import asyncio
import json
import pickle
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from starlette.requests import ClientDisconnect, Request

from ..limits import SMALL_BYTES, Limits
from ..refusals import Refusal
from ..workers.frames import pack_task
from ..workers.jobs import Order
from ..workers.pool import Pool, answered, too_much_waiting
from .checks import FILE_SECONDS, check

Grow = Callable[[int], None]

# A body within its limits is checked in a fraction of this.
CHECK_SECONDS = 5.0
# Large bodies that go to the clerk at the same time; others wait as they came. Handing on a hundred
# at once would keep the server from all else for as long as that takes.
AT_ONCE = 4
# What each mark begins or ends.
MARKS = {"lists": b"[", "objects": b"{", "values": b",", "lines": b"\n"}


class Intake:
    """Reads bodies and turns them into orders; large ones are checked in the clerk's process."""

    def __init__(self, limits: Limits, clerk: Pool) -> None:
        self.limits = limits
        self.clerk = clerk
        self.held = 0  # bytes, by the large bodies that are under way
        self._turns = asyncio.Semaphore(AT_ONCE)

    async def order(self, request: Request, kind: str) -> Order:
        """Return the order that a request places."""
        media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if media_type != "application/json":
            expected = "expected a JSON object as the body with Content-Type application/json"
            raise Refusal(422, expected)
        with self.holding() as grow:
            data = await self._read(request, grow, request_counter(self.limits.points))
            if len(data) <= SMALL_BYTES:
                return check(kind, data, self.limits)
            async with self._turns:
                task = pack_task("check", kind=kind, limits=self.limits, data=data)
                del data  # the task holds a copy
                waiting = answered(request, self.clerk, Order(task, CHECK_SECONDS))
                del task  # and now the job holds it, until it is sent
                answer = await waiting
        if answer.status != 200:
            raise Refusal(answer.status, json.loads(answer.body)["error"])
        checked: Order = pickle.loads(answer.body)
        return checked

    async def file_order(self, request: Request, name: str) -> Order:
        """Return the order to read the file of points that a request holds."""
        most = self.limits.points
        with self.holding() as grow:
            data = await self._read(request, grow, file_counter(most))
        return Order(pack_task("read", name=name, most_points=most, data=data), FILE_SECONDS)

    @contextmanager
    def holding(self) -> Iterator[Grow]:
        """Lend room to one body; what it takes is told by the function yielded.

        That notes the size the body has reached, or refuses it; a small one always has room.
        """
        held, most = 0, self.limits.waiting_bytes

        def grow(size: int) -> None:
            nonlocal held
            more = max(0, size - SMALL_BYTES) - held
            if more > 0 and self.held + more > most:
                raise too_much_waiting(most)
            self.held += more
            held += more

        try:
            yield grow
        finally:
            self.held -= held

    async def _read(self, request: Request, grow: Grow, counter: Counter) -> bytes:
        """Return the whole body, within its size and time; it is refused as soon as it may be."""
        limits, chunks, size = self.limits, [], 0
        try:
            async with asyncio.timeout(limits.body_seconds):
                async for chunk in request.stream():
                    size += len(chunk)
                    if size > limits.body_bytes:
                        raise too_large(limits)
                    grow(size)
                    counter.add(chunk)
                    chunks.append(chunk)
        except TimeoutError:
            sentence = f"the body did not arrive within {limits.body_seconds:g} s"
            raise Refusal(408, sentence, {"connection": "close"}) from None
        except ClientDisconnect:
            raise Refusal(499, "the client hung up") from None
        return b"".join(chunks)


def too_large(limits: Limits) -> Refusal:
    """Return the refusal of a body that has too many bytes."""
    return Refusal(413, f"the body is too large: at most {limits.body_bytes} bytes are accepted")


class Counter:
    """Counts what a body holds, piece by piece; `most` has a limit for each of `MARKS`."""

    def __init__(self, points: int, **most: int) -> None:
        self._points = points
        self._most = most
        self._found = dict.fromkeys(MARKS, 0)

    def add(self, piece: bytes) -> None:
        """Count one more piece, or refuse the body."""
        for word, most in self._most.items():
            self._found[word] += piece.count(MARKS[word])
            if self._found[word] > most:
                raise Refusal(
                    413,
                    f"the body holds too much: more than {most} {word}, where at most "
                    f"{self._points} points are accepted",
                )


def request_counter(points: int) -> Counter:
    """Return the counter for a request, which may bring a tree to begin from.

    That makes five times as many pairs as points: the points, and the tree's terminals, Steiner
    points (fewer) and edges (fewer than twice as many). The rest is for options and for what a
    solution says about itself.
    """
    lists = 5 * points + 1_000
    return Counter(points, lists=lists, objects=1_000, values=2 * lists + 20_000, lines=10 * lists)


def file_counter(points: int) -> Counter:
    """Return the counter for a file of points, in which each may be an object with properties.

    Several instances may stand in one file; the first of them is read.
    """
    each = {"lists": 10, "objects": 5, "values": 20, "lines": 10}
    return Counter(points, **{word: share * points for word, share in each.items()})
