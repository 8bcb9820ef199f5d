"""An index of branches: trees of boxes in which the partners of a branch are found.

Each tree is a k-d tree [1] over place and direction. A box knows how far its branches reach, so
what is looked at depends on the points around and not on the widest gap anywhere. Terminals have a
tree of their own. The others are kept by the logarithmic method [2]: a new level is put into one
tree with those before it that are not larger, so there are few trees and each branch is moved
seldom. One search then finds the partners of all smaller sizes; they wait in a list for each size
until that size is grown.

[1] J. L. Bentley, Multidimensional binary search trees used for associative searching,
    Communications of the ACM 18 (1975).
[2] J. L. Bentley and J. B. Saxe, Decomposable searching problems I, Journal of Algorithms 1 (1980).
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ....core.jit import njit
from .arc_kernels import cross, dot, lean, turn
from .bottleneck_kernels import Floats, Ground, Ints, Records
from .forest_kernels import MASK_BITS, Forest, is_member
from .reach_kernels import longest_between

LEAF = 8
"""Most branches of a box that is not split."""
LARGER = 4
"""A tree is put together with the branches after it unless it is so many times as large."""
MOST_TREES = 64
"""Each tree is larger than the next by that factor, so there are always fewer."""
EVERYWHERE = 4.0
"""More than half a turn: the directions of a terminal."""

ITEM = np.dtype(
    [
        ("branch", np.int32),
        ("leftmost", np.int32),  # the terminals at the ends of its outer paths
        ("rightmost", np.int32),
        ("place", np.complex128),
        ("angle", np.float64),
        ("width", np.float64),
        ("spread", np.float64),
        ("reach", np.float64),
    ],
    align=True,
)
BOX = np.dtype(
    [
        ("low", np.complex128),  # corners around the places
        ("high", np.complex128),
        ("angle", np.float64),  # middle of the directions
        ("width", np.float64),  # half their range
        ("spread", np.float64),  # the largest
        ("reach", np.float64),
        ("first", np.int64),  # items
        ("last", np.int64),
        ("skip", np.int64),  # the box after those inside this one, which come first
    ],
    align=True,
)


class Index(NamedTuple):
    """Trees of boxes, the terminals' first; a tree's boxes come parents first."""

    items: Records  # of ITEM: in each tree a permutation of consecutive branches
    boxes: Records  # of BOX
    starts: Ints  # first item of each tree, and where the last tree ends
    roots: Ints  # first box of each tree, and where the last tree ends
    trees: Ints  # their number, alone
    reach: Floats  # (terminals, sectors) longest edge that can leave, by direction


class Sight(NamedTuple):
    """Where the siblings to the right (or left) of branches are, and where they lead."""

    corner: complex  # the branches are between this corner ...
    far_corner: complex  # ... and this one
    spread: float
    reach: float
    low: complex  # directions in which they are seen: from low counter-clockwise to high
    high: complex
    angle: float  # direction in which they leave
    width: float


class Partners(NamedTuple):
    """How a search for partners went."""

    hits: int
    tried: int  # branches and boxes looked at


@njit(cache=True, error_model="numpy")
def new_index(rows: int, reach: Floats) -> Index:
    """Room for so many branches."""
    return Index(
        np.empty(rows, ITEM),
        np.empty(rows // (LEAF // 4) + MOST_TREES, BOX),
        np.zeros(MOST_TREES + 1, np.int64),
        np.zeros(MOST_TREES + 1, np.int64),
        np.zeros(1, np.int64),
        reach,
    )


@njit(cache=True, error_model="numpy", nogil=True)
def enter_branches(index: Index, branches: Records, low: int, high: int) -> None:
    """Put the branches low..high, which follow the ones in the index, into a tree."""
    if low == high:
        return
    enter_items(index, branches, low, high)
    begin = begin_tree(index, low, high)
    plant(index, begin, high, depth_of(high - begin), index.roots[index.trees[0]])
    end_tree(index, begin, high)


@njit(cache=True, error_model="numpy", nogil=True)
def enter_items(index: Index, branches: Records, low: int, high: int) -> None:
    """Note what the index has to know of the branches low..high."""
    for row in range(low, high):
        own, item = branches[row], index.items[row]
        item.branch = item.leftmost = item.rightmost = row
        while branches[item.leftmost].size > 1:
            item.leftmost = branches[item.leftmost].left
        while branches[item.rightmost].size > 1:
            item.rightmost = branches[item.rightmost].right
        item.place, item.spread, item.reach = own.place, own.spread, own.reach
        item.angle, item.width = own.angle, own.width if own.size > 1 else EVERYWHERE


@njit(cache=True, error_model="numpy", nogil=True)
def begin_tree(index: Index, low: int, high: int) -> int:
    """Take down the trees that join the items low..high; return the first item of all these."""
    starts, trees = index.starts, index.trees
    begin = low
    while trees[0] > 1 and begin - starts[trees[0] - 1] <= LARGER * (high - begin):
        trees[0] -= 1
        begin = starts[trees[0]]
    return begin


@njit(cache=True, error_model="numpy", nogil=True)
def end_tree(index: Index, begin: int, high: int) -> None:
    """Enter the tree of the items begin..high, which stands."""
    starts, roots, trees = index.starts, index.roots, index.trees
    starts[trees[0]] = begin
    end = roots[trees[0]] + boxes_of(depth_of(high - begin))
    trees[0] += 1
    starts[trees[0]], roots[trees[0]] = high, end


@njit(cache=True, error_model="numpy", nogil=True)
def depth_of(count: int) -> int:
    """How many times so many items are halved."""
    depth = 0
    while count > LEAF << depth:
        depth += 1
    return depth


@njit(cache=True, error_model="numpy", nogil=True)
def boxes_of(depth: int) -> int:
    """How many boxes a tree of that depth has."""
    return (2 << depth) - 1


@njit(cache=True, error_model="numpy", nogil=True)
def plant(index: Index, low: int, high: int, depth: int, root: int) -> None:
    """Make a tree of the items low..high, its boxes from `root` on."""
    firsts, lasts = np.empty(MOST_TREES, np.int64), np.empty(MOST_TREES, np.int64)
    depths = np.empty(MOST_TREES, np.int64)
    firsts[0], lasts[0], depths[0] = low, high, depth
    waiting = 1
    while waiting > 0:
        waiting -= 1
        first, last, depth = firsts[waiting], lasts[waiting], depths[waiting]
        middle = split(index, first, last, depth, root)
        root += 1
        if depth > 0:
            firsts[waiting], lasts[waiting], depths[waiting] = middle, last, depth - 1
            firsts[waiting + 1], lasts[waiting + 1] = first, middle
            depths[waiting + 1] = depth - 1
            waiting += 2


@njit(cache=True, error_model="numpy", nogil=True)
def split(index: Index, first: int, last: int, depth: int, root: int) -> int:
    """Make the box `root` around some items, and halve these unless the depth is 0."""
    box = index.boxes[root]
    axis = enclose(index.items, first, last, box)
    box.skip = root + boxes_of(depth)
    middle = (first + last) // 2
    if depth > 0:
        halve(index.items, first, last, middle, axis)
    return middle


@lean
def enclose(items: Records, first: int, last: int, box: Any) -> int:
    """Fill in the box of some items; return the axis to split it by.

    That is the one along which a box is longest beside what a search spans: the reach of two
    branches, or the directions of two.
    """
    x_low = y_low = a_low = np.inf
    x_high = y_high = a_high = -np.inf
    spread = reach = 0.0
    span, turned = 0.0, 0.0
    for k in range(first, last):
        item = items[k]
        x, y = item.place.real, item.place.imag
        x_low, x_high, y_low, y_high = min(x_low, x), max(x_high, x), min(y_low, y), max(y_high, y)
        a_low, a_high = min(a_low, item.angle - item.width), max(a_high, item.angle + item.width)
        spread, reach = max(spread, item.spread), max(reach, item.reach)
        span += item.reach + item.spread
        turned += item.width
    box.first, box.last = first, last
    box.low, box.high = complex(x_low, y_low), complex(x_high, y_high)
    box.angle, box.width = 0.5 * (a_low + a_high), 0.5 * (a_high - a_low)
    box.spread, box.reach = spread, reach
    wide, tall = (x_high - x_low) * turned, (y_high - y_low) * turned
    if (a_high - a_low) * span > 2.0 * max(wide, tall):
        return 2
    return 1 if tall > wide else 0


@lean
def halve(items: Records, first: int, last: int, middle: int, axis: int) -> None:
    """Bring the smaller half of some items along an axis in front of the middle (Hoare's find)."""
    last -= 1
    while first < last:
        pivot = along(items[(first + last) // 2], axis)
        i, j = first, last
        while i <= j:
            while along(items[i], axis) < pivot:
                i += 1
            while along(items[j], axis) > pivot:
                j -= 1
            if i <= j:
                exchange(items[i], items[j])
                i += 1
                j -= 1
        if middle <= j:
            last = j
        elif middle >= i:
            first = i
        else:
            return


@lean
def along(item: Any, axis: int) -> float:
    """Where an item is on an axis: abscissa, ordinate or direction."""
    if axis == 2:
        return float(item.angle)
    return float(item.place.imag if axis else item.place.real)


@lean
def exchange(one: Any, two: Any) -> None:
    """Let two items change places."""
    one.branch, two.branch = two.branch, one.branch
    one.leftmost, two.leftmost = two.leftmost, one.leftmost
    one.rightmost, two.rightmost = two.rightmost, one.rightmost
    one.place, two.place = two.place, one.place
    one.angle, two.angle = two.angle, one.angle
    one.width, two.width = two.width, one.width
    one.spread, two.spread = two.spread, one.spread
    one.reach, two.reach = two.reach, one.reach


@lean
def sight_of(own: Any, swap: int) -> Sight:
    """Where the siblings to the right (swap: left) of a branch are.

    A sibling is seen between the branch's own direction and 60 degrees to the right (left) of it;
    it leaves in a direction 120 degrees to the left (right). Terminals see all around.
    """
    if own.size == 1:
        return Sight(own.place, own.place, own.spread, own.reach, 0j, 0j, 0.0, EVERYWHERE)
    low, high = (own.a, turn(own.b, 1)) if swap else (turn(own.a, -1), own.b)
    angle, width = own.angle + (2.0 - 4.0 * swap) * np.pi / 3.0, own.width + 1e-9
    return Sight(own.place, own.place, own.spread, own.reach, low, high, angle, width)


@lean
def sight_of_all(branches: Records, group: Ints, count: int, swap: int) -> Sight:
    """Where the siblings of some branches, none of them a terminal, are."""
    x_low = y_low = a_low = np.inf
    x_high = y_high = a_high = -np.inf
    spread = reach = 0.0
    for k in range(count):
        own = branches[group[k]]
        x, y, width = own.place.real, own.place.imag, own.width + 1e-9
        x_low, x_high, y_low, y_high = min(x_low, x), max(x_high, x), min(y_low, y), max(y_high, y)
        a_low, a_high = min(a_low, own.angle - width), max(a_high, own.angle + width)
        spread, reach = max(spread, own.spread), max(reach, own.reach)
    low = high = 0j
    if a_high - a_low < np.pi / 2.0:  # else what they see is no wedge
        first, last = a_low - (1 - swap) * np.pi / 3.0, a_high + swap * np.pi / 3.0
        low = complex(math.cos(first), math.sin(first))
        high = complex(math.cos(last), math.sin(last))
    angle, width = 0.5 * (a_low + a_high), 0.5 * (a_high - a_low)
    angle += (2.0 - 4.0 * swap) * np.pi / 3.0
    corner, far_corner = complex(x_low, y_low), complex(x_high, y_high)
    return Sight(corner, far_corner, spread, reach, low, high, angle, width)


@lean
def turned_apart(one: float, two: float) -> float:
    """The angle between two directions that are given by angles, each at most a turn from 0."""
    apart = abs(one - two)
    return min(apart, abs(apart - 2.0 * np.pi))


@lean
def is_out_of_reach(square: float, one: float, two: float, slack: float) -> bool:
    """Whether two branches are too far apart to meet, given their squared distance and reaches.

    The new edges meet at 120 degrees, so |way| > third side + slack; written without the roots.
    """
    third = one * one + (one + two) * two
    beyond = square - third - slack * slack
    return bool(beyond > 0.0 and beyond * beyond > 4.0 * third * slack * slack)


@lean
def may_hold(box: Any, sight: Sight) -> bool:
    """Whether a box may hold a partner."""
    if turned_apart(box.angle, sight.angle) > box.width + sight.width:
        return False
    slack = sight.spread + box.spread
    low, high = box.low - sight.far_corner, box.high - sight.corner
    right, up = max(low.real, -high.real, 0.0), max(low.imag, -high.imag, 0.0)
    if is_out_of_reach(right * right + up * up, sight.reach, box.reach, slack):
        return False
    # cross(sight.low, way) and cross(sight.high, way) are linear: their extremes are in corners
    u, v = sight.low, sight.high
    most = max(u.real * low.imag, u.real * high.imag) - min(u.imag * low.real, u.imag * high.real)
    least = min(v.real * low.imag, v.real * high.imag) - max(v.imag * low.real, v.imag * high.real)
    return bool(most >= -slack and least <= slack)


@lean
def is_seen(item: Any, sight: Sight) -> bool:
    """Whether an item may be a partner of the one branch whose sight is given."""
    if turned_apart(item.angle, sight.angle) > item.width + sight.width:
        return False
    slack, way = sight.spread + item.spread, item.place - sight.corner
    if is_out_of_reach(dot(way, way), sight.reach, item.reach, slack):
        return False
    return bool(cross(sight.low, way) >= -slack and cross(sight.high, way) <= slack)


@lean
def next_leaf(boxes: Records, node: int, end: int, sight: Sight) -> tuple[int, int]:
    """The next box, from `node` on, that is not split and may hold a partner; how many were seen.

    At the end there is none.
    """
    seen = 0
    while node < end:
        seen += 1
        box = boxes[node]
        if not may_hold(box, sight):
            node = box.skip
        elif box.skip == node + 1:
            break
        else:
            node += 1
    return node, seen


@lean
def terminals_for(
    ground: Ground, forest: Forest, index: Index, one: int, swap: int, found: Ints
) -> Partners:
    """Find the terminals that can be the right (swap: left) sibling of a branch.

    Of two terminals the first in order looks for the second.
    """
    own = forest.branches[one]
    sight = sight_of(own, swap)
    exact_masks = len(ground.points) <= MASK_BITS
    hits, tried = 0, 0
    node, end = index.roots[0], index.roots[1]
    while True:
        node, seen = next_leaf(index.boxes, node, end, sight)
        tried += seen
        if node >= end:
            return Partners(hits, tried)
        box = index.boxes[node]
        tried += box.last - box.first
        node += 1
        for k in range(box.first, box.last):
            item = index.items[k]
            t = item.branch
            if not is_seen(item, sight) or (own.size == 1 and t <= one):
                continue
            if is_beyond(index.reach, own, one, t, item.place - own.place, swap):
                continue
            if not is_member(forest, one, t, exact_masks):
                found[hits] = t
                hits += 1


@lean
def is_beyond(reach: Floats, own: Any, one: int, terminal: int, way: complex, swap: int) -> bool:
    """Whether a terminal is too far away in the directions in which it can leave."""
    if own.size > 1:
        angle = own.angle + (2.0 - 4.0 * swap) * np.pi / 3.0
        width = own.width + 1e-9
        far = longest_between(reach, terminal, angle - width, angle + width)
        return is_out_of_reach(dot(way, way), own.reach, far, own.spread)
    # Each sees the other between its own direction and 60 degrees beside it.
    angle, sixth = math.atan2(way.imag, way.real), (1.0 - 2.0 * swap) * np.pi / 3.0
    low, high = min(angle, angle + sixth) - 1e-9, max(angle, angle + sixth) + 1e-9
    near = longest_between(reach, one, low, high)
    angle += np.pi
    low, high = min(angle, angle - sixth) - 1e-9, max(angle, angle - sixth) + 1e-9
    far = longest_between(reach, terminal, low, high)
    return is_out_of_reach(dot(way, way), near, far, own.spread)
