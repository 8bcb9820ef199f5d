"""Where bytes come from and go to: a path, standard input or output, or an open stream."""

from __future__ import annotations

import contextlib
import gzip
import io
import os
import reprlib
import stat
import sys
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any

from ..core.errors import FormatError, OptionError
from .atomic import atomic_write

PathOrStream = str | os.PathLike[str] | IO[Any]

# Packed files, pipes and devices do not say truly how much they hold, and may have no end.
LARGEST_UNPACKED = 1 << 30
_PIECE = 1 << 20


@dataclass(frozen=True, slots=True)
class Source:
    """The whole content of a file, and the name that error messages give it."""

    name: str
    suffix: str
    data: bytes

    def text(self) -> str:
        """Return the content as text with plain newlines and without a byte order mark."""
        encoding = "utf-16" if self.data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
        try:
            text = self.data.decode(encoding)
        except UnicodeDecodeError as error:
            line = self.data.count(b"\n", 0, error.start) + 1
            raise FormatError(f"{self.name}, line {line}: expected UTF-8 text") from None
        if "\0" in text:
            raise FormatError(f"{self.name}: expected text, got binary data")
        if "\r" in text:
            text = text.replace("\r\n", "\n").replace("\r", "\n")
        return text

    def lines(self) -> Iterator[tuple[int, str]]:
        """Yield the lines that are not blank, stripped, with their numbers from 1."""
        for number, line in enumerate(io.StringIO(self.text()), 1):
            if stripped := line.strip():
                yield number, stripped

    def at(self, number: int) -> str:
        """Return the name that error messages give a line."""
        return f"{self.name}, line {number}"


def read_source(path: PathOrStream) -> Source:
    """Read a path (`-` is standard input) or an open stream; .gz is unpacked on the way.

    Packed files, pipes, devices and streams are read up to `LARGEST_UNPACKED` bytes.
    """
    place = _resolved(path, sys.stdin, "input")
    if isinstance(place, Path):
        source = _from_path(place)
    else:
        name = "standard input" if place is sys.stdin else getattr(place, "name", None)
        name = name if isinstance(name, str) else "the stream"
        with _unreadable(name):
            # Bytes where possible: npy and npz also arrive through pipes.
            source = Source(name, "", _read_pieces(getattr(place, "buffer", place), name))
    if source.data[:2] == b"\x1f\x8b":
        source = _unzipped(source)
    if not source.data.strip():
        raise FormatError(f"{source.name} is empty; at least one (x, y) pair is needed")
    return source


def write_target(path: PathOrStream, content: str | bytes) -> None:
    """Write to a path (atomically), to standard output (`-`) or to an open stream."""
    place = _resolved(path, sys.stdout, "output")
    if not isinstance(place, Path):
        _to_stream(place, content)
        return
    with atomic_write(place, "wb") as stream:
        stream.write(content.encode() if isinstance(content, str) else content)


def suffix_of(path: PathOrStream) -> str:
    """Return the suffix of a path in lower case, without the dot; '' for streams."""
    if not isinstance(path, (str, os.PathLike)):
        return ""
    return Path(path).suffix.lower().removeprefix(".")


def format_to_write(path: PathOrStream, format: str | None, formats: Sequence[str]) -> str:
    """Return the format to write, by its name or else by the suffix of the path."""
    if format is not None:
        return known_format(format, formats)
    suffix = suffix_of(path)
    if suffix not in formats:
        raise FormatError(
            f"{'the stream' if hasattr(path, 'write') else path}: no known suffix to choose the "
            f"format by; give format= one of {', '.join(formats)}"
        )
    return suffix


def known_format(format: str, formats: Sequence[str]) -> str:
    """Return the name of a format, or refuse an unknown one."""
    if format not in formats:
        raise OptionError(f"format must be one of {', '.join(formats)}, got {format!r}")
    return format


def shorten(text: str) -> str:
    """Return text in quotes, short enough for an error message."""
    return repr(text if len(text) <= 40 else text[:37] + "...")


def too_large(name: str) -> FormatError:
    """Return the error about a source of more than `LARGEST_UNPACKED` bytes."""
    return FormatError(
        f"{name} holds more than {LARGEST_UNPACKED >> 20:,} MiB, the most that is read from "
        "packed files, pipes and devices; give it as a plain file"
    )


def shown(value: Any) -> str:
    """Return any value, however long or deep, as text short enough for an error message."""
    if isinstance(value, str):
        return shorten(value)
    try:
        text = reprlib.repr(value)
    except Exception:  # such as an integer with too many digits
        return f"a value of type {type(value).__name__}"
    return text if len(text) <= 60 else text[:57] + "..."


@contextlib.contextmanager
def reading(name: str) -> Iterator[None]:
    """Turn the errors that only oversized content causes into one sentence."""
    try:
        yield
    except RecursionError:
        raise FormatError(f"{name}: lists or objects are nested too deep") from None
    except MemoryError:
        raise FormatError(f"{name} needs more memory than this machine has") from None


def _resolved(path: PathOrStream, standard: Any, word: str) -> Any:
    """Return the Path, or the open stream, that a caller means; `-` is a standard one."""
    if isinstance(path, (str, os.PathLike)):
        if os.fspath(path) != "-":
            return Path(path)
        path = standard
        if path is None:
            raise FormatError(f"standard {word} is closed")
    if not hasattr(path, "read" if word == "input" else "write"):
        raise FormatError(f"expected a path or an open file, got {type(path).__name__}")
    return path


@contextlib.contextmanager
def _unreadable(name: str) -> Iterator[None]:
    """Say in one sentence why a file or a stream cannot be read."""
    try:
        yield
    except FormatError:
        raise
    except FileNotFoundError:
        raise FormatError(f"{name} does not exist") from None
    except IsADirectoryError:
        raise FormatError(f"{name} is a folder; expected a file") from None
    except MemoryError:
        raise FormatError(f"{name} does not fit into memory") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise FormatError(f"{name} cannot be read: {reason}") from None


def _from_path(path: Path) -> Source:
    with _unreadable(str(path)), open(path, "rb") as stream:
        plain = stat.S_ISREG(os.fstat(stream.fileno()).st_mode)
        data = stream.read() if plain else _read_pieces(stream, str(path))
    unpacked = path.name.lower().removesuffix(".gz")
    return Source(str(path), suffix_of(unpacked), data)


def _unzipped(source: Source) -> Source:
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(source.data)) as stream:
            data = _read_pieces(stream, source.name)
    except (OSError, EOFError, zlib.error):
        raise FormatError(f"{source.name} is a damaged or truncated gzip file") from None
    return replace(source, data=data)


def _read_pieces(stream: Any, name: str) -> bytes:
    """Return everything that a stream of bytes or text holds, unless it is too much."""
    content = io.BytesIO()
    while piece := stream.read(_PIECE):
        if not isinstance(piece, (str, bytes)):
            raise FormatError(f"{name}: expected text or bytes, got {type(piece).__name__}")
        content.write(piece.encode() if isinstance(piece, str) else piece)
        if content.tell() > LARGEST_UNPACKED:
            raise too_large(name)
    return content.getvalue()


def _to_stream(stream: Any, content: str | bytes) -> None:
    if isinstance(content, bytes):
        getattr(stream, "buffer", stream).write(content)
    elif isinstance(stream, io.TextIOBase):
        stream.write(content)
    else:
        try:
            stream.write(content.encode())
        except TypeError:
            stream.write(content)
