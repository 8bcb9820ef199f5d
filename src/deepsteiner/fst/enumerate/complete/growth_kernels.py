"""Level by level: pair branches into larger ones.

The work comes in slices: the kernel returns after a bounded number of candidates and goes on from
`state` when called again. Branches of one size are sorted by grid row, sector of direction and
grid column, so that partners are found by looking where a partner can be and where it must lead.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import njit

from .arc_kernels import lean, turn
from .bottleneck_kernels import (
    COLUMNS,
    LONGEST,
    ROWS,
    Floats,
    Ints,
    column_of,
    row_of,
    set_key,
    sort_into_cells,
)
from .branch_kernels import merge
from .forest_kernels import (
    ANGLE,
    AX,
    AY,
    BX,
    BY,
    COS,
    CX,
    CY,
    EX,
    EY,
    KEY,
    LEFT,
    MASK,
    MASK_BITS,
    MX,
    MY,
    REACH,
    RIGHT,
    SHAPE_COLUMNS,
    SIN,
    SIZE,
    SPREAD,
    START,
    UX,
    UY,
    WIDTH,
    disjoint,
)
from .lune_kernels import march

DONE, MORE, BRANCHES_FULL, TREES_FULL = range(4)
"""What a slice ended with: level finished, call again, or call again with more room."""

# entries of state
BRANCH_COUNT, MEMBER_COUNT, TREE_COUNT, LARGER, POSITION, CANDIDATES, MERGES = range(7)
STATE_ENTRIES = 7

# columns of extent: the largest spread, reach and half width of the branches of one size
WIDEST_SPREAD, WIDEST_REACH, WIDEST_ANGLE = range(3)

SECTORS = 24
SECTORS_PER_RADIAN = SECTORS / (2.0 * np.pi)
MERGE_COST = 10
"""How much of the budget a merge takes, in candidates looked at."""


class Levels(NamedTuple):
    """Branches by size."""

    first: Ints  # first branch of each size; first[size + 1] ends it
    lines: Ints  # (sizes, SECTORS * cells + 1) offsets into items, counted from first[size]
    items: Ints  # (branch capacity,)
    spots: Floats  # (branch capacity, 4) place, spread and reach of each item
    filters: Ints  # (branch capacity,) bit filter of each item
    extent: Floats  # (sizes, 3)


@njit(cache=True, error_model="numpy")
def plant(points: Floats, frame: Floats, shape: Floats, link: Ints, members: Ints) -> None:
    """Enter the terminals as the branches of size one."""
    for t in range(len(points)):
        x, y = points[t, 0], points[t, 1]
        for column in range(SHAPE_COLUMNS):
            shape[t, column] = 0.0
        shape[t, EX], shape[t, EY], shape[t, CX], shape[t, CY] = x, y, x, y
        shape[t, MX], shape[t, MY] = x, y
        shape[t, REACH] = frame[LONGEST]
        link[t, LEFT], link[t, RIGHT], link[t, SIZE], link[t, START] = -1, -1, 1, t
        link[t, KEY], link[t, MASK] = set_key(t), 1 << (t % MASK_BITS)
        members[t] = t


@njit(cache=True, error_model="numpy")
def finish_level(
    frame: Floats,
    shape: Floats,
    link: Ints,
    first: Ints,
    lines: Ints,
    items: Ints,
    spots: Floats,
    filters: Ints,
    extent: Floats,
    state: Ints,
    size: int,
) -> None:
    """Sort the branches of one size by row, direction and column, ready to be looked up."""
    low, high = first[size], state[BRANCH_COUNT]
    first[size + 1] = high
    columns = int(frame[COLUMNS])
    keys = np.empty(high - low, np.int64)
    for i in range(high - low):
        b = low + i
        sector = 0
        if size > 1:
            sector = int((shape[b, ANGLE] + np.pi) * SECTORS_PER_RADIAN)
        line = row_of(shape[b, MY], frame) * SECTORS + sector % SECTORS
        keys[i] = line * columns + column_of(shape[b, MX], frame)
        extent[size, WIDEST_SPREAD] = max(extent[size, WIDEST_SPREAD], shape[b, SPREAD])
        extent[size, WIDEST_REACH] = max(extent[size, WIDEST_REACH], shape[b, REACH])
        extent[size, WIDEST_ANGLE] = max(extent[size, WIDEST_ANGLE], shape[b, WIDTH])
    offsets, order = sort_into_cells(keys, SECTORS * columns * int(frame[ROWS]))
    for k in range(len(offsets)):
        lines[size, k] = offsets[k]
    for i in range(high - low):
        b = order[i] + low
        items[low + i], filters[low + i] = b, link[b, MASK]
        spots[low + i, 0], spots[low + i, 1] = shape[b, MX], shape[b, MY]
        spots[low + i, 2], spots[low + i, 3] = shape[b, SPREAD], shape[b, REACH]
    state[LARGER], state[POSITION] = 0, 0


@njit(cache=True, error_model="numpy")
def grow_level(
    points: Floats,
    gaps: Floats,
    cells: Ints,
    frame: Floats,
    shape: Floats,
    link: Ints,
    members: Ints,
    stack: Ints,
    work: Floats,
    tree_link: Ints,
    tree_length: Floats,
    table: Ints,
    first: Ints,
    lines: Ints,
    items: Ints,
    spots: Floats,
    filters: Ints,
    extent: Floats,
    state: Ints,
    size: int,
    budget: int,
) -> int:
    """Make the branches of one size from all pairs of smaller ones."""
    if state[LARGER] == 0:
        state[LARGER] = size - 1
        state[POSITION] = first[size - 1]
    found = np.empty(state[BRANCH_COUNT], np.int64)
    while 2 * state[LARGER] >= size:
        end = first[state[LARGER] + 1]
        smaller = size - state[LARGER]
        if first[smaller] == first[smaller + 1]:
            state[POSITION] = end
        while state[POSITION] < end:
            if budget <= 0:
                return MORE
            one = state[POSITION]
            count, used = state[BRANCH_COUNT], state[MEMBER_COUNT]
            for swap in range(2):
                hits, tried, visited = partners(
                    shape, link, members, frame, first, lines, items, spots, filters, extent,
                    one, smaller, swap == 0, len(points) <= MASK_BITS, found,
                )  # fmt: skip
                budget -= tried + MERGE_COST * hits + visited
                state[CANDIDATES] += tried
                state[MERGES] += hits
                for k in range(hits):
                    if count + 1 >= len(link) or used + 2 * size >= len(members):
                        return BRANCHES_FULL
                    left, right = (one, found[k]) if swap == 0 else (found[k], one)
                    alive, ax, ay, bx, by = merge(
                        gaps, shape, link, members, stack, tree_link, tree_length, table,
                        left, right, count, used,
                    )  # fmt: skip
                    # The closing terminal comes after all others in the order.
                    if not alive or members[used + size - 1] == len(points) - 1:
                        continue
                    budget -= 4 * size * size  # all pairs of vertices are looked at, at both ends
                    if march(
                        points, gaps, cells, frame, shape, link, members, stack, work,
                        count, ax, ay, bx, by,
                    ):  # fmt: skip
                        count += 1
                        used += size
            state[BRANCH_COUNT], state[MEMBER_COUNT] = count, used
            state[POSITION] += 1
        state[LARGER] -= 1
        state[POSITION] = first[state[LARGER]]
    return DONE


@lean
def partners(
    shape: Floats,
    link: Ints,
    members: Ints,
    frame: Floats,
    first: Ints,
    lines: Ints,
    items: Ints,
    spots: Floats,
    filters: Ints,
    extent: Floats,
    one: int,
    smaller: int,
    is_left: bool,
    exact_masks: bool,
    found: Ints,
) -> tuple[int, int, int]:
    """Find branches of size `smaller` that can be the right (or left) sibling of a branch.

    Writes them to `found`; returns how many there are, how many were looked at and in how many
    places.
    """
    sign = 1.0 if is_left else -1.0
    sector_low, sector_high = 0, 0
    if smaller > 1:
        # The partner leaves in a direction 120 degrees to the left (or right) of this one's.
        angle = shape[one, ANGLE] + np.pi * (1.0 + sign * 2.0 / 3.0)
        width = shape[one, WIDTH] + extent[smaller, WIDEST_ANGLE] + 1e-9
        sector_low = int(np.floor((angle - width) * SECTORS_PER_RADIAN))
        sector_high = int(np.floor((angle + width) * SECTORS_PER_RADIAN))
    x_low, x_high, y_low, y_high = partner_box(
        shape, one, is_left, extent[smaller, WIDEST_REACH], extent[smaller, WIDEST_SPREAD]
    )
    columns = int(frame[COLUMNS])
    column_low, column_high = column_of(x_low, frame), column_of(x_high, frame)
    base = first[smaller]
    # Two branches of equal size meet once in each orientation.
    lowest = one + 1 if link[one, SIZE] == smaller else 0
    mask = link[one, MASK] if exact_masks else 0
    x, y, own, spread = shape[one, MX], shape[one, MY], shape[one, REACH], shape[one, SPREAD]
    hits, tried = 0, 0
    row_low, row_high = row_of(y_low, frame), row_of(y_high, frame)
    visited = (row_high + 1 - row_low) * (sector_high + 1 - sector_low)
    whole = first[smaller + 1] - base <= visited
    if whole:  # fewer branches than places to look for them
        row_high, sector_high = row_low, sector_low
    for row in range(row_low, row_high + 1):
        for sector in range(sector_low, sector_high + 1):
            line = (row * SECTORS + sector % SECTORS) * columns
            low = base + lines[smaller, line + column_low]
            high = base + lines[smaller, line + column_high + 1]
            if whole:
                low, high = base, first[smaller + 1]
            tried += high - low
            for k in range(low, high):
                if filters[k] & mask != 0:
                    continue
                slack = spread + spots[k, 2]
                dx, dy = spots[k, 0] - x, spots[k, 1] - y
                # |d| > third_side + slack, without the roots
                third = own * own + (own + spots[k, 3]) * spots[k, 3]
                beyond = dx * dx + dy * dy - third - slack * slack
                if beyond > 0.0 and beyond * beyond > 4.0 * third * slack * slack:
                    continue
                two = items[k]
                if two < lowest:
                    continue
                facing = (
                    is_facing(shape, link, one, two, dx, dy, slack)
                    if is_left
                    else is_facing(shape, link, two, one, -dx, -dy, slack)
                )
                if facing and disjoint(link, members, one, two, exact_masks):
                    found[hits] = two
                    hits += 1
    return hits, tried, 1 if whole else visited


@lean
def partner_box(
    shape: Floats, one: int, is_left: bool, reach: float, spread: float
) -> tuple[float, float, float, float]:
    """Bounding box of where siblings to the right (or left) of a branch may be.

    The sibling is reached by an edge along the direction of the branch and one turned by 60
    degrees; terminals have no direction, which makes the box a square.
    """
    x, y, own = shape[one, MX], shape[one, MY], shape[one, REACH]
    slack = shape[one, SPREAD] + spread
    if shape[one, COS] == 0.0:
        slack += third_side(own, reach)
        return x - slack, x + slack, y - slack, y + slack
    # Between its two ends an arc leaves their chord by at most this.
    slack += (own + reach) * (1.0 - shape[one, COS])
    x_low, x_high, y_low, y_high = x, x, y, y
    for end in range(2):
        ux, uy = shape[one, AX + 2 * end], shape[one, AY + 2 * end]
        vx, vy = turn(ux, uy, -1 if is_left else 1)
        ux, uy, vx, vy = own * ux, own * uy, reach * vx, reach * vy
        x_low = min(x_low, x + min(ux, vx, ux + vx))
        x_high = max(x_high, x + max(ux, vx, ux + vx))
        y_low = min(y_low, y + min(uy, vy, uy + vy))
        y_high = max(y_high, y + max(uy, vy, uy + vy))
    return x_low - slack, x_high + slack, y_low - slack, y_high + slack


@lean
def third_side(a: float, b: float) -> float:
    """Length opposite to an angle of 120 degrees between sides a and b."""
    return math.sqrt(a * a + a * b + b * b)


@lean
def is_facing(
    shape: Floats, link: Ints, left: int, right: int, dx: float, dy: float, slack: float
) -> bool:
    """Whether two branches, d apart up to `slack`, may leave towards a common Steiner point.

    The left branch has to see the right one between its own direction and 60 degrees to the
    right of it, the right branch the left one between its direction and 60 degrees to the left,
    and the two directions differ by 120 degrees.
    """
    left_leaf, right_leaf = link[left, SIZE] == 1, link[right, SIZE] == 1
    if not left_leaf:
        if shape[left, BX] * dy - shape[left, BY] * dx > slack:
            return False
        vx, vy = turn(shape[left, AX], shape[left, AY], -1)
        if vx * dy - vy * dx < -slack:
            return False
    if right_leaf:
        return True
    if shape[right, AX] * dy - shape[right, AY] * dx > slack:
        return False
    vx, vy = turn(shape[right, BX], shape[right, BY], 1)
    if vx * dy - vy * dx < -slack:
        return False
    if left_leaf:
        return True
    vx, vy = turn(shape[left, UX], shape[left, UY], 2)
    cosine = vx * shape[right, UX] + vy * shape[right, UY]
    widths = shape[left, COS] * shape[right, COS] - shape[left, SIN] * shape[right, SIN]
    return bool(cosine >= widths - 1e-12)
