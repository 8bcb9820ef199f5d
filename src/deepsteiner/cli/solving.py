"""Solving what a command was given: in one batch where nothing asks for more, else one by one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ..core.errors import OptionError
from ..core.solution import Solution
from .inputs import Instance
from .watch import Watch

if TYPE_CHECKING:
    from ..batch import Job

Solved = list[tuple[Instance, Solution]]


@dataclass(frozen=True, slots=True)
class Call:
    """How to solve: the arguments that `solve` and `solve_many` share, and what only one takes."""

    method: str
    common: dict[str, Any]
    options: dict[str, Any]
    workers: int
    crs: str | None
    project_to: str | None
    trace: bool

    def prepare(self, instances: Sequence[Instance], watch: Watch) -> InBatch | OneByOne:
        """Return the instances ready to be run."""
        projected = self.crs is not None or self.project_to is not None
        one_by_one = self.trace or projected or any(map(_is_geographic, instances))
        if self.workers > 1 and one_by_one:
            raise OptionError("--workers is for plane coordinates without --trace")
        if one_by_one or len(instances) == 1:
            return OneByOne(self, instances, watch)
        from ..batch import Job

        points = [instance.points for instance in instances]
        job = Job(points, self.method, self.options, self.common, self.workers, watch)
        return InBatch(instances, job)

    def solve(self, instance: Instance, watch: Watch) -> Solution:
        """Solve a single instance."""
        from ..api import solve

        return solve(
            instance.points,
            self.method,
            trace=self.trace,
            crs=self.crs,
            project_to=self.project_to,
            on_progress=watch,
            **self.common,
            **self.options,
        )


@dataclass(frozen=True, slots=True)
class InBatch:
    """Instances solved as one batch."""

    instances: Sequence[Instance]
    job: Job

    def run(self) -> None:
        """Solve until all are done or the watch says stop."""
        self.job.run()

    def finished(self) -> Solved:
        """Return what is finished, in order, whatever ended the run."""
        rows, solutions = self.job.finished()
        return [
            (self.instances[row], solution)
            for row, solution in zip(rows.tolist(), solutions, strict=True)
        ]


@dataclass(frozen=True, slots=True)
class OneByOne:
    """Instances solved one after the other."""

    call: Call
    instances: Sequence[Instance]
    watch: Watch
    solved: Solved = field(default_factory=list)

    def run(self) -> None:
        """Solve until all are done or the watch says stop."""
        for instance in self.instances:
            if self.watch.stopped:
                break
            self.solved.append((instance, self.call.solve(instance, self.watch)))

    def finished(self) -> Solved:
        """Return what is finished, in order; the best tree so far of a single instance counts."""
        if len(self.instances) == 1:
            return self.solved
        return [pair for pair in self.solved if pair[1].status != "interrupted"]


def _is_geographic(instance: Instance) -> bool:
    return getattr(instance.points, "crs", None) is not None
