"""`solve_stream`: instances come one after the other, and so do their trees."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Executor
from contextlib import ExitStack, closing
from itertools import chain
from typing import Any

import numpy as np

from ..batch import Job
from ..core.device import Device
from ..core.errors import DeepSteinerError, OptionError, PointsError
from ..core.points import Duplicates, FloatArray, as_points
from ..core.scalars import as_whole
from ..core.solution import Solution
from ..core.solutions import Solutions
from ..run.executor import HereExecutor, ProcessExecutor
from ..run.monitor import Monitor, ProgressCallback
from ..run.parts import all_rows, join, part_of_unsolved
from .chunks import Answer, Call, Chunk, chunk_of
from .crew import AHEAD, Crew, Done, failure
from .estimates import in_chunks

# So many chunks for each worker are read ahead of the oldest one that is not solved.
WINDOW = 2 * AHEAD


def solve_stream(
    instances: Any,
    method: str = "auto",
    *,
    workers: int = 1,
    executor: Executor | None = None,
    device: Device = "cpu",
    time_limit: float | None = None,
    seed: int = 0,
    duplicates: Duplicates = "merge",
    on_progress: ProgressCallback | None = None,
    **options: Any,
) -> Iterator[Solution]:
    """Solve instances as they come, in memory that does not depend on how many there are.

    Parameters
    ----------
    instances
        An iterable of (n, 2) arrays, such as a generator or a `Dataset`, or the path of a JSONL
        or Parquet file, which is read line by line or row group by row group.
    workers
        The number of processes to solve in; 1 is this one.
    executor
        Any `concurrent.futures.Executor` to solve on in place of `workers`, as in `solve_many`.
    on_progress
        Called with a `Progress` that counts solved instances, also while nothing is ready; return
        False to stop. The stream then ends after what is finished, without a gap.
    method, device, time_limit, seed, duplicates, options
        As in `solve_many`.

    Yields
    ------
    Solution
        The trees, in the order of the instances. The `runtime` of each is that of its chunk,
        divided by the instances in it.

    Raises
    ------
    WorkerError
        After the last tree, if workers died at some instances on every try. These came as spanning
        trees with status "interrupted" and the reason in `info["failed"]`. Where the executor
        itself broke, the stream ends there, after all trees without a gap.
    PointsError, UnknownMethodError, OptionError, MissingDependencyError
        As in `solve`. An error about one instance names it by its number, from 0, and comes when
        its turn has come.

    Examples
    --------
    >>> import numpy as np
    >>> squares = (np.array([[0, 0], [k, 0], [k, k], [0, k]]) for k in range(1, 4))
    >>> [round(tree.length, 4) for tree in solve_stream(squares, "exact")]
    [2.7321, 5.4641, 8.1962]
    """
    common = {"time_limit": time_limit, "seed": seed, "duplicates": duplicates, "device": device}
    chunks = solve_chunks(instances, Call(method, options, common), workers, executor, on_progress)
    return chain.from_iterable(chunks)


def solve_chunks(
    instances: Any,
    call: Call,
    workers: int = 1,
    executor: Executor | None = None,
    on_progress: ProgressCallback | None = None,
    first: int = 0,
) -> Iterator[Solutions]:
    """Return the trees of a stream, some at a time; arguments are checked at once.

    `first` is the number of the first instance.
    """
    Job([], *call)  # refuses a bad method, option or limit before any work
    count = as_whole(workers)
    if count is None or count < 1:
        raise OptionError(f"workers must be an integer of at least 1, got {workers!r}")
    if executor is not None and count != 1:
        raise OptionError("give either workers or executor, which has workers of its own")
    stream = Stream(numbered(instances, first), call, on_progress, first)
    return stream.run(executor, count)


def numbered(instances: Any, first: int) -> Iterator[FloatArray]:
    """Yield checked points; a file is read piece by piece."""
    if isinstance(instances, (str, os.PathLike)):
        from ..io.streaming import stream_instances

        instances = stream_instances(instances)
    if not hasattr(instances, "__iter__"):
        raise PointsError(
            "instances must be an iterable of (n, 2) arrays or the path of a file, "
            f"got {type(instances).__name__}"
        )
    return _checked(instances, first)


def _checked(instances: Iterable[Any], first: int) -> Iterator[FloatArray]:
    for number, points in enumerate(instances, first):
        crs = getattr(points, "crs", None)
        if crs is not None:
            raise PointsError(
                f"instance {number} is in {crs}; streams take plane coordinates, "
                "so solve geographic points one by one with solve"
            )
        yield as_points(points, what=f"instance {number}")


class Stream:
    """Chunks read ahead of the oldest that is not solved, a window of them at most."""

    def __init__(
        self,
        instances: Iterator[FloatArray],
        call: Call,
        on_progress: ProgressCallback | None,
        first: int,
    ) -> None:
        self._instances = instances
        self._call = call
        self._monitor = Monitor(None, on_progress)
        self._read, self._done = first, first
        self._tickets = 0
        self._open: deque[_Slot] = deque()
        self._failed: dict[int, str] = {}
        self._fault: DeepSteinerError | None = None

    def run(self, executor: Executor | None, workers: int) -> Iterator[Solutions]:
        """Yield the trees of chunk after chunk."""
        with ExitStack() as stack:
            if executor is None:
                executor = HereExecutor() if workers == 1 else ProcessExecutor(workers)
                stack.callback(executor.shutdown, wait=False, cancel_futures=True)
            crew = Crew(executor, self._call)
            stack.enter_context(closing(_Leaving(crew)))
            yield from self._serve(crew)
        if self._failed:
            raise failure(self._failed, self._done - len(self._failed), None, crew.broken)

    def _serve(self, crew: Crew) -> Iterator[Solutions]:
        source = in_chunks(self._instances, crew.estimates)
        more = True
        while more or self._open:
            while more and crew.has_room and len(self._open) < WINDOW * crew.width:
                more = self._read_next(source, crew)
            self._keep(crew.take() if crew.busy else [])
            yield from self._ready(crew)
            if self._fault is not None and not self._open:
                raise self._fault
            if not self._monitor.report("instances", self._done, 0):
                self._keep(crew.stop())
                yield from self._ready(crew)
                return
            if crew.broken is not None and not crew.busy:
                self._failed = dict.fromkeys(range(self._open[0].first, self._read), crew.broken)
                return

    def _read_next(self, source: Iterator[Any], crew: Crew) -> bool:
        """Read a chunk and hand it out; return whether there may be more."""
        try:
            members = next(source, None)
        except DeepSteinerError as error:
            self._fault = error  # raised when the turn of its instance has come
            return False
        if members is None:
            return False
        chunk = chunk_of(range(self._read, self._read + len(members)), members)
        self._open.append(_Slot(chunk, self._read))
        crew.hand(chunk, self._tickets)
        self._tickets += 1
        self._read += len(members)
        return True

    def _keep(self, ended: list[Done]) -> None:
        oldest = self._tickets - len(self._open)
        for done in ended:
            if done.ticket >= oldest:
                self._open[done.ticket - oldest].keep(done)

    def _ready(self, crew: Crew) -> Iterator[Solutions]:
        """Yield what is solved, as far as nothing before it is missing."""
        while self._open and self._open[0].is_whole:
            slot = self._open.popleft()
            if slot.fault is not None:
                crew.stop()
                raise slot.fault
            self._failed |= slot.failed
            self._done += len(slot.chunk.rows)
            yield slot.solutions()


class _Leaving:
    """Cancels what is under way when a stream is left, finished or not."""

    def __init__(self, crew: Crew) -> None:
        self._crew = crew

    def close(self) -> None:
        """Cancel."""
        if self._crew.busy:
            self._crew.stop()


class _Slot:
    """The place of a chunk in the stream, filled by its answer or by those of its pieces."""

    def __init__(self, chunk: Chunk, first: int) -> None:
        self.chunk = chunk
        self.first = first
        self.failed: dict[int, str] = {}
        self.fault: DeepSteinerError | None = None
        self._parts: list[Any] = []
        self._seconds = 0.0
        self._missing = len(chunk.rows)

    @property
    def is_whole(self) -> bool:
        """Whether nothing is missing."""
        return self._missing <= 0

    def keep(self, done: Done) -> None:
        """Take what came back of the chunk."""
        if isinstance(done.answer, DeepSteinerError):
            self.fault, self._missing = done.answer, 0
        elif isinstance(done.answer, Answer):
            part = done.answer.part(done.chunk)
            self._parts.append(part)
            self._seconds += done.answer.seconds
            self._missing -= len(part.rows)
        else:
            self.failed[int(done.chunk.rows[0])] = done.reason
            self._missing -= 1

    def solutions(self) -> Solutions:
        """Return the trees, checked; spanning trees stand in for instances that failed."""
        instances = self.chunk.instances()
        parts = [part._replace(rows=part.rows - self.first) for part in self._parts]
        if self.failed:
            rows = np.array(sorted(self.failed), dtype=np.int64) - self.first
            parts.append(self._stand_ins(instances, rows))
        assert len(all_rows(parts)) == len(self.chunk.rows)
        return join(instances, parts, self._seconds)

    def _stand_ins(self, instances: Any, rows: Any) -> Any:
        from ..batch import solve_many

        spanning = solve_many([instances[int(row)] for row in rows], "mst")
        part = part_of_unsolved(rows, spanning)
        reasons = [{"failed": self.failed[self.first + int(row)]} for row in rows]
        infos = np.full(len(rows), None)
        infos[:] = reasons
        return part._replace(infos=infos)
