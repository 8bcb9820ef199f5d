"""Violated subtour inequalities of fractional points, found exactly by local augmentations.

For a terminal set S the inequality reads  sum_F max(0, |F & S| - 1) x_F <= |S| - 1.  With
d_i = sum of x_F over the FSTs at terminal i its violation is
    1 + sum_{i in S} (d_i - 1) - sum_{F meets S} x_F ,
a minimum cut problem: terminal i sends d_i - 1 units through its FSTs, each of which absorbs x_F. A
set through t is violated exactly when one more unit cannot leave t. The augmenting paths stay near
t, so all terminals together cost little more than one flow.
"""

import numpy as np
from numba import njit

from .prune_kernels import Flags, Floats, Ints, find_root

FLOW_EPS = 1e-11
DEGREE_EPS = 1e-9


@njit(cache=True)
def support_components(n: int, start: Ints, terminals: Ints, x: Floats, label: Ints) -> int:
    """Label the connected components of the terminals under the FSTs with x > 0."""
    parent = np.arange(n)
    for f in range(x.size):
        if x[f] > 0.0:
            a = find_root(parent, terminals[start[f]])
            for i in range(start[f] + 1, start[f + 1]):
                parent[find_root(parent, terminals[i])] = a
    count = 0
    label[:] = -1
    for v in range(n):
        r = find_root(parent, v)
        if label[r] < 0:
            label[r] = count
            count += 1
        label[v] = label[r]
    return count


@njit(cache=True)
def trim_set(
    members: Ints,
    size: int,
    start: Ints,
    terminals: Ints,
    x: Floats,
    first: Ints,
    lists: Ints,
    within: Ints,
) -> tuple[int, float]:
    """Drop terminals whose degree inside the set is at most 1: the violation does not fall.

    ``within`` is scratch, zero per FST before and after. Returns the new size and the violation.
    """
    for k in range(size):
        v = members[k]
        for j in range(first[v], first[v + 1]):
            within[lists[j]] += 1
    changed = True
    while changed:
        changed = False
        kept = 0
        for k in range(size):
            v = members[k]
            degree = 0.0
            for j in range(first[v], first[v + 1]):
                if within[lists[j]] > 1:
                    degree += x[lists[j]]
            if degree <= 1.0 + DEGREE_EPS:
                changed = True
                for j in range(first[v], first[v + 1]):
                    within[lists[j]] -= 1
            else:
                members[kept] = v
                kept += 1
        size = kept
    violation = 1.0 - size
    for k in range(size):
        v = members[k]
        for j in range(first[v], first[v + 1]):
            f = lists[j]
            violation += x[f] * (within[f] - 1) / within[f]
    for k in range(size):
        v = members[k]
        for j in range(first[v], first[v + 1]):
            within[lists[j]] = 0
    return size, violation


@njit(cache=True)
def congested_core(
    n: int, start: Ints, terminals: Ints, x: Floats, first: Ints, lists: Ints
) -> tuple[Flags, Ints]:
    """Peel off terminals of degree at most 1: no violated set needs them.

    Returns which terminals stay and how many of each FST's terminals do (0 where x is 0).
    """
    inside = np.ones(n, np.bool_)
    within = np.zeros(x.size, np.int64)
    degree = np.zeros(n)
    stack = np.empty(n, np.int64)
    for f in range(x.size):
        if x[f] > 0.0:
            within[f] = start[f + 1] - start[f]
            for i in range(start[f], start[f + 1]):
                degree[terminals[i]] += x[f]
    height = 0
    for v in range(n):
        if degree[v] <= 1.0 + DEGREE_EPS:
            inside[v] = False
            stack[height] = v
            height += 1
    while height > 0:
        height -= 1
        v = stack[height]
        for j in range(first[v], first[v + 1]):
            f = lists[j]
            if x[f] <= 0.0:
                continue
            within[f] -= 1
            if within[f] != 1:
                continue
            for i in range(start[f], start[f + 1]):  # the one left over loses this FST
                u = terminals[i]
                if inside[u]:
                    degree[u] -= x[f]
                    if degree[u] <= 1.0 + DEGREE_EPS:
                        inside[u] = False
                        stack[height] = u
                        height += 1
    return inside, within


@njit(cache=True)
def push_flow(
    source: int,
    amount: float,
    start: Ints,
    terminals: Ints,
    first: Ints,
    slots: Ints,
    owner: Ints,
    flow: Floats,
    room: Floats,
    queue: Ints,
    came: Ints,
    stamp: Ints,
    tree_stamp: Ints,
    clock: int,
) -> tuple[float, int, int]:
    """Send ``amount`` units out of a terminal by shortest augmenting paths.

    A slot is one (FST, terminal) pair; ``slots`` lists them per terminal and ``owner`` names the
    FST. ``room`` is what each FST still absorbs, ``flow`` what each slot carries. ``came[2 u]`` and
    ``came[2 u + 1]`` are the slots by which the search entered the FST before u and pushed u's own
    flow back. Returns what was sent, the number of terminals in ``queue`` reached by a failed
    search (the cut set; 0 on success) and the clock.
    """
    sent = 0.0
    # Every path fills an FST or empties a slot, more than FLOW_EPS at a time; shortest paths do so
    # at most once for each pair of a terminal and a slot.
    while sent < amount - FLOW_EPS:
        clock += 1
        head = 0
        tail = 1
        queue[0] = source
        stamp[source] = clock
        came[2 * source] = -1
        goal = -1
        while head < tail and goal < 0:
            v = queue[head]
            head += 1
            for j in range(first[v], first[v + 1]):
                slot = slots[j]
                f = owner[slot]
                if tree_stamp[f] == clock:
                    continue
                tree_stamp[f] = clock
                if room[f] > FLOW_EPS:
                    goal = slot
                    break
                for i in range(start[f], start[f + 1]):
                    u = terminals[i]
                    if stamp[u] != clock and flow[i] > FLOW_EPS:
                        stamp[u] = clock
                        came[2 * u] = slot
                        came[2 * u + 1] = i
                        queue[tail] = u
                        tail += 1
        if goal < 0:
            return sent, tail, clock
        push = min(amount - sent, room[owner[goal]])
        v = terminals[goal]
        while came[2 * v] >= 0:
            push = min(push, flow[came[2 * v + 1]])
            v = terminals[came[2 * v]]
        room[owner[goal]] -= push
        flow[goal] += push
        v = terminals[goal]
        while came[2 * v] >= 0:
            flow[came[2 * v + 1]] -= push
            flow[came[2 * v]] += push
            v = terminals[came[2 * v]]
        sent += push
    return sent, 0, clock


@njit(cache=True)
def store_set(members: Ints, size: int, sets: Ints, bounds: Ints, count: int, label: Ints) -> int:
    """Append a set to the output unless an equal one is there or the output is full."""
    low = bounds[count]
    if count + 1 >= bounds.size or low + size > sets.size:
        return count
    for k in range(size):
        label[members[k]] = 1
    fresh = True
    for c in range(count):
        if bounds[c + 1] - bounds[c] == size:
            equal = True
            for k in range(bounds[c], bounds[c + 1]):
                if label[sets[k]] != 1:
                    equal = False
                    break
            if equal:
                fresh = False
                break
    for k in range(size):
        label[members[k]] = 0
    if not fresh:
        return count
    for k in range(size):
        sets[low + k] = members[k]
    bounds[count + 1] = low + size
    return count + 1


@njit(cache=True)
def violated_sets(
    n: int,
    start: Ints,
    terminals: Ints,
    x: Floats,
    first: Ints,
    lists: Ints,
    least: float,
    sets: Ints,
    bounds: Ints,
) -> tuple[int, int]:
    """Collect violated terminal sets of a point x into ``sets`` (offsets in ``bounds``).

    ``first``/``lists`` is the incidence of all FSTs. Entries of x must be exactly 0 where they mean
    0. Returns the number of sets and how many of them came from disconnected supports. When none is
    returned no subtour inequality is violated by ``least`` or more.
    """
    bounds[0] = 0
    count = int(np.int64(0))  # a literal 0 would compile callees twice
    label = np.zeros(n, np.int64)
    members = np.empty(n, np.int64)
    scratch = np.zeros(x.size, np.int64)
    parts = support_components(n, start, terminals, x, label)
    if parts > 1:
        offset = np.zeros(parts + 1, np.int64)
        grouped = np.empty(n, np.int64)
        for v in range(n):
            offset[label[v] + 1] += 1
        for c in range(parts):
            offset[c + 1] += offset[c]
        fill = offset[:parts].copy()
        for v in range(n):
            grouped[fill[label[v]]] = v
            fill[label[v]] += 1
        label[:] = 0
        for c in range(parts):
            for k in range(offset[c], offset[c + 1]):
                members[k - offset[c]] = grouped[k]
            size, violation = trim_set(
                members, offset[c + 1] - offset[c], start, terminals, x, first, lists, scratch
            )
            if size > 1 and violation > least:
                count = store_set(members, size, sets, bounds, count, label)
    label[:] = 0
    from_parts = count
    inside, within = congested_core(n, start, terminals, x, first, lists)
    trees = 0
    total = 0
    for f in range(x.size):
        if within[f] > 1:
            trees += 1
            total += within[f]
    if trees == 0:
        return count, from_parts
    core_start = np.zeros(trees + 1, np.int64)
    core_terms = np.empty(total, np.int64)
    owner = np.empty(total, np.int64)
    room = np.empty(trees)
    degree = np.zeros(n)
    at_first = np.zeros(n + 1, np.int64)
    trees = 0
    at = 0
    for f in range(x.size):
        if within[f] > 1:
            for i in range(start[f], start[f + 1]):
                v = terminals[i]
                if inside[v]:
                    core_terms[at] = v
                    owner[at] = trees
                    degree[v] += x[f]
                    at_first[v + 1] += 1
                    at += 1
            room[trees] = x[f]
            trees += 1
            core_start[trees] = at
    for v in range(n):
        at_first[v + 1] += at_first[v]
    fill = at_first[:n].copy()
    slots = np.empty(total, np.int64)
    for i in range(total):
        slots[fill[core_terms[i]]] = i
        fill[core_terms[i]] += 1
    flow = np.zeros(total)
    queue = np.empty(n, np.int64)
    came = np.empty(2 * n, np.int64)
    stamp = np.zeros(n, np.int64)
    tree_stamp = np.zeros(trees, np.int64)
    covered = np.zeros(n, np.bool_)
    clock = int(np.int64(0))
    for extra in range(2):
        for v in range(n):
            if not inside[v]:
                continue
            amount = 1.0
            if extra == 0:
                amount = degree[v] - 1.0
            else:
                flow_before = flow.copy()
                room_before = room.copy()
            sent, reached, clock = push_flow(
                v, amount, core_start, core_terms, at_first, slots, owner, flow, room,
                queue, came, stamp, tree_stamp, clock,
            )  # fmt: skip
            if extra == 1:
                flow = flow_before
                room = room_before
            if reached > 1 and amount - sent > 0.5 * least:
                for k in range(reached):
                    members[k] = queue[k]
                size, violation = trim_set(
                    members, reached, start, terminals, x, first, lists, scratch
                )
                if size > 1 and violation > least:
                    count = store_set(members, size, sets, bounds, count, label)
                    for k in range(size):
                        covered[members[k]] = True
    return count, from_parts
