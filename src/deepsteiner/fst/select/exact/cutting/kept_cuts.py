"""Cuts that outlive a linear programme, in terms of the whole list.

A programme that has dropped many FSTs goes back to the blocks, and what is left of it to a
smaller programme. To find its cuts again would take as long as it took to find them. A cut says
that the FSTs of any tree weigh at most so much. It says so of the smaller piece, too: the weights
of FSTs chosen for good are taken off the right side, and all others that are not in the piece can
be left out, because no weight is negative.
"""

from __future__ import annotations

import numpy as np

from ...hypergraph import Flags, Floats, Ints
from .subtour_kernels import Inequalities


def outward(rows: Inequalities, joins: Floats, trees: Ints) -> Inequalities:
    """Rows of a piece as upper limits over the whole list.

    `joins` is how many terminals fewer an FST leaves apart, one less than it has: in any tree of
    the piece they sum up to one less than its terminals, which is the limit of row 0. A row that
    is a lower limit is subtracted from that.
    """
    start, columns, values, lower, upper = rows
    parts: list[tuple[Ints, Floats]] = []
    most = np.where(np.isfinite(upper), upper, upper[0] - lower)
    for r in range(1, lower.size):
        own, weight = columns[start[r] : start[r + 1]], values[start[r] : start[r + 1]]
        if not np.isfinite(upper[r]):
            full = joins.copy()
            full[own] -= weight
            own = np.flatnonzero(full > 0.0)
            weight = full[own]
        parts.append((trees[own], weight))
    return _packed(parts, most[1:])


def inward(cuts: Inequalities, trees: Ints, chosen: Flags) -> Inequalities:
    """Cuts over the whole list as rows of a piece; those that say nothing about it are left out."""
    count = cuts.upper.size
    local = np.full(chosen.size, -1)
    local[trees] = np.arange(trees.size)
    row = np.repeat(np.arange(count), np.diff(cuts.start))
    taken, here = chosen[cuts.columns], local[cuts.columns] >= 0
    most = cuts.upper - np.bincount(row[taken], cuts.values[taken], count)
    useful = np.bincount(row[here], cuts.values[here], count) > most
    entry = here & useful[row]
    sizes = np.bincount(row[entry], minlength=count)[useful]
    return Inequalities(
        np.concatenate([[0], np.cumsum(sizes)]), local[cuts.columns[entry]], cuts.values[entry],
        np.full(sizes.size, -np.inf), most[useful],
    )  # fmt: skip


def _packed(parts: list[tuple[Ints, Floats]], most: Floats) -> Inequalities:
    start = np.concatenate([[0], np.cumsum([own.size for own, _ in parts])]).astype(np.int64)
    columns = np.concatenate([np.empty(0, np.int64), *[own for own, _ in parts]])
    values = np.concatenate([np.empty(0), *[weight for _, weight in parts]])
    return Inequalities(start, columns, values, np.full(most.size, -np.inf), most)
