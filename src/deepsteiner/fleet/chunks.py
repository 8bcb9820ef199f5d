"""Chunks of instances on their way to a worker, and what comes back: arrays, not objects."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from ..batch import Job
from ..core.errors import DeepSteinerError
from ..core.points import Array, FloatArray
from ..core.solutions import Solutions
from ..core.trees import offsets
from ..run.parts import INTERRUPTED, Part

# Whether this process has served a chunk: what the first one takes is mostly loading kernels.
_warm = False


class Call(NamedTuple):
    """What `solve_many` was asked to do with every instance."""

    method: str
    options: dict[str, Any]
    common: dict[str, Any]


class Chunk(NamedTuple):
    """Some instances, packed.

    Attributes
    ----------
    rows
        Their positions in the batch or stream.
    points, sizes
        Their points, one instance after the other, and how many each has.
    """

    rows: Array
    points: Array
    sizes: Array

    def instances(self) -> list[FloatArray] | FloatArray:
        """Return the instances as `solve_many` takes them."""
        if len(self.sizes) and (self.sizes == self.sizes[0]).all():
            return self.points.reshape(len(self.sizes), -1, 2)
        bounds = offsets(self.sizes).tolist()
        return [self.points[a:b] for a, b in pairwise(bounds)]

    def split(self, pieces: int) -> list[Chunk]:
        """Return the chunk in so many pieces, or one for each instance if there are fewer."""
        bounds = offsets(self.sizes)
        count = len(self.rows)
        cuts = [count * i // min(pieces, count) for i in range(min(pieces, count) + 1)]
        return [
            Chunk(self.rows[a:b], self.points[bounds[a] : bounds[b]], self.sizes[a:b])
            for a, b in pairwise(cuts)
        ]


class Answer(NamedTuple):
    """The trees of a chunk, packed, or the error that ended it.

    `methods` are names, and `method_codes` say which is whose; `infos` has only those instances of
    which a method told something. `seconds` is what the chunk took, and `warm` whether its process
    had served before.
    """

    steiner: Array
    steiner_counts: Array
    edges: Array
    lower_bounds: Array
    status_codes: Array
    methods: tuple[str, ...]
    method_codes: Array
    infos: dict[int, dict[str, Any]]
    seconds: float
    warm: bool

    def part(self, chunk: Chunk) -> Part:
        """Return the trees that are finished as a part of the batch that the chunk is from."""
        infos = np.full(len(chunk.rows), None)
        for index, info in self.infos.items():
            infos[index] = info
        names = np.array(self.methods, dtype=object)[self.method_codes]
        trees = self.steiner, self.steiner_counts.astype(np.int64), self.edges.astype(np.int64)
        part = Part(chunk.rows, *trees, self.lower_bounds, self.status_codes.copy(), names, infos)
        ended = part.status_codes != INTERRUPTED
        return part if ended.all() else part.members(ended, chunk.sizes)


def chunk_of(rows: Sequence[int] | Array, members: Sequence[FloatArray] | FloatArray) -> Chunk:
    """Return instances at these positions as a chunk."""
    if isinstance(members, np.ndarray):
        sizes = np.full(len(members), members.shape[1], dtype=np.int32)
        return Chunk(np.asarray(rows, dtype=np.int64), members.reshape(-1, 2), sizes)
    sizes = np.array([len(points) for points in members], dtype=np.int32)
    return Chunk(np.asarray(rows, dtype=np.int64), np.concatenate(members), sizes)


def solve_chunk(
    chunk: Chunk, call: Call, go_on: Callable[[], bool] | None = None
) -> Answer | DeepSteinerError:
    """Solve a chunk; this is what runs on workers. An error about an instance is returned.

    `go_on` says when to stop, where the executor has a way to tell; instances that are then not
    solved come back as spanning trees with status "interrupted".
    """
    global _warm
    began, warm = time.perf_counter(), _warm
    watch = None if go_on is None else lambda progress: go_on()
    try:
        job = Job(
            chunk.instances(), *call, on_progress=watch, names=[int(row) for row in chunk.rows]
        )
        job.run()
        solved = job.solutions()
    except DeepSteinerError as error:
        return error
    _warm = True
    return _packed(solved, time.perf_counter() - began, warm)


def _packed(solved: Solutions, seconds: float, warm: bool) -> Answer:
    trees = solved.trees
    names, codes = np.unique(np.array(solved.methods, dtype=object), return_inverse=True)
    counts = np.diff(trees.steiner_start)
    most = int(np.diff(trees.node_start).max(initial=0))
    small = np.uint16 if most <= 1 << 16 else np.uint32
    told: Mapping[int, dict[str, Any]] = dict(enumerate(solved.infos or ()))
    return Answer(
        np.ascontiguousarray(trees.steiner),
        counts.astype(np.int32),
        trees.edges.astype(small),
        solved.lower_bounds,
        solved.status_codes,
        tuple(names.tolist()),
        codes.astype(np.int16),
        {index: info for index, info in told.items() if info},
        seconds,
        warm,
    )
