"""A finished generation, and its twin: branches built by Melzak's construction.

The twin of a branch is a nested pair of terminals. Directions are complex numbers of length one;
places follow from circles and lines alone.
"""

from __future__ import annotations

import cmath
import math
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from deepsteiner.fst.enumerate.complete import forest_kernels as store
from deepsteiner.fst.enumerate.complete import growth_kernels, swap_kernels
from deepsteiner.fst.enumerate.complete.generate import _Generation

SIXTH = cmath.exp(-1j * math.pi / 3)
LOOSE = 1e-9


def framed(points: np.ndarray) -> np.ndarray:
    return points - (points.min(axis=0) + points.max(axis=0)) / 2


def cross(a: complex, b: complex) -> float:
    return (a.conjugate() * b).imag


def dot(a: complex, b: complex) -> float:
    return (a.conjugate() * b).real


@dataclass
class Node:
    """A vertex of a placed branch: where it is, what is below it, and the terminals there."""

    place: complex
    terminals: frozenset[int]
    row: int
    children: list[Node] = field(default_factory=list)

    def vertices(self) -> list[Node]:
        return [self, *(v for child in self.children for v in child.vertices())]

    def edges(self) -> list[tuple[Node, Node]]:
        own = [(self, child) for child in self.children]
        return own + [edge for child in self.children for edge in child.edges()]

    def length(self) -> float:
        return sum(abs(a.place - b.place) for a, b in self.edges())


class Grown:
    """A finished generation and its twin's view of it."""

    def __init__(self, points: np.ndarray) -> None:
        run = _Generation(framed(points), None)
        assert run.grow(None)
        self.run = run
        self.n = len(points)
        self.points, self.gaps, self.cells, self.frame = run.ground
        self.z = [complex(x, y) for x, y in self.points]
        self.shape, self.link, self.members, self.stack, self.work = run.forest
        self.first = run.levels.first
        self.count = int(run.state[growth_kernels.BRANCH_COUNT])
        self.branches = range(self.n, self.count)
        tree_link, tree_length, _ = run.trees
        self.known = {
            frozenset((*self.terminals(branch), int(root))): float(tree_length[tree])
            for tree, (branch, root, _) in enumerate(
                tree_link[: run.state[growth_kernels.TREE_COUNT]].tolist()
            )
        }

    @cached_property
    def bottleneck(self) -> np.ndarray:
        """Bottleneck distances, by Floyd and Warshall's algorithm."""
        widest = np.abs(np.subtract.outer(self.z, self.z))
        for k in range(self.n):
            widest = np.minimum(widest, np.maximum(widest[:, k, None], widest[None, k]))
        return widest

    def size(self, row: int) -> int:
        return int(self.link[row, store.SIZE])

    def children(self, row: int) -> tuple[int, int]:
        return int(self.link[row, store.LEFT]), int(self.link[row, store.RIGHT])

    def terminals(self, row: int) -> list[int]:
        begin = int(self.link[row, store.START])
        return self.members[begin : begin + self.size(row)].tolist()

    def equilateral(self, row: int) -> complex:
        if self.size(row) == 1:
            return self.z[row]
        left, right = (self.equilateral(child) for child in self.children(row))
        return left + (right - left) * SIXTH

    def circle(self, row: int, pair: tuple[int, int] | None = None) -> tuple[complex, complex]:
        """Return the equilateral point and the centre of the circle of a branch or a new pair."""
        left, right = (self.equilateral(child) for child in pair or self.children(row))
        top = left + (right - left) * SIXTH
        return top, (left + right + top) / 3

    def placed(self, row: int, u: complex, pair: tuple[int, int] | None = None) -> Node:
        """Return a branch left in direction u: lines through its equilateral points."""
        if self.size(row) == 1 and pair is None:
            return Node(self.z[row], frozenset([row]), row)
        top, centre = self.circle(row, pair)
        place = top + 2 * dot(centre - top, u) * u
        below = []
        for child, turn in zip(pair or self.children(row), (SIXTH, SIXTH.conjugate()), strict=True):
            below.append(self.placed(child, u * turn))
        return Node(place, frozenset().union(*(b.terminals for b in below)), row, below)

    def interval(self, row: int) -> tuple[complex, complex]:
        return parts_of(self.shape[row])

    def inside(self, row: int, u: complex, slack: float = 0.0) -> bool:
        """Return whether a branch may be left in direction u; terminals always may."""
        if self.size(row) == 1:
            return True
        a, b = self.interval(row)
        return cross(a, u) >= -slack and cross(u, b) >= -slack and dot(a, u) > 0

    def samples(self, row: int, count: int = 9) -> list[complex]:
        a, b = self.interval(row)
        width = cmath.phase(b / a)
        return [a * cmath.exp(1j * width * t) for t in np.linspace(0.0, 1.0, count)]


def parts_of(shape: np.ndarray) -> tuple[complex, complex]:
    ax, ay, bx, by = shape[store.AX : store.BY + 1]
    return complex(ax, ay), complex(bx, by)


def is_swappable(above: Node, below: Node, further: list[complex]) -> bool:
    """The swap test on the edge between two Steiner points; `further` are the ends above."""
    way = below.place - above.place
    ends = sorted(
        (child.place - below.place for child in below.children), key=lambda v: cross(way, v)
    )
    others = sorted((end - above.place for end in further), key=lambda v: cross(way, v))
    lengths = [abs(v) for v in (*ends, *others)]
    return swap_kernels.swap_gain(abs(way), *lengths) > 0.5 * swap_kernels.CLEAR


def grown_from(kind: str) -> Grown:
    """Return the generation of some points of a kind: uniform, grid or clusters."""
    rng = np.random.default_rng(5)
    points = 2.0 * rng.random((18, 2)) - 1.0
    if kind == "grid":
        cells = rng.permutation(25)[:14]
        points = np.stack(np.divmod(cells, 5), axis=1) / 4.0 - 0.5
    if kind == "clusters":
        points = rng.choice([-0.8, 0.8], (14, 2)) + 0.1 * rng.random((14, 2))
    made = Grown(points)
    assert made.count > 2 * made.n
    assert len(made.known) > 5
    return made
