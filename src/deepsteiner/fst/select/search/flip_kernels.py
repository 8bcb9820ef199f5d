"""Search without the exact solver: chosen full Steiner trees are flipped, one or two at a time.

A flip forces a tree out that is chosen, or one in that is not; Kruskal's rule completes the rest,
first by what was chosen before, then by price. Pairs of flips are tried in the order of the
network's doubt: those between the most doubtful trees come first, so that a budget ends where it is
sure. Then the choice is disturbed at random and prices vary, and it is flipped again.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from ....core.points import Array
from ..exact.prune_kernels import sorted_order

# A tree must get shorter by this share, or it stays.
LEAST = 1e-12
# What a nat of doubt adds to the price of a tree.
SURCHARGE = 0.1
# How much prices vary when the choice is disturbed.
VARIED = 1.0
# Trees up to which all trials are made.
USUAL = 50
# Terminals up to which what is connected with each is kept as the bits of a number: faster.
BITS = 62


@njit(cache=True, nogil=True)
def price_keys(start: Array, length: Array, logits: Array) -> Array:
    """Return every tree's length per joined terminal, unlikely ones' at a surcharge."""
    keys = np.empty(length.size)
    for f in range(length.size):
        doubt = math.log1p(math.exp(-max(logits[f], -30.0)))
        keys[f] = length[f] / (start[f + 1] - start[f] - 1) * (1.0 + SURCHARGE * doubt)
    return keys


@njit(cache=True, nogil=True)
def doubt_order(logits: Array) -> Array:
    """Return the trees by how sure the network is of them, the least sure first."""
    keys = np.empty(logits.size)
    for f in range(logits.size):
        keys[f] = abs(logits[f])
    return sorted_order(keys)


@njit(cache=True, nogil=True)
def _arrange(
    start: Array, length: Array, order: Array, now: Array, queue: Array, least: Array
) -> None:
    """Write the trees as a flip meets them: the chosen ones, then the others, both in order.

    `least` is the lowest length per joined terminal from each place of the queue on.
    """
    count = 0
    for turn in range(2):
        for k in range(order.size):
            if now[order[k]] == (turn == 0):
                queue[count] = order[k]
                count += 1
    lowest = np.inf
    for k in range(queue.size - 1, -1, -1):
        f = queue[k]
        lowest = min(lowest, length[f] / (start[f + 1] - start[f] - 1))
        least[k] = lowest


@njit(cache=True, nogil=True)
def _flipped(
    n: int, start: Array, terminals: Array, length: Array, queue: Array, least: Array, now: Array,
    one: int, two: int, reach: Array, seen: Array, taken: Array, limit: float,
) -> tuple[float, int]:  # fmt: skip
    """Flip two trees (-1: none); write the tree that follows; return its length and its size.

    Infinite where it does not span, or is not below the limit. `reach` says what is connected with
    each terminal: in bits, or of more than BITS terminals by a common number.
    """
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
def _adopt(taken: Array, count: int, now: Array) -> None:
    """Make the taken trees the chosen ones."""
    now[:] = False
    for i in range(count):
        now[taken[i]] = True


@njit(cache=True, nogil=True)
def flip_search(
    n: int, start: Array, terminals: Array, length: Array, order: Array, rank: Array, one: int,
    two: int, singles: bool, pairs: int, now: Array, stop: Array,
) -> float:  # fmt: skip
    """Flip two trees and complete; flip single trees and up to `pairs` pairs while that helps.

    Both are tried by `rank`, over and over until none is left that helps, or four times as many
    pairs were tried, or until stop[0] is set; single ones only where they are wanted. Returns the
    length, infinite where the first step finds no tree; then `now` stays.
    """
    m = length.size
    reach, seen, taken = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n, np.int64)
    queue, least = np.empty(m, np.int64), np.empty(m)
    _arrange(start, length, order, now, queue, least)
    best, count = _flipped(
        n, start, terminals, length, queue, least, now, one, two, reach, seen, taken, np.inf
    )  # fmt: skip
    if best == np.inf:
        return best
    _adopt(taken, count, now)
    _arrange(start, length, order, now, queue, least)
    for stage in range(0 if singles else 1, 2):
        tries = m if stage == 0 else min(pairs, m * (m - 1) // 2)
        quiet, rest = 0, 4 * tries if stage > 0 else 64 * m
        j, k = 0, 1
        while quiet < tries and rest > 0 and stop[0] == 0:
            f, g = rank[k - 1], -1
            if stage > 0:
                f, g = rank[k], rank[j]
            total, count = _flipped(
                n, start, terminals, length, queue, least, now, f, g, reach, seen, taken,
                best * (1.0 - LEAST),
            )  # fmt: skip
            quiet += 1
            rest -= 1
            if total < np.inf:
                best, quiet = total, 0
                _adopt(taken, count, now)
                _arrange(start, length, order, now, queue, least)
            # The next pair j < k, or the next single tree; after the last one, the first again.
            j += 1
            if stage == 0 or j == k:
                j, k = 0, k + 1
            if k > m - stage or (stage > 0 and k * (k - 1) // 2 + j >= tries):
                j, k = 0, 1
    return best


@njit(cache=True, nogil=True)
def disturbed_search(
    n: int, start: Array, terminals: Array, length: Array, keys: Array, rank: Array, trials: int,
    now: Array, best: float, stop: Array,
) -> float:  # fmt: skip
    """Flip two random trees under varied prices, then single ones; keep what is shorter.

    Of many trees there are fewer trials, and none once stop[0] is set. Returns the length. The
    variation is always the same.
    """
    m = length.size
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
        then[:] = now
        total = flip_search(
            n, start, terminals, length, sorted_order(varied), rank, one,
            two if two != one else -1, True, 0, then, stop,
        )  # fmt: skip
        if total < best * (1.0 - LEAST):
            best = total
            now[:] = then
    return best
