"""OR-Library's text format: the number of instances, then for each its size and its points."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..core.errors import FormatError
from ..core.points import FloatArray
from .sources import Source, shorten
from .tables import finite_number

Lines = Iterator[tuple[int, list[str]]]


def looks_like_estein(text: str) -> bool:
    """Tell whether the text begins with a lone count, as no table of points does."""
    words = next((line.split() for line in text.split("\n", 1000) if line.strip()), [])
    return len(words) == 1 and words[0].isdecimal()


def read_estein(source: Source) -> list[FloatArray]:
    """Read all instances; a file with one size followed by its points is taken as one."""
    lines = (
        (number, line.split())
        for number, line in enumerate(source.text().split("\n"), 1)
        if line.strip()
    )
    number, words = _next(lines, source.name, "the number of instances")
    count = _count(words, source.name, number, "the number of instances")
    second = next(lines, None)
    if second is not None and len(second[1]) == 2:
        instances = [_points(_chain(second, lines), count, source.name, 1)]
    else:
        rest = _chain(second, lines) if second is not None else lines
        instances = []
        for index in range(1, count + 1):
            number, words = _next(rest, source.name, f"the size of instance {index} of {count}")
            size = _count(words, source.name, number, f"the size of instance {index}")
            instances.append(_points(rest, size, source.name, index))
    extra = next(lines, None)
    if extra is not None:
        raise FormatError(
            f"{source.name}, line {extra[0]}: expected the end of the file after the announced "
            f"points, got {shorten(' '.join(extra[1]))}"
        )
    return instances


def write_estein(instances: list[FloatArray]) -> str:
    """Return the instances as OR-Library text that reads back bit for bit."""
    lines = [str(len(instances))]
    for points in instances:
        lines.append(str(len(points)))
        lines += [f"{x!r} {y!r}" for x, y in np.asarray(points).tolist()]
    return "\n".join(lines) + "\n"


def _points(lines: Lines, size: int, name: str, index: int) -> FloatArray:
    points = []  # not an array of the stated size, which may be any number
    for row in range(size):
        number, words = _next(lines, name, f"point {row + 1} of {size} of instance {index}")
        if len(words) != 2:
            raise FormatError(
                f"{name}, line {number}: expected the x and y of point {row + 1} of instance "
                f"{index}, got {shorten(' '.join(words))}"
            )
        where = f"{name}, line {number}"
        points.append((finite_number(words[0], where), finite_number(words[1], where)))
    return np.array(points, dtype=np.float64)


def _count(words: list[str], name: str, number: int, what: str) -> int:
    whole = len(words) == 1 and words[0].isdecimal() and len(words[0]) <= 18
    if not whole or not 0 < int(words[0]) < 10**9:
        raise FormatError(
            f"{name}, line {number}: expected {what} (a whole number from 1), "
            f"got {shorten(' '.join(words))}"
        )
    return int(words[0])


def _next(lines: Lines, name: str, what: str) -> tuple[int, list[str]]:
    line = next(lines, None)
    if line is None:
        raise FormatError(f"{name} ends where {what} was expected")
    return line


def _chain(first: tuple[int, list[str]], rest: Lines) -> Lines:
    yield first
    yield from rest
