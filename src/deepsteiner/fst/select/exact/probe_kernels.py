"""Decide FSTs locally: grow a region, keep its undominated boundary partitions, compare them.

After all FSTs around a terminal have been tried, an FST that no undominated partition uses is in no
better tree, and one that all of them use is needed by every better tree.
"""

import numpy as np
from numba import njit

from .frontier_kernels import COUNT, STEP, advance, closing_order, fresh_record
from .prune_kernels import Flags, Floats, Ints, incidence


@njit(cache=True)
def probe(
    n: int,
    start: Ints,
    terminals: Ints,
    length: Floats,
    alive: Flags,
    forced: Flags,
    parent: Ints,
    weight: Floats,
    price: Floats,
    ceiling: float,
    root: int,
    trees: int,
    most: int,
    settled: Flags,
) -> tuple[int, int]:
    """Grow a region of up to ``trees`` FSTs from a terminal and decide what it can.

    Clears ``alive`` and sets ``forced`` where decided, and ``settled`` at terminals well inside the
    region. Returns how many FSTs were dropped and how many newly forced (-1, -1 when nothing is at
    most the ceiling).
    """
    first, lists = incidence(n, start, terminals, alive)
    order = np.empty(start.size - 1, np.int64)
    placed, _ = closing_order(n, start, terminals, first, lists, root, trees, order)
    record, keys, costs, nodes, taken, before = fresh_record()
    slot = np.full(n, -1, np.int64)
    left = np.empty(n, np.int64)
    room = np.empty(1)
    room[0] = ceiling
    for v in range(n):
        left[v] = first[v + 1] - first[v]
        room[0] -= price[v]
    keys, costs, nodes, taken, before = advance(
        start, terminals, length, order[:placed], forced, parent, weight, price, room,
        slot, left, np.zeros(16, np.int64), np.empty(256), record, keys, costs, nodes,
        taken, before, 1 << 60, most,
    )  # fmt: skip
    count = record[COUNT]
    if count == 0:
        return -1, -1
    uses = np.zeros(start.size - 1, np.int64)
    for c in range(count):
        node = nodes[c]
        while node >= 0:
            uses[taken[node]] += 1
            node = before[node]
    dropped = 0
    kept = 0
    for k in range(record[STEP]):
        f = order[k]
        if uses[f] == 0:
            alive[f] = False
            dropped += 1
        elif uses[f] == count and not forced[f]:
            forced[f] = True
            kept += 1
        if 2 * k < record[STEP]:
            for i in range(start[f], start[f + 1]):
                if left[terminals[i]] == 0:
                    settled[terminals[i]] = True
    settled[root] = True
    return dropped, kept


@njit(cache=True)
def probe_everywhere(
    n: int,
    start: Ints,
    terminals: Ints,
    length: Floats,
    alive: Flags,
    forced: Flags,
    parent: Ints,
    weight: Floats,
    price: Floats,
    ceiling: float,
    trees: int,
    most: int,
    settled: Flags,
    begin: int,
    budget: int,
) -> tuple[int, int]:
    """Probe from every terminal that is not settled yet, beginning at ``begin``.

    Stops after ``budget`` probes; returns the terminal to go on with (n when finished) and the
    number of FSTs decided (-1 when nothing is at most the ceiling).
    """
    decided = 0
    probes = 0
    for v in range(begin, n):
        if settled[v]:
            continue
        if probes == budget:
            return v, decided
        probes += 1
        dropped, kept = probe(
            n, start, terminals, length, alive, forced, parent, weight, price, ceiling,
            v, trees, most, settled,
        )  # fmt: skip
        if dropped < 0:
            return n, -1
        decided += dropped + kept
    return n, decided
