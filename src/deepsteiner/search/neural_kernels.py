"""A whole learned solve of a small instance in one call: list, score, drop, choose, unite."""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from ..core.mst_kernels import prim, squared_lengths
from ..core.points import Array
from ..exact.concat_kernels import solve_block
from ..exact.prune_kernels import merge_tree, reduce_list, sorted_order, split_blocks
from .batch_kernels import close_pairs, neighbour_pairs
from .listing_kernels import list_quads, list_triples
from .neighbour_kernels import ON_ONE, ON_TWO, bottleneck_tree, incident_pairs, pair_bounds
from .neural_graph_kernels import scores
from .neural_growth_kernels import close_hexes, close_quints
from .neural_partial_kernels import by_terminal, grow_branches, grow_pairs, terminal_rows
from .region_kernels import nearby, solve_region
from .start_kernels import complete, measure, take
from .union_kernels import caterpillar_edges, union
from .window_kernels import by_first_terminal

# A tree must get shorter by this share, or it stays.
LEAST = 1e-12
# Rounds of greedy picking.
ROUNDS = 4
# What a nat of doubt adds to the price of a tree.
SURCHARGE = 0.1
# How much lower the bar is for edges of the spanning tree.
CAUTION = 4.0
# How much prices vary between trials, and up to how many terminals there are trials.
VARIED = 0.3
SMALL_BLOCK = 32


@njit(cache=True, nogil=True)
def _append(
    names: Array, places: Array, lengths: Array, at: int, start: Array, terminals: Array,
    length: Array, steiner: Array,
) -> int:  # fmt: skip
    """Add trees to a list in compressed rows; return the number of trees then."""
    for f in range(lengths.size):
        size = 0
        while size < names.shape[1] and names[f, size] >= 0:
            terminals[start[at] + size] = names[f, size]
            size += 1
        for i in range(size - 2):
            row = start[at] - 2 * at + i
            steiner[row, 0], steiner[row, 1] = places[f, 2 * i], places[f, 2 * i + 1]
        length[at] = lengths[f]
        start[at + 1] = start[at] + size
        at += 1
    return at


@njit(cache=True, nogil=True)
def list_grown(points: Array, largest: int) -> tuple[Array, Array, Array, Array]:
    """Return (start, terminals, length, steiner) of the list over one small instance.

    Trees of up to `largest` (4 to 6) terminals.
    """
    n = points.shape[0]
    tree = np.empty((n - 1, 2), np.int64)
    prim(points, tree)
    tree = tree[sorted_order(squared_lengths(points, tree))]
    up, rank, weight = bottleneck_tree(points, tree, np.arange(n - 1))
    graph = neighbour_pairs(points, tree)
    bounds, stretch = pair_bounds(points, graph, up, rank, weight, 0, graph.shape[0])
    pairs, bound = close_pairs(n, graph, bounds, stretch, ON_ONE)
    cross, cross_bound = close_pairs(n, graph, bounds, stretch, ON_TWO)
    at, rows = incident_pairs(n, pairs)
    cross_at, cross_rows = incident_pairs(n, cross)
    names3, places3, lengths3 = list_triples(
        points, pairs, bound, at, rows, up, rank, weight, 0, n
    )  # fmt: skip
    stamp = np.full(bound.size, -1, np.int64)
    names4, places4, lengths4 = list_quads(
        points, pairs, bound, at, rows, cross, cross_bound, cross_at, cross_rows, up, rank,
        weight, stamp, 0, bound.size,
    )  # fmt: skip
    own = terminal_rows(points)
    two = grow_pairs(own, pairs, bound)
    branches, names, instead = grow_branches(
        points, own, two, pairs, bound, cross, cross_at, cross_rows, up, rank, weight, 0,
        bound.size if largest > 4 else 0,
    )  # fmt: skip
    third_at, third = by_terminal(n, names)
    names5, places5, lengths5 = close_quints(
        points, pairs, up, rank, weight, two, branches, names, instead, third_at, third, 0, n
    )  # fmt: skip
    names6, places6, lengths6 = close_hexes(
        points, pairs, cross, cross_bound, cross_at, cross_rows, up, rank, weight, two, branches,
        names, instead, third_at, third, 0, n if largest > 5 else 0,
    )  # fmt: skip
    trees = lengths3.size + lengths4.size + lengths5.size + lengths6.size
    places = lengths3.size + 2 * lengths4.size + 3 * lengths5.size + 4 * lengths6.size
    start = np.empty(n + trees, np.int64)
    terminals = np.empty(2 * (n - 1) + places + 2 * trees, np.int64)
    length, steiner = np.empty(n - 1 + trees), np.empty((places, 2))
    start[0] = 0
    for e in range(n - 1):
        terminals[2 * e], terminals[2 * e + 1] = tree[e, 0], tree[e, 1]
        length[e] = weight[e]
        start[e + 1] = 2 * e + 2
    done = _append(names3, places3, lengths3, n - 1, start, terminals, length, steiner)
    done = _append(names4, places4, lengths4, done, start, terminals, length, steiner)
    done = _append(names5, places5, lengths5, done, start, terminals, length, steiner)
    _append(names6, places6, lengths6, done, start, terminals, length, steiner)
    return start, terminals, length, steiner


@njit(cache=True, nogil=True)
def keep_likely(
    n: int, start: Array, terminals: Array, logits: Array, gone_start: Array, gone: Array,
    drop: float,
) -> Array:  # fmt: skip
    """Flag the trees to keep: those with a logit of `drop` or more, and enough to span.

    Edges of the spanning tree hold everything together, so their bar is lower by CAUTION; they
    also stay where no kept tree would replace them.
    """
    m = logits.size
    keep, covered = np.zeros(m, np.bool_), np.zeros(n, np.bool_)
    for f in range(n - 1, m):
        if logits[f] >= drop:
            keep[f] = True
            for i in range(gone_start[f], gone_start[f + 1]):
                covered[gone[i]] = True
    for e in range(n - 1):
        keep[e] = logits[e] >= drop - CAUTION or not covered[e]
    order = likely_order(logits)
    parent = np.arange(n)
    for k in range(m):
        f = order[k]
        if (f < n - 1 or keep[f]) and merge_tree(parent, terminals, start[f], start[f + 1]):
            keep[f] = True
    return keep


@njit(cache=True, nogil=True)
def likely_order(logits: Array) -> Array:
    """Return the trees by falling logit."""
    keys = np.empty(logits.size)
    for f in range(logits.size):
        keys[f] = -logits[f]
    return sorted_order(keys)


@njit(cache=True, nogil=True)
def price_order(start: Array, length: Array, logits: Array) -> Array:
    """Return the trees by their length per joined terminal, unlikely ones at a surcharge."""
    keys = np.empty(length.size)
    for f in range(length.size):
        doubt = math.log1p(math.exp(-max(logits[f], -30.0)))
        keys[f] = length[f] / (start[f + 1] - start[f] - 1) * (1.0 + SURCHARGE * doubt)
    return sorted_order(keys)


@njit(cache=True, nogil=True)
def _kruskal(
    n: int, start: Array, terminals: Array, length: Array, order: Array, now: Array, flip: int,
    parent: Array, then: Array,
) -> float:  # fmt: skip
    """Write the tree that follows when one is forced in or out; return its length, or infinity.

    The trees chosen `now` come first, then the others, both in order. `flip` is forced out where
    it is chosen now, in where it is not; -1 leaves all free.
    """
    total, missing = 0.0, n - 1
    for v in range(n):
        parent[v] = v
    for f in range(length.size):
        then[f] = False
    if flip >= 0 and not now[flip]:
        merge_tree(parent, terminals, start[flip], start[flip + 1])
        then[flip] = True
        total += length[flip]
        missing -= start[flip + 1] - start[flip] - 1
    for turn in range(2):
        for k in range(order.size):
            f = order[k]
            if f == flip or now[f] != (turn == 0):
                continue
            if merge_tree(parent, terminals, start[f], start[f + 1]):
                then[f] = True
                total += length[f]
                missing -= start[f + 1] - start[f] - 1
                if missing == 0:
                    return float(total)
    return np.inf


@njit(cache=True, nogil=True)
def likely_start(
    n: int, start: Array, terminals: Array, length: Array, logits: Array, keep: Array,
    rounds: int, picked: Array,
) -> None:  # fmt: skip
    """Pick kept trees greedily by what they save times how likely they are, in rounds."""
    saving = np.empty(length.size)
    for _ in range(rounds):
        up, rank = complete(n, start, terminals, picked)
        measure(n, start, terminals, length, picked, up, rank, saving, 0, length.size)
        for f in range(length.size):
            if saving[f] > 0.0:
                saving[f] = saving[f] / (1.0 + math.exp(-logits[f])) if keep[f] else 0.0
        if take(n, start, terminals, length, picked, up, rank, saving) == 0:
            break
    complete(n, start, terminals, picked)


@njit(cache=True, nogil=True)
def flip_search(
    n: int, start: Array, terminals: Array, length: Array, order: Array, sweeps: int, now: Array
) -> float:
    """Complete a choice, then force single trees in or out while that helps; return the length."""
    m = length.size
    parent, then = np.empty(n, np.int64), np.zeros(m, np.bool_)
    best = _kruskal(n, start, terminals, length, order, now, -1, parent, then)
    now[:] = then
    for _ in range(sweeps):
        before = best
        for f in range(m):
            total = _kruskal(n, start, terminals, length, order, now, f, parent, then)
            if total < best * (1.0 - LEAST):
                best = total
                now[:] = then
        if not best < before:
            break
    return best


@njit(cache=True, nogil=True)
def price_trials(
    n: int, start: Array, terminals: Array, length: Array, logits: Array, trials: int,
    sweeps: int, now: Array, best: float,
) -> float:  # fmt: skip
    """Search again from scratch under varied prices; keep the best choice; return its length.

    The variation is always the same.
    """
    m = length.size
    then, varied = np.zeros(m, np.bool_), np.empty(m)
    state = np.uint64(0x9E3779B97F4A7C15)
    for _ in range(trials):
        for f in range(m):
            state = state * np.uint64(6364136223846793005) + np.uint64(1442695040888963407)
            varied[f] = length[f] * (1.0 + VARIED * float(state >> np.uint64(40)) / (1 << 24))
            then[f] = False
        order = price_order(start, varied, logits)
        total = flip_search(n, start, terminals, length, order, sweeps, then)
        if total < best * (1.0 - LEAST):
            best = total
            now[:] = then
    return best


@njit(cache=True, nogil=True)
def region_search(
    n: int, start: Array, terminals: Array, length: Array, limit: int, sweeps: int, work: float,
    widest: int, now: Array,
) -> None:  # fmt: skip
    """Re-solve regions of at most `limit` terminals, every terminal in the inner half of one.

    A sweep ends the search where it gained nothing.
    """
    own_first, own = by_first_terminal(n, start, terminals)
    first, lists = _at_terminals(n, start, terminals)
    stamp, members = np.full(n, -1, np.int64), np.empty(n, np.int64)
    local, parent, seen = np.full(n, -1, np.int64), np.empty(n, np.int64), np.zeros(n, np.bool_)
    for sweep in range(sweeps):
        gained = 0.0
        stamp[:], seen[:] = -1, False
        for step in range(n):
            seed = step if sweep % 2 == 0 else n - 1 - step
            if seen[seed]:
                continue
            count = nearby(start, terminals, first, lists, seed, limit, stamp, members)
            for k in range((count + 1) // 2):
                seen[members[k]] = True
            gained += solve_region(
                start, terminals, length, now, own_first, own, members[:count], work, widest,
                parent, local,
            )  # fmt: skip
        if gained == 0.0 and sweep > 0:
            break


@njit(cache=True, nogil=True)
def _at_terminals(n: int, start: Array, terminals: Array) -> tuple[Array, Array]:
    """Return the trees at every terminal, in compressed rows."""
    first = np.zeros(n + 1, np.int64)
    for i in range(terminals.size):
        first[terminals[i] + 1] += 1
    for v in range(n):
        first[v + 1] += first[v]
    fill, lists = first[:n].copy(), np.empty(terminals.size, np.int64)
    for f in range(start.size - 1):
        for i in range(start[f], start[f + 1]):
            lists[fill[terminals[i]]] = f
            fill[terminals[i]] += 1
    return first, lists


@njit(cache=True, nogil=True)
def choose(
    n: int, start: Array, terminals: Array, length: Array, logits: Array, keep: Array,
    piece: int, sweeps: int, trials: int, work: float, widest: int, chosen: Array,
) -> None:  # fmt: skip
    """Flag the chosen trees among the kept ones.

    What is left undecided falls into blocks. Blocks of at most `piece` terminals are solved
    exactly; in larger ones trees are chosen by score, single trees are flipped, and regions of at
    most `piece` terminals are solved.
    """
    begun = np.zeros(length.size, np.bool_)
    likely_start(n, start, terminals, length, logits, keep, ROUNDS, begun)
    contracted, blocks, block = reduce_list(
        n, start, terminals, length, keep, chosen, np.arange(n)
    )  # fmt: skip
    if blocks < 0:
        chosen[:] = begun
        return
    first, trees, begin, local, sizes = split_blocks(n, start, contracted, keep, blocks, block)
    for b in range(blocks):
        low, high = first[b], first[b + 1]
        offsets, lengths = np.empty(high - low + 1, np.int64), np.empty(high - low)
        score = np.empty(high - low, np.float32)
        offsets[0] = 0
        for k in range(low, high):
            offsets[k - low + 1] = begin[k + 1] - begin[low]
            lengths[k - low] = length[trees[k]]
            score[k - low] = logits[trees[k]]
        members = local[begin[low] : begin[high]].copy()
        now = np.zeros(high - low, np.bool_)
        solved = False
        if sizes[b] <= piece:
            solved = solve_block(sizes[b], offsets, members, lengths, work, widest, now)
        if not solved:
            order = price_order(offsets, lengths, score)
            for k in range(low, high):
                now[k - low] = begun[trees[k]]
            total = flip_search(sizes[b], offsets, members, lengths, order, sweeps, now)
            if total == np.inf:  # too much was dropped for a greedy choice to span
                chosen[:] = begun
                return
            if sizes[b] <= SMALL_BLOCK:
                price_trials(
                    sizes[b], offsets, members, lengths, score, trials, sweeps, now, total
                )  # fmt: skip
            if piece > 4:
                region_search(
                    sizes[b], offsets, members, lengths, piece, sweeps, work, widest, now
                )  # fmt: skip
        for k in range(low, high):
            if now[k - low]:
                chosen[trees[k]] = True


@njit(cache=True, nogil=True)
def solve_learned(
    points: Array,
    sizes: Array,
    steiner: Array,
    edges: Array,
    weights: tuple[Array, Array, Array, Array, Array, Array, Array],
    largest: int,
    drop: float,
    piece: int,
    sweeps: int,
    trials: int,
    work: float,
    widest: int,
    first: int,
    last: int,
) -> None:
    """Solve instances first..last-1 of (B, n, 2) points.

    Writes the number of points of each tree (terminals and Steiner points), its Steiner points
    and its edges.
    """
    n = points.shape[1]
    for b in range(first, last):
        start, terminals, length, places = list_grown(points[b], largest)
        logits, gone_start, gone = scores(points[b], start, terminals, length, places, weights)
        keep = keep_likely(n, start, terminals, logits, gone_start, gone, drop)
        chosen = np.zeros(length.size, np.bool_)
        choose(
            n, start, terminals, length, logits, keep, piece, sweeps, trials, work, widest, chosen
        )
        spots, links = union(n, start, terminals, places, caterpillar_edges(start), chosen)
        sizes[b] = n + spots.shape[0]
        steiner[b, : spots.shape[0]] = spots
        edges[b, : links.shape[0]] = links
