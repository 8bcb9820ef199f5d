"""The last correction: a tree's full components made strict, and nothing inserted between them."""

from __future__ import annotations

import numpy as np

from ...core.points import Array
from ...geometry.refine_kernels import refine_tree
from ...geometry.relax_component_kernels import NODE, step
from ...geometry.relax_tree_kernels import PlacedTree, adjacency, copy_rows, gather_component

ROUNDS = 50


@step
def strict_tree(terminals: Array, points: Array, tree: Array, steiner: Array, edges: Array) -> int:
    """Refine each full component by itself; write Steiner points and edges, return the point count.

    `points` are the tree's Steiner points and `tree` its edges. A component holds each of its
    terminals as a leaf, so refining it repairs degrees and angles at Steiner points but leaves the
    angles between components alone.
    """
    n, count = terminals.shape[0], points.shape[0]
    pending, nodes = np.full(count, True), np.empty(n + count, NODE)
    placed = PlacedTree(terminals, points, tree, pending, nodes)
    around = adjacency(tree, n + count - 1, n + count)
    own, members = np.empty(n + count, dtype=np.int64), np.empty(count, dtype=np.int64)
    names, local = np.empty(n + count, dtype=np.int64), np.empty((n + count, 2), dtype=np.int64)
    total, row = n, 0
    for terminal in range(n):
        for k in range(around.start[terminal], around.start[terminal + 1]):
            first = tree[around.incident[k], 0] + tree[around.incident[k], 1] - terminal
            if terminal < first < n:
                edges[row, 0], edges[row, 1] = terminal, first
                row += 1
            if first < n or not pending[first - n]:
                continue
            size, _ = gather_component(placed, around, terminal, first)
            leaves = inner = 0
            for i in range(size):
                v = nodes[i].vertex
                if v < n:
                    own[leaves], names[i] = v, leaves
                    leaves += 1
                else:
                    members[inner], names[i] = v - n, inner
                    inner += 1
                    pending[v - n] = False
            for i in range(1, size):
                for end, j in enumerate((i, nodes[i].parent)):
                    local[i - 1, end] = names[j] if nodes[j].fixed else leaves + names[j]
            fresh, links, _ = refine_tree(
                terminals[own[:leaves]], points[members[:inner]], local[: size - 1], ROUNDS
            )
            copy_rows(fresh, steiner[total - n :], fresh.shape[0])
            for e in range(links.shape[0]):
                for end in range(2):
                    v = links[e, end]
                    edges[row, end] = own[v] if v < leaves else total + v - leaves
                row += 1
            total += fresh.shape[0]
    return int(total)
