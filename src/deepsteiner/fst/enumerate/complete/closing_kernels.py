"""Closing: a terminal ahead of a branch completes a full Steiner tree."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ....core.jit import njit
from .arc_kernels import cross, dot, lean, norm
from .bottleneck_kernels import Records, bottleneck, cells_between
from .forest_kernels import (
    MIN_EDGE,
    TIE,
    TREE,
    Forest,
    Scratch,
    Trees,
    child_of,
    find_tree,
    insert_key,
    trunk,
)
from .generation_kernels import DONE, MORE, TREES_FULL, Generation
from .rebuild_kernels import new_drawing, place_tree, tree_may_be_needed
from .swap_kernels import is_better_swapped

ROOM = 256
"""Trees that are found before they are entered."""


class Closed(NamedTuple):
    """How far a span came: the next branch, the trees found, what is left of the budget."""

    position: int
    trees: int
    budget: int


@njit(cache=True, error_model="numpy", nogil=True)
def close_some(
    generation: Generation, scratch: Scratch, low: int, high: int, budget: int, found: Records
) -> Closed:
    """Close branches low..high with later terminals; write the full Steiner trees to `found`.

    Ends early, before a branch, when the budget is spent or there is no room.
    """
    ground, forest, trees = generation[:3]
    branches, grid, size = forest.branches, ground.grid, forest.branches[low].size
    stack = scratch.stack
    drawing = new_drawing(size)
    longest = np.zeros((2 * size, 2 * size))
    position, count, kept = low, 0, 0
    while position < high and budget > 0 and count < len(found):
        own = branches[position]
        radius = own.reach + own.spread
        corner = complex(radius, radius)
        box = cells_between(own.place - corner, own.place + corner, grid)
        last = forest.members[own.start + size - 1]
        for row in range(box.low, box.high):
            base = row * grid.columns
            for k in range(grid.cells[base + box.left], grid.cells[base + box.right]):
                budget -= 1
                t = grid.cells[k]
                if t <= last or count == len(found):
                    continue
                length = simpson_line(own, ground.points[t], bottleneck(ground.gaps, last, t))
                if length < 0.0:
                    continue
                key = own.key + branches[t].key
                known = find_tree(trees, forest, key, position, t)
                if known >= 0 and not improves(forest, stack, position, length, trees.items[known]):
                    continue
                if split_cost(forest, trees, position, t) < length + TIE:
                    continue
                if is_better_swapped(branches, position, ground.points[t]):
                    continue
                budget -= 10
                place_tree(ground.points, forest, stack, position, t, drawing)
                if tree_may_be_needed(ground, forest, position, t, drawing, longest):
                    tree = found[count]
                    tree.branch, tree.root, tree.key, tree.length = position, t, key, length
                    count += 1
        if count < len(found):
            position += 1
            kept = count
        budget -= 1
    return Closed(position, kept, budget)


@njit(cache=True, error_model="numpy")
def enter_trees(generation: Generation, found: Records, count: int) -> bool:
    """Enter trees, of each terminal set the shortest; False, and nothing done, without room."""
    forest, trees, progress = generation.forest, generation.trees, generation.progress[0]
    stack = generation.scratch.stack
    if progress.trees + count > len(trees.items):
        return False
    for k in range(count):
        new = found[k]
        known = find_tree(trees, forest, new.key, new.branch, new.root)
        if known >= 0 and not improves(forest, stack, new.branch, new.length, trees.items[known]):
            continue
        if known < 0:
            known = progress.trees
            progress.trees += 1
            insert_key(trees.table, new.key, known)
        trees.items[known] = new
    return True


@lean
def improves(forest: Forest, stack: Records, branch: int, length: float, old: Any) -> bool:
    """Whether a tree replaces one of the same terminals: it is shorter.

    Of equally short ones it is one that does not depend on the order in which they are found.
    """
    if length == old.length:
        return comes_before(forest, stack, branch, old.branch)
    return bool(length < old.length)


@lean
def comes_before(forest: Forest, stack: Records, one: int, two: int) -> bool:
    """Whether a branch comes before another of the same terminals, by size and leaf, left first.

    The stack holds pairs of branches to compare.
    """
    branches = forest.branches
    stack[0].node, stack[0].parent = one, two
    depth = 1
    while depth > 0:
        depth -= 1
        a, b = stack[depth].node, stack[depth].parent
        if branches[a].size != branches[b].size:
            return bool(branches[a].size < branches[b].size)
        if branches[a].size == 1:
            if a != b:
                return bool(a < b)
            continue
        for side in range(2):  # the left children end on top
            stack[depth].node = child_of(branches, a, 1 - side)
            stack[depth].parent = child_of(branches, b, 1 - side)
            depth += 1
    return False


@njit(cache=True, error_model="numpy", nogil=True)
def close_level(generation: Generation, size: int, budget: int) -> int:
    """Close the branches of one size with later terminals into full Steiner trees."""
    first, progress = generation.first, generation.progress[0]
    if progress.stage == 0:
        progress.stage = 1
        progress.position = first[size]
    found = np.empty(ROOM + len(generation.ground.points), TREE)
    while progress.position < first[size + 1]:
        if budget <= 0:
            return MORE
        given = (progress.position, first[size + 1], budget, found)
        closed = close_some(generation, generation.scratch, *given)
        if not enter_trees(generation, found, closed.trees):
            return TREES_FULL
        progress.position, budget = closed.position, closed.budget
    progress.stage = 0
    return DONE


@lean
def simpson_line(own: Any, terminal: complex, link_cost: float) -> float:
    """Length of the Simpson line, which is that of the full tree closed by a terminal; -1: none.

    The line leads from the branch's equilateral point to the terminal, in a direction of the arc.
    The edge it ends with has the bottleneck property, and the tree is within its upper bound: that
    of reconnecting the branch and of the link.
    """
    line = terminal - own.equilateral
    if cross(own.a, line) < -TIE or cross(line, own.b) < -TIE or dot(line, own.a) <= 0.0:
        return -1.0
    length = norm(line)
    edge = length - trunk(own, line) / length
    if edge < MIN_EDGE or edge > link_cost - TIE:
        return -1.0
    if length > own.bound + link_cost - TIE:
        return -1.0
    return length


@lean
def split_cost(forest: Forest, trees: Trees, branch: int, root: int) -> float:
    """Cost of two trees that meet in the root instead of one full tree."""
    branches, cost = forest.branches, 0.0
    for side in range(2):
        child = child_of(branches, branch, side)
        if branches[child].size == 1:
            cost += norm(branches[child].equilateral - branches[root].equilateral)
            continue
        key = branches[child].key + branches[root].key
        tree = find_tree(trees, forest, key, child, root)
        if tree < 0:
            return np.inf
        cost += trees.items[tree].length
    return cost
