"""What a table is, whatever prints it: sections of lines of cells."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from ..rows import Row
from .entries import Entry
from .paper import TABLE1
from .results import Results


@dataclass(frozen=True)
class Cell:
    """One cell: a number of ours or the paper's, a text, a gap still to measure, or nothing.

    A mean over `count` instances has its standard error and the standard deviation of the
    instances. "blank" is a cell that the paper left blank.
    """

    state: Literal["value", "missing", "empty", "blank", "text"]
    value: float | None = None
    unit: str = ""
    standard_error: float | None = None
    standard_deviation: float | None = None
    count: int | None = None
    source: Literal["stored", "recomputed", "paper", ""] = ""
    text: str = ""
    row: Row | None = None


EMPTY = Cell("empty")


@dataclass(frozen=True)
class Line:
    """A line of a table."""

    label: str
    cells: Sequence[Cell]


@dataclass(frozen=True)
class Section:
    """Lines that belong together, under a heading of their own (or none)."""

    heading: str
    lines: Sequence[Line]


@dataclass(frozen=True)
class Table:
    """A table with its title, and the notes that stand below it."""

    title: str
    columns: Sequence[str]
    sections: Sequence[Section]
    notes: Sequence[str]

    @property
    def name(self) -> str:
        """What the table is called: the title up to its full stop, as "Table 2, D1"."""
        return self.title.partition(".")[0]

    @property
    def key(self) -> str:
        """The name as files and links have it, as "table2-d1"."""
        return self.name.lower().replace(", ", "-").replace(" ", "")

    def cells(self) -> Iterator[tuple[Section, Line, str, Cell]]:
        """Yield every cell with its section, line and column."""
        for section in self.sections:
            for line in section.lines:
                for column, cell in zip(self.columns, line.cells, strict=True):
                    yield section, line, column, cell


def our_cell(results: Results, row: Row | None, field: str = "gap_mean", unit: str = "%") -> Cell:
    """Return a number of ours, by default the gap, or a cell that says it is not measured yet."""
    value = getattr(row, field, None)
    if row is None or value is None:
        return Cell("missing", text="not yet measured")
    error, spread = (row.gap_stderr, row.gap_std) if unit == "%" else (None, None)
    source: Literal["recomputed", "stored"]
    source = "recomputed" if results.is_recomputed(row) else "stored"
    return Cell("value", value, unit, error, spread, row.count, source, row=row)


def gap_cells(results: Results, method: str, datasets: Iterable[str]) -> list[Cell]:
    """Return the gaps of one method on several datasets."""
    return [our_cell(results, results.gap(dataset, method)) for dataset in datasets]


def printed_cell(value: float | None, unit: str = "%") -> Cell:
    """Return the paper's cell."""
    if value is None:
        return Cell("blank", source="paper")
    return Cell("value", value, unit, source="paper")


def trained_cell(found: tuple[float, float, int] | None) -> Cell:
    """Return the gap of stored trainings: mean, error and number of instances."""
    if found is None:
        return Cell("missing", text="not yet measured")
    mean, error, count = found
    return Cell("value", mean, "%", error, None, count, "stored")


def text_cell(text: str) -> Cell:
    """Return a cell of words."""
    return Cell("text", text=text) if text else EMPTY


def beside(ours: Sequence[Cell], printed: str = "") -> list[Cell]:
    """Return our cells, each with the paper's after it, empty where the paper has no such line."""
    theirs = [*map(printed_cell, TABLE1[printed])] if printed else [EMPTY] * len(ours)
    return [cell for pair in zip(ours, theirs, strict=False) for cell in pair]


def gap_lines(
    results: Results, entries: Iterable[Entry], datasets: Sequence[str], *, paper: bool = False
) -> list[Line]:
    """Return a line of gaps on the datasets for every entry, with the paper's beside if asked."""
    lines = []
    for label, method, printed in entries:
        cells = gap_cells(results, method, datasets)
        lines.append(Line(label, beside(cells, printed) if paper else cells))
    return lines


def with_counts(table: Table) -> Table:
    """Add a note on how many instances the cells are means of: by column, and exceptions."""
    counts: dict[str, list[tuple[int, str]]] = {}
    for _, line, column, cell in table.cells():
        if cell.count and cell.unit == "%":
            counts.setdefault(column, []).append((cell.count, line.label.strip()))
    if not counts:
        return table
    usual = {column: most_common([n for n, _ in found]) for column, found in counts.items()}
    groups = []
    for count in dict.fromkeys(usual.values()):
        names = [column for column in usual if usual[column] == count]
        groups.append(f"{count:,}" + (f" ({', '.join(names)})" if len(names) < len(usual) else ""))
    exceptions: dict[int, dict[str, list[str]]] = {}
    for column, found in counts.items():
        for count, label in found:
            if count != usual[column]:
                exceptions.setdefault(count, {}).setdefault(label, []).append(column)
    others = []
    for count, lines in sorted(exceptions.items()):
        labels = [f"{label} ({', '.join(columns)})" for label, columns in lines.items()]
        others.append(f"{count:,}: {', '.join(labels)}")
    note = f"Means over {', '.join(groups)} instances"
    note += f", except {'; '.join(others)}." if others else "."
    return replace(table, notes=[*table.notes, note])


def most_common(counts: Sequence[int]) -> int:
    """Return the number that comes most often, the largest of several."""
    return max(counts, key=lambda count: (counts.count(count), count))
