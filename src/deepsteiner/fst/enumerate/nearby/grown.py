"""Full Steiner trees of up to six terminals, grown from partial trees tile by tile."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ....core.points import FloatArray, IntArray
from ....run.monitor import Report
from ....run.threads import Workers
from ....run.watch import Watch
from ...trees import FullTrees
from .ground import Found, Ground
from .listing import assembled, find_trees, survey

# Up to here the list is one kernel call.
FEW = 256
# Terminals of the first tile: some 10 ms, on lattices 30.
TILE = 300


@dataclass(frozen=True)
class Grown:
    """Trees of up to `largest` terminals (4 to 6), over all pairs that are close."""

    largest: int

    def survey(
        self, points: FloatArray, workers: Workers, neighbours: tuple[IntArray, IntArray]
    ) -> Ground:
        """Find which terminals are close."""
        from .neighbour_kernels import CLOSE

        return survey(points, workers, neighbours, CLOSE)

    def list(self, ground: Ground, workers: Workers, report: Report, watch: Watch) -> FullTrees:
        """List the trees; when `report` says no, the list ends early."""
        if len(ground.points) <= FEW:
            from .gap_kernels import list_with_gaps

            return FullTrees(*list_with_gaps(ground.points, self.largest))
        return list_grown_trees(ground, workers, self.largest, report, watch)


def list_grown_trees(
    ground: Ground, workers: Workers, largest: int, report: Report, watch: Watch
) -> FullTrees:
    """List full Steiner trees of up to `largest` terminals (4 to 6).

    When `report` says no, the list ends early; where the watch does, Stopped is raised.
    """
    found = find_trees(ground, workers, 4, report)
    if largest > 4:
        found += _grown(ground, workers, largest, report, watch)
    return watch.wait("list", lambda: assembled(ground, found))


def _grown(
    ground: Ground, workers: Workers, largest: int, report: Report, watch: Watch
) -> list[Found]:
    """Return the trees of five and six terminals, tile by tile.

    Points stand in an order in which neighbours are near each other, so that a range of them is a
    tile. Partial trees are grown for the pairs around it and are gone when the tile is done.
    """
    from . import partial_tree_kernels as kernels
    from . import sextet_kernels as growth
    from . import tile_kernels as tiles

    n = len(ground.points)
    own = watch.wait("pairs", lambda: kernels.terminal_rows(ground.points))
    scratch = workers.scratch(
        lambda: (np.zeros(n + 1, dtype=np.int64), np.zeros(n, dtype=np.int32))
    )

    def grow(first: int, last: int) -> list[Found]:
        thirds, rows = tiles.pairs_around(ground, first, last, largest > 5)
        pairs = kernels.grow_pairs(own, ground.pairs.ends[rows], ground.pairs.bound[rows])
        branches = kernels.grow_branches(ground, own, pairs)
        at = tiles.by_third(thirds, branches.third, *scratch())
        found = [growth.close_quints(ground, pairs, branches, at, first, last)]
        if largest > 5:
            found.append(growth.close_hexes(ground, pairs, branches, at, first, last))
        return found

    phase = f"trees of {largest} terminals"
    parts = workers.map(grow, n, TILE, report, phase)
    return [part[k] for k in range(largest - 4) for part in parts]
