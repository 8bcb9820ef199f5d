"""Result rows: what one method did on one dataset, as one line of JSON."""

from __future__ import annotations

import dataclasses
import json
import math
import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar, cast

from ..core.errors import FormatError

T = TypeVar("T")

STORED = Path(__file__).parent / "stored"
NUMBERS = ("gap_mean", "gap_std", "gap_stderr", "gap_min", "gap_max", "length_mean")


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
        """What makes a second run of the same row needless."""
        options = json.dumps(self.options, sort_keys=True)
        return (
            self.dataset,
            self.count,
            self.method,
            options,
            self.device,
            self.version,
            self.seed,
            self.points,
            self.model.get("weights"),
        )

    def to_line(self) -> str:
        """Return the row as one line of JSON."""
        return json.dumps(dataclasses.asdict(self), separators=(", ", ": "))


def parse_record(kind: type[T], text: str, where: str) -> T:
    """Return the dataclass that one line of JSON holds.

    A field without a default must be there. What the class does not know is left out: a later
    version may have written more than this one reads.
    """
    try:
        values = json.loads(text)
    except ValueError:
        values = None
    if not isinstance(values, dict):
        raise FormatError(f"{where}: expected one JSON object a line")
    fields = dataclasses.fields(cast(Any, kind))
    absent = [item for item in fields if item.name not in values]
    for item in sorted(absent, key=lambda item: item.name):
        if item.default is item.default_factory is dataclasses.MISSING:
            raise FormatError(f"{where}: the row has no {item.name!r}")
    known = {item.name for item in fields}
    return kind(**{name: value for name, value in values.items() if name in known})


def parse_line(text: str, where: str) -> Row:
    """Return the row of one line, or say in one sentence what is wrong with it."""
    row = parse_record(Row, text, where)
    for name in NUMBERS:
        value = getattr(row, name)
        if isinstance(value, bool) or not isinstance(value, (int, float)) or math.isnan(value):
            raise FormatError(f"{where}: {name} must be a number, got {value!r}")
    for name in ("options", "model", "examples", "versions"):
        if not isinstance(getattr(row, name), dict):
            raise FormatError(f"{where}: {name} must be an object")
    return row


def read_rows(path: str | os.PathLike[str]) -> list[Row]:
    """Return the rows of a .jsonl file.

    A last line that a crash cut off in the middle is no row.
    """
    lines = _read_text(path).split("\n")
    if lines[-1] and not _is_json(lines[-1]):
        lines.pop()
    return [
        parse_line(line, f"{os.fspath(path)}, line {number}")
        for number, line in enumerate(lines, start=1)
        if line.strip()
    ]


def append_row(path: str | os.PathLike[str], row: Row) -> None:
    """Append a row in one write, after mending what a crash left at the end of the file."""
    target = Path(path)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        before = _text_before(target)
        with target.open("ab") as stream:
            os.write(stream.fileno(), (before + row.to_line() + "\n").encode())
            os.fsync(stream.fileno())
    except OSError as error:
        raise FormatError(f"{target} cannot be written: {error.strerror or error}") from None


def _text_before(target: Path) -> str:
    """Return what must stand before an appended line; cut off half a line."""
    if not target.exists():
        return ""
    content = target.read_bytes()
    if not content or content.endswith(b"\n"):
        return ""
    start = content.rfind(b"\n") + 1
    if _is_json(content[start:].decode("utf-8", errors="replace")):
        return "\n"
    os.truncate(target, start)
    return ""


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


def _read_text(path: str | os.PathLike[str]) -> str:
    try:
        return Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise FormatError(f"{os.fspath(path)} cannot be read: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise FormatError(f"{os.fspath(path)} is no text in UTF-8") from None


def stored_rows() -> list[Row]:
    """Return the rows that come with the package."""
    return [row for path in sorted(STORED.glob("*.jsonl")) for row in read_rows(path)]


def newest(rows: Iterable[Row]) -> list[Row]:
    """Return the rows without those that a later one of the same key replaces."""
    found: dict[tuple[Any, ...], Row] = {}
    for row in rows:
        found.pop(row.key, None)
        found[row.key] = row
    return list(found.values())
