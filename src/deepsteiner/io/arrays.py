"""Points in numpy's files: npy holds one array, npz several by name."""

from __future__ import annotations

import io
import tokenize
import zipfile
import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.errors import FormatError
from ..core.geo import GeoPoints
from ..core.points import FloatArray, as_batch, as_points
from .sources import Source, shorten

# What numpy raises about damaged files, depending on where the damage is.
DAMAGE = (
    ValueError,
    EOFError,
    OSError,
    KeyError,
    TypeError,
    SyntaxError,
    OverflowError,
    MemoryError,
    RuntimeError,  # encrypted files, and a compression that zipfile does not know
    tokenize.TokenError,
    zlib.error,
    zipfile.BadZipFile,
)


def read_npy(source: Source) -> list[FloatArray]:
    """Read an (n, 2) array as one instance, or a (B, n, 2) array as B instances."""
    return split_instances(_load(source), source.name)


def read_npz(source: Source, key: str | None = None) -> list[FloatArray]:
    """Read the array `key`, or `points`, or the only array.

    Instances of different sizes are stored as all their `points` in one (N, 2) array with their
    `sizes`; `crs`, where present, names the coordinate reference system.
    """
    arrays = read_archive(source, ("points", "sizes", "crs") if key is None else (key, "crs"))
    names = archive_names(source)
    if key is None:
        key = "points" if "points" in names else names[0] if len(names) == 1 else None
    if key is None or key not in names:
        wanted = "an array named 'points'" if key is None else f"an array named {key!r}"
        raise FormatError(
            f"{source.name}: expected {wanted}; it holds {', '.join(names) or 'nothing'}"
        )
    if key not in arrays:
        arrays |= read_archive(source, (key,))
    what = f"{source.name}[{key!r}]"
    if "sizes" in arrays:
        instances = _split_by_sizes(arrays[key], arrays["sizes"], what)
    else:
        instances = split_instances(arrays[key], what)
    if "crs" in arrays:
        crs = str(arrays["crs"])
        return [GeoPoints(points, crs) for points in instances]
    return instances


def archive_names(source: Source) -> list[str]:
    """Return the names of the arrays in an npz file."""
    archive = _load(source)
    if not isinstance(archive, np.lib.npyio.NpzFile):
        raise FormatError(f"{source.name} is not an npz archive of arrays")
    return list(archive.files)


def read_archive(source: Source, names: tuple[str, ...]) -> dict[str, NDArray[Any]]:
    """Return those of the named arrays that an npz file holds."""
    present = [name for name in names if name in archive_names(source)]
    archive = _load(source)
    try:
        return {name: np.asarray(archive[name]) for name in present}
    except DAMAGE as error:
        raise _damaged(source.name, error) from None


def write_npy(instances: list[FloatArray]) -> bytes:
    """Return one instance as (n, 2), or several of one size as (B, n, 2)."""
    if len({len(points) for points in instances}) > 1:
        raise FormatError("npy holds instances of one size only; use npz, jsonl or estein")
    array = np.stack(instances) if len(instances) > 1 else instances[0]
    stream = io.BytesIO()
    np.save(stream, np.asarray(array), allow_pickle=False)
    return stream.getvalue()


def write_npz(instances: list[FloatArray]) -> bytes:
    """Return the instances as `points`, with `sizes` where those differ and `crs` where known."""
    arrays: dict[str, Any] = {}
    sizes = np.array([len(points) for points in instances], dtype=np.int64)
    if len(instances) == 1:
        arrays["points"] = np.asarray(instances[0])
    elif (sizes == sizes[0]).all():
        arrays["points"] = np.stack([np.asarray(points) for points in instances])
    else:
        arrays["points"] = np.concatenate([np.asarray(points) for points in instances])
        arrays["sizes"] = sizes
    crs = getattr(instances[0], "crs", None)
    if crs is not None:
        arrays["crs"] = np.array(crs)
    stream = io.BytesIO()
    np.savez(stream, **arrays)
    return stream.getvalue()


def split_instances(array: Any, what: str) -> list[FloatArray]:
    """Return the instances of an (n, 2) or (B, n, 2) array."""
    if np.ndim(array) != 3:
        return [as_points(array, what=what)]
    try:
        return list(as_batch(np.asarray(array)))
    except ValueError as error:
        raise type(error)(f"{what}: {error}") from None


def _split_by_sizes(points: NDArray[Any], sizes: NDArray[Any], what: str) -> list[FloatArray]:
    checked = as_points(points, what=what)
    if sizes.ndim != 1 or sizes.dtype.kind not in "iu" or (sizes < 1).any():
        raise FormatError(f"{what}: 'sizes' must be a list of whole numbers from 1")
    if int(sizes.sum()) != len(checked):
        raise FormatError(f"{what}: 'sizes' sum to {int(sizes.sum())}, but it has {len(checked)}")
    return np.split(checked, np.cumsum(sizes)[:-1])


def _load(source: Source) -> Any:
    try:
        return np.load(io.BytesIO(source.data), allow_pickle=False)
    except DAMAGE as error:
        raise _damaged(source.name, error) from None


def _damaged(name: str, error: BaseException) -> FormatError:
    if "pickle" in str(error):
        return FormatError(f"{name} holds Python objects, which are not read; save real numbers")
    return FormatError(f"{name} is damaged or truncated ({shorten(str(error))})")
