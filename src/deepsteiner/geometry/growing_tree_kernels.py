"""A spanning tree that grows by one point at a time, and what a new point would save.

Adding a point x replaces, for every neighbour u of x taken by increasing distance, the heaviest
edge on the way from u to the neighbours already taken, if that edge is longer than |xu|: the
spanning tree of the larger set, from a few bottleneck queries instead of a fresh computation.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ..core.jit import njit
from ..core.points import Array
from .candidate_kernels import insert_sorted
from .relax_component_kernels import step
from .relax_tree_kernels import copy_rows
from .spanning_kernels import heaviest_between, merge_tree
from .vector_kernels import dot, norm, with_room

# Up to so many points, and below so many cells a side, going through all points is faster.
FEW_POINTS = 100
FEW_CELLS = 4


class GrowingTree(NamedTuple):
    """A spanning tree with room to grow.

    Attributes
    ----------
    places
        (room,) points, as complex numbers.
    ends, weight
        (room, 2) the ends of each edge, and (room,) its length.
    order
        (room,) the edges by (weight, number).
    up, rank
        (room,) the merge tree over that order (see `spanning_kernels.merge_tree`).
    cells, chain
        The points by cell of a G x G table over [-1, 1] squared: cells[c, r] is the first one in
        a cell and chain[u] the next one after u (-1: none). G = 1 stands for no table at all.
    """

    places: Array
    ends: Array
    weight: Array
    order: Array
    up: Array
    rank: Array
    cells: Array
    chain: Array


class Vicinity(NamedTuple):
    """What is around a new point.

    Attributes
    ----------
    pool
        Points that may be near, in no order.
    near, distance
        Those within reach, by distance.
    joined
        Positions in `near` of the points that the new one joins, the nearest first.
    replaced
        replaced[k] is the position in `order` of the edge that pays for joined[k], from k = 1 on.
    """

    pool: Array
    near: Array
    distance: Array
    joined: Array
    replaced: Array


@njit(cache=True)
def new_vicinity(room: int) -> Vicinity:
    """Return empty arrays for a tree of up to `room` points."""
    ints = np.empty((4, room), dtype=np.int64)
    return Vicinity(ints[0], ints[1], np.empty(room), ints[2], ints[3])


@njit(cache=True)
def sort_order(order: Array, count: int, weight: Array) -> None:
    """Sort the first `count` edges by (weight, number); fast when nearly sorted already."""
    for i in range(1, count):
        edge = order[i]
        j = i
        while j > 0 and (
            weight[order[j - 1]] > weight[edge]
            or (weight[order[j - 1]] == weight[edge] and order[j - 1] > edge)
        ):
            order[j] = order[j - 1]
            j -= 1
        order[j] = edge


@njit(cache=True)
def begin_tree(terminals: Array, edges: Array, room: int) -> GrowingTree:
    """Return a spanning tree with room for so many points.

    The edges are best given by length already: sorting takes quadratic time in the disorder.
    """
    count = terminals.shape[0]
    places, ends = with_room(terminals, room), np.empty((room, 2), dtype=np.int64)
    copy_rows(edges, ends, count - 1)
    weight, order = np.empty(room), np.arange(room)
    for e in range(count - 1):
        weight[e] = norm(places[ends[e, 0]] - places[ends[e, 1]])
    sort_order(order, count - 1, weight)
    up, rank = np.empty(room, dtype=np.int64), np.empty(room, dtype=np.int64)
    merge_tree(count, ends, order, up, rank)
    cells = np.full(_table_size(count, weight[order[count - 2]]), -1, dtype=np.int64)
    tree = GrowingTree(places, ends, weight, order, up, rank, cells, np.full(room, -1))
    for u in range(count):
        _link_to_cell(tree, u)
    return tree


@njit(cache=True)
def _table_size(count: int, reach: float) -> tuple[int, int]:
    """Return the shape of the cell table, (1, 1) where few points would gain nothing."""
    if count <= FEW_POINTS:
        return 1, 1
    side = min(int(2.0 / (reach * (1.0 + 1e-9))), int(math.sqrt(count)))
    return (1, 1) if side < FEW_CELLS else (side, side)


@njit(cache=True)
def _cell(x: float, side: int) -> int:
    return min(max(int((x + 1.0) * 0.5 * side), 0), side - 1)


@njit(cache=True)
def _link_to_cell(tree: GrowingTree, u: int) -> None:
    """Put point u into the chain of its cell."""
    side = tree.cells.shape[0]
    if side > 1:
        column, row = _cell(tree.places[u].real, side), _cell(tree.places[u].imag, side)
        tree.chain[u] = tree.cells[column, row]
        tree.cells[column, row] = u


@njit(cache=True)
def gather(tree: GrowingTree, count: int, place: complex, reach: float, pool: Array) -> int:
    """List the points that may be closer to a place than `reach`, unordered; return how many."""
    side = tree.cells.shape[0]
    if side == 1:
        for u in range(count):
            pool[u] = u
        return count
    found = 0
    first_row, last_row = _cell(place.imag - reach, side), _cell(place.imag + reach, side)
    for c in range(_cell(place.real - reach, side), _cell(place.real + reach, side) + 1):
        for r in range(first_row, last_row + 1):
            u = tree.cells[c, r]
            while u >= 0:
                pool[found] = u
                found += 1
                u = tree.chain[u]
    return found


@step
def near_points(
    places: Array, around: Vicinity, pool_size: int, place: complex, reach: float
) -> int:
    """List the pool's points closer than `reach` (at least one), by distance; return how many."""
    pool, near, distance, _, _ = around
    found, limit = 0, reach * reach
    nearest, nearest_distance = -1, np.inf
    for k in range(pool_size):
        u = pool[k]
        gap = places[u] - place
        d = dot(gap, gap)
        if d < limit:
            found = insert_sorted(u, d, found, near, distance)
        elif d < nearest_distance:
            nearest, nearest_distance = u, d
    if found == 0:
        near[0], distance[0] = nearest, nearest_distance
        found = 1
    for k in range(found):
        distance[k] = math.sqrt(distance[k])
    return found


@step
def attach(tree: GrowingTree, around: Vicinity, found: int) -> tuple[int, float]:
    """Choose, among the points found, those that a new one joins.

    Returns
    -------
    number
        How many it joins.
    saved
        By how much the tree gets shorter.
    """
    _, _, weight, order, up, rank, _, _ = tree
    _, near, distance, joined, replaced = around
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
    tree: GrowingTree, around: Vicinity, count: int, place: complex
) -> tuple[Array, float]:
    """Add a place as point number `count`; return the edges that are new and the saving."""
    places, ends, weight, order, up, rank, _, _ = tree
    reach = weight[order[count - 2]]
    pool_size = gather(tree, count, place, reach, around.pool)
    found = near_points(places, around, pool_size, place, reach)
    if around.distance[0] >= reach:  # far from everything: the nearest point may be in any cell
        pool_size = gather(tree, count, 0j, 2.0, around.pool)
        found = near_points(places, around, pool_size, place, reach)
    taken, saved = attach(tree, around, found)
    changed = np.empty(taken, dtype=np.int64)
    changed[0] = order[count - 1] = count - 1
    for j in range(1, taken):
        changed[j] = order[around.replaced[j]]
    for j in range(taken):
        edge, k = changed[j], around.joined[j]
        ends[edge, 0], ends[edge, 1] = around.near[k], count
        weight[edge] = around.distance[k]
    places[count] = place
    _link_to_cell(tree, count)
    sort_order(order, count, weight)
    merge_tree(count + 1, ends, order, up, rank)
    return changed, saved
