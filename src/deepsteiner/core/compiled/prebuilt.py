"""Kernels that came with the package: one file that holds those of a wheel.

The file has a head in JSON, which says what the kernels were made for and from and lists them, and
then their code. Head and kernels carry digests. Where the head does not fit this interpreter,
numba, processor or source, none is used; where a kernel is damaged, that one is compiled.
"""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from .sources import PACKAGE, unchanged

_log = logging.getLogger(__name__)

FOLDER = PACKAGE / "prebuilt"
MARK = b"deepsteiner prebuilt kernels 1\n"


@dataclass(frozen=True)
class Entry:
    """One kernel for one signature: where its code lies, and how long compiling it took."""

    kernel: str
    signature: str
    offset: int
    size: int
    sha256: str
    seconds: float = 0.0


class Prebuilt:
    """The kernels of one file, of which the head alone has been read."""

    def __init__(self, path: Path, head: Mapping[str, Any], start: int) -> None:
        self._path, self._start = path, start
        self.target: dict[str, Any] = dict(head["target"])
        self.sources: dict[str, str] = dict(head["sources"])
        self.entries = [Entry(**entry) for entry in head["entries"]]
        self._known = {(entry.kernel, entry.signature): entry for entry in self.entries}

    def read(self, kernel: str, signature: str) -> bytes | None:
        """Return the code of a kernel; None where it is not there or damaged."""
        entry = self._known.get((kernel, signature))
        if entry is None:
            return None
        try:
            with open(self._path, "rb") as stream:
                stream.seek(self._start + entry.offset)
                payload = stream.read(entry.size)
        except OSError:
            payload = b""
        if hashlib.sha256(payload).hexdigest() != entry.sha256:
            _log.debug("prebuilt %s is damaged, and is compiled anew", kernel)
            return None
        return payload


def misfit(prebuilt: Prebuilt, target: Mapping[str, Any], can_run: Callable[[str], bool]) -> str:
    """Return why kernels cannot be used here, in a few words; nothing where they can."""
    for name, wanted in target.items():
        made_for = prebuilt.target.get(name)
        if made_for != wanted:
            return f"made for {name} {made_for}, here is {wanted}"
    missing = [name for name in prebuilt.target["features"] if not can_run(name)]
    if missing:
        return f"this processor lacks {', '.join(missing)}"
    return "" if unchanged(prebuilt.sources) else "the sources of kernels have changed"


def found_files() -> list[Path]:
    """Return the files of prebuilt kernels that this installation has."""
    return sorted(FOLDER.glob("*.kernels"))


def open_file(path: Path) -> Prebuilt | None:
    """Return the kernels in a file; None where its head is damaged."""
    try:
        with open(path, "rb") as stream:
            if stream.readline() != MARK:
                return None
            digest, size = stream.readline().split()
            head = stream.read(int(size))
            if hashlib.sha256(head).hexdigest().encode() != digest:
                return None
            return Prebuilt(path, json.loads(head), stream.tell())
    except (OSError, ValueError, KeyError, TypeError):
        return None


def write_file(
    path: Path,
    target: Mapping[str, Any],
    sources: Mapping[str, str],
    kernels: Iterable[tuple[str, str, float, bytes]],
) -> None:
    """Write kernels, given as (kernel, signature, seconds, code), to one file."""
    entries, parts, offset = [], [], 0
    for kernel, signature, seconds, code in sorted(kernels):
        digest = hashlib.sha256(code).hexdigest()
        entries.append(Entry(kernel, signature, offset, len(code), digest, seconds))
        parts.append(code)
        offset += len(code)
    listed = [asdict(entry) for entry in entries]
    head = json.dumps({"target": target, "sources": sources, "entries": listed}).encode()
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "wb") as stream:
        stream.write(MARK + f"{hashlib.sha256(head).hexdigest()} {len(head)}\n".encode() + head)
        stream.writelines(parts)
