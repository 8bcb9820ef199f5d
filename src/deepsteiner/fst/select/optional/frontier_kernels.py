"""The frontier programme where some nodes may be left out.

As in `exact.frontier_kernels`, trees are decided one after another, and of earlier decisions only
matters how they connect the frontier. An optional node on the frontier that no tree taken so far
has is *unused*: it is in no component, may join one, and may leave the frontier as it is. An order
begins at a terminal, so that from then on some component is on the frontier until, with all
terminals met, the last one leaves it: what then follows takes no tree.

What is found is the shortest choice that connects all terminals, whatever the number of trees at
optional nodes: who demands two looks at the outcome. Where distances are given, partitions of which
every continuation is longer than some other connection are dropped, see `Problem`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ....core.jit import njit
from ..exact.frontier_kernels import (
    ACTIVE,
    CLEARLY,
    COUNT,
    DEAD,
    DONE,
    PAUSED,
    ROOM,
    STATUS,
    STEP,
    THIN_FROM,
    THIN_GROWTH,
    THINNED,
    TOO_MANY,
    TOO_WIDE,
    USED,
    Progress,
    closing_order,
    grow,
    nothing_closed,
    reopen,
)
from ..exact.frontier_kernels import FIELDS as UNMET
from ..exact.partition_kernels import (
    LARGEST_SPLIT,
    SLOTS,
    Layer,
    detour,
    empty_layer,
    find_state,
    insert_state,
    list_slots,
)
from ..hypergraph import STRICT, Flags, Floats, Hypergraph, Ints, Rows

FREE = 31
"""What is worked with for the label of an unused node; no component is called so."""
FREE_NAME = 15
"""The same in keys: so many slots have labels up to 14."""
LOOSE = 1.0 + 1e-9
"""What special distances are multiplied with: rounding of another kind than that of trees."""


class Problem(NamedTuple):
    """What a run is asked.

    graph: the list.
    order: the trees to decide, in this order; at a terminal it begins.
    forced: trees that must be taken.
    optional: which nodes may be left out.
    prices: what each terminal costs at least, see `prices_beside_optional`.
    special: upper bounds of what it takes to join two parts of a network that has all terminals,
        where one part has one node and the other another: special distances. No entry: nothing is
        known. They are of use where no connection, in the list or not, is shorter than the
        shortest choice: then nothing is lost that is strictly the shortest.
    names: the row of each node there.
    """

    graph: Hypergraph
    order: Ints
    forced: Flags
    optional: Flags
    prices: Floats
    special: Floats
    names: Ints


@njit(cache=True)
def prices_beside_optional(graph: Hypergraph, optional: Flags) -> Floats:
    """Least cost of each terminal: those of the terminals that join a tree never exceed its length.

    Hang a solution on one of its terminals. Every tree has one node above and the others below. So
    of its terminals all are below where it has an optional node, and all but one elsewhere; a tree
    of length c with k of them asks at most c / k or c / (k - 1) of each. Optional nodes cost 0.
    """
    prices = np.where(optional, 0.0, np.inf)
    for f in range(graph.length.size):
        own = graph.terminals[graph.start[f] : graph.start[f + 1]]
        terminals = 0
        for v in own:
            terminals += not optional[v]
        share = graph.length[f] / max(1, min(terminals, own.size - 1))
        for v in own:
            prices[v] = min(prices[v], share)
    return prices


@njit(cache=True)
def best_order(
    graph: Hypergraph, at: Rows, optional: Flags, tries: int, limit: float
) -> tuple[Ints, float]:
    """The cheapest of the closing orders from a few terminals, and its work.

    The work is infinite where an order leaves trees out, or is clearly above the limit.
    """
    m = graph.length.size
    closing = nothing_closed(graph.n, at, np.ones(m, np.bool_))
    best = np.empty(m, np.int64)
    least = np.inf
    roots = np.flatnonzero(~optional)
    root = roots[0]
    for attempt in range(tries):
        count, work = closing_order(graph, at, closing, root, m, CLEARLY * limit)
        if count < m and work <= CLEARLY * limit:
            return best, np.inf
        if count == m and work < least:
            best[:] = closing.order
            least = work
        reopen(graph, closing, count, root)
        # Where an order ends is far from where it began: a good place to begin.
        last = closing.order[count - 1]
        end = (root * 7 + 3) % roots.size
        root = roots[end]
        if attempt % 2 == 0:
            for i in range(graph.start[last], graph.start[last + 1]):
                if not optional[graph.terminals[i]]:
                    root = graph.terminals[i]
    return best, least


@njit(cache=True)
def depart(problem: Problem, left: Ints, room: float, unmet: int) -> Progress:
    """Start of a run: a layer of one empty partition and an empty history.

    ``left`` is the number of trees at every node, and is counted down; ``room`` is what a known
    tree costs beyond the prices of all terminals, ``unmet`` the number of these.
    """
    n = problem.graph.n
    record = np.zeros(UNMET + 1, np.int64)
    record[COUNT] = 1
    record[UNMET] = unmet
    layer = empty_layer(ROOM)
    layer.keys[0], layer.costs[0], layer.nodes[0] = 0, 0.0, -1
    return Progress(
        record, np.full(1, room), np.full(n, -1, np.int64), left,
        np.zeros(SLOTS, np.int64), np.empty((SLOTS, SLOTS)), layer,
        np.empty(4 * ROOM, np.int64), np.empty(4 * ROOM, np.int64),
    )  # fmt: skip


@njit(cache=True)
def enter_nodes(problem: Problem, progress: Progress, f: int) -> tuple[int, int, int]:
    """Seat the new nodes of a tree; returns the bit sets of its own, new and closing slots.

    The own set is 0 when the slots do not suffice (nothing is changed then).
    """
    members = problem.graph.terminals[problem.graph.start[f] : problem.graph.start[f + 1]]
    slot, near, special, names = progress.slot, progress.near, problem.special, problem.names
    active = progress.record[ACTIVE]
    missing = 0
    for v in members:
        if slot[v] < 0:
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
    for v in members:
        if slot[v] < 0:
            s = 0
            while active >> s & 1:
                s += 1
            slot[v] = s
            for t in range(SLOTS):
                if active >> t & 1:
                    apart = np.inf
                    if special.size > 0:
                        apart = special[names[v], names[progress.seated[t]]] * LOOSE
                    near[s, t] = near[t, s] = apart
            progress.seated[s] = v
            progress.room[0] += problem.prices[v]
            progress.record[UNMET] -= not problem.optional[v]
            active |= 1 << s
            entering |= 1 << s
        own |= 1 << slot[v]
        progress.left[v] -= 1
        if progress.left[v] == 0:
            closing |= 1 << slot[v]
    progress.record[ACTIVE] = active
    return own, entering, closing


@njit(cache=True)
def pack_used(label: Ints, slots: Ints) -> int:
    """Key of the partition given by labels below 32 on the listed slots, of which FREE is none."""
    seen = 0
    low_names = 0
    high_names = 0
    fresh = 0
    key = 0
    for a in range(slots.size):
        s = slots[a]
        c = label[s]
        if c == FREE:
            key |= FREE_NAME << (4 * s)
            continue
        if not seen >> c & 1:
            seen |= 1 << c
            if c < 16:
                low_names |= fresh << (4 * c)
            else:
                high_names |= fresh << (4 * (c - 16))
            fresh += 1
        name = low_names >> (4 * c) if c < 16 else high_names >> (4 * (c - 16))
        key |= (name & 15) << (4 * s)
    return key


@njit(cache=True)
def close_used(label: Ints, active: int, closing: int, unmet: int) -> bool:
    """Take closing slots off the frontier; False when a component would be cut off by that.

    A component that leaves the frontier is cut off where there is another, or where terminals are
    still to be met.
    """
    s = 0
    while closing >> s != 0:
        if closing >> s & 1:
            active &= ~(1 << s)
            if label[s] != FREE:
                together = others = False
                t = 0
                while active >> t != 0:
                    if active >> t & 1:
                        together |= label[t] == label[s]
                        others |= label[t] != FREE
                    t += 1
                if not together and (others or unmet > 0):
                    return False
        s += 1
    return True


@njit(cache=True)
def decide_next(problem: Problem, progress: Progress, budget: float, most: int) -> Progress:
    """Decide trees in order until done or a limit is met; the status is left in the record.

    Stops after about ``budget`` partitions, or after a layer of more than ``most``. Arrays of the
    layer and of the history may be replaced: go on with what is returned.
    """
    graph, order = problem.graph, problem.order
    record, room, slot, left, seated, near, layer, taken, before = progress
    label, joined = np.empty(SLOTS, np.int64), np.empty(SLOTS, np.int64)
    spare = empty_layer(layer.keys.size)
    table = np.empty(2 * ROOM, np.int64)
    spent = 0
    record[STATUS] = DONE
    while record[STEP] < order.size:
        if spent > budget:
            record[STATUS] = PAUSED
            break
        f = order[record[STEP]]
        own, entering, closing = enter_nodes(problem, progress, f)
        if own == 0:
            record[STATUS] = TOO_WIDE
            break
        first = record[STEP] == 0
        record[STEP] += 1
        active = record[ACTIVE]
        count = record[COUNT]
        used = record[USED]
        spent += count
        if spare.keys.size < 2 * count:
            spare = empty_layer(4 * count)
        size = 2 * ROOM
        while size < 4 * count:
            size *= 2
        if table.size != size:
            table = np.empty(size, np.int64)
        table[:] = -1
        if used + count > taken.size:
            taken = grow(taken, used, 2 * (used + count))
            before = grow(before, used, 2 * (used + count))
        slots = list_slots(active)
        remaining = active & ~closing
        rest = list_slots(remaining)
        keys, costs, nodes = layer
        fresh = int(np.int64(0))  # a literal 0 would compile callees twice
        for c in range(count):
            finished = not first  # until a component is seen
            for a in range(slots.size):
                s = slots[a]
                if entering >> s & 1:
                    label[s] = FREE if problem.optional[seated[s]] else 16 + s
                else:
                    name = keys[c] >> (4 * s) & 15
                    label[s] = FREE if name == FREE_NAME else name
                    finished &= name == FREE_NAME
            if not problem.forced[f] and close_used(label, active, closing, record[UNMET]):
                key = pack_used(label, rest)
                fresh = insert_state(key, costs[c], nodes[c], table, spare, fresh)
            cost = costs[c] + graph.length[f]
            if cost > room[0] or finished:
                continue
            labels = int(np.int64(0))
            target = int(np.int64(0))
            clash = False
            for a in range(slots.size):
                s = slots[a]
                if own >> s & 1:
                    if label[s] == FREE:
                        label[s] = 16 + s
                    clash |= labels >> label[s] & 1 != 0
                    labels |= 1 << label[s]
                    target = label[s]
            if clash or detour(label, labels, slots, near) * STRICT < graph.length[f]:
                continue
            for a in range(slots.size):
                s = slots[a]
                joined[s] = target if labels >> label[s] & 1 else label[s]
            if close_used(joined, active, closing, record[UNMET]):
                taken[used] = f
                before[used] = nodes[c]
                fresh = insert_state(pack_used(joined, rest), cost, used, table, spare, fresh)
                used += 1
        layer, spare = spare, layer
        if fresh > THIN_FROM and fresh > THIN_GROWTH * record[THINNED] and problem.special.size > 0:
            fresh = drop_longer(remaining, near, table, layer, fresh)
            record[THINNED] = fresh
        for a in range(slots.size):
            s = slots[a]
            if closing >> s & 1:
                slot[seated[s]] = -2
        record[ACTIVE] = remaining
        record[COUNT] = fresh
        record[USED] = used
        if fresh == 0:
            record[STATUS] = DEAD
            break
        if fresh > most:
            record[STATUS] = TOO_MANY
            break
    return Progress(record, room, slot, left, seated, near, layer, taken, before)


@njit(cache=True)
def is_longer(
    state: int, layer: Layer, table: Ints, slots: Ints, near: Floats, scratch: Ints
) -> bool:
    """Whether splitting one component and rejoining it is strictly shorter than a partition.

    If a finer partition costs less by more than the special distance of the two parts, every tree
    through this partition is improved by passing through the finer one. So it is where the part
    split off is a node that the other has not used. The scratch has three rows with one entry for
    each slot.
    """
    label, other, own = scratch[0], scratch[1], scratch[2]
    cost = layer.costs[state] / STRICT
    top = 0
    for a in range(slots.size):
        s = slots[a]
        label[s] = layer.keys[state] >> (4 * s) & 15
        if label[s] == FREE_NAME:
            label[s] = FREE
        else:
            top = max(top, label[s] + 1)
    for c in range(top):
        size = 0
        for a in range(slots.size):
            s = slots[a]
            if label[s] == c:
                own[size] = s
                size += 1
        if size < 2 or size > LARGEST_SPLIT:
            continue
        for part in range(1, 1 << size):
            least = np.inf
            many = 0
            single = -1
            for a in range(slots.size):
                s = slots[a]
                other[s] = label[s]
            for a in range(size):
                if part >> a & 1:
                    other[own[a]] = 16
                    many += 1
                    single = own[a]
            if many == size or (many > 1 and part & 1):
                continue  # each split once, but every single node
            for a in range(size):
                if other[own[a]] == 16:
                    for b in range(size):
                        if other[own[b]] == c:
                            least = min(least, near[own[a], own[b]])
            if least >= cost:
                continue
            _, at = find_state(pack_used(other, slots), table, layer.keys)
            if at >= 0 and layer.costs[at] + least < cost:
                return True
            if many == 1:
                other[single] = FREE
                _, at = find_state(pack_used(other, slots), table, layer.keys)
                if at >= 0 and layer.costs[at] + least < cost:
                    return True
    return False


@njit(cache=True)
def drop_longer(active: int, near: Floats, table: Ints, layer: Layer, count: int) -> int:
    """Remove the partitions of a layer that are longer than need be; returns how many stay.

    Every test sees the whole layer, so the outcome does not depend on its order. The table is no
    longer valid afterwards.
    """
    keys, costs, nodes = layer
    slots = list_slots(active)
    scratch = np.empty((3, SLOTS), np.int64)
    doomed = np.zeros(count, np.bool_)
    for c in range(count):
        doomed[c] = is_longer(c, layer, table, slots, near, scratch)
    kept = 0
    for c in range(count):
        if not doomed[c]:
            keys[kept], costs[kept], nodes[kept] = keys[c], costs[c], nodes[c]
            kept += 1
    return kept
