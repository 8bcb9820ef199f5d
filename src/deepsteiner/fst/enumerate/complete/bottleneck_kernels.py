"""The ground a generation stands on: terminals in merge order, bottleneck distances, a grid.

The bottleneck Steiner distance b(i, j) of two terminals is the longest edge on their path in a
minimum spanning tree: no edge between them in a shortest tree is longer [1]. It is an ultrametric.
When the terminals are numbered in the leaf order of Kruskal's merge tree, b(i, j) is the largest
of the gaps between consecutive numbers from i to j, so a sparse table answers it in constant time,
the cheapest link between two sorted terminal sets lies between neighbours of their merged order,
and the minimum spanning tree of a set under b is the sum over its consecutive members.

[1] P. Winter and M. Zachariasen, Euclidean Steiner minimum trees: an improved exact algorithm,
    Networks 30 (1997).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ....core.jit import njit
from ....core.tree_kernels import find
from ....geometry.spanning_kernels import squared_lengths
from ...select.exact.prune_kernels import sorted_order
from .arc_kernels import lean

SMALL_GRID = 12
"""Up to this many terminals one cell holds everything: scanning beats hashing."""
GOLDEN_PART = 0.38
"""Steps of (nearly) this part of a whole turn scatter best: 1 minus the golden section."""

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Complexes = NDArray[np.complex128]
Records = NDArray[np.void]


class Grid(NamedTuple):
    """Square cells over the terminals; positions outside belong to the cells of the border."""

    cells: Ints  # where the terminals of each cell begin, then the terminals, cell by cell
    corner: complex
    scale: float  # 1 / side of the cells (0: there is one cell)
    columns: int
    rows: int
    left: int  # of a tile: the columns and rows of the whole grid that come before those held
    below: int
    all_columns: int  # of the whole grid
    all_rows: int


class Box(NamedTuple):
    """Cells of a grid: a range of columns and one of rows, without their ends."""

    left: int
    right: int
    low: int
    high: int


VIEW = np.dtype([("low", np.complex128), ("high", np.complex128)], align=True)


class Part(NamedTuple):
    """What is known where the terminals are only those in and around a tile."""

    rank: Ints  # their numbers in the merge order of all terminals
    total: int  # how many terminals there are in all
    core: Ints  # 1 for those of the tile itself
    found: Floats  # of branches with a terminal of the tile: LOST, WIDEST and FARTHEST
    views: Records  # of VIEW: where the tests of each branch look


LOST, WIDEST, FARTHEST = range(3)
"""What is known of a tile's branches.

How many were left out because tests had to look beyond what is held, the widest view (see
`reach_kernels`) of one, and the farthest that one leads from its nearest terminal.
"""


class Ground(NamedTuple):
    """What the tests need to know about the terminals, which are numbered in merge order."""

    points: Complexes
    gaps: Floats  # (levels + 1, n) sparse table of maxima; the last row holds logarithms
    grid: Grid
    longest: float  # the longest gap, which no edge of a shortest tree exceeds
    stride: int  # a step through the terminals that visits all of them in a scattered order
    part: Part | None  # None: these are all terminals; kernels are compiled for either


@njit(cache=True, error_model="numpy")
def spanning_tree(points: Floats) -> tuple[Ints, Floats]:
    """Prim's minimum spanning tree on all pairs: edges and lengths, sorted by length.

    Equal lengths are taken in a scattered order. `geometry.spanning_kernels.prim` prefers low
    numbers instead; on lattices that makes twice the work for what comes after.
    """
    n = len(points)
    edges = np.empty((n - 1, 2), np.int64)
    best = np.full(n, np.inf)
    parent = np.zeros(n, np.int64)
    rest = np.arange(n)
    current, last = 0, n - 1
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
        last -= 1
        rest[where] = rest[last]
    return by_length(points, edges)


@njit(cache=True, error_model="numpy")
def by_length(points: Floats, edges: Ints) -> tuple[Ints, Floats]:
    """Edges sorted by their lengths, and these."""
    squared = squared_lengths(points, edges)
    order = sorted_order(squared)
    return edges[order], np.sqrt(squared[order])


@njit(cache=True, error_model="numpy")
def merge_order(n: int, edges: Ints, lengths: Floats) -> tuple[Ints, Floats]:
    """Leaf order of Kruskal's merge tree and the gaps between consecutive leaves."""
    root = np.arange(n)
    tail = np.arange(n)
    follower = np.full(n, -1, np.int64)
    count = np.ones(n, np.int64)
    gap_after = np.zeros(n)
    for e in range(n - 1):
        a, b = find(root, edges[e, 0]), find(root, edges[e, 1])
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
    current = find(root, int(np.int64(0)))
    for i in range(n):
        order[i] = current
        if i < n - 1:
            gaps[i] = gap_after[current]
        current = follower[current]
    return order, gaps


@njit(cache=True, error_model="numpy")
def prepare_ground(points: Floats, order: Ints, gap_list: Floats) -> Ground:
    """Renumber points in merge order; make the sparse table of their gaps and their grid."""
    n = len(points)
    places = in_order(points, order)
    longest = 0.0
    for gap in gap_list:
        longest = max(longest, gap)
    grid = sorted_into(measured_grid(places), places)
    return Ground(places, gap_table(n, gap_list), grid, longest, scattering_step(n), None)


@njit(cache=True, error_model="numpy")
def in_order(points: Floats, order: Ints) -> Complexes:
    """Points in an order, as complex numbers."""
    places = np.empty(len(order), np.complex128)
    for i in range(len(order)):
        places[i] = complex(points[order[i], 0], points[order[i], 1])
    return places


@njit(cache=True, error_model="numpy")
def gap_table(n: int, gap_list: Floats) -> Floats:
    """The sparse table of the gaps between n terminals in merge order."""
    levels = 1
    while 1 << levels < n:
        levels += 1
    gaps = np.zeros((levels + 1, n))
    for i in range(n - 1):
        gaps[0, i] = gap_list[i]
    for k in range(1, levels):
        half = 1 << (k - 1)
        for i in range(n - (1 << k)):
            gaps[k, i] = max(gaps[k - 1, i], gaps[k - 1, i + half])
    for i in range(2, n):
        gaps[levels, i] = gaps[levels, i // 2] + 1.0
    return gaps


@njit(cache=True, error_model="numpy")
def measured_grid(places: Complexes) -> Grid:
    """A grid of about as many cells as there are places, without these."""
    n = len(places)
    x_low = x_high = places[0].real
    y_low = y_high = places[0].imag
    for z in places:
        x_low, x_high = min(x_low, z.real), max(x_high, z.real)
        y_low, y_high = min(y_low, z.imag), max(y_high, z.imag)
    width, height = max(x_high - x_low, 1e-300), max(y_high - y_low, 1e-300)
    scale, columns, rows = 0.0, 1, 1
    if n > SMALL_GRID:
        side = max(np.sqrt(width * height / n), max(width, height) / n)
        scale = 1.0 / side
        columns, rows = min(n, int(width / side) + 1), min(n, int(height / side) + 1)
    corner = complex(x_low, y_low)
    none = int(np.int64(0))  # a literal would make another type
    return Grid(np.empty(0, np.int64), corner, scale, columns, rows, none, none, columns, rows)


@njit(cache=True, error_model="numpy")
def sorted_into(empty: Grid, places: Complexes) -> Grid:
    """The grid with places sorted into its cells."""
    n, columns, rows = len(places), empty.columns, empty.rows
    cell = np.empty(n, np.int64)
    for i in range(n):
        cell[i] = row_of(places[i].imag, empty) * columns + column_of(places[i].real, empty)
    start, items = sort_into_cells(cell, columns * rows)
    cells = np.empty(len(start) + n, np.int64)
    for i in range(len(start)):
        cells[i] = start[i] + len(start)
    for i in range(n):
        cells[len(start) + i] = items[i]
    return Grid(
        cells, empty.corner, empty.scale, columns, rows, empty.left, empty.below,
        empty.all_columns, empty.all_rows,
    )  # fmt: skip


@lean
def rank_of(part: Part | None, t: int) -> int:
    """Number of a terminal in the merge order of all terminals."""
    if part is None:
        return t
    return int(part.rank[t])


@lean
def total_of(part: Part | None, held: int) -> int:
    """How many terminals there are in all, where so many are held."""
    if part is None:
        return held
    return part.total


@lean
def are_beyond(part: Part | None, t: int, other: int, most: int) -> bool:
    """Whether a tile leaves so many out between two terminals that they are too far apart."""
    if part is None:
        return False
    return bool(abs(part.rank[other] - part.rank[t]) > most)


@lean
def scattering_step(n: int) -> int:
    """A number near GOLDEN_PART of n without a common divisor with n."""
    step = max(1, int(GOLDEN_PART * n))
    while True:  # n - 1 has no common divisor with n
        a, b = n, step
        while b != 0:
            a, b = b, a % b
        if a == 1:
            return step
        step += 1


@lean
def column_of(x: float, grid: Grid) -> int:
    """Grid column of a position; what lies outside belongs to the border."""
    return int(min(max((x - grid.corner.real) * grid.scale - grid.left, 0.0), grid.columns - 1.0))


@lean
def row_of(y: float, grid: Grid) -> int:
    """Grid row of a position; what lies outside belongs to the border."""
    return int(min(max((y - grid.corner.imag) * grid.scale - grid.below, 0.0), grid.rows - 1.0))


@lean
def is_held(low: complex, high: complex, grid: Grid) -> bool:
    """Whether a tile holds all cells of a rectangle, and so every terminal in them."""
    if grid.columns == grid.all_columns and grid.rows == grid.all_rows:
        return True
    x, y, scale = grid.corner.real, grid.corner.imag, grid.scale
    last_column, last_row = grid.all_columns - 1.0, grid.all_rows - 1.0
    left = min(max((low.real - x) * scale, 0.0), last_column)
    right = min(max((high.real - x) * scale, 0.0), last_column)
    lower = min(max((low.imag - y) * scale, 0.0), last_row)
    upper = min(max((high.imag - y) * scale, 0.0), last_row)
    return bool(
        left >= grid.left
        and right < grid.left + grid.columns
        and lower >= grid.below
        and upper < grid.below + grid.rows
    )


@lean
def cells_between(low: complex, high: complex, grid: Grid) -> Box:
    """The cells of a rectangle, given by two opposite corners."""
    return Box(
        column_of(low.real, grid),
        column_of(high.real, grid) + 1,
        row_of(low.imag, grid),
        row_of(high.imag, grid) + 1,
    )


@njit(cache=True, error_model="numpy")
def sort_into_cells(cells: Ints, cell_count: int) -> tuple[Ints, Ints]:
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
