"""Shortest trees of groups: terminals of a group are connected already, for nothing.

A shortest tree of groups is made of full Steiner trees with at most one terminal of each group. All
of them are in a complete list of the terminals: each test that drops a full Steiner tree shows a
shorter way to connect what one of its edges separates, and that way is there in any case, since
joining terminals into groups only adds connections.
"""

from __future__ import annotations

import numpy as np

from ..core.points import IntArray
from ..run.monitor import Report
from .select.exact.concatenation import Choice, concatenate
from .trees import FullTrees


def shortest_for_groups(
    trees: FullTrees, group: IntArray, keep_going: Report
) -> tuple[Choice, IntArray]:
    """Choose full Steiner trees of least length that connect all groups.

    Parameters
    ----------
    trees
        The list, complete where the choice is to be proven.
    group
        The group of every terminal, numbered from 0.
    keep_going
        As `concatenate` takes it.

    Returns
    -------
    Choice, ndarray
        The choice, and the chosen trees as numbers of the list.
    """
    count = int(group.max()) + 1
    sizes = np.diff(trees.start)
    owner, heard = np.repeat(np.arange(len(trees)), sizes), group[trees.terminals]
    order = np.lexsort((heard, owner))
    owner, heard = owner[order], heard[order]
    twice = (owner[1:] == owner[:-1]) & (heard[1:] == heard[:-1])
    keep = np.ones(len(trees), dtype=np.bool_)
    keep[owner[1:][twice]] = False
    kept = np.flatnonzero(keep)
    if count == 1:
        return Choice(kept[:0], 0.0, 0.0, True, {}), kept[:0]
    # A spanning tree of the groups comes first, as the list must have it.
    spanning = _spanning(trees, group, kept)
    chosen = np.concatenate((spanning, np.setdiff1d(kept, spanning)))
    rows = [trees.terminals[trees.start[tree] : trees.start[tree + 1]] for tree in chosen]
    lengths = sizes[chosen]
    contracted = FullTrees(
        trees.points[:count],
        np.concatenate(([0], np.cumsum(lengths))),
        group[np.concatenate(rows)],
        trees.length[chosen],
        np.empty((int((lengths - 2).sum()), 2)),
    )
    choice = concatenate(contracted, keep_going=keep_going)
    return choice, chosen[choice.selected]


def _spanning(trees: FullTrees, group: IntArray, kept: IntArray) -> IntArray:
    """Return the edges, among the first trees of the list, that span the groups."""
    from ..core.tree_kernels import find

    root = np.arange(int(group.max()) + 1)
    found = []
    for tree in kept[kept < len(trees.points) - 1].tolist():
        a, b = group[trees.terminals[trees.start[tree] : trees.start[tree + 1]]]
        one, other = find(root, a), find(root, b)
        if one != other:
            root[one] = other
            found.append(tree)
    return np.array(found, dtype=np.int64)
