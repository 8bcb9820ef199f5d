"""From a closed branch back to a tree in the plane: positions, edges and the final tests."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ....core.jit import njit
from .arc_kernels import lean, norm, turn, unit
from .bottleneck_kernels import Complexes, Floats, Ground, Ints, Records, bottleneck
from .forest_kernels import MIN_EDGE, TIE, Forest, child_of, steiner_point
from .generation_kernels import Generation
from .lune_kernels import lune_excess

EDGE = np.dtype([("parent", np.int64), ("vertex", np.int64), ("below", np.int64)], align=True)


class Drawing(NamedTuple):
    """A full tree in the plane.

    Vertices are the sorted terminals (the root is the last), then the Steiner points.
    """

    spots: Complexes  # where they are
    edges: Records  # of EDGE, parents first; `below` is the branch under each edge


@njit(cache=True, error_model="numpy")
def new_drawing(size: int) -> Drawing:
    """Room for the trees of branches of up to `size` terminals."""
    return Drawing(np.empty(2 * size, np.complex128), np.empty(2 * size - 1, EDGE))


@lean
def place_tree(
    points: Complexes, forest: Forest, stack: Records, branch: int, root: int, drawing: Drawing
) -> float:
    """Draw the tree that `root` closes; return the sum of its edges."""
    branches, members = forest.branches, forest.members
    spots, edges = drawing
    count, begin = branches[branch].size, branches[branch].start
    for i in range(count):
        spots[i] = points[members[begin + i]]
    spots[count] = points[root]
    u = unit(points[root] - branches[branch].equilateral)
    next_vertex = count + 1
    edge = 0
    total = 0.0
    depth = 1
    stack[0].node, stack[0].turned, stack[0].parent = branch, 0, count
    while depth > 0:
        depth -= 1
        node, turned, parent = stack[depth].node, stack[depth].turned, stack[depth].parent
        if branches[node].size == 1:
            vertex = 0
            while members[begin + vertex] != node:
                vertex += 1
        else:
            vertex = next_vertex
            next_vertex += 1
            spots[vertex] = steiner_point(branches[node], turn(u, turned))
            for side in range(2):
                stack[depth].node = child_of(branches, node, side)
                stack[depth].turned, stack[depth].parent = turned - 1 + 2 * side, vertex
                depth += 1
        edges[edge].parent, edges[edge].vertex, edges[edge].below = parent, vertex, node
        edge += 1
        total += norm(spots[parent] - spots[vertex])
    return total


@lean
def side_link(gaps: Floats, forest: Forest, branch: int, root: int, child: int) -> float:
    """Cheapest link between the terminals below an edge and all others of its tree."""
    branches, members = forest.branches, forest.members
    begin, count = branches[branch].start, branches[branch].size
    j = branches[child].start
    j_end = j + branches[child].size
    previous, previous_in = -1, False
    cheapest = np.inf
    for i in range(count + 1):
        t = members[begin + i] if i < count else root
        inside = j < j_end and members[j] == t
        if inside:
            j += 1
        if i > 0 and inside != previous_in:
            cheapest = min(cheapest, bottleneck(gaps, previous, t))
        previous, previous_in = t, inside
    return cheapest


@lean
def tree_may_be_needed(
    ground: Ground, forest: Forest, branch: int, root: int, drawing: Drawing, longest: Floats
) -> bool:
    """Bottleneck, lune and shortcut tests on every edge and pair of vertices of a placed tree.

    longest[v, w] is scratch: the longest edge between two vertices (zero from v to itself).
    """
    spots, edges = drawing
    count, begin = forest.branches[branch].size, forest.branches[branch].start
    for e in range(2 * count - 1):
        p, q = edges[e].parent, edges[e].vertex
        length = norm(spots[p] - spots[q])
        if length < MIN_EDGE:
            return False
        if length > side_link(ground.gaps, forest, branch, root, edges[e].below) - TIE:
            return False
        for back in range(-1, e):
            # Vertices so far: the root and the heads of earlier edges.
            v = count if back < 0 else edges[back].vertex
            worst = max(longest[p, v], length)
            longest[q, v] = worst
            longest[v, q] = worst
            tie = TIE if v <= count and q <= count else -TIE  # see `blocked_inside`
            if v != p and worst > norm(spots[v] - spots[q]) - tie:
                return False
        p_terminal = root if p == count else -1
        q_terminal = forest.members[begin + q] if q < count else -1
        if lune_excess(ground, spots[p], spots[q], p_terminal, q_terminal) > -TIE:
            return False
    return True


@njit(cache=True, error_model="numpy", nogil=True)
def collect_trees(
    generation: Generation,
) -> tuple[Ints, Ints, Floats, Floats, Ints]:
    """Spanning-tree edges, then all full trees: offsets, terminals, lengths, points, edges."""
    ground, forest, trees = generation[:3]
    scratch, progress, order, tree_edges, tree_lengths = generation[6:]
    branches = forest.branches
    plain = len(tree_lengths)
    total = plain + progress[0].trees
    start = np.zeros(total + 1, np.int64)
    widest = 2
    for f in range(total):
        size = 2 if f < plain else branches[trees.items[f - plain].branch].size + 1
        start[f + 1] = start[f] + size
        widest = max(widest, size)
    terminals = np.empty(start[total], np.int64)
    length = np.empty(total)
    steiner = np.empty((start[total] - 2 * total, 2))
    edges = np.empty((2 * start[total] - 3 * total, 2), np.int64)
    for f in range(plain):
        terminals[2 * f], terminals[2 * f + 1] = tree_edges[f, 0], tree_edges[f, 1]
        length[f] = tree_lengths[f]
        edges[f, 0], edges[f, 1] = 0, 1
    drawing = new_drawing(widest)
    for f in range(plain, total):
        branch, root = trees.items[f - plain].branch, trees.items[f - plain].root
        size = start[f + 1] - start[f]
        length[f] = place_tree(ground.points, forest, scratch.stack, branch, root, drawing)
        for i in range(size - 1):
            terminals[start[f] + i] = order[forest.members[branches[branch].start + i]]
        terminals[start[f + 1] - 1] = order[root]
        low = start[f] - 2 * f
        for i in range(size - 2):
            spot = drawing.spots[size + i]
            steiner[low + i, 0], steiner[low + i, 1] = spot.real, spot.imag
        low = 2 * start[f] - 3 * f
        for e in range(2 * size - 3):
            edge = drawing.edges[e]
            edges[low + e, 0], edges[low + e, 1] = edge.parent, edge.vertex
    return start, terminals, length, steiner, edges
