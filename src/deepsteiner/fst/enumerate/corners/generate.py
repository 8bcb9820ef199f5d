"""Generation of full Steiner trees over terminals and corners: the driver of the kernels."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ....core.points import FloatArray, IntArray

if TYPE_CHECKING:
    from .branch_kernels import Sprouts
    from .growth_kernels import Partners
    from .landscape_kernels import Landscape

KeepGoing = Callable[[str, int, int], bool]
Drawing = tuple[float, IntArray, FloatArray, IntArray]
"""A tree: its length, leaves, Steiner points, and edges over both."""
SLICE = 100_000
"""Pairs looked at between two reports: about a millisecond (a join counts for 33)."""
CALL = 500
"""What calling a kernel costs by itself."""

SHORT = 1e-4
"""Edges of which the direction is not certain to many digits: their ends are up to DEPTH off."""
ALONG = 1e-6
"""Angle up to which a direction off the wall is that of the wall."""


@dataclass(frozen=True)
class CornerTrees:
    """Full Steiner trees over nodes: terminals, then corners.

    Attributes
    ----------
    leaves
        The leaves of each tree.
    steiner
        Its Steiner points, (k - 2, 2) for k leaves.
    edges
        Its edges over (leaves, Steiner points), in local numbers.
    length
        The length of each, as one array.
    complete
        Whether some shortest tree is a union of trees of the list.
    branches
        How many branches were grown.
    """

    leaves: list[IntArray]
    steiner: list[FloatArray]
    edges: list[IntArray]
    length: FloatArray
    complete: bool
    branches: int

    def __len__(self) -> int:
        return len(self.leaves)

    def directions(self, ground: Landscape) -> FloatArray:
        """Return the directions in which edges leave the leaves of all trees, one after another.

        They are counted from the wall at the leaf; nan where the edge is too short to tell, or
        where it is along the walls of a corner so sharp that it may be either.
        """
        from .landscape_kernels import WHOLE

        if not len(self):
            return np.empty(0)
        # All trees as one graph: their leaves, then their Steiner points.
        leaves, steiner = np.concatenate(self.leaves), np.concatenate(self.steiner)
        places = np.append(ground.places[leaves], steiner.view(np.complex128).ravel())
        sizes = np.array([(len(a), len(b)) for a, b in zip(self.leaves, self.steiner, strict=True)])
        begin = np.cumsum(sizes, axis=0) - sizes
        owner = np.repeat(np.arange(len(self)), [len(one) for one in self.edges])[:, None]
        edges = np.concatenate(self.edges)
        inner = edges >= sizes[owner, 0]
        shift = np.where(inner, len(leaves) + begin[owner, 1] - sizes[owner, 0], begin[owner, 0])
        a, b = (edges + shift).T
        beyond = np.empty(len(places), np.int64)
        beyond[a], beyond[b] = b, a  # right for leaves: of the others it is any one
        way = places[beyond[: len(leaves)]] - places[: len(leaves)]
        turned = (np.angle(way) - ground.side[leaves]) % WHOLE
        below, sharp = turned > WHOLE - ALONG, ground.free[leaves] > WHOLE - 2.0 * ALONG
        # What is a bit below the wall is along it.
        turned = np.where(below, 0.0, turned)
        unknown = (np.abs(way) < SHORT) | (sharp & (turned < ALONG))
        return np.where(unknown, np.nan, turned)


def generate(
    ground: Landscape, seen: np.ndarray, keep_going: KeepGoing | None = None
) -> CornerTrees:
    """List full Steiner trees of which some shortest tree around the obstacles is composed.

    Parameters
    ----------
    ground
        The nodes and the obstacles in play.
    seen
        Which nodes see each other.
    keep_going
        Called as (phase, done, total) every few milliseconds; False stops.
    """
    return _Growth(ground, keep_going).run(seen)


class _Growth:
    """One run between slices; makes more room when a kernel asks for it."""

    def __init__(self, ground: Landscape, keep_going: KeepGoing | None) -> None:
        from .branch_kernels import new_sprouts

        self.ground = ground
        self.keep_going = keep_going or (lambda *_: True)
        count = len(ground.places)
        self.sprouts: Sprouts = new_sprouts(ground, 64 * count + 1000, 256 * count + 4000)
        self.row = self.member = count
        self.first = [0, 0, count]  # of each size
        self.partners: dict[tuple[int, bool], Partners] = {}
        self.known = 0
        self.left = SLICE  # until the next report

    def run(self, seen: np.ndarray) -> CornerTrees:
        from .growth_kernels import straight_edges

        pairs = straight_edges(self.ground, seen)
        complete = self._list()
        return self._collect(straight_trees(self.ground, pairs) + self._drawn(), complete)

    def _list(self) -> bool:
        """Grow branches and close them, size by size; whether that was not cut short."""
        # Without a full tree a shortest tree falls into parts, one at each of its leaves. A part
        # has ends besides that leaf where this is a corner, for a corner in use has two edges; and
        # ends are terminals. So there are no more leaves than terminals.
        for size in range(2, self.ground.terminals):
            if not self._grow(size) or not self._close(size):
                return False
            # Branches of sizes a and b with a + b = size + 1 or more are all that can follow.
            if all(self.first[k] == self.first[k + 1] for k in range((size + 1) // 2, size + 1)):
                break
        return True

    def _grow(self, size: int) -> bool:
        from .growth_kernels import grow

        for one in range(1, size):
            # Where both are more than a node they must be left in directions that fit.
            by_place = one == 1 or size - one == 1
            partners = self._partners(size - one, by_place)
            low, high = self.first[one], self.first[one + 1]
            while low < high and len(partners.rows):
                step = grow(
                    self.ground, self.sprouts, (low, high), partners, by_place,
                    self.row, self.member, self.left,
                )  # fmt: skip
                low, self.row, self.member = step.position, step.row, step.member
                self.left = step.left - CALL
                if step.full:
                    self._make_room()
                if self.left <= 0:
                    self.left = SLICE
                    if not self.keep_going(f"growing branches of {size} leaves", low, high):
                        return False
        self.first.append(self.row)
        return True

    def _partners(self, size: int, by_place: bool) -> Partners:
        from .growth_kernels import partners_of

        if (size, by_place) not in self.partners:
            found = partners_of(
                self.sprouts.branches, self.first[size], self.first[size + 1], by_place
            )
            self.partners[size, by_place] = found
        return self.partners[size, by_place]

    def _close(self, size: int, first_root: int = 0) -> bool:
        from ..complete.forest_kernels import TREE, hashed
        from .growth_kernels import close, enter

        low, high = self.first[size], self.first[size + 1]
        found = np.empty(4096 + len(self.ground.places), TREE)
        while low < high:
            low, count = close(self.ground, self.sprouts, low, high, first_root, SLICE, found)
            trees = self.sprouts.trees
            if self.known + count > len(trees.items):
                more = np.empty(2 * (self.known + count), TREE)
                more[: self.known] = trees.items[: self.known]
                self.sprouts = self.sprouts._replace(trees=hashed(more, self.known))
            self.known = enter(self.sprouts, found[:count], self.known)
            if not self.keep_going(f"closing trees of {size + 1} leaves", low, high):
                return False
        return True

    def _make_room(self) -> None:
        branches, members = self.sprouts[:2]
        more = np.zeros(2 * len(branches), branches.dtype)
        more[: self.row] = branches[: self.row]
        longer = np.empty(2 * len(members), np.int64)
        longer[: self.member] = members[: self.member]
        self.sprouts = self.sprouts._replace(branches=more, members=longer)

    def _drawn(self) -> list[Drawing]:
        """Draw every tree that was closed."""
        from .growth_kernels import draw, new_drawn

        places = self.ground.places
        found = []
        for tree in self.sprouts.trees.items[: self.known]:
            branch, root = int(tree["branch"]), int(tree["root"])
            own = self.sprouts.branches[branch]
            size, start = int(own["size"]), int(own["start"])
            drawn = new_drawn(size)
            length = float(draw(places, self.sprouts, branch, root, drawn))
            leaves = np.append(self.sprouts.members[start : start + size], root)
            steiner = drawn.spots[size + 1 :].view(np.float64).reshape(-1, 2).copy()
            found.append((length, leaves, steiner, drawn.edges))
        return found

    def _collect(self, listed: list[Drawing], complete: bool) -> CornerTrees:
        return CornerTrees(
            [one[1] for one in listed],
            [one[2] for one in listed],
            [one[3] for one in listed],
            np.array([one[0] for one in listed]),
            complete,
            self.row - len(self.ground.places),
        )


def straight_trees(ground: Landscape, pairs: IntArray) -> list[Drawing]:
    """Return trees of one edge."""
    line, places = np.array([[0, 1]]), ground.places
    return [
        (float(abs(places[u] - places[v])), np.array([u, v]), np.empty((0, 2)), line)
        for u, v in pairs.tolist()
    ]
