"""Exact concatenation of narrow lists: dynamic programme over partitions of a moving frontier.

FSTs are decided one after another. What earlier decisions mean for later ones is only how they
connect the frontier: the terminals that have both decided and undecided FSTs. Lists of plane
instances have short frontiers when terminals are closed in a good order, so a few hundred
partitions, each with its cheapest cost, carry the whole search. This is dynamic programming over a
path decomposition of the hypergraph; the order of the FSTs decides how wide it is.
"""

from typing import NamedTuple

import numpy as np

from ....core.jit import njit
from ..hypergraph import STRICT, Distances, Flags, Floats, Hypergraph, Ints, Rows
from .partition_kernels import (
    SLOTS,
    Layer,
    close_slots,
    detour,
    drop_dominated,
    empty_layer,
    insert_state,
    list_slots,
    pack,
)
from .prune_kernels import bottleneck
from .subset_kernels import terminal_prices

DONE = 0  # every FST of the order is decided
PAUSED = 1  # the budget of partitions is spent; call again to go on
TOO_WIDE = 2  # the next FST does not fit into the slots
TOO_MANY = 3  # the layer has more partitions than allowed
DEAD = 4  # no partition is left: nothing is at most the ceiling

# Fields of the integer record that a run carries between calls: FSTs decided, the bit set of taken
# slots, partitions in the layer, entries of the history, partitions left by the last dominance
# pass, and one of the five words above.
STEP, ACTIVE, COUNT, USED, THINNED, STATUS = 0, 1, 2, 3, 4, 5
FIELDS = 6
THIN_FROM = 48  # layers smaller than this are not worth a dominance pass
THIN_GROWTH = 1.8  # and neither are layers that grew less than this since the last one
LAYER_GROWTH = 2.2  # by what a layer is expected to grow with each terminal of the frontier
CLEARLY = 1e6  # an order whose work is so many times what is allowed is given up
ROOM = 256  # partitions of the first layer, and half as many slots of the smallest table


class Problem(NamedTuple):
    """What a run of the frontier programme is asked.

    graph: the list.
    order: the FSTs to decide, in this order.
    forced: FSTs that must be taken.
    distances: bottleneck distances, against which every FST that is taken must hold its own.
    prices: what each terminal costs at least; those of terminals not yet met bound the rest.
    """

    graph: Hypergraph
    order: Ints
    forced: Flags
    distances: Distances
    prices: Floats


class Progress(NamedTuple):
    """Where a run stands.

    record: integers; see STEP to STATUS.
    room: in its only entry, the ceiling less the prices of the terminals not yet met.
    slot: the slot of every terminal; -1 before it is met, -2 once it is closed.
    left: the undecided FSTs of every terminal.
    seated: the terminal in every slot.
    near: bottleneck distances between slots.
    layer: the partitions of the last step.
    taken, before: the history: an FST that was taken, and the entry of the one taken before.
    """

    record: Ints
    room: Floats
    slot: Ints
    left: Ints
    seated: Ints
    near: Floats
    layer: Layer
    taken: Ints
    before: Ints


class Closing(NamedTuple):
    """What closing orders are made with; it is left as it was found.

    placed: FSTs that are in the order, or shall never be.
    undecided: for every terminal, how many of its FSTs are not.
    touched: terminals met.
    marks, clock: the terminals that were counted since the clock, a single entry, last advanced.
    frontier: terminals that were met and have undecided FSTs.
    order: the FSTs, in order.
    inside: terminals that may be met; an order ends where it meets another.
    """

    placed: Flags
    undecided: Ints
    touched: Flags
    marks: Ints
    clock: Ints
    frontier: Ints
    order: Ints
    inside: Flags


@njit(cache=True)
def nothing_closed(n: int, at: Rows, alive: Flags) -> Closing:
    """The start of closing orders; ``at`` is the incidence of the FSTs that are alive."""
    return Closing(
        ~alive, at.first[1:] - at.first[:-1], np.zeros(n, np.bool_), np.zeros(n, np.int64),
        np.zeros(1, np.int64), np.empty(n, np.int64), np.empty(alive.size, np.int64),
        np.ones(n, np.bool_),
    )  # fmt: skip


@njit(cache=True)
def reopen(graph: Hypergraph, closing: Closing, count: int, root: int) -> None:
    """Take back an order of ``count`` FSTs from a root."""
    closing.touched[root] = False
    for k in range(count):
        f = closing.order[k]
        closing.placed[f] = False
        for i in range(graph.start[f], graph.start[f + 1]):
            closing.undecided[graph.terminals[i]] += 1
            closing.touched[graph.terminals[i]] = False


@njit(cache=True)
def closing_order(
    graph: Hypergraph, at: Rows, closing: Closing, root: int, most: int, limit: float
) -> tuple[int, float]:
    """Order FSTs by closing, again and again, the terminal that widens the frontier least.

    ``at`` is the incidence of the list. Ends when about ``most`` FSTs are placed or the estimate of
    the work (partitions met on the way) is above the limit; returns both numbers. The work is
    infinite where a terminal is met that may not be. `reopen` before the next order.
    """
    start, terminals = graph.start, graph.terminals
    first, lists = at
    placed, undecided, touched, marks, clock, frontier, order, inside = closing
    width = 1
    frontier[0] = root
    touched[root] = True
    count = 0
    work = 0.0
    left = False
    while width > 0 and count < most and work <= limit and not left:
        pick = 0
        least = 1 << 60
        for k in range(width):
            v = frontier[k]
            clock[0] += 1
            added = 0
            for j in range(first[v], first[v + 1]):
                f = lists[j]
                if placed[f]:
                    continue
                for i in range(start[f], start[f + 1]):
                    u = terminals[i]
                    if not touched[u] and marks[u] != clock[0]:
                        marks[u] = clock[0]
                        added += 1
            score = added * 64 + undecided[v]  # of equals the one with the fewest FSTs
            if score < least:
                least = score
                pick = k
        v = frontier[pick]
        for j in range(first[v], first[v + 1]):
            f = lists[j]
            if placed[f]:
                continue
            placed[f] = True
            order[count] = f
            count += 1
            for i in range(start[f], start[f + 1]):
                u = terminals[i]
                undecided[u] -= 1
                if not touched[u]:
                    left |= not inside[u]
                    touched[u] = True
                    frontier[width] = u
                    width += 1
            work += LAYER_GROWTH**width
        kept = 0
        for k in range(width):
            if undecided[frontier[k]] > 0:
                frontier[kept] = frontier[k]
                kept += 1
        width = kept
    return count, np.inf if left else work


@njit(cache=True)
def best_closing_order(graph: Hypergraph, at: Rows, tries: int, limit: float) -> tuple[Ints, float]:
    """The cheapest of the closing orders from a few spread-out terminals, and its work.

    The work is infinite when the list does not connect the terminals, or where all are given up
    on: what is clearly too wide, by the limit, costs time in proportion to its width.
    """
    m = graph.length.size
    closing = nothing_closed(graph.n, at, np.ones(m, np.bool_))
    best = np.empty(m, np.int64)
    least = np.inf
    root = graph.terminals[0]
    for attempt in range(tries):
        count, work = closing_order(graph, at, closing, root, m, CLEARLY * limit)
        if count < m and work <= CLEARLY * limit:
            return best, np.inf
        if count == m and work < least:
            for k in range(best.size):
                best[k] = closing.order[k]
            least = work
        reopen(graph, closing, count, root)
        # Where an order ends is far from where it began: a good place to begin.
        end = graph.terminals[graph.start[closing.order[count - 1]]]
        root = end if attempt % 2 == 0 else (root * 7 + 3) % graph.n
    return best, least


@njit(cache=True)
def unconstrained(graph: Hypergraph, order: Ints, distances: Distances) -> Problem:
    """All FSTs of a list in an order, none of them forced."""
    forced = np.zeros(graph.length.size, np.bool_)
    return Problem(graph, order, forced, distances, terminal_prices(graph))


@njit(cache=True)
def set_out(problem: Problem, left: Ints, room: float) -> Progress:
    """Start of a run: a layer of one empty partition and an empty history.

    ``left`` is the number of FSTs at every terminal, and is counted down; ``room`` is what a known
    tree costs beyond the prices of all terminals.
    """
    n = problem.graph.n
    record = np.zeros(FIELDS, np.int64)
    record[COUNT] = 1
    layer = empty_layer(ROOM)
    layer.keys[0], layer.costs[0], layer.nodes[0] = 0, 0.0, -1
    return Progress(
        record, np.full(1, room), np.full(n, -1, np.int64), left,
        np.zeros(SLOTS, np.int64), np.empty((SLOTS, SLOTS)), layer,
        np.empty(4 * ROOM, np.int64), np.empty(4 * ROOM, np.int64),
    )  # fmt: skip


@njit(cache=True)
def grow(array: Ints, used: int, size: int) -> Ints:
    """A longer copy of the used part of an array."""
    longer = np.empty(size, np.int64)
    for k in range(used):
        longer[k] = array[k]
    return longer


@njit(cache=True)
def enter_terminals(problem: Problem, progress: Progress, f: int) -> tuple[int, int, int]:
    """Seat the new terminals of an FST; returns the bit sets of its own, new and closing slots.

    The own set is 0 when the slots do not suffice (nothing is changed then).
    """
    members = problem.graph.terminals[problem.graph.start[f] : problem.graph.start[f + 1]]
    slot, near, (forest, names) = progress.slot, progress.near, problem.distances
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
                    other = names[progress.seated[t]]
                    near[s, t] = near[t, s] = bottleneck(forest, names[v], other)
            progress.seated[s] = v
            progress.room[0] += problem.prices[v]
            active |= 1 << s
            entering |= 1 << s
        own |= 1 << slot[v]
        progress.left[v] -= 1
        if progress.left[v] == 0:
            closing |= 1 << slot[v]
    progress.record[ACTIVE] = active
    return own, entering, closing


@njit(cache=True)
def advance(problem: Problem, progress: Progress, budget: float, most: int) -> Progress:
    """Decide FSTs in order until done or a limit is met; the status is left in the record.

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
        own, entering, closing = enter_terminals(problem, progress, f)
        if own == 0:
            record[STATUS] = TOO_WIDE
            break
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
            for a in range(slots.size):
                s = slots[a]
                label[s] = 16 + s if entering >> s & 1 else keys[c] >> (4 * s) & 15
            if not problem.forced[f] and close_slots(label, active, closing):
                fresh = insert_state(pack(label, rest), costs[c], nodes[c], table, spare, fresh)
            cost = costs[c] + graph.length[f]
            if cost > room[0]:
                continue
            labels = int(np.int64(0))
            target = int(np.int64(0))
            clash = False
            for a in range(slots.size):
                s = slots[a]
                if own >> s & 1:
                    clash |= labels >> label[s] & 1 != 0
                    labels |= 1 << label[s]
                    target = label[s]
            if clash or detour(label, labels, slots, near) * STRICT < graph.length[f]:
                continue
            for a in range(slots.size):
                s = slots[a]
                joined[s] = target if labels >> label[s] & 1 else label[s]
            if close_slots(joined, active, closing):
                taken[used] = f
                before[used] = nodes[c]
                fresh = insert_state(pack(joined, rest), cost, used, table, spare, fresh)
                used += 1
        layer, spare = spare, layer
        if fresh > THIN_FROM and fresh > THIN_GROWTH * record[THINNED]:
            fresh = drop_dominated(remaining, near, table, layer, fresh)
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
def trace_back(progress: Progress, picked: Flags) -> None:
    """Flag the FSTs that the only partition of a finished run has taken."""
    picked[:] = False
    node = progress.layer.nodes[0]
    while node >= 0:
        picked[progress.taken[node]] = True
        node = progress.before[node]
