"""The learned list of a large instance: grown and scored in slices, then thinned."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from ..core.points import Array
from ..core.trees import ranges
from ..core.waiting import Stopped, Watch
from .listing import Ground, Listing, Tell, list_trees
from .neural_weights import Weights
from .workers import Workers

# Pairs, terminals or trees in one uninterrupted call.
SLICE = 500
# Rounds of greedy picking.
ROUNDS = 4


def list_grown_trees(
    ground: Ground, workers: Workers, largest: int, tell: Tell, watch: Watch
) -> Listing:
    """List full Steiner trees of up to `largest` terminals (4 to 6).

    When `tell` says no, the list ends early; where the watch does, Stopped is raised.
    """
    listing = list_trees(ground, workers, 4, tell, watch)
    found = _grown(ground, workers, largest, tell, watch) if largest > 4 else []
    names, places, lengths = (
        np.concatenate([part[k] for part in found]) if found else None for k in range(3)
    )
    if names is None or places is None or lengths is None or len(lengths) == 0:
        return listing
    return watch.wait("list", lambda: _extended(listing, names, places, lengths))


def _grown(
    ground: Ground, workers: Workers, largest: int, tell: Tell, watch: Watch
) -> list[tuple[Array, Array, Array]]:
    """Return the trees of five and six terminals that slices of the instance give."""
    from . import neural_growth_kernels as growth
    from . import neural_partial_kernels as kernels

    n = len(ground.points)
    pairs, bound = ground.pairs[:2]
    points, bottlenecks = ground.points, ground.bottlenecks
    cross, _, cross_at, cross_rows = ground.cross
    own = kernels.terminal_rows(points)
    two = watch.wait("pairs", lambda: kernels.grow_pairs(own, pairs, bound))

    def branches(first: int, last: int) -> Any:
        return kernels.grow_branches(
            points, own, two, pairs, bound, cross, cross_at, cross_rows, *bottlenecks, first, last
        )

    parts = workers.map(branches, len(pairs), SLICE, tell, "branches")
    if not parts:
        return []
    grown = [np.concatenate([part[k] for part in parts]) for k in range(3)]
    third = watch.wait("branches", lambda: kernels.by_terminal(n, grown[1]))
    ends: list[Any] = [*bottlenecks, two, *grown, *third]

    def quints(first: int, last: int) -> Any:
        given = [points, pairs, *ends, first, last]
        return growth.close_quints(*given)

    def hexes(first: int, last: int) -> Any:
        given = [points, pairs, *ground.cross, *ends, first, last]
        return growth.close_hexes(*given)

    found = workers.map(quints, n, SLICE, tell, "trees of 5 terminals")
    if largest > 5:
        found += workers.map(hexes, n, SLICE, tell, "trees of 6 terminals")
    return found


def _extended(listing: Listing, names: Array, places: Array, lengths: Array) -> Listing:
    """Return the list with trees of five and six terminals at its end."""
    from .union_kernels import caterpillar_edges

    sizes = (names >= 0).sum(axis=1)
    start = np.concatenate((listing.start, listing.start[-1] + np.cumsum(sizes)))
    inside = np.arange(4) < sizes[:, None] - 2
    return Listing(
        listing.points,
        start,
        np.concatenate((listing.terminals, names[names >= 0])),
        np.concatenate((listing.length, lengths)),
        np.concatenate((listing.steiner, places.reshape(len(places), 4, 2)[inside])),
        caterpillar_edges(start),
    )


def score_list(
    listing: Listing, weights: Weights, workers: Workers, tell: Tell, watch: Watch
) -> Array | None:
    """Return a logit for every tree of a list, or None where `tell` says no."""
    from ..exact.prune_kernels import incidence
    from . import neural_graph_kernels as kernels

    n, m = len(listing.points), len(listing)
    start, terminals, length = listing.start, listing.terminals, listing.length

    def survey() -> Any:
        base, gone_start, gone = kernels.savings(n, start, terminals, length)
        edges = kernels.rivals(n, length, base, gone_start, gone)
        at, lists = incidence(n, start, terminals, np.ones(m, dtype=np.bool_))
        slots = kernels.slots_of(n, start, terminals, at)
        unit, size = kernels.ends(listing.points, start, terminals, listing.steiner, 0, m)
        near = kernels.spacing(n, terminals, length)
        return (base, gone_start, gone), edges, (at, lists, slots), unit, size, near

    gone, edges, incident, unit, size, near = watch.wait("relations", survey)
    states = np.zeros((m, kernels.WIDTH), dtype=np.float32)
    scratch = workers.scratch(lambda: np.full(m, -1, dtype=np.int64))

    def begin(first: int, last: int) -> Any:
        part = size[start[first] : start[last]]
        given = [listing.steiner, *gone, *edges, near, incident[0], part, first, last]
        rows = kernels.features(start, terminals, length, *given)
        kernels.first_states(rows, weights[0], weights[1], states, first)
        given = [gone[0], *incident, unit, scratch(), first, last]
        return first, last, *kernels.relations(start, terminals, length, *given)

    parts = workers.map(begin, m, 4 * SLICE, tell, "features")
    if sum(last - first for first, last, *_ in parts) < m:
        return None
    for number, (own, bias, message) in enumerate(zip(*weights[2:5], strict=True)):
        after = np.empty_like(states)

        def update(low: int, high: int, states: Any = states, after: Any = after) -> None:
            for first, last, links_at, links in parts[low:high]:
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


def part_of(listing: Listing, keep: Array) -> Listing:
    """Return the flagged trees of a list."""
    from .union_kernels import caterpillar_edges

    rows = np.flatnonzero(keep)
    sizes = np.diff(listing.start)[rows]
    start = np.concatenate(([0], np.cumsum(sizes)))
    steiner_at = listing.start[:-1] - 2 * np.arange(len(listing))
    return Listing(
        listing.points,
        start,
        listing.terminals[ranges(listing.start[rows], sizes)],
        listing.length[rows],
        listing.steiner[ranges(steiner_at[rows], sizes - 2)],
        caterpillar_edges(start),
    )


def likely_choice(
    listing: Listing, logits: Array, workers: Workers, tell: Tell, watch: Watch
) -> Array:
    """Pick trees greedily by what each saves times how likely it is; return the flags."""
    from . import start_kernels as kernels

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
    from .neural_graph_kernels import savings
    from .neural_kernels import keep_likely

    n = len(listing.points)
    _, gone_start, gone = savings(n, listing.start, listing.terminals, listing.length)
    keep = keep_likely(n, listing.start, listing.terminals, logits, gone_start, gone, drop)
    keep |= picked
    return part_of(listing, keep), picked[keep]
