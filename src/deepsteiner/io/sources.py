"""Where bytes come from and go to: a path, standard input or output, or an open stream."""

from __future__ import annotations

import gzip
import io
import os
import sys
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from ..core.errors import FormatError
from .atomic import atomic_write

PathOrStream = str | os.PathLike[str] | IO[Any]


@dataclass(frozen=True, slots=True)
class Source:
    """The whole content of a file, with the name that error messages call it by."""

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


def read_source(path: PathOrStream) -> Source:
    """Read a path (`-` is standard input) or an open stream; .gz is unpacked on the way."""
    if hasattr(path, "read"):
        name = getattr(path, "name", None)
        source = _from_stream(path, name if isinstance(name, str) else "the stream")
    elif isinstance(path, (str, os.PathLike)):
        if os.fspath(path) == "-":
            source = _from_stream(sys.stdin, "standard input")
        else:
            source = _from_path(Path(path))
    else:
        raise FormatError(f"expected a path or an open file, got {type(path).__name__}")
    if source.data[:2] == b"\x1f\x8b":
        source = _unzipped(source)
    if not source.data.strip():
        raise FormatError(f"{source.name} is empty; at least one (x, y) pair is needed")
    return source


def write_target(path: PathOrStream, content: str | bytes) -> None:
    """Write to a path (atomically), to standard output (`-`) or to an open stream."""
    if hasattr(path, "write"):
        _to_stream(path, content)
    elif isinstance(path, (str, os.PathLike)):
        if os.fspath(path) == "-":
            _to_stream(sys.stdout, content)
            return
        with atomic_write(path, "wb") as stream:
            stream.write(content.encode() if isinstance(content, str) else content)
    else:
        raise FormatError(f"expected a path or an open file, got {type(path).__name__}")


def suffix_of(path: PathOrStream) -> str:
    """Return the suffix of a path in lower case, without the dot; '' for streams."""
    if not isinstance(path, (str, os.PathLike)):
        return ""
    return Path(path).suffix.lower().removeprefix(".")


def shorten(text: str) -> str:
    """Return text in quotes as it may stand in an error sentence."""
    return repr(text if len(text) <= 40 else text[:37] + "...")


def _from_stream(stream: Any, name: str) -> Source:
    # Bytes where they can be had: npy and npz also arrive through pipes.
    content = getattr(stream, "buffer", stream).read()
    return Source(name, "", content.encode() if isinstance(content, str) else bytes(content))


def _from_path(path: Path) -> Source:
    suffixes = path.name.lower().removesuffix(".gz")
    try:
        return Source(str(path), Path(suffixes).suffix.removeprefix("."), path.read_bytes())
    except FileNotFoundError:
        raise FormatError(f"{path} does not exist") from None
    except IsADirectoryError:
        raise FormatError(f"{path} is a folder; expected a file") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise FormatError(f"{path} cannot be read: {reason}") from None


def _unzipped(source: Source) -> Source:
    try:
        return Source(source.name, source.suffix, gzip.decompress(source.data))
    except (OSError, EOFError, zlib.error):
        raise FormatError(f"{source.name} is a damaged or truncated gzip file") from None


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
