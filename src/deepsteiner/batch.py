"""`solve_many`: whole batches through one kernel where the method has one, else one by one."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Executor
from typing import Any

import numpy as np

from .api import solve
from .core.coincident import has_coincident
from .core.device import Device, Place
from .core.errors import DeepSteinerError, OptionError, PointsError, WorkerError
from .core.points import Duplicates, FloatArray, IntArray, as_batch, check_duplicates_policy, frames
from .core.scalars import as_whole
from .core.solution import Solution
from .core.solutions import Solutions
from .registry import check_common, get_method
from .run.method import Batch, instance_seed
from .run.monitor import Monitor, ProgressCallback
from .run.parts import Part, all_rows, join, part_of_batch, part_of_solutions, part_of_unsolved
from .run.processes import LostError, Processes
from .run.threads import Lanes, use_threads

# How long a chunk of a batch kernel should take: short enough for progress reports and stops, but
# longer if nobody listens, since what happens between chunks keeps only one thread busy.
_CHUNK_SECONDS, _SILENT_SECONDS = 0.03, 0.25
_FIRST_CHUNK, _LARGEST_CHUNK = 16, 65_536
_CUDA_CHUNK = 8192
# About what it takes to start a worker process; until then this one solves small instances itself.
_START_SECONDS = 0.5
# How often an instance is tried at which a worker process dies.
TRIES = 2


def solve_many(
    batch: Any,
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
) -> Solutions:
    """Solve many instances at once.

    Parameters
    ----------
    batch
        A (B, n, 2) array, or a sequence of (n, 2) arrays of any sizes.
    workers
        The number of threads (for batch kernels) or of processes (for instances that are solved
        one by one). It does not change the trees.
    executor
        Any `concurrent.futures.Executor` to solve on in place of `workers`: processes, a cluster
        of Dask (`Client.get_executor()`) or Ray (`deepsteiner.fleet.ray.RayExecutor()`), MPI,
        loky. It does not change the trees either, and it is left running.
    time_limit
        Seconds per instance.
    on_progress
        Called with a `Progress` that counts instances; return False to stop.
    method, device, seed, duplicates, options
        As in `solve`.

    Returns
    -------
    Solutions
        The trees, in the order of the batch. Instances that a stopped batch did not reach come
        back as spanning trees with status "interrupted".

    Raises
    ------
    WorkerError
        If a worker dies at an instance, on every try. The error is raised once the others are
        solved; `failed` names those that are not, and `finished` holds the trees of the others.
    PointsError, UnknownMethodError, OptionError, MissingDependencyError
        As in `solve`; an error about one instance names it.

    Examples
    --------
    >>> import numpy as np
    >>> solve_many(np.random.default_rng(0).random((4, 5, 2)), method="mst").lengths.shape
    (4,)

    """
    common = {"time_limit": time_limit, "seed": seed, "duplicates": duplicates, "device": device}
    if executor is None:
        job = Job(batch, method, options, common, workers, on_progress)
    else:
        from .fleet.job import FleetJob

        if workers != 1:
            raise OptionError("give either workers or executor, which has workers of its own")
        job = FleetJob(batch, method, options, common, executor, on_progress)
    try:
        job.run()
    except WorkerError as error:
        rows, solutions = job.finished()
        error.finished = dict(zip(rows.tolist(), solutions, strict=True))
        raise
    return job.solutions()


class Job:
    """A batch being solved; what is finished can be had at any time, whatever ended `run`.

    `common` are the arguments that `solve` takes besides the method's options. `names` are the
    numbers that errors give the instances, where those are not their positions.
    """

    def __init__(
        self,
        batch: Any,
        method: str,
        options: dict[str, Any],
        common: dict[str, Any],
        workers: int = 1,
        on_progress: ProgressCallback | None = None,
        names: Sequence[int] | None = None,
    ) -> None:
        check_duplicates_policy(common["duplicates"])
        processes = as_whole(workers)
        if processes is None or processes < 1:
            raise OptionError(f"workers must be an integer of at least 1, got {workers!r}")
        Monitor(common["time_limit"])  # refuses a bad limit before any work
        self._method = get_method(method, options)
        seed, place = check_common(common["seed"], common["device"], self._method)
        _refuse_geographic(batch)
        self._instances = as_batch(batch)
        self._names = range(len(self._instances)) if names is None else names
        self._seed = seed
        # What `_solve_row` is given with every instance.
        self._given = method, {**common, "seed": seed, "device": place, **options}
        self._device: Place = getattr(self._method.module, "BATCH_DEVICE", place)
        self._workers = processes
        self._monitor = Monitor(None, on_progress)
        self._parts: list[Part] = []
        self._alone: dict[int, Solution] = {}
        self._done = 0

    def run(self) -> None:
        """Solve until all instances are done or the callback says stop."""
        self._run_alone(self._run_kernels())

    def finished(self) -> tuple[IntArray, Solutions]:
        """Return the positions of the instances that are finished, in order, with their trees."""
        ended = {row: one for row, one in self._alone.items() if one.status != "interrupted"}
        parts = [*self._parts, part_of_solutions(ended)]
        return all_rows(parts), join(self._instances, parts, self._monitor.elapsed())

    def solutions(self) -> Solutions:
        """Return all instances; those that were not reached have their spanning trees."""
        parts = [*self._parts, part_of_solutions(self._alone)]
        missing = np.setdiff1d(np.arange(len(self._instances)), all_rows(parts))
        if len(missing):
            spanning = solve_many([self._instances[int(row)] for row in missing], "mst")
            parts.append(part_of_unsolved(missing, spanning))
        return join(self._instances, parts, self._monitor.elapsed())

    def _report(self) -> bool:
        return self._monitor.report("instances", self._done, len(self._instances))

    # --- through batch kernels, on threads --------------------------------------------------------

    def _run_kernels(self) -> list[int]:
        """Solve what a batch kernel serves; return the rows that are left to go one by one."""
        left: list[int] = []
        sizes = np.array([len(points) for points in self._instances], dtype=np.int64)
        sizer = _Sizer(self._device, silent=self._monitor.on_progress is None)
        # An accelerator, and torch on any device, keep several threads busy with one chunk.
        one_lane = self._device == "cuda" or "torch" in self._method.info.needs
        lanes, threads = (1, self._workers) if one_lane else (self._workers, 1)

        def solve_chunk(rows: IntArray) -> tuple[Part, IntArray]:
            before = time.perf_counter()
            use_threads(threads)
            part, odd = self._solve_batch(rows)
            sizer.learn(len(rows), time.perf_counter() - before)
            return part, odd

        def keep_next() -> None:
            part, odd = under_way.result()
            self._parts.append(part)
            left.extend(odd.tolist())
            self._done += len(part.rows)
            self._report()

        with Lanes(lanes) as under_way:
            for size in np.unique(sizes).tolist():
                rows = np.flatnonzero(sizes == size)
                if not self._has_kernel(size):
                    left += rows.tolist()
                    continue
                while len(rows) and self._monitor.stop_reason is None:
                    if under_way.full:
                        keep_next()  # which may be told to stop
                        continue
                    count = min(sizer.size, math.ceil(len(rows) / lanes))
                    under_way.submit(solve_chunk, rows[:count])
                    rows = rows[count:]
            while under_way.waiting:
                keep_next()
        return left

    def _solve_batch(self, rows: IntArray) -> tuple[Part, IntArray]:
        """Solve instances of one size; return also the rows in which points coincide, left out."""
        batch = self._framed(rows)
        odd = has_coincident(batch.points)
        if odd.all():
            return part_of_solutions({}), rows
        if odd.any():
            batch = self._framed(rows[~odd])
        trees = self._method.module.solve_batch(batch, self._method.options)
        return part_of_batch(rows[~odd], trees, batch, self._method.info.name), rows[odd]

    def _has_kernel(self, size: int) -> bool:
        module = self._method.module
        if size < 3 or size > getattr(module, "BATCH_LIMIT", 0):
            return False
        can_batch = getattr(module, "can_batch", None)
        return can_batch is None or bool(can_batch(self._method.options))

    def _framed(self, rows: IntArray) -> Batch:
        """Return instances of one size in their frames."""
        if isinstance(self._instances, np.ndarray):
            points = self._instances[rows]
        else:
            points = np.stack([self._instances[row] for row in rows])
        shifts, exponents = frames(points)
        inside = np.ldexp(points - shifts[:, None], exponents[:, None, None].astype(np.int32))
        seeds = np.full(len(points), self._seed, dtype=np.int64)
        if self._method.info.random:
            seeds[:] = [instance_seed(one, self._seed) for one in points]
        return Batch(inside, shifts, exponents, seeds, self._device)

    # --- one by one, here or in worker processes --------------------------------------------------

    def _run_alone(self, rows: list[int]) -> None:
        rows = sorted(rows)
        if self._workers > 1:
            sizes = {row: len(self._instances[row]) for row in rows}
            small = [row for row in rows if sizes[row] < 3 or self._has_kernel(sizes[row])]
            rest = {*rows} - {*self._run_here(small, _START_SECONDS)}
            # The largest first: towards the end there is something left for every process.
            rows = sorted(rest, key=lambda row: (-sizes[row], row))
        if self._monitor.stop_reason is None and self._workers > 1 and len(rows) > 1:
            self._run_processes(rows)
        else:
            self._run_here(rows)

    def _run_here(self, rows: Iterable[int], seconds: float = math.inf) -> list[int]:
        """Solve one after the other for about so long; return the rows that are done."""
        done: list[int] = []
        began = time.perf_counter()
        for row in rows:
            if self._monitor.stop_reason is not None or time.perf_counter() - began > seconds:
                break
            item = self._names[row], self._instances[row]
            self._keep_one(row, _solve_row(item, self._given, self._report))
            self._report()
            done.append(row)
        return done

    def _run_processes(self, rows: list[int]) -> None:
        items = [(self._names[row], self._instances[row]) for row in rows]
        count = min(self._workers, len(rows))
        with Processes(count, _solve_row, self._given, TRIES) as processes:
            try:
                processes.run(items, lambda at, one: self._keep_one(rows[at], one), self._report)
            except LostError as error:
                at = "before it began" if error.item is None else f"at instance {rows[error.item]}"
                finished = f"{self._done} of {len(self._instances)} instances are finished"
                sentence = f"a worker process died {at}: it {error.how}; {finished}"
                lost = {rows[at]: f"its process {how}" for at, how in error.lost.items()}
                raise WorkerError(sentence, lost) from None

    def _keep_one(self, row: int, solution: Solution) -> None:
        self._alone[row] = solution
        self._done += solution.status != "interrupted"


class _Sizer:
    """How many instances a chunk should have, learnt from those that are done."""

    def __init__(self, device: str, *, silent: bool) -> None:
        self._fixed = device == "cuda"  # it wants to be filled, whatever a chunk then takes
        self._seconds = _SILENT_SECONDS if silent else _CHUNK_SECONDS
        self.size = _CUDA_CHUNK if self._fixed else _FIRST_CHUNK

    def learn(self, count: int, seconds: float) -> None:
        """Take note of how long a chunk took."""
        if not self._fixed:
            wanted = int(count * self._seconds / max(seconds, 1e-6))
            self.size = max(1, min(4 * self.size, _LARGEST_CHUNK, wanted))


def _refuse_geographic(batch: Any) -> None:
    members = batch if isinstance(batch, (list, tuple)) else [batch]
    for index, points in enumerate(members):
        if getattr(points, "crs", None) is not None:
            raise PointsError(
                f"instance {index} is in {points.crs}; solve_many takes plane coordinates, "
                "so solve geographic points one by one with solve"
            )


def _solve_row(
    item: tuple[int, FloatArray], given: tuple[str, dict[str, Any]], go_on: Callable[[], bool]
) -> Solution:
    """Solve one instance, here or in a worker process."""
    (row, points), (method, call) = item, given
    try:
        return solve(points, method, on_progress=lambda progress: go_on(), **call)
    except DeepSteinerError as error:
        named = type(error)(f"instance {row}: {error}")
        for note in getattr(error, "__notes__", ()):
            named.add_note(note)
        raise named from None
