"""What a kernel is compiled from: its module and all that the module imports from this package.

numba looks at a kernel's own file alone, and keeps serving what it compiled when a function that
the kernel calls has changed in another file. Stamps over all files that matter do not.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[2]

# How kernels are kept, which does not change what they are.
_KEEPER = PACKAGE / "core" / "jit.py"
# Imports of kernel modules are relative ones at the top level.
_IMPORT = re.compile(rb"^from[ ](\.+)([\w.]*)[ ]import[ ](\([^)]*\)|[^\n]*)", re.MULTILINE)
_COMMENT = re.compile(rb"#[^\n]*")
_NAME = re.compile(rb"(\w+)(?:\s+as\s+\w+)?")


def stamp_of(module: str) -> str:
    """Return a digest of all sources that kernels of a module are compiled from."""
    start = PACKAGE.joinpath(*module.split(".")[1:]).with_suffix(".py")
    return total({_name(path): digest(path) for path in reached(start)})


def kernel_sources() -> dict[str, str]:
    """Return the digests of all files that any kernel of the package is compiled from."""
    found: set[Path] = set()
    for path in PACKAGE.rglob("*_kernels.py"):
        found |= reached(path)
    return {_name(path): digest(path) for path in found}


def unchanged(sources: Mapping[str, str]) -> bool:
    """Return whether the files are still those of which `kernel_sources` took the digests."""
    try:
        return all(digest(PACKAGE / name) == known for name, known in sources.items())
    except OSError:
        return False


def total(sources: Mapping[str, str]) -> str:
    """Return one digest for those of some files."""
    listed = "\n".join(f"{name} {known}" for name, known in sorted(sources.items()))
    return hashlib.sha256(listed.encode()).hexdigest()


@cache  # a process uses what it has imported, even when the file changes meanwhile
def digest(path: Path) -> str:
    """Return the digest of a source file."""
    return hashlib.sha256(_content(path)).hexdigest()


@cache
def reached(start: Path) -> frozenset[Path]:
    """Return a module's file and those of all modules of this package that it needs."""
    found, left = {start}, [start]
    while left:
        for path in _imported(left.pop()):
            if path not in found:
                found.add(path)
                left.append(path)
    return frozenset(found)


@cache
def _imported(path: Path) -> list[Path]:
    return [one for one in _candidates(path) if one != _KEEPER and one.is_file()]


def _candidates(path: Path) -> Iterator[Path]:
    """Yield the files that the imports of a module may mean, whether they are there or not."""
    for dots, name, names in _IMPORT.findall(_content(path)):
        folder = path.parents[len(dots) - 1]
        base = folder.joinpath(*name.decode().split(".")) if name else folder
        if not base.is_dir():
            yield base.with_suffix(".py")
            continue
        yield base / "__init__.py"
        for inner in _NAME.findall(_COMMENT.sub(b"", names)):
            yield base / f"{inner.decode()}.py"


@cache
def _content(path: Path) -> bytes:
    return path.read_bytes()


def _name(path: Path) -> str:
    return path.relative_to(PACKAGE).as_posix()
