"""Boxes around walls, made for `box_tree_kernels`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.points import FloatArray, IntArray

if TYPE_CHECKING:
    from .box_tree_kernels import BoxTree


FLAT = 1e-12
"""Sine of the least turn of a wall."""


def box_tree(rings: list[FloatArray]) -> BoxTree:
    """Return the walls of rings, the inside to their left, under a tree of boxes.

    They are sorted into strips by x, and within a strip by y.
    """
    from .box_tree_kernels import FAN, LEAF, BoxTree

    none = np.empty((0, 2))
    tail = _complex(np.concatenate([none, *rings]))
    head = _complex(np.concatenate([none, *(np.roll(ring, -1, axis=0) for ring in rings)]))
    before = _complex(np.concatenate([none, *(np.roll(ring, 1, axis=0) for ring in rings)]))
    after = _complex(np.concatenate([none, *(np.roll(ring, -2, axis=0) for ring in rings)]))
    tail_bend, head_bend = _bend(tail - before, head - tail), _bend(head - tail, after - head)
    middle = 0.5 * (tail + head)
    count = len(middle)
    leaves = -(-count // LEAF)
    strips = max(1, round(np.sqrt(leaves)))
    by_x = np.argsort(middle.real, kind="stable")
    strip = np.empty(count, np.int64)
    strip[by_x] = np.arange(count) * strips // max(count, 1)
    order = np.lexsort((middle.imag, strip))
    tail, head = tail[order], head[order]
    low = np.stack((np.minimum(tail.real, head.real), np.minimum(tail.imag, head.imag)), axis=1)
    high = np.stack((np.maximum(tail.real, head.real), np.maximum(tail.imag, head.imag)), axis=1)
    lows: list[FloatArray] = []
    highs: list[FloatArray] = []
    firsts: list[IntArray] = []
    lasts: list[IntArray] = []
    begin, size, group = 0, count, LEAF
    while size and (not lows or size > 1):
        starts = np.arange(0, size, group)
        low, high = np.minimum.reduceat(low, starts), np.maximum.reduceat(high, starts)
        lows.append(low)
        highs.append(high)
        firsts.append(begin + starts)
        lasts.append(begin + np.minimum(starts + group, size))
        begin = sum(map(len, lows[:-1]))
        size, group = len(starts), FAN
    return BoxTree(
        tail,
        head,
        tail_bend[order],
        head_bend[order],
        _complex(np.concatenate([none, *lows])),
        _complex(np.concatenate([none, *highs])),
        np.concatenate([np.empty(0, np.int64), *firsts]),
        np.concatenate([np.empty(0, np.int64), *lasts]),
        leaves,
        order,
    )


def _complex(pairs: FloatArray) -> Any:
    return np.ascontiguousarray(pairs).view(np.complex128).reshape(-1)


def _bend(into: Any, out: Any) -> Any:
    """Return 1 where a ring turns left, -1 where it turns right, 0 where it goes straight on."""
    sine = (into.conj() * out).imag
    return np.where(np.abs(sine) <= FLAT * np.abs(into * out), 0, np.sign(sine)).astype(np.int8)
