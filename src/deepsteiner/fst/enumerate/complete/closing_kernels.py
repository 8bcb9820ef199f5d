"""Closing: a terminal ahead of a branch completes a full Steiner tree."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from .arc_kernels import cross, dot, lean, norm
from .bottleneck_kernels import bottleneck, cells_between
from .forest_kernels import MIN_EDGE, TIE, Forest, Trees, child_of, find_tree, insert_key, trunk
from .generation_kernels import DONE, MORE, TREES_FULL, Generation
from .rebuild_kernels import new_drawing, place_tree, tree_may_be_needed
from .swap_kernels import is_better_swapped


@njit(cache=True, error_model="numpy")
def close_level(generation: Generation, size: int, budget: int) -> int:
    """Close the branches of one size with later terminals into full Steiner trees."""
    ground, forest, trees, levels, scratch = generation[:5]
    branches, grid, progress = forest.branches, ground.grid, generation.progress[0]
    if progress.larger == 0:
        progress.larger = -1
        progress.position = levels.first[size]
    drawing = new_drawing(size)
    longest = np.zeros((2 * size, 2 * size))
    while progress.position < levels.first[size + 1]:
        if budget <= 0:
            return MORE
        if progress.trees + len(ground.points) >= len(trees.items):
            return TREES_FULL
        branch = progress.position
        own = branches[branch]
        radius = own.reach + own.spread
        corner = complex(radius, radius)
        box = cells_between(own.place - corner, own.place + corner, grid)
        last = forest.members[own.start + size - 1]
        for row in range(box.low, box.high):
            base = row * grid.columns
            for k in range(grid.cells[base + box.left], grid.cells[base + box.right]):
                budget -= 1
                t = grid.cells[k]
                if t <= last:
                    continue
                length = simpson_line(own, ground.points[t], bottleneck(ground.gaps, last, t))
                if length < 0.0:
                    continue
                key = own.key + branches[t].key
                known = find_tree(trees, forest, key, branch, t)
                if known >= 0 and trees.items[known].length <= length:
                    continue
                if split_cost(forest, trees, branch, t) < length + TIE:
                    continue
                if is_better_swapped(branches, branch, ground.points[t]):
                    continue
                budget -= 10
                total = place_tree(ground.points, forest, scratch.stack, branch, t, drawing)
                if not tree_may_be_needed(ground, forest, branch, t, drawing, longest):
                    continue
                if known < 0:
                    known = progress.trees
                    progress.trees += 1
                    insert_key(trees.table, key, known)
                tree = trees.items[known]
                tree.branch, tree.root, tree.key, tree.length = branch, t, key, total
        budget -= 1
        progress.position += 1
    progress.larger = 0
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
