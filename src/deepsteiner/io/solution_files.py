"""Reading and writing solutions: JSON, GeoJSON and csv without loss, and pictures."""

from __future__ import annotations

import io
import json
import math
from collections.abc import Callable, Mapping, Sized
from typing import Any, get_args

import numpy as np

from ..core.errors import FormatError, OptionError, TreeError
from ..core.points import IntArray, as_points
from ..core.scalars import as_real, as_whole
from ..core.solution import STATUSES, Solution, SolutionFormat
from ..core.surroundings.existing import as_existing
from ..core.surroundings.obstacles import as_obstacles, as_weights
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
from .terminal_hash import (
    attached_edges,
    check_stamp,
    detached_edges,
    places_of,
    points_needed,
    stamp_of,
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
# Only where there are obstacles, or existing networks.
MORE_FIELDS = ("bends", "obstacles", "joints", "existing", "regions", "weights")


def solution_to_dict(solution: Solution) -> dict[str, Any]:
    """Return a solution as plain values that `json` can write, floats bit for bit.

    Parameters
    ----------
    solution
        The solution.

    Returns
    -------
    dict
        All fields, and the name and version of the format. Arrays become lists; inside `info`,
        numbers that are not finite become None.

    Raises
    ------
    FormatError
        If `info` holds something that JSON cannot express.

    Examples
    --------
    >>> import deepsteiner as ds
    >>> data = solution_to_dict(ds.solve([[0, 0], [3, 4]], "mst"))
    >>> data["length"], data["edges"]
    (5.0, [[0, 1]])
    """
    with reading("the solution's info"):
        plain = {field: _plain(getattr(solution, field), field) for field in READERS}
    arrays = {field: getattr(solution, field).tolist() for field in ARRAYS}
    if solution.obstacles or solution.regions or len(solution.bends):
        arrays["bends"] = solution.bends.tolist()
        arrays["obstacles"] = [[ring.tolist() for ring in one] for one in solution.obstacles]
    if solution.existing or len(solution.joints):
        arrays["joints"] = solution.joints.tolist()
        arrays["existing"] = [one.plain() for one in solution.existing]
    if solution.regions:
        arrays["regions"] = [[ring.tolist() for ring in one] for one in solution.regions]
        arrays["weights"] = list(solution.weights)
    return {"format": MARK, "version": FORMAT_VERSION, **plain, **arrays}


def solution_from_dict(data: Mapping[str, Any]) -> Solution:
    """Rebuild a solution from what `solution_to_dict` returned, and validate it.

    Parameters
    ----------
    data
        The fields; none may be missing, and none may be unknown.

    Returns
    -------
    Solution
        The solution, equal to the original bit for bit.

    Raises
    ------
    FormatError
        If a field is missing or unknown, or has a value it cannot have.
    PointsError, TreeError
        If the points cannot be used, or the edges are not the tree they claim to be.

    Examples
    --------
    >>> import deepsteiner as ds
    >>> data = solution_to_dict(ds.solve([[0, 0], [3, 4]], "mst"))
    >>> solution_from_dict(data).length
    5.0
    """
    with reading("the solution"):
        return _checked_solution(data, "the solution")


def save_solution(
    solution: Solution, path: PathOrStream, *, format: str | None = None, terminals: bool = True
) -> None:
    """Write a solution to a file.

    Parameters
    ----------
    solution
        The solution.
    path
        A path, "-" for standard output, or an open stream. A file appears whole or not at all.
    format
        "json", "geojson" and "csv" can be read back by `load_solution`; "svg", "png" and "pdf"
        are pictures. Without it the suffix of the path decides.
    terminals
        False leaves the points out, of json only: their number and a hash stand in their place,
        and `load_solution` wants the points themselves. `io/terminal_hash.py` defines the hash,
        for which neither the order of the points matters nor that some are given twice.

    Raises
    ------
    FormatError
        If the file cannot be written, or its suffix names no format.
    OptionError
        If there is no such format, or if it cannot do without the terminals.
    TreeError
        If the terminals are to be left out, but the tree joins equal ones through other nodes.

    Examples
    --------
    >>> import io
    >>> import deepsteiner as ds
    >>> stream = io.StringIO()
    >>> save_solution(ds.solve([[0, 0], [3, 4]], "mst"), stream, format="csv")
    >>> print(*stream.getvalue().splitlines()[-4:], sep="\\n")
    kind,id,x,y,from,to,length
    terminal,0,0.0,0.0,,,
    terminal,1,3.0,4.0,,,
    edge,0,,,0,1,5.0
    """
    name = format_to_write(path, format, SOLUTION_FORMATS)
    if not terminals:
        if name != "json":
            raise OptionError(f"only json can be saved without terminals, not {name}")
        text = json.dumps(_detached(solution), allow_nan=False, separators=(",", ":"))
        write_target(path, text + "\n")
    elif name in ("png", "pdf"):
        write_picture(solution, path, name)
    else:
        write_target(path, _as_text(solution, name))


def load_solution(path: PathOrStream, *, format: str | None = None, points: Any = None) -> Solution:
    """Read a solution that `save_solution` wrote, and validate it.

    Parameters
    ----------
    path
        A path, "-" for standard input, or an open stream.
    format
        "json", "geojson" or "csv". Without it the suffix of the path decides, or the content.
    points
        The terminals, for a file that has only their hash; in any order, and some may be given
        twice. They become the terminals of the solution as they are. A file with terminals must
        have the same ones.

    Returns
    -------
    Solution
        The solution, equal to the one that was saved bit for bit; without terminals in the file,
        its edges may come in another order.

    Raises
    ------
    FormatError
        If the file cannot be read, is not a saved solution, or has no terminals and no points are
        given.
    PointsError, TreeError
        If the points cannot be used or are other points, or if the edges are not the tree they
        claim to be.

    Examples
    --------
    >>> import io
    >>> import deepsteiner as ds
    >>> stream = io.BytesIO()
    >>> save_solution(ds.solve([[0, 0], [3, 4]], "mst"), stream, format="json")
    >>> load_solution(io.BytesIO(stream.getvalue())).length
    5.0
    """
    return solution_of(read_source(path), format, points)


def solution_of(source: Source, format: str | None = None, points: Any = None) -> Solution:
    """Return the validated solution of a file that was read already."""
    with reading(source.name):
        return _checked_solution(_read_fields(source, format), source.name, points)


def tree_fields(source: Source) -> dict[str, Any] | None:
    """Return the fields of a tree file as they stand there; None where it holds none."""
    text = source.text()
    if text.startswith(f"# {MARK}"):
        return dict_from_csv(source)
    value = parse_json(text, source.name) if text.lstrip().startswith("{") else None
    if isinstance(value, dict) and value.get("type") == "FeatureCollection":
        return dict_from_geojson(value, source.name)
    return value


def with_terminals(data: Mapping[str, Any], points: Any, name: str) -> Mapping[str, Any]:
    """Return the fields of a tree with its terminals: those of the file, or else the points.

    Points that are given must be the terminals either way.
    """
    stated = stamp_of(data.get("terminals"), name)
    if points is None and stated is not None:
        raise points_needed(stated, name)
    if points is None:
        return data
    places = places_of(points)
    own = stated or places_of(as_points(data["terminals"], what=f"{name}: terminals")).stamp
    try:
        check_stamp(own, places)
    except TreeError as error:
        raise TreeError(f"{name}: {error}") from None
    if stated is None:
        return data
    edges = as_edges(data["edges"])
    # What is wrong with edges is said by whoever checks the tree.
    moved = data["edges"] if edges is None else attached_edges(edges, places)
    return {**data, "terminals": as_points(points), "edges": moved}


def write_picture(drawn: Any, path: PathOrStream, format: str) -> None:
    """Write a solution's picture, or a figure, as png, pdf or svg by matplotlib."""
    from ..viz.plot import save_figure

    picture = io.BytesIO()
    save_figure(drawn, picture, format)
    write_target(path, picture.getvalue())


def _detached(solution: Solution) -> dict[str, Any]:
    places = places_of(solution.terminals)
    edges = detached_edges(solution.edges, places).tolist()
    return {**solution_to_dict(solution), "terminals": places.stamp, "edges": edges}


def _as_text(solution: Solution, format: str) -> str:
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


def _checked_solution(data: Any, name: str, points: Any = None) -> Solution:
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
    known = FIELDS + MORE_FIELDS
    unknown = [shorten(str(field)) for field in data if field not in known][:8]
    if missing or unknown:
        problem = "missing" if missing else "unknown"
        raise FormatError(f"{name}: {problem} fields: {', '.join(missing or unknown)}")
    data = with_terminals(data, points, name)
    terminals = as_points(data["terminals"], what=f"{name}: terminals")
    steiner = data["steiner_points"]
    if not _is_empty(steiner):
        steiner = as_points(steiner, what=f"{name}: steiner_points")
    bends, joints = (_more_nodes(data, field, name) for field in ("bends", "joints"))
    obstacles = as_obstacles(data.get("obstacles", []), name)
    existing = as_existing(data.get("existing", []), name)
    regions = as_obstacles(data.get("regions", []), name, "regions")
    weights = as_weights(data.get("weights", []), len(regions), name)
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
    solution = Solution(
        terminals, steiner, edges, **values, bends=bends, obstacles=obstacles, joints=joints,
        existing=existing, regions=regions, weights=weights,
    )  # fmt: skip
    try:
        return solution.validate()
    except TreeError as error:
        raise TreeError(f"{name}: {error}") from None


def _more_nodes(data: Mapping[str, Any], field: str, name: str) -> Any:
    """Return the bends or joints of a file."""
    nodes = data.get(field, [])
    return nodes if _is_empty(nodes) else as_points(nodes, what=f"{name}: {field}")


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
