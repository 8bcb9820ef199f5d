"""Random lists of full Steiner trees as plain sets, and what brute force says about them."""

from __future__ import annotations

import math

import numpy as np

from deepsteiner.fst.select.hypergraph import Hypergraph

Sets = list[list[int]]


def drawn(seed: int, n: int, extra: int, largest: int = 4) -> tuple[Sets, np.ndarray]:
    """Return a random tree of edges and some more sets, with lengths that compete."""
    rng = np.random.default_rng(seed)
    sets = [[int(rng.integers(v)), v] for v in range(1, n)]
    for _ in range(extra):
        sets.append(rng.choice(n, int(rng.integers(2, largest + 1)), replace=False).tolist())
    return sets, lengths_of(sets, rng)


def rings(seed: int, extra: int) -> tuple[Sets, np.ndarray]:
    """Return three rings of edges that share one vertex each with the next, and sets inside."""
    rng = np.random.default_rng(seed)
    groups = [[0, 1, 2], [2, 3, 4, 5], [5, 6, 7]]
    sets = [[a, b] for one in groups for a, b in zip(one, [*one[1:], one[0]], strict=True)]
    for _ in range(extra):
        one = groups[int(rng.integers(3))]
        sets.append(rng.choice(one, int(rng.integers(2, len(one) + 1)), replace=False).tolist())
    return sets, lengths_of(sets, rng)


def lengths_of(sets: Sets, rng: np.random.Generator) -> np.ndarray:
    return np.array([(len(one) - 1) * rng.uniform(0.5, 1.5) for one in sets])


def packed(sets: Sets) -> tuple[np.ndarray, np.ndarray]:
    start = np.concatenate([[0], np.cumsum([len(one) for one in sets])]).astype(np.int64)
    return start, np.array([v for one in sets for v in one], np.int64)


def listed(n: int, sets: Sets, lengths: np.ndarray) -> Hypergraph:
    return Hypergraph(n, *packed(sets), lengths)


def labels_after(n: int, sets: Sets) -> list[int] | None:
    """Return which vertices some sets join, or None if they close a cycle."""
    label = list(range(n))
    for one in sets:
        joined = {label[v] for v in one}
        if len(joined) < len(one):
            return None
        label = [min(joined) if old in joined else old for old in label]
    return label


def best_trees(n: int, sets: Sets, lengths: np.ndarray) -> tuple[float, list[set[int]]]:
    """Return the least length of a tree and all trees that have it, by trying all choices."""
    best, found = math.inf, []

    def extend(k: int, chosen: list[int]) -> None:
        nonlocal best, found
        label = labels_after(n, [sets[f] for f in chosen])
        if label is None:
            return
        if len(set(label)) == 1:
            total = float(lengths[chosen].sum())
            if total < best - 1e-9:
                best, found = total, []
            if total < best + 1e-9:
                found.append(set(chosen))
            return
        if k < len(sets):
            extend(k + 1, [*chosen, k])
            extend(k + 1, chosen)

    extend(0, [])
    return best, found


def minimax(n: int, sets: Sets, lengths: np.ndarray) -> np.ndarray:
    """Bottleneck distances over the sets of two."""
    widest = np.full((n, n), np.inf)
    np.fill_diagonal(widest, 0.0)
    for one, length in zip(sets, lengths, strict=True):
        if len(one) == 2:
            a, b = one
            widest[a, b] = widest[b, a] = min(widest[a, b], length)
    for k in range(n):
        widest = np.minimum(widest, np.maximum(widest[:, k, None], widest[None, k]))
    return widest


def connected(n: int, sets: Sets) -> list[set[int]]:
    """Return the connected parts of n vertices under some sets."""
    found = [{v} for v in range(n)]
    for one in sets:
        touched = [part for part in found if part & set(one)]
        found = [part for part in found if not part & set(one)] + [set().union(*touched)]
    return found


def shortest_union(
    masks: list[tuple[int, float]], everything: int, first: int = 1, cost: float = 0.0
) -> float:
    """Return the length of the shortest tree of hyperedges, grown set by set from `first`.

    Hyperedges are (bits of their vertices, length); a tree is joined to one at a single vertex.
    """
    best = {first: cost}
    for grown in range(first, everything + 1):
        if grown not in best:
            continue
        for mask, length in masks:
            common = grown & mask
            if common and common & (common - 1) == 0:
                total = best[grown] + length
                if total < best.get(grown | mask, math.inf):
                    best[grown | mask] = total
    return best.get(everything, math.inf)
