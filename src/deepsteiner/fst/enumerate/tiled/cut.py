"""Cutting terminals into tiles, and what a worker needs to know of each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ....core.points import Array, FloatArray, IntArray
from ..complete.generate import sorted_spanning_tree
from .task import Cells, Tile


def boxes_of(points: FloatArray, most: int) -> list[IntArray]:
    """Cut points into compact sets of at most so many, halving along the longer side.

    Runs of a Hilbert curve, the tiles of a search, have long borders; here each tile also works
    on what is around it, so borders count.
    """
    found, waiting = [], [np.arange(len(points))]
    while waiting:
        some = waiting.pop()
        if len(some) <= most:
            found.append(np.sort(some))
            continue
        places = points[some]
        axis = int(np.argmax(np.ptp(places, axis=0)))
        half = len(some) // 2
        order = np.argpartition(places[:, axis], half)
        waiting += [some[order[half:]], some[order[:half]]]
    return found


class Merged(NamedTuple):
    """All terminals in merge order: places, numbers in the input, gaps, a spanning tree."""

    points: FloatArray
    order: IntArray
    gaps: FloatArray
    edges: IntArray
    lengths: FloatArray


def merged(points: FloatArray, spanning: IntArray | None = None) -> Merged:
    """Return points in merge order."""
    from ..complete.bottleneck_kernels import merge_order

    edges, lengths = sorted_spanning_tree(points, spanning)
    order, gaps = merge_order(len(points), edges, lengths)
    return Merged(points[order], order, gaps, edges, lengths)


@dataclass(frozen=True)
class Cutting:
    """Terminals cut into tiles: what all tiles share, and the cores."""

    all: Merged
    cells: Cells
    columns: IntArray
    rows: IntArray
    cores: list[IntArray]
    low: FloatArray
    high: FloatArray
    max_size: int | None

    @classmethod
    def of(
        cls,
        points: FloatArray,
        most: int,
        max_size: int | None,
        spanning: IntArray | None = None,
    ) -> Cutting:
        """Cut points into tiles of at most so many; their spanning tree may be known."""
        from ..complete.bottleneck_kernels import measured_grid

        whole = merged(points, spanning)
        cells = Cells(*measured_grid(whole.points[:, 0] + 1j * whole.points[:, 1])[1:])
        cores = boxes_of(whole.points, most)
        low = np.array([whole.points[one].min(axis=0) for one in cores])
        high = np.array([whole.points[one].max(axis=0) for one in cores])
        columns, rows = cells_at(whole.points, cells).T
        return cls(whole, cells, columns, rows, cores, low, high, max_size)

    def spacing(self) -> FloatArray:
        """Return about how far apart neighbours are in each tile."""
        counts = np.array([len(one) for one in self.cores])
        width, height = (self.high - self.low).T
        typical = np.sqrt(width * height / counts)
        return np.asarray(np.maximum(typical, np.maximum(width, height) / counts))

    def held_cells(self, number: int, held: float) -> Cells:
        """Return the cells within a distance of a tile's core."""
        corners = np.array([self.low[number] - held, self.high[number] + held])
        (left, below), (right, above) = cells_at(corners, self.cells).tolist()
        return self.cells._replace(
            left=left, below=below, columns=right + 1 - left, rows=above + 1 - below
        )

    def holds_all(self, number: int, held: float) -> bool:
        """Return whether these are all cells."""
        cells = self.held_cells(number, held)
        return (cells.columns, cells.rows) == (cells.all_columns, cells.all_rows)

    def tile(self, number: int, near: float, held: float) -> Tile:
        """Return a tile with its margins, as a worker takes it."""
        cells = self.held_cells(number, held)
        members = np.flatnonzero(
            _is_from(self.columns, cells.left, cells.columns)
            & _is_from(self.rows, cells.below, cells.rows)
        )
        points = self.all.points[members]
        close = (points >= self.low[number] - near) & (points <= self.high[number] + near)
        return Tile(
            points,
            self.all.order[members],
            members,
            # the bottleneck distance of consecutive ones: the longest gap between them
            np.maximum.reduceat(self.all.gaps[: members[-1]], members[:-1]),
            np.isin(members, self.cores[number]).astype(np.int64),
            close.all(axis=1).astype(np.int64),
            cells,
            len(self.all.points),
            float(self.all.gaps.max()),
            self.max_size,
        )


def cells_at(points: FloatArray, cells: Cells) -> IntArray:
    """Return the column and row of points in the whole grid, as `column_of` and `row_of` do."""
    corner = np.array([cells.corner.real, cells.corner.imag])
    last = np.array([cells.all_columns, cells.all_rows]) - 1.0
    columns = np.clip((points - corner) * cells.scale, 0.0, last)
    return np.asarray(columns.astype(np.int64))


def _is_from(values: IntArray, first: int, count: int) -> Array:
    return np.asarray((values >= first) & (values < first + count))
