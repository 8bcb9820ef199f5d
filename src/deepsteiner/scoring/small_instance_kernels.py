"""A whole learned solve of a small instance in one call: list, score, drop, choose, unite."""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from ..core.points import Array
from ..fst.enumerate.nearby.gap_kernels import with_trees_across_gaps
from ..fst.enumerate.nearby.listing_kernels import list_quads, list_triples
from ..fst.enumerate.nearby.neighbour_kernels import CLOSE, incident_pairs
from ..fst.enumerate.nearby.partial_tree_kernels import (
    by_terminal,
    grow_branches,
    grow_pairs,
    terminal_rows,
)
from ..fst.enumerate.nearby.sextet_kernels import close_hexes, close_quints
from ..fst.select.exact.blocks_kernels import solve_block, total_length
from ..fst.select.exact.prune_kernels import (
    incidence,
    list_of_block,
    merge_tree,
    reduce_list,
    sorted_order,
)
from ..fst.select.hypergraph import LEAST, Budget, Hypergraph
from ..fst.select.search.batch_kernels import append_trees, close_pairs, put_tree, surroundings
from ..fst.select.search.flip_kernels import (
    disturbed_search,
    doubt_order,
    flip_search,
    price_keys,
)
from ..fst.select.search.greedy_kernels import complete, measure, take
from ..fst.select.search.region_kernels import nearby, solve_region
from ..fst.select.search.window_kernels import Selection, by_first_terminal
from ..fst.union_kernels import caterpillar_edges, union
from .network_kernels import scores

# Rounds of greedy picking.
ROUNDS = 4
# How much lower the bar is for edges of the spanning tree.
CAUTION = 4.0
# Trees for each terminal from which on the network has seen nothing like it: lattices full of ties.
CROWDED = 15
# Regions of fewer terminals find nothing that flips do not.
LEAST_PIECE = 9
# Regions of more terminals are often too wide to be solved.
WIDEST_PIECE = 42


@njit(cache=True, nogil=True)
def list_grown(
    points: Array, largest: int, near: float = CLOSE, far: float = CLOSE
) -> tuple[Array, Array, Array, Array]:
    """Return (start, terminals, length, steiner) of the list over one small instance.

    Trees of up to `largest` (4 to 6) terminals; two of them on one Steiner point are at most `near`
    bottlenecks apart, on adjacent ones at most `far`.
    """
    n = points.shape[0]
    tree, up, rank, weight, graph, bounds, stretch = surroundings(points)
    pairs, bound = close_pairs(n, graph, bounds, stretch, near)
    at, rows = incident_pairs(n, pairs)
    cross, cross_bound, cross_at, cross_rows = pairs, bound, at, rows
    if far != near:
        cross, cross_bound = close_pairs(n, graph, bounds, stretch, far)
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
    put_tree(tree, weight, start, terminals, length)
    done = append_trees(names3, places3, lengths3, n - 1, start, terminals, length, steiner)
    done = append_trees(names4, places4, lengths4, done, start, terminals, length, steiner)
    done = append_trees(names5, places5, lengths5, done, start, terminals, length, steiner)
    append_trees(names6, places6, lengths6, done, start, terminals, length, steiner)
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
def likely_start(
    n: int, start: Array, terminals: Array, length: Array, logits: Array, keep: Array,
    rounds: int, picked: Array,
) -> None:  # fmt: skip
    """Pick kept trees greedily by what they save times how likely they are, in rounds."""
    graph = Hypergraph(n, start, terminals, length)
    saving = np.empty(length.size)
    for _ in range(rounds):
        merges = complete(graph, picked)
        measure(graph, picked, merges, saving, 0, length.size)
        for f in range(length.size):
            if saving[f] > 0.0:
                saving[f] = saving[f] / (1.0 + math.exp(-logits[f])) if keep[f] else 0.0
        if take(graph, picked, merges, saving) == 0:
            break
    complete(graph, picked)


@njit(cache=True, nogil=True)
def region_search(
    n: int, start: Array, terminals: Array, length: Array, limit: int, sweeps: int, work: float,
    widest: int, now: Array, stop: Array,
) -> None:  # fmt: skip
    """Re-solve regions of at most `limit` terminals, every terminal in the inner half of one.

    A sweep ends the search where it gained nothing, or once stop[0] is set.
    """
    graph = Hypergraph(n, start, terminals, length)
    selection = Selection(graph, by_first_terminal(graph), now)
    at, budget = incidence(graph, np.ones(now.size, np.bool_)), Budget(work, widest)
    stamp, members = np.full(n, -1, np.int64), np.empty(n, np.int64)
    local, seen = np.full(n, -1, np.int64), np.zeros(n, np.bool_)
    for sweep in range(sweeps):
        gained = 0.0
        stamp[:], seen[:] = -1, False
        for step in range(n):
            seed = step if sweep % 2 == 0 else n - 1 - step
            if seen[seed] or stop[0] != 0:
                continue
            count = nearby(graph, at, seed, limit, stamp, members)
            for k in range((count + 1) // 2):
                seen[members[k]] = True
            gained += solve_region(selection, members[:count], budget, local)
        if gained == 0.0 and sweep > 0:
            break


@njit(cache=True, nogil=True)
def choose(
    n: int, start: Array, terminals: Array, length: Array, logits: Array, keep: Array,
    piece: int, sweeps: int, pairs: int, trials: int, work: float, widest: int, chosen: Array,
    stop: Array,
) -> None:  # fmt: skip
    """Flag the chosen trees among the kept ones.

    What is left undecided falls into blocks. Blocks of at most `piece` terminals are solved
    exactly, others are searched. Once stop[0] is set, what is left is completed in the first way.
    """
    begun = np.zeros(length.size, np.bool_)
    likely_start(n, start, terminals, length, logits, keep, ROUNDS, begun)
    graph = Hypergraph(n, start, terminals, length)
    blocks = reduce_list(graph, keep, chosen, np.arange(n))
    if blocks.number < 0:
        chosen[:] = begun
        return
    first, trees = blocks.first, blocks.trees
    for b in range(blocks.number):
        low, high = first[b], first[b + 1]
        block = list_of_block(blocks, b, length)
        score = logits[trees[low:high]]
        now = np.zeros(high - low, np.bool_)
        solved = False
        if block.n <= piece and stop[0] == 0:
            solved = solve_block(block, Budget(work, widest), now)
        if not solved:
            for k in range(low, high):
                now[k - low] = begun[trees[k]]
            if not search_block(
                block.n, block.start, block.terminals, block.length, score, piece, sweeps, pairs,
                trials, work, widest, now, stop,
            ):  # fmt: skip
                chosen[:] = begun
                return
        for k in range(low, high):
            if now[k - low]:
                chosen[trees[k]] = True
    if total_length(length, begun) < total_length(length, chosen):
        chosen[:] = begun


@njit(cache=True, nogil=True)
def search_block(
    n: int, start: Array, terminals: Array, length: Array, logits: Array, piece: int, sweeps: int,
    pairs: int, trials: int, work: float, widest: int, now: Array, stop: Array,
) -> bool:  # fmt: skip
    """Improve a choice without solving more than `piece` terminals; False where it can not span.

    Single trees are flipped, regions solved, then pairs flipped and the choice disturbed; where
    that helped, regions are solved again.
    """
    graph = Hypergraph(n, start, terminals, length)
    keys = price_keys(graph, logits)
    order, rank = sorted_order(keys), doubt_order(logits)
    total = np.inf
    for turn in range(2):
        if total == np.inf:
            if turn > 0:  # what was begun with holds trees that the reduction ruled out
                now[:] = False
            total = flip_search(graph, order, rank, -1, -1, True, 0, now, stop)
    if total == np.inf:
        return False
    limit = min(piece, WIDEST_PIECE)
    if limit >= LEAST_PIECE:
        region_search(n, start, terminals, length, limit, sweeps, work, widest, now, stop)
    begun = total_length(length, now)
    gained = begun < total * (1.0 - LEAST)  # or no single flip helps, as before
    total = flip_search(graph, order, rank, -1, -1, gained, pairs, now, stop)
    total = disturbed_search(graph, keys, rank, trials, now, total, stop)
    if limit >= LEAST_PIECE and total < begun * (1.0 - LEAST):
        region_search(n, start, terminals, length, limit, sweeps, work, widest, now, stop)
    return True


@njit(cache=True, nogil=True)
def decide(
    points: Array, start: Array, terminals: Array, length: Array, places: Array, logits: Array,
    gaps: bool, drop: float, piece: int, sweeps: int, pairs: int, trials: int, work: float,
    widest: int, stop: Array,
) -> tuple[Array, Array]:  # fmt: skip
    """Return Steiner points and edges of the tree chosen from a scored list.

    With `gaps`, trees across wide gaps come to the list before. All edges of the spanning tree
    stay; the logits of a crowded list are taken for nothing. Once stop[0] is set it makes haste.
    """
    n = points.shape[0]
    if length.size > CROWDED * n:
        logits = np.zeros_like(logits)
    if gaps:
        start, terminals, length, places, logits = with_trees_across_gaps(
            points, start, terminals, length, places, logits
        )  # fmt: skip
    keep = np.ones(length.size, np.bool_)
    for f in range(n - 1, length.size):
        keep[f] = logits[f] >= drop
    chosen = np.zeros(length.size, np.bool_)
    choose(
        n, start, terminals, length, logits, keep, piece, sweeps, pairs, trials, work, widest,
        chosen, stop,
    )  # fmt: skip
    spots, links = union(n, start, terminals, places, caterpillar_edges(start), chosen)
    return spots, links


@njit(cache=True, nogil=True)
def solve_learned(
    points: Array,
    sizes: Array,
    steiner: Array,
    edges: Array,
    weights: tuple[Array, Array, Array, Array, Array, Array, Array],
    largest: int,
    gaps: bool,
    drop: float,
    piece: int,
    sweeps: int,
    pairs: int,
    trials: int,
    work: float,
    widest: int,
    first: int,
    last: int,
    stop: Array,
) -> None:
    """Solve instances first..last-1 of (B, n, 2) points.

    Writes the number of points of each tree (terminals and Steiner points), its Steiner points
    and its edges. Once stop[0] is set it makes haste: no network, and no search.
    """
    n = points.shape[1]
    for b in range(first, last):
        start, terminals, length, places = list_grown(points[b], largest)
        logits = np.zeros(length.size, np.float32)
        if stop[0] == 0:
            logits = scores(points[b], start, terminals, length, places, weights)[0]
        spots, links = decide(
            points[b], start, terminals, length, places, logits, gaps, drop, piece, sweeps, pairs,
            trials, work, widest, stop,
        )  # fmt: skip
        sizes[b] = n + spots.shape[0]
        steiner[b, : spots.shape[0]] = spots
        edges[b, : links.shape[0]] = links
