"""Generation in one call, for small inputs inside other kernels."""

from __future__ import annotations

import numpy as np
from numba import njit

from .bottleneck_kernels import (
    COLUMNS,
    ROWS,
    Floats,
    Ints,
    merge_order,
    prepare_ground,
    spanning_tree,
)
from .closing_kernels import close_level
from .forest_kernels import LINK_COLUMNS, SHAPE_COLUMNS, WORK_SIZE, rehash
from .growth_kernels import (
    BRANCH_COUNT,
    BRANCHES_FULL,
    MEMBER_COUNT,
    SECTORS,
    STATE_ENTRIES,
    TREE_COUNT,
    TREES_FULL,
    finish_level,
    grow_level,
    plant,
)
from .rebuild_kernels import collect_trees

UNLIMITED = 1 << 60


@njit(cache=True, error_model="numpy")
def generate_small(
    points: Floats,
) -> tuple[Ints, Ints, Floats, Floats, Ints, Ints]:
    """All of `generate` without slices: offsets, terminals, lengths, Steiner points, edges, state.

    Made for up to some twenty points, centred and scaled to [-1, 1]; larger inputs are correct but
    cannot be interrupted.
    """
    n = len(points)
    tree_edges, tree_lengths = spanning_tree(points)
    order, gap_list = merge_order(n, tree_edges, tree_lengths)
    ordered = np.empty((n, 2))
    for i in range(n):
        ordered[i, 0], ordered[i, 1] = points[order[i], 0], points[order[i], 1]
    gaps, cells, frame = prepare_ground(ordered, gap_list)
    rows, room = 32 * n + 32, 8 * n + 32
    shape = np.empty((rows, SHAPE_COLUMNS))
    link = np.empty((rows, LINK_COLUMNS), np.int64)
    members = np.empty(4 * rows, np.int64)
    stack = np.empty((n + 1, 3), np.int64)
    work = np.empty((2 * WORK_SIZE + 1, 2 * WORK_SIZE, 3))
    items = np.empty(rows, np.int64)
    spots = np.empty((rows, 4))
    filters = np.empty(rows, np.int64)
    tree_link = np.empty((room, 3), np.int64)
    tree_length = np.empty(room)
    table = np.zeros(table_size(room), np.int64)
    first = np.zeros(n + 2, np.int64)
    lines = np.empty((n + 1, SECTORS * int(frame[COLUMNS] * frame[ROWS]) + 1), np.int64)
    extent = np.zeros((n + 2, 3))
    state = np.zeros(STATE_ENTRIES, np.int64)
    state[BRANCH_COUNT] = state[MEMBER_COUNT] = n
    plant(ordered, frame, shape, link, members)
    one, unlimited = int(np.int64(1)), int(np.int64(UNLIMITED))  # literals compile callees twice
    finish_level(frame, shape, link, first, lines, items, spots, filters, extent, state, one)
    for size in range(2, n):
        first[size] = state[BRANCH_COUNT]
        while (
            grow_level(
                ordered, gaps, cells, frame, shape, link, members, stack, work,
                tree_link, tree_length, table, first, lines, items, spots, filters, extent, state,
                size, unlimited,
            )
            == BRANCHES_FULL
        ):  # fmt: skip
            shape, spots = larger_table(shape), larger_table(spots)
            link = larger_link(link)
            items, filters, members = larger(items), larger(filters), larger(members)
        finish_level(frame, shape, link, first, lines, items, spots, filters, extent, state, size)
        while (
            close_level(
                ordered, gaps, cells, frame, shape, link, members, stack,
                tree_link, tree_length, table, first, state, size, unlimited,
            )
            == TREES_FULL
        ):  # fmt: skip
            tree_link = larger_link(tree_link)
            lengths = np.empty(2 * len(tree_length))
            for i in range(len(tree_length)):
                lengths[i] = tree_length[i]
            tree_length = lengths
            table = np.zeros(table_size(len(tree_link)), np.int64)
            rehash(tree_link, table, state[TREE_COUNT])
        if first[(size + 2) // 2] == first[size + 1]:
            break
    start, terminals, length, steiner, edges = collect_trees(
        ordered, shape, link, members, stack, tree_link, state[TREE_COUNT],
        order, tree_edges, tree_lengths,
    )  # fmt: skip
    return start, terminals, length, steiner, edges, state


@njit(cache=True, error_model="numpy")
def larger(array: Ints) -> Ints:
    """A copy with twice the room."""
    copy = np.empty(2 * len(array), np.int64)
    for i in range(len(array)):
        copy[i] = array[i]
    return copy


@njit(cache=True, error_model="numpy")
def larger_link(array: Ints) -> Ints:
    """A copy with twice the rows."""
    copy = np.empty((2 * len(array), array.shape[1]), np.int64)
    for i in range(len(array)):
        for k in range(array.shape[1]):
            copy[i, k] = array[i, k]
    return copy


@njit(cache=True, error_model="numpy")
def larger_table(array: Floats) -> Floats:
    """A copy with twice the rows."""
    copy = np.empty((2 * len(array), array.shape[1]))
    for i in range(len(array)):
        for k in range(array.shape[1]):
            copy[i, k] = array[i, k]
    return copy


@njit(cache=True, error_model="numpy")
def table_size(room: int) -> int:
    """Smallest power of two that leaves a hash table of `room` entries half empty."""
    size = 4
    while size < 2 * room:
        size *= 2
    return size
