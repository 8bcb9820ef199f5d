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

import numpy as np
from numba import njit

from ..core.points import Array
from ..fst.select.exact.prune_kernels import incidence
from ..fst.select.hypergraph import Hypergraph
from ..fst.select.search.greedy_kernels import complete, replaced_length
from .vector_kernels import WIDTH, add_product, add_row

FEATURES = 17
RELATIONS = 5
# A link is its tree times this, plus the relation.
STRIDE = 8
# Larger trees than this are not scored.
WIDEST = 16
# cos 120 degrees, with room for rounding.
APART = -0.5 + 1e-6


@njit(cache=True, nogil=True)
def _clipped(value: float, low: float, high: float) -> float:
    return min(max(value, low), high)


@njit(cache=True, nogil=True)
def ends(
    points: Array, start: Array, terminals: Array, steiner: Array, first: int, last: int
) -> tuple[Array, Array]:
    """Return unit vector and length of the edge at every terminal of trees first..last-1.

    The Steiner points of a tree form a path: see `caterpillar_edges`.
    """
    base = start[first]
    unit, size = np.zeros((start[last] - base, 2)), np.empty(start[last] - base)
    for f in range(first, last):
        low, count = start[f], start[f + 1] - start[f]
        for i in range(count):
            v = terminals[low + i]
            if count == 2:
                w = terminals[low + 1 - i]
                dx, dy = points[w, 0] - points[v, 0], points[w, 1] - points[v, 1]
            else:
                r = low - 2 * f + min(max(i - 1, 0), count - 3)
                dx, dy = steiner[r, 0] - points[v, 0], steiner[r, 1] - points[v, 1]
            far = math.sqrt(dx * dx + dy * dy)
            size[low + i - base] = far
            if far > 0.0:
                unit[low + i - base, 0], unit[low + i - base, 1] = dx / far, dy / far
    return unit, size


@njit(cache=True, nogil=True)
def savings(n: int, start: Array, terminals: Array, length: Array) -> tuple[Array, Array, Array]:
    """Return (base, gone_start, gone): what each tree replaces in the spanning tree.

    `base` is the length of the edges it makes superfluous, `gone` their numbers, in compressed
    rows; an edge of the spanning tree replaces itself.
    """
    m = length.size
    graph = Hypergraph(n, start, terminals, length)
    merges = complete(graph, np.zeros(m, np.bool_))
    base, gone = np.empty(m), np.empty(start[m] - m, np.int64)
    near, row = np.empty(WIDEST, np.int64), np.empty(WIDEST, np.int64)
    gone_start = np.empty(m + 1, np.int64)
    gone_start[0] = 0
    for f in range(m):
        at, count = gone_start[f], start[f + 1] - start[f] - 1
        gone_start[f + 1] = at + count
        if f < n - 1:
            base[f], gone[at] = length[f], f
            continue
        base[f] = replaced_length(graph, f, merges, near, row)
        for i in range(count):
            gone[at + i] = row[i]
    return base, gone_start, gone


@njit(cache=True, nogil=True)
def rivals(
    n: int, length: Array, base: Array, gone_start: Array, gone: Array
) -> tuple[Array, Array, Array, Array]:
    """Return for every spanning-tree edge the best and second best saving of the trees that

    replace it, which is the best, and how many there are."""
    top, second = np.zeros(n), np.zeros(n)
    who, count = np.full(n, -1, np.int64), np.zeros(n, np.int64)
    for f in range(n - 1, length.size):
        saving = base[f] - length[f]
        for i in range(gone_start[f], gone_start[f + 1]):
            e = gone[i]
            count[e] += 1
            if saving > top[e]:
                second[e], top[e], who[e] = top[e], saving, f
            elif saving > second[e]:
                second[e] = saving
    return top, second, who, count


@njit(cache=True, nogil=True)
def spacing(n: int, terminals: Array, length: Array) -> Array:
    """Return every terminal's distance to its nearest other one."""
    near = np.full(n, np.inf)
    for e in range(n - 1):
        for side in range(2):
            v = terminals[2 * e + side]
            near[v] = min(near[v], length[e])
    return near


@njit(cache=True, nogil=True)
def features(
    start: Array,
    terminals: Array,
    length: Array,
    steiner: Array,
    base: Array,
    gone_start: Array,
    gone: Array,
    top: Array,
    second: Array,
    who: Array,
    count: Array,
    near: Array,
    at: Array,
    size: Array,
    first: int,
    last: int,
) -> Array:
    """Return the features of trees first..last-1."""
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
            edge = size[i - start[first]]
            short, long = min(short, edge), max(long, edge)
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
    start: Array,
    terminals: Array,
    length: Array,
    base: Array,
    at: Array,
    lists: Array,
    slots: Array,
    unit: Array,
    stamp: Array,
    first: int,
    last: int,
) -> tuple[Array, Array]:
    """Return (begin, links) of trees first..last-1: each link is STRIDE * tree + relation.

    `slots` says where in `terminals` (and `unit`) each entry of the incidence `lists` stands;
    `stamp` is a scratch array of -1, one for each tree.
    """
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
def slots_of(n: int, start: Array, terminals: Array, at: Array) -> Array:
    """Return where in `terminals` each entry of the incidence lists stands."""
    fill, slots = at[:n].copy(), np.empty(at[n], np.int64)
    for i in range(start[start.size - 1]):
        slots[fill[terminals[i]]] = i
        fill[terminals[i]] += 1
    return slots


@njit(cache=True, nogil=True)
def first_states(rows: Array, weight: Array, bias: Array, states: Array, at: int) -> None:
    """Write relu(rows @ weight + bias) into the states from row `at` on."""
    state = np.empty(WIDTH, np.float32)
    for f in range(rows.shape[0]):
        for j in range(WIDTH):
            state[j] = bias[j]
        add_product(state, 0, rows, f * FEATURES, FEATURES, weight)
        for j in range(WIDTH):
            states[at + f, j] = max(state[j], np.float32(0.0))


@njit(cache=True, nogil=True)
def next_states(
    begin: Array,
    links: Array,
    states: Array,
    own: Array,
    bias: Array,
    message: Array,
    after: Array,
    first: int,
    last: int,
) -> None:
    """Write one round's new states of trees first..last-1, whose links these are."""
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
def last_logits(
    states: Array, weight: Array, bias: Array, logits: Array, first: int, last: int
) -> None:
    """Write the logits of trees first..last-1."""
    for f in range(first, last):
        total = bias[0]
        for j in range(WIDTH):
            total += states[f, j] * weight[j]
        logits[f] = total


@njit(cache=True, nogil=True)
def scores(
    points: Array,
    start: Array,
    terminals: Array,
    length: Array,
    steiner: Array,
    weights: tuple[Array, Array, Array, Array, Array, Array, Array],
) -> tuple[Array, Array, Array]:
    """Return (logits, gone_start, gone) of a whole list at once; see `savings` for the latter.

    `weights` are those of the input, the rounds (own, bias, message) and the output.
    """
    n, m = points.shape[0], length.size
    base, gone_start, gone = savings(n, start, terminals, length)
    rows, at, lists, unit = outlined(
        points, start, terminals, length, steiner, base, gone_start, gone
    )
    states, after = np.empty((m, WIDTH), np.float32), np.empty((m, WIDTH), np.float32)
    first_states(rows, weights[0], weights[1], states, 0)
    own, bias, message = weights[2], weights[3], weights[4]
    if own.shape[0] > 0:
        begin, links = related(n, start, terminals, length, base, at, lists, unit)
        for k in range(own.shape[0]):
            next_states(begin, links, states, own[k], bias[k], message[k], after, 0, m)
            states, after = after, states
    logits = np.empty(m, np.float32)
    last_logits(states, weights[5], weights[6], logits, 0, m)
    return logits, gone_start, gone


@njit(cache=True, nogil=True)
def outlined(
    points: Array,
    start: Array,
    terminals: Array,
    length: Array,
    steiner: Array,
    base: Array,
    gone_start: Array,
    gone: Array,
) -> tuple[Array, Array, Array, Array]:
    """Return the features of a whole list, the trees at each terminal, and the ends' directions."""
    n, m = points.shape[0], length.size
    top, second, who, count = rivals(n, length, base, gone_start, gone)
    unit, size = ends(points, start, terminals, steiner, 0, m)
    at, lists = incidence(Hypergraph(n, start, terminals, length), np.ones(m, np.bool_))
    near = spacing(n, terminals, length)
    rows = features(
        start, terminals, length, steiner, base, gone_start, gone, top, second, who, count, near,
        at, size, 0, m,
    )  # fmt: skip
    return rows, at, lists, unit


@njit(cache=True, nogil=True)
def related(
    n: int, start: Array, terminals: Array, length: Array, base: Array, at: Array, lists: Array,
    unit: Array,
) -> tuple[Array, Array]:  # fmt: skip
    """Return the relations (begin, links) of a whole list."""
    m = length.size
    slots, stamp = slots_of(n, start, terminals, at), np.full(m, -1, np.int64)
    return relations(start, terminals, length, base, at, lists, slots, unit, stamp, 0, m)


@njit(cache=True, nogil=True)
def described(
    points: Array,
    start: Array,
    terminals: Array,
    length: Array,
    steiner: Array,
    base: Array,
    gone_start: Array,
    gone: Array,
) -> tuple[Array, Array, Array]:
    """Return features and relations (begin, links) of a whole list."""
    rows, at, lists, unit = outlined(
        points, start, terminals, length, steiner, base, gone_start, gone
    )
    begin, links = related(points.shape[0], start, terminals, length, base, at, lists, unit)
    return rows, begin, links
