"""Generation of full Steiner trees over terminals, corners and segments of existing networks."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ....core.points import FloatArray, IntArray
from .generate import CornerTrees, KeepGoing, _Growth

if TYPE_CHECKING:
    from .landscape_kernels import Landscape

SLICE = 50_000
"""What a kernel call may cost, in pairs looked at: some milliseconds."""


@dataclass(frozen=True)
class SegmentTrees:
    """Full Steiner trees that end at leaves, or with one leaf inside a segment.

    Attributes
    ----------
    corners
        Those whose leaves are nodes.
    leaves
        The leaves of each of the others but one.
    places
        The place on a segment, which is the last leaf, then the Steiner points of each.
    edges
        Its edges over (leaves, places).
    segments
        The segment of each.
    length
        The length of each.
    """

    corners: CornerTrees
    leaves: list[IntArray]
    places: list[FloatArray]
    edges: list[IntArray]
    segments: list[int]
    length: list[float]

    @property
    def complete(self) -> bool:
        """Whether some shortest tree is a union of trees of the lists."""
        return self.corners.complete


def generate_with_segments(
    ground: Landscape, seen: np.ndarray, keep_going: KeepGoing | None = None
) -> SegmentTrees:
    """List full Steiner trees of which some shortest tree is composed.

    Parameters
    ----------
    ground
        Terminals, vertices of the network, corners in play; the segments.
    seen
        Which nodes see each other.
    keep_going
        Called as (phase, done, total) every few milliseconds; False stops.
    """
    growth = _SegmentGrowth(ground, keep_going)
    corners = growth.run(seen)
    return growth.with_ends(corners)


class _SegmentGrowth(_Growth):
    """A run that also closes branches inside segments."""

    def __init__(self, ground: Landscape, keep_going: KeepGoing | None) -> None:
        super().__init__(ground, keep_going)
        self.found: list[Any] = []

    def _close(self, size: int, first_root: int = 0) -> bool:
        from .segment_kernels import ENDED, close_on_segments

        if not super()._close(size, first_root):
            return False
        low, high = self.first[size], self.first[size + 1]
        room = np.empty(4096 + len(self.ground.tails), ENDED)
        while low < high:
            low, count = close_on_segments(self.ground, self.sprouts, low, high, SLICE, room)
            self.found.append(room[:count].copy())
            if not self.keep_going(f"ending trees of {size + 1} leaves on the network", low, high):
                return False
        return True

    def with_ends(self, corners: CornerTrees) -> SegmentTrees:
        """Return the trees whose leaves are nodes, and draw those that end inside a segment."""
        from .growth_kernels import draw, new_drawn
        from .segment_kernels import feet_of_nodes

        made = SegmentTrees(corners, [], [], [], [], [])
        nodes, segments, feet = feet_of_nodes(self.ground)
        places = self.ground.places
        for u, k, foot in zip(nodes.tolist(), segments.tolist(), feet.tolist(), strict=True):
            made.leaves.append(np.array([u]))
            made.places.append(np.array([[foot.real, foot.imag]]))
            made.edges.append(np.array([[0, 1]]))
            made.segments.append(k)
            made.length.append(float(abs(places[u] - foot)))
        spots = np.append(places, 0j)
        for tree in itertools.chain(*self.found):
            branch = int(tree["branch"])
            own = self.sprouts.branches[branch]
            size, start = int(own["size"]), int(own["start"])
            spots[-1] = tree["end"]
            drawn = new_drawn(size)
            length = draw(spots, self.sprouts, branch, len(places), drawn)
            made.leaves.append(self.sprouts.members[start : start + size].copy())
            made.places.append(drawn.spots[size:].view(np.float64).reshape(-1, 2).copy())
            made.edges.append(drawn.edges)
            made.segments.append(int(tree["segment"]))
            made.length.append(float(length))
        return made
