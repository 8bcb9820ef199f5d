"""A batch on an executor."""

from __future__ import annotations

from concurrent.futures import Executor
from typing import Any

import numpy as np

from ..batch import Job
from ..core.errors import DeepSteinerError
from ..core.points import IntArray
from ..run.monitor import ProgressCallback
from .chunks import Answer, Call, Chunk, chunk_of
from .crew import Crew, Done, failure
from .estimates import Cutter


class FleetJob(Job):
    """A `Job` whose chunks are solved by the workers of an executor."""

    def __init__(
        self,
        batch: Any,
        method: str,
        options: dict[str, Any],
        common: dict[str, Any],
        executor: Executor,
        on_progress: ProgressCallback | None = None,
    ) -> None:
        super().__init__(batch, method, options, common, on_progress=on_progress)
        self._crew = Crew(executor, Call(method, options, common))
        self._failed: dict[int, str] = {}

    def run(self) -> None:
        """Solve until all instances are done or the callback says stop.

        Raises WorkerError once all others are done where workers died at an instance on every try.
        """
        crew = self._crew
        sizes = np.array([len(points) for points in self._instances], dtype=np.int64)
        cutter = Cutter(sizes, crew.estimates)
        rows = cutter.cut(crew.width)
        while rows is not None or crew.busy:
            while rows is not None and crew.has_room:
                crew.hand(self._chunk(rows))
                rows = cutter.cut(crew.width)
            self._keep(crew.take())
            if not self._report():
                self._keep(crew.stop())
                return
            if crew.broken is not None and not crew.busy:
                break
        if crew.broken is not None:
            solved = {int(row) for part in self._parts for row in part.rows}
            lost = {*range(len(sizes))} - solved - self._failed.keys()
            self._failed |= dict.fromkeys(sorted(lost), crew.broken)
        if self._failed:
            raise failure(self._failed, self._done, len(sizes), crew.broken)

    def _chunk(self, rows: IntArray) -> Chunk:
        if isinstance(self._instances, np.ndarray):
            return chunk_of(rows, self._instances[rows])
        return chunk_of(rows, [self._instances[row] for row in rows.tolist()])

    def _keep(self, ended: list[Done]) -> None:
        for done in ended:
            if isinstance(done.answer, Answer):
                part = done.answer.part(done.chunk)
                self._parts.append(part)
                self._done += len(part.rows)
            elif isinstance(done.answer, DeepSteinerError):
                self._crew.stop()
                raise done.answer
            else:
                self._failed[int(done.chunk.rows[0])] = done.reason
