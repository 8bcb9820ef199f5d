"""Executors of our own: worker processes that are replaced when they die, and this process."""

from __future__ import annotations

import queue
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, Executor, Future, ThreadPoolExecutor
from typing import Any, NamedTuple

from .processes import MOST_FALSE_STARTS, Child, Reply
from .watch import THREAD_NAME


class WorkerLostError(Exception):
    """The process died that was at a call; the words say how."""


class _Item(NamedTuple):
    """A call that was submitted, whether it takes `go_on`, and who waits for it."""

    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    keywords: dict[str, Any]
    stoppable: bool
    future: Future[Any]


class ProcessExecutor(Executor):
    """Worker processes as an `Executor`; one that dies costs the call it was at, and is replaced.

    Unlike the standard library's pool it survives deaths, needs no guard in the caller's script,
    leaves signals to the caller, and ends its processes however the caller ends. Functions are
    found by their names, so they stand at the top level of a module other than the script.
    """

    def __init__(self, processes: int) -> None:
        self.width = processes
        self._replies: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._waiting: deque[_Item] = deque()
        self._at: dict[Child, _Item] = {}
        self._false_starts = 0
        self._broken: str | None = None
        self._closed = False
        self._at_once = False
        self._lock = threading.Lock()
        self._children: list[Child] = []
        for _ in range(processes):
            self._start()
        self._loop = threading.Thread(target=self._run, name=THREAD_NAME, daemon=True)
        self._loop.start()

    @property
    def pids(self) -> list[int]:
        """The numbers of the processes."""
        with self._lock:
            return [child.pid for child in self._children]

    def submit(
        self, function: Callable[..., Any], /, *arguments: Any, **keywords: Any
    ) -> Future[Any]:
        """Call a function in one of the processes."""
        return self._add(_Item(function, arguments, keywords, False, Future()))

    def submit_stoppable(self, function: Callable[..., Any], /, *arguments: Any) -> Future[Any]:
        """Call function(*arguments, go_on), where go_on() becomes false after `stop`."""
        return self._add(_Item(function, arguments, {}, True, Future()))

    def stop(self) -> None:
        """Tell stoppable calls to end; the executor takes no others."""
        with self._lock:
            self._closed = True
            for child in self._children:
                child.send(None)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End the processes: when all calls are done (`wait`), or at once."""
        with self._lock:
            self._closed = True
            self._at_once = self._at_once or not wait
            if cancel_futures or not wait:
                for item in self._waiting:
                    item.future.cancel()
                self._waiting.clear()
        self._replies.put(None)
        self._loop.join()

    def _add(self, item: _Item) -> Future[Any]:
        with self._lock:
            if self._broken is not None:
                raise BrokenExecutor(self._broken)
            if self._closed:
                raise RuntimeError("cannot schedule new calls after shutdown")
            self._waiting.append(item)
        self._replies.put(None)
        return item.future

    # --- in the thread that serves the processes --------------------------------------------------

    def _start(self) -> None:
        child = Child(self._replies)
        child.send((serve_call, None))
        self._children.append(child)

    def _run(self) -> None:
        try:
            while not self._is_over():
                message = self._replies.get()
                if message is not None:
                    self._take(*message)
                with self._lock:
                    self._hand_out()
        finally:
            for child in self._children:
                child.end()
            for item in self._at.values():
                item.future.set_exception(WorkerLostError("the executor was shut down"))

    def _is_over(self) -> bool:
        with self._lock:
            done = self._closed and not self._waiting and not self._at
            return done or self._at_once

    def _hand_out(self) -> None:
        for child in self._children:
            while self._waiting and child.ready and child not in self._at:
                item = self._waiting.popleft()
                if item.future.set_running_or_notify_cancel():
                    self._at[child] = item
                    child.hand(0, item[:4])

    def _take(self, child: Child, reply: Reply, value: Any, seconds: float) -> None:
        if reply == "ready":
            child.ready, self._false_starts = True, 0
            return
        item = self._at.pop(child, None)
        child.items.clear()
        if reply == "gone":
            value = WorkerLostError(f"its process {child.how_it_ended()}")
            self._replace(child, str(value))
        if item is not None and reply == "result":
            item.future.set_result(value)
        elif item is not None:
            item.future.set_exception(value)

    def _replace(self, child: Child, how: str) -> None:
        """Start another process, unless they do not even start."""
        self._false_starts += not child.ready
        child.end()
        with self._lock:
            self._children.remove(child)
            if self._closed and not self._waiting:
                return
            if self._false_starts < MOST_FALSE_STARTS:
                self._start()
            elif not self._children:
                self._broken = how
                for item in self._waiting:
                    item.future.set_exception(BrokenExecutor(how))
                self._waiting.clear()


class HereExecutor(ThreadPoolExecutor):
    """This process as an executor: one thread, so that the caller can report meanwhile."""

    def __init__(self) -> None:
        super().__init__(1, thread_name_prefix=THREAD_NAME)
        self.width = 1
        self._stopped = threading.Event()

    def submit_stoppable(self, function: Callable[..., Any], /, *arguments: Any) -> Future[Any]:
        """Call function(*arguments, go_on), where go_on() becomes false after `stop`."""
        return self.submit(function, *arguments, lambda: not self._stopped.is_set())

    def stop(self) -> None:
        """Tell stoppable calls to end."""
        self._stopped.set()


def serve_call(item: Any, given: Any, go_on: Callable[[], bool]) -> Any:
    """Make a call that was submitted, in a worker process."""
    function, arguments, keywords, stoppable = item
    return function(*arguments, *([go_on] if stoppable else []), **keywords)
