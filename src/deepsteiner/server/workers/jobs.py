"""A job: one request on its way through the pool, and its answer."""

from __future__ import annotations

import asyncio
import secrets
from collections import deque
from collections.abc import AsyncIterator
from dataclasses import dataclass

# Progress that nobody has read yet; older reports make way.
KEPT_REPORTS = 64


@dataclass(frozen=True, slots=True)
class Order:
    """A checked request: what a worker is to do, as bytes, and the time that may take.

    `data` are bytes that go with the arguments as they came. `method` is the method it uses and
    `format` the kind of file it makes, where it does.
    """

    task: str
    arguments: bytes
    seconds: float
    data: bytes = b""
    method: str | None = None
    format: str = ""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a worker answered: a status, the body, and the milliseconds that took."""

    status: int
    body: bytes
    milliseconds: float = 0.0


class Job:
    """One request: the frame for the worker, the time it may take, and what comes back."""

    def __init__(
        self,
        number: int,
        frame: tuple[bytes, ...],
        seconds: float,
        method: str | None,
        *,
        client: str = "",
        streams: bool = False,
    ) -> None:
        self.id = secrets.token_hex(8)
        self.number = number
        self.frame = frame
        self.size = sum(map(len, frame))
        self.seconds = seconds
        self.method = method
        self.client = client
        self.streams = streams
        self.cancelled = False
        self.future: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._reports: deque[bytes] = deque(maxlen=KEPT_REPORTS)
        self._news = asyncio.Event()

    def report(self, progress: bytes) -> None:
        """Keep a progress report for whoever listens."""
        self._reports.append(progress)
        self._news.set()

    def finish(self, answer: Answer) -> None:
        """Give the answer to whoever waits, once."""
        if not self.future.done():
            self.future.set_result(answer)
        self._news.set()

    async def progress(self) -> AsyncIterator[bytes]:
        """Yield progress reports until there is an answer."""
        while not self.future.done():
            await self._news.wait()
            self._news.clear()
            while self._reports:
                yield self._reports.popleft()
