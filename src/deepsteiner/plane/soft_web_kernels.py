"""Trees through soft regions with their nodes at the best places.

For a given tree and a given sequence of walls that its edges cross, the cost is convex in the
places of the nodes: Steiner points move freely, crossings move along their walls. After each
relaxation the sequence is made anew: edges are split where they cross walls, nodes that met are
joined, crossings at a corner may turn into another wall, detours are cut short, and where two edges
pull a node strongly enough a Steiner point is put between them.

A tree is its places and its edges; the first `fixed` places stay. No change makes it dearer.
"""

from __future__ import annotations

import numpy as np

from ..core.jit import njit
from ..core.tree_kernels import find
from .box_tree_kernels import DEEPEST, BoxTree, box_distance
from .sight_kernels import Complexes, Floats, Ints
from .soft_kernels import (
    FIXED,
    FREE,
    NEAR,
    ON_WALL,
    Ground,
    Web,
    crossings,
    relax_web,
    segment_cost,
    weight_at,
)

MET = 1e-9
"""Nodes closer than this, in units of the frame, are one."""
WORTH = 1e-6
"""The least pull, relatively, that a new Steiner point must answer."""
NUDGES = (1e-3, 3e-2)
"""How far a node at a corner is moved along a wall to see whether that is cheaper."""
ASIDE = 1e-6
"""How far from a node the weight of an edge that leaves it is looked up."""
PARTS = (0.5, 0.1)
"""Parts of the way that nodes go where the whole way is dearer."""
FIRST_STEP = 0.2
"""Where a new Steiner point begins, as a share of the shorter edge that it takes over."""

HOPELESS, PROMISING = 1.25, 1.03
"""A listed tree that costs so many times its worth, straight or after one move, is left out."""


@njit(cache=True, error_model="numpy")
def tree_cost(ground: Ground, places: Complexes, edges: Ints) -> float:
    """What a tree costs."""
    total = 0.0
    for e in range(len(edges)):
        total += segment_cost(ground, places[edges[e, 0]], places[edges[e, 1]])
    return total


@njit(cache=True, error_model="numpy")
def incident(count: int, edges: Ints) -> tuple[Ints, Ints]:
    """The edges at node v are rows[start[v] : start[v + 1]]."""
    start = np.zeros(count + 1, np.int64)
    for e in range(len(edges)):
        start[edges[e, 0] + 1] += 1
        start[edges[e, 1] + 1] += 1
    for v in range(count):
        start[v + 1] += start[v]
    rows, filled = np.empty(2 * len(edges), np.int64), start[:-1].copy()
    for e in range(len(edges)):
        for side in range(2):
            v = edges[e, side]
            rows[filled[v]] = e
            filled[v] += 1
    return start, rows


@njit(cache=True, error_model="numpy")
def without_loose_ends(places: Complexes, fixed: int, edges: Ints) -> tuple[Complexes, Ints]:
    """Leave out nodes that are not fixed and have at most one edge, again and again."""
    count = len(places)
    start, rows = incident(count, edges)
    degree = start[1:] - start[:-1]
    kept = np.ones(len(edges), np.bool_)
    for first in range(fixed, count):
        v = first
        while v >= fixed and degree[v] == 1:
            degree[v] = 0
            for k in range(start[v], start[v + 1]):
                if kept[rows[k]]:
                    kept[rows[k]] = False
                    v = edges[rows[k], 0] + edges[rows[k], 1] - v
                    degree[v] -= 1
                    break
    number, used = np.full(count, -1, np.int64), 0
    for v in range(count):
        if v < fixed or degree[v] > 0:
            number[v] = used
            used += 1
    new_places, new_edges = np.empty(used, np.complex128), np.empty((kept.sum(), 2), np.int64)
    for v in range(count):
        if number[v] >= 0:
            new_places[number[v]] = places[v]
    row = 0
    for e in range(len(edges)):
        if kept[e]:
            new_edges[row, 0], new_edges[row, 1] = number[edges[e, 0]], number[edges[e, 1]]
            row += 1
    return new_places, new_edges


@njit(cache=True, error_model="numpy")
def ways_from(tree: BoxTree, place: complex) -> Complexes:
    """The other ends of the walls that end exactly at a place."""
    found, count = np.empty(8, np.complex128), 0
    if len(tree.tail) == 0:
        return found[:0]
    waiting = np.empty(DEEPEST, np.int64)
    waiting[0], left = len(tree.low) - 1, 1
    while left > 0:
        left -= 1
        box = waiting[left]
        if box_distance(tree.low[box], tree.high[box], place) > MET:
            continue
        for k in range(tree.first[box], tree.last[box]):
            if box >= tree.lowest:
                waiting[left] = k
                left += 1
                continue
            if tree.tail[k] != place and tree.head[k] != place:
                continue
            if count == len(found):
                found = np.concatenate((found, np.empty_like(found)))
            found[count] = tree.head[k] if tree.tail[k] == place else tree.tail[k]
            count += 1
    return found[:count]


@njit(cache=True, error_model="numpy")
def at_corner(ground: Ground, place: complex) -> bool:
    """Whether a place is a corner of a region or of an obstacle."""
    return len(ways_from(ground.soft, place)) > 0 or len(ways_from(ground.hard, place)) > 0


@njit(cache=True, error_model="numpy")
def split_at_walls(
    ground: Ground, places: Complexes, fixed: int, edges: Ints
) -> tuple[Complexes, Ints, Ints]:
    """Split edges where they cross walls; also returns the wall that each node lies on, or -1."""
    size, rows = len(places), 0
    room = 2 * (len(places) + len(edges)) + 8
    spots, wall = np.empty(room, np.complex128), np.full(room, -1, np.int64)
    spots[:size] = places
    links = np.empty((room, 2), np.int64)
    for e in range(len(edges)):
        a, b = edges[e, 0], edges[e, 1]
        p, q = places[a], places[b]
        shares, walls, count = crossings(ground, p, q)
        if size + count + 2 > len(spots) or rows + count + 2 > len(links):
            more = len(spots) + count + 8
            spots = np.concatenate((spots, np.empty(more, np.complex128)))
            wall = np.concatenate((wall, np.full(more, -1, np.int64)))
            links = np.concatenate((links, np.empty((more, 2), np.int64)))
        tiny = NEAR / max(abs(q - p), NEAR)
        last, before = 0.0, a
        for k in range(count):
            share = shares[k]
            if share < -tiny or share > 1.0 + tiny:
                continue
            if share <= 2.0 * tiny or share >= 1.0 - 2.0 * tiny:
                node = a if share < 0.5 else b
                if node >= fixed and wall[node] < 0:
                    wall[node] = walls[k]
                continue
            if share - last <= 2.0 * tiny:
                continue
            spots[size], wall[size] = p + share * (q - p), walls[k]
            links[rows, 0], links[rows, 1] = before, size
            last, before = share, size
            size, rows = size + 1, rows + 1
        links[rows, 0], links[rows, 1] = before, b
        rows += 1
    return spots[:size].copy(), links[:rows].copy(), wall[:size].copy()


@njit(cache=True, error_model="numpy")
def joined_where_met(
    ground: Ground, places: Complexes, fixed: int, edges: Ints
) -> tuple[Complexes, Ints]:
    """Join neighbours that met: a fixed node stays, then a corner, then the first."""
    root = np.arange(len(places))
    for e in range(len(edges)):
        a, b = edges[e, 0], edges[e, 1]
        if abs(places[a] - places[b]) > MET:
            continue
        one, two = find(root, a), find(root, b)
        one, two = min(one, two), max(one, two)
        if two < fixed or one == two:
            continue
        root[two] = one
        if one >= fixed and at_corner(ground, places[two]):
            places[one] = places[two]
    links, rows = np.empty_like(edges), 0
    for e in range(len(edges)):
        a, b = find(root, edges[e, 0]), find(root, edges[e, 1])
        if a != b:
            links[rows, 0], links[rows, 1] = a, b
            rows += 1
    return without_loose_ends(places, fixed, links[:rows])


@njit(cache=True, error_model="numpy")
def moved(
    ground: Ground, places: Complexes, fixed: int, edges: Ints, sweeps: int, still: float
) -> tuple[Complexes, Ints, float]:
    """Split edges at walls, move nodes to their best places, and join nodes that met.

    Where edges swept over a corner the sequence of walls has changed, and the tree may be dearer:
    then nodes go only a part of the way, along which it becomes cheaper at first.
    """
    before = tree_cost(ground, places, edges)
    spots, links, wall = split_at_walls(ground, places, fixed, edges)
    size = len(spots)
    kind = np.full(size, FREE)
    tail, head = spots.copy(), spots.copy()
    for v in range(size):
        if v < fixed or (v < len(places) and at_corner(ground, spots[v])):
            kind[v] = FIXED
        elif wall[v] >= 0:
            kind[v] = ON_WALL
            tail[v], head[v] = ground.soft.tail[wall[v]], ground.soft.head[wall[v]]
    start, rows = incident(size, links)
    beside, weight = np.empty(len(rows), np.int64), np.empty(len(rows))
    for v in range(size):
        for k in range(start[v], start[v + 1]):
            a, b = links[rows[k], 0], links[rows[k], 1]
            length = abs(spots[a] - spots[b])
            beside[k] = a + b - v
            weight[k] = weight_at(ground, 0.5 * (spots[a] + spots[b])) if length > 0.0 else 1.0
    goal = relax_web(Web(kind, tail, head, start, beside, weight), spots, sweeps, still)
    found, rows = joined_where_met(ground, goal.copy(), fixed, links)
    total = tree_cost(ground, found, rows)
    for share in PARTS:
        if total < before:
            break
        part = spots + share * (goal - spots)
        found, rows = joined_where_met(ground, part, fixed, links)
        total = tree_cost(ground, found, rows)
    return found, rows, total


@njit(cache=True, error_model="numpy")
def cut_short(
    ground: Ground, places: Complexes, fixed: int, edges: Ints
) -> tuple[Complexes, Ints, float]:
    """Leave out nodes of degree 2 where the straight way is not dearer."""
    start, rows = incident(len(places), edges)
    touched, links = np.zeros(len(places), np.bool_), edges.copy()
    for v in range(fixed, len(places)):
        if start[v + 1] - start[v] != 2:
            continue
        one, two = rows[start[v]], rows[start[v] + 1]
        a, b = edges[one].sum() - v, edges[two].sum() - v
        if touched[v] or touched[a] or touched[b]:
            continue
        legs = segment_cost(ground, places[a], places[v])
        legs += segment_cost(ground, places[v], places[b])
        if segment_cost(ground, places[a], places[b]) <= legs * (1.0 + 1e-14):
            touched[v] = touched[a] = touched[b] = True
            links[one, 0], links[one, 1] = a, b
            links[two, 0], links[two, 1] = a, v  # a loose end
    spots, links = without_loose_ends(places, fixed, links)
    return spots, links, tree_cost(ground, spots, links)


@njit(cache=True, error_model="numpy")
def pull_of_edges(
    ground: Ground, places: Complexes, edges: Ints, rows: Ints, v: int, spot: complex
) -> float:
    """What the edges of a node would cost if it were at a spot."""
    total = 0.0
    for k in range(len(rows)):
        total += segment_cost(ground, spot, places[edges[rows[k]].sum() - v])
    return total


@njit(cache=True, error_model="numpy")
def turned(ground: Ground, places: Complexes, fixed: int, edges: Ints) -> tuple[Complexes, float]:
    """Move nodes at corners a little along the walls that meet there, where that is cheaper."""
    start, rows = incident(len(places), edges)
    places = places.copy()
    for v in range(fixed, len(places)):
        spot = places[v]
        ways = ways_from(ground.soft, spot)
        if len(ways) == 0:
            continue
        mine = rows[start[v] : start[v + 1]]
        least = pull_of_edges(ground, places, edges, mine, v, spot) * (1.0 - 1e-13)
        for k in range(len(ways)):
            for share in NUDGES:
                trial = spot + share * (ways[k] - spot)
                cost = pull_of_edges(ground, places, edges, mine, v, trial)
                if cost < least:
                    least, places[v] = cost, trial
    return places, tree_cost(ground, places, edges)


@njit(cache=True, error_model="numpy")
def strongest_pair(
    ground: Ground, places: Complexes, edges: Ints, rows: Ints, v: int
) -> tuple[int, int, complex]:
    """The two edges whose common pull at a node exceeds most what an edge that way costs.

    Returns their rows and the direction; -1 where no pair pulls strongly enough.
    """
    degree, spot = len(rows), places[v]
    pulls = np.empty(degree, np.complex128)
    for i in range(degree):
        way = places[edges[rows[i]].sum() - v] - spot
        if abs(way) <= MET:
            return -1, -1, 0j
        way /= abs(way)
        pulls[i] = weight_at(ground, spot + ASIDE * way) * way
    best, one, two, direction = WORTH, -1, -1, 0j
    for i in range(degree):
        for j in range(i):
            pull = pulls[i] + pulls[j]
            if abs(pull) <= 1.0 + WORTH:
                continue
            way = pull / abs(pull)
            gain = abs(pull) - weight_at(ground, spot + ASIDE * way)
            if gain > best:
                best, one, two, direction = gain, rows[i], rows[j], way
    return one, two, direction


@njit(cache=True, error_model="numpy")
def branched(ground: Ground, places: Complexes, fixed: int, edges: Ints) -> tuple[Complexes, Ints]:
    """Put Steiner points between pairs of edges that pull their node strongly enough."""
    count = len(places)
    start, rows = incident(count, edges)
    touched = np.zeros(count, np.bool_)
    spots, links = np.empty(2 * count, np.complex128), np.empty((len(edges) + count, 2), np.int64)
    spots[:count], links[: len(edges)] = places, edges
    size, used = count, len(edges)
    for v in range(count):
        mine = rows[start[v] : start[v + 1]]
        free = not touched[v] and len(mine) >= 2
        for k in range(len(mine)):
            free = free and not touched[edges[mine[k]].sum() - v]
        if not free or (len(mine) == 2 and v >= fixed and not at_corner(ground, places[v])):
            continue
        one, two, direction = strongest_pair(ground, places, edges, mine, v)
        if one < 0:
            continue
        a, b = edges[one].sum() - v, edges[two].sum() - v
        reach = min(abs(places[a] - places[v]), abs(places[b] - places[v]))
        spots[size] = places[v] + FIRST_STEP * reach * direction
        links[one, 0], links[one, 1] = a, size
        links[two, 0], links[two, 1] = b, size
        links[used, 0], links[used, 1] = v, size
        size, used = size + 1, used + 1
        touched[v] = touched[a] = touched[b] = True
    return spots[:size].copy(), links[:used].copy()


@njit(cache=True, error_model="numpy", nogil=True)
def relaxed_web(
    ground: Ground, places: Complexes, fixed: int, edges: Ints,
    rounds: int, sweeps: int, still: float, enough: float,
) -> tuple[Complexes, Ints, float]:  # fmt: skip
    """Return a tree with its nodes at their best places, and its cost; never dearer than it was.

    The sequence of walls is made anew up to `rounds` times, while that saves a share of `enough`;
    each time nodes move in up to `sweeps` turns, while one moves farther than `still`.
    """
    places, edges = without_loose_ends(places, fixed, edges)
    cost = tree_cost(ground, places, edges)
    for _ in range(rounds):
        before = cost
        spots, links, total = moved(ground, places, fixed, edges, sweeps, still)
        if total < cost:
            places, edges, cost = spots, links, total
        spots, links, total = cut_short(ground, places, fixed, edges)
        if total < cost:
            places, edges, cost = spots, links, total
        spots, total = turned(ground, places, fixed, edges)
        if total < cost:
            places, cost = spots, total
        spots, links = branched(ground, places, fixed, edges)
        if len(spots) > len(places):
            spots, links, total = moved(ground, spots, fixed, links, sweeps, still)
            if total < cost:
                places, edges, cost = spots, links, total
        if not cost < before * (1.0 - enough):
            break
    return places, edges, cost


@njit(cache=True, error_model="numpy", nogil=True)
def relaxed_costs(
    ground: Ground, points: Complexes, start: Ints, leaves: Ints, steiner: Complexes, links: Ints,
    worth: Floats, first: int, last: int, rounds: int, sweeps: int, still: float, enough: float,
) -> Floats:  # fmt: skip
    """What trees of a list cost with their nodes at the best places (see `FullTrees` for rows).

    Infinite where a tree can hardly become cheaper than it is worth.
    """
    result = np.full(last - first, np.inf)
    for f in range(first, last):
        k = start[f + 1] - start[f]
        places = np.empty(2 * k - 2, np.complex128)
        for i in range(k):
            places[i] = points[leaves[start[f] + i]]
        for i in range(k - 2):
            places[k + i] = steiner[start[f] - 2 * f + i]
        edges = links[2 * start[f] - 3 * f : 2 * start[f + 1] - 3 * (f + 1)]
        length = 0.0
        for e in range(len(edges)):
            length += abs(places[edges[e, 0]] - places[edges[e, 1]])
        cost = tree_cost(ground, places, edges)
        if cost <= length * (1.0 + 1e-12):
            result[f - first] = cost
            continue
        if cost > HOPELESS * worth[f]:
            continue
        places, edges, cost = relaxed_web(ground, places, k, edges, 1, sweeps, still, enough)
        if cost <= PROMISING * worth[f]:
            cost = relaxed_web(ground, places, k, edges, rounds, sweeps, still, enough)[2]
            result[f - first] = cost
    return result
