"""Kernels of the paper's two random baselines."""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from ...core.points import Array
from ...geometry.random_kernels import new_state, next_below, next_normal, next_uniform
from ...geometry.spanning_kernels import prim
from .greedy_kernels import Work, add, allocate, begin, copy_tree, list_candidates


@njit(cache=True)
def draw_points(state: Array, low: Array, high: Array, normal: bool, out: Array) -> None:
    """Fill `out` with points uniform in the box, or normal with mean `low` and deviation `high`."""
    for i in range(out.shape[0]):
        for axis in range(2):
            if normal:
                out[i, axis] = low[axis] + high[axis] * next_normal(state)
            else:
                out[i, axis] = low[axis] + (high[axis] - low[axis]) * next_uniform(state)


@njit(cache=True)
def random_extension(terminals: Array, seed: int, low: Array, high: Array, normal: bool) -> Array:
    """Return 0 to n-2 random points, their number random as well."""
    state = new_state(seed)
    extra = np.empty((next_below(state, terminals.shape[0] - 1), 2))
    draw_points(state, low, high, normal, extra)
    return extra


@njit(cache=True)
def shrink(points: Array) -> None:
    """Scale points by a power of two, in place, so that squares of their differences are finite."""
    largest = 0.0
    for i in range(points.shape[0]):
        largest = max(largest, abs(points[i, 0]), abs(points[i, 1]))
    exponent = max(math.frexp(largest)[1], 0)
    for i in range(points.shape[0]):
        points[i, 0] = math.ldexp(points[i, 0], -exponent)
        points[i, 1] = math.ldexp(points[i, 1], -exponent)


@njit(cache=True, nogil=True)
def rand1_batch(
    terminals: Array, seeds: Array, low: Array, high: Array, normal: bool,
    counts: Array, steiner: Array, edges: Array,
    first: int,
    last: int,
) -> None:  # fmt: skip
    """Extend instances first..last by random points and write their spanning trees."""
    n = terminals.shape[1]
    for b in range(first, last):
        extra = random_extension(terminals[b], seeds[b], low[b], high[b], normal)
        count = n + extra.shape[0]
        points = np.empty((count, 2))
        for i in range(n):
            points[i, 0], points[i, 1] = terminals[b, i, 0], terminals[b, i, 1]
        for i in range(n, count):
            points[i, 0], points[i, 1] = extra[i - n, 0], extra[i - n, 1]
            steiner[b, i - n, 0], steiner[b, i - n, 1] = points[i, 0], points[i, 1]
        counts[b] = count
        shrink(points)
        prim(points, edges[b])


@njit(cache=True)
def random_step(
    work: Work, count: int, cells: Array, state: Array, kind: int, k_star: int, k_near: int
) -> float:
    """Add one candidate drawn uniformly; return the saving (negative: the tree got longer)."""
    number = list_candidates(work, count, kind, k_star, k_near)
    row = next_below(state, number)
    return add(work, count, cells, work[5][row, 0], work[5][row, 1])


@njit(cache=True, nogil=True)
def rand2_batch(
    terminals: Array, seeds: Array, grids: Array, kind: int, k_star: int, k_near: int,
    keep_worsening: bool, counts: Array, steiner: Array, edges: Array,
    first: int,
    last: int,
) -> None:  # fmt: skip
    """Run Algorithm 1 with random choices on instances first..last."""
    n = terminals.shape[1]
    for b in range(first, last):
        work = allocate(n, kind, k_star, k_near, grids[b])
        tree = np.empty((n - 1, 2), dtype=np.int64)
        prim(terminals[b], tree)
        cells = begin(work, terminals[b], tree)
        state = new_state(seeds[b])
        count = n
        while count < 2 * n - 2:
            before = work[1][: count - 1].copy()
            saved = random_step(work, count, cells, state, kind, k_star, k_near)
            if saved >= 0.0 or keep_worsening:
                count += 1
            else:
                work[1][: count - 1] = before
            if saved < 0.0:
                break
        counts[b] = count
        copy_tree(work, n, count, steiner[b], edges[b])
