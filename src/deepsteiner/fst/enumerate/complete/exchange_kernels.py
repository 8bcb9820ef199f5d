"""Exchanges of a whole branch for the edge to one terminal: an upper bound in each direction.

Up to a place s, which the tree reaches with it, a branch is L long. It can be exchanged for the
edge from s to a terminal y and for links along the spanning tree, which connect y and the terminals
of the branch. If that is no longer, the branch is not needed: the links make more full trees, so
ties may be dropped. For a leaf this is the lune property: y takes its place, which leaves as many
full trees, so y must be nearer to s by more than TIE, and nearer to the leaf than s is.

Upper bounds are those of P. Winter and M. Zachariasen, Euclidean Steiner minimum trees: an improved
exact algorithm, Networks 30 (1997). That y need not be in the branch is ours, and so is the angle:
it is what makes the test bite in clusters, where all that can be won is small beside the edges.
"""

from __future__ import annotations

from .arc_kernels import lean, norm
from .bottleneck_kernels import Ground, are_beyond
from .forest_kernels import TIE, Forest

NEIGHBOURS = 8
"""How far from a terminal of the branch, in merge order, y is looked for."""


@lean
def turn_until_even(excess: float, a: complex, b: complex, s: complex, speed: float) -> float:
    """Angle for which |as| - |bs| falls by less than `excess` while s moves at most at a speed.

    The difference changes at most at the speed times |as / |as| - bs / |bs||, which is at most
    2 |ab| / (|as| + |bs|) [1]: hardly at all where a and b are close and s is far. Meanwhile the
    denominator D shrinks at most at twice the speed. With x = excess / |ab|, the difference has
    fallen by the excess after an angle of D (1 - exp(-x)) / (2 speed) at the earliest;
    x / (1 + x) < 1 - exp(-x) spares the exponential.

    [1] C. F. Dunkl and K. S. Williams, A simple norm inequality, American Mathematical Monthly 71
        (1964).
    """
    both = norm(a - s) + norm(b - s)
    return both * excess / (2.0 * speed * (norm(a - b) + excess))


@lean
def blocked_by_one(ground: Ground, forest: Forest, branch: int, s: complex, speed: float) -> float:
    """Angle ruled out because one terminal does as well as the branch; s moves at most at a speed.

    Terminals of the branch need no link. Others are looked for among their neighbours in merge
    order, where the link of a neighbour is the longest gap on the way to it.
    """
    gaps, members, own = ground.gaps, forest.members, forest.branches[branch]
    begin, end, leaf = own.start, own.start + own.size, own.size == 1
    angle = 0.0
    # What the edge to y and its link may cost, all others being linked; a leaf leaves none to link.
    room = norm(s - own.equilateral) - own.bound + (-TIE if leaf else TIE)
    for k in range(begin, end):
        t = members[k]
        if not leaf:
            angle = max(angle, blocked_by(ground, forest, branch, s, speed, t, room))
        low = members[k - 1] if k > begin else -1
        high = members[k + 1] if k + 1 < end else len(ground.points)
        link = 0.0
        for y in range(t + 1, min(high, t + NEIGHBOURS + 1)):
            link = max(link, gaps[0, y - 1])
            if link >= room or are_beyond(ground.part, t, y, NEIGHBOURS):
                break
            most = room if leaf else room - link
            angle = max(angle, blocked_by(ground, forest, branch, s, speed, y, most))
        link = 0.0
        for y in range(t - 1, max(low, t - NEIGHBOURS - 1), -1):
            link = max(link, gaps[0, y])
            if link >= room or are_beyond(ground.part, t, y, NEIGHBOURS):
                break
            most = room if leaf else room - link
            angle = max(angle, blocked_by(ground, forest, branch, s, speed, y, most))
    return angle


@lean
def blocked_by(
    ground: Ground, forest: Forest, branch: int, s: complex, speed: float, y: int, room: float
) -> float:
    """Angle ruled out by the terminal y, to which the edge from s may cost at most the room."""
    own, spot = forest.branches[branch], ground.points[y]
    to_y = norm(spot - s)
    if to_y >= room:
        return 0.0
    angle = turn_until_even(room - to_y, own.equilateral, spot, s, speed)
    if own.size == 1:  # s must also stay farther from the leaf than y is
        angle = min(angle, (room - norm(spot - own.equilateral)) / speed)
    return angle
