"""Greedy lookahead in numba: try every candidate, add the one that saves most, repeat.

The saving of a candidate comes from `growing_tree_kernels.attach`. For arcs over the spanning
tree's own edges the best candidate of every edge is remembered: adding a point can only lower the
savings out of its reach, so an old value is an upper bound and is recomputed only when it comes
out on top.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit

from ...core.points import Array
from ...geometry.candidate_kernels import all_pairs, arc_points, neighbour_pairs
from ...geometry.growing_tree_kernels import (
    add_point,
    attach,
    begin_tree,
    gather,
    make_cells,
    near_points,
)
from ...geometry.spanning_kernels import heaviest_between, prim

Work = tuple[Any, ...]  # the arrays that `allocate` makes

MST, KNN, ALL, GRID = 0, 1, 2, 3
# A saving below this share of the frame is rounding, not progress.
LEAST_SAVING = 1e-12
# What a search for the best candidate remembers between calls.
NEXT, LISTED, SAVING, ROW = 0, 1, 2, 3
UNLIMITED = 1 << 60


@njit(cache=True)
def allocate(n: int, kind: int, k_star: int, k_near: int, grid: Array) -> Work:
    """Return the work arrays for one instance of n points."""
    most = 2 * n
    pair_count = 1
    if kind == MST:
        pair_count = most
    elif kind == KNN:
        pair_count = most * k_near
    elif kind == ALL:
        pair_count = most * (most - 1) // 2
    ints = np.full((8, most), -1, dtype=np.int64)
    floats = np.empty((3, most))
    pairs = np.empty((pair_count, 2), dtype=np.int64)
    points = np.empty((most, 2))
    ends = np.empty((most, 2), dtype=np.int64)
    candidates = grid.copy() if kind == GRID else np.empty((pair_count * 2 * k_star, 2))
    best_row = np.full(most, -1, dtype=np.int64)
    fresh = np.zeros(most, dtype=np.bool_)
    return points, ends, ints, floats, pairs, candidates, best_row, fresh


@njit(cache=True)
def begin(work: Work, terminals: Array, tree: Array) -> Array:
    """Load the terminals and their spanning tree's edges; return the cell table."""
    points, ends, ints, floats = work[0], work[1], work[2], work[3]
    n = terminals.shape[0]
    for i in range(n):
        points[i, 0], points[i, 1] = terminals[i, 0], terminals[i, 1]
    for i in range(n - 1):
        ends[i, 0], ends[i, 1] = tree[i, 0], tree[i, 1]
    order, up, rank, chain = ints[0], ints[1], ints[2], ints[3]
    begin_tree(points, n, ends, floats[0], order, up, rank)
    return make_cells(points, n, floats[0][order[n - 2]], chain)


@njit(cache=True)
def saving(work: Work, count: int, pool_size: int, x: float, y: float) -> float:
    """Return by how much the spanning tree gets shorter when (x, y) joins the points."""
    ints, floats = work[2], work[3]
    weight, order, up, rank = floats[0], ints[0], ints[1], ints[2]
    near, distance, joined, replaced = ints[4], floats[1], ints[5], ints[6]
    reach = weight[order[count - 2]]
    found = near_points(work[0], ints[7], pool_size, x, y, reach, near, distance)
    return attach(found, near, distance, weight, order, up, rank, joined, replaced)[1]


@njit(cache=True)
def _best_of_slot(
    work: Work, count: int, cells: Array, slot: int, k_star: int
) -> tuple[float, int, int]:
    """Return (saving, row) of the best candidate on the two arcs of one tree edge, and the cost."""
    candidates = work[5]
    pool_size = _pool_of_slot(work, count, cells, slot)
    # Some row is always named: an edge of length zero has candidates, but none that saves.
    best, best_row = -np.inf, slot * 2 * k_star
    for row in range(slot * 2 * k_star, (slot + 1) * 2 * k_star):
        value = saving(work, count, pool_size, candidates[row, 0], candidates[row, 1])
        if value > best:
            best, best_row = value, row
    return best, best_row, 2 * k_star * pool_size


@njit(cache=True)
def _pool_of_slot(work: Work, count: int, cells: Array, slot: int) -> int:
    """List the points that a candidate on the arcs of one tree edge ab could join.

    A candidate c is within |ab| / 2 of the midpoint and within |ab| of a; it joins u only where
    |cu| is less than |ca| or than the heaviest edge between a and u.
    """
    points, ints, floats = work[0], work[2], work[3]
    weight, order, up, rank, pool = floats[0], ints[0], ints[1], ints[2], ints[7]
    a, b = work[1][slot, 0], work[1][slot, 1]
    x, y = 0.5 * (points[a, 0] + points[b, 0]), 0.5 * (points[a, 1] + points[b, 1])
    half = 0.5 * weight[slot]
    reach = weight[order[count - 2]] + half
    listed = gather(points, count, x, y, reach, cells, ints[3], pool)
    kept = 0
    for k in range(listed):
        u = pool[k]
        dx, dy = points[u, 0] - x, points[u, 1] - y
        distance = math.sqrt(dx * dx + dy * dy)
        if distance >= reach:
            continue
        heaviest = heaviest_between(a, u, up, rank)
        limit = weight[order[heaviest]] if heaviest >= 0 else 0.0
        if distance < max(limit, 2.0 * half) + half:
            pool[kept] = u
            kept += 1
    return kept


@njit(cache=True)
def _best_of_all(work: Work, count: int, search: Array, budget: int) -> bool:
    """Go on to the best of all listed candidates; whether all have been tried."""
    candidates, pool = work[5], work[2][7]
    for u in range(count):
        pool[u] = u
    first, number = int(search[NEXT]), int(search[LISTED])
    last = min(number, first + max(1, budget // (4 * count)))
    for row in range(first, last):
        value = saving(work, count, count, candidates[row, 0], candidates[row, 1])
        if value > search[SAVING]:
            search[SAVING], search[ROW] = value, row
    search[NEXT] = last
    return last == number


@njit(cache=True)
def _best_over_tree_edges(
    work: Work, count: int, cells: Array, k_star: int, search: Array, budget: int
) -> bool:
    """Go on to the best candidate on the arcs of the tree's edges; whether it is found.

    Every turn makes the edge on top fresh, and none becomes stale meanwhile: there are at most as
    many turns as edges, whatever the savings are.
    """
    best_saving, best_row, fresh = work[3][2], work[6], work[7]
    while budget > 0:
        top = count - 2
        for e in range(count - 2, -1, -1):
            if best_row[e] < 0:
                fresh[e] = False
                best_saving[e] = np.inf
            if best_saving[e] >= best_saving[top]:
                top = e  # the first of equals
        if fresh[top]:
            search[SAVING], search[ROW] = best_saving[top], best_row[top]
            return True
        if best_row[top] < 0:
            _make_arcs(work, top, k_star)
        value, row, cost = _best_of_slot(work, count, cells, top, k_star)
        best_saving[top], best_row[top], fresh[top] = value, row, True
        budget -= count + cost
    return False


@njit(cache=True)
def _make_arcs(work: Work, slot: int, k_star: int) -> None:
    first = slot * 2 * k_star
    out = work[5][first : first + 2 * k_star]
    arc_points(work[0], work[1][slot : slot + 1], 1, k_star, out)


@njit(cache=True)
def list_candidates(work: Work, count: int, kind: int, k_star: int, k_near: int) -> int:
    """Write the candidates of the current points (GRID: they are there); return how many."""
    points, ends, pairs, candidates = work[0], work[1], work[4], work[5]
    if kind == GRID:
        return int(candidates.shape[0])
    if kind == MST:
        arc_points(points, ends, count - 1, k_star, candidates)
        return (count - 1) * 2 * k_star
    number = (
        neighbour_pairs(points, count, k_near, pairs) if kind == KNN else all_pairs(count, pairs)
    )
    arc_points(points, pairs, number, k_star, candidates)
    return number * 2 * k_star


@njit(cache=True)
def new_search() -> Array:
    """Return a search that has not begun: entries NEXT, LISTED, SAVING and ROW."""
    search = np.zeros(4)
    search[SAVING], search[ROW] = -np.inf, -1
    return search


@njit(cache=True)
def best_candidate(
    work: Work, count: int, cells: Array, kind: int, k_star: int, k_near: int, search: Array,
    budget: int,
) -> bool:  # fmt: skip
    """Search for the best candidate for the current points; whether it is found.

    It is then in `search`: what it saves and its row in the candidates. The budget counts pairs of
    a candidate and a point; where it is used up, call again with the same search.
    """
    if kind == MST:
        return _best_over_tree_edges(work, count, cells, k_star, search, budget)
    if search[LISTED] == 0.0:
        search[LISTED] = list_candidates(work, count, kind, k_star, k_near)
    return _best_of_all(work, count, search, budget)


@njit(cache=True)
def add(work: Work, count: int, cells: Array, x: float, y: float) -> float:
    """Add (x, y) to the points; return the saving, and note which edges must be tried again."""
    points, ends, ints, floats = work[0], work[1], work[2], work[3]
    weight, order = floats[0], ints[0]
    slots = np.empty(count + 1, dtype=np.int64)
    taken, saved = add_point(
        points, count, x, y, ends, weight, order, ints[1], ints[2], cells, ints[3], ints[4],
        floats[1], ints[5], ints[6], ints[7], slots,
    )  # fmt: skip
    reach = weight[order[count - 1]]
    for e in range(count):
        work[7][e] = False
        dx = 0.5 * (points[ends[e, 0], 0] + points[ends[e, 1], 0]) - x
        dy = 0.5 * (points[ends[e, 0], 1] + points[ends[e, 1], 1]) - y
        if math.sqrt(dx * dx + dy * dy) < reach + 0.5 * weight[e]:
            floats[2][e] = np.inf  # within reach of the new point the saving may have grown
    for j in range(taken):
        work[6][slots[j]] = -1  # a new edge: its arcs are not made yet
    return saved


@njit(cache=True)
def solve_one(work: Work, terminals: Array, kind: int, k_star: int, k_near: int) -> int:
    """Run greedy to its end inside `work`; return the number of points it ends with."""
    n = len(terminals)
    tree = np.empty((n - 1, 2), dtype=np.int64)
    prim(terminals, tree)
    cells = begin(work, terminals, tree)
    count = n
    while count < 2 * n - 2:
        search = new_search()
        best_candidate(work, count, cells, kind, k_star, k_near, search, UNLIMITED)
        row = int(search[ROW])
        if not search[SAVING] > LEAST_SAVING:
            break
        add(work, count, cells, work[5][row, 0], work[5][row, 1])
        count += 1
    return count


@njit(cache=True)
def copy_tree(work: Work, n: int, count: int, steiner: Array, edges: Array) -> None:
    """Copy the points beyond the terminals and the edges out of `work`."""
    points, ends = work[0], work[1]
    for i in range(n, count):
        steiner[i - n, 0], steiner[i - n, 1] = points[i, 0], points[i, 1]
    for i in range(count - 1):
        edges[i, 0], edges[i, 1] = ends[i, 0], ends[i, 1]


@njit(cache=True, nogil=True)
def solve_batch(
    terminals: Array,
    grids: Array,
    kind: int,
    k_star: int,
    k_near: int,
    counts: Array,
    steiner: Array,
    edges: Array,
    first: int,
    last: int,
) -> None:
    """Solve instances first..last; write their point counts, Steiner points and edges."""
    n = terminals.shape[1]
    for b in range(first, last):
        work = allocate(n, kind, k_star, k_near, grids[b])
        count = solve_one(work, terminals[b], kind, k_star, k_near)
        counts[b] = count
        copy_tree(work, n, count, steiner[b], edges[b])
