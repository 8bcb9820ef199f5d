"""Worker processes: items of work handed out, results taken as they come, none of them lost.

The processes leave signals to the one that started them and end when it does, however that ends:
a thread of theirs waits for their standard input to close. They run nothing of the caller's main
module, so a script needs no guard around its calls.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import queue
import signal
import subprocess
import sys
import threading
import time
import traceback
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from typing import Any, BinaryIO, Literal, NoReturn

# How long the parent waits for a result before it looks whether to go on.
POLL_SECONDS = 0.05
# A process with quick items has some in store, for about this long: waiting for each to be handed
# over would take as long again. One with longer items has none: they might wait behind one that
# takes very long while somebody else has nothing to do.
STORE_SECONDS, MOST_IN_STORE = 0.02, 50
# So many processes may die in a row before one of them is ready: the next would die too.
MOST_FALSE_STARTS = 3
# How long processes that are told to stop have to hand over what they found.
STOP_SECONDS = 1.0
SIGNALS = [
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
]
# One thread each, and none that spins while it waits; what the user has set counts more.
ENVIRONMENT = {"NUMBA_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "OMP_WAIT_POLICY": "PASSIVE"}
# -P: what lies in the current folder must not pass for a module.
COMMAND = ("-P", "-c", "from deepsteiner.run.processes import main; main()")

# What a worker process tells; that it is gone is said by its reader.
Reply = Literal["ready", "result", "failure", "gone"]
# Called in a worker process as serve(item, given, go_on); it should return once go_on() is false.
Serve = Callable[[Any, Any, Callable[[], bool]], Any]
# Called with the index of an item and its result.
Keep = Callable[[int, Any], None]


class LostError(Exception):
    """A process died at an item, or before it had one (None); `how` completes "it ...".

    `lost` has every item that is given up, with how its last process ended.
    """

    def __init__(self, item: int | None, how: str) -> None:
        super().__init__(f"it {how}")
        self.item = item
        self.how = how
        self.lost: dict[int, str] = {} if item is None else {item: how}


class Processes:
    """Some worker processes, each of which calls `serve` for the items it is handed.

    `serve` is a function of a module's top level; `given` is passed to every call. An item at
    which a process dies is handed out up to `tries` times, each time to a new process.
    """

    def __init__(self, count: int, serve: Serve, given: Any, tries: int = 1) -> None:
        self._replies: queue.SimpleQueue[tuple[Child, Reply, Any, float]] = queue.SimpleQueue()
        self._children: list[Child] = []
        self._first_message = serve, given
        self._tries = tries
        self._deaths: Counter[int] = Counter()
        self._stopping = False
        self._false_starts = 0
        try:
            for _ in range(count):
                self._start()
        except BaseException:
            self.__exit__()
            raise

    def __enter__(self) -> Processes:
        return self

    def __exit__(self, *_: object) -> None:
        for child in self._children:
            child.end()

    def _start(self) -> None:
        self._children.append(Child(self._replies))
        self._children[-1].send(self._first_message)

    def run(self, items: Sequence[Any], keep: Keep, go_on: Callable[[], bool]) -> None:
        """Serve all items in their order; keep(index, result) is called as results come.

        Where `go_on`, called at least every POLL_SECONDS, says no, the processes are told to stop
        and what they still hand over is kept. An exception of `serve` is raised here once that is
        done. Where processes died at an item too often, the others go on without it, and LostError
        is raised in the end; it is raised at once where a process cannot even start.
        """
        waiting = deque(range(len(items)))
        given_up: LostError | None = None
        while waiting or self._busy():
            self._hand_out(items, waiting)
            failure = self._take(keep, waiting)
            if isinstance(failure, LostError) and failure.item is not None:
                given_up = given_up or failure
                given_up.lost |= failure.lost
                failure = None
            if failure is not None or not go_on():
                self._stop(keep, waiting)
                if failure is not None:
                    raise failure
                break
        if given_up is not None:
            raise given_up

    def _busy(self) -> bool:
        return any(child.items for child in self._children)

    def _hand_out(self, items: Sequence[Any], waiting: deque[int]) -> None:
        """Give every process something to do, and those with quick items a fair share in store."""
        for child in self._children:
            if waiting and child.ready and not child.items:
                child.hand(index := waiting.popleft(), items[index])
        for child in self._children:
            store = min(child.room, len(waiting) // len(self._children))
            while waiting and child.ready and len(child.items) <= store:
                child.hand(index := waiting.popleft(), items[index])

    def _take(self, keep: Keep, waiting: deque[int]) -> Exception | None:
        """Take one reply, if one comes in time; return what went wrong with it."""
        try:
            child, reply, value, seconds = self._replies.get(timeout=POLL_SECONDS)
        except queue.Empty:
            return None
        if reply == "ready":
            child.ready = True
            self._false_starts = 0
            return None
        index = child.items.popleft() if child.items else None
        if reply == "result" and index is not None:
            child.room = min(MOST_IN_STORE, int(STORE_SECONDS / max(seconds, 1e-6)))
            keep(index, value)
            return None
        was_ready = child.ready
        if reply == "gone":
            return self._replace(child, index, was_ready, waiting)
        if isinstance(value, MemoryError):
            return self._lost(index, "ran out of memory", waiting)
        child.ready = False
        child.items.clear()
        return value if isinstance(value, Exception) else None

    def _replace(
        self, child: Child, index: int | None, was_ready: bool, waiting: deque[int]
    ) -> LostError | None:
        """Start a process in place of one that died; return what is given up for it."""
        child.ready = False
        if self._stopping:
            child.items.clear()
            return None
        how = child.how_it_ended()
        self._false_starts += not was_ready
        if self._false_starts >= MOST_FALSE_STARTS:
            return LostError(None, how)
        waiting.extendleft(reversed(child.items))  # what it had in store
        self._children.remove(child)
        child.end()
        self._start()
        return self._lost(index, how, waiting)

    def _lost(self, index: int | None, how: str, waiting: deque[int]) -> LostError | None:
        """Hand an item out again, or give it up."""
        if index is None:
            return None  # it had nothing to do
        self._deaths[index] += 1
        if self._deaths[index] >= self._tries:
            return LostError(index, how)
        waiting.appendleft(index)
        return None

    def _stop(self, keep: Keep, waiting: deque[int]) -> None:
        """Tell the processes to stop, and keep what they finish meanwhile."""
        self._stopping = True
        for child in self._children:
            child.send(None)
        deadline = time.monotonic() + STOP_SECONDS
        while self._busy() and time.monotonic() < deadline:
            self._take(keep, waiting)


class Child:
    """A worker process as its parent sees it: what it is at, and a thread that reads its replies.

    `items` are the indices of the items it has not answered for, the one it is at first; it has
    `room` for so many more than that one.
    """

    def __init__(self, replies: queue.SimpleQueue[Any]) -> None:
        self.items: deque[int] = deque()
        self.ready = False
        self.room = 0
        self._replies = replies
        with _blocked_signals():
            self._process: Any = subprocess.Popen(
                (sys.executable, *COMMAND),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                env={
                    **ENVIRONMENT,
                    **os.environ,
                    # It must find the same modules as its parent.
                    "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
                },
            )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    @property
    def pid(self) -> int:
        """The number of the process."""
        number: int = self._process.pid
        return number

    def hand(self, index: int, item: Any) -> None:
        """Hand an item to the process."""
        self.items.append(index)
        self.send((item,))

    def send(self, message: Any) -> None:
        """Send a message; a process that has died is reported by its reader."""
        with contextlib.suppress(OSError):
            pickle.dump(message, self._process.stdin, pickle.HIGHEST_PROTOCOL)
            self._process.stdin.flush()

    def how_it_ended(self) -> str:
        """Return how the process ended, in words that follow "it"."""
        code: int = self._process.wait()
        if code >= 0:
            return f"ended with exit code {code}"
        try:
            name = signal.Signals(-code).name
        except ValueError:
            name = f"signal {-code}"
        hint = ", as happens when memory runs out" if name == "SIGKILL" else ""
        return f"was killed by {name}{hint}"

    def end(self) -> None:
        """End the process at once and wait until it has."""
        self._process.kill()
        self._process.wait()
        self._reader.join()
        for stream in (self._process.stdin, self._process.stdout):
            with contextlib.suppress(OSError):  # what was not sent is not wanted any more
                stream.close()

    def _read(self) -> None:
        # However its last message broke off, the process is gone.
        with contextlib.suppress(Exception):
            while True:
                self._replies.put((self, *pickle.load(self._process.stdout)))
        self._replies.put((self, "gone", None, 0.0))


@contextlib.contextmanager
def _blocked_signals() -> Iterator[None]:
    """Keep signals from a process that is started meanwhile until it has said to ignore them.

    One that reaches this thread is served afterwards.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


class _Server:
    """The loop of a worker process: it reads in a thread, so that a stop reaches a running call."""

    def __init__(self, source: BinaryIO, target: BinaryIO) -> None:
        self._source = source
        self._target = target
        self._messages: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._stopping = False

    def run(self) -> None:
        """Serve until the parent says stop."""
        threading.Thread(target=self._read, daemon=True).start()
        serve, given = self._messages.get()
        self._send("ready")
        while (message := self._messages.get()) is not None and not self._stopping:
            began = time.perf_counter()
            reply: Reply = "result"
            try:
                value = serve(message[0], given, lambda: not self._stopping)
            except Exception as error:
                reply, value = "failure", _portable(error)
            self._send(reply, value, time.perf_counter() - began)

    def _read(self) -> None:
        try:
            while True:
                message = pickle.load(self._source)
                self._stopping = message is None
                self._messages.put(message)
        except (EOFError, OSError, pickle.UnpicklingError):
            os._exit(0)  # the parent has gone; nobody wants what the main thread is doing
        except BaseException:
            traceback.print_exc()
            os._exit(1)

    def _send(self, reply: Reply, value: Any = None, seconds: float = 0.0) -> None:
        pickle.dump((reply, value, seconds), self._target, pickle.HIGHEST_PROTOCOL)
        self._target.flush()


def _portable(error: Exception) -> Exception:
    """Return the exception, or one that says the same, in a form that another process can read."""
    trace = "in a worker process:\n" + "".join(traceback.format_exception(error))
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:  # whatever the exception's own pickling raises; its text and trace travel on
        error = RuntimeError(f"{type(error).__name__}: {error}")
    error.add_note(trace)
    return error


def take_output() -> int:
    """Return standard output for replies alone: what a library prints goes to standard error."""
    target = os.dup(1)
    os.dup2(2 if sys.stderr is not None else os.open(os.devnull, os.O_WRONLY), 1)
    return target


def run_to_end(run: Callable[[], None]) -> NoReturn:
    """Run, then end the process at once, also where the parent has gone.

    A thread that reads the input holds its lock: an ordinary exit would wait for it and abort.
    """
    code = 0
    try:
        run()
    except BrokenPipeError:
        pass
    except BaseException:
        traceback.print_exc()
        code = 1
    os._exit(code)


def main() -> None:
    """Serve a parent on this process's standard input and output."""
    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
    run_to_end(_Server(sys.stdin.buffer, os.fdopen(take_output(), "wb")).run)
