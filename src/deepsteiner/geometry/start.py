"""A Solution to begin from, as a tree over the distinct points of a run."""

from __future__ import annotations

import numpy as np

from ..core.coincident import merge_coincident
from ..core.errors import OptionError
from ..core.points import FloatArray, Frame, IntArray
from ..core.solution import Solution


def start_tree(start: Solution, points: FloatArray, frame: Frame) -> tuple[FloatArray, IntArray]:
    """Return Steiner points and edges of a starting solution in the frame of a run.

    Terminals that coincide are one point there, so edges between them go, and of several ways
    between two points one stays. Raises OptionError where the terminals are not the points.
    """
    inside = frame.into(start.terminals)
    owner, first, ties = merge_coincident(inside)
    if len(first) != len(points) or not (inside[first] == points).all():
        raise OptionError("start must be a Solution of the same points")
    steiner = frame.into(start.steiner_points)
    if len(ties) == 0:
        return steiner, np.array(start.edges)
    return steiner, merged_edges(points, owner, steiner, start.edges)


def merged_edges(
    points: FloatArray, owner: IntArray, steiner: FloatArray, edges: IntArray
) -> IntArray:
    """Return the edges of a tree over terminals as a tree over the points that stand for them.

    `owner` says which point stands for each terminal. Where merging closes a cycle, its longest
    edge goes.
    """
    from .spanning_kernels import kruskal, squared_lengths

    nodes = np.concatenate((points, steiner))
    names = np.concatenate((owner, len(points) + np.arange(len(steiner))))
    merged = np.ascontiguousarray(names[edges])
    tree = np.empty((len(nodes) - 1, 2), dtype=np.int64)
    kruskal(len(nodes), merged, np.argsort(squared_lengths(nodes, merged), kind="stable"), tree)
    return tree
