"""OR-Library's text format: the number of instances, then for each its size and its points."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

import numpy as np

from ..core.errors import FormatError
from ..core.points import FloatArray
from .sources import Source
from .text import expected, read_position

Lines = Iterator[tuple[int, str]]


def looks_like_estein(text: str) -> bool:
    """Tell whether the text begins with a lone count, as no table of points does."""
    first = next((line.strip() for line in text.split("\n", 1000) if line.strip()), "")
    return first.isdecimal()


def read_estein(source: Source) -> list[FloatArray]:
    """Read all instances; a file with one size followed by its points is taken as one."""
    lines = source.lines()
    count = _count(source, lines, "the number of instances")
    ahead = next(lines, None)
    if ahead is not None:
        lines = chain([ahead], lines)
    if ahead is not None and len(ahead[1].split()) == 2:
        instances = [_points(source, lines, count, 1)]
    else:
        instances = []
        for index in range(1, count + 1):
            size = _count(source, lines, f"the size of instance {index} of {count}")
            instances.append(_points(source, lines, size, index))
    for number, line in lines:
        raise expected(source.at(number), "the end of the file after the announced points", line)
    return instances


def write_estein(instances: list[FloatArray]) -> str:
    """Return the instances as OR-Library text that reads back bit for bit."""
    lines = [str(len(instances))]
    for points in instances:
        lines.append(str(len(points)))
        lines += [f"{x!r} {y!r}" for x, y in np.asarray(points).tolist()]
    return "\n".join(lines) + "\n"


def _points(source: Source, lines: Lines, size: int, index: int) -> FloatArray:
    points = []  # not an array of the stated size, which may be absurd
    for row in range(1, size + 1):
        where, line = _next(source, lines, f"point {row} of {size} of instance {index}")
        words = line.split()
        if len(words) != 2:
            raise expected(where, f"the x and y of point {row} of instance {index}", line)
        points.append(read_position(words, where))
    return np.array(points)


def _count(source: Source, lines: Lines, what: str) -> int:
    where, line = _next(source, lines, what)
    if not line.isdecimal() or len(line) > 18 or not 0 < int(line) < 10**9:
        raise expected(where, f"{what} (a whole number from 1)", line)
    return int(line)


def _next(source: Source, lines: Lines, what: str) -> tuple[str, str]:
    """Return the next line and its place."""
    for number, line in lines:
        return source.at(number), line
    raise FormatError(f"{source.name} ends where {what} was expected")
