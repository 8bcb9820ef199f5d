"""`dreyer`: Dreyer and Overton's two heuristics.

Both rest on the best positions of Steiner points for a fixed topology. The option `variant` says
which one runs.

* `variant="incremental"`: begin with three terminals; then join one terminal after the other to
  the tree, trying to connect it by a Steiner point to every edge, with a local optimisation for
  each, and keeping the shortest tree.
* `variant="insertion"`: for every edge of the minimum spanning tree and each of its ends, find the
  edge that meets it there at the smallest angle; below 120 degrees put a Steiner point between the
  two; optimise all positions together at the end.

Choices made here. Terminals join breadth first along the spanning tree. The four edges that promise
most by their three-point trees are optimised, over the full component that the terminal joins (at
terminals a tree falls apart into independent ones). Up to BATCH_LIMIT terminals every edge of the
tree is tried; beyond, only edges at most three edges away from one of the ten nearest terminals or
from the terminal's neighbour in the spanning tree. Where the Steiner point falls on one of its
neighbours the terminal is joined without one. Insertion goes through the edges longest first
(in random order the gap is about 0.05 points larger). At the end the whole tree is relaxed,
collapsed edges are contracted, and angles that this opened below 120 degrees are split.

Guarantee: never longer than the spanning tree, since joining a terminal costs at most its edge
there. Time O(n^2) up to BATCH_LIMIT terminals, O(n log n) beyond, as full components stay small
(incremental); O(n log n) (insertion).

D. R. Dreyer and M. L. Overton, "Two heuristics for the Euclidean Steiner tree problem", Journal of
Global Optimization 13 (1998) 95-106, doi:10.1023/A:1008285504599.

>>> import deepsteiner as ds
>>> square = [[0, 0], [1, 0], [0, 1], [1, 1]]
>>> [round(ds.solve(square, "dreyer", variant=v).length, 5) for v in ("incremental", "insertion")]
[2.73205, 2.73205]
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Literal

import numpy as np

from ...core.options import describe, option
from ...core.points import FloatArray, IntArray
from ...core.trees import tree_length
from ...geometry.spanning_trees import monitored_spanning_tree
from ...run.method import Batch, BatchTrees, MethodInfo, Run, Tree
from ..batches import points_of, refine_in_pieces, refined, solve_rows

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
        from ..kernels.dreyer_kernels import grow_batch as kernel
    else:
        from ..kernels.dreyer_insertion_kernels import insert_batch as kernel
    return refined(batch.points, solve_rows(batch.points, kernel))


def _joined(run: Run, edges: IntArray) -> tuple[FloatArray, IntArray]:
    """Join terminals one by one; those that a limit leaves out hang on their spanning-tree edge."""
    from ..kernels.dreyer_kernels import begin, grow
    from ..kernels.walk_kernels import breadth_first

    n = len(run.points)
    walk = breadth_first(edges)
    order, parent = walk.order, walk.parent
    tree = begin(run.points, order)
    near = _near_terminals(run.points)
    to_parent = run.points[order[1:]] - run.points[parent[order[1:]]]
    # The tree so far and the spanning-tree edges of the terminals that are still to come.
    rest = np.hypot(to_parent[:, 0], to_parent[:, 1])
    length, done = float(rest.sum()), 2
    span = most = 1 if run.trace is not None else _JOIN_SPAN
    while run.monitor.report("joining", done, n, length) and done < n:
        last, began = min(done + span, n), time.perf_counter()
        growth = grow(tree, walk, near, done, last)
        share = _JOIN_SECONDS / max(time.perf_counter() - began, 1e-6)
        span = max(1, min(int(span * share), 2 * span, most))
        saving = float(rest[done - 1 : last - 1].sum()) - growth
        length -= saving
        if run.trace is not None:
            unit = run.frame.unit
            record = {"saving": saving * unit, "length": length * unit}
            run.trace.append({"joined": int(order[done]), **record})
        done = last
    late = order[done:]
    count, joined = map(int, tree.sizes)
    return points_of(tree.places[n:count]), np.concatenate(
        (tree.ends[:joined], np.stack((parent[late], late), axis=1))
    )


def _inserted(run: Run, edges: IntArray) -> tuple[FloatArray, IntArray]:
    """Insert Steiner points along the spanning tree's edges."""
    from ..kernels.dreyer_insertion_kernels import insert_along, longest_first
    from ..kernels.slot_kernels import edges_of, slots_of

    n = len(run.points)
    edges = longest_first(run.points, edges)
    tree, done = slots_of(run.points, edges), 0
    length = tree_length(run.points, edges)
    span = 1 if run.trace is not None else _INSERT_SPAN
    while run.monitor.report("inserting", done, n - 1, length) and done < n - 1:
        before = int(tree.size[0])
        insert_along(tree, edges[done : done + span])
        done = min(done + span, n - 1)
        if run.trace is not None:
            for new in range(before, int(tree.size[0])):
                x, z, v = tree.neighbours[tree.start[new] :][:3].tolist()
                run.trace.append({"inserted": new, "between": [x, v, z]})
    return points_of(tree.places[n : tree.size[0]]), edges_of(tree)


def _near_terminals(points: FloatArray) -> IntArray:
    """Return the nearest terminals of each, (n, 10); no column where every edge is tried."""
    n = len(points)
    if n <= BATCH_LIMIT:
        return np.empty((n, 0), dtype=np.int64)
    from scipy.spatial import cKDTree

    found = cKDTree(points).query(points, k=_NEAREST + 1)[1]
    return np.ascontiguousarray(found, dtype=np.int64)
