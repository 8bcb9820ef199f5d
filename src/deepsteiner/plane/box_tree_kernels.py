"""A tree of boxes over walls: what sees what where there are very many of them.

The answers are those of `sight_kernels`; only walls whose boxes the segment meets are looked at.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..core.jit import njit
from .sight_kernels import DEPTH, SAME, Complexes, Flags, Floats, Ints, apart, height

LEAF, FAN = 8, 4
"""Walls of a lowest box, and boxes of a higher one."""
TIE = 1e-14
"""Distances to the same corner differ by less, in units of the frame."""
DEEPEST = 128
"""Boxes that wait at a time: more than FAN for each level."""


class BoxTree(NamedTuple):
    """Walls in an order in which neighbours are near each other, and boxes around runs of them.

    tail, head: the ends of every wall, the inside to the left.
    tail_bend, head_bend: 1 where the obstacle has a convex corner there, -1 where it has a notch,
        0 where the wall goes straight on.
    low, high: opposite corners of every box; the last box has all walls.
    first, last: the walls of a lowest box, the boxes of a higher one.
    lowest: how many boxes are lowest ones; they come first.
    number: the position of each wall in the order of the rings.
    """

    tail: Complexes
    head: Complexes
    tail_bend: NDArray[np.int8]
    head_bend: NDArray[np.int8]
    low: Complexes
    high: Complexes
    first: Ints
    last: Ints
    lowest: int
    number: Ints


@njit(cache=True, error_model="numpy")
def misses(low: complex, high: complex, p: complex, q: complex) -> bool:
    """Whether a segment stays clear of a box, by more than DEPTH."""
    if (
        max(p.real, q.real) < low.real - DEPTH
        or min(p.real, q.real) > high.real + DEPTH
        or max(p.imag, q.imag) < low.imag - DEPTH
        or min(p.imag, q.imag) > high.imag + DEPTH
    ):
        return True
    way = q - p
    middle, half = 0.5 * (low + high) - p, 0.5 * (high - low)
    off = abs(way.real * middle.imag - way.imag * middle.real)
    reach = abs(way.real) * (half.imag + DEPTH) + abs(way.imag) * (half.real + DEPTH)
    return bool(off > reach)


@njit(cache=True, error_model="numpy")
def box_distance(low: complex, high: complex, place: complex) -> float:
    """Distance of a place to a box; 0 inside."""
    x = max(low.real - place.real, 0.0, place.real - high.real)
    y = max(low.imag - place.imag, 0.0, place.imag - high.imag)
    return math.hypot(x, y)


@njit(cache=True, error_model="numpy")
def is_odd(tree: BoxTree, place: complex) -> bool:
    """Whether a ray to the right crosses an odd number of walls."""
    waiting = np.empty(DEEPEST, np.int64)
    waiting[0], count = len(tree.low) - 1, 1
    odd = False
    while count > 0:
        count -= 1
        box = waiting[count]
        low, high = tree.low[box], tree.high[box]
        if place.imag < low.imag or place.imag > high.imag or place.real > high.real:
            continue
        if box >= tree.lowest:
            for child in range(tree.first[box], tree.last[box]):
                waiting[count] = child
                count += 1
            continue
        for k in range(tree.first[box], tree.last[box]):
            a, b = tree.tail[k], tree.head[k]
            if (a.imag > place.imag) != (b.imag > place.imag):
                x = a.real + (place.imag - a.imag) / (b.imag - a.imag) * (b.real - a.real)
                if x > place.real:
                    odd = not odd
    return odd


@njit(cache=True, error_model="numpy")
def is_deep(tree: BoxTree, place: complex) -> bool:
    """Whether a place is inside the obstacles, deeper than DEPTH (see `sight_kernels.depth_at`).

    The nearest wall decides. Where its nearest point is an end, the corner there does: a place
    nearest to a convex corner is outside, one nearest to a notch is inside. Where rings touch at
    that corner and disagree, walls to the right are counted.
    """
    if len(tree.tail) == 0:
        return False
    waiting = np.empty(DEEPEST, np.int64)
    waiting[0], count = len(tree.low) - 1, 1
    nearest, inside, doubtful = np.inf, False, False
    while count > 0:
        count -= 1
        box = waiting[count]
        if box_distance(tree.low[box], tree.high[box], place) > nearest + TIE:
            continue
        if box >= tree.lowest:
            first = count
            for child in range(tree.first[box], tree.last[box]):
                waiting[count] = child
                count += 1
            # The nearest box comes first: it is on top.
            for k in range(first, count - 1):
                top, one = waiting[count - 1], waiting[k]
                if box_distance(tree.low[one], tree.high[one], place) < box_distance(
                    tree.low[top], tree.high[top], place
                ):
                    waiting[k], waiting[count - 1] = top, one
            continue
        for k in range(tree.first[box], tree.last[box]):
            way, off = tree.head[k] - tree.tail[k], place - tree.tail[k]
            square = way.real * way.real + way.imag * way.imag
            if square == 0.0:
                continue
            share = (off.real * way.real + off.imag * way.imag) / square
            miss = off - min(max(share, 0.0), 1.0) * way
            distance = math.hypot(miss.real, miss.imag)
            if distance > nearest + TIE:
                continue
            bend = 0
            if share <= 0.0:
                bend = tree.tail_bend[k]
            elif share >= 1.0:
                bend = tree.head_bend[k]
            within = bend < 0 or (bend == 0 and way.real * off.imag - way.imag * off.real > 0.0)
            doubtful = distance >= nearest - TIE and (doubtful or inside != within)
            inside, nearest = within, min(nearest, distance)
            if nearest <= DEPTH:
                return False
    return is_odd(tree, place) if doubtful else inside


@njit(cache=True, error_model="numpy")
def is_clear(tree: BoxTree, p: complex, q: complex) -> bool:
    """Whether the segment from p to q stays out of the obstacles (see `sight_kernels.sees`)."""
    way = q - p
    length = math.hypot(way.real, way.imag)
    if len(tree.tail) == 0 or length == 0.0:
        return True
    waiting = np.empty(DEEPEST, np.int64)
    waiting[0], count = len(tree.low) - 1, 1
    contacts = np.empty(0)
    touched = 0
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
            if touched + 3 > len(contacts):
                more = np.empty(2 * len(contacts) + 16)
                more[:touched] = contacts[:touched]
                contacts = more
            for end in (a, b):
                off = end - p
                contacts[touched] = (off.real * way.real + off.imag * way.imag) / (length * length)
                touched += 1
            if of_p != of_q:
                contacts[touched] = of_p / (of_p - of_q)
                touched += 1
    if touched == 0:
        return True
    return parts_are_outside(tree, p, way, np.sort(contacts[:touched]))


@njit(cache=True, error_model="numpy")
def parts_are_outside(tree: BoxTree, p: complex, way: complex, contacts: Floats) -> bool:
    """Whether the segment from p along a way is outside between all consecutive contacts."""
    last = 0.0
    for k in range(len(contacts) + 1):
        share = min(contacts[k], 1.0) if k < len(contacts) else 1.0
        if share - last > SAME:
            if is_deep(tree, p + 0.5 * (last + share) * way):
                return False
            last = share
    return True


@njit(cache=True, error_model="numpy", nogil=True)
def clear_edges(tree: BoxTree, places: Complexes, edges: Ints) -> Flags:
    """Which edges stay out of the obstacles."""
    result = np.empty(len(edges), np.bool_)
    for e in range(len(edges)):
        result[e] = is_clear(tree, places[edges[e, 0]], places[edges[e, 1]])
    return result


@njit(cache=True, error_model="numpy", nogil=True)
def deep_places(tree: BoxTree, places: Complexes) -> Flags:
    """Which places are inside the obstacles."""
    result = np.empty(len(places), np.bool_)
    for i in range(len(places)):
        result[i] = is_deep(tree, places[i])
    return result
