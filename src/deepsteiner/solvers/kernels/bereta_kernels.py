"""Kernels of the memetic algorithm: chromosomes of Steiner points, two local searches, evolution.

A chromosome is a set of Steiner points. It stands for the minimum spanning tree over the terminals
and these points.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import njit

from ...core.points import Array
from ...geometry.random_kernels import new_state, next_below, next_normal, next_uniform
from ...geometry.relax_tree_kernels import copy_rows
from ...geometry.spanning_kernels import prim
from ...run.method import TreeRows
from .bereta_tree_kernels import strict_tree
from .slot_kernels import distance, fermat_point

CROSSOVER = 0.3  # probability that a child has two parents
DELETION = 0.1  # probabilities of the three mutations
MOVE = 0.3
ADDITION = 0.6
IMPROVEMENT = 0.7  # probability of the improvement search
MOVE_SPREAD = 0.1  # deviation of a moved point, as a share of the terminals' bounding box
CORRECTION_ROUNDS = 3
SETTLED = 1e-6  # a correction that moves no point further, in the frame, has come to its end
SAME = 1e-12  # lengths closer than this belong to one tree: the population holds it once


class Span(NamedTuple):
    """The spanning tree of one chromosome.

    Attributes
    ----------
    points
        (2n, 2) terminals, then Steiner points.
    tree
        (2n, 2) edges.
    around
        (n, 3) the first three neighbours of each Steiner point.
    degree
        (2n,) degrees of all points.
    """

    points: Array
    tree: Array
    around: Array
    degree: Array


class Evolution(NamedTuple):
    """A population and its best tree so far.

    Attributes
    ----------
    genes, counts
        Member p has the Steiner points genes[p, : counts[p]].
    lengths
        Length of each member's tree after the local searches.
    box
        Low corner and extent of the terminals: x, y, width, height.
    best
        (n + 1, 2) the best tree: row 0 is (count, length), the other rows are its points.
    state
        The random stream.
    span
        Room to measure a chromosome.
    """

    genes: Array
    counts: Array
    lengths: Array
    box: Array
    best: Array
    state: Array
    span: Span


@njit(cache=True)
def measure(terminals: Array, genes: Array, count: int, span: Span) -> float:
    """Span terminals and Steiner points; return the tree's length, with the tree left in `span`."""
    n = terminals.shape[0]
    points, tree = span.points, span.tree
    copy_rows(terminals, points, n)
    copy_rows(genes, points[n:], count)
    prim(points[: n + count], tree)
    length = 0.0
    for e in range(n + count - 1):
        b = tree[e, 1]
        length += distance(points, tree[e, 0], points[b, 0], points[b, 1])
    return length


@njit(cache=True)
def _meet(n: int, count: int, span: Span) -> None:
    """Fill the degrees and the first three neighbours of the Steiner points."""
    _, tree, around, degree = span
    degree[: n + count] = 0
    for e in range(n + count - 1):
        for end in range(2):
            v = tree[e, end]
            if v >= n and degree[v] < 3:
                around[v - n, degree[v]] = tree[e, 1 - end]
            degree[v] += 1


@njit(cache=True)
def correct(terminals: Array, genes: Array, count: int, span: Span) -> tuple[int, float]:
    """Bring degrees and angles towards the optimality conditions; return (count, length).

    A round drops the points of degree below 3, and those of degree 3 whose Fermat point is one of
    their neighbours, moves the others of degree 3 to that point, and spans anew.
    """
    n = terminals.shape[0]
    length = measure(terminals, genes, count, span)
    around, degree = span.around, span.degree
    for _ in range(CORRECTION_ROUNDS):
        _meet(n, count, span)
        kept, changed = 0, False
        for i in range(count):
            x, y, corner = genes[i, 0], genes[i, 1], -1
            if degree[n + i] == 3:
                x, y, corner = fermat_point(span.points, around[i, 0], around[i, 1], around[i, 2])
            if degree[n + i] < 3 or corner >= 0:
                changed = True
                continue
            changed = changed or abs(x - genes[i, 0]) + abs(y - genes[i, 1]) > SETTLED
            genes[kept, 0], genes[kept, 1] = x, y
            kept += 1
        count = kept
        length = measure(terminals, genes, count, span)
        if not changed:
            break
    return count, length


@njit(cache=True)
def improve(n: int, genes: Array, count: int, span: Span, state: Array) -> int:
    """Add the Fermat point of two random edges with a common end; return the new count.

    Nothing is added where they meet at 120 degrees or more.
    """
    tree = span.tree
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
    px, py, corner = fermat_point(span.points, v, x, y)
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
def _cross(terminals: Array, evolution: Evolution, a: int, b: int, child: Array) -> int:
    """Take a's points on one side of a random line through a terminal, b's on the other."""
    genes, state = evolution.genes, evolution.state
    t = next_below(state, terminals.shape[0])
    angle = 2.0 * math.pi * next_uniform(state)
    ux, uy = math.cos(angle), math.sin(angle)
    count = 0
    for parent, sign in ((a, 1.0), (b, -1.0)):
        for i in range(evolution.counts[parent]):
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
def begin(terminals: Array, size: int, seed: int) -> Evolution:
    """Return a population without Steiner points."""
    n = terminals.shape[0]
    span = Span(
        np.empty((2 * n, 2)),
        np.empty((2 * n, 2), dtype=np.int64),
        np.empty((n, 3), dtype=np.int64),
        np.empty(2 * n, dtype=np.int64),
    )
    xs, ys = terminals[:, 0], terminals[:, 1]
    low_x, low_y = xs.min(), ys.min()
    box = np.array([low_x, low_y, xs.max() - low_x, ys.max() - low_y])
    genes, counts = np.empty((size, n, 2)), np.zeros(size, dtype=np.int64)
    best = np.empty((n + 1, 2))
    best[0, 0], best[0, 1] = 0.0, measure(terminals, genes[0], 0, span)
    lengths = np.full(size, best[0, 1])
    return Evolution(genes, counts, lengths, box, best, new_state(seed), span)


@njit(cache=True)
def evolve(terminals: Array, evolution: Evolution, write_back: float, iterations: int) -> None:
    """Run iterations: one child each, which takes the place of the worst member if it is better.

    The child is judged by the tree that correction and improvement make of it; those are written
    into its chromosome with probability `write_back`.
    """
    genes, counts, lengths, box, best, state, span = evolution
    n = terminals.shape[0]
    child, learned = np.empty((n, 2)), np.empty((n, 2))
    for _ in range(iterations):
        a = _tournament(lengths, state)
        if next_uniform(state) < CROSSOVER:
            count = _cross(terminals, evolution, a, _tournament(lengths, state), child)
        else:
            count = counts[a]
            copy_rows(genes[a], child, count)
        count = _mutate(child, count, box, state)
        copy_rows(child, learned, count)
        known, length = correct(terminals, learned, count, span)
        if next_uniform(state) < IMPROVEMENT and known < n - 1:
            more = improve(n, learned, known, span, state)
            if more > known:
                known, length = correct(terminals, learned, more, span)
        if length < best[0, 1]:
            best[0, 0], best[0, 1] = known, length
            copy_rows(learned, best[1:], known)
        worst, new = 0, True
        for p in range(lengths.shape[0]):
            new = new and abs(lengths[p] - length) > SAME
            if lengths[p] > lengths[worst]:
                worst = p
        if new and length < lengths[worst]:
            lengths[worst] = length
            if next_uniform(state) < write_back:
                counts[worst] = known
                copy_rows(learned, genes[worst], known)
            else:
                counts[worst] = count
                copy_rows(child, genes[worst], count)


@njit(cache=True, nogil=True)
def evolve_batch(
    terminals: Array, seeds: Array, size: int, write_back: float, iterations: int, best: Array,
    first: int, last: int,
) -> None:  # fmt: skip
    """Evolve instances first..last; write the best chromosomes into `best` (B, n + 1, 2)."""
    for b in range(first, last):
        evolution = begin(terminals[b], size, seeds[b])
        evolve(terminals[b], evolution, write_back, iterations)
        copy_rows(evolution.best, best[b], best.shape[1])


@njit(cache=True, nogil=True)
def finish_batch(terminals: Array, best: Array, rows: TreeRows, first: int, last: int) -> None:
    """Write the strict trees of the best chromosomes of instances first..last."""
    n = terminals.shape[1]
    tree = np.empty((2 * n, 2), dtype=np.int64)
    for b in range(first, last):
        steiner = best[b, 1 : 1 + int(best[b, 0, 0])]
        prim(np.concatenate((terminals[b], steiner)), tree)
        edges = tree[: n + steiner.shape[0] - 1]
        rows.sizes[b] = strict_tree(terminals[b], steiner, edges, rows.steiner[b], rows.edges[b])
