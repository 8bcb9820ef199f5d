"""Solved instances on their way into a `Solutions`: packed parts of a batch, and how they join."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from ..core.errors import InternalError, TreeError
from ..core.points import Array, FloatArray, IntArray
from ..core.proofs import is_contradicted, report_contradiction, stated_bound
from ..core.solution import STATUSES, Solution
from ..core.solutions import Solutions
from ..core.trees import LENGTH_TOLERANCE, PackedTrees, offsets, ranges
from .method import Batch, BatchTrees

Instances = FloatArray | list[FloatArray]
FEASIBLE, OPTIMAL = STATUSES.index("feasible"), STATUSES.index("optimal")
INTERRUPTED = STATUSES.index("interrupted")


class Part(NamedTuple):
    """Some solved instances.

    Attributes
    ----------
    rows
        Their positions in the batch.
    steiner, steiner_counts
        Their Steiner points, one instance after the other, and how many each has.
    edges
        Their edges, one instance after the other.
    lower_bounds, status_codes, methods, infos
        As in `Solutions`, with None where a method told nothing.
    """

    rows: Array
    steiner: Array
    steiner_counts: Array
    edges: Array
    lower_bounds: Array
    status_codes: Array
    methods: Array
    infos: Array

    def members(self, chosen: Array, sizes: Array) -> Part:
        """Return the instances of a mask; `sizes` are the numbers of terminals of all of them."""
        where = np.flatnonzero(chosen)
        return Part(
            self.rows[where],
            _reordered(self.steiner, self.steiner_counts, where),
            self.steiner_counts[where],
            _reordered(self.edges, sizes + self.steiner_counts - 1, where),
            *(values[where] for values in self[4:]),
        )


def part_of_batch(rows: IntArray, trees: BatchTrees, batch: Batch, method: str) -> Part:
    """Return what a batch kernel found, in the user's coordinates."""
    counts = np.diff(trees.steiner_start)
    owner = np.repeat(np.arange(len(rows)), counts)
    scale = -batch.exponents.astype(np.int32)
    steiner = np.ldexp(trees.steiner, scale[owner, None]) + batch.shifts[owner]
    bounds = np.full(len(rows), np.nan)
    if trees.lower_bounds is not None:
        bounds = trees.lower_bounds * np.ldexp(1.0, scale)
    codes = np.full(len(rows), FEASIBLE, dtype=np.int8)
    if trees.optimal is not None:
        codes[trees.optimal] = OPTIMAL
    methods = np.full(len(rows), trees.method or method, dtype=object)
    infos = np.full(len(rows), None)
    return Part(rows, steiner, counts, trees.edges, bounds, codes, methods, infos)


def part_of_solutions(solved: Mapping[int, Solution]) -> Part:
    """Return instances that were solved one by one, given by their positions in the batch."""
    members = list(solved.values())
    bounds = [np.nan if one.lower_bound is None else one.lower_bound for one in members]
    return Part(
        np.array(list(solved), dtype=np.int64),
        np.concatenate([np.empty((0, 2)), *(one.steiner_points for one in members)]),
        np.array([len(one.steiner_points) for one in members], dtype=np.int64),
        np.concatenate([np.empty((0, 2), dtype=np.int64), *(one.edges for one in members)]),
        np.array(bounds, dtype=np.float64),
        np.array([STATUSES.index(one.status) for one in members], dtype=np.int8),
        np.array([one.method for one in members], dtype=object),
        np.array([one.info for one in members], dtype=object),
    )


def part_of_unsolved(rows: IntArray, spanning: Solutions) -> Part:
    """Return spanning trees that stand in for instances a stopped batch did not reach."""
    trees, codes = spanning.trees, np.full_like(spanning.status_codes, INTERRUPTED)
    methods = np.array(spanning.methods, dtype=object)
    packed = trees.steiner, np.diff(trees.steiner_start), trees.edges
    return Part(rows, *packed, spanning.lower_bounds, codes, methods, np.full(len(rows), None))


def all_rows(parts: Sequence[Part]) -> IntArray:
    """Return the positions of all instances that the parts hold, in order."""
    return np.sort(np.concatenate([part.rows for part in parts]))


def join(instances: Instances, parts: Sequence[Part], runtime: float) -> Solutions:
    """Return the instances that the parts hold, in the order of the batch, with checked trees."""
    whole = Part(*map(np.concatenate, zip(*parts, strict=True)))
    order = np.argsort(whole.rows)
    trees = _packed(instances, whole, order)
    names = tuple(whole.methods[order].tolist())
    try:
        trees.check()
    except TreeError as error:
        made_by = ", ".join(sorted(set(names)))
        raise InternalError(f"method {made_by!r} made an invalid tree: {error}") from None
    lengths = trees.lengths()
    bounds, codes = whole.lower_bounds[order], whole.status_codes[order]
    for index in np.flatnonzero(is_contradicted(bounds, lengths)).tolist():
        points = trees.member(index).terminals
        report_contradiction(names[index], points, bounds[index], lengths[index])
        bounds[index] = np.nan
    # What is handed out as optimal must be so with these very bounds; see `api.build_solution`.
    bounds = stated_bound(bounds, lengths)
    unproven = ~(lengths <= bounds * (1.0 + LENGTH_TOLERANCE))
    codes[unproven & (codes == OPTIMAL)] = FEASIBLE
    infos = whole.infos[order].tolist()
    told = tuple([info or {} for info in infos]) if any(infos) else None
    return Solutions(trees, lengths, bounds, codes, names, runtime, infos=told)


def _packed(instances: Instances, whole: Part, order: IntArray) -> PackedTrees:
    """Return the trees of a part in the order given, which is that of the batch."""
    rows = whole.rows[order]
    if isinstance(instances, np.ndarray):
        chosen = instances if len(rows) == len(instances) else instances[rows]
        terminals = chosen.reshape(-1, 2)
        sizes = np.full(len(rows), chosen.shape[1], dtype=np.int64)
    else:
        members = [instances[row] for row in rows]
        terminals = np.concatenate([np.empty((0, 2)), *members])
        sizes = np.array([len(points) for points in members], dtype=np.int64)
    steiner_counts = whole.steiner_counts[order]
    edge_counts = np.empty_like(sizes)
    edge_counts[order] = sizes + steiner_counts - 1
    steiner = _reordered(whole.steiner, whole.steiner_counts, order)
    edges = _reordered(whole.edges, edge_counts, order).astype(np.int64, copy=False)
    for array in (steiner, edges):
        array.flags.writeable = False
    return PackedTrees(terminals, offsets(sizes), steiner, offsets(steiner_counts), edges)


def _reordered(packed: Array, counts: IntArray, order: IntArray) -> Array:
    """Return packed rows, of which each instance has so many, in another order of instances."""
    return packed[ranges(offsets(counts)[order], counts[order])]
