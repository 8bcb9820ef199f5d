"""Where tiles meet: which terminals are solved again, what holds them together, what is accepted.

A tile is solved in the parts that its spanning tree has in it, each on its own, so what lies on two
sides of a border between parts is not as short as it could be: along the tiles' borders, and inside
a tile between parts that hang together only outside. Areas are what is left of the plane near
such borders, cut into pieces for the workers. In an area everything may change at once, as long as
all remains one tree: what is connected outside is told to the worker, and stays.

Two areas that change at the same time may close a cycle together, although neither does alone.
Changes are therefore taken in one by one where that happens, which is rare
(`fst.select.search.region_pass_kernels` has the theory).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from ...core.points import Array, FloatArray, IntArray
from ...core.trees import offsets
from ...fst.select.hypergraph import Hypergraph
from ...fst.select.search.regions import Changes, acceptable, compact_cells
from .grid import Tiling
from .pieces import of_each

# Cells on either side of a border that are solved again, and terminals of an area at most.
WIDTH = 2
AREA_POINTS = 50_000
# The number of a pass, by which the cuts between areas are turned against the tiles' borders.
_TURNED = 1


class Area(NamedTuple):
    """What a worker solves again.

    Attributes
    ----------
    number
        Of the area.
    rows
        By tile, the components of its tree that lie in the area.
    crossing
        Edges from tile to tile that do.
    bound
        Pairs of terminals that are connected outside; with the components they make one tree.
    """

    number: int
    rows: dict[int, IntArray]
    crossing: IntArray
    bound: IntArray


class Repair(NamedTuple):
    """What a worker suggests: to drop components of an area and to add others, in groups.

    `dropped` counts the components of the area in the order in which it names them, `added` are
    the terminals of new ones in compressed rows. Group g drops those where `drop_group` is g, adds
    those where `add_group` is g, and saves its `gains`.
    """

    dropped: IntArray
    drop_group: IntArray
    added_start: IntArray
    added: IntArray
    add_group: IntArray
    gains: FloatArray


def areas_of(points: FloatArray, tiling: Tiling, forest: IntArray) -> IntArray:
    """Return the area of every sorted point, or -1.

    `forest` has the edges of the spanning tree inside tiles, whose parts were solved apart.
    """
    from ...geometry.triangulation import component_labels

    near = tiling.near_borders(component_labels(len(points), forest), WIDTH)
    areas = np.full(len(points), -1, dtype=np.int64)
    if len(near):
        cells = compact_cells(np.asarray(points[near]), min(tiling.size, AREA_POINTS), _TURNED)
        areas[near] = np.unique(cells, return_inverse=True)[1]
    return areas


class Whole:
    """The tree of all tiles by the terminals of its components, and the areas they lie in."""

    def __init__(self, n: int, lists: Sequence[tuple[IntArray, IntArray]], areas: IntArray) -> None:
        from ...fst.select.search.region_pass_kernels import hang

        self._count = offsets([len(start) - 1 for start, _ in lists])
        sizes = np.concatenate([np.diff(start) for start, _ in lists])
        self._start = offsets(sizes)
        self._terminals = np.concatenate([terminals for _, terminals in lists])
        self._n, total = n, len(sizes)
        graph = Hypergraph(n, self._start, self._terminals, np.zeros(total))
        self._hung = hang(graph, np.ones(total, dtype=np.bool_))
        own = areas[self._terminals]
        low, high = (of_each(self._start, own, reduce) for reduce in (np.minimum, np.maximum))
        self._area = np.where(low == high, low, -1)
        order = np.argsort(self._area, kind="stable")
        bounds = np.searchsorted(self._area[order], np.arange(areas.max(initial=-1) + 2))
        self.members = [order[a:b] for a, b in pairwise(bounds)]

    def area(self, number: int, crossing: IntArray) -> Area | None:
        """Return an area with what it takes to solve it again; None where nothing lies in it.

        Edges from tile to tile are the last list of components.
        """
        rows = self.members[number]
        if len(rows) < 2:
            return None
        source = np.searchsorted(self._count, rows, side="right") - 1
        last = len(self._count) - 2
        inside = {int(k): rows[source == k] - self._count[k] for k in np.unique(source) if k < last}
        across = crossing[rows[source == last] - self._count[last]]
        return Area(number, inside, across, self._connected_outside(rows))

    def _connected_outside(self, rows: IntArray) -> IntArray:
        """Return pairs of terminals of some components that are connected without those."""
        from ...fst.select.search.region_pass_kernels import parts_without

        sizes = np.diff(self._start)[rows]
        at = np.repeat(self._start[rows] - offsets(sizes)[:-1], sizes) + np.arange(sizes.sum())
        members = np.unique(self._terminals[at])
        above = self._hung.above[members]
        cut = (above >= 0) & np.isin(above, rows)
        part, _ = parts_without(members, cut, self._hung)
        order = np.argsort(part, kind="stable")
        same = part[order][1:] == part[order][:-1]
        return np.stack((members[order[:-1][same]], members[order[1:][same]]), axis=1)

    def accepted(self, repairs: Sequence[tuple[int, Repair]]) -> tuple[Array, list[Array]]:
        """Return which components are dropped, and for every repair which of its own are added."""
        gone = np.zeros(len(self._area), dtype=np.bool_)
        total, shift = len(self._area), 0
        changed, groups, gains = [], [], []
        for number, one in repairs:
            added = total + np.arange(len(one.add_group))
            changed += [self.members[number][one.dropped], added]
            groups += [shift + one.drop_group, shift + one.add_group]
            gains.append(one.gains)
            total, shift = total + len(added), shift + len(one.gains)
        if shift == 0:
            return gone, [np.zeros(0, dtype=np.bool_) for _ in repairs]
        group = np.concatenate(groups)
        order = np.argsort(group, kind="stable")
        changes = Changes(
            np.concatenate(gains),
            offsets(np.bincount(group, minlength=shift)),
            np.concatenate(changed)[order],
        )
        sizes = [np.diff(self._start), *(np.diff(one.added_start) for _, one in repairs)]
        terminals = [self._terminals, *(one.added for _, one in repairs)]
        graph = Hypergraph(
            self._n, offsets(np.concatenate(sizes)), np.concatenate(terminals), np.zeros(total)
        )
        took = acceptable(changes, graph, np.arange(total) < len(gone), self._hung)
        if changes.gains[took].sum() <= 0.0:
            took[:] = False
        flips = changes.changed[np.repeat(took, np.diff(changes.rows))]
        gone[flips[flips < len(gone)]] = True
        new = np.zeros(total - len(gone), dtype=np.bool_)
        new[flips[flips >= len(gone)] - len(gone)] = True
        return gone, np.split(new, np.cumsum([len(one.add_group) for _, one in repairs])[:-1])

    def split(self, flags: Array) -> list[Array]:
        """Return flags of components list by list, as they were given."""
        return np.split(flags, self._count[1:-1])
