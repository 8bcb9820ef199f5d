"""Triangles of the free plane."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..core.jit import njit
from .box_tree_kernels import BoxTree, is_deep
from .sight_kernels import Complexes, Ints


class Mesh(NamedTuple):
    """The free plane in triangles.

    places: the vertices.
    corners: the vertices of each triangle, counter-clockwise.
    across: the triangle beyond the edge from corner k to the next, -1 where there is a wall.
    start, around: the triangles at vertex v are around[start[v] : start[v + 1]].
    """

    places: Complexes
    corners: Ints
    across: Ints
    start: Ints
    around: Ints


@njit(cache=True, error_model="numpy")
def free_triangles(
    places: Complexes, corners: Ints, across: Ints, boxes: BoxTree
) -> tuple[Ints, Ints]:
    """Keep the triangles outside the obstacles.

    Triangles that no wall separates lie on the same side; the middle of the largest one of them
    tells which.
    """
    count = len(corners)
    part = np.full(count, -1)
    waiting = np.empty(count, np.int64)
    number = np.full(count, -1)
    kept = 0
    for first in range(count):
        if part[first] >= 0:
            continue
        part[first] = first
        waiting[0], begin, end = first, 0, 1
        largest, widest = first, -1.0
        while begin < end:
            t = waiting[begin]
            begin += 1
            a, b, c = places[corners[t, 0]], places[corners[t, 1]], places[corners[t, 2]]
            one, two = b - a, c - a
            area = abs(one.real * two.imag - one.imag * two.real)
            if area > widest:
                largest, widest = t, area
            for k in range(3):
                other = across[t, k]
                if other >= 0 and part[other] < 0:
                    part[other] = first
                    waiting[end] = other
                    end += 1
        middle = (
            places[corners[largest, 0]] + places[corners[largest, 1]] + places[corners[largest, 2]]
        ) / 3.0
        if not is_deep(boxes, middle):
            for k in range(end):
                number[waiting[k]] = kept
                kept += 1
    found, beyond = np.empty((kept, 3), np.int64), np.full((kept, 3), -1)
    for t in range(count):
        if number[t] >= 0:
            for k in range(3):
                found[number[t], k] = corners[t, k]
                if across[t, k] >= 0:
                    beyond[number[t], k] = number[across[t, k]]
    return found, beyond


@njit(cache=True, error_model="numpy")
def neighbours_of_vertices(corners: Ints, count: int) -> tuple[Ints, Ints]:
    """Return the triangles at each of so many vertices: where they start, and all of them."""
    start = np.zeros(count + 1, np.int64)
    for t in range(len(corners)):
        for k in range(3):
            start[corners[t, k] + 1] += 1
    for v in range(count):
        start[v + 1] += start[v]
    place = start[:-1].copy()
    around = np.empty(start[-1], np.int64)
    for t in range(len(corners)):
        for k in range(3):
            v = corners[t, k]
            around[place[v]] = t
            place[v] += 1
    return start, around
