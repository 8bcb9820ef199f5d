"""Solved instances on their way into a `Solutions`: packed parts of a batch, and how they join."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

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
    whole = _concatenated(parts)
    order = np.argsort(whole.rows)
    trees = _pack(*_pack_terminals(instances, whole.rows[order]), whole, order)
    names = tuple([whole.methods[place] for place in order.tolist()])
    try:
        trees.check()
    except TreeError as error:
        made_by = ", ".join(sorted(set(names)))
        raise InternalError(f"method {made_by!r} made an invalid tree: {error}") from None
    lengths = trees.lengths()
    bounds, codes = whole.lower_bounds[order], whole.status_codes[order]
    bounds, codes = _claims(trees, lengths, bounds, codes, names)
    infos = None
    if whole.infos is not None:
        infos = tuple([whole.infos[place] for place in order.tolist()])
    return Solutions(trees, lengths, bounds, codes, names, runtime, infos=infos)


def _concatenated(parts: Sequence[Part]) -> Part:
    """Return several parts as one, in their order."""
    infos = None
    if any(part.infos for part in parts):
        infos = [info for part in parts for info in part.infos or [{} for _ in part.rows]]
    counts = np.concatenate([np.diff(part.steiner_start) for part in parts])
    return Part(
        np.concatenate([part.rows for part in parts]),
        np.concatenate([part.steiner for part in parts]),
        np.concatenate(([0], np.cumsum(counts))),
        np.concatenate([part.edges for part in parts]),
        np.concatenate([part.lower_bounds for part in parts]),
        np.concatenate([part.status_codes for part in parts]),
        [name for part in parts for name in part.methods],
        infos,
    )


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
    terminals: FloatArray, terminal_start: IntArray, whole: Part, order: IntArray
) -> PackedTrees:
    """Return the trees of a part in another order, over terminals that are in it already."""
    steiner_count = np.diff(whole.steiner_start)[order]
    edge_count = np.diff(terminal_start) + steiner_count - 1
    edge_end = np.empty_like(edge_count)
    edge_end[order] = edge_count
    edge_start = np.cumsum(edge_end)[order] - edge_count
    steiner = whole.steiner[ranges(whole.steiner_start[order], steiner_count)]
    edges = whole.edges[ranges(edge_start, edge_count)].astype(np.int64, copy=False)
    for array in (steiner, edges):
        array.flags.writeable = False
    steiner_start = np.concatenate(([0], np.cumsum(steiner_count)))
    return PackedTrees(terminals, terminal_start, steiner, steiner_start, edges)


def _pack_terminals(instances: Instances, rows: IntArray) -> tuple[FloatArray, IntArray]:
    if isinstance(instances, np.ndarray):
        chosen = instances if len(rows) == len(instances) else instances[rows]
        return chosen.reshape(-1, 2), np.arange(len(rows) + 1, dtype=np.int64) * chosen.shape[1]
    members = [instances[row] for row in rows]
    start = np.concatenate(([0], np.cumsum([len(points) for points in members], dtype=np.int64)))
    return np.concatenate([np.empty((0, 2)), *members]), start.astype(np.int64)
