"""Full Steiner trees among which one terminal moves: what its place does not change is kept.

The terminal that moves is the last node, so it is the root of every tree that it is a leaf of: such
a tree is a branch over other nodes which it closes. These branches, and the trees without it, are
grown once, by tests that hold wherever it will stand. A test compares an edge or a branch with
alternatives (chains of terminals, terminals in lunes, known trees); it does so without those that
the moving terminal offers, and every shortest tree survives it as before, for all ties are kept.
Only the wedge test asks where paths may end: it is left out (`Landscape.anywhere`).

For a place of the terminal the branches are closed by it, and of the other trees those are left
that pass the tests of drawn trees with it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ....core.points import FloatArray, IntArray
from .generate import CornerTrees, KeepGoing, _Growth, straight_trees

if TYPE_CHECKING:
    from .landscape_kernels import Landscape

MOST = 20_000
"""Branches beyond which growing is given up: what is kept is closed again at every place."""


class Kept(_Growth):
    """Branches and trees without the last node.

    Parameters
    ----------
    ground
        The nodes, the moving terminal last.
    special
        The special distances of the other nodes, where that terminal is no link of any chain.
    keep_going
        Called as (phase, done, total) every few milliseconds; False stops.

    Attributes
    ----------
    complete
        Whether all was grown that trees may need.
    """

    def __init__(
        self, ground: Landscape, special: FloatArray, keep_going: KeepGoing | None = None
    ) -> None:
        last = len(ground.places) - 1
        between = np.full((last + 1, last + 1), -1.0)  # no tree has the last node and another one
        between[:last, :last] = special
        alone = ground._replace(
            special=between,
            longest=float(special.max()),
            by_x=ground.by_x[ground.by_x != last],
            anywhere=True,
        )
        super().__init__(alone, keep_going)
        self.complete = self._list()
        self._items = self.sprouts.trees.items[: self.known].copy()
        self._others = self._drawn()

    @property
    def too_many(self) -> bool:
        """Whether growing was given up."""
        return self.row > MOST

    def serves(self, ground: Landscape) -> bool:
        """Whether the other nodes are the same; a corner that a terminal stands on is none."""
        return np.array_equal(ground.places[:-1], self.ground.places[:-1])

    def trees(
        self, ground: Landscape, seen: np.ndarray, keep_going: KeepGoing | None = None
    ) -> CornerTrees:
        """Return the trees of which some shortest tree is composed.

        Parameters
        ----------
        ground
            The same nodes with the moving terminal, the last one, at its place; it takes part in
            special distances and in lunes.
        seen
            Which nodes see each other.
        keep_going
            See `Kept`.
        """
        from ..complete.forest_kernels import TREE, hashed
        from .growth_kernels import straight_edges
        from .moving_kernels import still_needed

        last = len(ground.places) - 1
        self.ground, self.keep_going = ground, keep_going or (lambda *_: True)
        for name in ("equilateral", "centre", "place"):
            self.sprouts.branches[name][last] = ground.places[last]
        # Trees of the terminal are apart from the others: no two have the same leaves.
        trees = hashed(np.empty(32, TREE), 0)
        self.sprouts, self.known = self.sprouts._replace(trees=trees), 0
        needed = still_needed(ground, self.sprouts, self._items)
        complete = all(self._close(size, last) for size in range(2, len(self.first) - 1))
        straight = straight_trees(ground, straight_edges(ground, seen))
        others = [self._others[k] for k in np.flatnonzero(needed).tolist()]
        return self._collect([*straight, *others, *self._drawn()], complete)

    def _grow(self, size: int) -> bool:
        return super()._grow(size) and not self.too_many


def renumbered(trees: CornerTrees, number: IntArray) -> CornerTrees:
    """Return the same trees with other numbers for the nodes."""
    return CornerTrees(
        [number[leaves] for leaves in trees.leaves],
        trees.steiner, trees.edges, trees.length, trees.complete, trees.branches,
    )  # fmt: skip
