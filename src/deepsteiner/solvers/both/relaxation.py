"""Full Steiner trees whose ends slide along the network, moved to where they are shortest.

The length of a tree of fixed topology is convex in its Steiner points and in the places at which
it ends on straight segments. Newton's method minimises it, damped where the tree may slide along
two lines without a change of its length; an end that reaches the end of its segment stays there.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...core.points import FloatArray, IntArray
from ...core.tree_kernels import find
from ...plane.sight_kernels import Flags

STEPS = 60
"""Steps of Newton's method."""
STILL = 1e-13
"""A step shorter than this, in units of the frame, is the last."""
LEAST = 1e-8
"""Edges shorter than this, in units of the frame, have no direction to go by."""
DAMPING = 1e-9
"""What is added to the curvature, as a share of it."""


class Slide(NamedTuple):
    """A segment along which a node may move: its ends."""

    tail: FloatArray
    head: FloatArray


def full_trees(edges: IntArray, steiner: Flags) -> list[IntArray]:
    """Return the rows of edges of every full Steiner tree that has a Steiner point."""
    root = np.arange(len(steiner))
    for a, b in edges[steiner[edges].all(axis=1)].tolist():
        root[find(root, a)] = find(root, b)
    groups: dict[int, list[int]] = {}
    for row, (a, b) in enumerate(edges.tolist()):
        if steiner[a] or steiner[b]:
            groups.setdefault(int(find(root, a if steiner[a] else b)), []).append(row)
    return [np.array(rows) for rows in groups.values()]


def relaxed(
    places: FloatArray, edges: IntArray, free: Flags, slides: dict[int, Slide]
) -> FloatArray | None:
    """Return the places of a tree's nodes where it is shortest; None where edges vanish.

    Parameters
    ----------
    places, edges
        The tree.
    free
        Which nodes may move anywhere.
    slides
        The segments along which others may move.
    """
    places = places.copy()
    held: set[int] = set()
    for _ in range(STEPS):
        ways = places[edges[:, 0]] - places[edges[:, 1]]
        lengths = np.hypot(*ways.T)
        if lengths.min() < LEAST:
            return None
        moves, axes = _axes(free, {k: v for k, v in slides.items() if k not in held})
        slope, curve = _derivatives(len(places), edges, ways / lengths[:, None], lengths, axes)
        if not len(slope):
            return places
        step = -np.linalg.solve(curve + DAMPING * np.trace(curve) * np.eye(len(slope)), slope)
        shift = (axes @ step).reshape(-1, 2)
        share, stuck = _within(places, shift, moves, slides)
        share = _shorter(places, shift, edges, float(lengths.sum()), share)
        if share == 0.0 and stuck < 0:
            return places
        places += share * shift
        if stuck >= 0:
            held.add(stuck)
        elif share * float(np.abs(shift).max()) < STILL:
            return places
    return places


def _axes(free: Flags, slides: dict[int, Slide]) -> tuple[list[int], FloatArray]:
    """Return the nodes that slide, and the directions of all variables as columns."""
    columns = []
    for node in np.flatnonzero(free).tolist():
        for axis in (0, 1):
            column = np.zeros(2 * len(free))
            column[2 * node + axis] = 1.0
            columns.append(column)
    for node, (tail, head) in slides.items():
        column = np.zeros(2 * len(free))
        column[2 * node : 2 * node + 2] = (head - tail) / np.hypot(*(head - tail))
        columns.append(column)
    return list(slides), np.array(columns).reshape(-1, 2 * len(free)).T


def _derivatives(
    count: int, edges: IntArray, units: FloatArray, lengths: FloatArray, axes: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return the gradient and the second derivatives of the length in all variables."""
    slope, curve = np.zeros(2 * count), np.zeros((2 * count, 2 * count))
    for (a, b), unit, length in zip(edges.tolist(), units, lengths.tolist(), strict=True):
        one, two = slice(2 * a, 2 * a + 2), slice(2 * b, 2 * b + 2)
        block = (np.eye(2) - np.outer(unit, unit)) / length
        slope[one] += unit
        slope[two] -= unit
        curve[one, one] += block
        curve[two, two] += block
        curve[one, two] -= block
        curve[two, one] -= block
    return axes.T @ slope, axes.T @ curve @ axes


def _within(
    places: FloatArray, shift: FloatArray, moves: list[int], slides: dict[int, Slide]
) -> tuple[float, int]:
    """Return how much of a step keeps all on their segments, and who is stopped; -1 for none."""
    share, stuck = 1.0, -1
    for node in moves:
        tail, head = slides[node]
        way = head - tail
        square = float(way @ way)
        now, rate = float((places[node] - tail) @ way) / square, float(shift[node] @ way) / square
        room = (1.0 - now) / rate if rate > 0.0 else -now / rate if rate < 0.0 else np.inf
        if max(room, 0.0) < share:
            share, stuck = max(room, 0.0), node
    return share, stuck


def _shorter(
    places: FloatArray, shift: FloatArray, edges: IntArray, length: float, share: float
) -> float:
    """Return a share of a step that does not lengthen the tree, halved as often as that takes."""
    for _ in range(40):
        moved = places + share * shift
        if float(np.hypot(*(moved[edges[:, 0]] - moved[edges[:, 1]]).T).sum()) <= length:
            return share
        share *= 0.5
    return 0.0
