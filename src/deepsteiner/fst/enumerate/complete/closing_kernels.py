"""Closing: a terminal ahead of a branch completes a full Steiner tree."""

from __future__ import annotations

import numpy as np
from numba import njit

from .arc_kernels import lean, norm
from .bottleneck_kernels import COLUMNS, Floats, Ints, bottleneck, column_of, row_of
from .forest_kernels import (
    AX,
    AY,
    BOUND,
    BX,
    BY,
    CX,
    CY,
    EX,
    EY,
    KEY,
    LEFT,
    MIN_EDGE,
    MX,
    MY,
    REACH,
    SIZE,
    SPREAD,
    START,
    TIE,
    TREE_BRANCH,
    TREE_KEY,
    TREE_ROOT,
    find_tree,
    insert_key,
)
from .growth_kernels import DONE, LARGER, MORE, POSITION, TREE_COUNT, TREES_FULL
from .rebuild_kernels import place_tree, tree_may_be_needed
from .swap_kernels import is_better_swapped


@njit(cache=True, error_model="numpy")
def close_level(
    points: Floats,
    gaps: Floats,
    cells: Ints,
    frame: Floats,
    shape: Floats,
    link: Ints,
    members: Ints,
    stack: Ints,
    tree_link: Ints,
    tree_length: Floats,
    table: Ints,
    first: Ints,
    state: Ints,
    size: int,
    budget: int,
) -> int:
    """Close the branches of one size with later terminals into full Steiner trees."""
    if state[LARGER] == 0:
        state[LARGER] = -1
        state[POSITION] = first[size]
    columns = int(frame[COLUMNS])
    spots = np.empty((2 * size, 2))
    edges = np.empty((2 * size - 1, 2), np.int64)
    below = np.empty(2 * size - 1, np.int64)
    longest = np.zeros((2 * size, 2 * size))
    while state[POSITION] < first[size + 1]:
        if budget <= 0:
            return MORE
        if state[TREE_COUNT] + len(points) >= len(tree_link):
            return TREES_FULL
        branch = state[POSITION]
        x, y = shape[branch, MX], shape[branch, MY]
        radius = shape[branch, REACH] + shape[branch, SPREAD]
        column_low, column_high = column_of(x - radius, frame), column_of(x + radius, frame)
        last = members[link[branch, START] + size - 1]
        for row in range(row_of(y - radius, frame), row_of(y + radius, frame) + 1):
            low, high = cells[row * columns + column_low], cells[row * columns + column_high + 1]
            for k in range(low, high):
                budget -= 1
                t = cells[k]
                if t <= last:
                    continue
                length = closing_length(shape, branch, t, bottleneck(gaps, last, t))
                if length < 0.0:
                    continue
                key = link[branch, KEY] + link[t, KEY]
                known = find_tree(tree_link, table, link, members, key, branch, t)
                if known >= 0 and tree_length[known] <= length:
                    continue
                if (
                    split_cost(shape, link, members, tree_link, tree_length, table, branch, t)
                    < length + TIE
                ):
                    continue
                if is_better_swapped(shape, link, branch, points[t, 0], points[t, 1]):
                    continue
                budget -= 10
                total = place_tree(
                    points, shape, link, members, stack, branch, t, spots, edges, below
                )
                if not tree_may_be_needed(
                    points, gaps, cells, frame, link, members, branch, t, spots, edges, below,
                    longest,
                ):  # fmt: skip
                    continue
                if known < 0:
                    known = state[TREE_COUNT]
                    state[TREE_COUNT] += 1
                    insert_key(table, key, known)
                tree_link[known, TREE_BRANCH], tree_link[known, TREE_ROOT] = branch, t
                tree_link[known, TREE_KEY] = key
                tree_length[known] = total
        budget -= 1
        state[POSITION] += 1
    state[LARGER] = 0
    return DONE


@lean
def closing_length(shape: Floats, branch: int, t: int, link_cost: float) -> float:
    """Length of the full tree in which terminal t closes a branch; -1 if it cannot."""
    ex, ey = shape[branch, EX], shape[branch, EY]
    dx, dy = shape[t, EX] - ex, shape[t, EY] - ey
    ax, ay, bx, by = shape[branch, AX], shape[branch, AY], shape[branch, BX], shape[branch, BY]
    if ax * dy - ay * dx < -TIE or dx * by - dy * bx < -TIE or dx * ax + dy * ay <= 0.0:
        return -1.0
    length = norm(dx, dy)
    up_to = 2.0 * ((shape[branch, CX] - ex) * dx + (shape[branch, CY] - ey) * dy) / length
    edge = length - up_to
    if edge < MIN_EDGE or edge > link_cost - TIE:
        return -1.0
    if length > shape[branch, BOUND] + link_cost - TIE:
        return -1.0
    return length


@lean
def split_cost(
    shape: Floats,
    link: Ints,
    members: Ints,
    tree_link: Ints,
    tree_length: Floats,
    table: Ints,
    branch: int,
    root: int,
) -> float:
    """Cost of two trees that meet in the root instead of one full tree."""
    cost = 0.0
    for side in range(2):
        child = link[branch, LEFT + side]
        if link[child, SIZE] == 1:
            cost += norm(shape[child, EX] - shape[root, EX], shape[child, EY] - shape[root, EY])
            continue
        key = link[child, KEY] + link[root, KEY]
        tree = find_tree(tree_link, table, link, members, key, child, root)
        if tree < 0:
            return np.inf
        cost += tree_length[tree]
    return cost
