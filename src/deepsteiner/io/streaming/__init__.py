"""Files with more instances than fit into memory, in and out: JSON lines and Parquet."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from ...core.points import FloatArray
from ..points_files import load_instances
from ..sources import suffix_of
from .lines import LineWriter, read_lines
from .parquet import ParquetWriter, read_parquet

STREAM_FORMATS = ("jsonl", "parquet")


def stream_format(path: str | os.PathLike[str]) -> str | None:
    """Return "jsonl" or "parquet" for a file that can be read as a stream, else None.

    >>> stream_format("nets.jsonl.gz"), stream_format("nets.parquet"), stream_format("net.csv")
    ('jsonl', 'parquet', None)
    """
    suffix = suffix_of(os.fspath(path).removesuffix(".gz"))
    return {"ndjson": "jsonl"}.get(suffix, suffix if suffix in STREAM_FORMATS else None)


def stream_instances(path: str | os.PathLike[str]) -> Iterator[FloatArray]:
    """Return the instances of a file one after the other; `-` is JSON lines on standard input.

    JSON lines are read line by line and Parquet row group by row group; files in other formats
    are read as a whole.
    """
    format = "jsonl" if os.fspath(path) == "-" else stream_format(path)
    if format == "jsonl":
        return read_lines(path)
    if format == "parquet":
        return read_parquet(path)
    return iter(load_instances(path))


def open_writer(path: str, resume: bool = False) -> LineWriter | ParquetWriter:
    """Return a writer of solutions; with `resume` it goes on after those that are there."""
    if path != "-" and stream_format(path) == "parquet":
        return ParquetWriter(path, resume)
    return LineWriter(path, resume)


def same_points(points: Any, last: Any) -> bool:
    """Return whether the terminals that a writer found last are these points, bit for bit."""
    return points is not None and [list(one) for one in last] == points.tolist()
