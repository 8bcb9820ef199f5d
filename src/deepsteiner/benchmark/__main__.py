"""`python -m deepsteiner.benchmark`: the runner where neither typer nor rich is installed."""

from __future__ import annotations

import argparse
import itertools
import sys
from dataclasses import fields

from ..core.device import resolve_device
from ..core.errors import InputError, MissingDependencyError
from .job import Job, row_line, tasks_of
from .optima import read_optima
from .rows import Row
from .runner import Bench, Task, run_tasks


def main(arguments: list[str] | None = None) -> int:
    """Measure the rows that the command line asks for; errors are one sentence and exit code 2."""
    given = _parser().parse_args(arguments)
    try:
        given.device = resolve_device(given.device)
        job = Job(**{field.name: getattr(given, field.name) for field in fields(Job)})
        tasks = tasks_of(job)
        known = read_optima(given.optima) if given.optima else None
        bench = Bench(given.seed, given.device, given.workers, given.single, known)
        numbers = itertools.count(1)

        def say(task: Task, row: Row | None) -> None:
            print(f"[{next(numbers)}/{len(tasks)}] {row_line(task, row)}", flush=True)

        run_tasks(tasks, bench, given.output, force=given.force, on_row=say)
    except (InputError, MissingDependencyError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m deepsteiner.benchmark", description=__doc__.splitlines()[0]
    )
    for name in ("dataset", "method", "only"):
        parser.add_argument(f"--{name}", action="append", default=[])
    for name in ("plan", "deg", "d1", "models", "optima"):
        parser.add_argument(f"--{name}")
    for name, default in {"count": None, "seed": 0, "workers": 1, "single": 0}.items():
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--force", action="store_true")
    parser.add_argument("-O", "--output", default="runs/bench.jsonl")
    return parser


if __name__ == "__main__":
    sys.exit(main())
