"""Kernels of the memetic algorithm: chromosomes of Steiner points, two local searches, evolution.

A chromosome is a set of Steiner points. It stands for the minimum spanning tree over the terminals
and these points.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ...core.jit import njit
from ...core.points import Array
from ...geometry.random_kernels import new_state, next_below, next_normal, next_uniform
from ...geometry.spanning_kernels import prim, spanning_tree
from ...geometry.vector_kernels import dot, fermat_point, points_of, with_room
from ...run.method import TreeRows
from .bereta_tree_kernels import strict_tree

CROSSOVER = 0.3  # probability that a child has two parents
DELETION = 0.1  # probabilities of the three mutations
MOVE = 0.3
ADDITION = 0.6
IMPROVEMENT = 0.7  # probability of the improvement search
MOVE_SPREAD = 0.1  # deviation of a moved point, as a share of the terminals' bounding box
CORRECTION_ROUNDS = 3
SETTLED = 1e-6  # a correction that moves no point further, in the frame, has come to its end
SAME = 1e-12  # lengths closer than this belong to one tree: the population holds it once


class Plan(NamedTuple):
    """What to spend: members of the population, chance of writing back, iterations."""

    population: int
    write_back: float
    iterations: int


class Span(NamedTuple):
    """The spanning tree of one chromosome.

    Attributes
    ----------
    points, places
        (2n, 2) terminals, then Steiner points; the same (2n,) as complex numbers, in one memory.
    tree
        (2n, 2) edges.
    around
        (n, 3) the first three neighbours of each Steiner point.
    degree
        (2n,) degrees of all points.
    """

    points: Array
    places: Array
    tree: Array
    around: Array
    degree: Array


class Evolution(NamedTuple):
    """A population and, as one member more than that, its best tree so far.

    Attributes
    ----------
    genes, counts
        Member p has the Steiner points genes[p, : counts[p]].
    lengths
        Length of each member's tree after the local searches.
    low, extent
        Lower left corner of the terminals' bounding box, and its width and height.
    state
        The random stream.
    span
        Room to measure a chromosome.
    """

    genes: Array
    counts: Array
    lengths: Array
    low: complex
    extent: complex
    state: Array
    span: Span


@njit(cache=True)
def copy(source: Array, target: Array, count: int) -> None:
    """Copy the first places (for a few of them, slice assignments take far longer)."""
    for i in range(count):
        target[i] = source[i]


@njit(cache=True)
def measure(genes: Array, count: int, span: Span) -> float:
    """Span terminals and Steiner points; return the tree's length, with the tree left in `span`."""
    places, tree, n = span.places, span.tree, span.around.shape[0]
    copy(genes, places[n:], count)
    prim(span.points[: n + count], tree)
    length = 0.0
    for e in range(n + count - 1):
        length += abs(places[tree[e, 0]] - places[tree[e, 1]])
    return length


@njit(cache=True)
def _meet(n: int, count: int, span: Span) -> None:
    """Fill the degrees and the first three neighbours of the Steiner points."""
    _, _, tree, around, degree = span
    degree[: n + count] = 0
    for e in range(n + count - 1):
        for end in range(2):
            v = tree[e, end]
            if v >= n and degree[v] < 3:
                around[v - n, degree[v]] = tree[e, 1 - end]
            degree[v] += 1


@njit(cache=True)
def correct(genes: Array, count: int, span: Span) -> tuple[int, float]:
    """Bring degrees and angles towards the optimality conditions; return (count, length).

    A round drops the points of degree below 3, and those of degree 3 whose Fermat point is one of
    their neighbours, moves the others of degree 3 to that point, and spans anew.
    """
    n, length = genes.shape[0], measure(genes, count, span)
    _, places, _, around, degree = span
    for _ in range(CORRECTION_ROUNDS):
        _meet(n, count, span)
        kept, changed = 0, False
        for i in range(count):
            place, corner = genes[i], -1
            if degree[n + i] == 3:
                a, b, c = around[i, 0], around[i, 1], around[i, 2]
                place, corner = fermat_point(places[a], places[b], places[c])
            if degree[n + i] < 3 or corner >= 0:
                changed = True
                continue
            way = place - genes[i]
            changed = changed or abs(way.real) + abs(way.imag) > SETTLED
            genes[kept] = place
            kept += 1
        count = kept
        length = measure(genes, count, span)
        if not changed:
            break
    return count, length


@njit(cache=True)
def improve(genes: Array, count: int, span: Span, state: Array) -> int:
    """Add the Fermat point of two random edges with a common end; return the new count.

    Nothing is added where they meet at 120 degrees or more.
    """
    places, tree = span.places, span.tree
    edges = genes.shape[0] + count - 1
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
    place, corner = fermat_point(places[v], places[x], places[y])
    if corner >= 0:
        return count
    genes[count] = place
    return count + 1


@njit(cache=True)
def _tournament(lengths: Array, state: Array) -> int:
    """Return the better of two random members."""
    a, b = next_below(state, lengths.shape[0]), next_below(state, lengths.shape[0])
    return b if lengths[b] < lengths[a] else a


@njit(cache=True)
def _cross(evolution: Evolution, a: int, b: int, child: Array) -> int:
    """Take a's points on one side of a random line through a terminal, b's on the other."""
    genes, state = evolution.genes, evolution.state
    origin = evolution.span.places[next_below(state, child.shape[0])]
    angle = 2.0 * math.pi * next_uniform(state)
    way = complex(math.cos(angle), math.sin(angle))
    count = 0
    for parent, sign in ((a, 1.0), (b, -1.0)):
        for i in range(evolution.counts[parent]):
            place = genes[parent, i]
            if dot(place - origin, way) * sign > 0.0 and count < child.shape[0] - 2:
                child[count] = place
                count += 1
    return count


@njit(cache=True)
def _mutate(child: Array, count: int, low: complex, extent: complex, state: Array) -> int:
    """Delete, move and add random points, each with its probability; return the new count."""
    if count > 0 and next_uniform(state) < DELETION:
        i = next_below(state, count)
        count -= 1
        child[i] = child[count]
    if count > 0 and next_uniform(state) < MOVE:
        i = next_below(state, count)
        x = MOVE_SPREAD * extent.real * next_normal(state)
        child[i] += complex(x, MOVE_SPREAD * extent.imag * next_normal(state))
    if count < child.shape[0] - 2 and next_uniform(state) < ADDITION:
        x = extent.real * next_uniform(state)
        child[count] = low + complex(x, extent.imag * next_uniform(state))
        count += 1
    return count


@njit(cache=True)
def begin(terminals: Array, population: int, seed: int) -> Evolution:
    """Return a population without Steiner points."""
    n = terminals.shape[0]
    places = with_room(terminals, 2 * n)
    span = Span(
        points_of(places),
        places,
        np.empty((2 * n, 2), dtype=np.int64),
        np.empty((n, 3), dtype=np.int64),
        np.empty(2 * n, dtype=np.int64),
    )
    xs, ys = terminals[:, 0], terminals[:, 1]
    low, high = complex(xs.min(), ys.min()), complex(xs.max(), ys.max())
    genes = np.empty((population + 1, n), dtype=np.complex128)
    counts = np.zeros(population + 1, dtype=np.int64)
    lengths = np.full(population + 1, measure(genes[0], 0, span))
    return Evolution(genes, counts, lengths, low, high - low, new_state(seed), span)


@njit(cache=True)
def _write(evolution: Evolution, member: int, places: Array, count: int) -> None:
    """Write a chromosome."""
    evolution.counts[member] = count
    copy(places, evolution.genes[member], count)


@njit(cache=True)
def evolve(evolution: Evolution, write_back: float, iterations: int) -> None:
    """Run iterations: one child each, which takes the place of the worst member if it is better.

    The child is judged by the tree that correction and improvement make of it; those are written
    into its chromosome with probability `write_back`.
    """
    genes, state, span = evolution.genes, evolution.state, evolution.span
    best, n = genes.shape[0] - 1, genes.shape[1]
    lengths = evolution.lengths[:best]
    child, learned = np.empty(n, dtype=np.complex128), np.empty(n, dtype=np.complex128)
    for _ in range(iterations):
        a = _tournament(lengths, state)
        if next_uniform(state) < CROSSOVER:
            count = _cross(evolution, a, _tournament(lengths, state), child)
        else:
            count = evolution.counts[a]
            copy(genes[a], child, count)
        count = _mutate(child, count, evolution.low, evolution.extent, state)
        copy(child, learned, count)
        known, length = correct(learned, count, span)
        if next_uniform(state) < IMPROVEMENT and known < n - 1:
            more = improve(learned, known, span, state)
            if more > known:
                known, length = correct(learned, more, span)
        if length < evolution.lengths[best]:
            evolution.lengths[best] = length
            _write(evolution, best, learned, known)
        worst, new = 0, True
        for p in range(best):
            new = new and abs(lengths[p] - length) > SAME
            if lengths[p] > lengths[worst]:
                worst = p
        if new and length < lengths[worst]:
            lengths[worst] = length
            if next_uniform(state) < write_back:
                _write(evolution, worst, learned, known)
            else:
                _write(evolution, worst, child, count)


@njit(cache=True)
def finish(terminals: Array, evolution: Evolution, rows: TreeRows, b: int) -> None:
    """Write instance b's tree: the best one, with its full components made strict."""
    points = points_of(evolution.genes[-1, : evolution.counts[-1]])
    edges = spanning_tree(np.concatenate((terminals, points)))
    rows.sizes[b] = strict_tree(terminals, points, edges, rows.steiner[b], rows.edges[b])


@njit(cache=True, nogil=True)
def solve_batch(
    terminals: Array, seeds: Array, plan: Plan, rows: TreeRows, first: int, last: int
) -> None:
    """Evolve instances first..last; write their trees."""
    for b in range(first, last):
        evolution = begin(terminals[b], plan.population, seeds[b])
        evolve(evolution, plan.write_back, plan.iterations)
        finish(terminals[b], evolution, rows, b)
