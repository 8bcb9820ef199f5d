"""`greedy`: one-step lookahead over candidate points, then relaxation.

Each step tries every candidate and keeps the one whose minimum spanning tree is shortest, until
none makes it shorter or n - 2 points were added: the choice that the paper's policy is trained to
make, made by calculation.

Options: `candidates` says where candidates lie. From a Steiner point any two of its neighbours are
seen under 120 degrees, so by default they are `k_star` points on each of the two 120-degree arcs
over every edge of the current spanning tree ("mst"); arcs over each point's `k_neighbors` nearest
points ("knn") or over all pairs ("all") give more of them, and "grid" takes a fixed grid instead,
`grid` by `grid` points over the `extent`. `relax=False` leaves the points chosen where they are.

Guarantee: never longer than the spanning tree. Time: a step looks at every edge (mst), at every
pair of points (knn), or tries every candidate (grid, all), so that all steps together take O(n^2)
to O(n^4); SIZE_LIMITS are the largest instances it accepts.

Candidates and steps are those of S. Wang, Y. Wang and G. Tong, "Deep-Steiner: Learning to Solve the
Euclidean Steiner Tree Problem" (2022), arXiv:2209.09983; the lookahead is ours.

>>> import deepsteiner as ds
>>> round(ds.solve([[0, 0], [1, 0], [0, 1], [1, 1]], "greedy").length, 5)
2.73205
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ...core.errors import PointsError
from ...core.options import describe, option
from ...core.points import FloatArray, Frame, IntArray
from ...core.trees import tree_length
from ...geometry.candidates import KINDS, CandidateOptions, grid_box, grid_points
from ...geometry.spanning_trees import monitored_spanning_tree
from ...run.method import Batch, BatchTrees, MethodInfo, Run, Tree
from ..batches import points_of, refine_in_pieces, refined, solve_rows

if TYPE_CHECKING:
    from ..kernels.greedy_kernels import Rules, Work

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
    from ..kernels import greedy_kernels as kernels

    n = len(run.points)
    check_size(n, options, INFO.name)
    work, rules = begin_work(run, options)
    tree = work.tree
    length, count = tree_length(run.points, tree.ends[: n - 1]), n
    search = kernels.new_search()
    while run.monitor.report("greedy", count - n, n - 2, length) and count < 2 * n - 2:
        if not kernels.best_candidate(work, count, rules, search, _BUDGET):
            continue
        saving, row = float(search[kernels.SAVING]), int(search[kernels.ROW])
        if not saving > kernels.LEAST_SAVING:
            break
        kernels.add(work, count, work.candidates[row])
        length, count, search = length - saving, count + 1, kernels.new_search()
        if run.trace is not None:
            run.trace.append(step_record(run.frame, tree.places[count - 1], saving, length))
    steiner, edges = points_of(tree.places[n:count]), tree.ends[: count - 1].copy()
    if options.relax:
        steiner, edges = refine_in_pieces(run, steiner, edges)
    else:
        run.monitor.report("done", count - n, n - 2, length)
    return Tree(steiner, edges, info={"steps": count - n})


def solve_batch(batch: Batch, options: Options) -> BatchTrees:
    """Run greedy on many instances of one size."""
    from ..kernels import greedy_kernels as kernels

    call = (kernels.solve_batch, grids_of(batch, options), rules_of(options))
    trees = solve_rows(batch.points, *call)
    return refined(batch.points, trees) if options.relax else trees


def rules_of(options: CandidateOptions) -> Rules:
    """Return which candidates there are, as kernels take it."""
    from ..kernels.greedy_kernels import Rules

    return Rules(KINDS.index(options.candidates), options.k_star, options.k_neighbors)


def begin_work(run: Run, options: CandidateOptions) -> tuple[Work, Rules]:
    """Return the spanning tree and the candidates that an instance begins with."""
    from ..kernels.greedy_kernels import begin

    rules = rules_of(options)
    grid = grid_of(run.points, run.frame, options)
    return begin(run.points, starting_tree(run), rules, grid), rules


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
    numbers = range(len(batch.points))
    return np.stack([grid_of(batch.points[b], batch.frame(b), options) for b in numbers])


def check_size(n: int, options: CandidateOptions, method: str) -> None:
    """Refuse sizes at which the candidates alone would take minutes a step."""
    limit = SIZE_LIMITS[options.candidates]
    if n > limit:
        raise PointsError(
            f"method {method!r} with candidates={options.candidates!r} takes at most {limit} "
            f"distinct points, got {n}; 'local' takes any number"
        )


def step_record(frame: Frame, place: complex, saving: float, length: float) -> dict[str, Any]:
    """Return one step for the trace, in the user's coordinates."""
    return {
        "chosen": frame.back(points_of(place))[0].tolist(),
        "saving": float(saving) * frame.unit,
        "length": float(length) * frame.unit,
    }
