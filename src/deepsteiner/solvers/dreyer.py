"""`dreyer`: Dreyer and Overton's two heuristics.

D. R. Dreyer and M. L. Overton, "Two heuristics for the Euclidean Steiner tree problem", Journal of
Global Optimization 13 (1998) 95-106, doi:10.1023/A:1008285504599. Both rest on the best positions
of Steiner points for a fixed topology.

* `variant="incremental"`: begin with three terminals; then join one terminal after the other to
  the tree, trying to connect it by a Steiner point to every edge, with a local optimisation for
  each, and keeping the shortest tree.
* `variant="insertion"`: for every edge of the minimum spanning tree and each of its ends, find the
  edge that meets it there at the smallest angle; below 120 degrees put a Steiner point between the
  two; optimise all positions together at the end.

Choices made here. Terminals join breadth first along the spanning tree. The four edges that promise
most by their three-point trees are optimised, over the full component that the terminal joins (at
terminals a tree falls apart into independent ones). Up to BATCH_LIMIT terminals every edge of the
tree is tried, beyond only edges at most three edges away from one of the ten nearest terminals or
the terminal's neighbour in the spanning tree. Where the Steiner point falls on one of its
neighbours the terminal is joined without one. Insertion goes through the edges longest first
(in random order the gap is about 0.05 points larger). At the end the whole tree is relaxed,
collapsed edges are contracted, and angles that this opened below 120 degrees are split.

Guarantee: never longer than the spanning tree, since joining a terminal costs at most its edge
there. Time O(n^2) up to BATCH_LIMIT terminals, O(n log n) beyond, as full components stay small
(incremental); O(n log n) (insertion).
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from ..core.options import describe, option
from ..core.points import FloatArray, IntArray
from ..core.trees import tree_length
from ..geometry.relaxation import refine_batch
from ..geometry.spanning_trees import monitored_spanning_tree
from ..run.method import Batch, BatchTrees, MethodInfo, Run, Tree, pack
from ..run.threads import share
from .thompson import refine_in_pieces

BATCH_LIMIT = 128
_NEAREST = 10
# Terminals, and spanning-tree edges, between two reports: some milliseconds,
_JOIN_SPAN = 100
_INSERT_SPAN = 5_000
# and fewer terminals where full components are so large that it would be more than this.
_JOIN_SECONDS = 0.01


@dataclass(frozen=True)
class Options:
    """Dreyer and Overton's options."""

    variant: Literal["incremental", "insertion"] = option(
        "incremental",
        "join terminals one by one, or insert Steiner points into the spanning tree",
    )


INFO = MethodInfo(
    name="dreyer",
    summary="joins terminals one by one, each to the edge where it costs least (Dreyer, Overton)",
    guarantee="never longer than the spanning tree; on uniform points 0.15 to 0.65 % above "
    "the optimum",
    options=describe(Options),
    strict=True,
)


def solve(run: Run, options: Options) -> Tree:
    """Run one of the two heuristics on one instance."""
    run.monitor.report("spanning tree", 0, 1)
    tree = monitored_spanning_tree(run.points, run.monitor)
    build = _joined if options.variant == "incremental" else _inserted
    steiner, edges = build(run, tree)
    steiner, edges = refine_in_pieces(run, steiner, edges)
    return Tree(steiner, edges, info={"variant": options.variant})


def solve_batch(batch: Batch, options: Options) -> BatchTrees:
    """Do the same to many instances of one size."""
    if options.variant == "incremental":
        from .kernels.dreyer_kernels import grow_batch as kernel
    else:
        from .kernels.dreyer_insertion_kernels import insert_batch as kernel
    count, n = batch.points.shape[:2]
    sizes = np.empty(count, dtype=np.int64)
    steiner, edges = np.empty((count, n, 2)), np.empty((count, 2 * n, 2), dtype=np.int64)
    share(count, lambda *span: kernel(batch.points, sizes, steiner, edges, *span))
    packed = pack(n, sizes, steiner, edges)
    return BatchTrees(
        *refine_batch(batch.points, packed.steiner_start, packed.steiner, packed.edges)
    )


def _joined(run: Run, tree: IntArray) -> tuple[FloatArray, IntArray]:
    """Join terminals one by one; those that a limit leaves out hang on their spanning-tree edge."""
    from .kernels.dreyer_kernels import begin, grow, joining_order

    n = len(run.points)
    order, parent = joining_order(n, tree)
    state = begin(run.points, order)
    points, ends, sizes = state[0], state[1], state[4]
    near = _near_terminals(run.points)
    to_parent = run.points[order[1:]] - run.points[parent[order[1:]]]
    # The tree so far and the spanning-tree edges of the terminals that are still to come.
    rest = np.hypot(to_parent[:, 0], to_parent[:, 1])
    length, done = float(rest.sum()), 2
    span = most = 1 if run.trace is not None else _JOIN_SPAN
    while run.monitor.report("joining", done, n, length) and done < n:
        last, began = min(done + span, n), time.perf_counter()
        growth = grow(n, *state, order, parent, near, done, last)
        share = _JOIN_SECONDS / max(time.perf_counter() - began, 1e-6)
        span = max(1, min(int(span * share), 2 * span, most))
        saving = float(rest[done - 1 : last - 1].sum()) - growth
        length -= saving
        if run.trace is not None:
            run.trace.append(_record(run, int(order[done]), saving, length))
        done = last
    late = order[done:]
    edges = np.concatenate(
        (ends[: int(sizes[1])], np.stack((parent[late], late), axis=1).reshape(-1, 2))
    )
    return points[n : int(sizes[0])].copy(), edges


def _inserted(run: Run, tree: IntArray) -> tuple[FloatArray, IntArray]:
    """Insert Steiner points along the spanning tree's edges."""
    from .kernels.dreyer_insertion_kernels import begin, insert_along, longest_first
    from .kernels.thompson_kernels import write_edges

    n = len(run.points)
    tree = longest_first(run.points, tree)
    points, start, degree, neighbours = begin(run.points, tree)
    slots = (start, degree, neighbours)
    count, done = n, 0
    length = tree_length(run.points, tree)
    span = 1 if run.trace is not None else _INSERT_SPAN
    while run.monitor.report("inserting", done, n - 1, length) and done < n - 1:
        last, before = min(done + span, n - 1), count
        count = insert_along(points, *slots, tree, count, done, last)
        if run.trace is not None:
            run.trace.extend(_insertion(run, slots, s) for s in range(before, count))
        done = last
    edges = np.empty((count - 1, 2), dtype=np.int64)
    write_edges(*slots, count, edges)
    return points[n:count].copy(), edges


def _near_terminals(points: FloatArray) -> IntArray:
    """Return the nearest terminals of each, (n, 10); no column where every edge is tried."""
    n = len(points)
    if n <= BATCH_LIMIT:
        return np.empty((n, 0), dtype=np.int64)
    from scipy.spatial import cKDTree

    found = cKDTree(points).query(points, k=_NEAREST + 1)[1]
    return np.ascontiguousarray(found, dtype=np.int64)


def _record(run: Run, terminal: int, saving: float, length: float) -> dict[str, Any]:
    unit = run.frame.unit
    return {"joined": terminal, "saving": saving * unit, "length": length * unit}


def _insertion(
    run: Run, slots: tuple[IntArray, IntArray, IntArray], steiner: int
) -> dict[str, Any]:
    start, _, neighbours = slots
    return {"inserted": steiner, "between": neighbours[start[steiner] :][:3].tolist()}
