"""Text tables of points: csv, tsv and plain columns, with or without a header.

A header may name the columns (x and y; lon and lat), in any order and among others; without such
names there are exactly two columns. `#` starts a comment; `# crs: EPSG:25832` before the data
states the coordinate reference system.
"""

from __future__ import annotations

import csv
import io
from typing import NamedTuple

import numpy as np

from ..core.errors import FormatError
from ..core.geo import LONLAT
from ..core.points import LARGEST_COORDINATE, FloatArray
from .sources import Source
from .text import Position, coordinate_names, expected, in_system, parse_number, read_position


class _Layout(NamedTuple):
    """How the rows are to be read: what is between cells, and which two are the coordinates."""

    separator: str | None = None  # None is any white space
    columns: tuple[int, int] | None = None  # None where there are two columns without known names
    header_line: int = 0
    crs: str | None = None
    width: int = 2  # columns that the header names


def read_table(source: Source) -> list[FloatArray]:
    """Read one instance from a text table."""
    layout = _layout(source)
    points = _read_fast(source.text(), layout)
    if points is None:
        rows = [
            _row(line, layout, source.at(number))
            for number, line in source.lines()
            if number > layout.header_line and not line.startswith("#")
        ]
        points = np.array(rows).reshape(-1, 2)
    return [in_system(points, layout.crs, source.name)]


def write_table(points: FloatArray, separator: str, header: bool = True) -> str:
    """Return the points as a text table that `read_table` reads back bit for bit."""
    crs = getattr(points, "crs", None)
    names = ("lon", "lat") if crs == LONLAT else ("x", "y")
    lines = []
    if crs is not None and not (header and crs == LONLAT):
        lines.append(f"# crs: {crs}")
    if header:
        lines.append(separator.join(names))
    lines += [f"{x!r}{separator}{y!r}" for x, y in np.asarray(points).tolist()]
    return "\n".join(lines) + "\n"


def _layout(source: Source) -> _Layout:
    crs = None
    header: tuple[int, str] | None = None
    for number, line in source.lines():
        if line.startswith("#"):
            label, _, value = line.lstrip("# ").partition(":")
            if label.strip().lower() == "crs" and value.strip():
                crs = value.strip()
            continue
        if header is not None:
            return _named_layout(*header, line, crs, source)
        separator = _separator(line)
        if any(
            parse_number(cell) is not None for cell in _cells(line, separator, source.at(number))
        ):
            return _Layout(_spaced(separator), crs=crs)
        header = number, line
    if header is None:
        raise FormatError(f"{source.name} holds no points; expected one x y pair a line")
    raise expected(source.at(header[0]), "two numbers (x and y)", header[1])


def _named_layout(
    number: int, header: str, first_row: str, crs: str | None, source: Source
) -> _Layout:
    where = source.at(number)
    separator = _separator(header)
    names = [cell.lower() for cell in _cells(header, separator, where)]
    named = coordinate_names(names)
    if named is not None:
        first, second, system = named
        for name in (first, second):
            if names.count(name) > 1:
                raise FormatError(f"{where}: two columns named {name!r}")
        columns = names.index(first), names.index(second)
        return _Layout(separator, columns, number, crs or system, len(names))
    if len(names) != 2:
        raise FormatError(
            f"{where}: expected two columns, or a header that names x and y or lon and lat, "
            f"got {_columns(len(names))}"
        )
    return _Layout(_spaced(separator or _separator(first_row)), None, number, crs)


def _separator(line: str) -> str | None:
    return next((mark for mark in "\t;," if mark in line), None)


def _spaced(separator: str | None) -> str | None:
    """Return the separator of rows without known names: columns may be aligned by several tabs."""
    return None if separator == "\t" else separator


def _read_fast(text: str, layout: _Layout) -> FloatArray | None:
    """Return the points if numpy's reader accepts every row, else None."""
    if layout.columns is not None and _has_wide_rows(text, layout):
        return None  # numpy would ignore the surplus columns
    try:
        array = np.loadtxt(
            io.StringIO(text),
            delimiter=layout.separator,
            skiprows=layout.header_line,
            usecols=layout.columns,
            quotechar='"',
            ndmin=2,
        )
    except ValueError:
        return None
    usable = array.shape[1] == 2 and bool((np.abs(array) <= LARGEST_COORDINATE).all())
    return array if usable else None


def _has_wide_rows(text: str, layout: _Layout) -> bool:
    """Tell whether a row may have more columns than the header names."""
    if layout.separator is None:
        return any(len(line.split()) > layout.width for line in io.StringIO(text))
    return any(line.count(layout.separator) >= layout.width for line in io.StringIO(text))


def _row(line: str, layout: _Layout, where: str) -> Position:
    bare = _cells(line.partition("#")[0].strip(), layout.separator, where)
    if layout.columns is None:
        if len(bare) != 2:
            raise FormatError(f"{where}: expected two numbers (x and y), got {_columns(len(bare))}")
        return read_position(bare, where)
    cells = _cells(line, layout.separator, where)
    least = max(layout.columns) + 1
    if len(cells) < least:
        raise FormatError(
            f"{where}: expected at least {least} columns as the header names, "
            f"got {_columns(len(cells))}"
        )
    if any(bare[layout.width :]):  # a decimal comma, or row names without a header
        raise FormatError(
            f"{where}: expected {_columns(layout.width)} as the header names, got {len(bare)}"
        )
    return read_position([cells[i].partition("#")[0].strip() for i in layout.columns], where)


def _cells(line: str, separator: str | None, where: str) -> list[str]:
    if separator is None:
        return line.split()
    try:
        return [cell.strip() for cell in next(csv.reader([line], delimiter=separator))]
    except csv.Error:
        raise FormatError(f"{where}: expected a row of numbers") from None


def _columns(count: int) -> str:
    return "one column" if count == 1 else f"{count} columns"
