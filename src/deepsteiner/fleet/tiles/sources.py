"""Where the points of a huge instance come from: an array, npy, Parquet or GeoParquet."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from ...core.errors import FormatError, PointsError
from ...core.points import LARGEST_COORDINATE, FloatArray
from ...io.streaming.parquet import open_parquet, parts_of

_BATCH = 1 << 17
# A point in well-known binary: byte order, type 1, and two coordinates.
_WKB = np.dtype([("order", "u1"), ("type", "<u4"), ("x", "<f8"), ("y", "<f8")])


def mapped_points(points: Any, folder: Path) -> FloatArray:
    """Return (n, 2) points, mapped from a file where they are not an array; they are checked.

    Parquet is copied into the folder once, row group by row group.
    """
    if isinstance(points, (str, os.PathLike)):
        name = os.fspath(points)
        found = _from_parquet(name, folder) if name.endswith(".parquet") else _from_npy(name)
    else:
        name, found = "points", np.asarray(points)
    if found.ndim != 2 or found.shape[1] != 2 or found.dtype.kind not in "iuf":
        raise PointsError(f"{name} must be an (n, 2) array of real numbers, got {found.shape}")
    if len(found) == 0:
        raise PointsError(f"{name}: no points given; at least one (x, y) pair is needed")
    for first in range(0, len(found), _BATCH):
        part = found[first : first + _BATCH]
        bad = ~(np.abs(part) <= LARGEST_COORDINATE).all(axis=1)
        if bad.any():
            row = int(np.argmax(bad))
            raise PointsError(f"{name}: point {first + row} is {tuple(part[row].tolist())}")
    checked: FloatArray = found
    return checked


def _from_npy(name: str) -> Any:
    if not name.endswith(".npy"):
        raise FormatError(f"{name}: expected .npy or .parquet for an instance in tiles")
    try:
        return np.load(name, mmap_mode="r", allow_pickle=False)
    except FileNotFoundError:
        raise FormatError(f"{name} does not exist") from None
    except (OSError, ValueError) as error:
        raise FormatError(f"{name} cannot be read: {error}") from None


def _from_parquet(name: str, folder: Path) -> Any:
    files = parts_of(name)
    total = 0
    for part in files:
        with open_parquet(part) as file:
            total += file.metadata.num_rows
    target = np.lib.format.open_memmap(
        folder / "points.npy", mode="w+", dtype=np.float64, shape=(total, 2)
    )
    at = 0
    for part in files:
        for pairs in _batches(part):
            target[at : at + len(pairs)] = pairs
            at += len(pairs)
    target.flush()
    return np.load(folder / "points.npy", mmap_mode="r")


def _batches(part: Path) -> Iterator[FloatArray]:
    """Yield the points of a Parquet file: columns x and y, or a geometry of projected points."""
    with open_parquet(part) as file:
        names = file.schema_arrow.names
        if {"x", "y"} <= set(names):
            for batch in file.iter_batches(_BATCH, columns=["x", "y"]):
                # The order of the columns is the file's.
                columns = [batch.column(name) for name in ("x", "y")]
                if any(column.null_count for column in columns):
                    raise PointsError(f"{part}: a point has no coordinate")
                yield np.stack(
                    [column.to_numpy(zero_copy_only=False) for column in columns], axis=1
                ).astype(np.float64)
            return
        column = _geometry(part, file)
        for batch in file.iter_batches(_BATCH, columns=[column]):
            yield _decoded(batch.column(0), part)


def _geometry(part: Path, file: Any) -> str:
    """Return the geometry column of a GeoParquet file, or say why it cannot be used."""
    stated = (file.schema_arrow.metadata or {}).get(b"geo")
    if stated is None:
        raise FormatError(f"{part}: expected columns x and y, or GeoParquet")
    geo = json.loads(stated)
    name = str(geo["primary_column"])
    column = geo["columns"][name]
    crs = column.get("crs")
    if not isinstance(crs, dict) or crs.get("type") != "ProjectedCRS":
        raise PointsError(f"{part}: the points are geographic; project them to a plane first")
    if column.get("encoding") != "WKB":
        raise FormatError(f"{part}: expected geometries as WKB, got {column.get('encoding')!r}")
    return name


def _decoded(column: Any, part: Path) -> FloatArray:
    values = column.to_pylist()
    if not all(isinstance(one, bytes) and len(one) == _WKB.itemsize for one in values):
        raise PointsError(f"{part}: expected a point in every row")
    found = np.frombuffer(b"".join(values), dtype=_WKB)
    if not ((found["order"] == 1) & (found["type"] == 1)).all():
        raise PointsError(f"{part}: expected a point in every row")
    return np.stack((found["x"], found["y"]), axis=1)
