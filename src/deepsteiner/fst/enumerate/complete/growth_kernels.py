"""Level by level: pair branches into larger ones.

The work comes in slices: the kernel returns after a bounded number of candidates and goes on from
`progress` when called again. Branches of one size are sorted by grid row, sector of direction and
grid column, so that partners are found by looking where a partner can be and where it must lead.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ....core.jit import njit
from .arc_kernels import cross, dot, lean, turn
from .bottleneck_kernels import (
    Ground,
    Ints,
    cells_between,
    column_of,
    row_of,
    sort_into_cells,
)
from .branch_kernels import merge
from .forest_kernels import MASK_BITS, Forest, Scratch, disjoint
from .generation_kernels import BRANCHES_FULL, DONE, MORE, SECTORS, Generation, Levels
from .lune_kernels import march

SECTORS_PER_RADIAN = SECTORS / (2.0 * np.pi)
MERGE_COST = 10
"""How much of the budget a merge takes, in candidates looked at."""


class Partners(NamedTuple):
    """How a search for partners went."""

    hits: int
    tried: int  # branches looked at
    visited: int  # places they were looked for in


class Span(NamedTuple):
    """Branches to find partners for, and where what grows from them is written."""

    low: int
    high: int
    row: int
    last_row: int
    member: int
    last_member: int


class Grown(NamedTuple):
    """How far a span came: the next branch, the ends of what was written, and the work."""

    position: int
    row: int
    member: int
    candidates: int
    merges: int
    budget: int  # what is left of it


@njit(cache=True, error_model="numpy")
def finish_level(generation: Generation, size: int) -> None:
    """Sort the branches of one size by row, direction and column, ready to be looked up."""
    branches, levels, grid = generation.forest.branches, generation.levels, generation.ground.grid
    low, high = levels.first[size], generation.progress[0].branches
    levels.first[size + 1] = high
    keys = np.empty(high - low, np.int64)
    extent = levels.extent[size]
    for i in range(high - low):
        own = branches[low + i]
        sector = 0
        if size > 1:
            sector = int((own.angle + np.pi) * SECTORS_PER_RADIAN)
        line = row_of(own.place.imag, grid) * SECTORS + sector % SECTORS
        keys[i] = line * grid.columns + column_of(own.place.real, grid)
        extent.spread = max(extent.spread, own.spread)
        extent.reach = max(extent.reach, own.reach)
        extent.width = max(extent.width, own.width)
    offsets, order = sort_into_cells(keys, SECTORS * grid.columns * grid.rows)
    for k in range(len(offsets)):
        levels.lines[size, k] = offsets[k]
    for i in range(high - low):
        own, item = branches[order[i] + low], levels.items[low + i]
        item.branch, item.mask = order[i] + low, own.mask
        item.place, item.spread, item.reach = own.place, own.spread, own.reach
    generation.progress[0].larger = 0


@njit(cache=True, error_model="numpy", nogil=True)
def grow_some(
    generation: Generation, scratch: Scratch, size: int, span: Span, budget: int
) -> Grown:
    """Pair the branches of a span, all of one size, with smaller ones into branches of `size`.

    Ends early, before a branch of the span, when the budget is spent or there is no room.
    """
    ground, forest, trees, levels = generation[:4]
    position, high, count, last_row, used, last_member = span
    smaller = size - forest.branches[position].size
    found = np.empty(levels.first[smaller + 1] - levels.first[smaller], np.int64)
    candidates = merges = full = int(np.int64(0))  # literals would compile callees twice
    rows, members = count, used
    while position < high and budget > 0 and not full:
        for swap in range(2):
            hits, tried, visited = partners(ground, forest, levels, position, smaller, swap, found)
            budget -= tried + MERGE_COST * hits + visited
            candidates += tried
            merges += hits
            for k in range(hits):
                if count + 1 >= last_row or used + 2 * size >= last_member:
                    full = 1
                    break
                left, right = (position, found[k]) if swap == 0 else (found[k], position)
                arc = merge(ground, forest, trees, scratch, left, right, count, used)
                # The closing terminal comes after all others in the order.
                if not arc.exists or forest.members[used + size - 1] == len(ground.points) - 1:
                    continue
                budget -= 4 * size * size  # all pairs of vertices are looked at, at both ends
                if march(ground, forest, scratch, count, arc):
                    count += 1
                    used += size
        if not full:
            rows, members = count, used
            position += 1
    return Grown(position, rows, members, candidates, merges, budget)


@njit(cache=True, error_model="numpy")
def grow_level(generation: Generation, size: int, budget: int) -> int:
    """Make the branches of one size from all pairs of smaller ones."""
    forest, levels, scratch = generation.forest, generation.levels, generation.scratch
    first, progress = levels.first, generation.progress[0]
    if progress.larger == 0:
        progress.larger = size - 1
        progress.position = first[size - 1]
    while 2 * progress.larger >= size:
        end = first[progress.larger + 1]
        smaller = size - progress.larger
        if progress.position < end and first[smaller] < first[smaller + 1]:
            span = Span(
                progress.position, end,
                progress.branches, len(forest.branches), progress.members, len(forest.members),
            )  # fmt: skip
            grown = grow_some(generation, scratch, size, span, budget)
            budget = grown.budget
            count_grown(progress, grown)
            if grown.position < end:
                return MORE if budget <= 0 else BRANCHES_FULL
        progress.larger -= 1
        progress.position = first[progress.larger]
    return DONE


@lean
def count_grown(progress: Any, grown: Grown) -> None:
    """Take note of what a span has grown."""
    progress.position = grown.position
    progress.branches, progress.members = grown.row, grown.member
    progress.candidates += grown.candidates
    progress.merges += grown.merges


@njit(cache=True, error_model="numpy", nogil=True)
def adopt(generation: Generation, span: Span, grown: Grown) -> None:
    """Move what a span has grown to the end of the branches, and count it."""
    forest, progress = generation.forest, generation.progress[0]
    row, member = progress.branches, progress.members
    if span.row > row:
        for k in range(grown.row - span.row):
            forest.branches[row + k] = forest.branches[span.row + k]
            forest.branches[row + k].start += member - span.member
        for k in range(grown.member - span.member):
            forest.members[member + k] = forest.members[span.member + k]
    moved = Grown(
        grown.position, row + grown.row - span.row, member + grown.member - span.member,
        grown.candidates, grown.merges, grown.budget,
    )  # fmt: skip
    count_grown(progress, moved)


@lean
def partners(
    ground: Ground, forest: Forest, levels: Levels, one: int, smaller: int, swap: int, found: Ints
) -> Partners:
    """Find branches of size `smaller` that can be the right (swap: left) sibling of a branch.

    Writes them to `found`.
    """
    own, grid, extent = forest.branches[one], ground.grid, levels.extent[smaller]
    sector_low, sector_high = 0, 0
    if smaller > 1:
        # The partner leaves in a direction 120 degrees to the left (or right) of this one's.
        angle = own.angle + np.pi * (1.0 + (1.0 - 2.0 * swap) * 2.0 / 3.0)
        width = own.width + extent.width + 1e-9
        sector_low = int(np.floor((angle - width) * SECTORS_PER_RADIAN))
        sector_high = int(np.floor((angle + width) * SECTORS_PER_RADIAN))
    low_corner, high_corner = partner_box(own, swap, extent.reach, extent.spread)
    box = cells_between(low_corner, high_corner, grid)
    base = levels.first[smaller]
    # Two branches of equal size meet once in each orientation.
    lowest = one + 1 if own.size == smaller else 0
    exact_masks = len(ground.points) <= MASK_BITS
    mask = own.mask if exact_masks else 0
    hits, tried = 0, 0
    row_high = box.high
    visited = (row_high - box.low) * (sector_high + 1 - sector_low)
    whole = levels.first[smaller + 1] - base <= visited
    if whole:  # fewer branches than places to look for them
        row_high, sector_high, visited = box.low + 1, sector_low, 1
    for row in range(box.low, row_high):
        for sector in range(sector_low, sector_high + 1):
            line = (row * SECTORS + sector % SECTORS) * grid.columns
            low = base + levels.lines[smaller, line + box.left]
            high = base + levels.lines[smaller, line + box.right]
            if whole:
                low, high = base, levels.first[smaller + 1]
            tried += high - low
            for k in range(low, high):
                item = levels.items[k]
                if item.mask & mask != 0:
                    continue
                slack = own.spread + item.spread
                way = item.place - own.place
                # |way| > third_side + slack, without the roots
                third = own.reach * own.reach + (own.reach + item.reach) * item.reach
                beyond = dot(way, way) - third - slack * slack
                if beyond > 0.0 and beyond * beyond > 4.0 * third * slack * slack:
                    continue
                two = item.branch
                if two < lowest:
                    continue
                facing = (
                    is_facing(own, forest.branches[two], way, slack)
                    if swap == 0
                    else is_facing(forest.branches[two], own, -way, slack)
                )
                if facing and disjoint(forest, one, two, exact_masks):
                    found[hits] = two
                    hits += 1
    return Partners(hits, tried, visited)


@lean
def partner_box(own: Any, swap: int, reach: float, spread: float) -> tuple[complex, complex]:
    """Corners of a box in which all siblings to the right (swap: left) of a branch are.

    The sibling is reached by an edge along the direction of the branch and one turned by 60
    degrees; terminals have no direction, which makes the box a square.
    """
    place, slack = own.place, own.spread + spread
    if own.cosine == 0.0:
        slack += third_side(own.reach, reach)
        return place - complex(slack, slack), place + complex(slack, slack)
    # Between its two ends an arc leaves their chord by at most this.
    slack += (own.reach + reach) * (1.0 - own.cosine)
    x_low, x_high, y_low, y_high = place.real, place.real, place.imag, place.imag
    for end in range(2):
        u = own.b if end else own.a
        v = reach * turn(u, 2 * swap - 1)
        u = own.reach * u
        x_low = min(x_low, place.real + min(u.real, v.real, u.real + v.real))
        x_high = max(x_high, place.real + max(u.real, v.real, u.real + v.real))
        y_low = min(y_low, place.imag + min(u.imag, v.imag, u.imag + v.imag))
        y_high = max(y_high, place.imag + max(u.imag, v.imag, u.imag + v.imag))
    return complex(x_low - slack, y_low - slack), complex(x_high + slack, y_high + slack)


@lean
def third_side(a: float, b: float) -> float:
    """Length opposite to an angle of 120 degrees between sides a and b."""
    return math.sqrt(a * a + a * b + b * b)


@lean
def is_facing(left: Any, right: Any, way: complex, slack: float) -> bool:
    """Whether two branches, `way` apart up to `slack`, may leave towards a common Steiner point.

    The left branch has to see the right one between its own direction and 60 degrees to the
    right of it, the right branch the left one between its direction and 60 degrees to the left,
    and the two directions differ by 120 degrees.
    """
    if left.size > 1 and (cross(left.b, way) > slack or cross(turn(left.a, -1), way) < -slack):
        return False
    if right.size == 1:
        return True
    if cross(right.a, way) > slack or cross(turn(right.b, 1), way) < -slack:
        return False
    if left.size == 1:
        return True
    cosine = dot(turn(left.middle, 2), right.middle)
    return bool(cosine >= left.cosine * right.cosine - left.sine * right.sine - 1e-12)
