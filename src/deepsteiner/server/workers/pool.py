"""The queue and the workers: which job runs where, and whose turn it is.

Everything here happens on the event loop, so there are no locks. Plain requests and streams wait
in lines of their own, and one worker is kept from streams, which may be open for a long time.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from itertools import count
from typing import TYPE_CHECKING, Any

from ...registry import methods
from ..limits import SMALL_BYTES, Limits, most_streams
from ..options import is_installed
from ..refusals import Refusal, error_body
from .frames import pack_request, pack_task
from .jobs import Answer, Job, Line, Order
from .processes import COLD_SECONDS, LOADING, MOST_FAILURES, SOLVER, Worker

if TYPE_CHECKING:
    from starlette.requests import Request

# What people ask for first, the most wanted at the front.
MOST_USED = ("exact", "local", "greedy")
NO_WORKER = "no worker can be started; the server's log says why"


class Pool:
    """The workers and the jobs that wait for one."""

    def __init__(self, limits: Limits, workers: int, module: str = SOLVER) -> None:
        self.limits = limits
        self.workers = [
            Worker(self, module, _methods_to_load(k == workers - 1) if module == SOLVER else ())
            for k in range(workers)
        ]
        self.closing = False
        self._numbers = count(1)
        # The line that was served last goes second where both have a claim.
        self._lines = [Line(), Line()]
        self._plain, self._streams = self._lines
        self._jobs: dict[str, Job] = {}
        self._tasks: list[asyncio.Task[None]] = []

    @property
    def queued(self) -> int:
        """The number of jobs that wait for a worker."""
        return len(self._plain) + len(self._streams)

    @property
    def ready(self) -> int:
        """The number of workers that are up."""
        return sum(worker.ready for worker in self.workers)

    @property
    def broken(self) -> bool:
        """Whether no worker can be started."""
        return all(worker.failures >= MOST_FAILURES for worker in self.workers)

    def start(self) -> None:
        """Start the workers, the first one ahead: someone may be waiting for it."""
        if self._tasks:
            return
        first, *others = self.workers
        self._tasks = [asyncio.create_task(first.run())]
        self._tasks += [asyncio.create_task(worker.run(first.started)) for worker in others]

    async def close(self) -> None:
        """End all jobs and workers."""
        self.stop_jobs()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await asyncio.gather(*(worker.end() for worker in self.workers))

    def stop_jobs(self) -> None:
        """Accept no more jobs and stop the running ones, each with the best tree it has."""
        self.closing = True
        for job in list(self._jobs.values()):
            self.cancel(job)

    def submit(self, order: Order, *, client: str = "", streams: bool = False) -> Job:
        """Queue an order, or refuse it."""
        if self.closing:
            raise Refusal(503, "the server is shutting down")
        if self.broken:
            raise Refusal(503, NO_WORKER)
        line = self._streams if streams else self._plain
        self._make_room(line, client, len(order.task))
        number = next(self._numbers)
        frame = pack_request(number, order.task, streams=streams)
        job = Job(number, frame, order.seconds, order.method, client=client, streams=streams)
        self._jobs[job.id] = job
        job.future.add_done_callback(lambda _: self._jobs.pop(job.id, None))
        line.add(job)
        self.dispatch()
        return job

    def find(self, id: str) -> Job:
        """Return a job by the name its client knows."""
        if id not in self._jobs:
            raise Refusal(404, "there is no such job; it may have finished")
        return self._jobs[id]

    def cancel(self, job: Job) -> None:
        """Stop a job: the best tree so far is its answer, if it has begun."""
        if job.future.done() or job.cancelled:
            return
        job.cancelled = True
        for line in self._lines:
            if job in line:
                line.remove(job)
                job.finish(Answer(409, error_body("cancelled before it began")))
                return
        for worker in self.workers:
            if worker.job is job:
                worker.stop(job)

    def dispatch(self) -> None:
        """Give waiting jobs to idle workers; where none waits, a worker loads a method ahead."""
        while (line := self._next_line()) and (worker := self._idle_worker(line.first().method)):
            self._lines.remove(line)
            self._lines.append(line)
            worker.begin(line.pop())
        if not self.queued and not self.closing:
            self._load_ahead()

    def fail_waiting(self) -> None:
        """Answer the jobs that no worker will ever take."""
        for line in self._lines:
            while self.broken and len(line):
                line.pop().finish(Answer(503, error_body(NO_WORKER)))

    def _make_room(self, line: Line, client: str, size: int) -> None:
        """Refuse a job for which there is no room, unless another client has more waiting."""
        most = self.limits.waiting_bytes
        if size > SMALL_BYTES and self._plain.bytes + self._streams.bytes + size > most:
            raise too_much_waiting(most)
        if len(line) < self.limits.queue:
            return
        sentence = f"the queue is full: at most {self.limits.queue} requests wait; try again soon"
        displaced = line.crowding_out(client)
        if displaced is None:
            raise Refusal(429, sentence, {"retry-after": "1"})
        line.remove(displaced)
        displaced.finish(Answer(429, error_body(sentence)))

    def _next_line(self) -> Line | None:
        """Return the line that goes next: of those with a claim, the one with fewer jobs running.

        Streams have none while they have their share of the workers.
        """
        serving = [worker for worker in self.workers if worker.ready and not worker.loading]
        running = Counter(worker.job.streams for worker in serving if worker.job is not None)
        claims = [line for line in self._lines if len(line)]
        if running[True] >= most_streams(len(serving)):
            claims = [line for line in claims if line is not self._streams]
        return min(claims, key=lambda line: running[line is self._streams], default=None)

    def _idle_worker(self, method: str | None) -> Worker | None:
        """Return an idle worker, one that has used the method before if possible."""
        idle = [worker for worker in self.workers if worker.idle]
        return max(idle, key=lambda worker: method in worker.warm, default=None)

    def _load_ahead(self) -> None:
        """Let one worker load one more method, while all the others are free to serve."""
        up = [worker for worker in self.workers if worker.ready]
        if len(up) < 2 or not all(worker.idle for worker in up):
            return
        worker = max(up, key=lambda worker: len(worker.cold))
        if worker.cold:
            method = worker.cold[0]
            frame = pack_request(LOADING, pack_task("warm", method=method))
            worker.begin(Job(LOADING, frame, COLD_SECONDS, method))


async def answered(request: Request, pool: Pool, order: Order) -> Answer:
    """Place an order and wait for the answer; a client that hangs up cancels it."""
    job = pool.submit(order, client=client_of(request))
    del order  # the job holds it now, until it is sent
    gone = asyncio.ensure_future(_hang_up(request))
    either: set[asyncio.Future[Any]] = {job.future, gone}
    try:
        await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
    finally:
        gone.cancel()
        pool.cancel(job)  # does nothing to a job that is done
    if not job.future.done():
        raise Refusal(499, "the client hung up")
    return job.future.result()


async def _hang_up(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


def client_of(request: Request) -> str:
    """Return who asks, as far as one can tell: the address."""
    return request.client.host if request.client is not None else ""


def too_much_waiting(most: int) -> Refusal:
    """Return the refusal of a large request where others already take all the room."""
    return Refusal(
        503,
        f"too many large requests wait: at most {most} bytes of them are held; try again soon",
        {"retry-after": "1"},
    )


def _methods_to_load(is_last: bool) -> tuple[str, ...]:
    """Return what a worker loads while idle; torch takes room, so one worker has it ready."""
    found = methods()
    plain = [name for name, info in found.items() if not info.needs and name != "auto"]
    first = [name for name in MOST_USED if name in plain]
    learned = [name for name, info in found.items() if info.needs and is_installed(info)]
    return tuple(dict.fromkeys([*first, *plain, *(learned if is_last else ())]))
