"""The frontier programme on one piece, in slices that can be interrupted."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from .piece import Piece

SLICE = 50_000  # partitions per call: some 20 ms
TRIES = 8
CEILING = 1.0 + 1e-12


def solve_by_frontier(
    piece: Piece,
    ceiling: float,
    work_limit: float,
    most: int,
    keep_going: Callable[[], bool],
) -> tuple[NDArray[np.bool_] | None, bool]:
    """Shortest tree of a piece no longer than ``ceiling``, if its frontier is narrow enough.

    Returns the flags of its FSTs (None: not found) and whether that settles the piece. A settled
    piece without a tree has none as short as the ceiling.
    """
    from .blocks_kernels import trace_back
    from .frontier_kernels import (
        DEAD,
        DONE,
        PAUSED,
        STATUS,
        advance,
        best_closing_order,
        fresh_record,
    )
    from .prune_kernels import bottleneck_forest, edge_order, incidence
    from .subset_kernels import terminal_prices

    n, start, terminals, length = piece.n, piece.start, piece.terminals, piece.length
    every = np.ones(length.size, np.bool_)
    first, lists = incidence(n, start, terminals, every)
    order, work = best_closing_order(n, start, terminals, first, lists, TRIES)
    if work > work_limit or work == np.inf:
        return None, False
    parent, weight = bottleneck_forest(
        n, start, terminals, length, every, edge_order(start, length)
    )
    prices = terminal_prices(n, start, terminals, length)
    room = np.full(1, ceiling * CEILING - prices.sum())
    forced = np.zeros(length.size, np.bool_)
    slot = np.full(n, -1, np.int64)
    left = np.diff(first)
    at_slot, near = np.zeros(16, np.int64), np.empty(256)
    record, keys, costs, nodes, taken, before = fresh_record()
    while True:
        keys, costs, nodes, taken, before = advance(
            start, terminals, length, order, forced, parent, weight, prices, room,
            slot, left, at_slot, near, record, keys, costs, nodes, taken, before, SLICE, most,
        )  # fmt: skip
        if record[STATUS] != PAUSED or not keep_going():
            break
    if record[STATUS] == DEAD:
        return None, True
    if record[STATUS] != DONE:
        return None, False
    picked = np.zeros(length.size, np.bool_)
    trace_back(nodes[0], taken, before, picked)
    return picked, True
