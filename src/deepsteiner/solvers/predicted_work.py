"""How much work a proof will be, judged by what a few places of the instance need.

Generation works place by place, so a few windows of neighbouring points tell what a point costs:
about one slice (see `exact`'s `max_work`) where points are random, many times that where they are
on a lattice. No clock is read: the same points are judged alike on every machine. What windows do
not see are trees between tight clusters and what choosing among the trees will cost, so whoever
relies on a prediction should limit the work all the same.
"""

from __future__ import annotations

import math

import numpy as np

from ..core.points import FloatArray, Frame

WINDOWS = 4
POINTS = 48  # of a window
MOST_SLICES = 150  # a window that needs more is too hard to tell how hard


def predicted_work(points: FloatArray) -> float:
    """Return about how many slices of work a proof needs; 0 where it is quicker to try.

    Infinite where some window is hard by itself.

    >>> rng = np.random.default_rng(1)
    >>> 300 < predicted_work(rng.random((500, 2))) < 800
    True
    """
    from scipy.spatial import cKDTree

    n = len(points)
    if n <= 2 * POINTS:
        return 0.0
    tree = cKDTree(points)
    slices = 0
    for k in range(WINDOWS):
        middle = points[(2 * k + 1) * n // (2 * WINDOWS)]
        near = np.sort(tree.query(middle, POINTS)[1])
        own = _slices(points[near])
        if own > MOST_SLICES:
            return math.inf
        slices += own
    return slices * n / (WINDOWS * POINTS)


def _slices(points: FloatArray) -> int:
    """Return the slices of generation for a window; it is given up above MOST_SLICES."""
    from ..fst.enumerate.complete.generate import WAITING, generate

    slices = 0

    def count(phase: str, done: int, total: int) -> bool:
        nonlocal slices
        slices += phase != WAITING
        return slices <= MOST_SLICES

    generate(Frame.of(points).into(points), keep_going=count, threads=1)
    return slices
