"""Search without the exact solver: chosen full Steiner trees are flipped, one or two at a time.

A flip forces a tree out that is chosen, or one in that is not; Kruskal's rule completes the rest,
first by what was chosen before, then by price. Pairs of flips are tried in the order of the
network's doubt: those between the most doubtful trees come first, so that a budget ends where it is
sure. Then the choice is disturbed at random and prices vary, and it is flipped again.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ....core.jit import njit
from ..exact.prune_kernels import shares, sorted_order
from ..hypergraph import LEAST, Flags, Floats, Hypergraph, Ints

# What a nat of doubt adds to the price of a tree.
SURCHARGE = 0.1
# How much prices vary when the choice is disturbed.
VARIED = 1.0
# Trees up to which all trials are made.
USUAL = 50
# Terminals up to which what is connected with each is kept as the bits of a number: faster.
BITS = 62


class Flips(NamedTuple):
    """A choice, the order in which a flip completes it, and scratch.

    graph: the list.
    now: which trees are chosen.
    queue: the trees as a flip meets them: the chosen ones, then the others, both by price.
    least: the lowest length per joined terminal from each place of the queue on.
    reach: what is connected with each terminal: in bits, or of more than BITS terminals by a common
        number.
    seen: the last turn of a flip that met such a number.
    taken: the trees of the flipped choice.
    """

    graph: Hypergraph
    now: Flags
    queue: Ints
    least: Floats
    reach: Ints
    seen: Ints
    taken: Ints


@njit(cache=True, nogil=True)
def price_keys(graph: Hypergraph, logits: Floats) -> Floats:
    """Return every tree's length per joined terminal, unlikely ones' at a surcharge."""
    keys = shares(graph)
    for f in range(keys.size):
        keys[f] *= 1.0 + SURCHARGE * math.log1p(math.exp(-max(logits[f], -30.0)))
    return keys


@njit(cache=True, nogil=True)
def doubt_order(logits: Floats) -> Ints:
    """Return the trees by how sure the network is of them, the least sure first."""
    return sorted_order(np.abs(logits).astype(np.float64))


@njit(cache=True, nogil=True)
def prepared(graph: Hypergraph, now: Flags) -> Flips:
    """Return the choice with room for its queue."""
    n, m = graph.n, now.size
    return Flips(
        graph, now, np.empty(m, np.int64), np.empty(m), np.empty(n, np.int64),
        np.empty(n, np.int64), np.empty(n, np.int64),
    )  # fmt: skip


@njit(cache=True, nogil=True)
def arrange(flips: Flips, order: Ints) -> None:
    """Write the queue and its least shares for the present choice; `order` is by price."""
    count = 0
    for turn in range(2):
        for f in order:
            if flips.now[f] == (turn == 0):
                flips.queue[count] = f
                count += 1
    start, length = flips.graph.start, flips.graph.length
    lowest = np.inf
    for k in range(count - 1, -1, -1):
        f = flips.queue[k]
        lowest = min(lowest, length[f] / (start[f + 1] - start[f] - 1))
        flips.least[k] = lowest


@njit(cache=True, nogil=True)
def flipped(flips: Flips, one: int, two: int, limit: float) -> tuple[float, int]:
    """Flip two trees (-1: none); write the tree that follows; return its length and its size.

    Infinite where it does not span, or is not below the limit.
    """
    (n, start, terminals, length), now, queue, least, reach, seen, taken = flips
    for v in range(n):
        reach[v] = 1 << v if n <= BITS else v
        seen[v] = -3
    total, missing, count = 0.0, n - 1, 0
    for k in range(-2, queue.size):
        if k < 0:
            f = one if k == -2 else two
            if f < 0 or now[f]:
                continue
        else:
            f = queue[k]
            if f in (one, two):
                continue
            if total + missing * least[k] >= limit:
                return np.inf, 0
        mask, free = 0, True
        for i in range(start[f], start[f + 1]):
            v = terminals[i]
            if n <= BITS:
                free = mask >> v & 1 == 0
                mask |= reach[v]
            else:
                mask = reach[v]
                free = seen[mask] != k
                seen[mask] = k
            if not free:
                break
        if not free:
            if k < 0:
                return np.inf, 0
            continue
        total += length[f]
        taken[count] = f
        count += 1
        missing -= start[f + 1] - start[f] - 1
        if missing == 0:
            return (total, count) if total < limit else (np.inf, 0)
        if n <= BITS:
            for v in range(n):
                if mask >> v & 1:
                    reach[v] = mask
        else:
            for v in range(n):
                if seen[reach[v]] == k:
                    reach[v] = mask
    return np.inf, 0


@njit(cache=True, nogil=True)
def _adopt(flips: Flips, count: int, order: Ints) -> None:
    """Make the taken trees the chosen ones."""
    flips.now[:] = False
    for i in range(count):
        flips.now[flips.taken[i]] = True
    arrange(flips, order)


@njit(cache=True, nogil=True)
def flip_search(
    graph: Hypergraph, order: Ints, rank: Ints, one: int, two: int, singles: bool, pairs: int,
    now: Flags, stop: Ints,
) -> float:  # fmt: skip
    """Flip two trees and complete; flip single trees and up to `pairs` pairs while that helps.

    Both are tried by `rank`, over and over until none is left that helps, or four times as many
    pairs were tried, or until stop[0] is set; single ones only where they are wanted. Returns the
    length, infinite where the first step finds no tree; then `now` stays.
    """
    m = now.size
    flips = prepared(graph, now)
    arrange(flips, order)
    best, count = flipped(flips, one, two, np.inf)
    if best == np.inf:
        return best
    _adopt(flips, count, order)
    for stage in range(0 if singles else 1, 2):
        tries = m if stage == 0 else min(pairs, m * (m - 1) // 2)
        quiet, rest = 0, 4 * tries if stage > 0 else 64 * m
        j, k = 0, 1
        while quiet < tries and rest > 0 and stop[0] == 0:
            f, g = rank[k - 1], -1
            if stage > 0:
                f, g = rank[k], rank[j]
            total, count = flipped(flips, f, g, best * (1.0 - LEAST))
            quiet += 1
            rest -= 1
            if total < np.inf:
                best, quiet = total, 0
                _adopt(flips, count, order)
            # The next pair j < k, or the next single tree; after the last one, the first again.
            j += 1
            if stage == 0 or j == k:
                j, k = 0, k + 1
            if k > m - stage or (stage > 0 and k * (k - 1) // 2 + j >= tries):
                j, k = 0, 1
    return best


@njit(cache=True, nogil=True)
def disturbed_search(
    graph: Hypergraph, keys: Floats, rank: Ints, trials: int, now: Flags, best: float, stop: Ints
) -> float:
    """Flip two random trees under varied prices, then single ones; keep what is shorter.

    Of many trees there are fewer trials, and none once stop[0] is set. Returns the length. The
    variation is always the same.
    """
    m = now.size
    varied, then = np.empty(m), np.empty(m, np.bool_)
    trials = trials * USUAL // max(m, USUAL)
    state = np.uint64(0x9E3779B97F4A7C15)
    for _ in range(trials):
        if stop[0] != 0:
            break
        for f in range(m):
            state = state * np.uint64(6364136223846793005) + np.uint64(1442695040888963407)
            varied[f] = keys[f] * (1.0 + VARIED * float(state >> np.uint64(40)) / (1 << 24))
        one = int(state >> np.uint64(33)) % m
        state = state * np.uint64(6364136223846793005) + np.uint64(1442695040888963407)
        two = int(state >> np.uint64(33)) % m
        for f in range(m):
            then[f] = now[f]
        other = two if two != one else -1
        total = flip_search(graph, sorted_order(varied), rank, one, other, True, 0, then, stop)
        if total < best * (1.0 - LEAST):
            best = total
            for f in range(m):
                now[f] = then[f]
    return best
