"""What a table is, whatever prints it: sections of lines of cells."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from ..rows import Row
from .paper import Printed
from .results import Results

State = Literal["value", "missing", "empty", "blank", "text"]
Source = Literal["stored", "recomputed", "paper", ""]

MISSING = "not yet measured"
BLANK = "blank"


@dataclass(frozen=True)
class Cell:
    """One cell: a number of ours or the paper's, a text, a gap still to measure, or nothing.

    `error` is the standard error of a mean and `spread` the standard deviation (as printed, in a
    paper's cell). "blank" is a cell that the paper left blank.
    """

    state: State
    value: float | None = None
    unit: str = ""
    error: float | None = None
    spread: float | None = None
    count: int | None = None
    source: Source = ""
    text: str = ""
    row: Row | None = None


EMPTY = Cell("empty")


@dataclass(frozen=True)
class Line:
    """A line of a table."""

    label: str
    cells: tuple[Cell, ...]


@dataclass(frozen=True)
class Section:
    """Lines that belong together, under a heading of their own (or none)."""

    heading: str
    lines: tuple[Line, ...]


@dataclass(frozen=True)
class Table:
    """A table with its name for `--table`, its caption and what must be said below it."""

    key: str
    title: str
    columns: tuple[str, ...]
    sections: tuple[Section, ...]
    notes: tuple[str, ...] = field(default=())

    def cells(self) -> Iterator[tuple[Section, Line, str, Cell]]:
        """Yield every cell with its section, line and column."""
        for section in self.sections:
            for line in section.lines:
                for column, cell in zip(self.columns, line.cells, strict=True):
                    yield section, line, column, cell


def gap_cell(results: Results, row: Row | None) -> Cell:
    """Return our gap, or a cell that says it is not measured yet."""
    if row is None:
        return Cell("missing")
    return Cell(
        "value",
        row.gap_mean,
        "%",
        row.gap_stderr,
        row.gap_std,
        row.count,
        "recomputed" if results.is_recomputed(row) else "stored",
        row=row,
    )


def number_cell(results: Results, row: Row | None, value: float | None, unit: str) -> Cell:
    """Return a time or a size of a row."""
    if row is None or value is None:
        return Cell("missing")
    source: Source = "recomputed" if results.is_recomputed(row) else "stored"
    return Cell("value", value, unit, count=row.count, source=source, row=row)


def printed_cell(printed: Printed | None, unit: str = "%") -> Cell:
    """Return the paper's cell; nothing where the paper has no such line."""
    if printed is None:
        return EMPTY
    if printed.value is None:
        return Cell("blank", source="paper")
    return Cell("value", printed.value, unit, spread=printed.spread, source="paper")


def text_cell(text: str) -> Cell:
    """Return a cell of words."""
    return Cell("text", text=text) if text else EMPTY


def beside(ours: Sequence[Cell], printed: Sequence[Printed] | None) -> tuple[Cell, ...]:
    """Return our cells with the paper's after each."""
    theirs: Sequence[Printed | None] = printed if printed is not None else [None] * len(ours)
    return tuple(
        cell
        for own, other in zip(ours, theirs, strict=True)
        for cell in (own, printed_cell(other, own.unit or "%"))
    )


def with_counts(table: Table) -> Table:
    """Add a note on how many instances the cells are means of: by column, and exceptions."""
    counts: dict[str, list[tuple[int, str]]] = {}
    for _, line, column, cell in table.cells():
        if cell.count and cell.unit == "%":
            counts.setdefault(column, []).append((cell.count, line.label.strip()))
    if not counts:
        return table
    usual = {column: _most_common([n for n, _ in found]) for column, found in counts.items()}
    exceptions: dict[int, dict[str, list[str]]] = {}
    for column, found in counts.items():
        for count, label in found:
            if count != usual[column]:
                exceptions.setdefault(count, {}).setdefault(label, []).append(column)
    groups = [
        f"{count:,}" + _columns([name for name in usual if usual[name] == count], len(usual))
        for count in dict.fromkeys(usual.values())
    ]
    note = f"Means over {', '.join(groups)} instances"
    others = []
    for count, lines in sorted(exceptions.items()):
        labels = [f"{label} ({', '.join(columns)})" for label, columns in lines.items()]
        others.append(f"{count:,}: {', '.join(labels)}")
    note += f", except {'; '.join(others)}." if others else "."
    return replace(table, notes=(*table.notes, note))


def _most_common(counts: Sequence[int]) -> int:
    return max(counts, key=lambda count: (counts.count(count), count))


def _columns(names: Sequence[str], total: int) -> str:
    return "" if len(names) == total else f" ({', '.join(names)})"
