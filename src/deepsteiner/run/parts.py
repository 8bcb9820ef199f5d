"""Solved instances on their way into a `Solutions`: packed parts of a batch, and how they join."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..core.errors import InternalError, TreeError
from ..core.points import FloatArray, IntArray
from ..core.proofs import is_contradicted, report_contradiction, stated_bound
from ..core.solution import STATUSES, Solution
from ..core.solutions import Solutions
from ..core.trees import LENGTH_TOLERANCE, PackedTrees, ranges
from .method import Batch, BatchTrees

Instances = FloatArray | list[FloatArray]
T = TypeVar("T")


@dataclass(frozen=True)
class Part:
    """Some solved instances: their positions in the batch and their packed trees."""

    rows: IntArray
    steiner: FloatArray
    steiner_start: IntArray
    edges: IntArray
    lower_bounds: FloatArray
    status_codes: NDArray[np.int8]
    methods: Sequence[str]
    infos: Sequence[dict[str, Any]] | None = None


def part_of_batch(rows: IntArray, trees: BatchTrees, batch: Batch, method: str) -> Part:
    """Return what a batch kernel found, in the user's coordinates."""
    owner = np.repeat(np.arange(len(rows)), np.diff(trees.steiner_start))
    scale = -batch.exponents.astype(np.int32)
    steiner = np.ldexp(trees.steiner, scale[owner, None]) + batch.shifts[owner]
    bounds = np.full(len(rows), np.nan)
    if trees.lower_bounds is not None:
        bounds = trees.lower_bounds * np.ldexp(1.0, scale)
    codes = np.full(len(rows), STATUSES.index("feasible"), dtype=np.int8)
    if trees.optimal is not None:
        codes[trees.optimal] = STATUSES.index("optimal")
    methods = [trees.method or method] * len(rows)
    return Part(rows, steiner, trees.steiner_start, trees.edges, bounds, codes, methods)


def part_of_solutions(solved: Mapping[int, Solution]) -> Part:
    """Return instances that were solved one by one, given by their positions in the batch."""
    members = list(solved.values())
    counts = [len(solution.steiner_points) for solution in members]
    bounds = [np.nan if one.lower_bound is None else one.lower_bound for one in members]
    return Part(
        np.array(list(solved), dtype=np.int64),
        np.concatenate([np.empty((0, 2)), *(one.steiner_points for one in members)]),
        np.concatenate(([0], np.cumsum(counts, dtype=np.int64))).astype(np.int64),
        np.concatenate([np.empty((0, 2), dtype=np.int64), *(one.edges for one in members)]),
        np.array(bounds, dtype=np.float64),
        np.array([STATUSES.index(one.status) for one in members], dtype=np.int8),
        [one.method for one in members],
        [one.info for one in members],
    )


def part_of_unsolved(rows: IntArray, trees: Solutions) -> Part:
    """Return trees that stand in for instances a stopped batch did not reach."""
    codes = np.full(len(rows), STATUSES.index("interrupted"), dtype=np.int8)
    packed = trees.trees
    return Part(
        rows,
        packed.steiner,
        packed.steiner_start,
        packed.edges,
        trees.lower_bounds,
        codes,
        trees.methods,
    )


def all_rows(parts: Sequence[Part]) -> IntArray:
    """Return the positions of all instances that the parts hold, in order."""
    return np.sort(np.concatenate([np.empty(0, dtype=np.int64), *(part.rows for part in parts)]))


def join(instances: Instances, parts: Sequence[Part], runtime: float) -> Solutions:
    """Return the instances that the parts hold, in the order of the batch, with checked trees."""
    rows = all_rows(parts)
    places = [np.searchsorted(rows, part.rows) for part in parts]
    trees = _pack(*_pack_terminals(instances, rows), parts, places)
    try:
        trees.check()
    except TreeError as error:
        made_by = ", ".join(sorted({name for part in parts for name in part.methods}))
        raise InternalError(f"method {made_by!r} made an invalid tree: {error}") from None
    lengths = trees.lengths()
    bounds, codes = np.empty(len(rows)), np.empty(len(rows), dtype=np.int8)
    for part, place in zip(parts, places, strict=True):
        bounds[place], codes[place] = part.lower_bounds, part.status_codes
    names = _in_order([part.methods for part in parts], places, [""] * len(rows))
    infos = None
    if any(part.infos for part in parts):
        infos = _in_order(
            [part.infos or () for part in parts], places, [dict[str, Any]() for _ in rows]
        )
    bounds, codes = _claims(trees, lengths, bounds, codes, names)
    return Solutions(trees, lengths, bounds, codes, names, runtime, infos=infos)


def _claims(
    trees: PackedTrees,
    lengths: FloatArray,
    bounds: FloatArray,
    codes: NDArray[np.int8],
    names: Sequence[str],
) -> tuple[FloatArray, NDArray[np.int8]]:
    """Return bounds and statuses as they are handed out; see `api.build_solution`."""
    for index in np.flatnonzero(is_contradicted(bounds, lengths)).tolist():
        points = trees.member(index).terminals
        report_contradiction(names[index], points, bounds[index], lengths[index])
        bounds[index] = np.nan
    bounds = stated_bound(bounds, lengths)
    unproven = ~(lengths <= bounds * (1.0 + LENGTH_TOLERANCE))
    withdrawn = unproven & (codes == STATUSES.index("optimal"))
    return bounds, np.where(withdrawn, STATUSES.index("feasible"), codes).astype(np.int8)


def _pack(
    terminals: FloatArray,
    terminal_start: IntArray,
    parts: Sequence[Part],
    places: Sequence[IntArray],
) -> PackedTrees:
    count = len(terminal_start) - 1
    steiner_count = np.empty(count, dtype=np.int64)
    for part, place in zip(parts, places, strict=True):
        steiner_count[place] = np.diff(part.steiner_start)
    steiner_start = np.concatenate(([0], np.cumsum(steiner_count)))
    edge_start = terminal_start + steiner_start - np.arange(count + 1)
    edge_count = np.diff(edge_start)
    steiner = np.empty((int(steiner_start[-1]), 2))
    edges = np.empty((int(edge_start[-1]), 2), dtype=np.int64)
    for part, place in zip(parts, places, strict=True):
        steiner[ranges(steiner_start[place], steiner_count[place])] = part.steiner
        edges[ranges(edge_start[place], edge_count[place])] = part.edges
    for array in (steiner, edges):
        array.flags.writeable = False
    return PackedTrees(terminals, terminal_start, steiner, steiner_start, edges)


def _in_order(
    values: Sequence[Sequence[T]], places: Sequence[IntArray], result: list[T]
) -> tuple[T, ...]:
    """Put the parts' values into their places in the result; a part may have none."""
    for some, place in zip(values, places, strict=True):
        for position, value in zip(place.tolist(), some, strict=bool(some)):
            result[position] = value
    return tuple(result)


def _pack_terminals(instances: Instances, rows: IntArray) -> tuple[FloatArray, IntArray]:
    if isinstance(instances, np.ndarray):
        chosen = instances if len(rows) == len(instances) else instances[rows]
        return chosen.reshape(-1, 2), np.arange(len(rows) + 1, dtype=np.int64) * chosen.shape[1]
    members = [instances[row] for row in rows]
    start = np.concatenate(([0], np.cumsum([len(points) for points in members], dtype=np.int64)))
    return np.concatenate([np.empty((0, 2)), *members]), start.astype(np.int64)
