"""A worker process: it waits for tasks on its standard input and answers on its standard output.

A thread reads the input, so that a stop reaches a solve that is running, and so that the worker
ends when the server does, however that ended.
"""

from __future__ import annotations

import json
import math
import os
import pickle
import queue
import signal
import sys
import threading
import time
import traceback
from typing import Any, BinaryIO

from ..core.errors import InputError, MissingDependencyError
from ..core.progress import Progress
from . import tasks
from .frames import REQUEST, Reply, pack_reply

# Progress reports closer together than this tell a viewer nothing.
REPORT_SECONDS = 0.03
# A refusal may quote what it refuses, which may be as large as the request.
LONGEST_SENTENCE = 400


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
            self._worker.reply(self._job, Reply.PROGRESS, 0.0, _json(_progress(progress)))


class Worker:
    """The loop around the tasks."""

    def __init__(self, source: BinaryIO, target: int) -> None:
        self.stopped = -1
        self._source = source
        self._target = target
        self._requests: queue.SimpleQueue[tuple[int, str, dict[str, Any]]] = queue.SimpleQueue()

    def run(self) -> None:
        """Serve until the server closes the pipe."""
        threading.Thread(target=self._read, daemon=True).start()
        tasks.warm_up("start")
        self.reply(0, Reply.READY, 0.0, b"")
        while True:
            self._serve(*self._requests.get())

    def reply(self, job: int, kind: Reply, number: float, payload: bytes) -> None:
        """Send one frame."""
        frame = memoryview(pack_reply(job, kind, number, payload))
        while frame:
            frame = frame[os.write(self._target, frame) :]

    def _read(self) -> None:
        while len(head := self._source.read(REQUEST.size)) == REQUEST.size:
            job, task, arguments = pickle.loads(self._source.read(*REQUEST.unpack(head)))
            if task == "stop":
                self.stopped = job
            else:
                self._requests.put((job, task, arguments))
        os._exit(0)  # the server has gone; nobody wants what the main thread is doing

    def _serve(self, job: int, task: str, arguments: dict[str, Any]) -> None:
        began = time.perf_counter()
        try:
            channel = Channel(self, job, bool(arguments.pop("streams", False)))
            payload = tasks.TASKS[task](arguments, channel)
        except MissingDependencyError as error:
            self._refuse(job, 501, str(error))
        except InputError as error:
            self._refuse(job, 422, str(error))
        except MemoryError:
            self._refuse(job, 503, "the worker ran out of memory; try fewer points")
        except Exception:
            traceback.print_exc()
            self._refuse(job, 500, f"internal error in task {task!r}; the server's log has more")
        else:
            self.reply(job, Reply.DONE, 1000 * (time.perf_counter() - began), payload)

    def _refuse(self, job: int, status: int, sentence: str) -> None:
        sentence = " ".join(sentence.split())
        if len(sentence) > LONGEST_SENTENCE:
            sentence = sentence[:LONGEST_SENTENCE] + " ..."
        self.reply(job, Reply.ERROR, status, _json({"error": sentence}))


def _progress(progress: Progress) -> dict[str, Any]:
    length, bound = progress.length, progress.lower_bound
    return {
        "elapsed": progress.elapsed,
        "phase": progress.phase,
        "done": progress.done,
        "total": progress.total,
        "length": length,
        "lower_bound": bound,
        "gap": (length - bound) / bound if length is not None and bound else None,
    }


def _json(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":"), allow_nan=False).encode()


def main() -> None:
    """Run a worker on this process's standard streams."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the server
    target = os.dup(1)
    # Whatever a library prints must not get between the frames.
    os.dup2(2, 1)
    try:
        Worker(sys.stdin.buffer, target).run()
    except BrokenPipeError:
        os._exit(0)
    except BaseException:
        # The reading thread holds the input's lock: an ordinary exit would wait for it and abort.
        traceback.print_exc()
        os._exit(1)


if __name__ == "__main__":
    main()
