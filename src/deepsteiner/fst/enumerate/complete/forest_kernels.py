"""How branches and trees are stored, and what only depends on their terminal sets."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .arc_kernels import lean
from .bottleneck_kernels import Floats, Ints, bottleneck

TIE = 1e-13
"""Alternatives longer by less than this count as equally short."""
MIN_EDGE = 1e-12
"""Trees with shorter edges are left to the smaller trees they fall apart into.

An edge at a leaf that shrinks to nothing splits the tree there. One between two Steiner points
leaves edges that meet at 60 degrees, which are shorter joined the other way; terminals are at least
14 times as far apart (`core.coincident`), so such edges are long enough for that to be clear.
"""

# columns of shape: equilateral point E, centre C, ends A and B of the directions, their middle U
# and its ANGLE, cosine, sine and angle (WIDTH) of half the interval, place M of the Steiner point
# in direction U and its distance SPREAD to the places of the ends, cost BOUND of reconnecting the
# terminals in another way, longest edge REACH that can leave
EX, EY, CX, CY, AX, AY, BX, BY, UX, UY, COS, SIN, MX, MY, SPREAD, BOUND, REACH = range(17)
ANGLE, WIDTH = 17, 18
# and, for terminals only, a scratch value
NEAR = 19
SHAPE_COLUMNS = 20
# columns of link: children, number of terminals, where they begin in members, set key, bit filter
LEFT, RIGHT, SIZE, START, KEY, MASK = range(6)
LINK_COLUMNS = 6
MASK_BITS = 63
"""Of up to this many terminals each has its own bit."""
# columns of tree_link
TREE_BRANCH, TREE_ROOT, TREE_KEY = range(3)

WORK_SIZE = 24
"""Branches of at most this many terminals are tested vertex by vertex."""


class Forest(NamedTuple):
    """All branches so far; branch t < n is terminal t."""

    shape: Floats  # (capacity, SHAPE_COLUMNS)
    link: Ints  # (capacity, LINK_COLUMNS)
    members: Ints  # sorted terminals of each branch
    stack: Ints  # (n + 1, 3) scratch
    work: Floats  # (2 WORK_SIZE + 1, 2 WORK_SIZE, 3) scratch


class Trees(NamedTuple):
    """Full Steiner trees found so far: a branch and the terminal that closes it."""

    tree_link: Ints  # (capacity, 3)
    tree_length: Floats
    table: Ints  # open addressing by set key; tree number + 1


@lean
def find_tree(
    tree_link: Ints, table: Ints, link: Ints, members: Ints, key: int, branch: int, extra: int
) -> int:
    """Number of the known tree over the terminals of a branch and one more (-1: none)."""
    mask = len(table) - 1
    slot = (key ^ (key >> 29)) & mask
    while table[slot] != 0:
        tree = table[slot] - 1
        if tree_link[tree, TREE_KEY] == key and same_set(
            link, members, tree_link[tree, TREE_BRANCH], tree_link[tree, TREE_ROOT], branch, extra
        ):
            return int(tree)
        slot = (slot + 1) & mask
    return -1


@lean
def same_set(link: Ints, members: Ints, other: int, root: int, branch: int, extra: int) -> bool:
    """Whether branch `other` and its root span the terminals of `branch` and `extra` (-1: none)."""
    size = link[other, SIZE] + 1
    own = link[branch, SIZE]
    pending = extra >= 0
    if own + pending != size:
        return False
    first, second = link[other, START], link[branch, START]
    j = 0
    for i in range(size):
        expected = root if i == size - 1 else members[first + i]
        if pending and (j == own or extra < members[second + j]):
            value = extra
            pending = False
        else:
            value = members[second + j]
            j += 1
        if value != expected:
            return False
    return True


@lean
def insert_key(table: Ints, key: int, tree: int) -> None:
    """Enter a new tree into the hash table."""
    mask = len(table) - 1
    slot = (key ^ (key >> 29)) & mask
    while table[slot] != 0:
        slot = (slot + 1) & mask
    table[slot] = tree + 1


@lean
def rehash(tree_link: Ints, table: Ints, count: int) -> None:
    """Fill an empty hash table with the first `count` trees."""
    for tree in range(count):
        insert_key(table, tree_link[tree, TREE_KEY], tree)


@lean
def disjoint(link: Ints, members: Ints, one: int, two: int, exact_masks: bool) -> bool:
    """Whether two branches share no terminal."""
    if link[one, MASK] & link[two, MASK] == 0:
        return True
    if exact_masks:
        return False
    i, j = link[one, START], link[two, START]
    i_end, j_end = i + link[one, SIZE], j + link[two, SIZE]
    while i < i_end and j < j_end:
        if members[i] == members[j]:
            return False
        if members[i] < members[j]:
            i += 1
        else:
            j += 1
    return True


@lean
def link_cost(gaps: Floats, link: Ints, members: Ints, branch: int, terminal: int) -> float:
    """Bottleneck distance from a terminal to the nearest one of a branch."""
    cheapest = np.inf
    begin = link[branch, START]
    for position in range(begin, begin + link[branch, SIZE]):
        t = members[position]
        if t == terminal:
            return 0.0
        cheapest = min(cheapest, bottleneck(gaps, min(t, terminal), max(t, terminal)))
    return float(cheapest)


@lean
def quick_link(gaps: Floats, link: Ints, members: Ints, left: int, right: int) -> float:
    """Bottleneck distance of some pair of the two sides: at least that of the closest pair."""
    i, j = members[link[left, START]], members[link[right, START] + link[right, SIZE] - 1]
    first = bottleneck(gaps, min(i, j), max(i, j))
    i, j = members[link[left, START] + link[left, SIZE] - 1], members[link[right, START]]
    return min(first, bottleneck(gaps, min(i, j), max(i, j)))


@lean
def merge_members(
    gaps: Floats, shape: Floats, link: Ints, members: Ints, left: int, right: int, where: int
) -> tuple[float, float]:
    """Write the sorted union and, as NEAR, each member's bottleneck distance to the other side.

    Returns the cheapest link between the two (disjoint) sides and the length of the minimum
    spanning tree of the union under bottleneck distances.
    """
    i, j = link[left, START], link[right, START]
    i_end, j_end = i + link[left, SIZE], j + link[right, SIZE]
    k = where
    between, spanning = np.inf, 0.0
    # Distances from the current terminal back to the last one of either side.
    from_left, from_right = np.inf, np.inf
    previous = int(np.int64(-1))
    previous_left = False
    while i < i_end or j < j_end:
        is_left = j == j_end or (i < i_end and members[i] < members[j])
        if is_left:
            t = members[i]
            i += 1
        else:
            t = members[j]
            j += 1
        if previous >= 0:
            gap = bottleneck(gaps, previous, t)
            spanning += gap
            if previous_left:
                from_left, from_right = gap, max(from_right, gap)
            else:
                from_left, from_right = max(from_left, gap), gap
            if previous_left != is_left and gap < between:
                between = gap
        shape[t, NEAR] = from_right if is_left else from_left
        members[k] = t
        k += 1
        previous, previous_left = t, is_left
    # Backwards: the nearest member of the other side may come later in the order.
    from_left, from_right = np.inf, np.inf
    i = i_end - 1
    i_low = link[left, START]
    following = int(np.int64(-1))
    for position in range(k - 1, where - 1, -1):
        t = members[position]
        is_left = i >= i_low and members[i] == t
        if following >= 0:
            gap = bottleneck(gaps, t, following)
            if previous_left:
                from_left, from_right = gap, max(from_right, gap)
            else:
                from_left, from_right = max(from_left, gap), gap
        shape[t, NEAR] = min(shape[t, NEAR], from_right if is_left else from_left)
        if is_left:
            i -= 1
        following, previous_left = t, is_left
    return between, spanning
