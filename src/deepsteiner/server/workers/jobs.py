"""A job: one request on its way through the pool; its answer, and the line in which it waits."""

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
    """A checked request: the packed task of a worker, and the seconds that may take.

    `method` is the method it uses and `format` the kind of file it makes, where it does.
    """

    task: bytes
    seconds: float
    method: str | None = None
    format: str = ""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a worker answered: a status, the body, and the milliseconds that took."""

    status: int
    body: bytes
    milliseconds: float = 0.0


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
    future: asyncio.Future[Answer] = field(default_factory=asyncio.Future)
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


class Line:
    """Jobs that wait; clients take turns, however many requests each of them sends."""

    def __init__(self) -> None:
        self.bytes = 0
        self._clients: dict[str, deque[Job]] = {}

    def __len__(self) -> int:
        return sum(map(len, self._clients.values()))

    def __contains__(self, job: Job) -> bool:
        return job in self._clients.get(job.client, ())

    def add(self, job: Job) -> None:
        """Let a job wait behind its client's others."""
        self._clients.setdefault(job.client, deque()).append(job)
        self.bytes += job.size

    def first(self) -> Job:
        """Return the job whose turn it is."""
        return next(iter(self._clients.values()))[0]

    def pop(self) -> Job:
        """Take the job whose turn it is; its client's next one waits for the other clients'."""
        job = self.first()
        self.remove(job)
        if job.client in self._clients:
            self._clients[job.client] = self._clients.pop(job.client)
        return job

    def remove(self, job: Job) -> None:
        """Take a job out."""
        jobs = self._clients[job.client]
        jobs.remove(job)
        self.bytes -= job.size
        if not jobs:
            del self._clients[job.client]

    def crowding_out(self, client: str) -> Job | None:
        """Return the job that makes way for one of `client`: the last of who has more waiting."""
        own = len(self._clients.get(client, ()))
        longest = max(self._clients.values(), key=len, default=deque())
        return longest[-1] if len(longest) > own + 1 else None
