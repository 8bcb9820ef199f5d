"""Tables for a terminal (80 columns), as Markdown, and as CSV."""

from __future__ import annotations

import csv
import io
import textwrap
from collections.abc import Iterable, Sequence

from . import numbers
from .paper import BLANK
from .table import Cell, Table

WIDTH = 80
DASH = "–"
LEGEND = (
    "3.198(16) means 3.198 with a standard error of 0.016. "
    f"{DASH} not yet measured. r recomputed now, s stored."
)

MADE_BY = (
    "Made by `deepsteiner tables --format markdown` from rows that "
    "`deepsteiner bench --plan paper` measured. The paper's numbers stand beside ours; what "
    "differs, and why, is told on the page [Reproduction](../research/reproduction.md). Gaps are "
    "written as mean ± standard error of the mean (standard deviation over the instances)."
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
    rows = [
        (line.label, *(words(cell, marked, short=True) for cell in line.cells))
        for section in table.sections
        for line in section.lines
    ]
    head, *lines = (" ".join(row) for row in _aligned([("", *table.columns), *rows]))
    rule = "-" * len(head)
    text = [table.title, "=" * len(table.title), head]
    for section in table.sections:
        text.append(f"-- {section.heading} ".ljust(len(rule), "-") if section.heading else rule)
        text += [lines.pop(0).rstrip() for _ in section.lines]
    return "\n".join([*text, rule, *(_wrapped(note) for note in table.notes)])


def _aligned(rows: Sequence[Sequence[str]]) -> list[list[str]]:
    """Return the cells as wide as their columns: labels to the left, numbers to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [[label.ljust(widths[0]), *map(str.rjust, cells, widths[1:])] for label, *cells in rows]


def markdown(tables: Sequence[Table], preface: Sequence[str], *, marked: bool) -> str:
    """Return the tables as a Markdown document."""
    parts = ["# The paper's tables, beside ours", MADE_BY, *preface]
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
    aligned = _aligned(rows)
    label, *columns = map(len, aligned[0])
    text = [f"| {' | '.join(row)} |" for row in aligned]
    text.insert(1, f"|:{'-' * (label + 1)}|{'|'.join('-' * (n + 1) + ':' for n in columns)}|")
    body = "\n".join(text)
    return "\n\n".join([f"## {table.title}", body, *table.notes])


def words(cell: Cell, marked: bool, *, short: bool = False) -> str:
    """Return a cell in full, for documents, or `short`, for a terminal."""
    if cell.value is None:
        if short and cell.state == "missing":
            return DASH
        return BLANK if cell.state == "blank" else cell.text
    if cell.source == "paper":
        return numbers.printed(cell.value, cell.unit)
    mark = (cell.source[0] if short else f" {cell.source}") if marked else ""
    if cell.unit != "%":
        return numbers.significant(cell.value) + mark
    if short:
        return numbers.concise(cell.value, cell.standard_error) + mark
    spread = cell.standard_deviation
    deviation = f" ({numbers.significant(spread)})" if spread else ""
    return numbers.with_error(cell.value, cell.standard_error) + deviation + mark


# The fields of a cell, and of the row that it was taken from, that are written as CSV.
CELL_FIELDS = (
    *("state", "value", "unit", "standard_error", "standard_deviation"),
    *("count", "source", "text"),
)
ROW_FIELDS = ("device", "machine", "commit", "version", "seed", "date")


def comma_separated(tables: Iterable[Table]) -> str:
    """Return every cell that holds something as one line of CSV, with where it comes from."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(["table", "section", "line", "column", *CELL_FIELDS, *ROW_FIELDS])
    for table in tables:
        for section, line, column, cell in table.cells():
            if cell.state != "empty":
                names = [table.key, section.heading, line.label.strip(), column]
                values = [getattr(cell, field) for field in CELL_FIELDS]
                origin = [getattr(cell.row, field, None) for field in ROW_FIELDS]
                writer.writerow([*names, *values, *origin])
    return stream.getvalue()
