"""Tables for a terminal (80 columns), as Markdown, and as CSV."""

from __future__ import annotations

import csv
import io
import textwrap
from collections.abc import Iterable, Sequence

from . import numbers
from .table import BLANK, MISSING, Cell, Table

WIDTH = 80
DASH = "–"
LEGEND = (
    "3.198(16) means 3.198 with a standard error of 0.016. "
    f"{DASH} not yet measured. r recomputed now, s stored."
)

MADE_BY = (
    "Made by `deepsteiner tables --format markdown -O docs/results.md` from rows that "
    "`deepsteiner bench --plan paper` measured. The paper's numbers stand beside ours; what "
    "differs, and why, is in [reproduction.md](reproduction.md). Gaps are written as mean ± "
    "standard error of the mean (standard deviation over the instances)."
)


def terminal(tables: Sequence[Table], preface: Sequence[str], *, marked: bool) -> str:
    """Return the tables as text of at most 80 columns.

    `marked` puts r (recomputed) or s (stored) behind every number of ours.
    """
    legend = LEGEND if marked else LEGEND.partition(" r recomputed")[0]
    parts = ["\n".join(_wrapped(text) for text in (*preface, legend))]
    parts += [_terminal_table(table, marked) for table in tables]
    return "\n\n".join(parts) + "\n"


def _wrapped(text: str) -> str:
    return textwrap.fill(text, WIDTH)


def _terminal_table(table: Table, marked: bool) -> str:
    lines = [
        (line.label, *(_short(cell, marked) for cell in line.cells))
        for section in table.sections
        for line in section.lines
    ]
    columns = list(zip(*([("", *table.columns), *lines]), strict=True))
    widths = [max(map(len, column)) for column in columns]
    rule = "-" * (sum(widths) + len(widths) - 1)
    text = [table.title, "=" * len(table.title), _row(("", *table.columns), widths)]
    at = iter(lines)
    for section in table.sections:
        text.append(f"-- {section.heading} ".ljust(len(rule), "-") if section.heading else rule)
        text += [_row(next(at), widths) for _ in section.lines]
    text += [rule, *(_wrapped(note) for note in table.notes)]
    return "\n".join(text)


def _padded(cells: Sequence[str], widths: Sequence[int]) -> list[str]:
    """Return the cells of a row as wide as their columns: the label to the left, numbers right."""
    label, *rest = cells
    numbered = zip(rest, widths[1:], strict=True)
    return [label.ljust(widths[0]), *(cell.rjust(width) for cell, width in numbered)]


def _row(cells: Sequence[str], widths: Sequence[int]) -> str:
    return " ".join(_padded(cells, widths)).rstrip()


def _short(cell: Cell, marked: bool) -> str:
    if cell.state != "value":
        return {"missing": DASH, "blank": BLANK, "empty": "", "text": cell.text}[cell.state]
    assert cell.value is not None
    if cell.source == "paper":
        return numbers.printed(cell.value, cell.unit)
    mark = cell.source[0] if marked else ""
    if cell.unit == "%":
        return numbers.concise(cell.value, cell.error) + mark
    return numbers.significant(cell.value) + mark


def markdown(tables: Sequence[Table], preface: Sequence[str], *, marked: bool) -> str:
    """Return the tables as a Markdown document."""
    parts = ["# Results", MADE_BY, *preface]
    parts += [_markdown_table(table, marked) for table in tables]
    return "\n\n".join(parts) + "\n"


def _markdown_table(table: Table, marked: bool) -> str:
    rows: list[tuple[str, ...]] = [("", *table.columns)]
    for section in table.sections:
        if section.heading:
            rows.append((f"**{section.heading}**", *([""] * len(table.columns))))
        rows += [
            (line.label.strip(), *(words(cell, marked) for cell in line.cells))
            for line in section.lines
        ]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    text = [f"| {' | '.join(_padded(row, widths))} |" for row in rows]
    marks = [":" + "-" * (widths[0] + 1), *("-" * (width + 1) + ":" for width in widths[1:])]
    text.insert(1, "|" + "|".join(marks) + "|")
    body = "\n".join(text)
    return "\n\n".join([f"## {table.title}", body, *table.notes])


def words(cell: Cell, marked: bool) -> str:
    """Return a cell in full, as documents show it."""
    if cell.state != "value":
        return {"missing": MISSING, "blank": BLANK, "empty": "", "text": cell.text}[cell.state]
    assert cell.value is not None
    if cell.source == "paper":
        return numbers.printed(cell.value, cell.unit)
    mark = f" {cell.source}" if marked else ""
    if cell.unit == "%":
        deviation = f" ({numbers.significant(cell.spread)})" if cell.spread else ""
        return numbers.with_error(cell.value, cell.error) + deviation + mark
    return numbers.significant(cell.value) + mark


CSV_COLUMNS = (
    *("table", "section", "line", "column", "state", "value", "unit", "standard_error"),
    *("standard_deviation", "count", "source", "text", "device", "machine", "commit", "version"),
    *("seed", "date"),
)


def comma_separated(tables: Iterable[Table]) -> str:
    """Return every cell that holds something as one line of CSV, with where it comes from.

    The paper's own spread is left out: it is no standard deviation.
    """
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(CSV_COLUMNS)
    for table in tables:
        for section, line, column, cell in table.cells():
            if cell.state != "empty":
                names = [table.key, section.heading, line.label.strip(), column]
                writer.writerow([*names, *_csv_values(cell)])
    return stream.getvalue()


def _csv_values(cell: Cell) -> list[object]:
    row = cell.row
    spread = None if cell.source == "paper" else cell.spread
    text = MISSING if cell.state == "missing" else cell.text
    values = [cell.state, cell.value, cell.unit, cell.error, spread, cell.count, cell.source, text]
    if row is None:
        return [*values, *([None] * 6)]
    return [*values, row.device, row.machine, row.commit, row.version, row.seed, row.date]
