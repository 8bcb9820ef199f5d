"""The cache of compiled kernels: one file for each kernel and signature.

A file begins with the digest of the rest, so a truncated or damaged one counts as absent. Its
content says what it was made for and from; one that does not fit is written anew. Since every
signature has a file of its own and files appear whole, any number of processes can share a folder
(numba's index files, which list the signatures of a function, lose entries to a second writer).
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import IO

from ..errors import DeepSteinerError
from ..folders import can_write, made_ours, own_temporary_folder, user_cache
from .sources import PACKAGE

_log = logging.getLogger(__name__)

MARK = b"deepsteiner kernel 1\n"
SUFFIX = ".kernel"
LONGEST_WAIT = 300.0  # seconds for a kernel that another process says it compiles
_DIGEST_SIZE = hashlib.sha256().digest_size


@cache
def default_folder() -> Path | None:
    """Return where compiled kernels are kept; None where there is no place for them.

    Beside the sources, or where that folder is read-only in the user's cache, or in the system's
    temporary directory.

    Cached kernels are programs, so it matters who can write them. What lies beside the sources is
    trusted like the sources. The other two must belong to this user.
    """
    if can_write(PACKAGE / "__pycache__"):
        return PACKAGE / "__pycache__"
    if user_cache_serves():
        return user_cache() / "deepsteiner" / "kernels"
    try:
        return own_temporary_folder()
    except DeepSteinerError:
        return None


def user_cache_serves() -> bool:
    """Return whether our folder there can be used; every level must be this user's."""
    base = user_cache()  # relative where this user has no home: no place to keep things
    levels = (base, base / "deepsteiner", base / "deepsteiner" / "kernels")
    return base.is_absolute() and all(made_ours(level) for level in levels)


def file_name(kernel: str, signature: str, target: str) -> str:
    """Return the name of the file for a kernel (module.function) compiled for a target."""
    mixed = hashlib.sha256(f"{kernel}\n{signature}\n{target}".encode()).hexdigest()
    tag = sys.implementation.cache_tag
    return f"{kernel.rpartition('.')[2]}-{mixed[:20]}.{tag}{SUFFIX}"


def read(folder: Path | None, name: str, stamp: str) -> bytes | None:
    """Return what was kept under a name for the same stamp; None where there is no such thing."""
    if folder is None:
        return None
    try:
        content = (folder / name).read_bytes()
    except OSError:
        return None
    start = len(MARK) + _DIGEST_SIZE
    known, whole = content[len(MARK) : start], content[start:]
    if not content.startswith(MARK) or hashlib.sha256(whole).digest() != known:
        _log.debug("%s is damaged, and its kernel is compiled anew", name)
        return None
    made_from, _, rest = whole.partition(b"\n")
    return rest.partition(b"\n")[2] if made_from == stamp.encode() else None


def write(folder: Path | None, name: str, stamp: str, kernel: str, payload: bytes) -> None:
    """Keep a kernel under a name; where that fails, this process goes on without."""
    if folder is None:
        return
    whole = f"{stamp}\n{kernel}\n".encode() + payload
    with contextlib.suppress(OSError):  # a full disk, say
        folder.mkdir(parents=True, exist_ok=True)
        descriptor, passing = tempfile.mkstemp(dir=folder, prefix=name, suffix=".part")
        try:
            with open(descriptor, "wb") as stream:
                stream.write(MARK + hashlib.sha256(whole).digest() + whole)
            os.replace(passing, folder / name)
        except BaseException:
            os.unlink(passing)
            raise


def kept(folder: Path | None) -> Iterator[tuple[str, str]]:
    """Yield the kernel of each file in a folder, and the stamp that it was kept with."""
    for path in [] if folder is None else sorted(folder.glob(f"*{SUFFIX}")):
        with contextlib.suppress(OSError, ValueError), open(path, "rb") as stream:
            if stream.readline() == MARK:
                stream.seek(_DIGEST_SIZE, os.SEEK_CUR)
                stamp, kernel = stream.readline(), stream.readline()
                yield kernel.decode().rstrip("\n"), stamp.decode().rstrip("\n")


class Turn:
    """The right to compile a kernel while other processes wait for it, which ends with a process.

    Where a system has no such locks, two processes may compile the same kernel, and both keep it.
    """

    def __init__(self) -> None:
        self._stream: IO[bytes] | None = None

    def take(self, folder: Path | None, name: str) -> bool:
        """Wait for the turn to compile what is kept under a name; return whether others had it."""
        self.end()
        waited = False
        if folder is None:
            return waited
        try:
            import fcntl

            folder.mkdir(parents=True, exist_ok=True)
            self._stream = open(folder / f"{name}.lock", "wb")  # noqa: SIM115 (held on purpose)
            began = time.monotonic()
            while True:
                try:
                    fcntl.flock(self._stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    return waited
                except BlockingIOError:
                    waited = True
                    if time.monotonic() - began > LONGEST_WAIT:  # it may have been suspended
                        raise
                time.sleep(0.02)
        except (ImportError, OSError):
            self._let_go()
        return waited

    def __del__(self) -> None:
        self.end()

    def end(self) -> None:
        """Let others have it."""
        if self._stream is not None:
            with contextlib.suppress(OSError):
                os.unlink(self._stream.name)
            self._let_go()

    def _let_go(self) -> None:
        if self._stream is not None:
            self._stream.close()
            self._stream = None
