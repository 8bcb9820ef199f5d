"""Kernels of the memetic algorithm: chromosomes of Steiner points, two local searches, evolution.

A chromosome is a set of Steiner points: the first counts[p] rows of genes[p]. It stands for the
minimum spanning tree over the terminals and these points. `Work` holds what measuring one
chromosome needs: points, the spanning tree's edges, the first three neighbours and the degree of
each point.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit

from ...core.points import Array
from ...geometry.random_kernels import new_state, next_below, next_normal, next_uniform
from ...geometry.spanning_kernels import prim
from .bereta_tree_kernels import strict_tree
from .thompson_kernels import fermat_point

Work = tuple[Any, ...]
Population = tuple[Any, ...]

CROSSOVER = 0.3  # probability that a child has two parents
DELETION = 0.1  # probabilities of the three mutations
MOVE = 0.3
ADDITION = 0.6
IMPROVEMENT = 0.7  # probability of the improvement search
MOVE_SPREAD = 0.1  # deviation of a moved point, as a share of the terminals' bounding box
CORRECTION_ROUNDS = 3
SETTLED = 1e-6  # a correction that moves no point further, in the frame, has come to its end
SAME = 1e-12  # lengths closer than this belong to one tree: the population holds it once


@njit(cache=True)
def measure(terminals: Array, genes: Array, count: int, work: Work) -> float:
    """Span terminals and Steiner points; return the tree's length, with the tree left in `work`."""
    n = terminals.shape[0]
    points, tree = work[0], work[1]
    for i in range(n):
        points[i, 0], points[i, 1] = terminals[i, 0], terminals[i, 1]
    for i in range(count):
        points[n + i, 0], points[n + i, 1] = genes[i, 0], genes[i, 1]
    prim(points[: n + count], tree)
    length = 0.0
    for e in range(n + count - 1):
        a, b = tree[e, 0], tree[e, 1]
        length += math.hypot(points[a, 0] - points[b, 0], points[a, 1] - points[b, 1])
    return length


@njit(cache=True)
def _meet(n: int, count: int, work: Work) -> None:
    """Fill the degrees and the first three neighbours of the Steiner points."""
    tree, around, degree = work[1], work[2], work[3]
    for v in range(n + count):
        degree[v] = 0
    for e in range(n + count - 1):
        for end in range(2):
            v = tree[e, end]
            if v >= n and degree[v] < 3:
                around[v - n, degree[v]] = tree[e, 1 - end]
            degree[v] += 1


@njit(cache=True)
def correct(terminals: Array, genes: Array, count: int, work: Work) -> tuple[int, float]:
    """Bring degrees and angles towards the optimality conditions; return (count, length).

    A round drops the points of degree below 3, and those of degree 3 whose Fermat point is one of
    their neighbours, moves the others of degree 3 to that point, and spans anew.
    """
    n = terminals.shape[0]
    length = measure(terminals, genes, count, work)
    points, around, degree = work[0], work[2], work[3]
    for _ in range(CORRECTION_ROUNDS):
        _meet(n, count, work)
        kept, changed = 0, False
        for i in range(count):
            x, y, corner = genes[i, 0], genes[i, 1], -1
            if degree[n + i] == 3:
                a, b, c = around[i, 0], around[i, 1], around[i, 2]
                x, y, corner = fermat_point(
                    points[a, 0], points[a, 1], points[b, 0], points[b, 1], points[c, 0],
                    points[c, 1],
                )  # fmt: skip
            if degree[n + i] < 3 or corner >= 0:
                changed = True
                continue
            changed = changed or abs(x - genes[i, 0]) + abs(y - genes[i, 1]) > SETTLED
            genes[kept, 0], genes[kept, 1] = x, y
            kept += 1
        count = kept
        length = measure(terminals, genes, count, work)
        if not changed:
            break
    return count, length


@njit(cache=True)
def improve(terminals: Array, genes: Array, count: int, work: Work, state: Array) -> int:
    """Add the Fermat point of two random edges with a common end; return the new count.

    Nothing is added where they meet at 120 degrees or more.
    """
    n = terminals.shape[0]
    points, tree = work[0], work[1]
    edges = n + count - 1
    chosen, end = next_below(state, edges), next_below(state, 2)
    v, x = tree[chosen, end], tree[chosen, 1 - end]
    seen, y = 0, -1
    for e in range(edges):
        if e != chosen and (tree[e, 0] == v or tree[e, 1] == v):
            seen += 1
            if next_below(state, seen) == 0:
                y = tree[e, 0] + tree[e, 1] - v
    if y < 0:
        return count
    px, py, corner = fermat_point(
        points[v, 0], points[v, 1], points[x, 0], points[x, 1], points[y, 0], points[y, 1]
    )
    if corner >= 0:
        return count
    genes[count, 0], genes[count, 1] = px, py
    return count + 1


@njit(cache=True)
def _tournament(lengths: Array, state: Array) -> int:
    """Return the better of two random members."""
    a, b = next_below(state, lengths.shape[0]), next_below(state, lengths.shape[0])
    return b if lengths[b] < lengths[a] else a


@njit(cache=True)
def _cross(
    terminals: Array, population: Population, a: int, b: int, state: Array, child: Array
) -> int:
    """Take a's points on one side of a random line through a terminal, b's on the other."""
    genes, counts = population[0], population[1]
    t = next_below(state, terminals.shape[0])
    angle = 2.0 * math.pi * next_uniform(state)
    ux, uy = math.cos(angle), math.sin(angle)
    count = 0
    for parent, sign in ((a, 1.0), (b, -1.0)):
        for i in range(counts[parent]):
            x, y = genes[parent, i, 0], genes[parent, i, 1]
            side = (x - terminals[t, 0]) * ux + (y - terminals[t, 1]) * uy
            if side * sign > 0.0 and count < child.shape[0] - 2:
                child[count, 0], child[count, 1] = x, y
                count += 1
    return count


@njit(cache=True)
def _mutate(child: Array, count: int, box: Array, state: Array) -> int:
    """Delete, move and add random points, each with its probability; return the new count."""
    if count > 0 and next_uniform(state) < DELETION:
        i = next_below(state, count)
        count -= 1
        child[i, 0], child[i, 1] = child[count, 0], child[count, 1]
    if count > 0 and next_uniform(state) < MOVE:
        i = next_below(state, count)
        child[i, 0] += MOVE_SPREAD * box[2] * next_normal(state)
        child[i, 1] += MOVE_SPREAD * box[3] * next_normal(state)
    if count < child.shape[0] - 2 and next_uniform(state) < ADDITION:
        child[count, 0] = box[0] + box[2] * next_uniform(state)
        child[count, 1] = box[1] + box[3] * next_uniform(state)
        count += 1
    return count


@njit(cache=True)
def begin(terminals: Array, size: int, seed: int) -> tuple[Population, Work, Array, Array, Array]:
    """Return (population, work, box, best, state) of a start without Steiner points.

    Row 0 of `best` is (count, length) of the best tree so far, the other rows are its points.
    """
    n = terminals.shape[0]
    work = (
        np.empty((2 * n, 2)),
        np.empty((2 * n, 2), dtype=np.int64),
        np.empty((n, 3), dtype=np.int64),
        np.empty(2 * n, dtype=np.int64),
    )
    genes, counts = np.empty((size, n, 2)), np.zeros(size, dtype=np.int64)
    box = np.array([np.inf, np.inf, -np.inf, -np.inf])
    for i in range(n):
        for axis in range(2):
            box[axis] = min(box[axis], terminals[i, axis])
            box[2 + axis] = max(box[2 + axis], terminals[i, axis])
    box[2] -= box[0]
    box[3] -= box[1]
    best = np.empty((n + 1, 2))
    best[0, 0], best[0, 1] = 0.0, measure(terminals, genes[0], 0, work)
    lengths = np.full(size, best[0, 1])
    return (genes, counts, lengths), work, box, best, new_state(seed)


@njit(cache=True)
def _copy(source: Array, count: int, target: Array) -> None:
    for i in range(count):
        target[i, 0], target[i, 1] = source[i, 0], source[i, 1]


@njit(cache=True)
def evolve(
    terminals: Array, population: Population, work: Work, box: Array, best: Array, state: Array,
    write_back: float, iterations: int,
) -> None:  # fmt: skip
    """Run iterations: one child each, which takes the place of the worst member if it is better.

    The child is judged by the tree that correction and improvement make of it; those are written
    into its chromosome with probability `write_back`.
    """
    genes, counts, lengths = population
    n = terminals.shape[0]
    child, learned = np.empty((n, 2)), np.empty((n, 2))
    for _ in range(iterations):
        a = _tournament(lengths, state)
        if next_uniform(state) < CROSSOVER:
            b = _tournament(lengths, state)
            count = _cross(terminals, population, a, b, state, child)
        else:
            count = counts[a]
            _copy(genes[a], count, child)
        count = _mutate(child, count, box, state)
        _copy(child, count, learned)
        known, length = correct(terminals, learned, count, work)
        if next_uniform(state) < IMPROVEMENT and known < n - 1:
            more = improve(terminals, learned, known, work, state)
            if more > known:
                known, length = correct(terminals, learned, more, work)
        if length < best[0, 1]:
            best[0, 0], best[0, 1] = known, length
            _copy(learned, known, best[1:])
        worst, new = 0, True
        for p in range(lengths.shape[0]):
            new = new and abs(lengths[p] - length) > SAME
            if lengths[p] > lengths[worst]:
                worst = p
        if new and length < lengths[worst]:
            lengths[worst] = length
            if next_uniform(state) < write_back:
                counts[worst] = known
                _copy(learned, known, genes[worst])
            else:
                counts[worst] = count
                _copy(child, count, genes[worst])


@njit(cache=True, nogil=True)
def evolve_batch(
    terminals: Array, seeds: Array, size: int, write_back: float, iterations: int, best: Array,
    first: int, last: int,
) -> None:  # fmt: skip
    """Evolve instances first..last; write the best chromosomes into `best` (B, n + 1, 2)."""
    for b in range(first, last):
        population, work, box, own, state = begin(terminals[b], size, seeds[b])
        evolve(terminals[b], population, work, box, own, state, write_back, iterations)
        _copy(own, own.shape[0], best[b])


@njit(cache=True, nogil=True)
def finish_batch(
    terminals: Array, best: Array, sizes: Array, steiner: Array, edges: Array, first: int, last: int
) -> None:
    """Write the strict trees of the best chromosomes of instances first..last."""
    n = terminals.shape[1]
    points, tree = np.empty((2 * n, 2)), np.empty((2 * n, 2), dtype=np.int64)
    for b in range(first, last):
        count = int(best[b, 0, 0])
        _copy(terminals[b], n, points)
        _copy(best[b, 1:], count, points[n:])
        prim(points[: n + count], tree)
        sizes[b] = strict_tree(terminals[b], points[n:], count, tree, steiner[b], edges[b])
