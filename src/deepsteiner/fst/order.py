"""One order for complete lists of full Steiner trees, however these were made."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..core.points import IntArray
from ..core.trees import offsets, ranges
from .trees import FullTrees


def in_list_order(trees: FullTrees, merge_order: IntArray) -> FullTrees:
    """Return a list by size, then by the terminals in merge order, from the first on.

    What is chosen from a list where several choices are equally short depends on its order, and
    trees are found in another one in tiles. Edges of the spanning tree, those of two terminals,
    stay as they are and in front.
    """
    rank = np.empty(len(merge_order), dtype=np.int64)
    rank[merge_order] = np.arange(len(rank))
    start, sizes = trees.start[:-1], np.diff(trees.start)
    order = [np.flatnonzero(sizes == 2)]
    for size in np.unique(sizes[sizes > 2]).tolist():
        rows = np.flatnonzero(sizes == size)
        sets = rank[trees.terminals[start[rows][:, None] + np.arange(size)]]
        order.append(rows[np.lexsort(sets.T[::-1])])
    chosen = np.concatenate(order)
    kept, number = sizes[chosen], np.arange(len(sizes))
    return replace(
        trees,
        start=offsets(kept),
        terminals=trees.terminals[ranges(start[chosen], kept)],
        length=trees.length[chosen],
        steiner=trees.steiner[ranges((start - 2 * number)[chosen], kept - 2)],
        links=trees.edges[ranges((2 * start - 3 * number)[chosen], 2 * kept - 3)],
    )
