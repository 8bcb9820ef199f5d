"""A Solution to begin from, as a tree over the distinct points of a run."""

from __future__ import annotations

import numpy as np

from .coincident import merge_coincident
from .errors import OptionError
from .points import FloatArray, Frame, IntArray
from .solution import Solution


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
    names = np.concatenate((owner, len(points) + np.arange(len(steiner))))
    return steiner, _spanning(np.concatenate((points, steiner)), names[start.edges])


def _spanning(nodes: FloatArray, edges: IntArray) -> IntArray:
    """Return the shortest spanning tree among connected edges that may have cycles."""
    from .mst_kernels import kruskal, squared_lengths

    edges = np.ascontiguousarray(edges)
    tree = np.empty((len(nodes) - 1, 2), dtype=np.int64)
    kruskal(len(nodes), edges, np.argsort(squared_lengths(nodes, edges), kind="stable"), tree)
    return tree
