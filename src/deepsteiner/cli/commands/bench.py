"""`deepsteiner bench`: datasets x methods to rows of results, resumably."""

from __future__ import annotations

import sys
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ...core.errors import OptionError
from .. import INTERRUPTED
from ..inputs import PLUGIN_HELP, load_plugins
from ..streaming import engine_of
from ..watch import new_bar

if TYPE_CHECKING:
    from ...benchmark.rows import Row
    from ...benchmark.runner import Task

_file = partial(typer.Option, metavar="FILE")


def bench(
    dataset: Annotated[
        list[str] | None,
        typer.Option(
            "--dataset", "-d", help="D1, D2, D3, uniform-50, or name:path for a file; repeatable."
        ),
    ] = None,
    method: Annotated[
        list[str] | None,
        typer.Option("--method", "-m", help="As greedy or policy:refine=true; repeatable."),
    ] = None,
    plan: Annotated[
        str | None, typer.Option(help="paper: every row of the tables, for this device.")
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option("--only", help="Of the plan, rows with all these words; repeatable."),
    ] = None,
    deg: Annotated[str | None, _file(help="The instances of DEG, for the plan.")] = None,
    d1: Annotated[str | None, _file(help="The authors' D1, for the plan.")] = None,
    models: Annotated[
        str | None, typer.Option(metavar="FOLDER", help="Trained runs to add to the plan.")
    ] = None,
    count: Annotated[int | None, typer.Option(help="Instances of each dataset.")] = None,
    seed: Annotated[int, typer.Option(help="Of the instances and of random methods.")] = 0,
    device: Annotated[str, typer.Option(help="cpu, cuda or auto.")] = "cpu",
    workers: Annotated[int, typer.Option(help="Threads.")] = 1,
    engine: Annotated[
        str | None, typer.Option(help="Or workers: processes:8, dask, dask://host:port, ray.")
    ] = None,
    single: Annotated[int, typer.Option(help="Time so many instances one by one as well.")] = 0,
    optima: Annotated[str | None, _file(help="Optima that --write-optima wrote.")] = None,
    write_optima: Annotated[
        str | None, _file(help="Only find the optima of the datasets; write an .npz.")
    ] = None,
    plugin: Annotated[list[str] | None, _file(help=PLUGIN_HELP)] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Make rows that are already there.")
    ] = False,
    output: Annotated[
        str, typer.Option("--output", "-O", metavar="PATH", help="The .jsonl to append to.")
    ] = "runs/bench.jsonl",
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress.")] = False,
) -> None:
    """Measure methods on datasets: gaps to the optimum, times and memory, one row of JSON each.

    Rows that the file already holds are skipped, so an interrupted run goes on where it was.

    \b
    Examples:
      deepsteiner bench -d D1 -m greedy -m "local:effort=fast" --count 1000
      deepsteiner bench -d DEG:deg.npz -m "policy:model=mst-d1,refine=true"
      deepsteiner bench --plan paper --only "classical D1" --single 200
    """
    from ...benchmark.job import Job, tasks_of
    from ...benchmark.optima import read_optima
    from ...benchmark.runner import Bench, run_tasks
    from ...core.device import resolve_device

    load_plugins(plugin or [])
    if not output.endswith(".jsonl"):
        raise OptionError(f"--output must be a .jsonl file, got {output!r}")
    job = Job(
        dataset=dataset or [],
        method=method or (["exact"] if write_optima and plan is None else []),
        plan=plan,
        only=only or [],
        deg=deg,
        d1=d1,
        models=models,
        count=count,
        device=device if write_optima is not None else resolve_device(device),
    )
    tasks = tasks_of(job)
    known = read_optima(optima) if optima is not None else None
    with engine_of(engine, quiet=quiet) as executor, RowsBar(len(tasks), quiet=quiet) as bar:
        # Optima are found here even for the rows of another machine.
        place = job.device if write_optima is None else "cpu"
        settings = Bench(seed, place, workers, single, known, bar.report, executor, engine)
        try:
            if write_optima is not None:
                _write_optima(tasks, settings, write_optima)
                return
            made = run_tasks(tasks, settings, output, force=force, on_row=bar.on_row)
        except KeyboardInterrupt:
            raise typer.Exit(INTERRUPTED) from None
    if not quiet:
        print(f"{output}: {len(made)} new, {len(tasks) - len(made)} already there")


def _write_optima(tasks: list[Task], settings: Any, path: str) -> None:
    from ...benchmark.optima import content_hash, write_optima

    found = {}
    for task in {(task.dataset, task.count): task for task in tasks}.values():
        loaded = settings.load(task)
        found[content_hash(loaded.points)] = loaded.optima
    write_optima(path, found)
    print(f"{path}: the optima of {len(found)} sets of instances")


class RowsBar:
    """A progress bar over rows on a terminal, one line a row elsewhere; all on stderr."""

    def __init__(self, total: int, *, quiet: bool, skipped: str = "already there") -> None:
        self.total, self.done = total, 0
        self._skipped, self._quiet = skipped, quiet
        self._draws = sys.stderr.isatty() and not quiet
        self._bar = new_bar(disable=not self._draws)
        self._rows = self._bar.add_task("rows", total=total)
        self._row = self._bar.add_task("", total=None)

    def __enter__(self) -> RowsBar:
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def report(self, phase: str, done: int, total: int) -> bool:
        """Show the progress of the current row."""
        self._bar.update(self._row, description=phase, completed=done, total=total or None)
        return True

    def on_row(self, task: Task, row: Row | None) -> None:
        """Count a row and say what it found."""
        from ...benchmark.job import row_line

        self.done += 1
        self._bar.update(self._rows, completed=self.done)
        line = f"[{self.done}/{self.total}] {row_line(task, row, self._skipped)}"
        if self._draws:
            self._bar.console.print(line, markup=False, highlight=False)
        elif not self._quiet:
            print(line, file=sys.stderr, flush=True)
