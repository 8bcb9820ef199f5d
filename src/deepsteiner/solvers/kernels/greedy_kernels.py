"""Greedy lookahead in numba: try every candidate, add the one that saves most, repeat.

The saving of a candidate comes from `growing_tree_kernels.attach`. For arcs over the spanning
tree's own edges the best candidate of every edge is remembered: adding a point can only lower the
savings out of its reach, so an old value is an upper bound and is recomputed only when it comes
out on top.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...core.jit import njit
from ...core.points import Array
from ...geometry.candidate_kernels import all_pairs, arc_points, neighbour_pairs
from ...geometry.growing_tree_kernels import (
    GrowingTree,
    Vicinity,
    add_point,
    attach,
    begin_tree,
    gather,
    near_points,
    new_vicinity,
)
from ...geometry.relax_component_kernels import step
from ...geometry.relax_tree_kernels import put_tree
from ...geometry.spanning_kernels import heaviest_between, spanning_tree
from ...geometry.vector_kernels import norm, points_of, with_room
from ...run.method import TreeRows

MST, KNN, ALL, GRID = 0, 1, 2, 3
# A saving below this share of the frame is rounding, not progress.
LEAST_SAVING = 1e-12
# What a search for the best candidate remembers between calls.
NEXT, LISTED, SAVING, ROW = 0, 1, 2, 3
UNLIMITED = 1 << 60


class Rules(NamedTuple):
    """Which candidates there are.

    Attributes
    ----------
    kind
        MST, KNN, ALL or GRID.
    k_star
        Interior points of each arc.
    k_near
        Nearest neighbours of each point (KNN).
    """

    kind: int
    k_star: int
    k_near: int


class Work(NamedTuple):
    """One instance at work.

    Attributes
    ----------
    tree, around
        The spanning tree so far, and what is around a candidate.
    pairs, candidates
        The pairs whose arcs are taken, and the candidates on them (GRID: the grid).
    best_saving, best_row, fresh
        For every edge (MST): what its best candidate saves and its row in `candidates` (-1: the
        arcs are not made yet), and whether no point was added since this was found.
    """

    tree: GrowingTree
    around: Vicinity
    pairs: Array
    candidates: Array
    best_saving: Array
    best_row: Array
    fresh: Array


@njit(cache=True)
def begin(terminals: Array, edges: Array, rules: Rules, grid: Array) -> Work:
    """Return the work of an instance, from the edges of its spanning tree.

    `grid` holds the candidates where they are a grid.
    """
    most = 2 * terminals.shape[0]
    pair_count = (most, most * rules.k_near, most * (most - 1) // 2, 1)[rules.kind]
    return Work(
        begin_tree(terminals, edges, most),
        new_vicinity(most),
        np.empty((pair_count, 2), dtype=np.int64),
        with_room(grid, grid.shape[0] if rules.kind == GRID else pair_count * 2 * rules.k_star),
        np.empty(most),
        np.full(most, -1),
        np.zeros(most, dtype=np.bool_),
    )


@step
def _saving(
    tree: GrowingTree, around: Vicinity, count: int, pool_size: int, place: complex
) -> float:
    """Return by how much the spanning tree gets shorter when a place joins the points."""
    reach = tree.weight[tree.order[count - 2]]
    found = near_points(tree.places, around, pool_size, place, reach)
    return attach(tree, around, found)[1]


@njit(cache=True)
def _best_of_edge(work: Work, count: int, edge: int, k_star: int) -> tuple[float, int, int]:
    """Return (saving, row) of the best candidate on the two arcs of one tree edge, and the cost."""
    tree, around, candidates = work.tree, work.around, work.candidates
    pool_size = _pool_of_edge(tree, around.pool, count, edge)
    # Some row is always named: an edge of length zero has candidates, but none that saves.
    best, best_row = -np.inf, edge * 2 * k_star
    for row in range(edge * 2 * k_star, (edge + 1) * 2 * k_star):
        value = _saving(tree, around, count, pool_size, candidates[row])
        if value > best:
            best, best_row = value, row
    return best, best_row, 2 * k_star * pool_size


@njit(cache=True)
def _pool_of_edge(tree: GrowingTree, pool: Array, count: int, edge: int) -> int:
    """List the points that a candidate on the arcs of one tree edge ab could join.

    A candidate c is within |ab| / 2 of the midpoint and within |ab| of a; it joins u only where
    |cu| is less than |ca| or than the heaviest edge between a and u.
    """
    places, ends, weight, order, up, rank, _, _ = tree
    a, b = ends[edge, 0], ends[edge, 1]
    middle, half = 0.5 * (places[a] + places[b]), 0.5 * weight[edge]
    reach = weight[order[count - 2]] + half
    kept = 0
    for k in range(gather(tree, count, middle, reach, pool)):
        u = pool[k]
        distance = norm(places[u] - middle)
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
    tree, around, candidates = work.tree, work.around, work.candidates
    for u in range(count):
        around.pool[u] = u
    first, number = int(search[NEXT]), int(search[LISTED])
    last = min(number, first + max(1, budget // (4 * count)))
    for row in range(first, last):
        value = _saving(tree, around, count, count, candidates[row])
        if value > search[SAVING]:
            search[SAVING], search[ROW] = value, row
    search[NEXT] = last
    return last == number


@njit(cache=True)
def _best_over_tree_edges(work: Work, count: int, k_star: int, search: Array, budget: int) -> bool:
    """Go on to the best candidate on the arcs of the tree's edges; whether it is found.

    Every turn makes the edge on top fresh, and none becomes stale meanwhile: there are at most as
    many turns as edges, whatever the savings are.
    """
    best_saving, best_row, fresh = work.best_saving, work.best_row, work.fresh
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
            out = work.candidates[top * 2 * k_star : (top + 1) * 2 * k_star]
            arc_points(work.tree.places, work.tree.ends[top : top + 1], 1, k_star, out)
        value, row, cost = _best_of_edge(work, count, top, k_star)
        best_saving[top], best_row[top], fresh[top] = value, row, True
        budget -= count + cost
    return False


@njit(cache=True)
def list_candidates(work: Work, count: int, rules: Rules) -> int:
    """Write the candidates of the current points (GRID: they are there); return how many."""
    places, pairs = work.tree.places, work.pairs
    if rules.kind == GRID:
        return int(work.candidates.shape[0])
    if rules.kind == MST:
        pairs, number = work.tree.ends, count - 1
    elif rules.kind == KNN:
        number = neighbour_pairs(places, count, rules.k_near, pairs)
    else:
        number = all_pairs(count, pairs)
    arc_points(places, pairs, number, rules.k_star, work.candidates)
    return number * 2 * rules.k_star


@njit(cache=True)
def new_search() -> Array:
    """Return a search that has not begun: entries NEXT, LISTED, SAVING and ROW."""
    search = np.zeros(4)
    search[SAVING], search[ROW] = -np.inf, -1
    return search


@njit(cache=True)
def best_candidate(work: Work, count: int, rules: Rules, search: Array, budget: int) -> bool:
    """Search for the best candidate for the current points; whether it is found.

    It is then in `search`: what it saves and its row in the candidates. The budget counts pairs of
    a candidate and a point; where it is used up, call again with the same search.
    """
    if rules.kind == MST:
        return _best_over_tree_edges(work, count, rules.k_star, search, budget)
    if search[LISTED] == 0.0:
        search[LISTED] = list_candidates(work, count, rules)
    return _best_of_all(work, count, search, budget)


@njit(cache=True)
def add(work: Work, count: int, place: complex) -> float:
    """Add a place to the points; return the saving, and note which edges must be tried again."""
    places, ends, weight, order = work.tree[:4]
    changed, saved = add_point(work.tree, work.around, count, place)
    reach = weight[order[count - 1]]
    for e in range(count):
        work.fresh[e] = False
        middle = 0.5 * (places[ends[e, 0]] + places[ends[e, 1]])
        if norm(middle - place) < reach + 0.5 * weight[e]:
            work.best_saving[e] = np.inf  # within reach of the new point it may have grown
    for e in changed:
        work.best_row[e] = -1  # a new edge: its arcs are not made yet
    return saved


@njit(cache=True)
def put_grown(rows: TreeRows, b: int, tree: GrowingTree, count: int) -> None:
    """Write the tree of instance b, which has `count` points."""
    put_tree(rows, b, points_of(tree.places[rows.steiner.shape[1] : count]), tree.ends[: count - 1])


@njit(cache=True, nogil=True)
def solve_batch(
    terminals: Array, grids: Array, rules: Rules, rows: TreeRows, first: int, last: int
) -> None:
    """Run greedy to its end on instances first..last; write their trees."""
    n = terminals.shape[1]
    for b in range(first, last):
        work = begin(terminals[b], spanning_tree(terminals[b]), rules, grids[b])
        count = n
        while count < 2 * n - 2:
            search = new_search()
            best_candidate(work, count, rules, search, UNLIMITED)
            if not search[SAVING] > LEAST_SAVING:
                break
            add(work, count, work.candidates[int(search[ROW])])
            count += 1
        put_grown(rows, b, work.tree, count)
