"""`python -m deepsteiner.benchmark`: the runner where neither typer nor rich is installed."""

from __future__ import annotations

import argparse
import sys

from ..core.device import resolve_device
from ..core.errors import InputError, MissingDependencyError
from .job import Job, row_line, tasks_of
from .optima import read_optima
from .rows import Row
from .runner import Bench, Task, run_tasks


def main(arguments: list[str] | None = None) -> int:
    """Run the rows of the command line; errors are one sentence and exit code 2."""
    given = _parser().parse_args(arguments)
    try:
        job = Job(
            datasets=given.dataset,
            methods=given.method,
            plan=given.plan,
            only=given.only,
            deg=given.deg,
            d1=given.d1,
            models=given.models,
            count=given.count,
            device=resolve_device(given.device),
        )
        tasks = tasks_of(job)
        bench = Bench(
            seed=given.seed,
            device=job.device,
            workers=given.workers,
            single=given.single,
            known=read_optima(given.optima) if given.optima else None,
        )
        run_tasks(tasks, bench, given.output, force=given.force, on_row=_Lines(len(tasks)))
    except (InputError, MissingDependencyError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    return 0


class _Lines:
    """Prints one line a row."""

    def __init__(self, total: int) -> None:
        self.done, self.total = 0, total

    def __call__(self, task: Task, row: Row | None) -> None:
        self.done += 1
        print(f"[{self.done}/{self.total}] {row_line(task, row)}", flush=True)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m deepsteiner.benchmark", description=__doc__.splitlines()[0]
    )
    parser.add_argument("--dataset", action="append", default=[])
    parser.add_argument("--method", action="append", default=[])
    parser.add_argument("--plan")
    parser.add_argument("--only", action="append", default=[])
    parser.add_argument("--deg")
    parser.add_argument("--d1")
    parser.add_argument("--models")
    parser.add_argument("--count", type=int)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--single", type=int, default=0)
    parser.add_argument("--optima")
    parser.add_argument("--force", action="store_true")
    parser.add_argument("-O", "--output", default="runs/bench.jsonl")
    return parser


if __name__ == "__main__":
    sys.exit(main())
