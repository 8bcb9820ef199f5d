"""`greedy`: one-step lookahead over candidate points, then relaxation.

Each step tries every candidate and keeps the one whose minimum spanning tree is shortest, until
none makes it shorter or n - 2 points were added: the choice that the paper's policy is trained to
make, made by calculation.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..core.errors import PointsError
from ..core.options import describe, option
from ..core.points import FloatArray, Frame, IntArray
from ..core.trees import tree_length
from ..geometry.candidates import KINDS, CandidateOptions, grid_box, grid_points
from ..geometry.spanning_trees import monitored_spanning_tree
from ..run.method import Batch, BatchTrees, MethodInfo, Run, Tree, pack
from ..run.threads import share
from .thompson import refine_in_pieces

# A step looks at every edge (mst), every point pair (knn), or tries every candidate (grid, all),
# so the time grows with n^2 to n^4; beyond these sizes it is minutes.
SIZE_LIMITS = {"mst": 20_000, "grid": 2_000, "knn": 2_000, "all": 200}
LARGEST_SIZE = SIZE_LIMITS["mst"]
BATCH_LIMIT = 64
# Pairs of a candidate and a point looked at between two reports: some 10 ms.
_BUDGET = 500_000


@dataclass(frozen=True)
class Options(CandidateOptions):
    """Greedy's options."""

    relax: bool = option(True, "move Steiner points to their best places and repair angles")


INFO = MethodInfo(
    name="greedy",
    summary="adds the candidate point that shortens the spanning tree most, then relaxes",
    guarantee="never longer than the spanning tree; on uniform points about 0.05 % above "
    "the optimum",
    options=describe(Options),
    strict=True,
)


def solve(run: Run, options: Options) -> Tree:
    """Run greedy on one instance, step by step."""
    from .kernels import greedy_kernels as kernels

    n = len(run.points)
    check_size(n, options, INFO.name)
    kind, near = KINDS.index(options.candidates), options.k_neighbors
    work = kernels.allocate(n, kind, options.k_star, near, grid_of(run.points, run.frame, options))
    cells = kernels.begin(work, run.points, starting_tree(run))
    length, count = tree_length(run.points, work[1][: n - 1]), n
    search = kernels.new_search()
    while run.monitor.report("greedy", count - n, n - 2, length) and count < 2 * n - 2:
        given = (work, count, cells, kind, options.k_star, near, search)
        if not kernels.best_candidate(*given, _BUDGET):
            continue
        saving, row = float(search[kernels.SAVING]), int(search[kernels.ROW])
        if not saving > kernels.LEAST_SAVING:
            break
        kernels.add(work, count, cells, work[5][row, 0], work[5][row, 1])
        length, count, search = length - saving, count + 1, kernels.new_search()
        if run.trace is not None:
            run.trace.append(step_record(run.frame, work[0][count - 1], saving, length))
    steiner, edges = work[0][n:count].copy(), work[1][: count - 1].copy()
    if options.relax:
        steiner, edges = refine_in_pieces(run, steiner, edges)
    else:
        run.monitor.report("done", count - n, n - 2, length)
    return Tree(steiner, edges, info={"steps": count - n})


def solve_batch(batch: Batch, options: Options) -> BatchTrees:
    """Run greedy on many instances of one size."""
    from .kernels import greedy_kernels as kernels

    count, n = batch.points.shape[:2]
    sizes = np.empty(count, dtype=np.int64)
    steiner, edges = np.empty((count, n, 2)), np.empty((count, 2 * n, 2), dtype=np.int64)
    kind, grids = KINDS.index(options.candidates), grids_of(batch, options)
    call = (batch.points, grids, kind, options.k_star, options.k_neighbors, sizes, steiner, edges)
    share(count, lambda first, last: kernels.solve_batch(*call, first, last))
    packed = pack(n, sizes, steiner, edges)
    if options.relax:
        from ..geometry.relaxation import refine_batch

        return BatchTrees(
            *refine_batch(batch.points, packed.steiner_start, packed.steiner, packed.edges)
        )
    return packed


def starting_tree(run: Run) -> IntArray:
    """Return the spanning tree to grow from: large ones by length, as the kernels like them.

    Trees that a batch may hold keep the order in which the batch kernel gets them.
    """
    points = run.points
    edges = monitored_spanning_tree(points, run.monitor)
    if len(points) <= BATCH_LIMIT:
        return edges
    difference = points[edges[:, 0]] - points[edges[:, 1]]
    return edges[np.argsort(np.hypot(difference[:, 0], difference[:, 1]), kind="stable")]


def grid_of(points: FloatArray, frame: Frame, options: CandidateOptions) -> FloatArray:
    """Return the grid's candidates in the frame; one unused row for the other kinds."""
    if options.candidates != "grid":
        return np.zeros((1, 2))
    return grid_points(*grid_box(points, frame, options.extent), options.grid)


def grids_of(batch: Batch, options: CandidateOptions) -> FloatArray:
    """Return every instance's grid, (B, cells, 2)."""
    if options.candidates != "grid":
        return np.zeros((len(batch.points), 1, 2))
    frames = [Frame(shift, int(k)) for shift, k in zip(batch.shifts, batch.exponents, strict=True)]
    return np.stack(
        [
            grid_of(points, frame, options)
            for points, frame in zip(batch.points, frames, strict=True)
        ]
    )


def check_size(n: int, options: CandidateOptions, method: str) -> None:
    """Refuse sizes at which the candidates alone would take minutes a step."""
    limit = SIZE_LIMITS[options.candidates]
    if n > limit:
        raise PointsError(
            f"method {method!r} with candidates={options.candidates!r} takes at most {limit} "
            f"distinct points, got {n}; 'local' takes any number"
        )


def step_record(frame: Frame, point: FloatArray, saving: float, length: float) -> dict[str, Any]:
    """Return one step for the trace, in the user's coordinates."""
    return {
        "chosen": frame.back(point[None])[0].tolist(),
        "saving": float(saving) * frame.unit,
        "length": float(length) * frame.unit,
    }
