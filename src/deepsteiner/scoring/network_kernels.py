"""The network's view of a list of full Steiner trees, and its numba inference.

Every tree of the list is a node. Its features are ratios of lengths (free of place, rotation and
scale); its neighbours are the trees that share a terminal with it, in five relations:

    0      one common terminal, edges there at least 120 degrees apart: both may be chosen
    1, 2   one common terminal, a smaller angle: not both in a shortest tree
    3, 4   two or more common terminals: not both in any tree

where 2 and 4 say that the neighbour saves more than the tree itself. A node's state is a vector of
WIDTH numbers; in each round it becomes relu(own @ state + sum over relations of message @ (sum of
the neighbours' states)). The result is one logit for each tree: is it in the shortest tree?
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ..core.jit import njit
from ..core.points import Array
from ..fst.enumerate.nearby.ground import TreeList
from ..fst.grouping_kernels import grouped
from ..fst.select.hypergraph import Hypergraph, Rows
from ..fst.select.search.greedy_kernels import complete, replaced_length
from .vector_kernels import WIDTH, add_product, add_row
from .weights import Weights

FEATURES = 17
RELATIONS = 5
# A link is its tree times this, plus the relation.
STRIDE = 8
# Larger trees than this are not scored.
WIDEST = 16
# cos 120 degrees, with room for rounding.
APART = -0.5 + 1e-6


class Savings(NamedTuple):
    """What each tree makes superfluous in the minimum spanning tree; its edges replace themselves.

    base: the length of the edges that a tree replaces.
    first, gone: their numbers are ``gone[first[f] : first[f + 1]]``.
    """

    base: Array
    first: Array
    gone: Array


class Rivals(NamedTuple):
    """The larger trees that replace each edge of the minimum spanning tree.

    top, second: the most that one of them saves, and the second most.
    who: the tree that saves most.
    many: how many there are.
    """

    top: Array
    second: Array
    who: Array
    many: Array


class View(NamedTuple):
    """What the features and relations of a list are made from.

    savings, rivals: see there.
    near: the distance of every terminal to its nearest other one.
    slots: where every terminal stands in the list's `terminals`.
    trees: the tree of each of these places, in the order of ``slots.items``.
    unit, size: direction and length of the edge at each entry of `terminals`.
    """

    savings: Savings
    rivals: Rivals
    near: Array
    slots: Rows
    trees: Array
    unit: Array
    size: Array


class Described(NamedTuple):
    """What the network sees of a list.

    features: (m, FEATURES).
    begin, links: tree f hears ``links[begin[f] : begin[f + 1]]``, each STRIDE * tree + relation.
    """

    features: Array
    begin: Array
    links: Array


@njit(cache=True, nogil=True)
def _clipped(value: float, low: float, high: float) -> float:
    return min(max(value, low), high)


@njit(cache=True, nogil=True)
def savings(trees: TreeList) -> Savings:
    """Return what each tree replaces in the spanning tree."""
    points, start, terminals, length, _ = trees
    n, m = points.shape[0], length.size
    graph = Hypergraph(n, start, terminals, length)
    merges = complete(graph, np.zeros(m, np.bool_))
    base, first, gone = np.empty(m), start - np.arange(m + 1), np.empty(start[m] - m, np.int64)
    near, row = np.empty(WIDEST, np.int64), np.empty(WIDEST, np.int64)
    for f in range(m):
        at, count = first[f], first[f + 1] - first[f]
        if f < n - 1:
            base[f], gone[at] = length[f], f
            continue
        base[f] = replaced_length(graph, f, merges, near, row)
        for i in range(count):
            gone[at + i] = row[i]
    return Savings(base, first, gone)


@njit(cache=True, nogil=True)
def rivals(n: int, length: Array, saved: Savings) -> Rivals:
    """Return the rivals for every edge of the spanning tree."""
    top, second = np.zeros(n), np.zeros(n)
    who, count = np.full(n, -1, np.int64), np.zeros(n, np.int64)
    for f in range(n - 1, length.size):
        saving = saved.base[f] - length[f]
        for i in range(saved.first[f], saved.first[f + 1]):
            e = saved.gone[i]
            count[e] += 1
            if saving > top[e]:
                second[e], top[e], who[e] = top[e], saving, f
            elif saving > second[e]:
                second[e] = saving
    return Rivals(top, second, who, count)


@njit(cache=True, nogil=True)
def view(trees: TreeList) -> View:
    """Return what features and relations are made from."""
    points, start, terminals, length, steiner = trees
    n = points.shape[0]
    near = np.full(n, np.inf)
    for e in range(n - 1):
        for v in (terminals[2 * e], terminals[2 * e + 1]):
            near[v] = min(near[v], length[e])
    unit, size = np.zeros((terminals.size, 2)), np.empty(terminals.size)
    owner = np.empty(terminals.size, np.int64)
    for f in range(length.size):
        low, count = start[f], start[f + 1] - start[f]
        for i in range(count):
            v, at = terminals[low + i], low + i
            if count == 2:
                w = terminals[low + 1 - i]
                dx, dy = points[w, 0] - points[v, 0], points[w, 1] - points[v, 1]
            else:  # the Steiner points of a tree form a path: see `caterpillar_edges`
                r = low - 2 * f + min(max(i - 1, 0), count - 3)
                dx, dy = steiner[r, 0] - points[v, 0], steiner[r, 1] - points[v, 1]
            owner[at], size[at] = f, math.sqrt(dx * dx + dy * dy)
            if size[at] > 0.0:
                unit[at, 0], unit[at, 1] = dx / size[at], dy / size[at]
    saved, slots = savings(trees), grouped(terminals, n)
    return View(saved, rivals(n, length, saved), near, slots, owner[slots.items], unit, size)


@njit(cache=True, nogil=True)
def features(trees: TreeList, seen: View, first: int, last: int) -> Array:
    """Return the features of trees first..last-1."""
    _, start, terminals, length, steiner = trees
    base, gone_start, gone = seen.savings
    top, second, who, count = seen.rivals
    near, at, size = seen.near, seen.slots.first, seen.size
    rows = np.zeros((last - first, FEATURES), np.float32)
    for f in range(first, last):
        row = f - first
        k = start[f + 1] - start[f]
        total, whole = length[f], base[f]
        rows[row, min(k, 6) - 2] = 1.0
        closest, farthest, short, long, degree, mean = np.inf, 0.0, np.inf, 0.0, 0.0, 0.0
        for i in range(start[f], start[f + 1]):
            v = terminals[i]
            mean += near[v] / k
            closest, farthest = min(closest, near[v]), max(farthest, near[v])
            degree += (at[v + 1] - at[v]) / k
            short, long = min(short, size[i]), max(long, size[i])
        best, many, least, most = 0.0, 0.0, np.inf, 0.0
        for i in range(gone_start[f], gone_start[f + 1]):
            e = gone[i]
            best = max(best, second[e] if who[e] == f else top[e])
            many += count[e] / (k - 1)
            least, most = min(least, length[e]), max(most, length[e])
        rows[row, 5] = _clipped(10.0 * (whole - total) / whole, -3.0, 3.0)
        rows[row, 6] = _clipped(math.log(total / ((k - 1) * mean)), -3.0, 3.0)
        rows[row, 7] = short / total
        rows[row, 8] = long / total
        rows[row, 9] = _clipped(degree / 5.0, 0.0, 4.0)
        rows[row, 10] = _clipped(10.0 * (whole - total - best) / whole, -3.0, 3.0)
        rows[row, 11] = _clipped(10.0 * best / whole, 0.0, 3.0)
        rows[row, 12] = _clipped(many / 5.0, 0.0, 4.0)
        rows[row, 13] = least / whole
        rows[row, 14] = most / whole
        if k > 3:
            inner = np.inf
            for i in range(k - 3):
                r = start[f] - 2 * f + i
                dx, dy = steiner[r, 0] - steiner[r + 1, 0], steiner[r, 1] - steiner[r + 1, 1]
                inner = min(inner, dx * dx + dy * dy)
            rows[row, 15] = math.sqrt(inner) / total
        rows[row, 16] = _clipped(math.log(farthest / closest), 0.0, 3.0)
    return rows


@njit(cache=True, nogil=True)
def relations(
    trees: TreeList, seen: View, stamp: Array, first: int, last: int
) -> tuple[Array, Array]:
    """Return (begin, links) of trees first..last-1: see `Described`.

    `stamp` is a scratch array of -1, one for each tree.
    """
    _, start, terminals, length, _ = trees
    at, slots = seen.slots
    base, lists, unit = seen.savings.base, seen.trees, seen.unit
    room = 0
    for f in range(first, last):
        for i in range(start[f], start[f + 1]):
            room += at[terminals[i] + 1] - at[terminals[i]] - 1
    begin, links = np.empty(last - first + 1, np.int64), np.empty(room, np.int64)
    count = 0
    begin[0] = 0
    for f in range(first, last):
        low = count
        saving = base[f] - length[f]
        for i in range(start[f], start[f + 1]):
            v = terminals[i]
            for j in range(at[v], at[v + 1]):
                g = lists[j]
                if g == f:
                    continue
                better = base[g] - length[g] > saving
                if stamp[g] >= low:
                    links[stamp[g]] = STRIDE * g + (4 if better else 3)
                    continue
                stamp[g] = count
                other = slots[j]
                cosine = unit[i, 0] * unit[other, 0] + unit[i, 1] * unit[other, 1]
                relation = 0
                if cosine > APART:
                    relation = 2 if better else 1
                links[count] = STRIDE * g + relation
                count += 1
        for k in range(low, count):
            stamp[links[k] // STRIDE] = -1
        begin[f - first + 1] = count
    return begin, links[:count].copy()


@njit(cache=True, nogil=True)
def described(trees: TreeList, linked: bool) -> Described:
    """Return what the network sees of a whole list; no links where none are wanted."""
    m, seen = trees.length.size, view(trees)
    stamp = np.full(m, -1, np.int64)
    begin, links = relations(trees, seen, stamp, 0, m if linked else 0)
    return Described(features(trees, seen, 0, m), begin, links)


@njit(cache=True, nogil=True)
def first_states(rows: Array, weights: Weights, states: Array, at: int) -> None:
    """Write the states before the first round from row `at` on."""
    state = np.empty(WIDTH, np.float32)
    for f in range(rows.shape[0]):
        for j in range(WIDTH):
            state[j] = weights.input_bias[j]
        add_product(state, 0, rows, f * FEATURES, FEATURES, weights.input)
        for j in range(WIDTH):
            states[at + f, j] = max(state[j], np.float32(0.0))


@njit(cache=True, nogil=True)
def next_states(
    begin: Array, links: Array, weights: Weights, number: int, states: Array, after: Array,
    first: int, last: int,
) -> None:  # fmt: skip
    """Write the states of trees first..last-1, whose links these are, after one more round."""
    own, bias, message = weights.own[number], weights.own_bias[number], weights.message[number]
    sums, state = np.empty(RELATIONS * WIDTH, np.float32), np.empty(WIDTH, np.float32)
    for f in range(first, last):
        for i in range(RELATIONS * WIDTH):
            sums[i] = np.float32(0.0)
        for k in range(begin[f - first], begin[f - first + 1]):
            g = links[k] // STRIDE
            add_row(sums, (links[k] - STRIDE * g) * WIDTH, states, g * WIDTH)
        for j in range(WIDTH):
            state[j] = bias[j]
        add_product(state, 0, states, f * WIDTH, WIDTH, own)
        add_product(state, 0, sums, 0, RELATIONS * WIDTH, message)
        for j in range(WIDTH):
            after[f, j] = max(state[j], np.float32(0.0))


@njit(cache=True, nogil=True)
def last_logits(states: Array, weights: Weights) -> Array:
    """Return the logits after the last round."""
    logits = np.empty(states.shape[0], np.float32)
    for f in range(logits.size):
        total = weights.output_bias[0]
        for j in range(WIDTH):
            total += states[f, j] * weights.output[j]
        logits[f] = total
    return logits


@njit(cache=True, nogil=True)
def scores(trees: TreeList, weights: Weights) -> Array:
    """Return the logits of a whole list."""
    m, rounds = trees.length.size, weights.own.shape[0]
    rows, begin, links = described(trees, rounds > 0)
    states, after = np.empty((m, WIDTH), np.float32), np.empty((m, WIDTH), np.float32)
    first_states(rows, weights, states, 0)
    for number in range(rounds):
        next_states(begin, links, weights, number, states, after, 0, m)
        states, after = after, states
    return last_logits(states, weights)
