"""What a worker does: the full Steiner trees of one tile."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ....core.points import FloatArray, IntArray
from ....run.threads import Workers
from ..complete.generate import Growth


class Cells(NamedTuple):
    """The grid of all terminals, and the part of it that a tile holds."""

    corner: complex
    scale: float
    columns: int
    rows: int
    left: int
    below: int
    all_columns: int
    all_rows: int


class Tile(NamedTuple):
    """A tile on its way to a worker: the terminals in some cells, in merge order.

    `core` flags those of the tile itself, `near` those that branches are made of. `numbers` are
    theirs in the input, `rank` in the merge order of all `total` terminals, whose longest gap is
    `longest`; `gaps` are the bottleneck distances between consecutive ones.
    """

    points: FloatArray
    numbers: IntArray
    rank: IntArray
    gaps: FloatArray
    core: IntArray
    near: IntArray
    cells: Cells
    total: int
    longest: float
    max_size: int | None


class TileTrees(NamedTuple):
    """The full Steiner trees whose first terminal in merge order is the tile's, and what was seen.

    `lost`, `widest` and `farthest` are what `certificate` needs to know; where anything was lost
    there are no trees. `complete` is False where the work was stopped or `max_size` ended it.
    """

    start: IntArray
    terminals: IntArray
    length: FloatArray
    steiner: FloatArray
    edges: IntArray
    complete: bool
    lost: int
    widest: float
    farthest: float
    stats: dict[str, float | int]


def generate_tile(tile: Tile, go_on: Callable[[], bool] | None = None) -> TileTrees:
    """Generate the full Steiner trees of a tile, until `go_on` says no."""
    from ..complete.bottleneck_kernels import FARTHEST, LOST, VIEW, WIDEST, Grid, Part
    from ..complete.generation_kernels import begin_tile

    found = np.zeros(3)
    grid = Grid(np.empty(0, np.int64), *tile.cells)
    part = Part(tile.rank, tile.total, tile.core, found, np.empty(0, VIEW))
    state = begin_tile(tile.points, tile.numbers, tile.gaps, tile.longest, grid, part, tile.near)

    def keep_going(*_: object) -> bool:  # what is lost makes the rest useless
        return found[LOST] == 0 and (go_on is None or go_on())

    with Workers(1) as workers:
        run = Growth(tile.points, state, keep_going, workers)
        complete = keep_going() and run.grow(tile.max_size)
    trees = run.collect(complete)
    stats = dict(trees.stats)
    if found[LOST]:
        own = np.zeros(len(trees), dtype=np.bool_)
    else:
        own = np.isin(trees.terminals[trees.start[:-1]], tile.numbers[tile.core == 1])
    trees = trees.part(own)
    return TileTrees(
        trees.start, trees.terminals, trees.length, trees.steiner, trees.edges,
        complete, int(found[LOST]), float(found[WIDEST]), float(found[FARTHEST]), stats,
    )  # fmt: skip
