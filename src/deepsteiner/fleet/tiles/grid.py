"""Cells along a Hilbert curve, runs of them as tiles, and the strips where tiles meet."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from ...core.points import Array, FloatArray, IntArray
from ...core.trees import offsets, ranges

# About so many points to a cell of evenly spread points. Strips are whole cells wide.
CELL_POINTS = 64
MOST_BITS = 13
# Points whose cells are found at once.
_AT_ONCE = 1 << 20


class Cells(NamedTuple):
    """A square grid of 2**bits cells a side: its lower corner, and the side of a cell."""

    low: FloatArray
    side: float
    bits: int

    def of(self, points: FloatArray) -> IntArray:
        """Return the column and the row of the cell of each point."""
        last = (1 << self.bits) - 1
        inside = (np.asarray(points) - self.low) / self.side
        return np.clip(inside.astype(np.int64), 0, last)


def cells_for(low: FloatArray, high: FloatArray, count: int) -> Cells:
    """Return the grid for so many points between two corners."""
    bits = int(np.clip(np.ceil(np.log2(max(count / CELL_POINTS, 1.0)) / 2.0), 1, MOST_BITS))
    extent = float((high - low).max()) or 1.0
    return Cells(low, extent / (1 << bits), bits)


def hilbert(columns: IntArray, rows: IntArray, bits: int) -> IntArray:
    """Return the place of each cell along the Hilbert curve through a square of 2**bits a side.

    >>> hilbert(np.array([0, 0, 1, 1]), np.array([0, 1, 1, 0]), 1)
    array([0, 1, 2, 3])
    """
    x, y = columns.copy(), rows.copy()
    place = np.zeros_like(x)
    for level in range(bits - 1, -1, -1):
        half = 1 << level
        right, upper = (x & half) > 0, (y & half) > 0
        place += half * half * ((3 * right) ^ upper)
        # The curve enters each quarter turned, and two of them mirrored.
        mirrored = ~upper & right
        x, y = (
            np.where(mirrored, half - 1 - x & half - 1, x & half - 1),
            np.where(mirrored, half - 1 - y & half - 1, y & half - 1),
        )
        x, y = np.where(upper, x, y), np.where(upper, y, x)
    return place


def hilbert_order(points: FloatArray, cells: Cells) -> tuple[IntArray, IntArray]:
    """Return the points' order along the curve, and where each cell begins in it."""
    places = np.empty(len(points), dtype=np.int64)
    for first in range(0, len(points), _AT_ONCE):
        found = cells.of(points[first : first + _AT_ONCE])
        places[first : first + _AT_ONCE] = hilbert(found[:, 0], found[:, 1], cells.bits)
    starts = offsets(np.bincount(places, minlength=1 << 2 * cells.bits))
    return np.argsort(places, kind="stable"), starts


@dataclass(frozen=True)
class Tiling:
    """Tiles of about `size` points: runs of cells, so that each is a run of the sorted points.

    `starts` says where each cell begins among the sorted points.
    """

    cells: Cells
    starts: IntArray
    size: int

    @cached_property
    def tile_of_cell(self) -> IntArray:
        """The tile of each cell, by the cell's place on the curve."""
        raw = self.starts[:-1] // self.size
        # A cell of very many points leaves numbers out.
        return np.unique(raw, return_inverse=True)[1].astype(np.int64)

    @cached_property
    def point_start(self) -> IntArray:
        """Where each tile begins among the sorted points, and the end."""
        first = np.flatnonzero(np.diff(self.tile_of_cell, prepend=-1))
        return np.append(self.starts[first], self.starts[-1])

    def __len__(self) -> int:
        return len(self.point_start) - 1

    @cached_property
    def _map(self) -> tuple[IntArray, IntArray]:
        """The place on the curve, and the tile, of every cell by column and row."""
        side = 1 << self.cells.bits
        columns, rows = (one.ravel() for one in np.indices((side, side)))
        places = hilbert(columns, rows, self.cells.bits).reshape(side, side)
        return places, self.tile_of_cell[places]

    @cached_property
    def _boxes(self) -> list[tuple[slice, slice]]:
        """The columns and rows between which each tile lies."""
        from scipy.ndimage import find_objects

        return list(find_objects(self._map[1] + 1))

    def strip(self, tile: int, width: int) -> IntArray:
        """Return where a tile meets later ones, as runs (first, last) of the sorted points.

        These are its cells within `width` cells of a later tile, and the cells of later tiles
        within that of its own. Any two cells of two tiles that are so near share a strip.
        """
        places, tiles = self._map
        box = tuple(slice(max(0, one.start - width), one.stop + width) for one in self._boxes[tile])
        own, later = tiles[box] == tile, tiles[box] > tile
        chosen = (own & _grown(later, width)) | (later & _grown(own, width))
        return self._runs(places[box][chosen])

    def _runs(self, places: IntArray) -> IntArray:
        """Return the points of some cells as runs, those that touch joined."""
        places = np.sort(places)
        runs = np.stack((self.starts[places], self.starts[places + 1]), axis=1)
        runs = runs[runs[:, 1] > runs[:, 0]]
        if len(runs) == 0:
            return runs
        begins = np.append(True, runs[1:, 0] > runs[:-1, 1])
        ends = np.append(begins[1:], True)
        return np.stack((runs[begins, 0], runs[ends, 1]), axis=1)

    def strips(self, width: int) -> Iterator[tuple[int, IntArray]]:
        """Yield the strips that are not empty, with their tiles."""
        for tile in range(len(self)):
            runs = self.strip(tile, width)
            if len(runs):
                yield tile, runs

    def near_borders(self, label: IntArray, width: int) -> IntArray:
        """Return the sorted points in cells within `width` cells of which two labels occur."""
        from scipy.ndimage import maximum_filter, minimum_filter

        places, _ = self._map
        filled = np.flatnonzero(np.diff(self.starts))
        low = np.full(len(self.starts) - 1, len(label), dtype=np.int64)
        high = np.full(len(self.starts) - 1, -1, dtype=np.int64)
        low[filled] = np.minimum.reduceat(label, self.starts[filled])
        high[filled] = np.maximum.reduceat(label, self.starts[filled])
        seen = 2 * width + 1
        lowest = minimum_filter(low[places], seen, mode="constant", cval=len(label))
        highest = maximum_filter(high[places], seen, mode="constant", cval=-1)
        return members_of(self._runs(places[lowest < highest]))

    def tile_of(self, points: IntArray) -> IntArray:
        """Return the tiles of sorted points, given by their numbers."""
        return np.searchsorted(self.point_start, points, side="right") - 1


def _grown(mask: Array, width: int) -> Array:
    """Return the cells within `width` columns and rows of those of a mask."""
    from scipy.ndimage import maximum_filter

    return np.asarray(maximum_filter(mask.astype(np.uint8), 2 * width + 1, mode="constant") > 0)


def members_of(runs: IntArray) -> IntArray:
    """Return the numbers in runs (first, last), one after the other."""
    return ranges(runs[:, 0], runs[:, 1] - runs[:, 0])
