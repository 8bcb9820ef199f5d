"""Solve the instances of a command: in one batch where that is possible, else one by one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..core.errors import OptionError
from ..core.solution import Solution
from .inputs import Instance
from .watch import Watch

if TYPE_CHECKING:
    from ..batch import Job

Solved = list[tuple[Instance, Solution]]


def prepare(
    instances: Sequence[Instance],
    method: str,
    options: Mapping[str, Any],
    common: Mapping[str, Any],
    workers: int,
    watch: Watch,
    executor: Any = None,
    **extra: Any,
) -> Job | OneByOne:
    """Return a job over the instances, ready to be run.

    `common` are the arguments that `solve` and `solve_many` share; `extra` are those that only
    `solve` takes, and only where they are asked for.
    """
    geographic = any(getattr(instance.points, "crs", None) is not None for instance in instances)
    if (workers > 1 or executor is not None) and (extra or geographic):
        name = "--workers" if executor is None else "--engine"
        raise OptionError(f"{name} is for plane coordinates without --trace")
    points = [instance.points for instance in instances]
    if executor is not None and len(instances) == 1:
        from ..registry import get_method

        if "an executor" in get_method(method, options).info.supports:
            arguments = {"method": method, "executor": executor, **common, **options}
            return OneByOne(points, watch, arguments)
    if executor is not None:
        from ..fleet.job import FleetJob

        return FleetJob(points, method, dict(options), dict(common), executor, watch)
    if extra or geographic or len(instances) == 1:
        return OneByOne(points, watch, {"method": method, **extra, **common, **options})
    from ..batch import Job

    return Job(points, method, dict(options), dict(common), workers, watch)


def finished(job: Job | OneByOne, instances: Sequence[Instance]) -> Solved:
    """Return what is finished, in order, whatever ended the job."""
    rows, solutions = job.finished()
    return [(instances[row], solution) for row, solution in zip(list(rows), solutions, strict=True)]


class OneByOne:
    """Instances solved one after the other, with the same interface as a `Job`."""

    def __init__(self, points: Sequence[Any], watch: Watch, arguments: Mapping[str, Any]) -> None:
        self._points, self._watch, self._arguments = points, watch, arguments
        self._solutions: list[Solution] = []

    def run(self) -> None:
        """Solve until all are done or the watch says stop."""
        from ..api import solve

        for points in self._points:
            if self._watch.stopped:
                break
            self._solutions.append(solve(points, on_progress=self._watch, **self._arguments))

    def finished(self) -> tuple[Sequence[int], Sequence[Solution]]:
        """Return positions and trees; the best tree so far of a single instance counts."""
        done = self._solutions
        if len(self._points) > 1:  # the one that was interrupted is not finished
            done = [solution for solution in done if solution.status != "interrupted"]
        return range(len(done)), done
