"""`rand1`: the paper's first random baseline, a spanning tree with random points thrown in.

A random number of points, 0 to n - 2, is drawn and joined to the terminals by a minimum spanning
tree. The seed decides both.

Option: `distribution` is where points are drawn: in the unit square ("uniform"), from a normal
distribution with mean 0.5 and deviation 0.2 in each coordinate ("normal"), or in the bounding box
of the terminals ("box").

Guarantee: none; it is far longer than the spanning tree, and shows what a method must beat. Time
O(n^2) up to 10,000 points, O(n log n) beyond.

S. Wang, Y. Wang and G. Tong, "Deep-Steiner: Learning to Solve the Euclidean Steiner Tree Problem"
(2022), arXiv:2209.09983, Rand-1.

>>> import numpy as np, deepsteiner as ds
>>> points = np.random.default_rng(0).random((20, 2))
>>> ds.solve(points, "rand1", seed=1).length > ds.solve(points, "mst").length
True
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from ...core.options import describe, option
from ...core.points import FloatArray, Frame
from ...core.trees import tree_length
from ...geometry.spanning_trees import monitored_spanning_tree
from ...run.method import Batch, BatchTrees, MethodInfo, Run, Tree
from ..batches import solve_rows

BATCH_LIMIT = 500


@dataclass(frozen=True)
class Options:
    """Rand-1's options."""

    distribution: Literal["uniform", "normal", "box"] = option(
        "uniform",
        "where points are drawn: the unit square (uniform), N(0.5, 0.2) (normal), or the "
        "bounding box of the terminals (box)",
    )


# The largest coordinate of a random point in the frame, whose own points are at most 1.
FARTHEST = 2.0**1000

INFO = MethodInfo(
    name="rand1",
    summary="adds 0 to n - 2 random points (the paper's Rand-1 baseline)",
    guarantee="none: far longer than the spanning tree",
    options=describe(Options),
    random=True,
)


def solve(run: Run, options: Options) -> Tree:
    """Add random points to one instance and span them all."""
    from ..kernels.rand_kernels import random_extension, shrink

    run.monitor.report("random points")
    box, normal = _where(run.points, run.frame, options), options.distribution == "normal"
    steiner = random_extension(run.points, run.seed, box, normal)
    nodes = np.concatenate((run.points, steiner))
    shrunk = nodes.copy()
    shrink(shrunk)  # terminals far smaller than the unit square would overflow in their frame
    edges = monitored_spanning_tree(shrunk, run.monitor, distinct=False)
    length = tree_length(nodes, edges)
    run.monitor.report("done", 1, 1, length)
    if run.trace is not None:
        chosen = run.frame.back(steiner).tolist()
        run.trace.append({"chosen": chosen, "length": length * run.frame.unit})
    return Tree(steiner, edges)


def solve_batch(batch: Batch, options: Options) -> BatchTrees:
    """Do the same to many instances of one size."""
    from ..kernels.rand_kernels import rand1_batch

    numbers = range(len(batch.points))
    boxes = [_where(batch.points[b], batch.frame(b), options) for b in numbers]
    normal = options.distribution == "normal"
    return solve_rows(batch.points, rand1_batch, batch.seeds, np.array(boxes), normal)


def _where(points: FloatArray, frame: Frame, options: Options) -> FloatArray:
    """Return, in the frame, the box (low, high), or the mean and deviation of the normal.

    Beside points of the size of denormal numbers, the unit square is cut to what a frame can hold.
    """
    if options.distribution == "box":
        return np.stack((points.min(axis=0), points.max(axis=0)))
    with np.errstate(over="ignore", divide="ignore"):
        if options.distribution == "normal":
            mean = frame.into(np.array([[0.5, 0.5]]))[0]
            box = np.stack((mean, np.full(2, 0.2) / frame.unit))
        else:
            box = frame.into(np.array([[0.0, 0.0], [1.0, 1.0]]))
    return np.asarray(np.clip(box, -FARTHEST, FARTHEST))
