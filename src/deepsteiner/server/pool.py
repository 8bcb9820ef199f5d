"""The queue and the workers: which job runs where, and how one that does not stop is ended.

Everything here happens on the event loop, so there are no locks. A worker is a process of its own,
started afresh rather than forked; it is killed where a solve outlives its limit, and replaced.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
from collections import deque
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from typing import Any

from ..registry import methods
from .frames import REPLY, Reply, pack_request
from .jobs import Answer, Job
from .limits import Limits
from .refusals import Refusal, error_body

# A worker gets this long to start: the very first time it compiles.
START_SECONDS = 180.0
# And this much longer for the first job of a method, which may compile or load a model.
COLD_SECONDS = 90.0
# Pauses between attempts to start a worker; after so many failures the queue is not kept waiting.
FIRST_PAUSE, LONGEST_PAUSE = 0.1, 10.0
MOST_FAILURES = 3
UNEXPECTED = "the worker ended unexpectedly and was replaced; send the request again"
SOURCE = Path(__file__).resolve().parents[2]
# -P: what lies in the current folder must not pass for a module.
START_COMMAND = (sys.executable, "-P", "-m", "deepsteiner.server.worker")


class Pool:
    """The workers and the jobs that wait for one."""

    def __init__(self, limits: Limits, workers: int) -> None:
        self.limits = limits
        self.workers = [Worker(self, _methods_to_load(k == workers - 1)) for k in range(workers)]
        self.closing = False
        self._numbers = count(1)
        self._waiting: deque[Job] = deque()
        self._jobs: dict[str, Job] = {}
        self._tasks: list[asyncio.Task[None]] = []

    @property
    def queued(self) -> int:
        """The number of jobs that wait for a worker."""
        return len(self._waiting)

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

    def submit(
        self, task: str, arguments: dict[str, Any], *, seconds: float, method: str | None = None
    ) -> Job:
        """Queue a job that may take so many seconds, or refuse it."""
        if self.closing:
            raise Refusal(503, "the server is shutting down")
        if self.broken:
            raise Refusal(503, "no worker can be started; the server's log says why")
        if len(self._waiting) >= self.limits.queue:
            raise Refusal(
                429,
                f"the queue is full: at most {self.limits.queue} requests wait; try again soon",
                {"retry-after": "1"},
            )
        number = next(self._numbers)
        try:
            frame = pack_request(number, task, arguments)
        except RecursionError:
            raise Refusal(422, "the body is nested too deeply") from None
        job = Job(number, frame, seconds, method)
        self._jobs[job.id] = job
        job.future.add_done_callback(lambda _: self._jobs.pop(job.id, None))
        self._waiting.append(job)
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
        if job in self._waiting:
            self._waiting.remove(job)
            job.finish(Answer(409, error_body("cancelled before it began")))
            return
        for worker in self.workers:
            if worker.job is job:
                worker.stop()

    def dispatch(self) -> None:
        """Give waiting jobs to idle workers; where none waits, a worker loads a method ahead."""
        while self._waiting and (worker := self._idle_worker(self._waiting[0].method)):
            worker.begin(self._waiting.popleft())
        if not self._waiting and not self.closing:
            self._load_ahead()

    def fail_waiting(self) -> None:
        """Answer the jobs that no worker will ever take."""
        while self.broken and self._waiting:
            sentence = "no worker can be started; the server's log says why"
            self._waiting.popleft().finish(Answer(503, error_body(sentence)))

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
            frame = pack_request(0, "warm", {"method": method})
            worker.begin(Job(0, frame, COLD_SECONDS, method))


class Worker:
    """One worker process, and its successors."""

    def __init__(self, pool: Pool, to_load: tuple[str, ...]) -> None:
        self.pool = pool
        self.to_load = to_load
        self.started = asyncio.Event()
        self.ready = False
        self.job: Job | None = None
        self.warm: set[str | None] = set()
        self.failures = 0
        self._process: asyncio.subprocess.Process | None = None
        self._reason = Answer(500, error_body(UNEXPECTED))
        self._timer: asyncio.TimerHandle | None = None

    @property
    def idle(self) -> bool:
        """Whether a job would begin at once."""
        return self.ready and self.job is None

    @property
    def cold(self) -> list[str]:
        """What it has not loaded yet and should, the most wanted first."""
        return [method for method in self.to_load if method not in self.warm]

    async def run(self, turn: asyncio.Event | None = None) -> None:
        """Keep a process running, from its turn on, with pauses between failed attempts."""
        if turn is not None:
            await turn.wait()
        while True:
            try:
                await self._start()
                while True:
                    self._receive(*await self._read())
            except (EOFError, OSError, TimeoutError, ValueError):
                self._lost()
            self.started.set()
            if self.failures:
                self.pool.fail_waiting()
                await asyncio.sleep(min(FIRST_PAUSE * 2**self.failures, LONGEST_PAUSE))

    async def _start(self) -> None:
        self.failures += 1
        self._process = await asyncio.create_subprocess_exec(
            *START_COMMAND,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            limit=2**20,
            env=worker_environment(),
            start_new_session=True,  # Ctrl-C is for the server, which then ends its workers
        )
        async with asyncio.timeout(START_SECONDS):
            await self._read()
        self.failures = 0
        self.ready = True
        self.started.set()
        self.warm = {None, "mst"}
        self.pool.dispatch()

    async def _read(self) -> tuple[Reply, int, float, bytes]:
        assert self._process is not None
        assert self._process.stdout is not None
        head = await self._process.stdout.readexactly(REPLY.size)
        length, number, kind, amount = REPLY.unpack(head)
        return Reply(kind), number, amount, await self._process.stdout.readexactly(length)

    def begin(self, job: Job) -> None:
        """Send a job to the process and watch its time."""
        self.job = job
        self._send(job.frame)
        allowance = job.seconds + self.pool.limits.grace
        if job.method not in self.warm:
            allowance += COLD_SECONDS
        self._watch(allowance, 504, f"not finished within its limit of {job.seconds:g} s")

    def stop(self) -> None:
        """Ask the running job to stop, and end the process if it does not."""
        assert self.job is not None
        self._send(pack_request(self.job.number, "stop"))
        self._watch(self.pool.limits.grace, 409, "cancelled, and did not stop by itself")

    async def end(self) -> None:
        """End the process and wait until it has gone."""
        self._kill()
        if self._process is not None:
            await self._process.wait()

    def _send(self, frame: bytes) -> None:
        assert self._process is not None
        assert self._process.stdin is not None
        self._process.stdin.write(frame)

    def _kill(self) -> None:
        if self._process is not None and self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                self._process.kill()

    def _watch(self, seconds: float, status: int, complaint: str) -> None:
        if self._timer is not None:
            self._timer.cancel()
        reason = Answer(status, error_body(f"{complaint}; its worker was ended"))
        self._timer = asyncio.get_running_loop().call_later(seconds, self._end_for, reason)

    def _end_for(self, reason: Answer) -> None:
        self._reason = reason
        self._kill()

    def _receive(self, kind: Reply, number: int, amount: float, payload: bytes) -> None:
        job = self.job
        if job is None or job.number != number:
            return
        if kind == Reply.PROGRESS:
            job.report(payload)
            return
        self._release()
        # A refusal, too, shows that the method is loaded, or never will be.
        self.warm.add(job.method)
        status = 200 if kind == Reply.DONE else int(amount)
        job.finish(Answer(status, payload, amount if kind == Reply.DONE else 0.0))
        self.pool.dispatch()

    def _release(self) -> None:
        self.job = None
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _lost(self) -> None:
        """Answer the job of a process that has gone, and forget the process."""
        job, reason = self.job, self._reason
        self.ready, self.warm = False, set()
        self._reason = Answer(500, error_body(UNEXPECTED))
        self._kill()
        self._release()
        if job is not None:
            job.finish(reason)


def _methods_to_load(is_last: bool) -> tuple[str, ...]:
    """Return what a worker loads while idle; torch takes room, so one worker has it ready."""
    found = methods()
    plain = [name for name, info in found.items() if not info.needs and name != "auto"]
    learned = [
        name for name, info in found.items() if info.needs and all(map(find_spec, info.needs))
    ]
    first = [name for name in ("exact", "local", "greedy") if name in plain]
    rest = [name for name in plain if name not in first]
    return (*first, *rest, *(learned if is_last else ()))


def worker_environment() -> dict[str, str]:
    """Return the environment of a worker: one thread each, and none that spins while it waits."""
    paths = [str(SOURCE), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(paths),
        "NUMBA_NUM_THREADS": "1",
        "OMP_NUM_THREADS": "1",
        "OMP_WAIT_POLICY": "PASSIVE",
        "MPLBACKEND": "Agg",
    }
