"""`deepsteiner solve` on streams: JSON lines or Parquet in and out, in bounded memory."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from ..core.errors import FormatError, OptionError
from ..core.solution import Solution
from ..io.streaming import open_writer, same_points, stream_format, stream_instances
from .watch import Watch, say

# A file of lines that is larger is read as a stream without being asked.
LARGEST_WHOLE = 32 << 20


@dataclass(frozen=True)
class Request:
    """What to solve, and where to.

    `name` is how results call the instances; `source` gives them one after the other.
    """

    name: str
    source: Iterator[Any]
    output: str
    resume: bool
    max_edge: float | None = None


@dataclass(frozen=True)
class TilesRequest:
    """One huge instance: its file, the folder for the tree, points to a tile, and the method."""

    files: list[str]
    output: str | None
    tile: int
    method: str


def solve_in_tiles(
    request: TilesRequest, options: dict[str, Any], workers: int, executor: Any, watch: Watch
) -> str:
    """Solve one huge instance in tiles; return the report, which is empty after a stop."""
    from ..fleet.tiles.solve import solve_tiles

    if len(request.files) != 1 or request.output in (None, "-"):
        raise OptionError("--tiles reads one .npy or .parquet file, and -O names a new folder")
    crew = {"workers": workers, "executor": executor, "on_progress": watch}
    tree = solve_tiles(
        request.files[0], str(request.output), request.method, tile=request.tile, **crew, **options
    )
    if tree is None:
        say("stopped before there was a tree, so nothing is written")
        return ""
    return (
        f"{tree.folder}: {tree.points:,} points, {tree.steiner:,} Steiner points, length "
        f"{tree.length:.9g}, {100 * tree.saving:.3f} % shorter than the spanning tree"
    )


@dataclass
class Tally:
    """What a stream came to."""

    before: int = 0
    solved: int = 0
    optimal: int = 0
    total: float = 0.0

    def count(self, solution: Solution) -> None:
        """Count one tree."""
        self.solved += 1
        self.optimal += solution.status == "optimal"
        self.total += solution.length

    def words(self) -> str:
        """Return the report in a line."""
        mean = f", mean length {self.total / self.solved:.6g}" if self.solved else ""
        before = f" after {self.before:,} that were there" if self.before else ""
        return f"{self.solved:,} instances{before}{mean}, {self.optimal:,} proven optimal"


@contextlib.contextmanager
def engine_of(text: str | None, *, quiet: bool) -> Iterator[Any]:
    """Return the executor of an engine, or None where none is asked for; say where to watch it."""
    if text is None:
        yield None
        return
    from ..fleet.engines import open_engine

    with open_engine(text) as engine:
        if not quiet:
            page = f", {engine.dashboard}" if engine.dashboard else ""
            say(f"engine: {engine.words}{page}")
        yield engine.executor


def is_stream(files: list[str], output: str | None, asked: bool) -> bool:
    """Return whether to solve as a stream: if asked, for Parquet, and for large files."""
    if asked or (output is not None and output != "-" and stream_format(output) == "parquet"):
        return True
    formats = [stream_format(file) for file in files if file != "-"]
    if "parquet" in formats:
        return True
    return formats == ["jsonl"] and output is not None and _size(files[0]) > LARGEST_WHOLE


def stream_source(
    files: list[str] | None,
    name: str | None,
    path: str | None,
    count: int | None,
    split: str,
    seed: int,
    n: int | None,
) -> tuple[str, Iterator[Any]]:
    """Return the name and the instances of the file or dataset to stream."""
    if files and len(files) == 1 and name is None and path is None:
        return ("stdin" if files[0] == "-" else files[0]), iter(stream_instances(files[0]))
    if files or (name is None and path is None):
        raise OptionError(
            "a stream reads one file, JSON lines or Parquet (- is standard input), or --dataset"
        )
    from .. import datasets

    whole = name or str(path)
    data = datasets.load(
        whole, count=count, split=datasets.check_split(split), seed=seed, n=n, path=path
    )
    return whole, iter(data)


def refuse_for_streams(what: str, given: Mapping[str, Any]) -> None:
    """Say which option does not go with a stream, or with tiles."""
    for name, value in given.items():
        if value:
            raise OptionError(f"{what} goes without {name}")


def check_output(output: str | None, as_json: bool) -> str:
    """Return where a stream goes to, or say what it needs."""
    if output is None and not as_json:
        raise OptionError("a stream needs -O FILE.jsonl, -O FOLDER.parquet, -O - or --json")
    path = "-" if output is None else output
    if path != "-" and (stream_format(path) is None or path.endswith(".gz")):
        raise FormatError(f"{path}: streams are written as .jsonl or .parquet")
    return path


def solve_to_writer(
    request: Request, call: Mapping[str, Any], workers: int, executor: Any, watch: Watch
) -> Tally:
    """Solve and write chunk after chunk; whatever ends it, whole results are kept."""
    from ..fleet.chunks import Call
    from ..fleet.stream import solve_chunks

    writer = open_writer(request.output, request.resume)
    tally = Tally(before=writer.count)
    try:
        _skip(request, writer.count, writer.last)
        chunks = solve_chunks(
            request.source, Call(**call), workers, executor, watch, first=writer.count
        )
        for solutions in chunks:
            named = [
                _finished(one, f"{request.name}[{number}]", request.max_edge)
                for number, one in enumerate(solutions, writer.count)
            ]
            writer.write(named)
            for one in named:
                tally.count(one)
    finally:
        writer.close()
    return tally


def _finished(solution: Solution, name: str, max_edge: float | None) -> Solution:
    if max_edge is not None:
        solution = solution.with_max_edge(max_edge)
    return replace(solution, info={**solution.info, "instance": name})


def _skip(request: Request, count: int, last: Any) -> None:
    """Leave out what is already written, if it is of the same instances."""
    if count == 0:
        return
    points = next(islice(request.source, count - 1, None), None)
    if points is None:
        raise FormatError(f"{request.output} has {count} solutions, more than {request.name}")
    if not same_points(points, last):
        raise FormatError(
            f"{request.output} does not continue {request.name}: instance {count - 1} has other "
            "points than the solution there"
        )


def _size(file: str) -> int:
    try:
        return os.path.getsize(file)
    except OSError:
        return 0
