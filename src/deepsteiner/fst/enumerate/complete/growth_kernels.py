"""Level by level: join branches into larger ones, and find out what can be joined next.

The work comes in slices: a kernel returns after a bounded amount of it and goes on from `progress`
when called again. Branches of one size grow from smaller ones and terminals, which are looked up
as they are needed, and from the pairs that wait for that size.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ....core.jit import njit
from .arc_kernels import Arc, lean
from .bottleneck_kernels import Ground, Ints, Part, rank_of, total_of
from .branch_kernels import merge
from .forest_kernels import Forest, Scratch, Trees
from .generation_kernels import (
    BRANCHES_FULL,
    DONE,
    MORE,
    PAIRS_FULL,
    Generation,
    enter_pairs,
    take_pairs,
)
from .index_kernels import (
    LEAF,
    enter_branches,
    is_seen,
    next_leaf,
    sight_of,
    sight_of_all,
    terminals_for,
    turned_apart,
)
from .lune_kernels import march
from .reach_kernels import look_ahead, note_view

MERGE_COST = 10
"""How much of the budget a merge takes, in candidates looked at."""
COMPACT, COMPACT_WIDTH = 2.0, 0.4
"""A box is compact up to so many reaches across, and radians to either side, of its branches.

Beyond that a search for all of them visits much that none of them sees.
"""
ROOM = 1024
"""Pairs that are found before they wait for their size."""


class Span(NamedTuple):
    """Branches (or pairs) to grow from, and where what grows from them is written."""

    low: int
    high: int
    row: int
    last_row: int
    member: int
    last_member: int


class Grown(NamedTuple):
    """How far a span came: where to go on, the ends of what was written, and the work."""

    position: int
    row: int
    member: int
    candidates: int
    merges: int
    budget: int  # what is left of it


class Searched(NamedTuple):
    """How far a search for pairs came."""

    position: int
    pairs: int
    candidates: int
    budget: int


class Group(NamedTuple):
    """Branches of a size that look for partners on the same side."""

    branches: Ints
    many: int
    swap: int  # 0: for right siblings, 1: for left ones
    level: int  # the first branch of the size


@njit(cache=True, error_model="numpy", nogil=True)
def finish_level(generation: Generation, size: int) -> None:
    """Put the branches of one size into the index."""
    first, progress = generation.first, generation.progress[0]
    first[size + 1] = progress.branches
    enter_branches(generation.lookup, generation.forest.branches, first[size], first[size + 1])
    progress.stage = 0


@lean
def grows(
    ground: Ground, forest: Forest, trees: Trees, scratch: Scratch,
    left: int, right: int, row: int, member: int,
) -> bool:  # fmt: skip
    """Join two branches in a row, members from `member`; whether what is made may be needed."""
    arc = merge(ground, forest, trees, scratch, left, right, row, member)
    if not arc.exists:
        return False
    # The closing terminal comes after all others in the order.
    last = forest.members[member + forest.branches[row].size - 1]
    if rank_of(ground.part, last) == total_of(ground.part, len(ground.points)) - 1:
        return False
    return may_stay(ground, forest, ground.part, scratch, row, arc)


@lean
def may_stay(
    ground: Ground, forest: Forest, part: Part | None, scratch: Scratch, row: int, arc: Arc
) -> bool:
    """Whether a new branch passes its last test; one of a tile only as among all terminals."""
    if part is None:
        return march(ground, forest, scratch, row, arc)
    if not look_ahead(ground, forest, part, row, arc):
        return False
    return march(ground, forest, scratch, row, arc) and note_view(ground, forest, part, row)


@njit(cache=True, error_model="numpy", nogil=True)
def grow_by_terminals(
    generation: Generation, scratch: Scratch, size: int, span: Span, budget: int
) -> Grown:
    """Join each branch of a span with single terminals into branches of `size`.

    Ends early, before a branch of the span, when the budget is spent or there is no room.
    """
    ground, forest, trees, _, lookup = generation[:5]
    position, high, count, last_row, used, last_member = span
    found = np.empty(len(ground.points), np.int64)
    candidates = merges = full = 0
    rows, members = count, used
    while position < high and budget > 0 and not full:
        for swap in range(2):
            hits, tried = terminals_for(ground, forest, lookup, position, swap, found)
            budget -= tried + MERGE_COST * hits
            candidates += tried
            merges += hits
            for k in range(hits):
                if count + 1 >= last_row or used + 2 * size >= last_member:
                    full = 1
                    break
                left, right = (position, found[k]) if swap == 0 else (found[k], position)
                if grows(ground, forest, trees, scratch, left, right, count, used):
                    budget -= 4 * size * size  # all pairs of vertices were looked at
                    count += 1
                    used += size
        if not full:
            rows, members = count, used
            position += 1
    return Grown(position, rows, members, candidates, merges, budget)


@njit(cache=True, error_model="numpy", nogil=True)
def grow_pairs(
    generation: Generation, scratch: Scratch, size: int, pairs: Ints, span: Span, budget: int
) -> Grown:
    """Join the pairs of a span into branches of `size`; ends early as `grow_by_terminals` does."""
    ground, forest, trees = generation[:3]
    position, high, count, last_row, used, last_member = span
    merges = 0
    while position < high and budget > 0:
        if count + 1 >= last_row or used + 2 * size >= last_member:
            break
        left, right = pairs[position]
        merges += 1
        budget -= MERGE_COST
        if grows(ground, forest, trees, scratch, left, right, count, used):
            budget -= 4 * size * size
            count += 1
            used += size
        position += 1
    return Grown(position, count, used, 0, merges, budget)


@njit(cache=True, error_model="numpy", nogil=True)
def search_some(
    generation: Generation, scratch: Scratch, size: int, span: Span, budget: int, found: Ints
) -> Searched:
    """Find pairs of a branch of a size and one of at most that size, terminals apart.

    The span is one of boxes of the index. Those of a size in a box look for partners together.
    Pairs that could be joined today are written to `found`, left and right; when their size is
    grown, more is known. Ends early, before a box, when the budget is spent or there is no room.
    """
    lookup, level = generation.lookup, generation.first[size]
    node, high, count, candidates = span.low, span.high, 0, 0
    group = np.empty(LEAF, np.int64)
    while node < high and budget > 0:
        box, many, begin = lookup.boxes[node], 0, count
        node += 1
        if box.skip > node:
            continue
        together = is_compact(box)
        for k in range(box.first, box.last):
            if lookup.items[k].branch >= level:
                group[many] = lookup.items[k].branch
                many += 1
            if many == 0 or (together and k + 1 < box.last):
                continue
            mark_members(generation.forest, scratch.inside, group, many)
            for swap in range(2):
                mates = Group(group, many, swap, level)
                for tree in range(1, lookup.trees[0]):
                    count, tried = pair_up(generation, scratch, mates, tree, span, found, count)
                    candidates += tried
                    budget -= tried
            clear_members(generation.forest, scratch.inside, group, many)
            many = 0
        if count > len(found):
            return Searched(node - 1, begin, candidates, budget)
    return Searched(node, count, candidates, budget)


@lean
def is_compact(box: Any) -> bool:
    """Whether the branches of a box see much the same: then they had better search together."""
    size = box.high - box.low
    return bool(max(size.real, size.imag) < COMPACT * box.reach and box.width < COMPACT_WIDTH)


@lean
def mark_members(forest: Forest, inside: Ints, group: Ints, count: int) -> None:
    """Set the k-th bit at the terminals of the k-th branch of a group."""
    for k in range(count):
        own = forest.branches[group[k]]
        for position in range(own.start, own.start + own.size):
            inside[forest.members[position]] |= 1 << k


@lean
def clear_members(forest: Forest, inside: Ints, group: Ints, count: int) -> None:
    """Undo `mark_members`."""
    for k in range(count):
        own = forest.branches[group[k]]
        for position in range(own.start, own.start + own.size):
            inside[forest.members[position]] = 0


@lean
def marks_of(forest: Forest, inside: Ints, branch: int) -> int:
    """The bits at all terminals of a branch."""
    own, marks = forest.branches[branch], 0
    for position in range(own.start, own.start + own.size):
        marks |= inside[forest.members[position]]
    return marks


@lean
def pair_up(
    generation: Generation, scratch: Scratch, group: Group, tree: int, span: Span,
    found: Ints, count: int,
) -> tuple[int, int]:  # fmt: skip
    """Write the pairs of a group and a tree of the index behind the `count` found so far.

    Returns how many there are then, also those without room, and the work. What joining writes
    goes to one row.
    """
    ground, forest, trees = generation.ground, generation.forest, generation.trees
    lookup, swap, tried = generation.lookup, group.swap, 0
    if group.many == 1:
        sight = sight_of(forest.branches[group.branches[0]], swap)
    else:
        sight = sight_of_all(forest.branches, group.branches, group.many, swap)
    node, end = lookup.roots[tree], lookup.roots[tree + 1]
    everyone = (1 << group.many) - 1
    while True:
        node, seen = next_leaf(lookup.boxes, node, end, sight)
        tried += seen
        if node >= end:
            return count, tried
        box = lookup.boxes[node]
        node += 1
        for k in range(box.first, box.last):
            item = lookup.items[k]
            tried += 1
            if turned_apart(item.angle, sight.angle) > item.width + sight.width:
                continue
            # The branches of the group that share a terminal with the item: two tell it of most.
            taken = scratch.inside[item.leftmost] | scratch.inside[item.rightmost]
            if taken == everyone:
                continue
            two, unknown = item.branch, True
            for i in range(group.many):
                one = group.branches[i]
                # two branches of the same size meet once in each orientation
                if taken >> i & 1 or group.level <= two < one:
                    continue
                tried += 1
                if not is_seen(item, sight_of(forest.branches[one], swap)):
                    continue
                if unknown:
                    taken |= marks_of(forest, scratch.inside, two)
                    unknown = False
                    if taken >> i & 1:
                        continue
                left, right = (two, one) if swap else (one, two)
                tried += MERGE_COST
                if merge(ground, forest, trees, scratch, left, right, span.row, span.member).exists:
                    if count < len(found):
                        found[count, 0], found[count, 1] = left, right
                    count += 1


@njit(cache=True, error_model="numpy", nogil=True)
def search_level(generation: Generation, size: int, budget: int) -> int:
    """Find all pairs of a branch of one size and one of at most that size, terminals apart."""
    first, lookup, progress = generation.first, generation.lookup, generation.progress[0]
    if first[size] == first[size + 1]:
        return DONE
    low, high = lookup.roots[lookup.trees[0] - 1], lookup.roots[lookup.trees[0]]
    if progress.stage == 0:
        progress.stage = 1
        progress.position = low
    rows, members = len(generation.forest.branches), len(generation.forest.members)
    room = ROOM
    while progress.position < high:
        if budget <= 0:
            return MORE
        if progress.branches == rows or progress.members + len(generation.first) > members:
            return BRANCHES_FULL
        span = Span(progress.position, high, progress.branches, rows, progress.members, members)
        found = np.empty((room, 2), np.int64)
        searched = search_some(generation, generation.scratch, size, span, budget, found)
        if searched.position == progress.position:
            room *= 2
            continue
        if not enter_pairs(generation, found, searched.pairs):
            return PAIRS_FULL
        progress.candidates += searched.candidates
        progress.position, budget = searched.position, searched.budget
    progress.stage = 0
    return DONE


@njit(cache=True, error_model="numpy", nogil=True)
def grow_level(generation: Generation, size: int, budget: int) -> int:
    """Make the branches of one size: from the terminals, then from the pairs that wait for it."""
    forest, scratch, progress = generation.forest, generation.scratch, generation.progress[0]
    if progress.stage == 0:
        progress.stage = 1
        progress.position = generation.first[size - 1]
    rows, members = len(forest.branches), len(forest.members)
    end = generation.first[size]
    if progress.stage == 1:
        span = Span(progress.position, end, progress.branches, rows, progress.members, members)
        grown = grow_by_terminals(generation, scratch, size, span, budget)
        count_grown(progress, grown)
        if grown.position < end:
            return MORE if grown.budget <= 0 else BRANCHES_FULL
        budget = grown.budget
        progress.stage = 2
    none = int(np.int64(0))  # a literal would compile the callee twice
    while True:
        pairs = take_pairs(generation, size, ROOM)
        if len(pairs) == 0:
            return DONE
        span = Span(none, len(pairs), progress.branches, rows, progress.members, members)
        grown = grow_pairs(generation, scratch, size, pairs, span, budget)
        count_grown(progress, grown)
        budget = grown.budget
        if grown.position < len(pairs):
            left = pairs[grown.position :][::-1].copy()
            enter_pairs(generation, left, len(left))
            return MORE if budget <= 0 else BRANCHES_FULL


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
