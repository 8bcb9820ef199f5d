"""Result rows: what one method did on one dataset, one line of JSON each."""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar, cast

from ..core.errors import FormatError
from ..core.scalars import as_real

T = TypeVar("T")

STORED = Path(__file__).parent / "stored"


@dataclass(frozen=True)
class Row:
    """One result: gaps in percent above the optimum, times in milliseconds per instance.

    `gap_std` is the standard deviation over instances and `gap_stderr` that of the mean.
    `batch_ms` is the time of a whole batch divided by its size, `single_ms` the mean over
    `single_count` instances solved one after the other; None where not measured. `memory_mib` is
    the peak resident memory of the process while the row was made, `device_memory_mib` that of
    the accelerator. `device` is "cpu" or the accelerator's name. `points` is a hash of the
    instances, `examples` the positions of the best, the median and the worst of them, and `model`
    what is known about the training of a learned method's model.
    """

    dataset: str
    n: int
    count: int
    method: str
    options: dict[str, Any]
    device: str
    version: str
    points: str
    seed: int
    gap_mean: float
    gap_std: float
    gap_stderr: float
    gap_min: float
    gap_max: float
    length_mean: float
    batch_ms: float | None
    throughput: float | None
    single_ms: float | None = None
    single_count: int = 0
    workers: int = 1
    engine: str | None = None
    memory_mib: float | None = None
    device_memory_mib: float | None = None
    machine: str = ""
    commit: str | None = None
    versions: dict[str, str] = field(default_factory=dict)
    date: str = ""
    examples: dict[str, int] = field(default_factory=dict)
    model: dict[str, Any] = field(default_factory=dict)

    @property
    def key(self) -> tuple[Any, ...]:
        """What tells rows apart: a second one of the same key repeats the first."""
        told = ("dataset", "count", "method", "device", "version", "seed", "points")
        options = json.dumps(self.options, sort_keys=True)
        return *(getattr(self, name) for name in told), options, self.model.get("weights")

    def to_line(self) -> str:
        """Return the row as one line of JSON."""
        return json.dumps(dataclasses.asdict(self))


def read_objects(path: str | os.PathLike[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield every JSON object of a .jsonl file, after the words that errors name its place by.

    A last line that a crash cut off in the middle is left out.
    """
    try:
        lines = Path(path).read_text(encoding="utf-8").split("\n")
    except OSError as error:
        raise FormatError(f"{os.fspath(path)} cannot be read: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise FormatError(f"{os.fspath(path)} is not UTF-8 text") from None
    for number, line in enumerate(lines, start=1):
        where = f"{os.fspath(path)}, line {number}"
        values = _parsed(line)
        if isinstance(values, dict):
            yield where, values
        elif line.strip() and (values is not None or number < len(lines)):
            raise FormatError(f"{where}: expected one JSON object per line")


def read_records(kind: type[T], path: str | os.PathLike[str]) -> list[T]:
    """Return the lines of a .jsonl file as dataclasses, with their numbers and objects checked.

    A field without a default must be there. What the class does not know is left out: a later
    version may have written more than this one reads.
    """
    fields = sorted(dataclasses.fields(cast(Any, kind)), key=lambda one: one.name)
    records = []
    for where, values in read_objects(path):
        for one in fields:
            value = values.get(one.name)
            if one.name not in values:
                if one.default is one.default_factory is dataclasses.MISSING:
                    raise FormatError(f"{where}: the row has no {one.name!r}")
            elif one.type == "float" and (as_real(value) is None or value != value):
                raise FormatError(f"{where}: {one.name} must be a number, got {value!r}")
            elif str(one.type).startswith("dict") and not isinstance(value, dict):
                raise FormatError(f"{where}: {one.name} must be an object")
        known = {one.name: values[one.name] for one in fields if one.name in values}
        records.append(kind(**known))
    return records


def read_rows(path: str | os.PathLike[str]) -> list[Row]:
    """Return the rows of a .jsonl file."""
    return read_records(Row, path)


def stored_rows() -> list[Row]:
    """Return the rows that come with the package."""
    return read_folder(Row, STORED)


def read_folder(kind: type[T], folder: Path) -> list[T]:
    """Return the lines of all .jsonl files of a folder, file by file."""
    return [row for path in sorted(folder.glob("*.jsonl")) for row in read_records(kind, path)]


def append_row(path: str | os.PathLike[str], row: Row) -> None:
    """Append a row in one write, after mending what a crash left at the end of the file."""
    target = Path(path)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with target.open("a+b") as stream:
            stream.seek(0)
            content = stream.read()
            start = content.rfind(b"\n") + 1
            if _parsed(content[start:]) is None:
                stream.truncate(start)
                start = len(content)
            before = "\n" if start < len(content) else ""
            os.write(stream.fileno(), f"{before}{row.to_line()}\n".encode())
            os.fsync(stream.fileno())
    except OSError as error:
        raise FormatError(f"{target} cannot be written: {error.strerror or error}") from None


def _parsed(text: str | bytes) -> Any:
    """Return what a line of JSON holds, or None."""
    try:
        return json.loads(text)
    except ValueError:
        return None


def newest(rows: Iterable[Row]) -> list[Row]:
    """Return the rows without those that a later one of the same key replaces."""
    found: dict[tuple[Any, ...], Row] = {}
    for row in rows:
        found.pop(row.key, None)
        found[row.key] = row
    return list(found.values())
