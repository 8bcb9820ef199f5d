"""A small piece of a relay network, built anew: which hubs, where, and what they join.

A network is a tree over terminals and hubs. A hub is a relay at which the network may branch; on
an edge of length d stand ceil(d / radius) - 1 further relays. So a network costs the number of its
hubs plus that of the relays on its edges, and for given hubs the cheapest one is a minimum spanning
tree under the relays of each edge.

Places are complex numbers. Weights of a piece are a matrix over its nodes: JOINED where two nodes
are connected elsewhere for good, BLOCKED where a wall stands between them.
"""

from __future__ import annotations

import math

import numpy as np

from ..core.jit import njit
from ..core.points import Array
from ..geometry.random_kernels import next_below, next_uniform
from ..geometry.vector_kernels import fermat_point, norm
from ..plane.sight_kernels import DEPTH, Walls, depth_at, sees

JOINED = -1.0
BLOCKED = 1e6
ROUNDING = 1e-10
"""A hop may be longer than the radius by this share: an edge of exactly k radii has k hops."""
ROOM = 64
"""Nodes of a piece, hubs among them."""
REACH = 6
"""Nodes that a new hub is joined to at most: no hub of a shortest network has more than five."""
LOOKED_AT = 14
"""The nearest nodes among which those are looked for."""
TRIALS = 48
"""Places that are tried for every new hub."""
EVEN = 0.3
"""How often a hub is added that costs what it saves: other hubs may profit from it."""


@njit(cache=True)
def relays_on(length: float, radius: float) -> float:
    """Return how many relays an edge needs."""
    return max(math.ceil(length / radius * (1.0 - ROUNDING)) - 1.0, 0.0)


@njit(cache=True)
def span(weights: Array, alive: Array, count: int, parent: Array) -> float:
    """Build a minimum spanning tree of the live nodes by Prim's algorithm; return its cost.

    `parent` gets each node's neighbour towards the first live one, or -1. Edges of nodes that are
    joined anyway cost nothing.
    """
    key = np.full(count, np.inf)
    done = np.zeros(count, np.bool_)
    total = 0.0
    current = -1
    for v in range(count):
        parent[v] = -1
        if alive[v] and current < 0:
            current = v
    while current >= 0:
        done[current] = True
        nearest = -1
        for v in range(count):
            if done[v] or not alive[v]:
                continue
            if weights[current, v] < key[v]:
                key[v], parent[v] = weights[current, v], current
            if nearest < 0 or key[v] < key[nearest]:
                nearest = v
        if nearest >= 0:
            total += max(key[nearest], 0.0)
        current = nearest
    return total


@njit(cache=True)
def bottlenecks(weights: Array, alive: Array, count: int, parent: Array, longest: Array) -> None:
    """Fill in, for all pairs of live nodes, the greatest weight on the tree's path between them."""
    reached = np.empty(count, np.int64)
    known = np.zeros(count, np.bool_)
    size = 0
    progress = True
    while progress:
        progress = False
        for v in range(count):
            if known[v] or not alive[v] or (parent[v] >= 0 and not known[parent[v]]):
                continue
            up = parent[v]
            for k in range(size):
                u = reached[k]
                most = weights[up, v] if u == up else max(longest[up, u], weights[up, v])
                longest[u, v] = longest[v, u] = most
            reached[size] = v
            size += 1
            known[v] = True
            progress = True


@njit(cache=True)
def partners(
    walls: Walls,
    places: Array,
    alive: Array,
    count: int,
    hub: complex,
    radius: float,
    longest: Array,
    chosen: Array,
    costs: Array,
) -> int:
    """Choose the nodes that a new hub would be joined to; return how many.

    The nearest come first. One is left out where the way there through an earlier one has no edge
    that costs more than the direct one.
    """
    distance = np.empty(count)
    for v in range(count):
        distance[v] = norm(places[v] - hub) if alive[v] else np.inf
    size = 0
    for _ in range(min(LOOKED_AT, count)):
        v = int(np.argmin(distance))
        if size == REACH or distance[v] == np.inf:
            break
        cost = relays_on(distance[v], radius)
        distance[v] = np.inf
        useful = True
        for k in range(size):
            if longest[chosen[k], v] <= cost:
                useful = False
                break
        if useful and (len(walls.tail) == 0 or sees(walls, places[v], hub)):
            chosen[size], costs[size] = v, cost
            size += 1
    return size


@njit(cache=True)
def saving(longest: Array, chosen: Array, costs: Array, size: int) -> float:
    """Return by how much a hub joined to the chosen nodes makes the network cheaper.

    The nodes and the greatest weights between them have the same spanning trees, up to their
    cost, as the part of the network between them.
    """
    weights = np.zeros((size + 1, size + 1))
    for i in range(size):
        for j in range(size):
            weights[i, j] = longest[chosen[i], chosen[j]] if i != j else 0.0
        weights[i, size] = weights[size, i] = costs[i]
    alive = np.ones(size + 1, np.bool_)
    parent = np.empty(size + 1, np.int64)
    after = span(weights, alive, size + 1, parent)
    alive[size] = False
    return span(weights, alive, size + 1, parent) - after - 1.0


@njit(cache=True)
def meeting(a: complex, of_a: float, b: complex, of_b: float, near: complex) -> complex:
    """Return where two circles meet, on the side of a third place; that place if they do not."""
    way = b - a
    apart = norm(way)
    if apart == 0.0 or apart > of_a + of_b or apart < abs(of_a - of_b):
        return near
    along = (of_a * of_a - of_b * of_b + apart * apart) / (2.0 * apart)
    aside = math.sqrt(max(of_a * of_a - along * along, 0.0))
    turned = way / apart
    foot = a + along * turned
    left = foot + aside * complex(-turned.imag, turned.real)
    right = foot - aside * complex(-turned.imag, turned.real)
    return left if norm(left - near) < norm(right - near) else right


@njit(cache=True)
def rounded(length: float, radius: float, state: Array) -> float:
    """Return a whole number of radii near a length, at least one, at random up or down."""
    whole = math.floor(length / radius) + (1.0 if next_uniform(state) < 0.5 else 0.0)
    return max(whole, 1.0) * radius


@njit(cache=True)
def near_node(places: Array, alive: Array, count: int, of: int, state: Array) -> int:
    """Return a random live node, rather near than far."""
    best = of
    for _ in range(3):
        v = next_below(state, count)
        if v == of or not alive[v]:
            continue
        if best == of or norm(places[v] - places[of]) < norm(places[best] - places[of]):
            best = v
    return best


@njit(cache=True)
def over_corner(
    places: Array, alive: Array, count: int, corners: Array, radius: float, state: Array
) -> complex:
    """Return a place from which something is just seen past a corner.

    It is on the line from a node, or from another corner, through a corner, and a whole number of
    radii away from some node.
    """
    corner = complex(corners[next_below(state, len(corners))])
    centre = next_below(state, count)
    other = next_below(state, count + len(corners))
    seen = places[other] if other < count else corners[other - count]
    way = corner - seen
    length = norm(way)
    if length == 0.0 or not alive[centre] or (other < count and not alive[other]):
        return corner
    way /= length
    of_centre = rounded(norm(corner - places[centre]), radius, state)
    off = (places[centre] - seen) * way.conjugate()
    aside = of_centre * of_centre - off.imag * off.imag
    if aside < 0.0:
        return corner
    side = math.sqrt(aside) if next_uniform(state) < 0.5 else -math.sqrt(aside)
    return complex(seen + (off.real + side) * way)


@njit(cache=True)
def tried_place(
    places: Array,
    alive: Array,
    count: int,
    before: Array,
    corners: Array,
    radius: float,
    state: Array,
) -> complex:
    """Return a place for a hub: whole numbers of hops away from two nodes, near a third one.

    A place at which hubs are cheapest can be moved until it is a whole number of radii away from
    two of its neighbours. Sometimes it is where a hub was before, or near a corner instead.
    """
    if len(before) and next_uniform(state) < 0.2:
        return complex(before[next_below(state, len(before))])
    if len(corners) and next_uniform(state) < 0.6:
        if next_uniform(state) < 0.2:
            return complex(corners[next_below(state, len(corners))])
        return over_corner(places, alive, count, corners, radius, state)
    a = next_below(state, count)
    while not alive[a]:
        a = next_below(state, count)
    b = near_node(places, alive, count, a, state)
    c = near_node(places, alive, count, a, state)
    if b in (a, c) or c == a:
        return complex(0.5 * (places[a] + places[b]))
    middle, _ = fermat_point(places[a], places[b], places[c])
    of_a = rounded(norm(middle - places[a]), radius, state)
    of_b = rounded(norm(middle - places[b]), radius, state)
    near = places[c] if next_uniform(state) < 0.8 else middle
    return meeting(places[a], of_a, places[b], of_b, near)


@njit(cache=True)
def add_node(
    walls: Walls, places: Array, weights: Array, count: int, hub: complex, radius: float
) -> None:
    """Put a hub behind the nodes, with its weights."""
    places[count] = hub
    weights[count, count] = 0.0
    for v in range(count):
        weight = relays_on(norm(places[v] - hub), radius)
        if len(walls.tail) and not sees(walls, places[v], hub):
            weight = BLOCKED
        weights[v, count] = weights[count, v] = weight


@njit(cache=True)
def drop_idle(weights: Array, alive: Array, fixed: int, count: int, parent: Array) -> float:
    """Drop hubs that cost no less than they save; return the cost of the tree without them."""
    cost = span(weights, alive, count, parent)
    dropped = True
    while dropped:
        dropped = False
        for v in range(fixed, count):
            if not alive[v]:
                continue
            alive[v] = False
            without = span(weights, alive, count, parent)
            if without <= cost + 1.0:
                cost, dropped = without, True
            else:
                alive[v] = True
    return span(weights, alive, count, parent)


@njit(cache=True)
def add_hubs(
    walls: Walls,
    places: Array,
    weights: Array,
    alive: Array,
    fixed: int,
    count: int,
    before: Array,
    corners: Array,
    box: Array,
    radius: float,
    state: Array,
    parent: Array,
) -> tuple[int, float]:
    """Add hubs to a piece as long as they pay; return the number of nodes and the cost.

    The first `count` nodes are given with their weights, of which `fixed` stay; hubs may stand
    where some were `before`. All are inside the box: beyond it walls are not known.
    """
    longest = np.zeros((ROOM, ROOM))
    chosen, costs = np.empty(REACH, np.int64), np.empty(REACH)
    span(weights, alive, count, parent)
    while count < ROOM:
        bottlenecks(weights, alive, count, parent, longest)
        best, most, equal = 0j, -0.5, 0
        for _ in range(TRIALS):
            hub = tried_place(places, alive, count, before, corners, radius, state)
            if not (box[0] <= hub.real <= box[2] and box[1] <= hub.imag <= box[3]):
                continue
            if len(walls.tail) and depth_at(walls, hub) > DEPTH:
                continue
            size = partners(walls, places, alive, count, hub, radius, longest, chosen, costs)
            gain = saving(longest, chosen, costs, size) if size > 1 else -1.0
            equal = equal + 1 if gain == most else 1
            if gain > most or (gain == most and next_uniform(state) * equal < 1.0):
                best, most = hub, gain
        if most < 0.0 or (most == 0.0 and next_uniform(state) >= EVEN):
            break
        add_node(walls, places, weights, count, best, radius)
        alive[count] = True
        count += 1
        span(weights, alive, count, parent)
    cost = drop_idle(weights, alive, fixed, count, parent)
    for v in range(fixed, count):
        cost += 1.0 if alive[v] else 0.0
    return count, cost
