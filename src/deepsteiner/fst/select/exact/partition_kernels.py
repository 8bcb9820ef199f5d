"""Partitions of a short frontier of terminals as 64-bit keys, and tables of their costs.

A frontier terminal sits in a slot (0 to 14). A partition is the component label of every active
slot, numbered by first appearance, four bits each. ``active`` and similar arguments are bit sets of
slots; labels being worked on may be any number below 32.
"""

from typing import NamedTuple

import numpy as np

from ....core.jit import njit
from ..hypergraph import STRICT, Floats, Ints

SLOTS = 15  # so many labels of four bits fit into a key, whose sign is not used
LARGEST_SPLIT = 6  # components of more slots are not split by the dominance test


class Layer(NamedTuple):
    """The partitions of one step, each with its cheapest cost; a count says how many are in use.

    keys: the partitions.
    costs: the length of the FSTs taken.
    nodes: where in the history the last of these FSTs stands, -1 for none.
    """

    keys: Ints
    costs: Floats
    nodes: Ints


@njit(cache=True)
def empty_layer(size: int) -> Layer:
    """Room for some partitions."""
    return Layer(np.empty(size, np.int64), np.empty(size), np.empty(size, np.int64))


@njit(cache=True)
def list_slots(active: int) -> Ints:
    """The members of a bit set, in order."""
    slots = np.empty(SLOTS, np.int64)
    count = 0
    for s in range(SLOTS):
        if active >> s & 1:
            slots[count] = s
            count += 1
    return slots[:count]


@njit(cache=True)
def pack(label: Ints, slots: Ints) -> int:
    """Key of the partition given by labels below 32 on the listed slots."""
    seen = 0
    low_names = 0
    high_names = 0
    fresh = 0
    key = 0
    for a in range(slots.size):
        s = slots[a]
        c = label[s]
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
def close_slots(label: Ints, active: int, closing: int) -> bool:
    """Take closing slots off the frontier; False when a component would lose touch with it."""
    s = 0
    while closing >> s != 0:
        if closing >> s & 1:
            active &= ~(1 << s)
            alone = active != 0
            t = 0
            while active >> t != 0:
                if active >> t & 1 and label[t] == label[s]:
                    alone = False
                    break
                t += 1
            if alone:
                return False
        s += 1
    return True


@njit(cache=True)
def find_state(key: int, table: Ints, keys: Ints) -> tuple[int, int]:
    """Place of a key in an open-addressing table and its state there, -1 when absent."""
    mask = table.size - 1
    spread = key * -7046029254386353131
    place = (spread ^ (spread >> 29)) & mask
    while table[place] >= 0 and keys[table[place]] != key:
        place = (place + 1) & mask
    return place, table[place]


@njit(cache=True)
def insert_state(key: int, cost: float, node: int, table: Ints, layer: Layer, count: int) -> int:
    """Add a partition to a layer or improve the one that is there; returns the new count."""
    place, at = find_state(key, table, layer.keys)
    if at < 0:
        table[place] = count
        layer.keys[count], layer.costs[count], layer.nodes[count] = key, cost, node
        return count + 1
    if cost < layer.costs[at]:
        layer.costs[at], layer.nodes[at] = cost, node
    return count


@njit(cache=True)
def detour(label: Ints, labels: int, slots: Ints, near: Floats) -> float:
    """Cost of joining the components in the bit set ``labels`` by two-terminal FSTs instead.

    That is their minimum spanning tree under ``near``, the bottleneck distances between slots.
    """
    total = 0.0
    grown = labels & -labels
    while grown != labels:
        least = np.inf
        new = 0
        for a in range(slots.size):
            s = slots[a]
            if not grown >> label[s] & 1:
                continue
            for b in range(slots.size):
                t = slots[b]
                if labels >> label[t] & 1 and not grown >> label[t] & 1 and near[s, t] < least:
                    least = near[s, t]
                    new = label[t]
        if least == np.inf:
            return np.inf
        total += least
        grown |= 1 << new
    return total


@njit(cache=True)
def is_dominated(
    state: int, layer: Layer, table: Ints, slots: Ints, near: Floats, scratch: Ints
) -> bool:
    """Whether splitting one component and rejoining it by a two-terminal FST is strictly cheaper.

    If a finer partition costs less by more than the bottleneck distance of the two parts, every
    tree through this partition is improved by passing through the finer one. The scratch has three
    rows with one entry for each slot.
    """
    label, other, own = scratch[0], scratch[1], scratch[2]
    cost = layer.costs[state] / STRICT
    top = 0
    for a in range(slots.size):
        s = slots[a]
        label[s] = layer.keys[state] >> (4 * s) & 15
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
        for part in range(1, 1 << (size - 1)):
            least = np.inf
            for a in range(slots.size):
                s = slots[a]
                other[s] = label[s]
            for a in range(1, size):
                if part >> (a - 1) & 1:
                    other[own[a]] = 16
            for a in range(1, size):
                if other[own[a]] == 16:
                    for b in range(size):
                        if other[own[b]] == c:
                            least = min(least, near[own[a], own[b]])
            if least < cost:
                _, at = find_state(pack(other, slots), table, layer.keys)
                if at >= 0 and layer.costs[at] + least < cost:
                    return True
    return False


@njit(cache=True)
def drop_dominated(active: int, near: Floats, table: Ints, layer: Layer, count: int) -> int:
    """Remove the dominated partitions of a layer in place; returns how many stay.

    Every test sees the whole layer, so the outcome does not depend on its order. The table is no
    longer valid afterwards.
    """
    keys, costs, nodes = layer
    slots = list_slots(active)
    scratch = np.empty((3, SLOTS), np.int64)
    doomed = np.zeros(count, np.bool_)
    for c in range(count):
        doomed[c] = is_dominated(c, layer, table, slots, near, scratch)
    kept = 0
    for c in range(count):
        if not doomed[c]:
            keys[kept], costs[kept], nodes[kept] = keys[c], costs[c], nodes[c]
            kept += 1
    return kept
