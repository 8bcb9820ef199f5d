"""Small sets of terminals as a linear programme sees them, and the heaviest forest on one.

What an FST has in common with a set S is its trace. In every tree the traces of its FSTs on S form
a forest in the sense of hypergraphs: no two of them share two terminals, and there is no cycle.
Up to 62 terminals are bits of an integer here, and so a trace is an integer.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .....core.jit import njit
from ...hypergraph import Flags, Floats, Hypergraph, Ints, Rows
from ..partition_kernels import (
    SLOTS,
    Layer,
    empty_layer,
    find_state,
    insert_state,
    list_slots,
    pack,
)

TOO_WIDE = -1.0  # instead of a weight: the frontier has too many terminals or partitions
NOTHING = -2.0  # instead of a weight: no forest is heavier than what was asked for


class Traces(NamedTuple):
    """The FSTs that have two or more terminals in a set.

    masks: their traces, each once.
    value: the sum of x over the FSTs of a trace.
    columns, which: these FSTs, and the number of the trace of each.
    """

    masks: Ints
    value: Floats
    columns: Ints
    which: Ints


@njit(cache=True)
def grow_set(graph: Hypergraph, at: Rows, x: Floats, seed: int, size: int, wobble: Floats) -> Ints:
    """Terminals around a seed: again and again the one that x ties most to those so far.

    The wobble, one factor a terminal, decides among near equals.
    """
    tie = np.zeros(graph.n)
    inside = np.zeros(graph.n, np.bool_)
    members = np.empty(size, np.int64)
    v, count = seed, 0
    while v >= 0:
        members[count] = v
        inside[v] = True
        count += 1
        if count == size:
            break
        for j in range(at.first[v], at.first[v + 1]):
            f = at.items[j]
            if x[f] > 1e-6:
                for i in range(graph.start[f], graph.start[f + 1]):
                    tie[graph.terminals[i]] += x[f]
        v, most = -1, 0.0
        for u in range(graph.n):
            if not inside[u] and tie[u] * wobble[u] > most:
                v, most = u, tie[u] * wobble[u]
    return members[:count]


@njit(cache=True)
def collect_traces(at: Rows, alive: Flags, x: Floats, members: Ints) -> Traces:
    """The traces on a set of at most 62 terminals of all FSTs that are alive."""
    most = 0
    for v in members:
        most += at.first[v + 1] - at.first[v]
    mask = np.zeros(alive.size, np.int64)
    columns = np.empty(most, np.int64)
    count = 0
    for k in range(members.size):
        v = members[k]
        for j in range(at.first[v], at.first[v + 1]):
            f = at.items[j]
            if not alive[f]:
                continue
            if mask[f] != 0 and mask[f] & (mask[f] - 1) == 0:
                columns[count] = f
                count += 1
            mask[f] |= 1 << k
    columns = columns[:count]
    order = np.argsort(mask[columns], kind="mergesort")
    columns = columns[order]
    masks, value, which = np.empty(count, np.int64), np.zeros(count), np.empty(count, np.int64)
    last = -1
    for k in range(count):
        if last < 0 or masks[last] != mask[columns[k]]:
            last += 1
            masks[last] = mask[columns[k]]
        value[last] += x[columns[k]]
        which[k] = last
    return Traces(masks[: last + 1], value[: last + 1], columns, which)


@njit(cache=True)
def bits(mask: int) -> int:
    """How many bits are set."""
    count = 0
    while mask != 0:
        mask &= mask - 1
        count += 1
    return count


@njit(cache=True)
def forest_order(masks: Ints) -> Ints:
    """An order of traces that keeps the frontier of terminals short: close one after another."""
    placed = np.zeros(masks.size, np.bool_)
    order = np.empty(masks.size, np.int64)
    met, count = 0, 0
    while count < masks.size:
        pick, least = -1, 1 << 60
        for v in range(62):
            added, undecided = 0, 0
            for i in range(masks.size):
                if not placed[i] and masks[i] >> v & 1:
                    added |= masks[i] & ~met
                    undecided += 1
            score = 64 * bits(added) + undecided
            if not met >> v & 1:
                score += 1 << 20  # a new beginning, where nothing on the frontier is left
            if undecided > 0 and score < least:
                pick, least = v, score
        for i in range(masks.size):
            if not placed[i] and masks[i] >> pick & 1:
                placed[i] = True
                order[count] = i
                count += 1
                met |= masks[i]
    return order


@njit(cache=True)
def seat(mask: int, slot: Ints, left: Ints, active: int) -> tuple[int, int, int]:
    """Give a trace's new terminals slots; returns its own, the entering and the closing slots.

    The own set is 0 where the slots do not suffice.
    """
    own, entering, closing = 0, 0, 0
    for v in range(62):
        if not mask >> v & 1:
            continue
        if slot[v] < 0:
            s = 0
            while (active | entering) >> s & 1:
                s += 1
            if s >= SLOTS:
                return 0, 0, 0
            slot[v] = s
            entering |= 1 << s
        own |= 1 << slot[v]
        left[v] -= 1
        if left[v] == 0:
            closing |= 1 << slot[v]
    return own, entering, closing


@njit(cache=True)
def join(label: Ints, slots: Ints, own: int) -> bool:
    """Unite the components of some slots; False, and nothing done, where two are one already."""
    labels, target = 0, 0
    for a in range(slots.size):
        s = slots[a]
        if own >> s & 1:
            if labels >> label[s] & 1:
                return False
            labels |= 1 << label[s]
            target = label[s]
    for a in range(slots.size):
        if labels >> label[slots[a]] & 1:
            label[slots[a]] = target
    return True


@njit(cache=True)
def heaviest_forest(
    masks: Ints, weights: Floats, order: Ints, beyond: float, most: int, chosen: Flags
) -> float:
    """The weight of the heaviest forest of traces, if beyond a number; `chosen` flags its traces.

    Dynamic programme over partitions of a frontier, as in `frontier_kernels`: traces are decided
    in order, and what matters of the past is how the terminals that are not closed hang together.
    Weights are not negative. Gives up (TOO_WIDE) on more than ``most`` partitions.
    """
    slot, left = np.full(62, -1), np.zeros(62, np.int64)
    rest = 0.0
    for i in range(masks.size):
        rest += weights[i]
        for v in range(62):
            left[v] += masks[i] >> v & 1
    layer, spare = empty_layer(64), empty_layer(64)
    layer.keys[0], layer.costs[0], layer.nodes[0] = 0, 0.0, -1
    taken, before = np.empty(1024, np.int64), np.empty(1024, np.int64)
    label = np.empty(SLOTS, np.int64)
    active, count, used = 0, 1, 0
    for i in order:
        own, entering, closing = seat(masks[i], slot, left, active)
        if own == 0:
            return TOO_WIDE
        active |= entering
        rest -= weights[i]
        if spare.keys.size < 2 * count:
            spare = empty_layer(4 * count)
        if used + count > taken.size:
            taken, before = longer(taken, used + count), longer(before, used + count)
        table = np.full(table_size(count), -1)
        slots, stay = list_slots(active), list_slots(active & ~closing)
        fresh = int(np.int64(0))  # a literal 0 would compile callees twice
        for c in range(count):
            cost, node = layer.costs[c], layer.nodes[c]
            for a in range(slots.size):
                s = slots[a]
                label[s] = 16 + s if entering >> s & 1 else layer.keys[c] >> (4 * s) & 15
            if rest - cost > beyond:
                fresh = insert_state(pack(label, stay), cost, node, table, spare, fresh)
            cost -= weights[i]
            if rest - cost > beyond and join(label, slots, own):
                key = pack(label, stay)
                _, known = find_state(key, table, spare.keys)
                if known < 0 or cost < spare.costs[known]:
                    taken[used], before[used] = i, node
                    fresh = insert_state(key, cost, used, table, spare, fresh)
                    used += 1
        layer, spare = spare, layer
        count = fresh
        active &= ~closing
        if count == 0:
            return NOTHING
        if count > most:
            return TOO_WIDE
    return trace_forest(layer, taken, before, chosen)


@njit(cache=True)
def table_size(count: int) -> int:
    """A power of two that leaves a table of twice so many partitions half empty."""
    size = 128
    while size < 4 * count:
        size *= 2
    return size


@njit(cache=True)
def longer(array: Ints, size: int) -> Ints:
    """A copy with twice the room that is needed."""
    copy = np.empty(2 * size, np.int64)
    copy[: array.size] = array
    return copy


@njit(cache=True)
def trace_forest(layer: Layer, taken: Ints, before: Ints, chosen: Flags) -> float:
    """Flag what the only partition of the last layer, the empty one, has taken; its weight."""
    chosen[:] = False
    at = layer.nodes[0]
    while at >= 0:
        chosen[taken[at]] = True
        at = before[at]
    return float(-layer.costs[0])


@njit(cache=True)
def lift(masks: Ints, weights: Floats, others: Ints, most: int) -> Floats:
    """Weights of further traces under which no forest gets heavier.

    Within a forest a trace may be replaced by any forest of traces inside it: what they connect,
    it connects. So it may weigh what the heaviest of these weighs.
    """
    lifted = np.zeros(others.size)
    inner, heavy = np.empty(masks.size, np.int64), np.empty(masks.size)
    for k in range(others.size):
        count = 0
        for i in range(masks.size):
            if weights[i] > 0.0 and masks[i] & ~others[k] == 0:
                inner[count], heavy[count] = masks[i], weights[i]
                count += 1
        if count > 0:
            own, chosen = inner[:count], np.empty(count, np.bool_)
            best = heaviest_forest(own, heavy[:count], forest_order(own), -0.5, most, chosen)
            lifted[k] = max(best, heavy[:count].max())
    return lifted
