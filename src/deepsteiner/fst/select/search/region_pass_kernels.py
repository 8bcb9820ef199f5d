"""Many regions solved at once: each against the same tree, and which of the changes go together.

The tree is hung on a terminal, so that what it connects outside a region follows from the region
alone: without the chosen trees inside, every terminal is connected with its nearest ancestor that
hangs below one of them. A change that leaves the same terminals of its region connected inside it
as before goes together with any change elsewhere, since nobody outside can tell the difference.
Other changes may close a cycle together, and have to be tried together.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ....core.jit import njit
from ....core.tree_kernels import find
from ..exact.prune_kernels import incidence, merge_tree, sorted_order
from ..hypergraph import Budget, Flags, Floats, Hypergraph, Ints, Rows
from .region_kernels import representatives
from .window_kernels import Selection, choose_anew, is_inside, list_inside


class Hung(NamedTuple):
    """A tree hung on the first terminal, terminals numbered from above.

    enter, leave: below a terminal are those numbered from its `enter` up to, but not including, its
        `leave`; itself included.
    above: the full tree on which a terminal hangs, -1 for the first.
    """

    enter: Ints
    leave: Ints
    above: Ints


@njit(cache=True, nogil=True)
def hang(graph: Hypergraph, picked: Flags) -> Hung:
    """Hang the picked trees, which span all terminals, on the first terminal."""
    n, start, terminals, _ = graph
    at, lists = incidence(graph, picked)
    enter, leave, above = np.empty(n, np.int64), np.empty(n, np.int64), np.full(n, -1, np.int64)
    stack, way = np.empty(n, np.int64), np.empty(n, np.int64)
    stack[0] = 0
    size, count = 1, 0
    while size > 0:
        size -= 1
        v = stack[size]
        enter[v] = count
        way[count] = v
        count += 1
        for j in range(at[v], at[v + 1]):
            f = lists[j]
            if f == above[v]:
                continue
            for i in range(start[f], start[f + 1]):
                if terminals[i] != v:
                    above[terminals[i]] = f
                    stack[size] = terminals[i]
                    size += 1
    # The first number beyond a subtree: that of its last terminal, handed up the tree.
    for v in range(n):
        leave[v] = enter[v] + 1
    for k in range(count - 1, 0, -1):
        v = way[k]
        f = above[v]
        for i in range(start[f], start[f + 1]):
            u = terminals[i]
            if above[u] != f:
                leave[u] = max(leave[u], leave[v])
    return Hung(enter, leave, above)


@njit(cache=True, nogil=True)
def parts_without(members: Ints, cut: Flags, hung: Hung) -> tuple[Ints, int]:
    """Return for every member the part it is in once the tree is cut above some, and their number.

    `cut` flags the members above which it is cut; a member may be there twice. Part 0 is that of
    the terminal on which the tree hangs.
    """
    enter, leave = hung.enter, hung.leave
    count = members.size
    keys = np.empty(count)
    for k in range(count):
        keys[k] = 2.0 * enter[members[k]] + (0.0 if cut[k] else 1.0)
    order = sorted_order(keys)
    part = np.empty(count, np.int64)
    stack, name = np.empty(count + 1, np.int64), np.empty(count + 1, np.int64)
    depth, parts = 0, 1
    for i in range(count):
        k = order[i]
        v = members[k]
        while depth > 0 and leave[stack[depth - 1]] <= enter[v]:
            depth -= 1
        if cut[k]:
            stack[depth], name[depth] = v, parts
            depth += 1
            parts += 1
        part[k] = name[depth - 1] if depth > 0 else 0
    return part, parts


@njit(cache=True, nogil=True)
def _outside(graph: Hypergraph, members: Ints, local: Ints, hung: Hung) -> Ints:
    """Return a representative for every member: those connected outside have the same."""
    cut = np.empty(members.size, np.bool_)
    for k in range(members.size):
        f = hung.above[members[k]]
        cut[k] = f >= 0 and is_inside(graph, f, local)
    part, parts = parts_without(members, cut, hung)
    return representatives(part, parts)


@njit(cache=True, nogil=True)
def _same_parts(graph: Hypergraph, was: Flags, now: Flags) -> bool:
    """Whether two choices of trees, which both are forests, connect the same."""
    _, start, terminals, _ = graph
    before, after = np.arange(graph.n), np.arange(graph.n)
    for k in range(was.size):
        if was[k]:
            merge_tree(before, terminals, start[k], start[k + 1])
        if now[k]:
            merge_tree(after, terminals, start[k], start[k + 1])
    for k in range(was.size):
        if was[k] != now[k]:
            other = after if was[k] else before
            root = find(other, terminals[start[k]])
            for i in range(start[k] + 1, start[k + 1]):
                if find(other, terminals[i]) != root:
                    return False
    return True


@njit(cache=True, nogil=True)
def solve_apart(
    selection: Selection, regions: Rows, first: int, last: int, budget: Budget, hung: Hung,
    local: Ints, saved: Floats,
) -> tuple[Floats, Ints, Ints]:  # fmt: skip
    """Solve the regions first..last-1 by what `hang` says of the tree; they share no terminal.

    Changes that go together with any others are made at once, and what each saved is written.
    Returns the changes still to be tried: what each would save and, in compressed rows, the trees
    to be picked or dropped. `local` is a scratch array of -1, one for each terminal, left as it was
    found.
    """
    picked = selection.picked
    waiting = 0
    gains, rows = np.empty(last - first), np.zeros(last - first + 1, np.int64)
    changed, size = np.empty(64, np.int64), 0
    for g in range(first, last):
        members = regions.items[regions.first[g] : regions.first[g + 1]]
        for k in range(members.size):
            local[members[k]] = k
        ids, inner = list_inside(selection, members, local)
        merged = _outside(selection.graph, members, local, hung)
        for v in members:
            local[v] = -1
        now = picked[ids]
        gain, chosen = choose_anew(now, inner, merged, budget)
        if gain == 0.0:
            continue
        if _same_parts(inner, now, chosen):
            saved[g - first] = gain
            for k in range(ids.size):
                picked[ids[k]] = chosen[k]
            continue
        if size + ids.size > changed.size:
            longer = np.empty(2 * (size + ids.size), np.int64)
            for k in range(size):
                longer[k] = changed[k]
            changed = longer
        for k in range(ids.size):
            if now[k] != chosen[k]:
                changed[size] = ids[k]
                size += 1
        gains[waiting] = gain
        waiting += 1
        rows[waiting] = size
    return gains[:waiting].copy(), rows[: waiting + 1].copy(), changed[:size].copy()


@njit(cache=True, nogil=True)
def changes_as_parts(
    graph: Hypergraph, picked: Flags, changed: Ints, hung: Hung
) -> tuple[int, Ints, Ints, Flags]:
    """Return (parts, start, names, new): the changed trees over what the others leave connected."""
    _, start, terminals, _ = graph
    at, new = np.zeros(changed.size + 1, np.int64), ~picked[changed]
    for k in range(changed.size):
        at[k + 1] = at[k] + start[changed[k] + 1] - start[changed[k]]
    members, cut = np.empty(at[changed.size], np.int64), np.empty(at[changed.size], np.bool_)
    for k in range(changed.size):
        f = changed[k]
        for i in range(start[f], start[f + 1]):
            members[at[k] + i - start[f]] = terminals[i]
            cut[at[k] + i - start[f]] = not new[k] and hung.above[terminals[i]] == f
    part, parts = parts_without(members, cut, hung)
    return parts, at, part, new


@njit(cache=True, nogil=True)
def is_forest(parts: int, start: Ints, names: Ints, chosen: Flags) -> bool:
    """Whether the chosen trees close no cycle."""
    parent = np.arange(parts)
    for k in range(chosen.size):
        if chosen[k] and not merge_tree(parent, names, start[k], start[k + 1]):
            return False
    return True


@njit(cache=True, nogil=True)
def contracted(
    parts: int, start: Ints, names: Ints, chosen: Flags, first: int, last: int
) -> tuple[int, Ints, Ints]:
    """Return (parts, start, names) of the trees first..last-1 once the chosen ones are contracted.

    Only parts that these trees name are left.
    """
    parent = np.arange(parts)
    for k in range(chosen.size):
        if chosen[k]:
            merge_tree(parent, names, start[k], start[k + 1])
    begin = start[first : last + 1] - start[first]
    inside = np.empty(begin[last - first], np.int64)
    label = np.full(parts, -1, np.int64)
    count = 0
    for i in range(inside.size):
        root = find(parent, names[start[first] + i])
        if label[root] < 0:
            label[root] = count
            count += 1
        inside[i] = label[root]
    return count, begin, inside
