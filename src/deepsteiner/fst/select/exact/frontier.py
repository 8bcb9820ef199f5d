"""The frontier programme on one piece, in slices that can be interrupted."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ..hypergraph import STRICT, Budget
from .piece import Piece

SLICE = 5e4  # partitions per call: some 20 ms
TRIES = 8


def solve_by_frontier(
    piece: Piece, ceiling: float, budget: Budget, keep_going: Callable[[], bool]
) -> tuple[NDArray[np.bool_] | None, bool]:
    """Shortest tree of a piece no longer than ``ceiling``, if its frontier is narrow enough.

    Returns the flags of its FSTs (None: not found) and whether that settles the piece. A settled
    piece without a tree has none as short as the ceiling.
    """
    from . import frontier_kernels as kernels
    from .prune_kernels import incidence

    graph = piece.graph
    picked = np.ones(graph.length.size, np.bool_)
    at = incidence(graph, picked)
    order, work = kernels.best_closing_order(graph, at, TRIES, budget.work)
    if work > budget.work or work == np.inf:
        return None, False
    problem = kernels.unconstrained(graph, order, piece.distances)
    room = ceiling * STRICT - problem.prices.sum()
    progress = kernels.set_out(problem, np.diff(at.first), room)
    while True:
        progress = kernels.advance(problem, progress, SLICE, budget.widest)
        status = progress.record[kernels.STATUS]
        if status != kernels.PAUSED or not keep_going():
            break
    if status != kernels.DONE:
        return None, status == kernels.DEAD
    kernels.trace_back(progress, picked)
    return picked, True
