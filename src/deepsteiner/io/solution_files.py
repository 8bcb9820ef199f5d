"""Solutions in and out: JSON, GeoJSON and csv without loss, and pictures."""

from __future__ import annotations

import io
import json
import math
from collections.abc import Callable, Mapping, Sized
from typing import Any, get_args

import numpy as np

from ..core.errors import FormatError, TreeError
from ..core.points import IntArray, as_points
from ..core.scalars import as_real, as_whole
from ..core.solution import STATUSES, Solution, SolutionFormat
from .export import ARRAYS
from .json_points import MEMBER, parse_json
from .solution_csv import MARK, dict_from_csv, solution_to_csv
from .solution_geojson import dict_from_geojson, solution_to_geojson
from .sources import (
    PathOrStream,
    Source,
    format_to_write,
    read_source,
    reading,
    shorten,
    shown,
    write_target,
)

FORMAT_VERSION = 1
SOLUTION_FORMATS: tuple[SolutionFormat, ...] = get_args(SolutionFormat)
READABLE_FORMATS = ("json", "geojson", "csv")


def _finite(value: Any) -> float | None:
    number = as_real(value)
    return number if number is not None and math.isfinite(number) else None


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _printable(value: Any) -> str | None:
    return value if isinstance(value, str) and value.isprintable() else None


# How the fields that are no arrays are read (None where a value does not fit), and what they take.
READERS: dict[str, tuple[Callable[[Any], Any], str]] = {
    "length": (_finite, "a finite number"),
    "lower_bound": (_finite, "a finite number"),
    "status": (lambda value: value if value in STATUSES else None, f"one of {', '.join(STATUSES)}"),
    "method": (_printable, "printable text"),  # it becomes the title of pictures
    "runtime": (_finite, "a finite number"),
    "crs": (_text, "text"),
    "plane_crs": (_text, "text"),
    "info": (lambda value: dict(value) if isinstance(value, dict) else None, "a dict"),
}
MAY_BE_NONE = ("lower_bound", "crs", "plane_crs")
FIELDS = ("format", "version", *READERS, *ARRAYS)


def solution_to_dict(solution: Solution) -> dict[str, Any]:
    """Return everything as plain values that `json` can write, floats bit for bit.

    Inside `info`, arrays become lists, and numbers that are not finite become None.
    """
    with reading("the solution's info"):
        plain = {field: _plain(getattr(solution, field), field) for field in READERS}
    arrays = {field: getattr(solution, field).tolist() for field in ARRAYS}
    return {"format": MARK, "version": FORMAT_VERSION, **plain, **arrays}


def solution_from_dict(data: Mapping[str, Any]) -> Solution:
    """Rebuild and validate a solution written by `solution_to_dict`; every field must be there."""
    with reading("the solution"):
        return _checked_solution(data, "the solution")


def save_solution(solution: Solution, path: PathOrStream, *, format: str | None = None) -> None:
    """Write the solution; the suffix or `format` decides: json, geojson, csv, svg, png, pdf."""
    name = format_to_write(path, format, SOLUTION_FORMATS)
    write_target(path, _content(solution, name))


def load_solution(path: PathOrStream, *, format: str | None = None) -> Solution:
    """Read and validate a solution saved as json, geojson or csv (`-` is standard input)."""
    return solution_of(read_source(path), format)


def solution_of(source: Source, format: str | None = None) -> Solution:
    """Return the validated solution of a file that was read already."""
    with reading(source.name):
        return _checked_solution(_read_fields(source, format), source.name)


def tree_fields(source: Source) -> dict[str, Any] | None:
    """Return the fields of a tree file as they stand there; None where it holds none."""
    text = source.text()
    if text.startswith(f"# {MARK}"):
        return dict_from_csv(source)
    value = parse_json(text, source.name) if text.lstrip().startswith("{") else None
    if isinstance(value, dict) and value.get("type") == "FeatureCollection":
        return dict_from_geojson(value, source.name)
    return value


def _content(solution: Solution, format: str) -> str | bytes:
    if format in ("png", "pdf"):
        from ..viz.plot import save_figure

        picture = io.BytesIO()
        save_figure(solution, picture, format)
        return picture.getvalue()
    if format == "svg":
        from ..viz.svg import solution_svg

        return solution_svg(solution)
    data = solution_to_dict(solution)
    if format == "csv":
        return solution_to_csv(solution, data)
    if format == "geojson":
        data = solution_to_geojson(solution, data)
    return json.dumps(data, allow_nan=False) + "\n"


def _read_fields(source: Source, format: str | None) -> dict[str, Any]:
    name = format if format is not None else source.suffix
    if name in SOLUTION_FORMATS and name not in READABLE_FORMATS:
        raise FormatError(
            f"{source.name}: pictures are not read back; accepted: {', '.join(READABLE_FORMATS)}"
        )
    text = source.text()
    if name == "csv" or (name not in READABLE_FORMATS and text.startswith("#")):
        if not text.startswith(f"# {MARK}"):
            raise FormatError(f"{source.name}, line 1: expected '# {MARK}: {FORMAT_VERSION}'")
        return dict_from_csv(source)
    value = parse_json(text, source.name)
    if not isinstance(value, dict):
        raise FormatError(f"{source.name}: expected a saved solution, got a JSON list or value")
    if name == "geojson" or MEMBER in value:
        return dict_from_geojson(value, source.name)
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
    terminals = as_points(data["terminals"], what=f"{name}: terminals")
    steiner = data["steiner_points"]
    if not _is_empty(steiner):
        steiner = as_points(steiner, what=f"{name}: steiner_points")
    edges = as_edges(data["edges"])
    if edges is None:
        raise FormatError(f"{name}: edges must be pairs of node numbers")
    values = {field: read(data[field]) for field, (read, _) in READERS.items()}
    for field, value in values.items():
        if value is None and not (data[field] is None and field in MAY_BE_NONE):
            accepted = READERS[field][1]
            raise FormatError(f"{name}: {field!r} must be {accepted}, got {shown(data[field])}")
    if relay_count(values["info"], steiner) is None:
        relays = shown(values["info"]["relays"])
        raise FormatError(f"{name}: info 'relays' must count Steiner points, got {relays}")
    solution = Solution(terminals, steiner, edges, **values)
    try:
        return solution.validate()
    except TreeError as error:
        raise TreeError(f"{name}: {error}") from None


def as_edges(value: Any) -> IntArray | None:
    """Return edges as an (m, 2) array, or None where they are no pairs of whole numbers."""
    if _is_empty(value):
        return np.empty((0, 2), dtype=np.int64)
    try:
        edges = np.asarray(value)
    except (ValueError, TypeError):
        return None
    pairs = edges.ndim == 2 and edges.shape[1] == 2 and edges.dtype.kind in "iu"
    return edges.astype(np.int64) if pairs else None


def relay_count(info: Mapping[str, Any], steiner_points: Sized) -> int | None:
    """Return how many of the last Steiner points are relays; None where that cannot be."""
    relays = as_whole(info.get("relays", 0))
    return relays if relays is not None and 0 <= relays <= len(steiner_points) else None


def _is_empty(value: Any) -> bool:
    return isinstance(value, (list, tuple)) and not value


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
