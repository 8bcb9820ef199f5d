"""The last correction: a tree's full components made strict, and nothing inserted between them."""

from __future__ import annotations

import numpy as np

from ...core.points import Array
from ...geometry.refine_kernels import refine_tree
from ...geometry.relax_component_kernels import step
from ...geometry.relax_tree_kernels import adjacency

ROUNDS = 50


@step
def strict_tree(
    terminals: Array, points: Array, count: int, tree: Array, steiner: Array, edges: Array
) -> int:
    """Refine each full component by itself; write Steiner points and edges, return the point count.

    `points` are the tree's Steiner points and `tree` its n + count - 1 edges. A component holds
    each of its terminals as a leaf, so refining it repairs degrees and angles at Steiner points
    but leaves the angles between components alone.
    """
    n = terminals.shape[0]
    total, row = n, 0
    start, incident = adjacency(tree, n + count - 1, n + count)
    for e in range(n + count - 1):
        if tree[e, 0] < n and tree[e, 1] < n:
            edges[row, 0], edges[row, 1] = tree[e, 0], tree[e, 1]
            row += 1
    seen = np.zeros(count, dtype=np.bool_)
    members = np.empty(count, dtype=np.int64)
    for first in range(count):
        if seen[first]:
            continue
        seen[first] = True
        members[0] = first
        size, links, i = 1, 0, 0
        while i < size:
            v = n + members[i]
            for k in range(start[v], start[v + 1]):
                other = tree[incident[k], 0] + tree[incident[k], 1] - v
                if other < n:
                    links += 1
                elif not seen[other - n]:
                    seen[other - n] = True
                    members[size] = other - n
                    size += 1
            i += 1
        # As many leaves as terminals, links + size - 1 edges in all.
        leaves = np.empty(links, dtype=np.int64)
        local = np.empty((links + size - 1, 2), dtype=np.int64)
        corner, inner = np.empty((links, 2)), np.empty((size, 2))
        leaf, used = 0, 0
        for i in range(size):
            v = n + members[i]
            inner[i, 0], inner[i, 1] = points[members[i], 0], points[members[i], 1]
            for k in range(start[v], start[v + 1]):
                other = tree[incident[k], 0] + tree[incident[k], 1] - v
                if other < n:
                    leaves[leaf] = other
                    corner[leaf, 0], corner[leaf, 1] = terminals[other, 0], terminals[other, 1]
                    local[used, 0], local[used, 1] = leaf, links + i
                    leaf += 1
                    used += 1
                    continue
                j = 0
                while members[j] != other - n:
                    j += 1
                if j > i:
                    local[used, 0], local[used, 1] = links + i, links + j
                    used += 1
        fresh, fresh_edges, _ = refine_tree(corner, inner, local, ROUNDS)
        for i in range(fresh.shape[0]):
            steiner[total - n + i, 0], steiner[total - n + i, 1] = fresh[i, 0], fresh[i, 1]
        for e in range(fresh_edges.shape[0]):
            for end in range(2):
                v = fresh_edges[e, end]
                edges[row, end] = leaves[v] if v < links else total + v - links
            row += 1
        total += fresh.shape[0]
    return int(total)
