"""What sees what: whether a straight edge stays out of the inside of all obstacles.

Obstacles are given by their boundary, directed so that the inside is to the left. Edges may touch
the boundary and run along it. An edge is blocked where it goes deeper than DEPTH below the surface:
an edge that grazes a corner, known only up to rounding, is not blocked by the rounding.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..core.jit import njit

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]
Complexes = NDArray[np.complex128]

DEPTH = 1e-11
"""How deep below the surface an edge may go, in units of the frame: far above all rounding."""
SAME = 1e-9
"""Contacts closer than this share of the edge are one."""


class Walls(NamedTuple):
    """The boundary of obstacles as directed segments, the inside to their left.

    tail, head: the ends of every segment.
    owner: the obstacle that it belongs to.
    """

    tail: Complexes
    head: Complexes
    owner: Ints


@njit(cache=True, error_model="numpy")
def apart(p: complex, q: complex, tail: complex, head: complex) -> bool:
    """Whether the boxes around two segments are farther apart than DEPTH."""
    return bool(
        max(p.real, q.real) < min(tail.real, head.real) - DEPTH
        or min(p.real, q.real) > max(tail.real, head.real) + DEPTH
        or max(p.imag, q.imag) < min(tail.imag, head.imag) - DEPTH
        or min(p.imag, q.imag) > max(tail.imag, head.imag) + DEPTH
    )


@njit(cache=True, error_model="numpy")
def height(p: complex, way: complex, length: float, place: complex) -> float:
    """How far a place is to the left of the line from p along a way of that length."""
    off = place - p
    if length == 0.0:
        return math.hypot(off.real, off.imag)
    return (way.real * off.imag - way.imag * off.real) / length


@njit(cache=True, error_model="numpy")
def depth_at(walls: Walls, place: complex) -> float:
    """How deep a place is inside the obstacles; 0 outside.

    Even-odd crossings of a ray to the right decide, and the distance to the nearest wall says how
    deep.
    """
    inside = False
    nearest = np.inf
    for k in range(len(walls.tail)):
        a, b = walls.tail[k], walls.head[k]
        if (a.imag > place.imag) != (b.imag > place.imag):
            x = a.real + (place.imag - a.imag) / (b.imag - a.imag) * (b.real - a.real)
            if x > place.real:
                inside = not inside
        way, off = b - a, place - a
        square = way.real * way.real + way.imag * way.imag
        share = 0.0
        if square > 0.0:
            share = (off.real * way.real + off.imag * way.imag) / square
        miss = off - min(max(share, 0.0), 1.0) * way
        nearest = min(nearest, math.hypot(miss.real, miss.imag))
    return nearest if inside else 0.0


@njit(cache=True, error_model="numpy")
def sees(walls: Walls, p: complex, q: complex) -> bool:
    """Whether the segment from p to q stays out of the obstacles.

    A wall that p and q are clearly on either side of, and whose ends are clearly on either side of
    the segment, blocks it. All other contacts cut the segment into parts; each lies inside or
    outside as a whole, and its middle tells which.
    """
    way = q - p
    length = math.hypot(way.real, way.imag)
    contacts = np.empty(0)
    count = 0
    for k in range(len(walls.tail)):
        a, b = walls.tail[k], walls.head[k]
        if apart(p, q, a, b):
            continue
        of_a, of_b = height(p, way, length, a), height(p, way, length, b)
        if min(of_a, of_b) > DEPTH or max(of_a, of_b) < -DEPTH:
            continue
        along = b - a
        span = math.hypot(along.real, along.imag)
        of_p, of_q = height(a, along, span, p), height(a, along, span, q)
        if min(of_p, of_q) > DEPTH or max(of_p, of_q) < -DEPTH:
            continue
        if (
            min(of_a, of_b) < -DEPTH
            and max(of_a, of_b) > DEPTH
            and min(of_p, of_q) < -DEPTH
            and max(of_p, of_q) > DEPTH
        ):
            return False
        if count + 3 > len(contacts):
            more = np.empty(2 * len(contacts) + 16)
            more[:count] = contacts[:count]
            contacts = more
        for end in (a, b):
            off = end - p
            contacts[count] = (off.real * way.real + off.imag * way.imag) / (length * length)
            count += 1
        if of_p != of_q:
            contacts[count] = of_p / (of_p - of_q)
            count += 1
    if count == 0 or length == 0.0:
        return True
    return middles_are_outside(walls, p, way, np.sort(contacts[:count]))


@njit(cache=True, error_model="numpy")
def middles_are_outside(walls: Walls, p: complex, way: complex, contacts: Floats) -> bool:
    """Whether the segment from p along a way is outside between all consecutive contacts."""
    last = 0.0
    for k in range(len(contacts) + 1):
        share = min(contacts[k], 1.0) if k < len(contacts) else 1.0
        if share - last > SAME:
            if depth_at(walls, p + 0.5 * (last + share) * way) > DEPTH:
                return False
            last = share
    return True


@njit(cache=True, error_model="numpy")
def sight(walls: Walls, places: Complexes, first: int, last: int) -> Flags:
    """Which places each of those from first to last sees; row k belongs to place first + k."""
    seen = np.zeros((last - first, len(places)), np.bool_)
    for i in range(first, last):
        for j in range(len(places)):
            seen[i - first, j] = i != j and sees(walls, places[i], places[j])
    return seen


@njit(cache=True, error_model="numpy")
def depths(walls: Walls, places: Complexes) -> Floats:
    """How deep each place is inside the obstacles."""
    result = np.empty(len(places))
    for i in range(len(places)):
        result[i] = depth_at(walls, places[i])
    return result


@njit(cache=True, error_model="numpy")
def all_see(walls: Walls, places: Complexes, edges: Ints) -> Flags:
    """Which edges stay out of the obstacles."""
    result = np.empty(len(edges), np.bool_)
    for e in range(len(edges)):
        result[e] = sees(walls, places[edges[e, 0]], places[edges[e, 1]])
    return result
