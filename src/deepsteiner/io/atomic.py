"""Files appear whole or not at all: write under a temporary name, then rename."""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from ..core.errors import FormatError


@contextlib.contextmanager
def atomic_write(
    path: str | os.PathLike[str], mode: str = "w", *, sync: bool = False
) -> Iterator[IO[Any]]:
    """Open a file to write that replaces `path` only when all went well.

    Whatever interrupts the block, the old file stays as it was and nothing else is left behind.
    Devices and pipes are written directly.

    Parameters
    ----------
    path
        Where the file is to appear.
    mode
        "w" for text in UTF-8, "wb" for bytes.
    sync
        Wait until the bytes are on the disk.

    Yields
    ------
    file object
        The stream to write to.

    Raises
    ------
    FormatError
        If the file cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "notes.txt"
    ...     with atomic_write(path) as stream:
    ...         written = stream.write("all or nothing")
    ...     path.read_text()
    'all or nothing'
    """
    try:
        target = Path(os.path.realpath(path))
    except ValueError as error:  # a zero byte in the name
        raise FormatError(f"{os.fspath(path)!r} cannot be written: {error}") from None
    try:
        if target.exists() and not stat.S_ISREG(target.stat().st_mode):
            with _open(target, mode) as stream:
                yield stream
            return
        temporary = target.with_name(f".{secrets.token_hex(8)}.tmp")
        try:
            with _open(temporary, mode.replace("w", "x")) as stream:
                yield stream
                stream.flush()
                if sync:
                    os.fsync(stream.fileno())
            if target.exists():
                os.chmod(temporary, stat.S_IMODE(target.stat().st_mode))
            os.replace(temporary, target)
        finally:
            temporary.unlink(missing_ok=True)
    except OSError as error:
        raise FormatError(
            f"{os.fspath(path)} cannot be written: {error.strerror or error}"
        ) from error


def check_can_write(path: str | os.PathLike[str]) -> None:
    """Refuse a path that cannot be written, before the work whose result is to go there."""
    target = Path(path)
    if target.is_dir():
        raise FormatError(f"{target} is a folder; expected the name of a file to write")
    folder = target.parent
    if not folder.is_dir():
        raise FormatError(f"{target} cannot be written: the folder {folder} does not exist")
    if not os.access(folder, os.W_OK):
        raise FormatError(f"{target} cannot be written: the folder {folder} is not writable")


def _open(path: Path, mode: str) -> IO[Any]:
    if "b" in mode:
        return open(path, mode)
    return open(path, mode, encoding="utf-8", newline="\n")
