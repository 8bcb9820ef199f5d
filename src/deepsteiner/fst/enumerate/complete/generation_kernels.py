"""All that a generation holds between slices, and more room for it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ....core.jit import njit
from ....core.points import Array
from .bottleneck_kernels import (
    VIEW,
    Floats,
    Grid,
    Ground,
    Ints,
    Part,
    Records,
    gap_table,
    in_order,
    merge_order,
    prepare_ground,
    sorted_into,
)
from .forest_kernels import (
    BRANCH,
    MASK_BITS,
    TREE,
    Forest,
    Scratch,
    Trees,
    hashed,
    new_scratch,
    set_key,
)
from .index_kernels import Index, new_index
from .reach_kernels import farthest, note_view, terminal_reaches, widen

DONE, MORE, BRANCHES_FULL, TREES_FULL, PAIRS_FULL = range(5)
"""What a slice ended with: level finished, call again, or call again with more room."""
NEARLY_FULL = 0.8

PAIR = np.dtype([("left", np.int32), ("right", np.int32), ("next", np.int32)], align=True)
PROGRESS = np.dtype(
    [
        ("branches", np.int64),  # how many there are, terminals included
        ("members", np.int64),
        ("trees", np.int64),
        ("pairs", np.int64),  # that wait
        ("stage", np.int64),  # of the work on a level (0: begin it)
        ("position", np.int64),  # the branch to go on with
        ("candidates", np.int64),  # pairs looked at
        ("merges", np.int64),  # pairs joined
    ]
)


class Pairs(NamedTuple):
    """Branches to be joined, in a list for each size of what they make."""

    items: Records  # of PAIR
    heads: Ints  # first pair of each size (-1: none); that of size 0 is of those not in use


class Generation(NamedTuple):
    """State of a generation; kernels write into its arrays."""

    ground: Ground
    forest: Forest
    trees: Trees
    first: Ints  # first branch of each size; first[size + 1] ends it
    lookup: Index
    pairs: Pairs
    scratch: Scratch
    progress: Records  # one PROGRESS
    order: Ints  # numbers of the terminals in the input
    edges: Ints  # a minimum spanning tree of the input, by length
    lengths: Floats


@njit(cache=True, error_model="numpy")
def begin(points: Floats, edges: Ints, lengths: Floats) -> Generation:
    """Begin with all points and their minimum spanning tree."""
    order, gaps = merge_order(len(points), edges, lengths)
    ground = prepare_ground(points, order, gaps)
    reach, _ = terminal_reaches(ground)
    return enter_terminals(ground, reach, order, edges, lengths)


@njit(cache=True, error_model="numpy", nogil=True)
def begin_tile(
    points: Floats, numbers: Ints, gaps: Floats, longest: float, grid: Grid, part: Part, near: Ints
) -> Generation:
    """Begin with the terminals in and around a tile, which are given in merge order.

    `numbers` are theirs in the input; gaps, their longest, and the grid are those of all terminals.
    Branches are made of the terminals `near` the tile only; the others are there to be looked at.
    """
    n = len(points)
    places = in_order(points, np.arange(n))
    stride = int(np.int64(1))
    own = with_views(part, 0, room_for(n))
    ground = Ground(places, gap_table(n, gaps), sorted_into(grid, places), longest, stride, own)
    reach, looked = terminal_reaches(ground)
    no_edges, no_lengths = np.empty((0, 2), np.int64), np.empty(0)
    generation = enter_terminals(ground, reach, numbers, no_edges, no_lengths)
    forest = generation.forest
    for t in range(n):
        own.views[t].low = own.views[t].high = places[t]
        seen = max(looked[t], forest.branches[t].reach)
        widen(own, t, places[t], seen if near[t] else np.inf)
        if own.core[t]:
            note_view(ground, forest, own, t)
    return generation


@njit(cache=True, error_model="numpy")
def room_for(n: int) -> int:
    """How many branches there is room for at first."""
    return 32 * n + 32


@njit(cache=True, error_model="numpy")
def enter_terminals(
    ground: Ground, reach: Floats, order: Ints, edges: Ints, lengths: Floats
) -> Generation:
    """Enter the terminals as branches of size one."""
    n = len(ground.points)
    rows = room_for(n)
    branches, members = np.empty(rows, BRANCH), np.empty(4 * rows, np.int64)
    for t in range(n):
        own = branches[t]
        own.equilateral = own.centre = own.place = ground.points[t]
        own.a = own.b = own.middle = 0j
        own.cosine = own.sine = own.angle = own.width = own.spread = own.bound = 0.0
        own.reach = farthest(reach, t)
        own.left = own.right = -1
        own.size, own.start, own.key, own.mask = 1, t, set_key(t), 1 << (t % MASK_BITS)
        members[t] = t
    progress = np.zeros(1, PROGRESS)
    progress[0].branches = progress[0].members = n
    return Generation(
        ground,
        Forest(branches, members),
        hashed(np.empty(8 * n + 64, TREE), 0),
        np.zeros(n + 2, np.int64),
        new_index(rows, reach),
        Pairs(np.empty(rows, PAIR), np.full(n + 1, -1)),
        new_scratch(n),
        progress,
        order,
        edges,
        lengths,
    )


@njit(cache=True, error_model="numpy")
def doubled(array: Array, used: int) -> Array:
    """A copy of what is used, with twice the room."""
    copy = np.empty(2 * len(array), array.dtype)
    for i in range(used):
        copy[i] = array[i]
    return copy


@njit(cache=True, error_model="numpy")
def with_views(part: Part, used: int, room: int) -> Part:
    """The same with room for the views of so many branches; those that are used are kept."""
    views = np.empty(room, VIEW)
    for i in range(used):
        views[i] = part.views[i]
    return Part(part.rank, part.total, part.core, part.found, views)


@njit(cache=True, error_model="numpy")
def with_room_for_views(ground: Ground, part: Part | None, used: int, room: int) -> Ground:
    """The same, with room for the views of so many branches where there are any."""
    if part is None:
        return ground
    wider = with_views(part, used, room)
    return Ground(ground.points, ground.gaps, ground.grid, ground.longest, ground.stride, wider)


@njit(cache=True, error_model="numpy", nogil=True)
def with_room(generation: Generation, status: int) -> Generation:
    """The same with more room for what is full; nothing is changed."""
    ground, forest, trees, first, lookup, pairs, scratch, progress, order, edges, lengths = (
        generation
    )
    branches, members = forest
    rows_used = progress[0].branches / len(branches)
    more_rows = rows_used >= min(progress[0].members / len(members), NEARLY_FULL)
    if status == TREES_FULL:
        trees = hashed(doubled(trees.items, progress[0].trees), progress[0].trees)
    elif status == PAIRS_FULL:
        pairs = Pairs(doubled(pairs.items, len(pairs.items)), pairs.heads)
    else:
        # Members take a tenth of the room of rows, which are copied only where they may be short.
        members = doubled(members, progress[0].members)
        if more_rows:
            branches = doubled(branches, progress[0].branches)
            ground = with_room_for_views(ground, ground.part, progress[0].branches, len(branches))
            # The boxes of taken-down trees are behind the last one's.
            last = lookup.trees[0]
            items = doubled(lookup.items, lookup.starts[last])
            boxes = doubled(lookup.boxes, lookup.roots[last])
            lookup = Index(items, boxes, lookup.starts, lookup.roots, lookup.trees, lookup.reach)
    return Generation(
        ground, Forest(branches, members), trees, first, lookup, pairs, scratch, progress,
        order, edges, lengths,
    )  # fmt: skip


@njit(cache=True, error_model="numpy", nogil=True)
def enter_pairs(generation: Generation, found: Ints, count: int) -> bool:
    """Let pairs wait for their size; False, and nothing done, without room."""
    branches, (items, heads) = generation.forest.branches, generation.pairs
    progress = generation.progress[0]
    if progress.pairs + count > len(items):
        return False
    for k in range(count):
        left, right = found[k]
        size = branches[left].size + branches[right].size
        new = heads[0]
        if new >= 0:
            heads[0] = items[new].next
        else:
            new = progress.pairs  # all before are in use
        progress.pairs += 1
        items[new].left, items[new].right, items[new].next = left, right, heads[size]
        heads[size] = new
    return True


@njit(cache=True, error_model="numpy", nogil=True)
def take_pairs(generation: Generation, size: int, most: int) -> Ints:
    """Take some of the pairs that wait for a size, the last that came first."""
    items, heads = generation.pairs
    count, pair = 0, heads[size]
    while pair >= 0 and count < most:
        count += 1
        pair = items[pair].next
    taken = np.empty((count, 2), np.int64)
    for k in range(count):
        pair = heads[size]
        taken[k, 0], taken[k, 1] = items[pair].left, items[pair].right
        heads[size], items[pair].next, heads[0] = items[pair].next, heads[0], pair
    generation.progress[0].pairs -= count
    return taken
