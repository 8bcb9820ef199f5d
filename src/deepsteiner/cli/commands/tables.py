"""`deepsteiner tables`: the paper's tables beside ours, in the terminal, as a file or a report."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ...core.errors import FormatError, OptionError

if TYPE_CHECKING:
    from ...benchmark.rows import Row
    from ...benchmark.tables.results import Results

FORMATS = ("terminal", "markdown", "csv", "html")
SUFFIXES = {".md": "markdown", ".csv": "csv", ".html": "html", ".txt": "terminal"}


def tables(
    table: Annotated[
        list[str] | None, typer.Option("--table", "-t", help="1 to 9; repeatable; default all.")
    ] = None,
    quick: Annotated[
        bool,
        typer.Option("--quick", help="Recompute what this machine can, on few instances."),
    ] = False,
    results: Annotated[
        list[str] | None,
        typer.Option("--results", metavar="FILE", help="Rows of `bench` to add; repeatable."),
    ] = None,
    format: Annotated[
        str | None, typer.Option(help=f"{', '.join(FORMATS)}; default by the file's suffix.")
    ] = None,
    output: Annotated[
        str, typer.Option("--output", "-O", metavar="PATH", help="- is standard output.")
    ] = "-",
    count: Annotated[int, typer.Option(help="Instances of a recomputed result.")] = 200,
    minutes: Annotated[float, typer.Option(min=0.1, help="Stop recomputing after this.")] = 10.5,
    engine: Annotated[
        str | None,
        typer.Option(help="Workers for --quick: processes:8, dask, dask://host:port, ray."),
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress.")] = False,
) -> None:
    """Print the paper's Tables 1 to 3 and six more, every cell beside the paper's own.

    The numbers are stored results unless --quick.

    \b
    Tables:
      1 gaps    2 times    3 generalisation    4 points per arc, neighbours
      5 grid sizes    6 generalisation in size    7 models    8 the authors' D1
      9 criteria at equal budgets

    \b
    Examples:
      deepsteiner tables -t 1
      deepsteiner tables --quick
      deepsteiner tables -O report.html
    """
    from ...benchmark.recompute import compare, verdict
    from ...benchmark.rows import read_rows, stored_rows
    from ...benchmark.tables.catalogue import make_tables
    from ...benchmark.tables.preface import preface
    from ...benchmark.tables.results import Results
    from ...io.sources import write_target

    if count < 1:
        raise OptionError(f"--count must be at least 1, got {count}")
    chosen = _format(format, output)
    rows = stored_rows()
    for path in results or []:
        rows += read_rows(path)
    make_tables(Results([]), table or [])  # refuses an unknown table before any work
    if engine is not None and not quick:
        raise OptionError("--engine is for --quick, which recomputes")
    again = _recomputed(count, table or [], minutes, quiet, engine) if quick else []
    found = Results(rows, again)
    said = verdict(compare(found)) if quick else []
    text = _rendered(chosen, found, table or [], preface(found, said), quick)
    write_target(output, text)
    if not quiet and output != "-":
        print("\n".join([f"{output}: written as {chosen}", *said]))


def _format(format: str | None, output: str) -> str:
    suffix = Path(output).suffix.lower()
    chosen = format or ("terminal" if output == "-" else SUFFIXES.get(suffix))
    if chosen is None:
        raise FormatError(
            f"{output}: expected a suffix among {', '.join(SUFFIXES)}, or --format, got {suffix!r}"
        )
    if chosen not in FORMATS:
        raise OptionError(f"--format must be one of {', '.join(FORMATS)}, got {chosen!r}")
    return chosen


def _rendered(
    format: str, found: Results, numbers: list[str], words: list[str], marked: bool
) -> str:
    from ...benchmark.tables import render_text
    from ...benchmark.tables.catalogue import make_tables

    made = make_tables(found, numbers)
    if format == "csv":
        return render_text.comma_separated(made)
    if format == "html":
        from ...benchmark.report.page import html

        return html(made, words, found, marked=marked)
    if format == "markdown":
        return render_text.markdown(made, words, marked=marked)
    return render_text.terminal(made, words, marked=marked)


def _recomputed(
    count: int, numbers: list[str], minutes: float, quiet: bool, engine: str | None
) -> list[Row]:
    from ...benchmark.recompute import quick_tasks, recompute
    from ...benchmark.runner import Bench
    from ..streaming import engine_of
    from .bench import RowsBar

    tasks = quick_tasks(count=count, tables=numbers)
    with (
        engine_of(engine, quiet=quiet) as executor,
        RowsBar(len(tasks), quiet=quiet, skipped="no time left, as stored") as bar,
    ):
        bench = Bench(report=bar.report, executor=executor, engine=engine)
        return recompute(tasks, bench, minutes=minutes, on_row=bar.on_row)
