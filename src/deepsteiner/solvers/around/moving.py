"""One terminal moves among obstacles: shortest trees, each from what the one before has left.

The first place is solved as any other points are. After that the obstacles which were in play are
so from the beginning, and the branches without the moving terminal are grown once for all its
places (`fst.enumerate.corners.moving`); they are grown again when a tree crosses an obstacle that
was not in play. As in `proof`, leaving out obstacles can only shorten the shortest tree, so one
that crosses nothing is proven.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ...core.points import FloatArray, IntArray
from ...plane.plane import Plane, as_pairs
from ...run.method import Run, Tree
from .proof import landscape_of, prove, union
from .repair import CLOSE, straightened

if TYPE_CHECKING:
    from ...fst.enumerate.corners.generate import CornerTrees
    from ...fst.enumerate.corners.landscape_kernels import Landscape
    from ...fst.enumerate.corners.moving import Kept

LEAST = 3
"""Terminals from which on there are trees to be kept."""


@dataclass
class Moving:
    """What is kept from place to place.

    Attributes
    ----------
    plane
        The obstacles, in a frame that holds all places.
    index
        The number of the terminal that moves.
    """

    plane: Plane
    index: int
    _active: set[int] = field(default_factory=set)
    _kept: Kept | None = None
    _length: float = np.inf  # of the tree before, whose terminal was there
    _place: FloatArray = field(default_factory=lambda: np.zeros(2))

    def tree(self, run: Run) -> Tree:
        """Return the shortest tree with the terminal at its place, as far as limits allow.

        All other terminals are where they were.
        """
        tree = self._continued(run) if self._active else None
        if tree is None:
            tree, active = prove(run)
            self._into_play(active)
        self._place = run.points[self.index]
        self._length = run.length(np.concatenate((tree.steiner, tree.bends)), tree.edges)
        return tree

    def _continued(self, run: Run) -> Tree | None:
        """Return a proven tree; None where a limit comes first, or nothing can be kept."""
        from ...fst.select.optional.concatenation import concatenate
        from ...fst.select.optional.turn_kernels import Turns

        n = len(run.points)
        if n < LEAST or (self._kept is not None and self._kept.too_many):
            return None
        rounds = 0
        while True:
            rounds += 1
            ground, seen, distance = landscape_of(self.plane, run.points, self._active)
            trees = self._trees(run, ground, seen, distance)
            if trees is None:
                return None
            choice = concatenate(
                trees.leaves, trees.length, len(ground.places), n, self._go_on(run),
                ceiling=self._ceiling(run, distance),
                turns=Turns(trees.directions(ground), ground.free), special=ground.special,
            )  # fmt: skip
            if not len(choice.picked):
                return None
            nodes, edges = union(as_pairs(ground.places), trees, choice.picked)
            crossed = set(self.plane.crossed(nodes, edges))
            if not crossed:
                break
            if crossed <= self._active:
                return None
            self._into_play(crossed)
        best = straightened(self.plane, nodes, n, edges)
        bound = min(choice.lower_bound, best.length)
        if bound < best.length * (1.0 - CLOSE):
            return None
        run.monitor.report("done", 1, 1, best.length, bound)
        info = {
            "rounds": rounds,
            "active_obstacles": len(self._active),
            "active_corners": len(ground.places) - n,
        }
        return best.tree(lower_bound=bound, optimal=True, info=info)

    def _into_play(self, obstacles: set[int]) -> None:
        """Take obstacles into play; what has been grown without them serves no more."""
        if not obstacles <= self._active:
            self._active |= obstacles
            self._kept = None

    def _trees(
        self, run: Run, ground: Landscape, seen: Any, distance: FloatArray
    ) -> CornerTrees | None:
        """Return the trees of a landscape; None where that is cut short or costs too much."""
        from ...fst.enumerate.corners.moving import Kept, renumbered

        n, size = len(run.points), len(ground.places)
        # The moving terminal goes last.
        order = np.append(np.delete(np.arange(size), self.index), self.index)
        turned = _renumbered(ground, order)
        if self._kept is None or not self._kept.serves(turned):
            special = _special(distance, self.index, n)
            kept = Kept(turned, special, self._go_on(run))
            if not kept.complete and not kept.too_many:
                return None
            self._kept = kept
        if self._kept.too_many:
            return None
        trees = self._kept.trees(turned, seen[np.ix_(order, order)], self._go_on(run))
        return renumbered(trees, order) if trees.complete else None

    def _go_on(self, run: Run) -> Any:
        """Return what steps report to: no tree over these places is known before the proof."""
        return lambda phase, done, total, *_: run.monitor.report(phase, done, total)

    def _ceiling(self, run: Run, distance: FloatArray) -> float:
        """Return the length of a tree that is known: of shortest ways, or of the one before."""
        from ...plane.geodesic_kernels import prim

        n, place = len(run.points), run.points[self.index]
        spanning = float(prim(distance, n)[1].sum())
        if not self.plane.sees(self._place, place):
            return spanning
        # With an edge to where the terminal was, the tree before joins everything.
        return min(spanning, self._length + float(np.hypot(*(place - self._place))))


def _special(distance: FloatArray, index: int, n: int) -> FloatArray:
    """Return the special distances of all nodes but one terminal, which is no link of a chain."""
    from ...plane.geodesic_kernels import prim, special_distances

    others = np.delete(np.arange(len(distance)), index)
    ways = np.ascontiguousarray(distance[np.ix_(others, others)])
    return special_distances(ways, *prim(ways, n - 1))


def _renumbered(ground: Landscape, order: IntArray) -> Landscape:
    """Return a landscape whose nodes come in another order."""
    number = np.argsort(order)
    return ground._replace(
        places=ground.places[order],
        special=np.ascontiguousarray(ground.special[np.ix_(order, order)]),
        side=ground.side[order],
        free=ground.free[order],
        by_x=number[ground.by_x],
    )
