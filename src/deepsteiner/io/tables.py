"""Text tables of points: csv, tsv and plain columns, with or without a header.

A header may name the columns (x and y; lon and lat), in any order and among others; without such
names there are exactly two columns. `#` starts a comment; `# crs: EPSG:25832` before the data
states the coordinate reference system.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ..core.errors import FormatError, PointsError
from ..core.geo import LONLAT, GeoPoints, check_lonlat
from ..core.points import LARGEST_COORDINATE, FloatArray
from .sources import Source, shorten

PLANE_NAMES = (("x", "y"), ("easting", "northing"), ("east", "north"))
LONLAT_NAMES = (
    ("lon", "lat"),
    ("longitude", "latitude"),
    ("lng", "lat"),
    ("long", "lat"),
)


@dataclass(frozen=True, slots=True)
class _Layout:
    separator: str | None
    columns: tuple[int, int] | None
    header_line: int
    crs: str | None
    width: int = 2  # columns that the header names


def read_table(source: Source) -> list[FloatArray]:
    """Read one instance from a text table."""
    text = source.text()
    layout = _layout(text, source.name)
    points = _read_fast(text, layout)
    if points is None:
        points = _read_rows(text, layout, source.name)
    if layout.crs is None:
        return [points]
    if layout.crs == LONLAT:
        check_lonlat(points, source.name)
    return [GeoPoints(points, layout.crs)]


def write_table(points: FloatArray, separator: str, *, header: bool) -> str:
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


def _layout(text: str, name: str) -> _Layout:
    crs = None
    header: tuple[int, list[str], str | None] | None = None
    for number, line in enumerate(io.StringIO(text), 1):
        stripped = line.strip()
        if stripped.startswith("#"):
            label, _, value = stripped.lstrip("# ").partition(":")
            if label.strip().lower() == "crs" and value.strip():
                crs = value.strip()
            continue
        if not stripped:
            continue
        if header is not None:
            return _named_layout(header, stripped, crs, name)
        separator = next((mark for mark in "\t;," if mark in stripped), None)
        cells = _cells(stripped, separator, name, number)
        if any(_number(cell) is not None for cell in cells):
            # Aligned columns may have several tabs between them.
            separator = None if separator == "\t" else separator
            return _Layout(separator, None, 0, crs)
        header = (number, cells, separator)
    if header is not None:
        found = shorten(" ".join(header[1]))
        raise FormatError(f"{name}, line {header[0]}: expected two numbers (x and y), got {found}")
    raise FormatError(f"{name} holds no points; expected one x y pair a line")


def _named_layout(
    header: tuple[int, list[str], str | None], first_row: str, crs: str | None, name: str
) -> _Layout:
    number, cells, separator = header
    names = [cell.lower() for cell in cells]
    for pairs, default in ((PLANE_NAMES, crs), (LONLAT_NAMES, crs or LONLAT)):
        for first, second in pairs:
            if first in names and second in names:
                for twice in (first, second):
                    if names.count(twice) > 1:
                        raise FormatError(f"{name}, line {number}: two columns named {twice!r}")
                columns = (names.index(first), names.index(second))
                return _Layout(separator, columns, number, default, len(names))
    if len(names) != 2:
        raise FormatError(
            f"{name}, line {number}: expected two columns, or a header that names x and y or lon "
            f"and lat, got {_columns(len(names))}"
        )
    if separator is None:
        separator = next((mark for mark in ";," if mark in first_row), None)
    return _Layout(None if separator == "\t" else separator, None, number, crs)


def _read_fast(text: str, layout: _Layout) -> FloatArray | None:
    """Return the points where numpy's reader takes them all; otherwise the slow way decides."""
    if layout.columns is not None and _has_wide_rows(text, layout):
        return None  # numpy would not mind
    try:
        array = np.loadtxt(
            io.StringIO(text),
            dtype=np.float64,
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


def _read_rows(text: str, layout: _Layout, name: str) -> FloatArray:
    rows = [
        _row(line, layout, name, number) for number, line in _data_lines(text, layout.header_line)
    ]
    return np.array(rows, dtype=np.float64).reshape(-1, 2)


def _data_lines(text: str, header_line: int) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(io.StringIO(text), 1):
        stripped = line.strip()
        if number > header_line and stripped and not stripped.startswith("#"):
            yield number, stripped


def _row(line: str, layout: _Layout, name: str, number: int) -> tuple[float, float]:
    cells = _cells(line, layout.separator, name, number)
    if layout.columns is None:
        if "#" in line:
            cells = _cells(line.partition("#")[0].strip(), layout.separator, name, number)
        if len(cells) != 2:
            raise FormatError(
                f"{name}, line {number}: expected two numbers (x and y), got {_columns(len(cells))}"
            )
        pair = cells
    else:
        if len(cells) <= max(layout.columns):
            raise FormatError(
                f"{name}, line {number}: expected at least {max(layout.columns) + 1} columns as "
                f"the header names, got {_columns(len(cells))}"
            )
        if len(cells) > layout.width:  # a decimal comma, or row names without a header
            bare = _cells(line.partition("#")[0].strip(), layout.separator, name, number)
            if any(bare[layout.width :]):
                raise FormatError(
                    f"{name}, line {number}: expected {_columns(layout.width)} as the header "
                    f"names, got {len(bare)}"
                )
        pair = [cells[column].partition("#")[0].strip() for column in layout.columns]
    where = f"{name}, line {number}"
    return finite_number(pair[0], where), finite_number(pair[1], where)


def finite_number(cell: str, where: str) -> float:
    """Return a coordinate from its text, or say what stands there instead."""
    value = _number(cell)
    if value is None:
        raise FormatError(f"{where}: expected a number, got {shorten(cell)}")
    if not math.isfinite(value):
        raise PointsError(f"{where}: coordinates must be finite, got {shorten(cell)}")
    if abs(value) > LARGEST_COORDINATE:
        raise PointsError(
            f"{where}: coordinates must be at most {LARGEST_COORDINATE:g} in size, "
            f"got {shorten(cell)}"
        )
    return value


def _number(cell: str) -> float | None:
    try:
        return None if "_" in cell else float(cell)
    except ValueError:
        return None


def _cells(line: str, separator: str | None, name: str, number: int) -> list[str]:
    if separator is None:
        return line.split()
    try:
        return [cell.strip() for cell in next(csv.reader([line], delimiter=separator))]
    except csv.Error:
        raise FormatError(f"{name}, line {number}: expected a row of numbers") from None


def _columns(count: int) -> str:
    return "one column" if count == 1 else f"{count} columns"
