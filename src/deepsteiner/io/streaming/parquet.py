"""Parquet as a stream: instances row group by row group, solutions as a folder of parts.

An instance is a row with a column `points` (or `terminals`, as in solutions): a list of [x, y]. A
Parquet file cannot be appended to, so solutions go to a folder of numbered parts, which pandas,
Dask, Spark and pyarrow read as one table; each part appears whole or not at all.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from ...core.errors import FormatError, MissingDependencyError, PointsError
from ...core.points import FloatArray
from ...core.solution import Solution
from ..solution_files import solution_to_dict

COLUMNS = ("points", "terminals")
# Rows read at once; a row group may have millions.
BATCH_ROWS = 4096
# A part is written when it has so many trees, or when these have so many nodes.
PART_ROWS, PART_NODES = 1 << 15, 1 << 20
_PART = re.compile(r"part-(\d+)\.parquet")


def load_pyarrow() -> tuple[Any, Any]:
    """Return pyarrow and its Parquet module, or say how to install them."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise MissingDependencyError(
            "Parquet files need pyarrow; install it with: pip install 'deepsteiner[parquet]'"
        ) from None
    return pyarrow, pyarrow.parquet


def read_parquet(path: str | os.PathLike[str]) -> Iterator[FloatArray]:
    """Yield the instances of a Parquet file, or of a folder of parts."""
    arrow, _ = load_pyarrow()
    for part in parts_of(path):
        with open_parquet(part) as file:
            name = next((one for one in COLUMNS if one in file.schema_arrow.names), None)
            if name is None:
                got = ", ".join(file.schema_arrow.names[:8])
                raise FormatError(
                    f"{part}: expected a column 'points' with a list of [x, y] in every row, "
                    f"got: {got}"
                )
            for number in range(file.num_row_groups):
                for batch in file.iter_batches(BATCH_ROWS, [number], columns=[name]):
                    yield from _instances(arrow, batch.column(0), f"{part}, column {name!r}")


def parts_of(path: str | os.PathLike[str]) -> list[Path]:
    """Return a file, or the parts of a folder in order."""
    place = Path(path)
    if not place.is_dir():
        return [place]
    parts = sorted(place.glob("*.parquet"))
    if not parts:
        raise FormatError(f"{place} is a folder without .parquet files")
    return parts


def open_parquet(path: Path) -> Any:
    """Return an open Parquet file, or say why it cannot be read."""
    arrow, parquet = load_pyarrow()
    try:
        return parquet.ParquetFile(path)
    except FileNotFoundError:
        raise FormatError(f"{path} does not exist") from None
    except (arrow.ArrowException, OSError) as error:
        words = " ".join(str(error).split())[:120]
        raise FormatError(f"{path} is not a Parquet file that can be read ({words})") from None


def _instances(arrow: Any, column: Any, where: str) -> Iterator[FloatArray]:
    """Yield the lists of pairs of a column; they are cut out of one flat array."""
    kind = column.type
    if not arrow.types.is_list(kind) and not arrow.types.is_large_list(kind):
        raise FormatError(f"{where}: expected a list of [x, y] in every row, got {kind}")
    if column.null_count:
        raise FormatError(f"{where}: a row has no points")
    pairs = column.flatten()
    flat = pairs.flatten()
    if flat.type == pairs.type or flat.null_count or len(flat) != 2 * len(pairs):
        raise PointsError(f"{where}: expected [x, y] pairs, got {kind} with others")
    values = np.asarray(flat.to_numpy(zero_copy_only=False), dtype=np.float64).reshape(-1, 2)
    ends = np.cumsum(column.value_lengths().to_numpy(zero_copy_only=False)).tolist()
    begin = 0
    for end in ends:
        yield values[begin:end]
        begin = end


class ParquetWriter:
    """Writes solutions as parts of a folder; `count` and `last` as in `LineWriter`."""

    def __init__(self, path: str, resume: bool = False) -> None:
        self._arrow, self._parquet = load_pyarrow()
        self._folder = Path(path)
        self._waiting: list[dict[str, Any]] = []
        self._nodes = 0
        self.count = 0
        self.last: Any = None
        if self._folder.is_file():
            raise FormatError(f"{path} is a file; solutions are written to a folder of parts")
        self._folder.mkdir(exist_ok=True)
        old = sorted(one for one in self._folder.iterdir() if _PART.fullmatch(one.name))
        if old and not resume:
            for part in old:
                part.unlink()
            old = []
        for part in old:
            with open_parquet(part) as file:
                self.count += file.metadata.num_rows
        if old:
            with open_parquet(old[-1]) as file:
                rows = file.read_row_group(file.num_row_groups - 1, columns=["terminals"])
                self.last = rows.column(0)[-1].as_py()
        self._next = int(_PART.fullmatch(old[-1].name)[1]) + 1 if old else 0  # type: ignore[index]

    def write(self, solutions: Iterable[Solution]) -> None:
        """Take solutions; a part is written when there are enough of them."""
        for one in solutions:
            row = solution_to_dict(one)
            self._waiting.append({**row, "info": json.dumps(row["info"])})
            self._nodes += len(one.terminals) + len(one.steiner_points)
            self.count += 1
            if len(self._waiting) >= PART_ROWS or self._nodes >= PART_NODES:
                self._flush()

    def close(self) -> None:
        """Write what is left."""
        self._flush()

    def _flush(self) -> None:
        if not self._waiting:
            return
        table = self._arrow.Table.from_pylist(self._waiting, schema=self._schema())
        target = self._folder / f"part-{self._next:06d}.parquet"
        hidden = target.with_name(f".{target.name}.unfinished")
        self._parquet.write_table(table, hidden)
        hidden.replace(target)
        self._waiting.clear()
        self._nodes = 0
        self._next += 1

    def _schema(self) -> Any:
        arrow = self._arrow
        points = arrow.list_(arrow.list_(arrow.float64(), 2))
        text, number = arrow.string(), arrow.float64()
        return arrow.schema(
            {
                "format": text,
                "version": arrow.int64(),
                "length": number,
                "lower_bound": number,
                "status": text,
                "method": text,
                "runtime": number,
                "crs": text,
                "plane_crs": text,
                "info": text,
                "terminals": points,
                "steiner_points": points,
                "edges": arrow.list_(arrow.list_(arrow.int64(), 2)),
            }.items()
        )
