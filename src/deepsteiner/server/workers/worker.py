"""A worker process: it waits for tasks on its standard input and answers on its standard output.

A thread reads the input, so that a stop reaches a solve that is running, and so that the worker
ends when the server does, however that ended.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import math
import os
import pickle
import queue
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable
from dataclasses import asdict
from typing import Any, BinaryIO, NamedTuple

from ...run.monitor import Progress
from ...run.processes import run_to_end, take_output
from ..limits import SMALL_BYTES
from ..logs import LogBudget
from ..refusals import error_body, explained
from .frames import PROGRESS, READY, REQUEST, pack_json, pack_reply

# Progress reports closer together than this tell a viewer nothing.
REPORT_SECONDS = 0.03


class Channel:
    """One job as its task sees it: progress out, and whether to stop."""

    def __init__(self, worker: Worker, job: int, streams: bool) -> None:
        self._worker = worker
        self._job = job
        self._next = 0.0 if streams else math.inf

    def stopped(self) -> bool:
        """Return whether the server wants the job ended."""
        return self._worker.stopped == self._job

    def report(self, progress: Progress) -> None:
        """Pass a progress report on, unless nobody listens or the last one was a moment ago."""
        now = time.perf_counter()
        if now >= self._next:
            self._next = now + REPORT_SECONDS
            self._worker.reply(self._job, PROGRESS, pack_json(_described(progress)))


# Called with a Channel and a request's arguments, by name.
Task = Callable[..., bytes]


class Request(NamedTuple):
    """One request as it came from the server: its task is pickled."""

    job: int
    streams: bool
    task: bytes


class Worker:
    """The loop around the tasks."""

    def __init__(self, source: BinaryIO, target: int, tasks: dict[str, Task]) -> None:
        self.stopped = -1
        self._source = source
        self._target = target
        self._tasks = tasks
        self._log = LogBudget()
        self._requests: queue.SimpleQueue[Request] = queue.SimpleQueue()

    def run(self) -> None:
        """Serve until the server closes the pipe."""
        self.reply(0, READY, b"")
        while True:
            if self._serve_next() > SMALL_BYTES:
                give_back_memory()

    def reply(self, job: int, status: int, payload: bytes, milliseconds: float = 0.0) -> None:
        """Send one frame."""
        frame = memoryview(pack_reply(job, status, payload, milliseconds))
        while frame:
            frame = frame[os.write(self._target, frame) :]

    def read(self) -> None:
        """Take requests and stops until the pipe is closed."""
        while len(head := self._source.read(REQUEST.size)) == REQUEST.size:
            job, streams, size = REQUEST.unpack(head)
            if size:
                self._requests.put(Request(job, streams, self._source.read(size)))
            else:
                self.stopped = job
        os._exit(0)  # the server has gone; nobody wants what the main thread is doing

    def _serve_next(self) -> int:
        """Serve one request and let go of its bytes; return how many there were."""
        request = self._requests.get()
        self.serve(request)
        return len(request.task)

    def serve(self, request: Request) -> None:
        """Do one task, and answer whatever comes of it."""
        began, job = time.perf_counter(), request.job
        try:
            name, arguments = pickle.loads(request.task)
            answer = self._tasks[name](Channel(self, job, request.streams), **arguments)
        except Exception as error:
            status, sentence = explained(error)
            if status == 500 and self._log.allows():
                traceback.print_exc()
            self.reply(job, status, error_body(sentence))
        else:
            self.reply(job, 200, answer, 1000 * (time.perf_counter() - began))


def _described(progress: Progress) -> dict[str, Any]:
    length, bound = progress.length, progress.lower_bound
    gap = (length - bound) / bound if length is not None and bound else None
    return {**asdict(progress), "gap": gap}


def serve_tasks(load: Callable[[], dict[str, Task]]) -> None:
    """Serve tasks on this process's standard streams; `load` returns them when they are ready."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the server
    tasks: dict[str, Task] = {}
    worker = Worker(sys.stdin.buffer, take_output(), tasks)
    threading.Thread(target=worker.read, daemon=True).start()

    def run() -> None:
        limit_memory(int(sys.argv[1]))
        tasks.update(load())
        gc.collect()
        gc.freeze()  # what is there to stay need not be looked at again
        worker.run()

    run_to_end(run)


def limit_memory(most: int) -> None:
    """Make allocations beyond this many bytes fail, with an answer that says so."""
    try:
        import resource
    except ImportError:  # Windows has no such limit
        return
    hard = resource.getrlimit(resource.RLIMIT_DATA)[1]
    soft = most if hard == resource.RLIM_INFINITY else min(most, hard)
    resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))


def give_back_memory() -> None:
    """Return to the system what a large request has left free, where the C library can."""
    with contextlib.suppress(OSError, AttributeError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)


def solver_tasks() -> dict[str, Task]:
    """Return what a solver does; loading it takes a while, and may fail."""
    from .tasks import ready_tasks

    return ready_tasks()


if __name__ == "__main__":
    serve_tasks(solver_tasks)
