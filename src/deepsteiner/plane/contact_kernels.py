"""Where segments of existing networks are nearest to points and to each other.

A node is what a tree joins as one: a terminal, or a part of a network with all its segments.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ..core.jit import njit
from .sight_kernels import Complexes, Floats, Ints


class Layout(NamedTuple):
    """Points and segments, each with the node that it belongs to.

    places, node: points and their nodes.
    tail, head: the ends of segments, sorted by node.
    first: where the segments of each node begin, and their end.
    """

    places: Complexes
    node: Ints
    tail: Complexes
    head: Complexes
    first: Ints


@njit(cache=True, error_model="numpy")
def foot(tail: complex, head: complex, place: complex) -> complex:
    """The place of a segment that is nearest to another place."""
    way, off = head - tail, place - tail
    square = way.real * way.real + way.imag * way.imag
    if square == 0.0:
        return tail
    share = (off.real * way.real + off.imag * way.imag) / square
    if share >= 1.0:
        return head
    return tail + max(share, 0.0) * way


@njit(cache=True, error_model="numpy")
def length_of(way: complex) -> float:
    """Length of a vector in the frame."""
    return math.sqrt(way.real * way.real + way.imag * way.imag)


@njit(cache=True, error_model="numpy")
def closest(a: complex, b: complex, c: complex, d: complex) -> tuple[complex, complex]:
    """Places of two segments that do not cross, nearest to each other: one of them is an end."""
    p, q = a, foot(c, d, a)
    best = length_of(p - q)
    other = foot(c, d, b)
    if length_of(b - other) < best:
        p, q, best = b, other, length_of(b - other)
    for end in (c, d):
        other = foot(a, b, end)
        if length_of(end - other) < best:
            p, q, best = other, end, length_of(end - other)
    return p, q


@njit(cache=True, error_model="numpy")
def contacts(tail: Complexes, head: Complexes, pairs: Ints) -> tuple[Complexes, Complexes]:
    """Places nearest to each other of some pairs of segments; a point is one without length."""
    ours, theirs = np.empty(len(pairs), np.complex128), np.empty(len(pairs), np.complex128)
    for k in range(len(pairs)):
        i, j = pairs[k]
        ours[k], theirs[k] = closest(tail[i], head[i], tail[j], head[j])
    return ours, theirs


@njit(cache=True, error_model="numpy")
def nearest_in(layout: Layout, node: int, place: complex) -> complex:
    """The place on the segments of a node that is nearest to another place."""
    best, found = np.inf, place
    for k in range(layout.first[node], layout.first[node + 1]):
        spot = foot(layout.tail[k], layout.head[k], place)
        away = length_of(spot - place)
        if away < best:
            best, found = away, spot
    return found


@njit(cache=True, error_model="numpy")
def node_distances(layout: Layout) -> Floats:
    """The distances of all pairs of nodes; 0 from each to itself."""
    places, node, tail, head, first = layout
    count = len(first) - 1
    distance = np.full((count, count), np.inf)
    for u in range(count):
        distance[u, u] = 0.0
    for i in range(len(places)):
        for j in range(i):
            away = length_of(places[i] - places[j])
            u, v = node[i], node[j]
            distance[u, v] = distance[v, u] = min(distance[u, v], away)
        for v in range(count):
            u = node[i]
            if u != v and first[v] < first[v + 1]:
                away = length_of(places[i] - nearest_in(layout, v, places[i]))
                distance[u, v] = distance[v, u] = min(distance[u, v], away)
    for u in range(count):
        for v in range(u):
            for i in range(first[u], first[u + 1]):
                for j in range(first[v], first[v + 1]):
                    p, q = closest(tail[i], head[i], tail[j], head[j])
                    if length_of(p - q) < distance[u, v]:
                        distance[u, v] = distance[v, u] = length_of(p - q)
    return distance


@njit(cache=True, error_model="numpy")
def closest_places(layout: Layout, u: int, v: int) -> tuple[complex, complex]:
    """Places of two nodes that are nearest to each other."""
    places, node, tail, head, first = layout
    best, found_u, found_v = np.inf, 0j, 0j
    for i in range(len(places)):
        if node[i] == u:
            for j in range(len(places)):
                if node[j] == v and length_of(places[i] - places[j]) < best:
                    best, found_u, found_v = length_of(places[i] - places[j]), places[i], places[j]
            spot = nearest_in(layout, v, places[i])
            if first[v] < first[v + 1] and length_of(places[i] - spot) < best:
                best, found_u, found_v = length_of(places[i] - spot), places[i], spot
        elif node[i] == v and first[u] < first[u + 1]:
            spot = nearest_in(layout, u, places[i])
            if length_of(places[i] - spot) < best:
                best, found_u, found_v = length_of(places[i] - spot), spot, places[i]
    for i in range(first[u], first[u + 1]):
        for j in range(first[v], first[v + 1]):
            p, q = closest(tail[i], head[i], tail[j], head[j])
            if length_of(p - q) < best:
                best, found_u, found_v = length_of(p - q), p, q
    return found_u, found_v


@njit(cache=True, error_model="numpy")
def chained(distance: Floats, mandatory: int) -> Floats:
    """Shortest chains between all pairs of nodes whose inner nodes are optional.

    Nodes from `mandatory` on are optional: a tree may do without them, so that a chain through one
    costs all its links.
    """
    result = distance.copy()
    size = len(result)
    for c in range(mandatory, size):
        for i in range(size):
            through = result[i, c]
            if i != c and through < np.inf:
                for j in range(size):
                    if through + result[c, j] < result[i, j]:
                        result[i, j] = through + result[c, j]
    return result
