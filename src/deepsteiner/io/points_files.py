"""Points in and out: one front door for every format."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..core.errors import FormatError, OptionError, PointsError
from ..core.geo import GeoPoints
from ..core.points import FloatArray, as_points
from .arrays import ZIP_STARTS, read_npy, read_npz, write_npy, write_npz
from .json_points import read_json, read_jsonl, write_geojson, write_json, write_jsonl
from .orlib import looks_like_estein, read_estein, write_estein
from .sources import PathOrStream, Source, read_source, reading, suffix_of, write_target
from .steinlib import MAGIC, read_stp, write_stp
from .tables import read_table, write_table
from .tsplib import read_tsp, write_tsp

POINT_FORMATS = (
    "csv",
    "tsv",
    "txt",
    "json",
    "jsonl",
    "npy",
    "npz",
    "geojson",
    "estein",
    "stp",
    "tsp",
)
# Suffixes that name a format under another name; "" means that the content decides.
SUFFIXES = {
    **{name: name for name in POINT_FORMATS},
    "tab": "tsv",
    "ndjson": "jsonl",
    "txt": "",
    "dat": "",
    "xy": "",
    "": "",
}
HOLDS_MANY = ("json", "jsonl", "npy", "npz", "estein")
HOLDS_CRS = ("csv", "tsv", "txt", "json", "jsonl", "npz", "geojson")
SOLUTION_MARK = "# deepsteiner-solution"


def load_points(
    path: PathOrStream, *, key: str | int | None = None, format: str | None = None
) -> FloatArray:
    """Read one instance as an (n, 2) array.

    The suffix decides the format (csv, tsv, txt, json, jsonl, npy, npz, geojson, stp, tsp, each
    also with .gz), or the content where it does not; `format` overrides both. `-` is standard
    input. `key` names an array of an npz file or a member of a JSON object; a number picks one
    instance of a file with several. Longitudes and latitudes come back as `GeoPoints`.

    Plain files may have any size. What comes packed (.gz, npz), through a pipe or from a device is
    read up to 1 GiB (1,024 MiB) unpacked, which is 67 million points in binary.
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
    """Read all instances of a file as a list of (n, 2) arrays."""
    return instances_of(read_source(path), key, format)


def save_points(points: Any, path: PathOrStream, format: str | None = None) -> None:
    """Write one instance, or several in a format that holds them, so that they read back exactly.

    The suffix decides, or `format`: csv, tsv, txt, json, jsonl, npy, npz, geojson, estein, stp,
    tsp. `-` is standard output.
    """
    instances = _as_instances(points)
    name = _format_to_write(path, format, len(instances))
    if len(instances) > 1 and name not in HOLDS_MANY:
        raise FormatError(
            f"{name} holds one instance, got {len(instances)}; use {', '.join(HOLDS_MANY)}"
        )
    systems = {getattr(one, "crs", None) for one in instances}
    if systems != {None} and name not in HOLDS_CRS:
        raise FormatError(
            f"{name} cannot say that the points are geographic; use {', '.join(HOLDS_CRS)}"
        )
    if len(systems) > 1 and name != "jsonl":
        raise FormatError(f"the instances have different coordinate systems; {name} holds one")
    write_target(path, _WRITERS[name](instances))


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
        return _read(source, key, format)


def _read(source: Source, key: str | None, format: str | None) -> list[FloatArray]:
    name = _check_format(format) if format is not None else SUFFIXES.get(source.suffix)
    if name is None:
        raise FormatError(
            f"{source.name}: the suffix .{source.suffix} is not known; accepted: "
            f"{', '.join(POINT_FORMATS)}"
        )
    if name == "":
        name = sniff_format(source)
    if key is not None and name not in ("npz", "json", "jsonl"):
        raise OptionError(f"{source.name}: key= names an array of npz or json, not of {name}")
    if name == "npz":
        return read_npz(source, key)
    if name in ("json", "geojson"):
        return read_json(source, key)
    if name == "jsonl":
        return read_jsonl(source, key)
    if name in ("csv", "tsv", "txt") and _is_solution_table(source):
        from .solution_files import solution_terminals

        return [solution_terminals(source.text(), source.name)]
    return _READERS[name](source)


def _is_solution_table(source: Source) -> bool:
    return SOLUTION_MARK.encode() in source.data[: len(SOLUTION_MARK) + 3]


_READERS: dict[str, Callable[[Source], list[FloatArray]]] = {
    "csv": read_table,
    "tsv": read_table,
    "txt": read_table,
    "npy": read_npy,
    "estein": read_estein,
    "stp": read_stp,
    "tsp": read_tsp,
}

_WRITERS: dict[str, Callable[[list[FloatArray]], str | bytes]] = {
    "csv": lambda instances: write_table(instances[0], ",", header=True),
    "tsv": lambda instances: write_table(instances[0], "\t", header=True),
    "txt": lambda instances: write_table(instances[0], " ", header=False),
    "json": write_json,
    "jsonl": write_jsonl,
    "npy": write_npy,
    "npz": write_npz,
    "geojson": lambda instances: write_geojson(instances[0]),
    "estein": write_estein,
    "stp": lambda instances: write_stp(instances[0]),
    "tsp": lambda instances: write_tsp(instances[0]),
}


def _check_format(format: str) -> str:
    if format not in POINT_FORMATS:
        raise OptionError(f"format must be one of {', '.join(POINT_FORMATS)}, got {format!r}")
    return format


def _format_to_write(path: PathOrStream, format: str | None, count: int) -> str:
    if format is not None:
        return _check_format(format)
    suffix = suffix_of(path)
    name = SUFFIXES.get(suffix)
    if not suffix or name is None:
        raise FormatError(
            f"{'the stream' if hasattr(path, 'write') else path}: no known suffix to choose the "
            f"format by; give format= one of {', '.join(POINT_FORMATS)}"
        )
    if name == "":
        return "estein" if count > 1 else "txt"
    return name


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
