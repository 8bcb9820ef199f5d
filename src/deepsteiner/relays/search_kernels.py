"""Relay networks made cheaper piece by piece: hubs around a terminal are removed and built anew."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..core.jit import njit
from ..core.points import Array
from ..core.tree_kernels import find
from ..geometry.random_kernels import next_below, next_uniform
from ..geometry.vector_kernels import norm
from ..plane.sight_kernels import Walls, sees
from .local_kernels import BLOCKED, JOINED, ROOM, add_hubs, add_node, relays_on

SMALLEST, LARGEST = 5, 26
"""Nodes of a piece that is built anew."""
KEPT, KEPT_AT_WALLS = 0.2, 0.7
"""How often a hub is there again from the start; a way around a wall may need several."""
MARGIN = 2.0
"""Hubs are placed at most so many radii outside the box of a piece."""


class Network(NamedTuple):
    """A tree over terminals and hubs that is changed in place.

    places: terminals first, then room for hubs.
    alive: which of them are there.
    edges: pairs of nodes, with room for more.
    counts: terminals, places in use (dead hubs among them), edges.
    """

    places: Array
    alive: Array
    edges: Array
    counts: Array


class Ground(NamedTuple):
    """What stands in the way.

    walls: the boundary of obstacles, sorted by obstacle.
    boxes: the box of every obstacle: least x and y, greatest x and y.
    corners: places that hubs may take to get around obstacles.
    """

    walls: Walls
    boxes: Array
    corners: Array


@njit(cache=True)
def network_cost(network: Network, radius: float) -> float:
    """Return the relays of a network: hubs, and those on its edges."""
    n, used, edges = network.counts
    total = 0.0
    for v in range(n, used):
        total += 1.0 if network.alive[v] else 0.0
    for e in range(edges):
        a, b = network.edges[e]
        total += relays_on(norm(network.places[a] - network.places[b]), radius)
    return total


@njit(cache=True)
def piece_around(network: Network, centre: int, size: int) -> Array:
    """Return the nodes nearest to one, about as many as asked for and never too many."""
    used = network.counts[1]
    distance = np.empty(used)
    for v in range(used):
        distance[v] = np.inf
        if network.alive[v]:
            distance[v] = norm(network.places[v] - network.places[centre])
    size = min(size, used)
    limit = np.partition(distance, size - 1)[size - 1]
    nodes = np.empty(LARGEST, np.int64)
    count = 0
    for v in range(used):
        if distance[v] <= limit and distance[v] < np.inf and count < LARGEST:
            nodes[count] = v
            count += 1
    return nodes[:count]


@njit(cache=True)
def box_of(places: Array, margin: float) -> Array:
    """Return the box around places, widened."""
    box = np.array([np.inf, np.inf, -np.inf, -np.inf])
    for place in places:
        box[0], box[1] = min(box[0], place.real - margin), min(box[1], place.imag - margin)
        box[2], box[3] = max(box[2], place.real + margin), max(box[3], place.imag + margin)
    return box


@njit(cache=True)
def ground_in(ground: Ground, box: Array) -> tuple[Walls, Array]:
    """Return the walls of obstacles that meet a box, and the corners in it."""
    walls, boxes = ground.walls, ground.boxes
    keep = np.zeros(len(walls.tail), np.bool_)
    for k in range(len(walls.tail)):
        other = boxes[walls.owner[k]]
        keep[k] = (
            other[0] <= box[2] and other[2] >= box[0] and other[1] <= box[3] and other[3] >= box[1]
        )
    inside = np.zeros(len(ground.corners), np.bool_)
    for k in range(len(ground.corners)):
        place = ground.corners[k]
        inside[k] = box[0] <= place.real <= box[2] and box[1] <= place.imag <= box[3]
    some = Walls(walls.tail[keep], walls.head[keep], walls.owner[keep])
    return some, ground.corners[inside]


@njit(cache=True)
def joined_outside(network: Network, local: Array) -> tuple[Array, Array]:
    """Return for every node whether an edge of it leaves the piece, and what joins them there.

    `local` is at least 0 for nodes of the piece. Nodes of the same group are connected outside it.
    """
    used, edges = network.counts[1], network.counts[2]
    leaves = np.zeros(used, np.bool_)
    group = np.arange(used)
    for e in range(edges):
        a, b = network.edges[e]
        if local[a] < 0 or local[b] < 0:
            leaves[a] = leaves[b] = True
            group[find(group, a)] = find(group, b)
    return leaves, group


@njit(cache=True)
def rebuild(
    network: Network, ground: Ground, radius: float, centre: int, size: int, state: Array
) -> float:
    """Build a piece anew and keep it where it is not dearer; return what is saved."""
    n, used, edges = network.counts
    nodes = piece_around(network, centre, size)
    local = np.full(used, -1)
    for k in range(len(nodes)):
        local[nodes[k]] = k
    leaves, group = joined_outside(network, local)
    fixed, free = np.empty(ROOM, np.int64), np.empty(ROOM, np.int64)
    count, loose = 0, 0
    for v in nodes:
        if v < n or leaves[v]:
            fixed[count] = v
            count += 1
        else:
            free[loose] = v
            loose += 1
    before = float(loose)
    for e in range(edges):
        a, b = network.edges[e]
        if local[a] >= 0 and local[b] >= 0:
            before += relays_on(norm(network.places[a] - network.places[b]), radius)
    if before == 0.0:
        return 0.0
    box = box_of(network.places[nodes], MARGIN * radius)
    walls, corners = ground_in(ground, box)
    places, weights = np.empty(ROOM, np.complex128), np.zeros((ROOM, ROOM))
    alive, parent = np.zeros(ROOM, np.bool_), np.empty(ROOM, np.int64)
    for i in range(count):
        places[i], alive[i] = network.places[fixed[i]], True
        for j in range(i):
            weight = relays_on(norm(places[i] - places[j]), radius)
            if find(group, fixed[i]) == find(group, fixed[j]):
                weight = JOINED
            elif len(walls.tail) and not sees(walls, places[i], places[j]):
                weight = BLOCKED
            weights[i, j] = weights[j, i] = weight
    given = count
    kept = KEPT if len(walls.tail) == 0 else KEPT_AT_WALLS
    for v in free[:loose]:
        if next_uniform(state) < kept:
            add_node(walls, places, weights, given, network.places[v], radius)
            alive[given] = True
            given += 1
    hubs = network.places[free[:loose]]
    total, after = add_hubs(
        walls, places, weights, alive, count, given, hubs, corners, box, radius, state, parent
    )
    if after > before:
        return 0.0
    if not replace(
        network, local, fixed, free, count, loose, places, alive, weights, parent, total
    ):
        return 0.0
    return before - after


@njit(cache=True)
def replace(
    network: Network,
    local: Array,
    fixed: Array,
    free: Array,
    count: int,
    loose: int,
    places: Array,
    alive: Array,
    weights: Array,
    parent: Array,
    total: int,
) -> bool:
    """Put the new piece into the network; return False where there is no room for its hubs."""
    counts = network.counts
    if counts[1] + total > len(network.places):
        return False
    kept = 0
    for e in range(counts[2]):
        a, b = network.edges[e]
        if local[a] < 0 or local[b] < 0:
            network.edges[kept] = network.edges[e]
            kept += 1
    number = np.empty(total, np.int64)
    number[:count] = fixed[:count]
    for k in range(loose):
        network.alive[free[k]] = False
    reused = 0
    for v in range(count, total):
        if not alive[v]:
            continue
        if reused < loose:
            number[v] = free[reused]
            reused += 1
        else:
            number[v] = counts[1]
            counts[1] += 1
        network.places[number[v]], network.alive[number[v]] = places[v], True
    for v in range(total):
        if alive[v] and parent[v] >= 0 and weights[v, parent[v]] != JOINED:
            network.edges[kept, 0], network.edges[kept, 1] = number[v], number[parent[v]]
            kept += 1
    counts[2] = kept
    return True


@njit(cache=True)
def improve(network: Network, ground: Ground, radius: float, pieces: int, state: Array) -> float:
    """Build some pieces around random terminals anew; return how many relays that saves."""
    saved = 0.0
    for _ in range(pieces):
        centre = next_below(state, network.counts[0])
        size = SMALLEST + next_below(state, LARGEST - SMALLEST)
        saved += rebuild(network, ground, radius, centre, size, state)
    return saved
