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

from deepsteiner.fst.enumerate.complete import swap_kernels
from deepsteiner.fst.enumerate.complete.forest_kernels import Forest
from deepsteiner.fst.enumerate.complete.generate import Growth, begun
from deepsteiner.run.threads import Workers

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
        placed = framed(points)
        run = Growth(placed, begun(placed), None, Workers(1))
        assert run.grow(None)
        self.run = run
        self.n = len(points)
        self.ground, self.forest, self.trees = run.state[:3]
        self.scratch = run.state.scratch
        self.z = self.ground.points.tolist()
        self.branch, self.members = self.forest.branches, self.forest.members
        self.count = int(run.state.progress[0]["branches"])
        self.used = int(run.state.progress[0]["members"])
        self.branches = range(self.n, self.count)
        self.known = {
            frozenset((*self.terminals(branch), root)): length
            for branch, root, _, length in self.trees.items[
                : run.state.progress[0]["trees"]
            ].tolist()
        }

    def copied(self) -> Forest:
        """Return a forest to write into."""
        return Forest(self.branch.copy(), self.members.copy())

    @cached_property
    def bottleneck(self) -> np.ndarray:
        """Bottleneck distances, by Floyd and Warshall's algorithm."""
        widest = np.abs(np.subtract.outer(self.z, self.z))
        for k in range(self.n):
            widest = np.minimum(widest, np.maximum(widest[:, k, None], widest[None, k]))
        return widest

    def size(self, row: int) -> int:
        return int(self.branch[row]["size"])

    def children(self, row: int) -> tuple[int, int]:
        return int(self.branch[row]["left"]), int(self.branch[row]["right"])

    def terminals(self, row: int) -> list[int]:
        begin = int(self.branch[row]["start"])
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
        return self.branch[row]["a"].item(), self.branch[row]["b"].item()

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
