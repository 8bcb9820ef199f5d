"""The ground a generation stands on: terminals in merge order, their bottleneck distances, a grid.

The bottleneck Steiner distance b(i, j) of two terminals is the longest edge on their path in a
minimum spanning tree. It is an ultrametric. When the terminals are numbered in the leaf order of
Kruskal's merge tree, b(i, j) is the largest of the gaps between consecutive numbers from i to j,
so a sparse table answers it in constant time, the cheapest link between two sorted terminal sets
lies between neighbours of their merged order, and the minimum spanning tree of a set under b is
the sum over its consecutive members.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from ...select.exact.prune_kernels import sorted_order
from .arc_kernels import lean

SMALL_GRID = 12
"""Up to this many terminals one cell holds everything: scanning beats hashing."""


Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# entries of frame: corner, 1 / side of the cells (0: one cell), longest gap, columns, rows, and
# a step through the terminals that visits all of them in a scattered order
X_LOW, Y_LOW, SCALE, LONGEST, COLUMNS, ROWS, STRIDE = range(7)
FRAME_ENTRIES = 7


class Ground(NamedTuple):
    """What the tests need to know about the terminals, which are numbered in merge order."""

    points: Floats  # (n, 2)
    gaps: Floats  # (levels + 1, n) sparse table of maxima; the last row holds logarithms
    cells: Ints  # per grid cell where its terminals begin, then the terminals, cell by cell
    frame: Floats


@njit(cache=True, error_model="numpy")
def spanning_tree(points: NDArray[np.float64]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Prim's minimum spanning tree on all pairs: edges and lengths, sorted by length."""
    n = len(points)
    edges = np.empty((max(n - 1, 0), 2), np.int64)
    squared = np.empty(max(n - 1, 0))
    best = np.full(n, np.inf)
    parent = np.zeros(n, np.int64)
    rest = np.arange(n)
    current = 0
    last = n - 1
    rest[0] = rest[last]
    for step in range(n - 1):
        px, py = points[current, 0], points[current, 1]
        nearest, where = np.inf, 0
        for i in range(last):
            v = rest[i]
            d = (points[v, 0] - px) ** 2 + (points[v, 1] - py) ** 2
            if d < best[v]:
                best[v] = d
                parent[v] = current
            if best[v] < nearest:
                nearest, where = best[v], i
        current = rest[where]
        edges[step, 0], edges[step, 1] = parent[current], current
        squared[step] = nearest
        last -= 1
        rest[where] = rest[last]
    order = sorted_order(squared)
    lengths = np.empty(len(order))
    ordered = np.empty((len(order), 2), np.int64)
    for i in range(len(order)):
        lengths[i] = np.sqrt(squared[order[i]])
        ordered[i, 0], ordered[i, 1] = edges[order[i], 0], edges[order[i], 1]
    return ordered, lengths


@njit(cache=True, error_model="numpy")
def merge_order(
    n: int, edges: NDArray[np.int64], lengths: NDArray[np.float64]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Leaf order of Kruskal's merge tree and the gaps between consecutive leaves."""
    root = np.arange(n)
    tail = np.arange(n)
    follower = np.full(n, -1, np.int64)
    count = np.ones(n, np.int64)
    gap_after = np.zeros(n)
    for e in range(n - 1):
        a, b = edges[e, 0], edges[e, 1]
        while root[a] != a:
            root[a] = root[root[a]]
            a = root[a]
        while root[b] != b:
            root[b] = root[root[b]]
            b = root[b]
        if count[a] < count[b]:
            a, b = b, a
        # A set is named by its first leaf, so the second set is hung behind the first.
        follower[tail[a]] = b
        gap_after[tail[a]] = lengths[e]
        tail[a] = tail[b]
        count[a] += count[b]
        root[b] = a
    order = np.empty(n, np.int64)
    gaps = np.empty(max(n - 1, 0))
    current = 0
    while root[current] != current:
        current = root[current]
    for i in range(n):
        order[i] = current
        if i < n - 1:
            gaps[i] = gap_after[current]
        current = follower[current]
    return order, gaps


@njit(cache=True, error_model="numpy")
def prepare_ground(points: Floats, gap_list: Floats) -> tuple[Floats, Ints, Floats]:
    """Sparse table of gaps, terminal grid and its frame, for points in merge order."""
    n = len(points)
    levels = 1
    while 1 << levels < n:
        levels += 1
    gaps = np.zeros((levels + 1, n))
    longest = 0.0
    for i in range(n - 1):
        gaps[0, i] = gap_list[i]
        longest = max(longest, gap_list[i])
    for k in range(1, levels):
        half = 1 << (k - 1)
        for i in range(n - (1 << k)):
            gaps[k, i] = max(gaps[k - 1, i], gaps[k - 1, i + half])
    for i in range(2, n):
        gaps[levels, i] = gaps[levels, i // 2] + 1.0
    x_low, y_low = points[0, 0], points[0, 1]
    x_high, y_high = x_low, y_low
    for i in range(1, n):
        x_low, x_high = min(x_low, points[i, 0]), max(x_high, points[i, 0])
        y_low, y_high = min(y_low, points[i, 1]), max(y_high, points[i, 1])
    width, height = max(x_high - x_low, 1e-300), max(y_high - y_low, 1e-300)
    frame = np.zeros(FRAME_ENTRIES)
    frame[X_LOW], frame[Y_LOW], frame[LONGEST] = x_low, y_low, longest
    frame[COLUMNS], frame[ROWS], frame[STRIDE] = 1.0, 1.0, scattering_step(n)
    if n > SMALL_GRID:
        side = max(np.sqrt(width * height / n), max(width, height) / n)
        frame[SCALE] = 1.0 / side
        frame[COLUMNS] = min(n, np.floor(width / side) + 1.0)
        frame[ROWS] = min(n, np.floor(height / side) + 1.0)
    cell = np.empty(n, np.int64)
    for i in range(n):
        row = row_of(points[i, 1], frame)
        cell[i] = row * int(frame[COLUMNS]) + column_of(points[i, 0], frame)
    start, items = sort_into_cells(cell, int(frame[COLUMNS] * frame[ROWS]))
    cells = np.empty(len(start) + n, np.int64)
    for i in range(len(start)):
        cells[i] = start[i] + len(start)
    for i in range(n):
        cells[len(start) + i] = items[i]
    return gaps, cells, frame


@lean
def scattering_step(n: int) -> float:
    """A number near 0.38 n without a common divisor with n."""
    step = max(1, int(0.38 * n))
    while True:  # n - 1 has no common divisor with n
        a, b = n, step
        while b != 0:
            a, b = b, a % b
        if a == 1:
            return float(step)
        step += 1


@lean
def column_of(x: float, frame: Floats) -> int:
    """Grid column of a position; what lies outside belongs to the border."""
    return int(min(max((x - frame[X_LOW]) * frame[SCALE], 0.0), frame[COLUMNS] - 1.0))


@lean
def row_of(y: float, frame: Floats) -> int:
    """Grid row of a position; what lies outside belongs to the border."""
    return int(min(max((y - frame[Y_LOW]) * frame[SCALE], 0.0), frame[ROWS] - 1.0))


@njit(cache=True, error_model="numpy")
def sort_into_cells(
    cells: NDArray[np.int64], cell_count: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Counting sort: offsets per cell and the item numbers cell by cell."""
    start = np.zeros(cell_count + 1, np.int64)
    for c in cells:
        start[c + 1] += 1
    for c in range(cell_count):
        start[c + 1] += start[c]
    fill = start.copy()
    items = np.empty(len(cells), np.int64)
    for i in range(len(cells)):
        items[fill[cells[i]]] = i
        fill[cells[i]] += 1
    return start, items


@lean
def bottleneck(gaps: Floats, i: int, j: int) -> float:
    """Bottleneck Steiner distance of terminals i < j (numbers in merge order)."""
    k = int(gaps[len(gaps) - 1, j - i])
    a = gaps[k, i]
    b = gaps[k, j - (1 << k)]
    return float(a if a > b else b)


@lean
def set_key(terminal: int) -> int:
    """Well spread 64-bit number of a terminal (splitmix64); sums of them name terminal sets."""
    z = np.uint64(0x9E3779B97F4A7C15) * np.uint64(terminal + 1)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return int(np.int64(z ^ (z >> np.uint64(31))))
