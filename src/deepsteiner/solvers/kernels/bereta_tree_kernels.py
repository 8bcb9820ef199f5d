"""The last correction: a tree's full components made strict, and nothing inserted between them."""

from __future__ import annotations

import numpy as np

from ...core.points import Array
from ...geometry.refine_kernels import refine_tree
from ...geometry.relax_component_kernels import step
from ...geometry.relax_tree_kernels import adjacency, copy_rows

ROUNDS = 50


@step
def strict_tree(terminals: Array, points: Array, tree: Array, steiner: Array, edges: Array) -> int:
    """Refine each full component by itself; write Steiner points and edges, return the point count.

    `points` are the tree's Steiner points and `tree` its edges. A component holds each of its
    terminals as a leaf, so refining it repairs degrees and angles at Steiner points but leaves the
    angles between components alone.
    """
    n, count = terminals.shape[0], points.shape[0]
    total, row = n, 0
    start, incident = adjacency(tree, n + count - 1, n + count)
    for e in range(n + count - 1):
        if tree[e, 0] < n and tree[e, 1] < n:
            edges[row, 0], edges[row, 1] = tree[e, 0], tree[e, 1]
            row += 1
    seen = np.zeros(n + count, dtype=np.bool_)
    # The component: its leaves (terminals), its Steiner points, and its edges between them, in
    # which leaf k is ~k.
    leaves, members = np.empty(n + count, dtype=np.int64), np.empty(count, dtype=np.int64)
    local = np.empty((n + count, 2), dtype=np.int64)
    for first in range(n, n + count):
        if seen[first]:
            continue
        seen[first] = True
        members[0] = first
        links, size, used, i = 0, 1, 0, 0
        while i < size:
            v = members[i]
            for k in range(start[v], start[v + 1]):
                other = tree[incident[k], 0] + tree[incident[k], 1] - v
                if other < n:
                    leaves[links] = other
                    local[used, 0], local[used, 1] = ~links, i
                    links += 1
                    used += 1
                elif not seen[other]:
                    seen[other] = True
                    members[size] = other
                    local[used, 0], local[used, 1] = i, size
                    size += 1
                    used += 1
            i += 1
        for e in range(used):
            for end in range(2):
                k = local[e, end]
                local[e, end] = ~k if k < 0 else links + k
        fresh, fresh_edges, _ = refine_tree(
            terminals[leaves[:links]], points[members[:size] - n], local[:used], ROUNDS
        )
        copy_rows(fresh, steiner[total - n :], fresh.shape[0])
        for e in range(fresh_edges.shape[0]):
            for end in range(2):
                v = fresh_edges[e, end]
                edges[row, end] = leaves[v] if v < links else total + v - links
            row += 1
        total += fresh.shape[0]
    return int(total)
