"""Generation of full Steiner trees that join networks: the driver of the kernels."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ....core.points import FloatArray, IntArray

if TYPE_CHECKING:
    from ....plane.contact_kernels import Layout
    from .branch_kernels import Twigs
    from .site_kernels import Site

KeepGoing = Callable[[str, int, int], bool]
SLICE = 20_000
"""What a kernel call may cost, in pairs looked at: some milliseconds (a join counts for 31)."""


@dataclass(frozen=True)
class NetworkTrees:
    """Full Steiner trees over nodes: terminals and parts of networks.

    Attributes
    ----------
    nodes
        The nodes of each tree.
    spots
        Where its leaves are, one for each node, then its Steiner points.
    edges
        Its edges over the spots.
    length
        The length of each, as one array.
    complete
        Whether some shortest tree is a union of trees of the list.
    branches
        How many branches were grown.
    """

    nodes: list[IntArray]
    spots: list[FloatArray]
    edges: list[IntArray]
    length: FloatArray
    complete: bool
    branches: int

    def __len__(self) -> int:
        return len(self.nodes)


def generate(
    site: Site, bare: Layout, distance: FloatArray, keep_going: KeepGoing | None = None
) -> NetworkTrees:
    """List full Steiner trees of which some shortest tree is composed.

    Parameters
    ----------
    site
        The ground.
    bare, distance
        Terminals and segments, and the distances of their nodes (see `site.site_of`).
    keep_going
        Called as (phase, done, total) every few milliseconds; False stops.
    """
    return _Growth(site, keep_going).run(bare, distance)


class _Growth:
    """One run between slices; makes more room when a kernel asks for it."""

    def __init__(self, site: Site, keep_going: KeepGoing | None) -> None:
        from .branch_kernels import new_twigs

        self.site = site
        self.keep_going = keep_going or (lambda *_: True)
        count = len(site.layout.places)
        self.twigs: Twigs = new_twigs(site, 64 * count + 1000, 256 * count + 4000)
        self.row = self.member = count
        self.first = [0, 0, count]  # of each size
        self.order = [np.empty(0, np.int64), self._sorted(0, count)]
        self.known = 0

    def run(self, bare: Layout, distance: FloatArray) -> NetworkTrees:
        complete = True
        for size in range(2, len(self.site.special)):
            if not self._grow(size) or not self._close(size):
                complete = False
                break
            # Branches of sizes a and b with a + b = size + 1 or more are all that can follow.
            if all(self.first[k] == self.first[k + 1] for k in range((size + 1) // 2, size + 1)):
                break
        return self._collect(bare, distance, complete)

    def _grow(self, size: int) -> bool:
        from .growth_kernels import grow

        for left in range(1, size):
            partners = self.order[size - left]
            widest = float(self.twigs.branches["spread"][partners].max(initial=0.0))
            low, high = 0, len(self.order[left])
            while low < high and len(partners):
                step = grow(
                    self.site, self.twigs, self.order[left], low, high,
                    partners, widest, self.row, self.member, SLICE,
                )  # fmt: skip
                low, self.row, self.member = step.position, step.row, step.member
                if step.full:
                    self._make_room()
                if not self.keep_going(f"growing branches of {size} leaves", low, high):
                    return False
        self.first.append(self.row)
        self.order.append(self._sorted(self.first[size], self.row))
        return True

    def _close(self, size: int) -> bool:
        from .branch_kernels import CLOSED
        from .growth_kernels import close, enter, with_room

        low, high = self.first[size], self.first[size + 1]
        layout = self.site.layout
        found = np.empty(4096 + len(layout.places) + len(layout.tail), CLOSED)
        while low < high:
            low, count = close(self.site, self.twigs, low, high, SLICE, found)
            if self.known + count > len(self.twigs.items):
                self.twigs = with_room(self.twigs, self.known, 2 * (self.known + count))
            self.known = enter(self.twigs, found[:count], self.known)
            if not self.keep_going(f"closing trees of {size + 1} leaves", low, high):
                return False
        return True

    def _sorted(self, low: int, high: int) -> IntArray:
        x = self.twigs.branches["place"][low:high].real
        return low + np.argsort(x, kind="stable")

    def _make_room(self) -> None:
        branches, members = self.twigs[:2]
        more = np.zeros(2 * len(branches), branches.dtype)
        more[: self.row] = branches[: self.row]
        longer = np.empty(2 * len(members), np.int64)
        longer[: self.member] = members[: self.member]
        self.twigs = self.twigs._replace(branches=more, members=longer)

    def _collect(self, bare: Layout, distance: FloatArray, complete: bool) -> NetworkTrees:
        """Draw every tree, edges between two nodes first."""
        from .growth_kernels import draw, new_drawn

        nodes, spots, edges, lengths = _straight(self.site, bare, distance)
        for tree in self.twigs.items[: self.known]:
            branch = int(tree["branch"])
            size = int(self.twigs.branches[branch]["size"])
            drawn = new_drawn(size)
            lengths.append(float(draw(self.twigs, branch, tree["end"], drawn)))
            leaves = self.site.layout.node[drawn.leaves[:size]]
            nodes.append(np.append(leaves, int(tree["root"])))
            spots.append(drawn.spots.view(np.float64).reshape(-1, 2).copy())
            edges.append(drawn.edges)
        branches = self.row - len(self.site.layout.places)
        return NetworkTrees(nodes, spots, edges, np.array(lengths), complete, branches)


def _straight(
    site: Site, bare: Layout, distance: FloatArray
) -> tuple[list[IntArray], list[FloatArray], list[IntArray], list[float]]:
    """Return the edges between two nodes that pass the bottleneck test, as trees."""
    from ....plane.contact_kernels import closest_places
    from .site_kernels import TIE

    rows, columns = np.nonzero(np.triu(distance <= site.special + TIE, 1))
    nodes, spots, edges, lengths = [], [], [], []
    for u, v in zip(rows.tolist(), columns.tolist(), strict=True):
        p, q = closest_places(bare, u, v)
        nodes.append(np.array([u, v]))
        spots.append(np.array([[p.real, p.imag], [q.real, q.imag]]))
        edges.append(np.array([[0, 1]]))
        lengths.append(float(distance[u, v]))
    return nodes, spots, edges, lengths
