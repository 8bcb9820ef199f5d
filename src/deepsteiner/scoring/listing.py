"""The learned list of a large instance: grown and scored in slices, then thinned."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.points import Array
from ..fst.enumerate.nearby.ground import Found, Ground, TreeList
from ..fst.enumerate.nearby.listing import Listing, Tell, assembled, find_trees
from ..run.slices import Workers
from ..run.watch import Stopped, Watch
from .device_network import Forward
from .weights import Weights

if TYPE_CHECKING:
    from .network_kernels import Described

# Trees in one uninterrupted call, and terminals of the first tile: some 10 ms, on lattices 30.
SLICE = 500
TILE = 300
# Rounds of greedy picking.
ROUNDS = 4


def list_grown_trees(
    ground: Ground, workers: Workers, largest: int, tell: Tell, watch: Watch
) -> Listing:
    """List full Steiner trees of up to `largest` terminals (4 to 6).

    When `tell` says no, the list ends early; where the watch does, Stopped is raised.
    """
    found = find_trees(ground, workers, 4, tell)
    if largest > 4:
        found += _grown(ground, workers, largest, tell, watch)
    return watch.wait("list", lambda: assembled(ground, found))


def _grown(ground: Ground, workers: Workers, largest: int, tell: Tell, watch: Watch) -> list[Found]:
    """Return the trees of five and six terminals, tile by tile.

    Points stand in an order in which neighbours are near each other, so that a range of them is a
    tile. Partial trees are grown for the pairs around it and are gone when the tile is done.
    """
    from ..fst.enumerate.nearby import partial_tree_kernels as kernels
    from ..fst.enumerate.nearby import sextet_kernels as growth
    from ..fst.enumerate.nearby import tile_kernels as tiles

    n = len(ground.points)
    own = watch.wait("pairs", lambda: kernels.terminal_rows(ground.points))
    scratch = workers.scratch(
        lambda: (np.zeros(n + 1, dtype=np.int64), np.zeros(n, dtype=np.int32))
    )

    def grow(first: int, last: int) -> list[Found]:
        thirds, rows = tiles.pairs_around(ground, first, last, largest > 5)
        pairs = kernels.grow_pairs(own, ground.pairs.ends[rows], ground.pairs.bound[rows])
        branches = kernels.grow_branches(ground, own, pairs)
        at = tiles.by_third(thirds, branches.third, *scratch())
        found = [growth.close_quints(ground, pairs, branches, at, first, last)]
        if largest > 5:
            found.append(growth.close_hexes(ground, pairs, branches, at, first, last))
        return found

    phase = f"trees of {largest} terminals"
    parts = workers.map(grow, n, TILE, tell, phase)
    return [part[k] for k in range(largest - 4) for part in parts]


def score_list(
    listing: Listing,
    weights: Weights,
    workers: Workers,
    tell: Tell,
    watch: Watch,
    forward: Forward | None = None,
) -> Array | None:
    """Return a logit for every tree of a list, or None where `tell` says no.

    `forward` is the network elsewhere, on the whole list at once; without it, it runs here.
    """
    from . import network_kernels as kernels

    states, parts = _described(listing, weights, workers, tell, watch, forward)
    if sum(last - first for first, last, _ in parts) < len(listing):
        return None
    if forward is not None:
        return watch.wait("network", lambda: forward(_joined(parts)))
    for number in range(len(weights.own)):
        after = np.empty_like(states)

        def update(low: int, high: int, states: Any = states, after: Any = after) -> None:
            for first, last, (_, begin, links) in parts[low:high]:
                kernels.next_states(begin, links, weights, number, states, after, first, last)  # noqa: B023

        done = 0

        def hear(phase: str, now: int, total: int) -> bool:
            nonlocal done
            done = now
            return tell(phase, now, total)

        workers.map(update, len(parts), 1, hear, f"round {number + 1}")
        if done < len(parts):
            return None
        states = after
    logits: Array = kernels.last_logits(states, weights)
    return logits


def _described(
    listing: Listing,
    weights: Weights,
    workers: Workers,
    tell: Tell,
    watch: Watch,
    forward: Forward | None,
) -> tuple[Array, list[tuple[int, int, Described]]]:
    """Return the trees' first states, and by slices (first, last, what the network sees).

    Slices are missing where `tell` says no. What only this needs is most of the memory so far.
    """
    from . import network_kernels as kernels
    from .vector_kernels import WIDTH

    m, trees = len(listing), _as_list(listing)
    seen = watch.wait("relations", lambda: kernels.view(trees))
    states = np.zeros((m, WIDTH), dtype=np.float32)
    scratch = workers.scratch(lambda: np.full(m, -1, dtype=np.int64))

    def begin(first: int, last: int) -> tuple[int, int, Described]:
        rows = kernels.features(trees, seen, first, last)
        if forward is None:
            kernels.first_states(rows, weights, states, first)
            rows = rows[:0].copy()  # a view would keep all of them
        if len(weights.own) == 0:
            nothing = np.zeros(last - first + 1, dtype=np.int64)
            return first, last, kernels.Described(rows, nothing, nothing[:0])
        links = kernels.relations(trees, seen, scratch(), first, last)
        return first, last, kernels.Described(rows, *links)

    return states, workers.map(begin, m, 2 * SLICE, tell, "features")


def _as_list(listing: Listing) -> TreeList:
    """Return a list as kernels take it."""
    return TreeList(
        listing.points, listing.start, listing.terminals, listing.length, listing.steiner
    )


def _joined(parts: list[tuple[int, int, Described]]) -> Described:
    """Return what the network sees of consecutive slices as that of the whole list."""
    from .network_kernels import Described

    counts = np.concatenate([np.diff(one.begin) for _, _, one in parts])
    return Described(
        np.concatenate([one.features for _, _, one in parts]),
        np.concatenate(([0], np.cumsum(counts))),
        np.concatenate([one.links for _, _, one in parts]),
    )


def likely_choice(
    listing: Listing, logits: Array, workers: Workers, tell: Tell, watch: Watch
) -> Array:
    """Pick trees greedily by what each saves times how likely it is; return the flags."""
    from ..fst.select.search import greedy_kernels as kernels

    n = len(listing.points)
    trees = (listing.start, listing.terminals, listing.length)
    likely = 1.0 / (1.0 + np.exp(-logits.astype(np.float64)))
    picked = np.arange(len(listing)) < n - 1
    trial, saving = picked.copy(), np.zeros(len(listing))
    try:
        for number in range(ROUNDS):
            up, rank = watch.wait("greedy", lambda: kernels.complete(n, *trees[:2], trial))
            picked = trial.copy()

            def measure(first: int, last: int, up: Any = up, rank: Any = rank) -> None:
                kernels.measure(n, *trees, trial, up, rank, saving, first, last)
                saving[first:last] *= likely[first:last]

            workers.map(measure, len(listing), 8 * SLICE)
            if not tell("greedy", number, ROUNDS):
                break
            take = partial(kernels.take, n, *trees, trial, up, rank, saving)
            if watch.wait("greedy", take) == 0:
                break
        watch.wait("greedy", lambda: kernels.complete(n, *trees[:2], trial))
    except Stopped:
        return picked
    return trial


def thinned(listing: Listing, logits: Array, picked: Array, drop: float) -> tuple[Listing, Array]:
    """Return the likely and the picked trees of a list, and which of these are picked.

    Edges of the spanning tree go as well where they are unlikely and a kept tree replaces them.
    """
    from .network_kernels import savings
    from .small_instance_kernels import keep_likely

    trees = _as_list(listing)
    keep = keep_likely(trees, logits, savings(trees), drop)
    keep |= picked
    return listing.part(keep), picked[keep]
