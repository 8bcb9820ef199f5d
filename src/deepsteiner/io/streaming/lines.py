"""JSON lines as streams: instances in, solutions out, whole lines only."""

from __future__ import annotations

import contextlib
import gzip
import json
import os
import sys
import zlib
from collections.abc import Iterable, Iterator
from typing import IO, Any

from ...core.errors import FormatError, OptionError
from ...core.points import FloatArray
from ...core.solution import Solution
from ..json_points import parse_json, points_of_value

# A line that is longer is no instance; what has no line ends must not fill the memory.
LONGEST_LINE = 1 << 30


def read_lines(path: str | os.PathLike[str]) -> Iterator[FloatArray]:
    """Yield the instances of a file of JSON lines; `-` is standard input."""
    name = "standard input" if os.fspath(path) == "-" else os.fspath(path)
    number = 0
    with _opened(os.fspath(path), name) as stream:
        while True:
            line = _next_line(stream, name)
            if not line:
                break
            number += 1
            if len(line) > LONGEST_LINE:
                raise FormatError(f"{name}, line {number}: longer than {LONGEST_LINE >> 20} MiB")
            yield from _instances(line, name, number)
    if number == 0:
        raise FormatError(f"{name} is empty; at least one (x, y) pair is needed")


def _next_line(stream: IO[bytes], name: str) -> bytes:
    try:
        return stream.readline(LONGEST_LINE + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise FormatError(f"{name} cannot be read to its end: {error}") from None


def _instances(line: bytes, name: str, number: int) -> list[FloatArray]:
    try:
        text = line.decode("utf-8-sig" if number == 1 else "utf-8").strip()
    except UnicodeDecodeError:
        raise FormatError(f"{name}, line {number}: expected UTF-8 text") from None
    if not text:
        return []
    return points_of_value(parse_json(text, name, number), f"{name}, line {number}")


@contextlib.contextmanager
def _opened(path: str, name: str) -> Iterator[IO[bytes]]:
    if path == "-":
        if sys.stdin is None:
            raise FormatError("standard input is closed")
        yield sys.stdin.buffer
        return
    try:
        stream: Any = (gzip.open if path.endswith(".gz") else open)(path, "rb")
    except FileNotFoundError:
        raise FormatError(f"{name} does not exist") from None
    except IsADirectoryError:
        raise FormatError(f"{name} is a folder; expected a file") from None
    except OSError as error:
        raise FormatError(f"{name} cannot be read: {error.strerror or error}") from None
    with stream:
        yield stream


class LineWriter:
    """Writes solutions as JSON lines; after every call the file holds whole lines only.

    `count` says how many solutions it holds, and `last` has the terminals of the last one that was
    there before.
    """

    def __init__(self, path: str, resume: bool = False) -> None:
        self.count = 0
        self.last: Any = None
        self._stream: Any = None
        self._end = 0
        if path == "-":
            if resume:
                raise OptionError("--resume needs a file to go on with, not standard output")
            return
        if resume and os.path.exists(path):
            self._stream = open(path, "r+b")  # noqa: SIM115 - closed by `close`
            try:
                self._find_end(path)
            except FormatError:
                self._stream.close()
                raise
        else:
            self._stream = open(path, "wb")  # noqa: SIM115

    def _find_end(self, path: str) -> None:
        """Count the whole lines and cut off what is left of one that was being written."""
        line = b""
        for one in self._stream:
            if one.endswith(b"\n"):
                self.count += 1
                self._end += len(one)
                line = one
        self._stream.seek(self._end)
        self._stream.truncate()
        if self.count:
            value = parse_json(line.decode("utf-8", "replace"), path, self.count)
            self.last = value.get("terminals") if isinstance(value, dict) else None
            if not isinstance(self.last, list):
                raise FormatError(f"{path}, line {self.count}: not a solution, so --resume fails")

    def write(self, solutions: Iterable[Solution]) -> None:
        """Append solutions."""
        lines = [json.dumps(one.to_dict(), separators=(",", ":")) + "\n" for one in solutions]
        if self._stream is None:
            sys.stdout.write("".join(lines))
            sys.stdout.flush()
        else:
            data = "".join(lines).encode()
            self._stream.write(data)
            self._stream.flush()
            self._end += len(data)
        self.count += len(lines)

    def close(self) -> None:
        """Close the file, without what an interrupted call wrote; standard output stays open."""
        if self._stream is not None:
            self._stream.truncate(self._end)
            self._stream.close()
