"""All that a generation holds between slices, and more room for it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ....core.jit import njit
from ....core.points import Array
from .bottleneck_kernels import Floats, Ground, Ints, Records, merge_order, prepare_ground
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

DONE, MORE, BRANCHES_FULL, TREES_FULL = range(4)
"""What a slice ended with: level finished, call again, or call again with more room."""
NEARLY_FULL = 0.8
SECTORS = 24
"""Directions are told apart by 15 degrees when partners are looked up."""

ITEM = np.dtype(
    [
        ("branch", np.int64),
        ("mask", np.int64),  # and what is needed of it before it is looked at
        ("place", np.complex128),
        ("spread", np.float64),
        ("reach", np.float64),
    ],
    align=True,
)
EXTENT = np.dtype(
    [("spread", np.float64), ("reach", np.float64), ("width", np.float64)], align=True
)
PROGRESS = np.dtype(
    [
        ("branches", np.int64),  # how many there are, terminals included
        ("members", np.int64),
        ("trees", np.int64),
        ("larger", np.int64),  # size of the larger of two branches being paired (0: begin a level)
        ("position", np.int64),  # the branch to go on with
        ("candidates", np.int64),  # pairs looked at
        ("merges", np.int64),  # pairs joined
    ]
)


class Levels(NamedTuple):
    """Branches by size."""

    first: Ints  # first branch of each size; first[size + 1] ends it
    lines: Ints  # (sizes, SECTORS * cells + 1) offsets into items, counted from first[size]
    items: Records  # of ITEM: the branches of each size by row, sector of direction and column
    extent: Records  # of EXTENT: largest spread, reach and width of the branches of each size


class Generation(NamedTuple):
    """State of a generation; kernels write into its arrays."""

    ground: Ground
    forest: Forest
    trees: Trees
    levels: Levels
    scratch: Scratch
    progress: Records  # one PROGRESS
    order: Ints  # numbers of the terminals in the input
    edges: Ints  # a minimum spanning tree of the input, by length
    lengths: Floats


@njit(cache=True, error_model="numpy")
def begin(points: Floats, edges: Ints, lengths: Floats, sizes: int) -> Generation:
    """Enter the terminals as branches of size one; lines have room for `sizes` sizes."""
    n = len(points)
    order, gaps = merge_order(n, edges, lengths)
    ground = prepare_ground(points, order, gaps)
    rows = 32 * n + 32
    branches, members = np.empty(rows, BRANCH), np.empty(4 * rows, np.int64)
    for t in range(n):
        own = branches[t]
        own.equilateral = own.centre = own.place = ground.points[t]
        own.a = own.b = own.middle = 0j
        own.cosine = own.sine = own.angle = own.width = own.spread = own.bound = 0.0
        own.reach = ground.longest
        own.left = own.right = -1
        own.size, own.start, own.key, own.mask = 1, t, set_key(t), 1 << (t % MASK_BITS)
        members[t] = t
    levels = Levels(
        np.zeros(n + 2, np.int64),
        np.zeros((sizes, SECTORS * ground.grid.columns * ground.grid.rows + 1), np.int64),
        np.empty(rows, ITEM),
        np.zeros(n + 2, EXTENT),
    )
    progress = np.zeros(1, PROGRESS)
    progress[0].branches = progress[0].members = n
    return Generation(
        ground,
        Forest(branches, members),
        hashed(np.empty(8 * n + 64, TREE), 0),
        levels,
        new_scratch(n),
        progress,
        order,
        edges,
        lengths,
    )


@njit(cache=True, error_model="numpy")
def doubled(array: Array) -> Array:
    """A copy with twice the room."""
    copy = np.empty(2 * len(array), array.dtype)
    for i in range(len(array)):
        copy[i] = array[i]
    return copy


@njit(cache=True, error_model="numpy", nogil=True)
def with_room(generation: Generation, status: int) -> Generation:
    """The same with more room for what is full; nothing is changed."""
    ground, forest, trees, levels, scratch, progress, order, edges, lengths = generation
    branches, members, items = forest.branches, forest.members, levels.items
    few_rows = progress[0].branches > NEARLY_FULL * len(branches)
    few_members = progress[0].members > NEARLY_FULL * len(members)
    if status == TREES_FULL:
        trees = hashed(doubled(trees.items), progress[0].trees)
    else:
        # Copy only what is nearly full, if that is clear.
        if few_members or not few_rows:
            members = doubled(members)
        if few_rows or not few_members:
            branches, items = doubled(branches), doubled(items)
    forest = Forest(branches, members)
    levels = Levels(levels.first, levels.lines, items, levels.extent)
    return Generation(ground, forest, trees, levels, scratch, progress, order, edges, lengths)
