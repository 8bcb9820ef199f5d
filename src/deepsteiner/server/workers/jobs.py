"""A job: one request on its way through the pool, and its answer."""

from __future__ import annotations

import asyncio
import secrets
from collections import deque
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

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


def _new_future() -> asyncio.Future[Answer]:
    return asyncio.get_running_loop().create_future()


@dataclass(eq=False, slots=True)
class Job:
    """One request: the frame for the worker, the time it may take, and what comes back."""

    number: int
    frame: tuple[bytes, ...]
    seconds: float
    method: str | None
    client: str = ""
    streams: bool = False
    cancelled: bool = False
    id: str = field(default_factory=lambda: secrets.token_hex(8))
    future: asyncio.Future[Answer] = field(default_factory=_new_future)
    _reports: deque[bytes] = field(default_factory=lambda: deque(maxlen=KEPT_REPORTS))
    _news: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def size(self) -> int:
        """The bytes that wait to be sent."""
        return sum(map(len, self.frame))

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
