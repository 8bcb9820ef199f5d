"""How branches and trees are stored, and what only depends on their terminal sets."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ....core.jit import njit
from .arc_kernels import dot, lean, turn
from .bottleneck_kernels import Floats, Ints, Records, bottleneck

TIE = 1e-13
"""Alternatives longer by less than this count as equally short.

Coordinates are at most 1, so a length of some units carries an error of some 1e-16 per edge: even
the sum of hundreds of edges is exact up to TIE.
"""
MIN_EDGE = 1e-12
"""Trees with shorter edges are left to the smaller trees they fall apart into.

An edge at a leaf that shrinks to nothing splits the tree there. One between two Steiner points
leaves edges that meet at 60 degrees, which are shorter joined the other way; terminals are at least
14 times as far apart (`core.coincident`), so such edges are long enough for that to be clear.
"""
MASK_BITS = 63
"""Of up to this many terminals each has its own bit."""
MOST_TESTED = 24
"""Branches of at most this many terminals are tested vertex by vertex."""

BRANCH = np.dtype(
    [
        ("left", np.int64),  # children, -1 for a terminal
        ("right", np.int64),
        ("size", np.int64),  # number of terminals
        ("start", np.int64),  # where they begin among the members
        ("key", np.int64),  # sum of their `set_key`s
        ("mask", np.int64),  # bit filter of them
        ("equilateral", np.complex128),  # E, the equilateral point
        ("centre", np.complex128),  # C, centre of the circle on which the Steiner point must lie
        ("a", np.complex128),  # ends of the arc of directions
        ("b", np.complex128),
        ("middle", np.complex128),  # the direction in the middle of them
        ("place", np.complex128),  # the Steiner point in that direction
        ("cosine", np.float64),  # of half the arc
        ("sine", np.float64),
        ("angle", np.float64),  # of the middle direction
        ("width", np.float64),  # half the arc, as an angle
        ("spread", np.float64),  # how far from `place` the Steiner point can be
        ("bound", np.float64),  # cost of reconnecting the terminals in another way
        ("reach", np.float64),  # longest edge that can leave
    ],
    align=True,
)
TREE = np.dtype(
    [
        ("branch", np.int64),
        ("root", np.int64),  # the terminal that closes it
        ("key", np.int64),
        ("length", np.float64),
    ],
    align=True,
)

VISIT = np.dtype([("node", np.int64), ("turned", np.int64), ("parent", np.int64)], align=True)
VERTEX = np.dtype([("place", np.complex128), ("rate", np.float64)], align=True)
PATH = np.dtype([("longest", np.float64), ("rate", np.float64)], align=True)


class Forest(NamedTuple):
    """All branches so far; branch t < n is terminal t."""

    branches: Records  # of BRANCH
    members: Ints  # sorted terminals of each branch


class Trees(NamedTuple):
    """Full Steiner trees found so far: a branch and the terminal that closes it."""

    items: Records  # of TREE
    table: Ints  # open addressing by set key; tree number + 1


class Scratch(NamedTuple):
    """Room to look at one branch in."""

    stack: Records  # of VISIT: branches to look at, sixths they are turned by, vertex above
    vertices: Records  # of VERTEX: where it is, how fast it moves when the branch turns
    paths: Records  # of PATH, two-dimensional: longest edge between two vertices, its rate
    near: Floats  # of terminals: bottleneck distance to the other side of a merge
    inside: Ints  # of terminals: bits of the branches in hand that have them; zero in between


@njit(cache=True, error_model="numpy")
def new_scratch(n: int) -> Scratch:
    """Room for branches of up to n terminals."""
    vertices = 2 * MOST_TESTED
    return Scratch(
        np.empty(n + 1, VISIT),
        np.empty(vertices, VERTEX),
        np.empty((vertices, vertices), PATH),
        np.empty(n),
        np.zeros(n, np.int64),
    )


@lean
def child_of(branches: Records, branch: int, side: int) -> int:
    """The left (0) or right (1) child of a branch."""
    return int(branches[branch].right if side else branches[branch].left)


@lean
def trunk(branch: Any, u: complex) -> float:
    """Length of a branch up to its Steiner point when left in direction u."""
    return 2.0 * dot(branch.centre - branch.equilateral, u)


@lean
def steiner_point(branch: Any, u: complex) -> complex:
    """Steiner point of a branch left in direction u: where it cuts the circle again."""
    return complex(branch.equilateral + trunk(branch, u) * u)


@lean
def edge_vector(branches: Records, node: int, child: int, turned: int) -> complex:
    """The w with w · u the length of the edge to a child that is `turned` sixths from u."""
    return turn(2.0 * (branches[node].centre - branches[child].centre), -turned)


@lean
def subtree_vector(branches: Records, node: int, child: int, turned: int) -> complex:
    """The w with w · u the length of the edge to a child and of all that is below it."""
    return turn(2.0 * (branches[node].centre - branches[child].equilateral), -turned)


@lean
def set_key(terminal: int) -> int:
    """Well spread 64-bit number of a terminal (splitmix64); sums of them name terminal sets."""
    z = np.uint64(0x9E3779B97F4A7C15) * np.uint64(terminal + 1)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return int(np.int64(z ^ (z >> np.uint64(31))))


@lean
def find_tree(trees: Trees, forest: Forest, key: int, branch: int, extra: int) -> int:
    """Number of the known tree over the terminals of a branch and one more (-1: none)."""
    mask = len(trees.table) - 1
    slot = (key ^ (key >> 29)) & mask
    while trees.table[slot] != 0:
        tree = trees.table[slot] - 1
        item = trees.items[tree]
        if item.key == key and same_set(forest, item.branch, item.root, branch, extra):
            return int(tree)
        slot = (slot + 1) & mask
    return -1


@lean
def same_set(forest: Forest, other: int, root: int, branch: int, extra: int) -> bool:
    """Whether branch `other` and its root span the terminals of `branch` and `extra` (-1: none)."""
    members, mine, yours = forest.members, forest.branches[branch], forest.branches[other]
    size = yours.size + 1
    pending = extra >= 0
    if mine.size + pending != size:
        return False
    j = 0
    for i in range(size):
        expected = root if i == size - 1 else members[yours.start + i]
        if pending and (j == mine.size or extra < members[mine.start + j]):
            value = extra
            pending = False
        else:
            value = members[mine.start + j]
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


@njit(cache=True, error_model="numpy")
def hashed(items: Records, count: int) -> Trees:
    """The first `count` trees with a hash table that all of `items` leave half empty."""
    size = 4
    while size < 2 * len(items):
        size *= 2
    table = np.zeros(size, np.int64)
    for tree in range(count):
        insert_key(table, items[tree].key, tree)
    return Trees(items, table)


@lean
def is_member(forest: Forest, branch: int, terminal: int, exact_masks: bool) -> bool:
    """Whether a terminal belongs to a branch (exact masks: one bit per terminal)."""
    own = forest.branches[branch]
    if exact_masks:
        return bool(own.mask >> terminal & 1)
    for position in range(own.start, own.start + own.size):
        if forest.members[position] == terminal:
            return True
    return False


@lean
def link_cost(gaps: Floats, forest: Forest, branch: int, terminal: int) -> float:
    """Bottleneck distance from a terminal to the nearest one of a branch."""
    cheapest = np.inf
    own = forest.branches[branch]
    for position in range(own.start, own.start + own.size):
        t = forest.members[position]
        if t == terminal:
            return 0.0
        cheapest = min(cheapest, bottleneck(gaps, min(t, terminal), max(t, terminal)))
    return float(cheapest)


@lean
def quick_link(gaps: Floats, forest: Forest, left: int, right: int) -> float:
    """Bottleneck distance of some pair of the two sides: at least that of the closest pair."""
    members, one, two = forest.members, forest.branches[left], forest.branches[right]
    i, j = members[one.start], members[two.start + two.size - 1]
    first = bottleneck(gaps, min(i, j), max(i, j))
    i, j = members[one.start + one.size - 1], members[two.start]
    return min(first, bottleneck(gaps, min(i, j), max(i, j)))


@lean
def merge_members(
    gaps: Floats, forest: Forest, near: Floats, left: int, right: int, where: int
) -> tuple[float, float]:
    """Write the sorted union and, in `near`, each member's bottleneck distance to the other side.

    Returns the cheapest link between the two (disjoint) sides and the length of the minimum
    spanning tree of the union under bottleneck distances.
    """
    branches, members = forest.branches, forest.members
    i, j = branches[left].start, branches[right].start
    i_end, j_end = i + branches[left].size, j + branches[right].size
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
        near[t] = from_right if is_left else from_left
        members[k] = t
        k += 1
        previous, previous_left = t, is_left
    # Backwards: the nearest member of the other side may come later in the order.
    from_left, from_right = np.inf, np.inf
    i = i_end - 1
    i_low = branches[left].start
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
        near[t] = min(near[t], from_right if is_left else from_left)
        if is_left:
            i -= 1
        following, previous_left = t, is_left
    return between, spanning
