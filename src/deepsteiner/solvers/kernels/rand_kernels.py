"""Kernels of the paper's two random baselines."""

from __future__ import annotations

import math

import numpy as np

from ...core.jit import njit
from ...core.points import Array
from ...geometry.random_kernels import new_state, next_below, next_normal, next_uniform
from ...geometry.relax_tree_kernels import copy_rows
from ...geometry.spanning_kernels import prim, spanning_tree
from ...run.method import TreeRows
from .greedy_kernels import Rules, Work, add, begin, list_candidates, put_grown


@njit(cache=True)
def random_extension(terminals: Array, seed: int, box: Array, normal: bool) -> Array:
    """Return 0 to n-2 random points, their number random as well.

    They are uniform in the box (low, high), or normal with mean box[0] and deviation box[1].
    """
    state = new_state(seed)
    extra = np.empty((next_below(state, terminals.shape[0] - 1), 2))
    for i in range(extra.shape[0]):
        for axis in range(2):
            low, high = box[0, axis], box[1, axis]
            if normal:
                extra[i, axis] = low + high * next_normal(state)
            else:
                extra[i, axis] = low + (high - low) * next_uniform(state)
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
    terminals: Array, seeds: Array, boxes: Array, normal: bool, rows: TreeRows, first: int,
    last: int,
) -> None:  # fmt: skip
    """Extend instances first..last by random points and write their spanning trees."""
    n = terminals.shape[1]
    for b in range(first, last):
        extra = random_extension(terminals[b], seeds[b], boxes[b], normal)
        rows.sizes[b] = n + extra.shape[0]
        copy_rows(extra, rows.steiner[b], extra.shape[0])
        points = np.concatenate((terminals[b], extra))
        shrink(points)
        prim(points, rows.edges[b])


@njit(cache=True)
def random_step(work: Work, count: int, rules: Rules, state: Array, keep_worsening: bool) -> float:
    """Add one candidate drawn uniformly; return the saving (negative: the tree got longer).

    The edges are then as they were, unless `keep_worsening`.
    """
    row = next_below(state, list_candidates(work, count, rules))
    before = work.tree.ends[: count - 1].copy()
    saved = add(work, count, work.candidates[row])
    if not (saved >= 0.0 or keep_worsening):
        work.tree.ends[: count - 1] = before
    return saved


@njit(cache=True, nogil=True)
def rand2_batch(
    terminals: Array, seeds: Array, grids: Array, rules: Rules, keep_worsening: bool,
    rows: TreeRows, first: int, last: int,
) -> None:  # fmt: skip
    """Run Algorithm 1 with random choices on instances first..last."""
    n = terminals.shape[1]
    for b in range(first, last):
        work = begin(terminals[b], spanning_tree(terminals[b]), rules, grids[b])
        state, count, saved = new_state(seeds[b]), n, 0.0
        while saved >= 0.0 and count < 2 * n - 2:
            saved = random_step(work, count, rules, state, keep_worsening)
            count += saved >= 0.0 or keep_worsening
        put_grown(rows, b, work.tree, count)
