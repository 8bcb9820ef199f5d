"""Walls in blocks, one for each obstacle, and what they are asked about places and edges.

Nearly all obstacles are far from any one place: the box around each says so at once. Obstacles do
not overlap, so an edge is free where it is free of each of them, and how deep a place is inside one
does not depend on the others.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ....core.jit import njit
from ....plane.sight_kernels import DEPTH, Complexes, Floats, Ints, Walls, depth_at, sees
from ..complete.arc_kernels import cross, dot, lean

MOST_CROSSED = 30
"""Walls of an obstacle that an edge crosses, of which so many are looked at: fewer is safe."""


class Blocks(NamedTuple):
    """Walls by obstacle.

    walls: all walls, those of an obstacle together.
    first: where those of each obstacle begin, and the end of the last.
    low, high: corners of the box around each obstacle.
    """

    walls: Walls
    first: Ints
    low: Complexes
    high: Complexes


@njit(cache=True, error_model="numpy")
def in_blocks(walls: Walls) -> Blocks:
    """Put walls into blocks; those of an obstacle come together."""
    count = len(walls.tail)
    first = np.empty(count + 1, np.int64)
    blocks = 0
    for k in range(count):
        if k == 0 or walls.owner[k] != walls.owner[k - 1]:
            first[blocks] = k
            blocks += 1
    first[blocks] = count
    low, high = np.empty(blocks, np.complex128), np.empty(blocks, np.complex128)
    for block in range(blocks):
        own = walls.tail[first[block] : first[block + 1]]
        low[block] = complex(own.real.min(), own.imag.min())
        high[block] = complex(own.real.max(), own.imag.max())
    return Blocks(walls, first[: blocks + 1].copy(), low, high)


@njit(cache=True, error_model="numpy")
def block(blocks: Blocks, k: int) -> Walls:
    """The walls of one obstacle."""
    walls, low, high = blocks.walls, blocks.first[k], blocks.first[k + 1]
    return Walls(walls.tail[low:high], walls.head[low:high], walls.owner[low:high])


@lean
def box_misses(blocks: Blocks, k: int, p: complex, q: complex) -> bool:
    """Whether the edge from p to q is clearly outside of the box around an obstacle."""
    low, high = blocks.low[k], blocks.high[k]
    if (
        max(p.real, q.real) < low.real - DEPTH
        or min(p.real, q.real) > high.real + DEPTH
        or max(p.imag, q.imag) < low.imag - DEPTH
        or min(p.imag, q.imag) > high.imag + DEPTH
    ):
        return True
    # Off the middle of the box, across the edge: farther than any corner of the box is.
    way, middle, half = q - p, 0.5 * (low + high), 0.5 * (high - low)
    span = abs(way.imag) * (half.real + 2.0 * DEPTH) + abs(way.real) * (half.imag + 2.0 * DEPTH)
    return bool(abs(cross(way, middle - p)) > span)


@njit(cache=True, error_model="numpy")
def is_free(blocks: Blocks, p: complex, q: complex) -> bool:
    """Whether the edge from p to q stays out of all obstacles."""
    for k in range(len(blocks.low)):
        if box_misses(blocks, k, p, q):
            continue
        if not sees(block(blocks, k), p, q):
            return False
    return True


@lean
def clearance(blocks: Blocks, place: complex) -> float:
    """The distance from a place to the nearest wall; below 0 inside an obstacle."""
    walls = blocks.walls
    least, inside = np.inf, False
    for block in range(len(blocks.low)):
        low, high = blocks.low[block], blocks.high[block]
        off_x = max(low.real - place.real, 0.0, place.real - high.real)
        off_y = max(low.imag - place.imag, 0.0, place.imag - high.imag)
        if off_x * off_x + off_y * off_y >= least:
            continue
        for k in range(blocks.first[block], blocks.first[block + 1]):
            a, b = walls.tail[k], walls.head[k]
            way, off = b - a, place - a
            if (a.imag > place.imag) != (b.imag > place.imag):
                inside ^= off.imag / way.imag * way.real > off.real
            square = dot(way, way)
            share = min(max(dot(off, way) / square, 0.0), 1.0) if square > 0.0 else 0.0
            miss = off - share * way
            least = min(least, dot(miss, miss))
    return -math.sqrt(least) if inside else math.sqrt(least)


@lean
def deepest(blocks: Blocks, p: complex, way: complex, shares: Floats) -> float:
    """How deep inside obstacles a segment is in the middle between two walls that it crosses.

    Not more than it is at its deepest, and 0 where it crosses none. `shares` is scratch, with room
    for MOST_CROSSED + 2.
    """
    most = 0.0
    for k in range(len(blocks.low)):
        if box_misses(blocks, k, p, p + way):
            continue
        every, low, high = blocks.walls, blocks.first[k], blocks.first[k + 1]  # as in `is_free`
        walls = Walls(every.tail[low:high], every.head[low:high], every.owner[low:high])
        count = crossings(walls, p, way, shares)
        if count > 1:
            for j in range(count):
                middle = 0.5 * (shares[j] + shares[j + 1])
                most = max(most, depth_at(walls, p + middle * way))
    return most


@lean
def crossings(walls: Walls, p: complex, way: complex, shares: Floats) -> int:
    """Write 0, where a segment crosses walls, and 1; returns how many, less one."""
    count = 1
    shares[0] = 0.0
    square = dot(way, way)
    for k in range(len(walls.tail)):
        a, b = walls.tail[k] - p, walls.head[k] - p
        of_a, of_b = cross(way, a), cross(way, b)
        if (of_a < 0.0) == (of_b < 0.0):
            continue
        at = a + of_a / (of_a - of_b) * (b - a)
        share = dot(at, way) / square
        if 0.0 < share < 1.0 and count <= MOST_CROSSED:
            place = count
            while shares[place - 1] > share:
                shares[place] = shares[place - 1]
                place -= 1
            shares[place] = share
            count += 1
    shares[count] = 1.0
    return count
