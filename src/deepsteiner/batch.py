"""`solve_many`: a whole batch through one kernel where the method has one, else one by one."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .api import solve
from .core.coincident import has_coincident
from .core.device import Device, Place
from .core.errors import DeepSteinerError, InternalError, OptionError, PointsError, TreeError
from .core.jit import prepare_kernels
from .core.method import Batch, BatchTrees, instance_seed
from .core.points import Duplicates, FloatArray, IntArray, as_batch, check_duplicates_policy, frames
from .core.progress import Monitor, Progress, ProgressCallback
from .core.proofs import stated_bound
from .core.scalars import as_whole
from .core.solution import STATUSES, Solution
from .core.solutions import Solutions
from .core.threads import use_threads
from .core.trees import PackedTrees, ranges
from .registry import Method, check_common, get_method

# A chunk of a batch kernel should take about this long, so that progress and stopping work; longer
# where nobody listens, which leaves less between the chunks for one thread to do.
_CHUNK_SECONDS, _SILENT_SECONDS = 0.03, 0.25
_FIRST_CHUNK, _LARGEST_CHUNK = 16, 65_536
_CUDA_CHUNK = 8192


def solve_many(
    batch: Any,
    method: str = "auto",
    *,
    workers: int = 1,
    device: Device = "cpu",
    time_limit: float | None = None,
    seed: int = 0,
    duplicates: Duplicates = "merge",
    on_progress: ProgressCallback | None = None,
    **options: Any,
) -> Solutions:
    """Solve many instances; see `solve` for the arguments that are the same.

    `batch` is a (B, n, 2) array or a sequence of (n, 2) arrays of any sizes. `workers` is the
    number of threads (batch kernels) or of spawned processes (methods without one); it does not
    change the trees. `time_limit` is per instance. When `on_progress` returns False, the
    instances not reached yet come back as spanning trees with status "interrupted".

    >>> import numpy as np
    >>> solve_many(np.random.default_rng(0).random((4, 5, 2)), method="mst").lengths.shape
    (4,)
    """
    check_duplicates_policy(duplicates)
    threads = as_whole(workers)
    if threads is None or threads < 1:
        raise OptionError(f"workers must be an integer of at least 1, got {workers!r}")
    seed, place = check_common(seed, device, get_method(method, options))
    _refuse_geographic(batch)
    common = {"time_limit": time_limit, "seed": seed, "duplicates": duplicates, "device": place}
    job = _Job(as_batch(batch), method, options, common, threads, Monitor(None, on_progress))
    Monitor(time_limit)  # refuses a bad limit before any work
    return job.run()


def _refuse_geographic(batch: Any) -> None:
    members = batch if isinstance(batch, (list, tuple)) else [batch]
    for index, points in enumerate(members):
        if getattr(points, "crs", None) is not None:
            raise PointsError(
                f"instance {index} is in {points.crs}; solve_many takes plane coordinates, "
                "so solve geographic points one by one with solve"
            )


@dataclass(frozen=True)
class _Part:
    """Finished instances: their positions in the batch and their packed trees."""

    rows: IntArray
    steiner: FloatArray
    steiner_start: IntArray
    edges: IntArray
    lower_bounds: FloatArray
    status_codes: NDArray[np.int8]
    method: str
    infos: tuple[dict[str, Any], ...] | None = None


@dataclass
class _Job:
    instances: FloatArray | list[FloatArray]
    method: str
    options: dict[str, Any]
    common: dict[str, Any]
    workers: int
    monitor: Monitor
    done: int = 0

    def run(self) -> Solutions:
        parts: list[_Part] = []
        for rows in self._rows_by_size():
            for part in self._solve_group(rows):
                parts.append(part)
                self.done += len(part.rows)
                if not self._report():
                    break
        missing = np.setdiff1d(np.arange(len(self.instances)), _all_rows(parts))
        if len(missing):
            parts.append(self._fall_back(missing))
        return self._assemble(parts)

    def _report(self) -> bool:
        return self.monitor.report("instances", self.done, len(self.instances))

    def _rows_by_size(self) -> Iterator[IntArray]:
        sizes = np.array([len(points) for points in self.instances], dtype=np.int64)
        for size in np.unique(sizes):
            yield np.flatnonzero(sizes == size)

    def _solve_group(self, rows: IntArray) -> Iterator[_Part]:
        size = len(self.instances[int(rows[0])])
        chosen = get_method(self.method, self.options)
        if not (size >= 3 and _has_batch_kernel(chosen, size)):
            yield from self._one_by_one(rows)
            return
        points = self._stack(rows)
        shifts, exponents = frames(points)
        inside = np.ldexp(points - shifts[:, None], exponents[:, None, None].astype(np.int32))
        odd = has_coincident(inside)
        batch = Batch(inside, shifts, exponents, self._seeds(points, chosen))
        yield from self._chunks(chosen, rows, batch, np.flatnonzero(~odd))
        if odd.any() and self.monitor.stop_reason is None:
            yield from self._one_by_one(rows[odd])

    def _stack(self, rows: IntArray) -> FloatArray:
        if isinstance(self.instances, np.ndarray):
            return self.instances
        return np.stack([self.instances[row] for row in rows])

    def _seeds(self, points: FloatArray, chosen: Method) -> IntArray:
        seed: int = self.common["seed"]
        if not chosen.info.random:
            return np.full(len(points), seed, dtype=np.int64)
        return np.array([instance_seed(one, seed) for one in points], dtype=np.int64)

    def _chunks(
        self, chosen: Method, rows: IntArray, batch: Batch, take: IntArray
    ) -> Iterator[_Part]:
        prepare_kernels()
        use_threads(self.workers)
        device: Place = getattr(chosen.module, "BATCH_DEVICE", self.common["device"])
        seconds = _SILENT_SECONDS if self.monitor.on_progress is None else _CHUNK_SECONDS
        size, begin = _FIRST_CHUNK * self.workers, 0
        if device == "cuda":
            size = _CUDA_CHUNK  # an accelerator wants to be filled, whatever a chunk then takes

        def solve_chunk(chunk: IntArray) -> tuple[_Part, float]:
            before = time.perf_counter()
            some = Batch(
                batch.points[chunk],
                batch.shifts[chunk],
                batch.exponents[chunk],
                batch.seeds[chunk],
                device,
            )
            trees = chosen.module.solve_batch(some, chosen.options)
            part = _part_of_batch(rows[chunk], trees, batch, chunk, trees.method or self.method)
            return part, time.perf_counter() - before

        # What one thread does before and after the kernels, others do not wait for: they are at
        # the next chunk.
        with _Ahead(2 if self.workers > 1 and device != "cuda" else 1) as ahead:
            while begin < len(take) or ahead.waiting:
                while begin < len(take) and ahead.has_room:
                    chunk = take[begin : begin + size]
                    begin += len(chunk)
                    ahead.submit(solve_chunk, chunk)
                part, spent = ahead.result()
                yield part
                if device != "cuda":
                    size = min(4 * size, _LARGEST_CHUNK, int(size * seconds / max(spent, 1e-6)))
                    size = max(1, size)

    def _one_by_one(self, rows: IntArray) -> Iterator[_Part]:
        if self.workers == 1 or len(rows) == 1:
            for row in rows:
                yield _part_of_solutions(np.array([row]), [self._solve_row(int(row))])
            return
        chunks = np.array_split(rows, min(len(rows), 8 * self.workers))
        with ProcessPoolExecutor(self.workers, get_context("spawn")) as pool:
            futures = [
                pool.submit(
                    _solve_chunk,
                    [self.instances[int(row)] for row in chunk],
                    chunk.tolist(),
                    self.method,
                    {**self.common, **self.options},
                )
                for chunk in chunks
            ]
            try:
                for chunk, future in zip(chunks, futures, strict=True):
                    yield _part_of_solutions(chunk, future.result())
            finally:
                pool.shutdown(cancel_futures=True)

    def _solve_row(self, row: int) -> Solution:
        def forward(progress: Progress) -> bool:
            return self._report()

        call = {**self.common, **self.options, "on_progress": forward}
        return _solve_named(self.instances[row], row, self.method, call)

    def _fall_back(self, rows: IntArray) -> _Part:
        trees = [solve(self.instances[int(row)], "mst") for row in rows]
        part = _part_of_solutions(rows, trees)
        part.status_codes[:] = STATUSES.index("interrupted")
        return part

    def _assemble(self, parts: list[_Part]) -> Solutions:
        count = len(self.instances)
        terminals, terminal_start = _pack_terminals(self.instances)
        steiner_count = np.zeros(count, dtype=np.int64)
        for part in parts:
            steiner_count[part.rows] = np.diff(part.steiner_start)
        steiner_start = np.concatenate(([0], np.cumsum(steiner_count)))
        edge_start = terminal_start + steiner_start - np.arange(count + 1)
        steiner = np.empty((int(steiner_start[-1]), 2))
        edges = np.empty((int(edge_start[-1]), 2), dtype=np.int64)
        bounds, codes = np.full(count, np.nan), np.zeros(count, dtype=np.int8)
        names = [""] * count
        infos: list[dict[str, Any]] | None = None
        if any(part.infos for part in parts):
            infos = [{} for _ in range(count)]
        for part in parts:
            sizes = np.diff(edge_start)[part.rows]
            steiner[ranges(steiner_start[part.rows], steiner_count[part.rows])] = part.steiner
            edges[ranges(edge_start[part.rows], sizes)] = part.edges
            bounds[part.rows], codes[part.rows] = part.lower_bounds, part.status_codes
            for position, row in enumerate(part.rows.tolist()):
                names[row] = part.method
                if infos is not None and part.infos is not None:
                    infos[row] = part.infos[position]
        for array in (steiner, edges):
            array.flags.writeable = False
        trees = PackedTrees(terminals, terminal_start, steiner, steiner_start, edges)
        try:
            trees.check()
        except TreeError as error:
            raise InternalError(f"method {self.method!r} made an invalid tree: {error}") from None
        lengths = trees.lengths()
        bounds = stated_bound(bounds, lengths)
        return Solutions(
            trees,
            lengths,
            bounds,
            codes,
            tuple(names),
            self.monitor.elapsed(),
            infos=None if infos is None else tuple(infos),
        )


class _Ahead:
    """Calls made in order, up to `room` of them under way; with room for one, in this thread."""

    def __init__(self, room: int) -> None:
        self._room = room
        self._calls: deque[Any] = deque()
        self._pool = ThreadPoolExecutor(room) if room > 1 else None

    def __enter__(self) -> _Ahead:
        return self

    def __exit__(self, *_: object) -> None:
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)

    @property
    def waiting(self) -> bool:
        """Whether a result is still to be taken."""
        return bool(self._calls)

    @property
    def has_room(self) -> bool:
        """Whether another call may begin."""
        return len(self._calls) < self._room

    def submit(self, call: Any, argument: Any) -> None:
        """Begin a call."""
        if self._pool is None:
            self._calls.append(partial(call, argument))
        else:
            self._calls.append(self._pool.submit(copy_context().run, call, argument).result)

    def result(self) -> Any:
        """Return what the oldest call gave."""
        return self._calls.popleft()()


def _has_batch_kernel(chosen: Method, size: int) -> bool:
    if size > getattr(chosen.module, "BATCH_LIMIT", 0):
        return False
    can_batch = getattr(chosen.module, "can_batch", None)
    return can_batch is None or bool(can_batch(chosen.options))


def _all_rows(parts: Sequence[_Part]) -> IntArray:
    return np.concatenate([np.empty(0, dtype=np.int64), *(part.rows for part in parts)])


def _pack_terminals(instances: FloatArray | list[FloatArray]) -> tuple[FloatArray, IntArray]:
    if isinstance(instances, np.ndarray):
        count, n = instances.shape[:2]
        return instances.reshape(-1, 2), np.arange(count + 1, dtype=np.int64) * n
    sizes = [len(points) for points in instances]
    start = np.concatenate(([0], np.cumsum(sizes, dtype=np.int64))).astype(np.int64)
    return np.concatenate([np.empty((0, 2)), *instances]), start


def _part_of_batch(
    rows: IntArray, trees: BatchTrees, batch: Batch, chunk: IntArray, method: str
) -> _Part:
    owner = np.repeat(chunk, np.diff(trees.steiner_start))
    scale = -batch.exponents[owner].astype(np.int32)[:, None]
    steiner = np.ldexp(trees.steiner, scale) + batch.shifts[owner]
    unit = np.ldexp(1.0, -batch.exponents[chunk].astype(np.int32))
    bounds = np.full(len(rows), np.nan) if trees.lower_bounds is None else trees.lower_bounds * unit
    codes = np.full(len(rows), STATUSES.index("feasible"), dtype=np.int8)
    if trees.optimal is not None:
        codes[trees.optimal] = STATUSES.index("optimal")
    return _Part(rows, steiner, trees.steiner_start, trees.edges, bounds, codes, method)


def _part_of_solutions(rows: IntArray, solutions: Sequence[Solution]) -> _Part:
    counts = [len(solution.steiner_points) for solution in solutions]
    bounds = [np.nan if one.lower_bound is None else one.lower_bound for one in solutions]
    return _Part(
        rows,
        np.concatenate([solution.steiner_points for solution in solutions]),
        np.concatenate(([0], np.cumsum(counts, dtype=np.int64))).astype(np.int64),
        np.concatenate([solution.edges for solution in solutions]),
        np.array(bounds, dtype=np.float64),
        np.array([STATUSES.index(one.status) for one in solutions], dtype=np.int8),
        solutions[0].method,
        tuple(solution.info for solution in solutions),
    )


def _solve_chunk(
    instances: list[FloatArray], rows: list[int], method: str, call: dict[str, Any]
) -> list[Solution]:
    """Solve some instances in a worker process."""
    return [
        _solve_named(points, row, method, call) for points, row in zip(instances, rows, strict=True)
    ]


def _solve_named(points: FloatArray, row: int, method: str, call: dict[str, Any]) -> Solution:
    try:
        return solve(points, method, **call)
    except DeepSteinerError as error:
        named = type(error)(f"instance {row}: {error}")
        for note in getattr(error, "__notes__", ()):
            named.add_note(note)
        raise named from None
