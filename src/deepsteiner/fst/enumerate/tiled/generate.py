"""`generate_in_tiles`: the list of `complete.generate`, made tile by tile on an executor."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Protocol

import numpy as np

from ....core.points import FloatArray, IntArray
from ....core.trees import offsets
from ....run.watch import Stopped, waited
from ...order import in_list_order
from ...trees import FullTrees
from .certificate import Findings, Margins, distances, widened
from .cut import Cutting
from .task import TileTrees, generate_tile

LEAST = 256
"""Up to so many points any test may look at all of them (`lune_kernels.AHEAD_SCAN`)."""
FIRST_NEAR, FIRST_HELD = 7.3, 13.4
"""The first margins, in typical distances of neighbours times sqrt(ln n): on uniform points they
mostly do. So does the widest place without terminals grow, which makes the widest view."""

Call = tuple[Callable[..., Any], tuple[Any, ...]]


class Hands(Protocol):
    """Whoever makes calls: an executor (`fleet.hands`)."""

    def each(self, phase: str, calls: Iterable[Call], total: int) -> Iterator[tuple[int, Any]]:
        """Yield the number and the result of each call, as they come; raise Stopped if told to."""

    def go_on(self, phase: str) -> bool:
        """Return whether to go on."""


def generate_in_tiles(
    points: FloatArray,
    hands: Hands,
    *,
    tile: int,
    max_size: int | None = None,
    spanning: IntArray | None = None,
) -> FullTrees:
    """List full Steiner trees of which some shortest Steiner tree is composed.

    Parameters
    ----------
    points : (n, 2) array
        More than LEAST distinct coordinates, centred and scaled so that all are in [-1, 1].
    hands
        Where tiles are generated. Their calls take a last argument, `go_on()`, if need be.
    tile
        How many points a tile has at most; a worker also holds what is around it.
    max_size, spanning
        As for `generate`.

    Returns
    -------
    FullTrees
        The very list that `generate` returns; what is done so far, not complete, after a stop.

    Raises
    ------
    Stopped
        Where it was stopped before there was a spanning tree.
    """
    began = time.perf_counter()
    run = _Tiles(
        waited(
            lambda: Cutting.of(points, tile, max_size, spanning),
            lambda: hands.go_on("cutting into tiles"),
        )
    )
    try:
        run.generate(hands)
        stopped = False
    except Stopped:
        stopped = True
    trees = run.united(stopped)
    trees.stats["seconds_growing"] = time.perf_counter() - began
    return trees


class _Tiles:
    """Tiles on their way: their margins, and what has come back."""

    def __init__(self, cutting: Cutting) -> None:
        self._cutting = cutting
        spacing = cutting.spacing() * np.sqrt(np.log(len(cutting.all.points)))
        self._margins = Margins(FIRST_NEAR * spacing, FIRST_HELD * spacing)
        self._apart = distances(cutting.low, cutting.high)
        self._found: dict[int, TileTrees] = {}
        self.made = 0

    def generate(self, hands: Hands) -> None:
        """Generate every tile, those again whose margins turn out to be too small."""
        todo = list(range(len(self._cutting.cores)))
        while todo:
            # Made as they are handed out: all of them together would be larger than the input.
            calls = (
                (generate_tile, (self._cutting.tile(k, *(side[k] for side in self._margins)),))
                for k in todo
            )
            for place, found in hands.each("generating in tiles", calls, len(todo)):
                self._found[todo[place]] = found
                self.made += 1
            todo = self._widen()

    def _widen(self) -> list[int]:
        """Widen margins where the certificate needs it; return the tiles."""
        count = len(self._cutting.cores)
        found = [self._found[k] for k in range(count)]
        findings = Findings(
            np.array([one.lost for one in found]),
            np.array([one.widest for one in found]),
            np.array([one.farthest for one in found]),
        )
        before = self._margins
        whole = np.array([self._cutting.holds_all(k, before.held[k]) for k in range(count)])
        self._margins = widened(self._apart, before, findings, whole)
        changed = (self._margins.near > before.near) | (self._margins.held > before.held)
        return [int(k) for k in np.flatnonzero(changed)]

    def united(self, stopped: bool) -> FullTrees:
        """Return the trees of all tiles behind the edges of the spanning tree."""
        everything, found = self._cutting.all, list(self._found.values())
        plain = len(everything.lengths)
        sizes = [np.full(plain, 2), *(np.diff(one.start) for one in found)]
        pairs = np.tile(np.array([[0, 1]]), (plain, 1))
        points = np.empty_like(everything.points)
        points[everything.order] = everything.points
        trees = FullTrees(
            points,
            offsets(np.concatenate(sizes)),
            np.concatenate([everything.edges.ravel(), *(one.terminals for one in found)]),
            np.concatenate([everything.lengths, *(one.length for one in found)]),
            np.concatenate([np.empty((0, 2)), *(one.steiner for one in found)]),
            np.concatenate([pairs, *(one.edges for one in found)]),
            complete=not stopped and all(one.complete for one in found),
            stats=self._stats(found),
        )
        trees.stats["trees"] = len(trees)
        trees.stats["largest_tree"] = int(np.diff(trees.start).max(initial=0))
        return in_list_order(trees, everything.order)

    def _stats(self, found: list[TileTrees]) -> dict[str, float | int]:
        counts: dict[str, float | int] = {
            name: sum(one.stats[name] for one in found)
            for name in ("branches", "candidates", "merges")
        }
        return {**counts, "tiles": len(self._cutting.cores), "tiles_made": self.made}
