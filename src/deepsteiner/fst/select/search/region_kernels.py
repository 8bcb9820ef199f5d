"""Regions: all chosen trees inside a set of terminals replaced at once by the best choice.

What is chosen outside stays and is contracted: terminals that it connects count as one. So the
trees inside a region need not be connected, and a link may move to the far side of a long cycle.
"""

from __future__ import annotations

import numpy as np

from ....core.jit import njit
from ....core.tree_kernels import find
from ..hypergraph import Budget, Hypergraph, Ints, Rows
from .window_kernels import Selection, choose_anew, is_inside, list_inside


@njit(cache=True, nogil=True)
def solve_region(selection: Selection, members: Ints, budget: Budget, local: Ints) -> float:
    """Replace the chosen trees over some terminals by a shorter choice; return the saving.

    `local` is a scratch array of -1, one for each terminal, left as it was found.
    """
    for k in range(members.size):
        local[members[k]] = k
    ids, inner = list_inside(selection, members, local)
    merged = _connected_outside(selection, members, local)
    for v in members:
        local[v] = -1
    saving, chosen = choose_anew(selection.picked[ids], inner, merged, budget)
    if saving > 0.0:
        for k in range(ids.size):
            selection.picked[ids[k]] = chosen[k]
    return saving


@njit(cache=True, nogil=True)
def _connected_outside(selection: Selection, members: Ints, local: Ints) -> Ints:
    """Return a representative for every member: those connected outside have the same."""
    graph, picked = selection.graph, selection.picked
    parent = np.arange(graph.n)
    for f in range(picked.size):
        if picked[f] and not is_inside(graph, f, local):
            root = find(parent, graph.terminals[graph.start[f]])
            for i in range(graph.start[f] + 1, graph.start[f + 1]):
                parent[find(parent, graph.terminals[i])] = root
    roots = np.empty(members.size, np.int64)
    for k in range(members.size):
        roots[k] = find(parent, members[k])
    return representatives(roots, graph.n)


@njit(cache=True, nogil=True)
def representatives(label: Ints, count: int) -> Ints:
    """Return for every entry the first one with the same label; labels are below `count`."""
    first = np.full(count, -1, np.int64)
    found = np.empty(label.size, np.int64)
    for k in range(label.size):
        if first[label[k]] < 0:
            first[label[k]] = k
        found[k] = first[label[k]]
    return found


@njit(cache=True, nogil=True)
def nearby(graph: Hypergraph, at: Rows, seed: int, limit: int, stamp: Ints, members: Ints) -> int:
    """Write up to `limit` terminals around one, breadth first over the list; return how many.

    `at` is the incidence of the list; `stamp` holds no seed that comes later.
    """
    count, done = 1, 0
    members[0] = seed
    stamp[seed] = seed
    while done < count:
        v = members[done]
        done += 1
        for j in range(at.first[v], at.first[v + 1]):
            f = at.items[j]
            for i in range(graph.start[f], graph.start[f + 1]):
                u = graph.terminals[i]
                if stamp[u] != seed:
                    if count == limit:
                        return count
                    stamp[u] = seed
                    members[count] = u
                    count += 1
    return count


@njit(cache=True, nogil=True)
def improve_around(
    selection: Selection, at: Rows, seeds: Ints, limit: int, budget: Budget
) -> float:
    """Solve a region of up to `limit` terminals around each of some terminals.

    `at` is the incidence of the list. Returns what was saved.
    """
    n = selection.graph.n
    stamp, local = np.full(n, -1, np.int64), np.full(n, -1, np.int64)
    members = np.empty(limit, np.int64)
    saved = 0.0
    for seed in seeds:
        count = nearby(selection.graph, at, seed, limit, stamp, members)
        saved += solve_region(selection, members[:count], budget, local)
    return saved
