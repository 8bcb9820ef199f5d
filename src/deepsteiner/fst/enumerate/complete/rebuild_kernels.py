"""From a closed branch back to a tree in the plane: positions, edges and the final tests."""

from __future__ import annotations

import numpy as np
from numba import njit

from .arc_kernels import lean, norm, turn
from .bottleneck_kernels import Floats, Ints, bottleneck
from .forest_kernels import CX, CY, EX, EY, LEFT, MIN_EDGE, SIZE, START, TIE, TREE_BRANCH, TREE_ROOT
from .lune_kernels import lune_excess


@lean
def place_tree(
    points: Floats,
    shape: Floats,
    link: Ints,
    members: Ints,
    stack: Ints,
    branch: int,
    root: int,
    spots: Floats,
    edges: Ints,
    below: Ints,
) -> float:
    """Write positions and edges of the tree that `root` closes; return the sum of its edges.

    Vertices are the sorted terminals (the root is the last), then the Steiner points; edges lead
    from parent to child, parents first; `below` is the branch under each edge.
    """
    count = link[branch, SIZE]
    begin = link[branch, START]
    for i in range(count):
        spots[i, 0] = points[members[begin + i], 0]
        spots[i, 1] = points[members[begin + i], 1]
    spots[count, 0], spots[count, 1] = points[root, 0], points[root, 1]
    ux, uy = points[root, 0] - shape[branch, EX], points[root, 1] - shape[branch, EY]
    scale = 1.0 / norm(ux, uy)
    ux, uy = ux * scale, uy * scale
    next_vertex = count + 1
    edge = 0
    total = 0.0
    depth = 1
    stack[0, 0], stack[0, 1], stack[0, 2] = branch, 0, count
    while depth > 0:
        depth -= 1
        node, turned, parent = stack[depth, 0], stack[depth, 1], stack[depth, 2]
        if link[node, SIZE] == 1:
            vertex = 0
            while members[begin + vertex] != node:
                vertex += 1
        else:
            vx, vy = turn(ux, uy, turned)
            ex, ey = shape[node, EX], shape[node, EY]
            along = 2.0 * ((shape[node, CX] - ex) * vx + (shape[node, CY] - ey) * vy)
            vertex = next_vertex
            next_vertex += 1
            spots[vertex, 0], spots[vertex, 1] = ex + along * vx, ey + along * vy
            for side in range(2):
                stack[depth, 0] = link[node, LEFT + side]
                stack[depth, 1] = turned - 1 + 2 * side
                stack[depth, 2] = vertex
                depth += 1
        edges[edge, 0], edges[edge, 1] = parent, vertex
        below[edge] = node
        edge += 1
        total += norm(spots[parent, 0] - spots[vertex, 0], spots[parent, 1] - spots[vertex, 1])
    return total


@lean
def side_link(gaps: Floats, link: Ints, members: Ints, branch: int, root: int, child: int) -> float:
    """Cheapest link between the terminals below an edge and all others of its tree."""
    begin, count = link[branch, START], link[branch, SIZE]
    j = link[child, START]
    j_end = j + link[child, SIZE]
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
    points: Floats,
    gaps: Floats,
    cells: Ints,
    frame: Floats,
    link: Ints,
    members: Ints,
    branch: int,
    root: int,
    spots: Floats,
    edges: Ints,
    below: Ints,
    longest: Floats,
) -> bool:
    """Bottleneck, lune and shortcut tests on every edge and pair of vertices of a placed tree.

    longest[v, w] is scratch: the longest edge between two vertices (zero from v to itself).
    """
    count = link[branch, SIZE]
    begin = link[branch, START]
    for e in range(2 * count - 1):
        p, q = edges[e, 0], edges[e, 1]
        px, py, qx, qy = spots[p, 0], spots[p, 1], spots[q, 0], spots[q, 1]
        length = norm(px - qx, py - qy)
        if length < MIN_EDGE:
            return False
        if length > side_link(gaps, link, members, branch, root, below[e]) - TIE:
            return False
        for back in range(-1, e):
            # Vertices so far: the root and the heads of earlier edges.
            v = count if back < 0 else edges[back, 1]
            worst = max(longest[p, v], length)
            longest[q, v] = worst
            longest[v, q] = worst
            tie = TIE if v <= count and q <= count else -TIE  # see `blocked_inside`
            if v != p and worst > norm(spots[v, 0] - qx, spots[v, 1] - qy) - tie:
                return False
        p_terminal = root if p == count else -1
        q_terminal = members[begin + q] if q < count else -1
        if lune_excess(points, cells, frame, px, py, qx, qy, p_terminal, q_terminal) > -TIE:
            return False
    return True


@njit(cache=True, error_model="numpy")
def collect_trees(
    points: Floats,
    shape: Floats,
    link: Ints,
    members: Ints,
    stack: Ints,
    tree_link: Ints,
    count: int,
    order: Ints,
    tree_edges: Ints,
    tree_lengths: Floats,
) -> tuple[Ints, Ints, Floats, Floats, Ints]:
    """Spanning-tree edges, then all full trees: offsets, terminals, lengths, points, edges."""
    plain = len(tree_lengths)
    start = np.zeros(plain + count + 1, np.int64)
    widest = 2
    for f in range(plain + count):
        size = 2 if f < plain else link[tree_link[f - plain, TREE_BRANCH], SIZE] + 1
        start[f + 1] = start[f] + size
        widest = max(widest, size)
    total = plain + count
    terminals = np.empty(start[total], np.int64)
    length = np.empty(total)
    steiner = np.empty((start[total] - 2 * total, 2))
    edges = np.empty((2 * start[total] - 3 * total, 2), np.int64)
    for f in range(plain):
        terminals[2 * f], terminals[2 * f + 1] = tree_edges[f, 0], tree_edges[f, 1]
        length[f] = tree_lengths[f]
        edges[f, 0], edges[f, 1] = 0, 1
    spots = np.empty((2 * widest, 2))
    ends = np.empty((2 * widest, 2), np.int64)
    below = np.empty(2 * widest, np.int64)
    for f in range(plain, total):
        branch, root = tree_link[f - plain, TREE_BRANCH], tree_link[f - plain, TREE_ROOT]
        size = start[f + 1] - start[f]
        length[f] = place_tree(
            points, shape, link, members, stack, branch, root, spots, ends, below
        )
        for i in range(size - 1):
            terminals[start[f] + i] = order[members[link[branch, START] + i]]
        terminals[start[f + 1] - 1] = order[root]
        low = start[f] - 2 * f
        for i in range(size - 2):
            steiner[low + i, 0], steiner[low + i, 1] = spots[size + i, 0], spots[size + i, 1]
        low = 2 * start[f] - 3 * f
        for e in range(2 * size - 3):
            edges[low + e, 0], edges[low + e, 1] = ends[e, 0], ends[e, 1]
    return start, terminals, length, steiner, edges
