"""Generation of full Steiner trees over terminals and corners: the driver of the kernels."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ....core.points import FloatArray, IntArray

if TYPE_CHECKING:
    from .branch_kernels import Sprouts
    from .landscape_kernels import Landscape

KeepGoing = Callable[[str, int, int], bool]
SLICE = 50_000
"""What a kernel call may cost, in pairs looked at: some milliseconds (a join counts for 33)."""


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
        self.order = [np.empty(0, np.int64), self._sorted(0, count)]
        self.known = 0

    def run(self, seen: np.ndarray) -> CornerTrees:
        from .growth_kernels import straight_edges

        pairs = straight_edges(self.ground, seen)
        count = len(self.ground.places)
        complete = True
        for size in range(2, count):
            if not self._grow(size) or not self._close(size):
                complete = False
                break
            # Branches of sizes a and b with a + b = size + 1 or more are all that can follow.
            if all(self.first[k] == self.first[k + 1] for k in range((size + 1) // 2, size + 1)):
                break
        return self._collect(pairs, complete)

    def _grow(self, size: int) -> bool:
        from .growth_kernels import grow

        for left in range(1, size):
            partners = self.order[size - left]
            widest = float(self.sprouts.branches["spread"][partners].max(initial=0.0))
            low, high = 0, len(self.order[left])
            while low < high and len(partners):
                step = grow(
                    self.ground, self.sprouts, self.order[left], low, high,
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
        from ..complete.forest_kernels import TREE, hashed
        from .growth_kernels import close, enter

        low, high = self.first[size], self.first[size + 1]
        found = np.empty(4096 + len(self.ground.places), TREE)
        while low < high:
            low, count = close(self.ground, self.sprouts, low, high, SLICE, found)
            trees = self.sprouts.trees
            if self.known + count > len(trees.items):
                more = np.empty(2 * (self.known + count), TREE)
                more[: self.known] = trees.items[: self.known]
                self.sprouts = self.sprouts._replace(trees=hashed(more, self.known))
            self.known = enter(self.sprouts, found[:count], self.known)
            if not self.keep_going(f"closing trees of {size + 1} leaves", low, high):
                return False
        return True

    def _sorted(self, low: int, high: int) -> IntArray:
        x = self.sprouts.branches["place"][low:high].real
        return low + np.argsort(x, kind="stable")

    def _make_room(self) -> None:
        branches, members = self.sprouts[:2]
        more = np.zeros(2 * len(branches), branches.dtype)
        more[: self.row] = branches[: self.row]
        longer = np.empty(2 * len(members), np.int64)
        longer[: self.member] = members[: self.member]
        self.sprouts = self.sprouts._replace(branches=more, members=longer)

    def _collect(self, pairs: IntArray, complete: bool) -> CornerTrees:
        """Draw every tree; of each set of leaves the shortest is kept."""
        from .growth_kernels import draw, new_drawn

        places = self.ground.places
        best = []
        for tree in self.sprouts.trees.items[: self.known]:
            branch, root = int(tree["branch"]), int(tree["root"])
            own = self.sprouts.branches[branch]
            size, start = int(own["size"]), int(own["start"])
            drawn = new_drawn(size)
            length = float(draw(places, self.sprouts, branch, root, drawn))
            leaves = np.append(self.sprouts.members[start : start + size], root)
            steiner = drawn.spots[size + 1 :].view(np.float64).reshape(-1, 2).copy()
            best.append((length, leaves, steiner, drawn.edges))
        line = np.array([[0, 1]])
        listed = [
            (float(abs(places[u] - places[v])), np.array([u, v]), np.empty((0, 2)), line)
            for u, v in pairs.tolist()
        ]
        listed.extend(best)
        return CornerTrees(
            [one[1] for one in listed],
            [one[2] for one in listed],
            [one[3] for one in listed],
            np.array([one[0] for one in listed]),
            complete,
            self.row - len(places),
        )
