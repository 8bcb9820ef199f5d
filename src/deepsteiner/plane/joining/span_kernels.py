"""Which parts of segments lie outside the obstacles: where an existing line can be joined."""

from __future__ import annotations

import math

import numpy as np

from ...core.jit import njit
from ..box_tree_kernels import DEEPEST, BoxTree, is_deep, misses
from ..sight_kernels import DEPTH, SAME, Complexes, Floats, Ints, apart, height


@njit(cache=True, error_model="numpy")
def contacts_with(tree: BoxTree, p: complex, q: complex) -> Floats:
    """Where walls touch or cross the segment from p to q: shares of its length, sorted."""
    way = q - p
    length = math.hypot(way.real, way.imag)
    found = np.empty(16)
    count = 0
    waiting = np.empty(DEEPEST, np.int64)
    waiting[0], boxes = len(tree.low) - 1, 1
    while boxes > 0:
        boxes -= 1
        box = waiting[boxes]
        if misses(tree.low[box], tree.high[box], p, q):
            continue
        if box >= tree.lowest:
            for child in range(tree.first[box], tree.last[box]):
                waiting[boxes] = child
                boxes += 1
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
            if count + 3 > len(found):
                found = np.concatenate((found, np.empty_like(found)))
            for end in (a, b):
                off = end - p
                found[count] = (off.real * way.real + off.imag * way.imag) / (length * length)
                count += 1
            if of_p != of_q:
                found[count] = of_p / (of_p - of_q)
                count += 1
    return np.sort(found[:count])


@njit(cache=True, error_model="numpy", nogil=True)
def free_spans(tree: BoxTree, tail: Complexes, head: Complexes) -> tuple[Ints, Floats]:
    """The parts of segments outside the obstacles: the segment, and the shares of both ends.

    What lies between two contacts is inside or outside as a whole, and its middle tells which. A
    place on a wall between two parts inside is outside, too: both its ends are the same.
    """
    rows, shares = np.empty(2 * len(tail) + 16, np.int64), np.empty((2 * len(tail) + 16, 2))
    count = 0
    for k in range(len(tail)):
        p, way = tail[k], head[k] - tail[k]
        contacts = np.empty(0)
        if len(tree.tail) > 0:
            contacts = contacts_with(tree, p, head[k])
        last, begin = 0.0, -1.0  # begin: where a free part began, negative where none did
        for i in range(len(contacts) + 1):
            share = min(contacts[i], 1.0) if i < len(contacts) else 1.0
            if share - last <= SAME:
                continue
            if count + 2 > len(rows):
                rows = np.concatenate((rows, np.empty_like(rows)))
                shares = np.concatenate((shares, np.empty_like(shares)))
            if is_deep(tree, p + 0.5 * (last + share) * way):
                if begin >= 0.0 or not is_deep(tree, p + last * way):
                    rows[count] = k
                    shares[count, 0], shares[count, 1] = begin if begin >= 0.0 else last, last
                    count += 1
                begin = -1.0
            elif begin < 0.0:
                begin = last
            last = share
        if begin >= 0.0 or not is_deep(tree, head[k]):
            rows[count], shares[count, 0], shares[count, 1] = k, begin if begin >= 0.0 else 1.0, 1.0
            count += 1
    return rows[:count].copy(), shares[:count].copy()
