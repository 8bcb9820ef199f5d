"""Many regions solved at once: each against the same tree, and which of the changes go together.

The tree is hung on a terminal, so that what it connects outside a region follows from the region
alone: without the chosen trees inside, every terminal is connected with its nearest ancestor that
hangs below one of them. A change that leaves the same terminals of its region connected inside it
as before goes together with any change elsewhere, since nobody outside can tell the difference.
Other changes may close a cycle together, and have to be tried together.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from ....core.points import Array
from ..exact.prune_kernels import find_root, merge_tree, sorted_order
from .region_kernels import chosen_anew, trees_inside


@njit(cache=True, nogil=True)
def hang(n: int, start: Array, terminals: Array, picked: Array) -> tuple[Array, Array, Array]:
    """Hang the picked trees, which span n terminals, on the first terminal.

    Returns (enter, leave, above): below a terminal are those numbered from its `enter` to its
    `leave`, itself included, and `above` is the tree on which it hangs (-1: the first).
    """
    at = np.zeros(n + 2, np.int64)
    for f in range(picked.size):
        if picked[f]:
            for i in range(start[f], start[f + 1]):
                at[terminals[i] + 2] += 1
    for v in range(n):
        at[v + 2] += at[v + 1]
    lists = np.empty(at[n + 1], np.int64)
    for f in range(picked.size):
        if picked[f]:
            for i in range(start[f], start[f + 1]):
                v = terminals[i] + 1
                lists[at[v]] = f
                at[v] += 1
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
    return enter, leave, above


@njit(cache=True, nogil=True)
def parts_without(members: Array, cut: Array, enter: Array, leave: Array) -> tuple[Array, int]:
    """Return for every member the part it is in once the tree is cut above some, and their number.

    `cut` flags the members above which it is cut; a member may be there twice. Part 0 is that of
    the terminal on which the tree hangs.
    """
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
def _outside(
    start: Array, terminals: Array, members: Array, local: Array, enter: Array, leave: Array,
    above: Array,
) -> Array:  # fmt: skip
    """Return a representative for every member: those connected outside have the same."""
    count = members.size
    cut = np.zeros(count, np.bool_)
    for k in range(count):
        f = above[members[k]]
        if f >= 0:
            cut[k] = True
            for i in range(start[f], start[f + 1]):
                cut[k] = cut[k] and local[terminals[i]] >= 0
    part, parts = parts_without(members, cut, enter, leave)
    first = np.full(parts, -1, np.int64)
    for k in range(count):
        if first[part[k]] < 0:
            first[part[k]] = k
        part[k] = first[part[k]]
    return part


@njit(cache=True, nogil=True)
def _same_parts(count: int, begin: Array, inside: Array, was: Array, now: Array) -> bool:
    """Whether two choices of trees, which both are forests, connect the same."""
    before, after = np.arange(count), np.arange(count)
    for k in range(was.size):
        if was[k]:
            merge_tree(before, inside, begin[k], begin[k + 1])
        if now[k]:
            merge_tree(after, inside, begin[k], begin[k + 1])
    for k in range(was.size):
        if was[k] and not now[k]:
            root = find_root(after, inside[begin[k]])
            for i in range(begin[k] + 1, begin[k + 1]):
                if find_root(after, inside[i]) != root:
                    return False
        if now[k] and not was[k]:
            root = find_root(before, inside[begin[k]])
            for i in range(begin[k] + 1, begin[k + 1]):
                if find_root(before, inside[i]) != root:
                    return False
    return True


@njit(cache=True, nogil=True)
def solve_apart(
    start: Array,
    terminals: Array,
    length: Array,
    picked: Array,
    own_first: Array,
    own: Array,
    members: Array,
    bounds: Array,
    first: int,
    last: int,
    work: float,
    widest: int,
    enter: Array,
    leave: Array,
    above: Array,
    local: Array,
    saved: Array,
) -> tuple[Array, Array, Array]:
    """Solve the regions first..last-1 by what `hang` says of the tree; regions share no terminal.

    Region g has members[bounds[g] : bounds[g + 1]]. Changes that go together with any others are
    made at once, and what each saved is written. Returns the changes still to be tried: what
    each would save and, in compressed rows, the trees to be picked or dropped.
    """
    waiting = 0
    gains, rows = np.empty(last - first), np.zeros(last - first + 1, np.int64)
    changed, size = np.empty(64, np.int64), 0
    for g in range(first, last):
        part = members[bounds[g] : bounds[g + 1]]
        for k in range(part.size):
            local[part[k]] = k
        ids, begin, inside, before, chosen_now = trees_inside(
            start, terminals, length, picked, own_first, own, part, local
        )  # fmt: skip
        if chosen_now > 0 and ids.size > chosen_now:
            merged = _outside(start, terminals, part, local, enter, leave, above)
            gain, chosen = chosen_anew(
                picked, length, ids, begin, inside, merged, before, work, widest
            )
            if gain > 0.0 and _same_parts(part.size, begin, inside, picked[ids], chosen):
                saved[g - first] = gain
                for k in range(ids.size):
                    picked[ids[k]] = chosen[k]
            elif gain > 0.0:
                if size + ids.size > changed.size:
                    longer = np.empty(2 * (size + ids.size), np.int64)
                    longer[:size] = changed[:size]
                    changed = longer
                for k in range(ids.size):
                    if picked[ids[k]] != chosen[k]:
                        changed[size] = ids[k]
                        size += 1
                gains[waiting] = gain
                waiting += 1
                rows[waiting] = size
        for k in range(part.size):
            local[part[k]] = -1
    return gains[:waiting].copy(), rows[: waiting + 1].copy(), changed[:size].copy()


@njit(cache=True, nogil=True)
def changes_as_parts(
    start: Array, terminals: Array, picked: Array, changed: Array, enter: Array, leave: Array,
    above: Array,
) -> tuple[int, Array, Array, Array]:  # fmt: skip
    """Return (parts, start, names, new): the changed trees over what the others leave connected."""
    at, new = np.zeros(changed.size + 1, np.int64), np.empty(changed.size, np.bool_)
    for k in range(changed.size):
        at[k + 1] = at[k] + start[changed[k] + 1] - start[changed[k]]
        new[k] = not picked[changed[k]]
    members, cut = np.empty(at[changed.size], np.int64), np.empty(at[changed.size], np.bool_)
    for k in range(changed.size):
        f = changed[k]
        for i in range(start[f], start[f + 1]):
            members[at[k] + i - start[f]] = terminals[i]
            cut[at[k] + i - start[f]] = not new[k] and above[terminals[i]] == f
    part, parts = parts_without(members, cut, enter, leave)
    return parts, at, part, new


@njit(cache=True, nogil=True)
def is_forest(parts: int, start: Array, names: Array, chosen: Array) -> bool:
    """Whether the chosen trees close no cycle."""
    parent = np.arange(parts)
    for k in range(chosen.size):
        if chosen[k] and not merge_tree(parent, names, start[k], start[k + 1]):
            return False
    return True


@njit(cache=True, nogil=True)
def contracted(
    parts: int, start: Array, names: Array, chosen: Array, first: int, last: int
) -> tuple[int, Array, Array]:
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
        root = find_root(parent, names[start[first] + i])
        if label[root] < 0:
            label[root] = count
            count += 1
        inside[i] = label[root]
    return count, begin, inside
