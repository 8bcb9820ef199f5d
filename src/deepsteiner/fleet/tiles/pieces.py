"""Full components of a tree over sorted points, in files: what tiles and seams are made of."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ...core.points import Array, FloatArray, IntArray
from ...core.trees import offsets


class Pieces(NamedTuple):
    """Full components, laid out as in `FullTrees`; terminals are numbers of sorted points."""

    start: IntArray
    terminals: IntArray
    length: FloatArray
    steiner: FloatArray
    links: IntArray

    @classmethod
    def of(
        cls, points: FloatArray, steiner: FloatArray, edges: IntArray, names: IntArray
    ) -> Pieces:
        """Cut a forest at its terminals; `names` are the numbers of its points."""
        from ...fst.component_kernels import components

        start, terminals, length, places, links = components(points, steiner, edges)
        return cls(start, names[terminals], length, places, links)

    @classmethod
    def pairs(cls, points: FloatArray, pairs: IntArray) -> Pieces:
        """Return edges between terminals as components."""
        count = len(pairs)
        difference = points[pairs[:, 0]] - points[pairs[:, 1]]
        links = np.tile(np.array([[0, 1]]), (count, 1))
        length = np.hypot(difference[:, 0], difference[:, 1])
        return cls(2 * np.arange(count + 1), pairs.reshape(-1), length, np.empty((0, 2)), links)

    @classmethod
    def joined(cls, some: Sequence[Pieces]) -> Pieces:
        """Put several lists together."""
        sizes = [np.diff(one.start) for one in some]
        rest = (np.concatenate([one[k] for one in some]) for k in range(1, 5))
        return cls(offsets(np.concatenate(sizes)), *rest)

    def kept(self, keep: Array) -> Pieces:
        """Return the flagged components."""
        sizes = np.diff(self.start)
        return Pieces(
            offsets(sizes[keep]),
            self.terminals[np.repeat(keep, sizes)],
            self.length[keep],
            self.steiner[np.repeat(keep, sizes - 2)],
            self.links[np.repeat(keep, 2 * sizes - 3)],
        )

    def edges(self, n: int) -> IntArray:
        """Return all edges: terminals keep their numbers, Steiner points are numbered from n."""
        sizes, number = np.diff(self.start), np.arange(len(self.length))
        first = np.repeat(self.start[:-1], 2 * sizes - 3)[:, None]
        count = np.repeat(sizes, 2 * sizes - 3)[:, None]
        steiner = n + first - 2 * np.repeat(number, 2 * sizes - 3)[:, None] + self.links - count
        is_terminal = self.links < count
        at = np.where(is_terminal, first + self.links, 0)
        return np.where(is_terminal, self.terminals[at] if len(at) else 0, steiner)

    def save(self, path: Path) -> None:
        """Write all arrays."""
        np.savez(path, **self._asdict())

    @classmethod
    def load(cls, path: Path) -> Pieces:
        """Read what `save` wrote."""
        with np.load(path) as data:
            return cls(*(data[name] for name in cls._fields))


def terminals_in(path: Path) -> tuple[IntArray, IntArray]:
    """Return where the terminals of each component in a file begin, and all of them."""
    with np.load(path) as data:
        return data["start"], data["terminals"]


def of_each(start: IntArray, flags: Array, reduce: Any) -> Array:
    """Return reduce (a ufunc) over what belongs to each component; none is empty."""
    return np.asarray(reduce.reduceat(flags, start[:-1])) if len(start) > 1 else flags[:0]
