"""Points in numpy's files: npy holds one array, npz (a zip archive) several by name.

The files are read here rather than by numpy, which reserves whatever memory a header claims and
unpacks whatever an archive holds.
"""

from __future__ import annotations

import contextlib
import io
import math
import warnings
import zipfile
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.errors import FormatError, InputError
from ..core.geo import GeoPoints
from ..core.points import FloatArray, as_batch, as_points
from .sources import LARGEST_UNPACKED, Source, shorten, shown, too_large

ZIP_STARTS = (b"PK\x03\x04", b"PK\x05\x06")


class Archive:
    """The arrays of an npz file by name, unpacked one by one, up to a stated size in all."""

    def __init__(self, source: Source) -> None:
        if not source.data.startswith(ZIP_STARTS):
            raise FormatError(f"{source.name} is not an npz archive of arrays")
        self._source = source
        with _damage(source.name):
            self._zip = zipfile.ZipFile(io.BytesIO(source.data))
        self._members: dict[str, zipfile.ZipInfo] = {}
        for member in self._zip.infolist():
            name = member.filename.removesuffix(".npy")
            if name in self._members:
                raise FormatError(f"{source.name} holds the array {shorten(name)} twice")
            self._members[name] = member
        # A large archive may hold as much as its own size, since that needs no compression.
        self._room = max(LARGEST_UNPACKED, len(source.data))

    @property
    def names(self) -> list[str]:
        """The names of the arrays."""
        return list(self._members)

    def read(self, *names: str) -> dict[str, NDArray[Any]]:
        """Return those of the named arrays that the file holds."""
        return {name: self._read(name) for name in names if name in self._members}

    def _read(self, name: str) -> NDArray[Any]:
        member = self._members[name]
        self._room -= member.file_size
        if self._room < 0:
            raise too_large(self._source.name)
        with _damage(self._source.name):
            if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                raise ValueError("packed in a way that numpy does not use")
            with self._zip.open(member) as stream:
                # Without a limit, zipfile unpacks everything before it checks the stated size.
                content = stream.read(member.file_size)
        return parse_npy(content, f"{self._source.name}[{name!r}]")


@contextlib.contextmanager
def _damage(name: str) -> Iterator[None]:
    """Say in one sentence that a file is damaged.

    Depending on where the damage is, numpy and zipfile raise anything: KeyError, SyntaxError,
    tokenize.TokenError, zlib.error, RuntimeError (encrypted files), MemoryError and more.
    """
    try:
        yield
    except FormatError:
        raise
    except Exception as error:
        raise FormatError(f"{name} is damaged or truncated ({shorten(str(error))})") from None


def parse_npy(content: bytes, name: str) -> NDArray[Any]:
    """Return the array of an npy file's content, which must be as long as its header says."""
    stream = io.BytesIO(content)
    with _damage(name):
        shape, by_columns, dtype = _read_header(stream)
        if dtype.hasobject:
            raise FormatError(f"{name} holds Python objects, which are not read; save real numbers")
        stated, present = dtype.itemsize * math.prod(shape), len(content) - stream.tell()
        if dtype.itemsize == 0 or min(shape, default=0) < 0 or stated != present:
            raise FormatError(
                f"{name} is damaged or truncated: its header says {shape} of {dtype}, and "
                f"{present} bytes follow"
            )
        flat = np.frombuffer(memoryview(content)[stream.tell() :], dtype)
        return flat.reshape(shape, order="F" if by_columns else "C")


def _read_header(stream: io.BytesIO) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    version = np.lib.format.read_magic(stream)
    if version not in ((1, 0), (2, 0)):  # 3.0 is for records with names outside Latin-1
        raise ValueError(f"npy version {version}")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about files that Python 2 wrote, which are fine
        if version == (1, 0):
            return np.lib.format.read_array_header_1_0(stream)
        return np.lib.format.read_array_header_2_0(stream)


def read_npy(source: Source) -> list[FloatArray]:
    """Read an (n, 2) array as one instance, or a (B, n, 2) array as B instances."""
    return split_instances(parse_npy(source.data, source.name), source.name)


def read_npz(source: Source, key: str | None = None) -> list[FloatArray]:
    """Read the array `key`, or `points`, or the only array.

    Instances of different sizes are stored as all their `points` in one (N, 2) array with their
    `sizes`; `crs`, where present, names the coordinate reference system.
    """
    archive = Archive(source)
    names = archive.names
    chosen = key
    if chosen is None:
        chosen = names[0] if len(names) == 1 else "points"
    if chosen not in names:
        held = ", ".join(map(shorten, names[:8])) or "nothing"
        raise FormatError(
            f"{source.name}: expected an array named {shorten(chosen)}; it holds {held}"
        )
    arrays = archive.read(chosen, "crs", *(() if key else ("sizes",)))
    what = f"{source.name}[{chosen!r}]"
    if "sizes" in arrays:
        instances = _split_by_sizes(arrays[chosen], arrays["sizes"], what)
    else:
        instances = split_instances(arrays[chosen], what)
    if "crs" in arrays:
        crs = as_text(arrays["crs"], f"{source.name}['crs']")
        return [GeoPoints(points, crs) for points in instances]
    return instances


def write_npy(instances: list[FloatArray]) -> bytes:
    """Return one instance as (n, 2), or several of one size as (B, n, 2)."""
    if len({len(points) for points in instances}) > 1:
        raise FormatError("npy holds instances of one size only; use npz, jsonl or estein")
    stream = io.BytesIO()
    np.save(stream, _joined(instances), allow_pickle=False)
    return stream.getvalue()


def write_npz(instances: list[FloatArray]) -> bytes:
    """Return the instances as `points`, with `sizes` where those differ and `crs` where known."""
    sizes = np.array([len(points) for points in instances])
    arrays: dict[str, Any] = {"points": _joined(instances)}
    if (sizes != sizes[0]).any():
        arrays["sizes"] = sizes
    crs = getattr(instances[0], "crs", None)
    if crs is not None:
        arrays["crs"] = np.array(crs)
    stream = io.BytesIO()
    np.savez(stream, **arrays)
    return stream.getvalue()


def _joined(instances: list[FloatArray]) -> FloatArray:
    """Return (n, 2) for one instance, (B, n, 2) for several of one size, or else all points."""
    plain = [np.asarray(points) for points in instances]
    if len(plain) == 1:
        return plain[0]
    return (np.stack if len({len(points) for points in plain}) == 1 else np.concatenate)(plain)


def split_instances(array: Any, what: str) -> list[FloatArray]:
    """Return the instances of an (n, 2) or (B, n, 2) array."""
    if np.ndim(array) != 3:
        return [as_points(array, what=what)]
    try:
        return list(as_batch(np.asarray(array)))
    except InputError as error:
        raise type(error)(f"{what}: {error}") from None


def as_text(array: NDArray[Any], what: str) -> str:
    """Return the string that an array without dimensions holds."""
    try:
        if array.ndim == 0 and array.dtype.kind == "U":
            return str(array.item())
    except (ValueError, SystemError):  # the bytes are not characters
        pass
    raise FormatError(f"{what} must be a single string")


def _split_by_sizes(points: NDArray[Any], sizes: NDArray[Any], what: str) -> list[FloatArray]:
    checked = as_points(points, what=what)
    if sizes.ndim != 1 or sizes.dtype.kind not in "iu" or (sizes < 1).any():
        raise FormatError(f"{what}: 'sizes' must be a list of whole numbers from 1")
    total = sum(sizes.tolist())  # in integers of Python, which do not overflow
    if total != len(checked):
        raise FormatError(f"{what}: 'sizes' sum to {shown(total)}, but it has {len(checked)}")
    return np.split(checked, np.cumsum(sizes.astype(np.int64))[:-1])
