"""How much work a proof will be, judged by what a few places of the instance need.

Generation works place by place, so a few windows of neighbouring points tell what a point costs:
about one slice (see `exact`'s `max_work`) where points are random, many times that where they are
on a lattice. Between tight clusters trees are larger than a small window, so where the spanning
tree crosses wide gaps there are large windows, too. Where lists are dense, choosing from them adds
to the work. No clock is read: the same points are judged alike on every machine. The constants are
fitted by `benchmarks/exact/predicted_work.py`, which also says how far predictions are off: now and
then several times, so whoever relies on one should limit the work all the same.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..core.points import FloatArray, Frame

# Windows, the points of each, and the slices above which one is given up.
WINDOWS, POINTS, MOST_SLICES = 6, 48, 150
LARGE_WINDOWS, LARGE_POINTS, LARGE_MOST_SLICES = 3, 144, 600
# A window that is given up counts for so many times its slices.
GIVEN_UP = 2.0
# A gap is an edge of the spanning tree this many times as long as the next ones at either end; from
# this share of edges on they matter.
WIDE, GAPS = 5.0, 0.01
# What a point at the rim of a window lacks.
RIM = 1.1
# Full trees a terminal from which on choosing counts, and for how much each further one does.
DENSE, CHOOSING = 2.5, 0.3
# So far from the limit, a prediction from FIRST windows is clear enough.
CLEAR, FIRST = 3.0, 3


KeepGoing = Callable[[], bool]


@dataclass
class _Sample:
    """What windows of one size have cost so far."""

    keep_going: KeepGoing
    points: int = 0
    slices: float = 0.0
    trees: int = 0

    def add(self, points: FloatArray, most: int) -> None:
        """Generate the list of a window."""
        slices, trees = _generated(points, most, self.keep_going)
        self.slices += slices if slices <= most else GIVEN_UP * slices
        self.trees += trees
        self.points += len(points)

    @property
    def work(self) -> float:
        """What a point costs: its share of generation, and of choosing from the list."""
        denser = max(0.0, self.trees / self.points - DENSE)
        return RIM * self.slices / self.points * (1.0 + CHOOSING * denser)


def _always() -> bool:
    return True


def predicted_work(
    points: FloatArray, limit: float = math.inf, keep_going: KeepGoing = _always
) -> float:
    """Return about how many slices of work a proof needs; 0 where it is quicker to try.

    Where it is clearly less or more than `limit`, fewer windows are looked at. `keep_going` is
    asked after every slice; once it says no, infinity comes back.

    >>> rng = np.random.default_rng(1)
    >>> 300 < predicted_work(rng.random((500, 2))) < 800
    True
    """
    from scipy.spatial import cKDTree

    n = len(points)
    if n <= 2 * POINTS:
        return 0.0
    tree, sample = cKDTree(points), _Sample(keep_going)

    def window(number: float, count: int) -> FloatArray:
        middle = points[int(number * n)]
        near: FloatArray = points[np.sort(tree.query(middle, count)[1])]
        return near

    gaps = _share_of_gaps(points) > GAPS
    if gaps:
        count = min(LARGE_POINTS, n // 2)
        windows = min(LARGE_WINDOWS, n // (2 * count))
        for k in range(windows):
            sample.add(window((k + 0.5) / windows, count), LARGE_MOST_SLICES)
            if not keep_going():
                return math.inf
            if n * sample.work > CLEAR * limit:
                break
        return n * sample.work
    for k in range(WINDOWS):
        # Each fills the widest stretch that those before it have left.
        sample.add(window((0.5 + k * 0.6180339887) % 1.0, POINTS), MOST_SLICES)
        if not keep_going():
            return math.inf
        if k + 1 >= FIRST and not 1.0 / CLEAR <= n * sample.work / limit <= CLEAR:
            break
    return n * sample.work


def _share_of_gaps(points: FloatArray) -> float:
    """Return how many of the spanning tree's edges are far longer than the next ones."""
    from ..geometry.spanning_trees import minimum_spanning_tree

    edges = minimum_spanning_tree(points)
    difference = points[edges[:, 0]] - points[edges[:, 1]]
    lengths = np.hypot(difference[:, 0], difference[:, 1])
    shortest = np.full(len(points), np.inf)
    for side in range(2):
        np.minimum.at(shortest, edges[:, side], lengths)
    wide = lengths > WIDE * np.maximum(*shortest[edges].T)
    return float(wide.mean())


def _generated(points: FloatArray, most: int, keep_going: KeepGoing) -> tuple[int, int]:
    """Return the slices and the trees of a list; it is given up above `most` slices."""
    from ..fst.enumerate.complete.generate import WAITING, generate

    slices = 0

    def count(phase: str, done: int, total: int) -> bool:
        nonlocal slices
        slices += phase != WAITING
        return slices <= most and keep_going()

    trees = generate(Frame.of(points).into(points), keep_going=count, threads=1)
    return slices, len(trees)
