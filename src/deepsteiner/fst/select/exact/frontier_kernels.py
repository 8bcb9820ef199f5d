"""Exact concatenation of narrow lists: dynamic programme over partitions of a moving frontier.

FSTs are decided one after another. What earlier decisions mean for later ones is only how they
connect the frontier: the terminals that have both decided and undecided FSTs. Lists of plane
instances have short frontiers when terminals are closed in a good order, so a few hundred
partitions, each with its cheapest cost, carry the whole search.
"""

import numpy as np
from numba import njit

from .partition_kernels import (
    SLOTS,
    STRICT,
    close_slots,
    detour,
    drop_dominated,
    insert_state,
    list_slots,
    pack,
)
from .prune_kernels import Flags, Floats, Ints, bottleneck

DONE = 0  # every FST of the order is decided
PAUSED = 1  # the budget of partitions is spent; call again to go on
TOO_WIDE = 2  # the next FST does not fit into the slots
TOO_MANY = 3  # the layer has more partitions than allowed
DEAD = 4  # no partition is left: nothing is at most the ceiling

# Fields of the integer record that a run carries between calls.
STEP, ACTIVE, COUNT, USED, MET, THINNED, STATUS = 0, 1, 2, 3, 4, 5, 6
FIELDS = 7
THIN_FROM = 48  # layers smaller than this are not worth a dominance pass
THIN_GROWTH = 1.8  # and neither are layers that grew less than this since the last one


@njit(cache=True)
def closing_order(
    n: int,
    start: Ints,
    terminals: Ints,
    first: Ints,
    lists: Ints,
    root: int,
    most: int,
    order: Ints,
) -> tuple[int, float]:
    """Order FSTs by closing, again and again, the terminal that widens the frontier least.

    Fills ``order`` until about ``most`` FSTs are placed; returns how many and an estimate of the
    work (partitions met on the way).
    """
    placed = np.zeros(start.size - 1, np.bool_)
    touched = np.zeros(n, np.bool_)
    undecided = np.empty(n, np.int64)
    for v in range(n):
        undecided[v] = first[v + 1] - first[v]
    mark = np.zeros(n, np.int64)
    clock = 0
    frontier = np.empty(n, np.int64)
    width = 1
    frontier[0] = root
    touched[root] = True
    at = 0
    work = 0.0
    while width > 0 and at < most:
        pick = 0
        least = 1 << 60
        for k in range(width):
            v = frontier[k]
            clock += 1
            added = 0
            for j in range(first[v], first[v + 1]):
                f = lists[j]
                if placed[f]:
                    continue
                for i in range(start[f], start[f + 1]):
                    u = terminals[i]
                    if not touched[u] and mark[u] != clock:
                        mark[u] = clock
                        added += 1
            score = added * 64 + undecided[v]
            if score < least:
                least = score
                pick = k
        v = frontier[pick]
        for j in range(first[v], first[v + 1]):
            f = lists[j]
            if placed[f]:
                continue
            placed[f] = True
            order[at] = f
            at += 1
            for i in range(start[f], start[f + 1]):
                u = terminals[i]
                undecided[u] -= 1
                if not touched[u]:
                    touched[u] = True
                    frontier[width] = u
                    width += 1
            work += 2.2**width
        kept = 0
        for k in range(width):
            if undecided[frontier[k]] > 0:
                frontier[kept] = frontier[k]
                kept += 1
        width = kept
    return at, work


@njit(cache=True)
def best_closing_order(
    n: int, start: Ints, terminals: Ints, first: Ints, lists: Ints, tries: int
) -> tuple[Ints, float]:
    """The cheapest of the closing orders from a few spread-out terminals, and its work.

    The work is infinite when the list does not connect the terminals.
    """
    m = start.size - 1
    best = np.empty(m, np.int64)
    order = np.empty(m, np.int64)
    least = np.inf
    root = terminals[0]
    for attempt in range(tries):
        placed, work = closing_order(n, start, terminals, first, lists, root, m, order)
        if placed < m:
            return best, np.inf
        if work < least:
            least = work
            for k in range(m):  # a slice assignment would compile a string formatter
                best[k] = order[k]
        # Where an order ends is far from where it began: a good place to begin.
        root = terminals[start[order[m - 1]]] if attempt % 2 == 0 else (root * 7 + 3) % n
    return best, least


@njit(cache=True)
def fresh_record() -> tuple[Ints, Ints, Floats, Ints, Ints, Ints]:
    """Start of a run: the record, the first layer (one empty partition) and an empty history."""
    record = np.zeros(FIELDS, np.int64)
    record[COUNT] = 1
    keys = np.zeros(256, np.int64)
    costs = np.zeros(256)
    nodes = np.full(256, -1, np.int64)
    return record, keys, costs, nodes, np.empty(1024, np.int64), np.empty(1024, np.int64)


@njit(cache=True)
def grow(array: Ints, used: int, size: int) -> Ints:
    """A longer copy of the used part of an array."""
    longer = np.empty(size, np.int64)
    for k in range(used):
        longer[k] = array[k]
    return longer


@njit(cache=True)
def enter_terminals(
    start: Ints,
    terminals: Ints,
    f: int,
    record: Ints,
    slot: Ints,
    left: Ints,
    at_slot: Ints,
    near: Floats,
    parent: Ints,
    weight: Floats,
) -> tuple[int, int, int]:
    """Seat the new terminals of an FST; returns the bit sets of its own, new and closing slots.

    The own set is 0 when the slots do not suffice (nothing is changed then).
    """
    active = record[ACTIVE]
    missing = 0
    for i in range(start[f], start[f + 1]):
        if slot[terminals[i]] < 0:
            missing += 1
    taken = active
    while taken != 0:
        taken &= taken - 1
        missing += 1
    if missing > SLOTS:
        return 0, 0, 0
    own = 0
    entering = 0
    closing = 0
    for i in range(start[f], start[f + 1]):
        v = terminals[i]
        if slot[v] < 0:
            s = 0
            while active >> s & 1:
                s += 1
            slot[v] = s
            for t in range(SLOTS):
                if active >> t & 1:
                    d = bottleneck(parent, weight, v, at_slot[t])
                    near[16 * s + t] = d
                    near[16 * t + s] = d
            at_slot[s] = v
            active |= 1 << s
            entering |= 1 << s
        own |= 1 << slot[v]
        left[v] -= 1
        if left[v] == 0:
            closing |= 1 << slot[v]
    record[ACTIVE] = active
    return own, entering, closing


@njit(cache=True)
def advance(
    start: Ints,
    terminals: Ints,
    length: Floats,
    order: Ints,
    forced: Flags,
    parent: Ints,
    weight: Floats,
    price: Floats,
    ceiling: Floats,
    slot: Ints,
    left: Ints,
    at_slot: Ints,
    near: Floats,
    record: Ints,
    keys: Ints,
    costs: Floats,
    nodes: Ints,
    taken: Ints,
    before: Ints,
    budget: int,
    most: int,
) -> tuple[Ints, Floats, Ints, Ints, Ints]:
    """Decide FSTs in order until done or a limit is met; the status is left in the record.

    ``parent``/``weight`` is the bottleneck forest, ``forced`` marks FSTs that must be taken,
    ``ceiling[0]`` bounds partial cost plus the prices of untouched terminals (it falls as terminals
    enter). States are linked to the FSTs they took through ``nodes`` -> (``taken``, ``before``).
    Returns the arrays of the layer and the history, which may have been replaced.
    """
    label = np.empty(16, np.int64)
    joined = np.empty(16, np.int64)
    slots = np.empty(16, np.int64)
    rest = np.empty(16, np.int64)
    next_keys = np.empty(keys.size, np.int64)
    next_costs = np.empty(keys.size)
    next_nodes = np.empty(keys.size, np.int64)
    table = np.full(512, -1, np.int64)
    spent = 0
    record[STATUS] = DONE
    while record[STEP] < order.size:
        if spent > budget:
            record[STATUS] = PAUSED
            break
        f = order[record[STEP]]
        own, entering, closing = enter_terminals(
            start, terminals, f, record, slot, left, at_slot, near, parent, weight
        )
        if own == 0:
            record[STATUS] = TOO_WIDE
            break
        record[STEP] += 1
        active = record[ACTIVE]
        for i in range(start[f], start[f + 1]):
            if entering >> slot[terminals[i]] & 1:
                ceiling[0] += price[terminals[i]]
        count = record[COUNT]
        used = record[USED]
        spent += count
        if next_keys.size < 2 * count:
            next_keys = np.empty(4 * count, np.int64)
            next_costs = np.empty(4 * count)
            next_nodes = np.empty(4 * count, np.int64)
        size = 512
        while size < 4 * count:
            size *= 2
        if table.size != size:
            table = np.full(size, -1, np.int64)
        else:
            table[:] = -1
        if used + count > taken.size:
            taken = grow(taken, used, 2 * (used + count))
            before = grow(before, used, 2 * (used + count))
        width = list_slots(active, slots)
        remaining = active & ~closing
        rest_width = list_slots(remaining, rest)
        fresh = int(np.int64(0))  # a literal 0 would compile callees twice
        for c in range(count):
            for a in range(width):
                s = slots[a]
                label[s] = 16 + s if entering >> s & 1 else keys[c] >> (4 * s) & 15
            if not forced[f] and close_slots(label, active, closing):
                key = pack(label, rest, rest_width)
                fresh = insert_state(
                    key, costs[c], nodes[c], table, next_keys, next_costs, next_nodes, fresh
                )
            cost = costs[c] + length[f]
            if cost > ceiling[0]:
                continue
            labels = int(np.int64(0))
            target = int(np.int64(0))
            clash = False
            for a in range(width):
                s = slots[a]
                if own >> s & 1:
                    clash |= labels >> label[s] & 1 != 0
                    labels |= 1 << label[s]
                    target = label[s]
            if clash or detour(label, labels, slots, width, near) * STRICT < length[f]:
                continue
            for a in range(width):
                s = slots[a]
                joined[s] = target if labels >> label[s] & 1 else label[s]
            if close_slots(joined, active, closing):
                key = pack(joined, rest, rest_width)
                taken[used] = f
                before[used] = nodes[c]
                fresh = insert_state(
                    key, cost, used, table, next_keys, next_costs, next_nodes, fresh
                )
                used += 1
        keys, next_keys = next_keys, keys
        costs, next_costs = next_costs, costs
        nodes, next_nodes = next_nodes, nodes
        if fresh > THIN_FROM and fresh > THIN_GROWTH * record[THINNED]:
            fresh = drop_dominated(remaining, near, table, keys, costs, nodes, fresh)
            record[THINNED] = fresh
        for i in range(start[f], start[f + 1]):
            if closing >> slot[terminals[i]] & 1:
                slot[terminals[i]] = -2
        record[ACTIVE] = remaining
        record[COUNT] = fresh
        record[USED] = used
        record[MET] += fresh
        if fresh == 0:
            record[STATUS] = DEAD
            break
        if fresh > most:
            record[STATUS] = TOO_MANY
            break
    return keys, costs, nodes, taken, before
