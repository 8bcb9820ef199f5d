"""Solutions in and out: JSON, GeoJSON and csv without loss, and pictures."""

from __future__ import annotations

import io
import json
import math
import os
from collections.abc import Mapping
from typing import Any, get_args

import numpy as np

from ..core.errors import FormatError, OptionError, TreeError
from ..core.geo import GeoPoints
from ..core.points import FloatArray, IntArray, as_points
from ..core.scalars import as_real, as_whole
from ..core.solution import STATUSES, Solution, SolutionFormat
from .atomic import atomic_write
from .export import solution_to_geojson
from .json_points import MEMBER, parse_json
from .solution_csv import MARK, dict_from_csv, solution_to_csv
from .solution_geojson import dict_from_geojson
from .sources import (
    PathOrStream,
    Source,
    read_source,
    reading,
    shorten,
    shown,
    suffix_of,
    write_target,
)

FORMAT_VERSION = 1
SOLUTION_FORMATS: tuple[SolutionFormat, ...] = get_args(SolutionFormat)
READABLE_FORMATS = ("json", "geojson", "csv")
FIELDS = (
    "format",
    "version",
    "length",
    "lower_bound",
    "status",
    "method",
    "runtime",
    "crs",
    "plane_crs",
    "info",
    "terminals",
    "steiner_points",
    "edges",
)


def solution_to_dict(solution: Solution) -> dict[str, Any]:
    """Return everything as plain values that `json` can write, floats bit for bit.

    Inside `info`, arrays become lists, and numbers that are not finite become None.
    """
    with reading("the solution's info"):
        info = _plain(solution.info, "info")
    return {
        "format": MARK,
        "version": FORMAT_VERSION,
        "length": float(solution.length),
        "lower_bound": None if solution.lower_bound is None else float(solution.lower_bound),
        "status": solution.status,
        "method": solution.method,
        "runtime": float(solution.runtime),
        "crs": solution.crs,
        "plane_crs": solution.plane_crs,
        "info": info,
        "terminals": solution.terminals.tolist(),
        "steiner_points": solution.steiner_points.tolist(),
        "edges": solution.edges.tolist(),
    }


def solution_from_dict(data: Mapping[str, Any]) -> Solution:
    """Rebuild and validate a solution written by `solution_to_dict`; every field must be there."""
    with reading("the solution"):
        return _checked_solution(data, "the solution")


def save_solution(solution: Solution, path: PathOrStream, *, format: str | None = None) -> None:
    """Write the solution; the suffix or `format` decides: json, geojson, csv, svg, png, pdf."""
    name = _format_to_write(path, format)
    if name in ("png", "pdf"):
        _save_picture(solution, path, name)
    elif name == "svg":
        from ..viz.svg import solution_svg

        write_target(path, solution_svg(solution))
    else:
        write_target(path, _as_text(solution, name))


def load_solution(path: PathOrStream, *, format: str | None = None) -> Solution:
    """Read and validate a solution saved as json, geojson or csv (`-` is standard input)."""
    return solution_of(read_source(path), format)


def solution_of(source: Source, format: str | None = None) -> Solution:
    """Return the validated solution of a file that was read already."""
    with reading(source.name):
        return _checked_solution(_read_dict(source, format), source.name)


def solution_terminals(content: dict[str, Any] | str, name: str) -> FloatArray:
    """Return only the terminals of a solution saved as GeoJSON (parsed) or csv (text)."""
    if isinstance(content, str):
        data = dict_from_csv(content, name)
    else:
        data = dict_from_geojson(content, name)
    terminals = as_points(data["terminals"], what=name)
    crs = data.get("crs")
    return terminals if crs is None else GeoPoints(terminals, crs)


def _as_text(solution: Solution, name: str) -> str:
    if name == "csv":
        return solution_to_csv(solution, solution_to_dict(solution))
    value = solution_to_geojson(solution) if name == "geojson" else solution_to_dict(solution)
    return json.dumps(value, allow_nan=False) + "\n"


def _save_picture(solution: Solution, path: PathOrStream, name: str) -> None:
    from ..viz.plot import save_figure

    if isinstance(path, (str, os.PathLike)) and os.fspath(path) != "-":
        with atomic_write(path, "wb") as stream:
            save_figure(solution, stream, name)
        return
    picture = io.BytesIO()
    save_figure(solution, picture, name)
    write_target(path, picture.getvalue())


def _format_to_write(path: PathOrStream, format: str | None) -> str:
    if format is not None:
        if format not in SOLUTION_FORMATS:
            raise OptionError(
                f"format must be one of {', '.join(SOLUTION_FORMATS)}, got {format!r}"
            )
        return format
    suffix = suffix_of(path)
    if suffix not in SOLUTION_FORMATS:
        what = "the stream" if hasattr(path, "write") else path
        raise FormatError(
            f"{what}: no known suffix to choose the format by; accepted: "
            f"{', '.join(SOLUTION_FORMATS)}"
        )
    return suffix


def _read_dict(source: Source, format: str | None) -> dict[str, Any]:
    name = format if format is not None else source.suffix
    if name in SOLUTION_FORMATS and name not in READABLE_FORMATS:
        raise FormatError(
            f"{source.name}: pictures are not read back; accepted: {', '.join(READABLE_FORMATS)}"
        )
    text = source.text()
    if name == "csv" or (name not in READABLE_FORMATS and text.startswith("#")):
        if not text.startswith(f"# {MARK}"):
            raise FormatError(f"{source.name}, line 1: expected '# {MARK}: {FORMAT_VERSION}'")
        return dict_from_csv(text, source.name)
    value = parse_json(text, source.name)
    if isinstance(value, dict) and (name == "geojson" or MEMBER in value):
        return dict_from_geojson(value, source.name)
    if not isinstance(value, dict):
        raise FormatError(f"{source.name}: expected a saved solution, got a JSON list or value")
    return value


def _checked_solution(data: Any, name: str) -> Solution:
    if not isinstance(data, Mapping):
        raise FormatError(f"{name}: expected an object, got {type(data).__name__}")
    if data.get("format") != MARK:
        raise FormatError(f"{name}: 'format' must be {MARK!r}, got {shown(data.get('format'))}")
    if data.get("version") != FORMAT_VERSION:
        raise FormatError(
            f"{name}: 'version' must be {FORMAT_VERSION}, got {shown(data.get('version'))}; "
            "a newer deepsteiner may read it"
        )
    missing = [field for field in FIELDS if field not in data]
    unknown = [shorten(str(field)) for field in data if field not in FIELDS][:8]
    if missing or unknown:
        problem = "missing" if missing else "unknown"
        raise FormatError(f"{name}: {problem} fields: {', '.join(missing or unknown)}")
    solution = Solution(
        *_arrays(data, name),
        length=_real(data, "length", name),
        lower_bound=None if data["lower_bound"] is None else _real(data, "lower_bound", name),
        status=_one_of(data, "status", STATUSES, name),
        method=_method(data, name),
        runtime=_real(data, "runtime", name),
        info=dict(_typed(data, "info", dict, name)),
        crs=None if data["crs"] is None else _typed(data, "crs", str, name),
        plane_crs=None if data["plane_crs"] is None else _typed(data, "plane_crs", str, name),
    )
    relays = solution.info.get("relays", 0)
    count = as_whole(relays)
    if count is None or not 0 <= count <= len(solution.steiner_points):
        raise FormatError(f"{name}: info 'relays' must count Steiner points, got {shown(relays)}")
    try:
        return solution.validate()
    except TreeError as error:
        raise TreeError(f"{name}: {error}") from None


def _arrays(data: Mapping[str, Any], name: str) -> tuple[FloatArray, FloatArray, IntArray]:
    terminals = as_points(data["terminals"], what=f"{name}: terminals")
    steiner = np.empty((0, 2))
    if not _is_empty(data["steiner_points"]):
        steiner = as_points(data["steiner_points"], what=f"{name}: steiner_points")
    edges = np.empty((0, 2), dtype=np.int64)
    if not _is_empty(data["edges"]):
        edges = _edges(data["edges"], name)
    return terminals, steiner, edges


def _edges(value: Any, name: str) -> IntArray:
    try:
        edges = np.asarray(value)
    except (ValueError, TypeError):
        edges = np.empty(0)
    if edges.ndim != 2 or edges.shape[1] != 2 or edges.dtype.kind not in "iu":
        raise FormatError(f"{name}: edges must be pairs of node numbers")
    return edges.astype(np.int64)


def _is_empty(value: Any) -> bool:
    return isinstance(value, (list, tuple)) and not value


def _real(data: Mapping[str, Any], field: str, name: str) -> float:
    value = as_real(data[field])
    if value is None or not math.isfinite(value):
        raise FormatError(f"{name}: {field!r} must be a finite number, got {shown(data[field])}")
    return value


def _typed(data: Mapping[str, Any], field: str, kind: type, name: str) -> Any:
    if not isinstance(data[field], kind):
        raise FormatError(f"{name}: {field!r} must be a {kind.__name__}, got {shown(data[field])}")
    return data[field]


def _method(data: Mapping[str, Any], name: str) -> str:
    method = str(_typed(data, "method", str, name))
    if not method.isprintable():  # it becomes the title of pictures
        raise FormatError(f"{name}: 'method' must be printable text, got {shown(method)}")
    return method


def _one_of(data: Mapping[str, Any], field: str, choices: tuple[Any, ...], name: str) -> Any:
    if data[field] not in choices:
        raise FormatError(
            f"{name}: {field!r} must be one of {', '.join(choices)}, got {shown(data[field])}"
        )
    return data[field]


def _plain(value: Any, where: str) -> Any:
    if isinstance(value, np.ndarray):
        value = value.tolist()
    elif isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): _plain(item, f"{where}[{key!r}]") for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item, where) for item in value]
    raise FormatError(f"{where} holds a {type(value).__name__}, which cannot be written as JSON")
