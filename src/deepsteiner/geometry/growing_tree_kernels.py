"""A spanning tree that grows by one point at a time, and what a new point would save.

The tree's edges live in slots (`ends`, `weight`); `order` lists the slots by weight, and
(`up`, `rank`) is the merge tree over that order (see `spanning_kernels.merge_tree`). Adding a point
x replaces, for every neighbour u of x taken by increasing distance, the heaviest edge on the way
from u to the neighbours already taken, if that edge is longer than |xu|: the spanning tree of the
larger set, from a few bottleneck queries instead of a fresh computation.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from ..core.points import Array
from .spanning_kernels import heaviest_between, merge_tree


@njit(cache=True)
def sort_order(order: Array, count: int, weight: Array) -> None:
    """Sort the first `count` slots by (weight, slot); fast when nearly sorted already."""
    for i in range(1, count):
        slot = order[i]
        j = i
        while j > 0 and (
            weight[order[j - 1]] > weight[slot]
            or (weight[order[j - 1]] == weight[slot] and order[j - 1] > slot)
        ):
            order[j] = order[j - 1]
            j -= 1
        order[j] = slot


@njit(cache=True)
def begin_tree(
    points: Array,
    count: int,
    ends: Array,
    weight: Array,
    order: Array,
    up: Array,
    rank: Array,
) -> None:
    """Set up weights, order and merge tree for `ends`, a spanning tree of `count` points.

    The edges are best given by length already: sorting takes quadratic time in the disorder.
    """
    for e in range(count - 1):
        dx = points[ends[e, 0], 0] - points[ends[e, 1], 0]
        dy = points[ends[e, 0], 1] - points[ends[e, 1], 1]
        weight[e] = math.sqrt(dx * dx + dy * dy)
        order[e] = e
    sort_order(order, count - 1, weight)
    merge_tree(count, ends, order, up, rank)


@njit(cache=True)
def gather(
    points: Array,
    count: int,
    x: float,
    y: float,
    reach: float,
    cells: Array,
    chain: Array,
    pool: Array,
) -> int:
    """List the points that may be closer than `reach` to (x, y), in no order; return how many.

    `cells` is a G x G table of chains over [-1, 1] squared; G = 1 lists all points.
    """
    side = cells.shape[0]
    if side == 1:
        for u in range(count):
            pool[u] = u
        return count
    found = 0
    first_column, last_column = _cell(x - reach, side), _cell(x + reach, side)
    first_row, last_row = _cell(y - reach, side), _cell(y + reach, side)
    for c in range(first_column, last_column + 1):
        for r in range(first_row, last_row + 1):
            u = cells[c, r]
            while u >= 0:
                pool[found] = u
                found += 1
                u = chain[u]
    return found


@njit(cache=True)
def _cell(x: float, side: int) -> int:
    return min(max(int((x + 1.0) * 0.5 * side), 0), side - 1)


@njit(cache=True)
def near_points(
    points: Array,
    pool: Array,
    pool_size: int,
    x: float,
    y: float,
    reach: float,
    near: Array,
    distance: Array,
) -> int:
    """List the pool's points closer than `reach` (at least one), by distance; return how many."""
    found = 0
    limit = reach * reach
    nearest, nearest_distance = -1, np.inf
    for k in range(pool_size):
        u = pool[k]
        dx, dy = points[u, 0] - x, points[u, 1] - y
        d = dx * dx + dy * dy
        if d < limit:
            found = _insert_sorted(u, d, found, near, distance)
        elif d < nearest_distance:
            nearest, nearest_distance = u, d
    if found == 0:
        near[0], distance[0] = nearest, nearest_distance
        found = 1
    for k in range(found):
        distance[k] = math.sqrt(distance[k])
    return found


@njit(cache=True)
def _insert_sorted(u: int, d: float, found: int, near: Array, distance: Array) -> int:
    slot = found
    while slot > 0 and (distance[slot - 1] > d or (distance[slot - 1] == d and near[slot - 1] > u)):
        distance[slot] = distance[slot - 1]
        near[slot] = near[slot - 1]
        slot -= 1
    distance[slot] = d
    near[slot] = u
    return found + 1


@njit(cache=True)
def attach(
    found: int,
    near: Array,
    distance: Array,
    weight: Array,
    order: Array,
    up: Array,
    rank: Array,
    joined: Array,
    replaced: Array,
) -> tuple[int, float]:
    """Choose the neighbours a new point joins; return their number and the length saved.

    `joined[0]` is the nearest point; `joined[k]` pays for itself by the edge in slot
    `replaced[k]`. Both hold positions: joined in `near`, replaced in `order`.
    """
    joined[0] = 0
    count = 1
    saved = -distance[0]
    for k in range(1, found):
        heaviest = heaviest_between(near[joined[0]], near[k], up, rank)
        # A lighter way to any joined neighbour means a lighter edge to give up.
        for j in range(1, count):
            if distance[k] >= weight[order[heaviest]]:
                break
            heaviest = min(heaviest, heaviest_between(near[joined[j]], near[k], up, rank))
        if distance[k] < weight[order[heaviest]]:
            joined[count] = k
            replaced[count] = heaviest
            count += 1
            saved += weight[order[heaviest]] - distance[k]
    return count, saved


@njit(cache=True)
def add_point(
    points: Array,
    count: int,
    x: float,
    y: float,
    ends: Array,
    weight: Array,
    order: Array,
    up: Array,
    rank: Array,
    cells: Array,
    chain: Array,
    near: Array,
    distance: Array,
    joined: Array,
    replaced: Array,
    pool: Array,
    changed: Array,
) -> tuple[int, float]:
    """Add (x, y) as point number `count`; write the changed slots; return (how many, saving)."""
    reach = weight[order[count - 2]]
    pool_size = gather(points, count, x, y, reach, cells, chain, pool)
    found = near_points(points, pool, pool_size, x, y, reach, near, distance)
    if distance[0] >= reach:  # far from everything: the nearest point may be in any cell
        pool_size = gather(points, count, 0.0, 0.0, 2.0, cells, chain, pool)
        found = near_points(points, pool, pool_size, x, y, reach, near, distance)
    taken, saved = attach(found, near, distance, weight, order, up, rank, joined, replaced)
    for j in range(1, taken):
        changed[j] = order[replaced[j]]
    changed[0] = count - 1
    order[count - 1] = count - 1
    for j in range(taken):
        slot = changed[j]
        ends[slot, 0] = near[joined[j]]
        ends[slot, 1] = count
        weight[slot] = distance[joined[j]]
    points[count, 0] = x
    points[count, 1] = y
    link_to_cell(count, x, y, cells, chain)
    sort_order(order, count, weight)
    merge_tree(count + 1, ends, order, up, rank)
    return taken, saved


@njit(cache=True)
def link_to_cell(u: int, x: float, y: float, cells: Array, chain: Array) -> None:
    """Put point u into the chain of its cell."""
    side = cells.shape[0]
    if side > 1:
        column, row = _cell(x, side), _cell(y, side)
        chain[u] = cells[column, row]
        cells[column, row] = u


@njit(cache=True)
def make_cells(points: Array, count: int, reach: float, chain: Array) -> Array:
    """Return the cell table for points in [-1, 1] squared: one cell where few points would gain."""
    side = 1
    if count > 100:
        side = max(1, min(int(2.0 / (reach * (1.0 + 1e-9))), int(math.sqrt(count))))
    if side < 4:
        side = 1
    cells = np.full((side, side), -1, dtype=np.int64)
    for u in range(count):
        link_to_cell(u, points[u, 0], points[u, 1], cells, chain)
    return cells
