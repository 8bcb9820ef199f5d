"""Worker processes, seen from the server: started, given jobs, watched, ended and replaced.

A worker is a process of its own, started afresh rather than forked; it is killed where a job
outlives its limit, and replaced.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...run.processes import ENVIRONMENT
from ..refusals import error_body
from .frames import PROGRESS, REPLY, pack_request
from .jobs import Answer, Job

if TYPE_CHECKING:
    from .pool import Pool

# A worker gets this long to start: the very first time it compiles.
START_SECONDS = 180.0
# And this much longer for the first job of a method, which may compile or load a model.
COLD_SECONDS = 90.0
# Pauses between attempts to start a worker; after so many failures the queue is not kept waiting.
FIRST_PAUSE, LONGEST_PAUSE = 0.1, 10.0
MOST_FAILURES = 3
PIPE_BYTES = 2**20
# The number of a job that is no client's.
LOADING = 0
UNEXPECTED = "the worker ended unexpectedly and was replaced; send the request again"
SOURCE = Path(__file__).resolve().parents[3]
# -P: what lies in the current folder must not pass for a module.
START_COMMAND = (sys.executable, "-P", "-m")
SOLVER = "deepsteiner.server.workers.worker"
CLERK = "deepsteiner.server.workers.clerk"


class Worker:
    """One worker process, and its successors."""

    def __init__(self, pool: Pool, module: str, to_load: tuple[str, ...]) -> None:
        self.pool = pool
        self.module = module
        self.to_load = to_load
        self.started = asyncio.Event()
        self.ready = False
        self.job: Job | None = None
        self.warm: set[str | None] = set()
        self.failures = 0
        self._process: Any = None  # an asyncio.subprocess.Process, once it has been started
        self._timer: asyncio.TimerHandle | None = None

    @property
    def idle(self) -> bool:
        """Whether a job would begin at once."""
        return self.ready and self.job is None

    @property
    def loading(self) -> bool:
        """Whether it is loading a method ahead, for nobody yet."""
        return self.job is not None and self.job.number == LOADING

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
            except (EOFError, OSError, TimeoutError):
                self._lost()
            self.started.set()
            if self.failures:
                self.pool.fail_waiting()
                await asyncio.sleep(min(FIRST_PAUSE * 2**self.failures, LONGEST_PAUSE))

    async def _start(self) -> None:
        self.failures += 1
        self._reason = Answer(500, error_body(UNEXPECTED))
        self._process = await asyncio.create_subprocess_exec(
            *START_COMMAND,
            self.module,
            str(self.pool.limits.worker_bytes),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            limit=2**20,
            env=worker_environment(),
            start_new_session=True,  # Ctrl-C is for the server, which then ends its workers
        )
        _widen(self._process.stdin)
        async with asyncio.timeout(START_SECONDS):
            await self._read()
        self.failures = 0
        self.ready = True
        self.started.set()
        self.warm = {None, "mst"}
        self.pool.dispatch()

    async def _read(self) -> tuple[int, Answer]:
        """Return the number of a job, and what the process says of it."""
        head = await self._process.stdout.readexactly(REPLY.size)
        length, number, status, milliseconds = REPLY.unpack(head)
        payload = await self._process.stdout.readexactly(length)
        return number, Answer(status, payload, milliseconds)

    def begin(self, job: Job) -> None:
        """Send a job to the process and watch its time."""
        self.job = job
        self._send(job.frame)
        job.frame = ()
        allowance = job.seconds + self.pool.limits.grace
        if job.method not in self.warm:
            allowance += COLD_SECONDS
        self._watch(allowance, 504, f"not finished within its limit of {job.seconds:g} s")

    def stop(self, job: Job) -> None:
        """Ask the job it runs to stop, and end the process if it does not."""
        self._send(pack_request(job.number))
        self._watch(self.pool.limits.grace, 409, "cancelled, and did not stop by itself")

    async def end(self) -> None:
        """End the process and wait until it has gone."""
        self._kill()
        if self._process is not None:
            await self._process.wait()

    def _send(self, frame: tuple[bytes, ...]) -> None:
        for part in frame:
            self._process.stdin.write(part)

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

    def _receive(self, number: int, answer: Answer) -> None:
        job = self.job
        if job is None or job.number != number:
            return
        if answer.status == PROGRESS:
            job.report(answer.body)
            return
        self._release()
        # A refusal, too, shows that the method is loaded, or never will be.
        self.warm.add(job.method)
        job.finish(answer)
        self.pool.dispatch()

    def _release(self) -> None:
        self.job = None
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _lost(self) -> None:
        """Answer the job of a process that has gone, and forget the process."""
        job = self.job
        self.ready, self.warm = False, set()
        self._kill()
        self._release()
        if job is not None:
            job.finish(self._reason)


def _widen(stream: asyncio.StreamWriter) -> None:
    """Let a pipe hold more at a time, where that can be had: large bodies then wake fewer."""
    # Only Linux has all of it; the pipe to a process that has ended at once is closed already.
    with contextlib.suppress(ImportError, OSError, AttributeError, ValueError):
        import fcntl

        fcntl.fcntl(stream.get_extra_info("pipe").fileno(), fcntl.F_SETPIPE_SZ, PIPE_BYTES)


def worker_environment() -> dict[str, str]:
    """Return the environment of a worker: one thread each, and no windows."""
    paths = [str(SOURCE), *filter(None, [os.environ.get("PYTHONPATH")])]
    ours = {**ENVIRONMENT, "PYTHONPATH": os.pathsep.join(paths), "MPLBACKEND": "Agg"}
    return {**os.environ, **ours}
