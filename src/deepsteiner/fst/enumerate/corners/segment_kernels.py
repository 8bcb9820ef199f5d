"""Trees around obstacles that end at a right angle inside a segment of an existing network.

Of all shortest trees take one with the most full trees, and of these one with the fewest leaves
inside segments. A full tree of it has at most one: with two, both slide along their segments while
all edges keep their directions, and the length does not change (see `networks.site_kernels`). They
slide until a leaf is at an end, or an edge vanishes, or an edge meets a corner of an obstacle:
there it can be cut into two, which makes more full trees. Where an obstacle touches a segment, as
where a line enters it, an edge may end at any angle: these places are nodes.
"""

from __future__ import annotations

import numpy as np

from ....core.jit import njit
from ....plane.contact_kernels import foot
from ....plane.sight_kernels import Complexes, Ints
from ..complete.arc_kernels import norm
from ..complete.bottleneck_kernels import Records
from ..complete.forest_kernels import MIN_EDGE, trunk
from ..networks.growth_kernels import head_on
from .block_kernels import is_free
from .branch_kernels import Sprouts
from .growth_kernels import draw, may_be_needed, new_drawn
from .landscape_kernels import TIE, Landscape, is_allowed

ENDED = np.dtype(
    [
        ("branch", np.int64),
        ("segment", np.int64),
        ("length", np.float64),
        ("end", np.complex128),  # where the root edge ends
    ],
    align=True,
)


@njit(cache=True, error_model="numpy")
def end_length(
    ground: Landscape, sprouts: Sprouts, branch: int, anchor: int, end: complex
) -> float:
    """Length of the tree that a place of a part closes, its Simpson line; -1 where none may be.

    The place lies ahead, in a direction of the branch's arc; `anchor` is a node of the part.
    """
    own = sprouts.branches[branch]
    cost = np.inf
    for position in range(own.start, own.start + own.size):
        cost = min(cost, ground.special[sprouts.members[position], anchor])
    line = end - own.equilateral
    length = norm(line)
    edge = length - trunk(own, line) / length
    if edge < MIN_EDGE or edge > ground.longest + TIE or cost < 0.0:
        return -1.0
    return -1.0 if edge > cost + TIE or length > own.bound + cost + TIE else length


@njit(cache=True, error_model="numpy")
def close_on_segments(
    ground: Landscape, sprouts: Sprouts, low: int, high: int, budget: int, found: Records
) -> tuple[int, int]:
    """Close branches low..high inside segments; write the trees, of ENDED, to `found`.

    Returns the next branch and the number of trees. Ends early, before a branch, where there may
    be no room for all trees of the next.
    """
    count, many = 0, len(ground.tails)
    drawn = new_drawn(sprouts.branches[low].size)
    spots: Complexes = np.append(ground.places, 0j)
    last = len(ground.places)
    while low < high and budget > 0 and count + many <= len(found):
        own = sprouts.branches[low]
        for k in range(many):
            budget -= 1
            end = head_on(own.equilateral, own.a, own.b, ground.tails[k], ground.heads[k])
            if end != end or end_length(ground, sprouts, low, ground.anchors[k], end) < 0.0:
                continue
            budget -= 50
            spots[last] = end
            length = draw(spots, sprouts, low, last, drawn)
            if may_be_needed(ground, sprouts, low, ground.anchors[k], drawn):
                tree = found[count]
                tree.branch, tree.segment, tree.length, tree.end = low, k, length, end
                count += 1
        low += 1
    return low, count


@njit(cache=True, error_model="numpy")
def feet_of_nodes(ground: Landscape) -> tuple[Ints, Ints, Complexes]:
    """Trees of two leaves, one inside a segment: the node, the segment and the place."""
    many, count = len(ground.tails), 0
    nodes, segments = np.empty(64, np.int64), np.empty(64, np.int64)
    feet = np.empty(64, np.complex128)
    for u in range(len(ground.places)):
        for k in range(many):
            p = ground.places[u]
            end = foot(ground.tails[k], ground.heads[k], p)
            if (
                end == ground.tails[k]
                or end == ground.heads[k]
                or norm(end - p) > ground.special[u, ground.anchors[k]] + TIE
                or not is_allowed(ground, u, end - p)
                or not is_free(ground.blocks, p, end)
            ):
                continue
            if count == len(nodes):
                nodes, segments = np.append(nodes, nodes), np.append(segments, segments)
                feet = np.append(feet, feet)
            nodes[count], segments[count], feet[count] = u, k, end
            count += 1
    return nodes[:count].copy(), segments[:count].copy(), feet[:count].copy()
