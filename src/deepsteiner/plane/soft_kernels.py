"""Soft regions: what a segment costs, and the best places of nodes for a given way through them.

Regions do not overlap; each wall knows the weight to its left. Outside all regions the weight is 1.
Along a wall the cheaper side counts.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ..core.jit import njit
from .box_tree_kernels import DEEPEST, BoxTree, box_distance, is_clear, misses
from .sight_kernels import Complexes, Floats, Ints

NEAR = 1e-10
"""What is closer to a wall than this lies on it, in units of the frame."""
TIE = 1e-11
"""Walls of neighbouring regions that coincide differ by less than this: corners lie on a grid."""
MOST_TIED = 32
"""Walls at one corner that are looked at."""
FIXED, FREE, ON_WALL = 0, 1, 2
STEPS = 12
"""Newton steps for one node in one sweep."""


class Ground(NamedTuple):
    """Soft regions and hard obstacles.

    soft: the walls of the regions.
    weight, face: the weight and the number of what lies to the left of each wall.
    hard: the walls of the obstacles.
    """

    soft: BoxTree
    weight: Floats
    face: Ints
    hard: BoxTree


@njit(cache=True, error_model="numpy")
def weight_at(ground: Ground, place: complex) -> float:
    """The weight at a place; on a wall that of the cheaper side."""
    tree = ground.soft
    if len(tree.tail) == 0:
        return 1.0
    waiting = np.empty(DEEPEST, np.int64)
    waiting[0], count = len(tree.low) - 1, 1
    nearest, tied = np.inf, 0
    walls, votes = np.empty(MOST_TIED, np.int64), np.empty(MOST_TIED, np.int64)
    least, sides = np.inf, 0
    while count > 0:
        count -= 1
        box = waiting[count]
        if box_distance(tree.low[box], tree.high[box], place) > max(nearest + TIE, NEAR):
            continue
        if box >= tree.lowest:
            for child in range(tree.first[box], tree.last[box]):
                waiting[count] = child
                count += 1
            continue
        for k in range(tree.first[box], tree.last[box]):
            way, off = tree.head[k] - tree.tail[k], place - tree.tail[k]
            square = way.real * way.real + way.imag * way.imag
            if square == 0.0:
                continue
            share = (off.real * way.real + off.imag * way.imag) / square
            miss = off - min(max(share, 0.0), 1.0) * way
            distance = math.hypot(miss.real, miss.imag)
            if distance <= NEAR:
                least, sides = min(least, ground.weight[k]), sides + 1
            if distance > nearest + TIE:
                continue
            bend = 0
            if share <= 0.0:
                bend = tree.tail_bend[k]
            elif share >= 1.0:
                bend = tree.head_bend[k]
            if bend == 0:
                bend = -2 if way.real * off.imag - way.imag * off.real > 0.0 else 2
            if distance < nearest - TIE:
                tied = 0
            if tied < MOST_TIED:
                walls[tied], votes[tied] = k, bend
                tied += 1
            nearest = min(nearest, distance)
    if sides > 0:
        return least if sides > 1 else 1.0
    # Inside a region are its left sides, and its notches where no convex corner of it is there.
    result = 1.0
    for i in range(tied):
        inside = votes[i] < 0
        for j in range(tied):
            same = ground.face[walls[i]] == ground.face[walls[j]]
            if votes[i] == -1 and votes[j] == 1 and same:
                inside = False
        if inside:
            result = max(result, ground.weight[walls[i]])
    return result


@njit(cache=True, error_model="numpy")
def crossings(ground: Ground, p: complex, q: complex) -> tuple[Floats, Ints, int]:
    """Where a segment meets walls of regions: shares of its length, sorted, the walls, how many."""
    tree, way = ground.soft, q - p
    shares, walls, found = np.empty(8), np.empty(8, np.int64), 0
    square = way.real * way.real + way.imag * way.imag
    if len(tree.tail) == 0 or square == 0.0:
        return shares, walls, 0
    length = math.sqrt(square)
    waiting = np.empty(DEEPEST, np.int64)
    waiting[0], count = len(tree.low) - 1, 1
    while count > 0:
        count -= 1
        box = waiting[count]
        if misses(tree.low[box], tree.high[box], p, q):
            continue
        if box >= tree.lowest:
            for child in range(tree.first[box], tree.last[box]):
                waiting[count] = child
                count += 1
            continue
        for k in range(tree.first[box], tree.last[box]):
            a, b = tree.tail[k], tree.head[k]
            one = (way.real * (a - p).imag - way.imag * (a - p).real) / length
            two = (way.real * (b - p).imag - way.imag * (b - p).real) / length
            if min(one, two) > NEAR or max(one, two) < -NEAR:
                continue
            if found + 2 > len(shares):
                shares = np.concatenate((shares, np.empty_like(shares)))
                walls = np.concatenate((walls, np.empty_like(walls)))
            if abs(one) <= NEAR or abs(two) <= NEAR:
                for end, off in ((a, one), (b, two)):
                    if abs(off) <= NEAR:
                        d = end - p
                        shares[found] = (d.real * way.real + d.imag * way.imag) / square
                        walls[found] = k
                        found += 1
                continue
            spot = a + one / (one - two) * (b - a) - p
            shares[found] = (spot.real * way.real + spot.imag * way.imag) / square
            walls[found] = k
            found += 1
    order = np.argsort(shares[:found])
    return shares[:found][order], walls[:found][order], found


@njit(cache=True, error_model="numpy")
def segment_cost(ground: Ground, p: complex, q: complex) -> float:
    """What a straight edge costs; infinite where it goes through an obstacle."""
    length = abs(q - p)
    if length == 0.0:
        return 0.0
    if not is_clear(ground.hard, p, q):
        return np.inf
    shares, _, count = crossings(ground, p, q)
    total, last = 0.0, 0.0
    tiny = NEAR / length
    for k in range(count + 1):
        share = min(shares[k], 1.0) if k < count else 1.0
        if share - last > tiny:
            weight = weight_at(ground, p + 0.5 * (last + share) * (q - p))
            total += (share - last) * length * weight
            last = share
    return total + (1.0 - last) * length


@njit(cache=True, error_model="numpy", nogil=True)
def edge_costs(ground: Ground, places: Complexes, edges: Ints) -> Floats:
    """What each edge costs."""
    result = np.empty(len(edges))
    for e in range(len(edges)):
        result[e] = segment_cost(ground, places[edges[e, 0]], places[edges[e, 1]])
    return result


@njit(cache=True, error_model="numpy", nogil=True)
def pair_costs(ground: Ground, some: Complexes, others: Complexes) -> Floats:
    """What the straight edges from each of some places to each of others cost."""
    result = np.empty((len(some), len(others)))
    for i in range(len(some)):
        for j in range(len(others)):
            result[i, j] = segment_cost(ground, some[i], others[j])
    return result


@njit(cache=True, error_model="numpy", nogil=True)
def cheapest_ways(cost: Floats) -> tuple[Floats, Ints]:
    """Cheapest ways between all pairs (Floyd and Warshall): costs, and the node that follows."""
    size = len(cost)
    total, following = cost.copy(), np.empty((size, size), np.int64)
    for i in range(size):
        for j in range(size):
            following[i, j] = j
    for k in range(size):
        for i in range(size):
            if total[i, k] == np.inf:
                continue
            for j in range(size):
                if total[i, k] + total[k, j] < total[i, j]:
                    total[i, j] = total[i, k] + total[k, j]
                    following[i, j] = following[i, k]
    return total, following


class Web(NamedTuple):
    """A tree to be relaxed.

    kind: whether a node is fixed, free, or may move on a wall, whose ends are tail and head.
    start, beside, weight: the neighbours of node v are beside[start[v] : start[v + 1]], and what
        a unit of length costs on the way there.
    """

    kind: Ints
    tail: Complexes
    head: Complexes
    start: Ints
    beside: Ints
    weight: Floats


@njit(cache=True, error_model="numpy")
def pull(web: Web, places: Complexes, v: int, x: complex) -> float:
    """What the edges of a node cost when it is at x."""
    total = 0.0
    for k in range(web.start[v], web.start[v + 1]):
        total += web.weight[k] * abs(x - places[web.beside[k]])
    return total


@njit(cache=True, error_model="numpy")
def best_place(web: Web, places: Complexes, v: int) -> complex:
    """The best place of a node while its neighbours stay: Newton's method, or a neighbour's place.

    The sum of weighted distances is convex. At a neighbour it is least where the others pull with
    less than the neighbour's weight.
    """
    x = places[v]
    along = 0j
    if web.kind[v] == ON_WALL:
        along = web.head[v] - web.tail[v]
        along /= abs(along)
    else:
        for k in range(web.start[v], web.start[v + 1]):
            spot = places[web.beside[k]]
            force = 0j
            for j in range(web.start[v], web.start[v + 1]):
                way = places[web.beside[j]] - spot
                if abs(way) > 0.0:
                    force += web.weight[j] * way / abs(way)
            if abs(force) <= web.weight[k]:
                return complex(spot)
    value = pull(web, places, v, x)
    for _ in range(STEPS):
        slope, xx, xy, yy = 0j, 0.0, 0.0, 0.0
        for k in range(web.start[v], web.start[v + 1]):
            way = x - places[web.beside[k]]
            length = abs(way)
            if length < 1e-15:
                continue
            u, w = way / length, web.weight[k]
            slope += w * u
            xx += w / length * u.imag * u.imag
            xy -= w / length * u.real * u.imag
            yy += w / length * u.real * u.real
        if web.kind[v] == ON_WALL:
            first = slope.real * along.real + slope.imag * along.imag
            second = xx * along.real**2 + 2.0 * xy * along.real * along.imag + yy * along.imag**2
            step = -first / max(second, 1e-300) * along
        else:
            below = xx * yy - xy * xy
            if below <= 1e-14 * (xx + yy) ** 2:
                step = -slope / max(xx + yy, 1e-300)
            else:
                step = complex(
                    -(yy * slope.real - xy * slope.imag) / below,
                    -(xx * slope.imag - xy * slope.real) / below,
                )
        moved = False
        for _ in range(30):
            new = x + step
            if web.kind[v] == ON_WALL:
                way = web.head[v] - web.tail[v]
                off = new - web.tail[v]
                share = (off.real * way.real + off.imag * way.imag) / (abs(way) ** 2)
                # At an end it is the corner to the last bit, which is how corners are known.
                if share <= 0.0:
                    new = web.tail[v]
                elif share >= 1.0:
                    new = web.head[v]
                else:
                    new = web.tail[v] + share * way
            trial = pull(web, places, v, new)
            if trial < value:
                moved = abs(new - x) > 1e-15
                x, value = new, trial
                break
            step *= 0.5
        if not moved:
            break
    return complex(x)


@njit(cache=True, error_model="numpy", nogil=True)
def relax_web(web: Web, places: Complexes, sweeps: int, enough: float) -> Complexes:
    """Move the nodes, one after the other, to their best places until they stay.

    A node whose neighbours stayed where they were is where it should be, and is passed over.
    """
    places = places.copy()
    waiting = web.kind != FIXED
    for sweep in range(sweeps):
        still = True
        for step in range(len(places)):
            v = step if sweep % 2 == 0 else len(places) - 1 - step
            if not waiting[v]:
                continue
            waiting[v] = False
            new = best_place(web, places, v)
            if abs(new - places[v]) > enough:
                still = False
                for k in range(web.start[v], web.start[v + 1]):
                    waiting[web.beside[k]] = web.kind[web.beside[k]] != FIXED
            places[v] = new
        if still:
            break
    return places
