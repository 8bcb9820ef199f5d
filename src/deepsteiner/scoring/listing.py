"""The learned list of a large instance: grown and scored in slices, then thinned."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from ..core.points import Array
from ..fst.enumerate.nearby.listing import Ground, Listing, Tell, assembled, find_trees
from ..fst.select.hypergraph import Hypergraph
from ..run.slices import Workers
from ..run.watch import Stopped, Watch
from .device_network import Forward
from .weights import Weights

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


def _grown(
    ground: Ground, workers: Workers, largest: int, tell: Tell, watch: Watch
) -> list[tuple[Array, Array, Array]]:
    """Return the trees of five and six terminals, tile by tile.

    Points stand in an order in which neighbours are near each other, so that a range of them is a
    tile. Partial trees are grown for the pairs around it and are gone when the tile is done.
    """
    from ..fst.enumerate.nearby import partial_tree_kernels as kernels
    from ..fst.enumerate.nearby import sextet_kernels as growth
    from ..fst.enumerate.nearby import tile_kernels as tiles

    n, points, bottlenecks = len(ground.points), ground.points, ground.bottlenecks
    pairs, bound, *pairs_at = ground.pairs
    cross, _, cross_at, cross_rows = ground.cross
    near = (cross, cross_at, cross_rows)
    own = watch.wait("pairs", lambda: kernels.terminal_rows(points))
    scratch = workers.scratch(
        lambda: (np.zeros(n + 1, dtype=np.int64), np.zeros(n, dtype=np.int32))
    )

    def grow(first: int, last: int) -> list[Any]:
        thirds, rows = tiles.pairs_around(first, last, largest > 5, *near, *pairs_at)
        some, bounds = pairs[rows], bound[rows]
        two = kernels.grow_pairs(own, some, bounds)
        given: list[Any] = [points, own, two, some, bounds, *near, *bottlenecks, 0, len(rows)]
        branches = kernels.grow_branches(*given)
        at, count = scratch()
        ends = [*bottlenecks, two, *branches, at, tiles.by_third(thirds, branches[1], at, count)]
        given = [points, some, *ends, first, last]
        found = [growth.close_quints(*given)]
        if largest > 5:
            given = [points, some, *ground.cross, *ends, first, last]
            found.append(growth.close_hexes(*given))
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

    m = len(listing)
    states, parts = _described(listing, weights, workers, tell, watch, forward)
    if sum(last - first for first, last, *_ in parts) < m:
        return None
    if forward is not None:
        return watch.wait("network", lambda: forward(*_joined(parts)))
    for number, (own, bias, message) in enumerate(zip(*weights[2:5], strict=True)):
        after = np.empty_like(states)

        def update(low: int, high: int, states: Any = states, after: Any = after) -> None:
            for first, last, links_at, links, _ in parts[low:high]:
                kernels.next_states(links_at, links, states, own, bias, message, after, first, last)  # noqa: B023

        done = 0

        def hear(phase: str, now: int, total: int) -> bool:
            nonlocal done
            done = now
            return tell(phase, now, total)

        workers.map(update, len(parts), 1, hear, f"round {number + 1}")
        if done < len(parts):
            return None
        states = after
    logits = np.empty(m, dtype=np.float32)
    kernels.last_logits(states, weights[5], weights[6], logits, 0, m)
    return logits


def _described(
    listing: Listing,
    weights: Weights,
    workers: Workers,
    tell: Tell,
    watch: Watch,
    forward: Forward | None,
) -> tuple[Array, list[Any]]:
    """Return the trees' first states, and by slices (first, last, begin, links, features).

    Slices are missing where `tell` says no. What only this needs is most of the memory so far.
    """
    from ..fst.select.exact.prune_kernels import incidence
    from . import network_kernels as kernels
    from .vector_kernels import WIDTH

    n, m = len(listing.points), len(listing)
    start, terminals, length = listing.start, listing.terminals, listing.length

    def survey() -> Any:
        base, gone_start, gone = kernels.savings(n, start, terminals, length)
        edges = kernels.rivals(n, length, base, gone_start, gone)
        at, lists = incidence(Hypergraph(n, start, terminals, length), np.ones(m, dtype=np.bool_))
        slots = kernels.slots_of(n, start, terminals, at)
        unit, size = kernels.ends(listing.points, start, terminals, listing.steiner, 0, m)
        near = kernels.spacing(n, terminals, length)
        return (base, gone_start, gone), edges, (at, lists, slots), unit, size, near

    gone, edges, incident, unit, size, near = watch.wait("relations", survey)
    states = np.zeros((m, WIDTH), dtype=np.float32)
    scratch = workers.scratch(lambda: np.full(m, -1, dtype=np.int64))

    def begin(first: int, last: int) -> Any:
        part = size[start[first] : start[last]]
        given = [listing.steiner, *gone, *edges, near, incident[0], part, first, last]
        rows = kernels.features(start, terminals, length, *given)
        if forward is None:
            kernels.first_states(rows, weights[0], weights[1], states, first)
            rows = rows[:0].copy()  # a view would keep all of them
        if len(weights[2]) == 0:
            return first, last, np.zeros(last - first + 1, dtype=np.int64), incident[1][:0], rows
        given = [gone[0], *incident, unit, scratch(), first, last]
        return first, last, *kernels.relations(start, terminals, length, *given), rows

    return states, workers.map(begin, m, 2 * SLICE, tell, "features")


def _joined(parts: list[Any]) -> tuple[Array, Array, Array]:
    """Return (features, begin, links) of consecutive slices as those of the whole list."""
    counts = np.concatenate([np.diff(part[2]) for part in parts])
    return (
        np.concatenate([part[4] for part in parts]),
        np.concatenate(([0], np.cumsum(counts))),
        np.concatenate([part[3] for part in parts]),
    )


def likely_choice(
    listing: Listing, logits: Array, workers: Workers, tell: Tell, watch: Watch
) -> Array:
    """Pick trees greedily by what each saves times how likely it is; return the flags."""
    from ..fst.select.search import greedy_kernels as kernels

    n = len(listing.points)
    graph = Hypergraph(n, listing.start, listing.terminals, listing.length)
    likely = 1.0 / (1.0 + np.exp(-logits.astype(np.float64)))
    picked = np.arange(len(listing)) < n - 1
    trial, saving = picked.copy(), np.zeros(len(listing))
    try:
        for number in range(ROUNDS):
            merges = watch.wait("greedy", lambda: kernels.complete(graph, trial))
            picked = trial.copy()

            def measure(first: int, last: int, merges: Any = merges) -> None:
                kernels.measure(graph, trial, merges, saving, first, last)
                saving[first:last] *= likely[first:last]

            workers.map(measure, len(listing), 8 * SLICE)
            if not tell("greedy", number, ROUNDS):
                break
            take = partial(kernels.take, graph, trial, merges, saving)
            if watch.wait("greedy", take) == 0:
                break
        watch.wait("greedy", lambda: kernels.complete(graph, trial))
    except Stopped:
        return picked
    return trial


def thinned(listing: Listing, logits: Array, picked: Array, drop: float) -> tuple[Listing, Array]:
    """Return the likely and the picked trees of a list, and which of these are picked.

    Edges of the spanning tree go as well where they are unlikely and a kept tree replaces them.
    """
    from .network_kernels import savings
    from .small_instance_kernels import keep_likely

    n = len(listing.points)
    _, gone_start, gone = savings(n, listing.start, listing.terminals, listing.length)
    keep = keep_likely(n, listing.start, listing.terminals, logits, gone_start, gone, drop)
    keep |= picked
    return listing.part(keep), picked[keep]
