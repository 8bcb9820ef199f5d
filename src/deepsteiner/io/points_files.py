"""Reading and writing points, in every format."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..core.errors import FormatError, OptionError, PointsError
from ..core.geo import GeoPoints
from ..core.points import FloatArray, as_points
from .arrays import ZIP_STARTS, read_npy, read_npz, write_npy, write_npz
from .json_points import read_json, read_jsonl, write_geojson, write_json, write_jsonl
from .orlib import looks_like_estein, read_estein, write_estein
from .solution_csv import MARK, dict_from_csv
from .sources import (
    PathOrStream,
    Source,
    format_to_write,
    known_format,
    read_source,
    reading,
    suffix_of,
    write_target,
)
from .steinlib import MAGIC, read_stp, write_stp
from .tables import read_table, write_table
from .text import terminals_of
from .tsplib import read_tsp, write_tsp


class Format(NamedTuple):
    """How a format is read and written, and what it can hold."""

    read: Callable[..., list[FloatArray]]
    write: Callable[[list[FloatArray]], str | bytes]
    many: bool = False  # several instances
    crs: bool = False  # a coordinate reference system
    named: bool = False  # several arrays or members, of which `key` names one


def _first(write: Callable[..., str], *settings: Any) -> Callable[[list[FloatArray]], str]:
    """Return a writer for formats that hold one instance."""
    return lambda instances: write(instances[0], *settings)


FORMATS = {
    "csv": Format(read_table, _first(write_table, ","), crs=True),
    "tsv": Format(read_table, _first(write_table, "\t"), crs=True),
    "txt": Format(read_table, _first(write_table, " ", False), crs=True),
    "json": Format(read_json, write_json, many=True, crs=True, named=True),
    "jsonl": Format(read_jsonl, write_jsonl, many=True, crs=True, named=True),
    "npy": Format(read_npy, write_npy, many=True),
    "npz": Format(read_npz, write_npz, many=True, crs=True, named=True),
    "geojson": Format(read_json, _first(write_geojson), crs=True),
    "estein": Format(read_estein, write_estein, many=True),
    "stp": Format(read_stp, _first(write_stp)),
    "tsp": Format(read_tsp, _first(write_tsp)),
}
POINT_FORMATS = tuple(FORMATS)
# Suffixes that name a format under another name; "" means that the content decides.
ALIASES = {"tab": "tsv", "ndjson": "jsonl", "txt": "", "dat": "", "xy": "", "": ""}
SOLUTION_MARK = f"# {MARK}".encode()


def load_points(
    path: PathOrStream, *, key: str | int | None = None, format: str | None = None
) -> FloatArray:
    r"""Read one instance of points.

    Parameters
    ----------
    path
        A path, "-" for standard input, or an open stream of text or bytes. Files ending in .gz
        are unpacked.
    key
        The name of an array in an npz file or of a member of a JSON object, or the number of one
        instance, from 0, in a file with several.
    format
        One of csv, tsv, txt, json, jsonl, npy, npz, geojson, estein, stp and tsp. Without it the
        suffix of the path decides, or the content where the suffix does not say.

    Returns
    -------
    ndarray
        The points, (n, 2) float64. Points that come with a coordinate reference system, such as
        longitudes and latitudes, are `GeoPoints`, which `solve` projects.

    Raises
    ------
    FormatError
        If the file cannot be read, is not in its format, or holds several instances and `key`
        does not pick one. The sentence names the file and the line.
    PointsError
        If the coordinates are not finite pairs of numbers.
    OptionError
        If `format` or `key` does not fit the file.

    Notes
    -----
    Plain files may have any size. Packed files (.gz, npz), pipes and devices are read up to
    1 GiB (1,024 MiB) unpacked, which is 67 million points in binary.

    Examples
    --------
    >>> import io
    >>> load_points(io.StringIO("x,y\n0,0\n3,4\n"))
    array([[0., 0.],
           [3., 4.]])
    >>> load_points(io.StringIO('{"sites": [[1, 2]], "name": "pumps"}'), key="sites")
    array([[1., 2.]])
    """
    name = key if isinstance(key, str) else None
    source = read_source(path)
    instances = instances_of(source, name, format)
    if isinstance(key, (int, np.integer)) and not isinstance(key, bool):
        if not 0 <= key < len(instances):
            raise OptionError(f"{source.name} holds {len(instances)} instances; there is no {key}")
        return instances[key]
    if len(instances) != 1:
        raise FormatError(
            f"{source.name} holds {len(instances)} instances, expected one; load_instances reads "
            "them all, key= picks one by its number"
        )
    return instances[0]


def load_instances(
    path: PathOrStream, *, key: str | None = None, format: str | None = None
) -> list[FloatArray]:
    """Read all instances of a file.

    Parameters
    ----------
    path
        A path, "-" for standard input, or an open stream, as `load_points` takes it.
    key
        The name of an array in an npz file or of a member of a JSON object.
    format
        The format, where the suffix and the content do not say or should not decide.

    Returns
    -------
    list of ndarray
        One (n, 2) float64 array for each instance, in the order of the file.

    Raises
    ------
    FormatError, PointsError, OptionError
        As `load_points` does, except that several instances are welcome.

    Examples
    --------
    >>> import io
    >>> lines = io.StringIO("[[0, 0], [1, 0]]\\n[[0, 0], [1, 0], [0, 1]]\\n")
    >>> [len(points) for points in load_instances(lines)]
    [2, 3]
    """
    return instances_of(read_source(path), key, format)


def save_points(points: Any, path: PathOrStream, format: str | None = None) -> None:
    """Write one instance, or several, so that they read back bit for bit.

    Parameters
    ----------
    points
        One instance, (n, 2), or several: a (B, n, 2) array or a list of (n, 2) arrays. `GeoPoints`
        keep their coordinate reference system.
    path
        A path, "-" for standard output, or an open stream. A file appears whole or not at all.
    format
        One of csv, tsv, txt, json, jsonl, npy, npz, geojson, estein, stp and tsp. Without it the
        suffix of the path decides.

    Raises
    ------
    PointsError
        If the points are not finite pairs of numbers.
    FormatError
        If the file cannot be written, or its format cannot hold several instances or a coordinate
        reference system. The sentence names those that can.
    OptionError
        If there is no such format.

    Examples
    --------
    >>> import io
    >>> stream = io.StringIO()
    >>> save_points([[0, 0], [3, 4]], stream, format="csv")
    >>> print(stream.getvalue(), end="")
    x,y
    0.0,0.0
    3.0,4.0
    """
    instances = _as_instances(points)
    name = _format_to_write(path, format, len(instances))
    systems = {getattr(one, "crs", None) for one in instances}
    if len(instances) > 1 and not FORMATS[name].many:
        raise FormatError(
            f"{name} holds one instance, got {len(instances)}; use {_formats_with('many')}"
        )
    if systems != {None} and not FORMATS[name].crs:
        raise FormatError(
            f"{name} cannot say that the points are geographic; use {_formats_with('crs')}"
        )
    if len(systems) > 1 and name != "jsonl":
        raise FormatError(f"the instances have different coordinate systems; {name} holds one")
    write_target(path, FORMATS[name].write(instances))


def _formats_with(feature: str) -> str:
    return ", ".join(name for name, format in FORMATS.items() if getattr(format, feature))


def sniff_format(source: Source) -> str:
    """Return the format that the content announces."""
    head = source.data[:8]
    if head.startswith(b"\x93NUMPY"):
        return "npy"
    if head.startswith(ZIP_STARTS):
        return "npz"
    text = source.text().lstrip()
    if text.startswith(("{", "[")):
        return _sniff_json(text)
    if text[: len(MAGIC)].upper() == MAGIC:
        return "stp"
    if "NODE_COORD_SECTION" in text[:100_000] or "EDGE_WEIGHT_TYPE" in text[:100_000]:
        return "tsp"
    return "estein" if looks_like_estein(text) else "csv"


def _sniff_json(text: str) -> str:
    """Several lines that each begin an object, or a list of lists, are JSON lines."""
    first, _, rest = text.partition("\n")
    whole = first.rstrip().endswith(("}", "]")) and rest.lstrip().startswith(("{", "["))
    return "jsonl" if whole else "json"


def instances_of(
    source: Source, key: str | None = None, format: str | None = None
) -> list[FloatArray]:
    """Return all instances of a file that was read already."""
    with reading(source.name):
        name = ALIASES.get(source.suffix, source.suffix) if format is None else format
        if format is not None:
            known_format(format, POINT_FORMATS)
        elif name == "":
            name = sniff_format(source)
        elif name not in FORMATS:
            raise FormatError(
                f"{source.name}: the suffix .{source.suffix} is not known; accepted: "
                f"{', '.join(POINT_FORMATS)}"
            )
        if key is not None:
            if not FORMATS[name].named:
                raise OptionError(
                    f"{source.name}: key= names an array of npz or json, not of {name}"
                )
            return FORMATS[name].read(source, key)
        if FORMATS[name].read is read_table and holds_solution_table(source):
            return [terminals_of(dict_from_csv(source), source.name)]
        return FORMATS[name].read(source)


def holds_solution_table(source: Source) -> bool:
    """Tell whether a file is a solution as csv, perhaps after a byte order mark."""
    return SOLUTION_MARK in source.data[: len(SOLUTION_MARK) + 3]


def _format_to_write(path: PathOrStream, format: str | None, count: int) -> str:
    suffix = suffix_of(path)
    if format is None and suffix and suffix in ALIASES:
        return ALIASES[suffix] or ("estein" if count > 1 else "txt")
    return format_to_write(path, format, POINT_FORMATS)


def _as_instances(points: Any) -> list[FloatArray]:
    if isinstance(points, np.ndarray):
        several = points.ndim == 3
    else:
        points = list(points) if hasattr(points, "__iter__") else points
        several = isinstance(points, list) and bool(points) and _is_instance(points[0])
    if not several:
        return [_checked(points, "points")]
    if not len(points):
        raise PointsError("no instances given; at least one is needed")
    return [_checked(one, f"instance {index}") for index, one in enumerate(points)]


def _is_instance(value: Any) -> bool:
    if isinstance(value, np.ndarray):
        return value.ndim == 2
    return isinstance(value, (list, tuple)) and bool(value) and hasattr(value[0], "__len__")


def _checked(points: Any, what: str) -> FloatArray:
    checked = as_points(points, what=what)
    crs = getattr(points, "crs", None)
    return checked if crs is None else GeoPoints(checked, crs)
