"""Melzak's construction with complex numbers, and what a list of small trees should hold.

Slow and obvious: every topology is built in every orientation, every combination of smaller trees
is compared. Several tests use it as the twin of their kernels.
"""

from __future__ import annotations

import cmath
import itertools
import math

import numpy as np

SIXTH = cmath.exp(-1j * math.pi / 3)
TIE = 1e-9


def as_complex(points: np.ndarray) -> list[complex]:
    return [complex(x, y) for x, y in points]


def orientations(tree):
    """All ways to order the children of a nested pair."""
    if not isinstance(tree, tuple):
        return [tree]
    sides = [orientations(side) for side in tree]
    pairs = list(itertools.product(*sides))
    return pairs + [(b, a) for a, b in pairs]


def equilateral(tree, z):
    if not isinstance(tree, tuple):
        return z[tree]
    left, right = (equilateral(side, z) for side in tree)
    return left + (right - left) * SIXTH


def placed(tree, z, top):
    """Steiner points of a tree whose root hangs on `top`, and the sum of its edges."""
    if not isinstance(tree, tuple):
        return [], abs(z[tree] - top)
    left, right, e = (equilateral(t, z) for t in (*tree, tree))
    if abs(top - e) < 1e-12:
        return [], math.inf
    u = (top - e) / abs(top - e)
    centre = (left + right + e) / 3
    s = e + 2 * ((centre - e) * u.conjugate()).real * u
    places, total = [s], abs(s - top)
    for side in tree:
        more, length = placed(side, z, s)
        places += more
        total += length
    return places, total


def full_tree(tree, root, z) -> tuple[float, list[complex]]:
    """Length and Steiner points of the full tree of a topology; infinite where there is none."""
    best = (math.inf, [])
    for turned in orientations(tree):
        line = abs(equilateral(turned, z) - z[root])
        places, total = placed(turned, z, z[root])
        if abs(total - line) < TIE * max(line, 1e-12) and line < best[0]:
            best = (line, places)
    return best


def minimax(z: list[complex]) -> np.ndarray:
    widest = np.abs(np.subtract.outer(z, z))
    for k in range(len(z)):
        widest = np.minimum(widest, np.maximum(widest[:, k, None], widest[None, k]))
    return widest


def spanning(distance: np.ndarray, vertices) -> float:
    inside, rest, total = [min(vertices)], set(vertices) - {min(vertices)}, 0.0
    while rest:
        length, new = min((distance[a, b], b) for a in inside for b in rest)
        inside.append(new)
        rest.discard(new)
        total += float(length)
    return total


def drawn(kind: str, n: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    points = 2.0 * rng.random((n, 2)) - 1.0
    if kind == "clusters":
        points = rng.choice([-0.8, 0.8], (n, 2)) + 0.15 * points
    if kind == "zigzag":  # two rows: full trees that run along both
        along = np.arange(n)
        rows = np.stack((0.14 * along - 0.07 * n, 0.11 * (along % 2)), axis=1)
        points = rows + 0.02 * points
    return points


class Surroundings:
    """Close pairs of an instance and what the twin knows about it."""

    def __init__(self, points: np.ndarray, ground, found) -> None:
        self.ground, self.found = ground, found
        self.n = len(points)
        self.z = as_complex(points)
        self.bottleneck = minimax(self.z)
        self.pairs = {frozenset(pair) for pair in self.ground.pairs[0].tolist()}
        self.cross = {frozenset(pair) for pair in self.ground.cross[0].tolist()}

    def listed(self, size: int) -> list[tuple[list[int], float, list[complex]]]:
        rows = []
        for names, places, lengths in self.found:
            for name, place, length in zip(names.tolist(), places, lengths.tolist(), strict=True):
                own = [v for v in name if v >= 0]
                if len(own) == size:
                    spots = [complex(x, y) for x, y in place.reshape(-1, 2)[: size - 2]]
                    rows.append((own, length, spots))
        return rows

    def three(self, members) -> float:
        """The cheapest way to join three: a full tree or two bottlenecks."""
        a, b, c = members
        return min(full_tree((a, b), c, self.z)[0], spanning(self.bottleneck, members))

    def four(self, members) -> float:
        a, b, c, d = members
        return min(
            full_tree(((p, q), r), s, self.z)[0]
            for p, q, r, s in ((a, b, c, d), (a, c, b, d), (a, d, b, c))
        )

    def link(self, v: int, others) -> float:
        return float(min(self.bottleneck[v, u] for u in others))

    def alternatives(self, members) -> list[float]:
        """What smaller trees over the same terminals cost."""
        members = list(members)
        if len(members) == 3:
            return [spanning(self.bottleneck, members)]
        found = []
        for few in itertools.combinations(members, 3):
            rest = [v for v in members if v not in few]
            links = [self.link(v, few) for v in rest]
            if len(rest) == 1:
                found.append(self.three(few) + links[0])
                continue
            chain = min(links) + float(self.bottleneck[rest[0], rest[1]])
            found.append(self.three(few) + min(sum(links), chain))
            found += [self.three(few) + self.three((*rest, v)) for v in few]
        if len(members) == 5:
            for few in itertools.combinations(members, 4):
                (rest,) = set(members) - set(few)
                found.append(self.four(few) + self.link(rest, few))
        return found

    def edges_fit(self, sides: list[tuple[set[int], float]], members) -> bool:
        """Whether no edge is longer than a bottleneck between its two sides."""
        for side, length in sides:
            others = set(members) - side
            if length > min(self.bottleneck[a, b] for a in side for b in others) + TIE:
                return False
        return True


def clearly_shorter(total: float, alternatives: list[float]) -> bool | None:
    """Whether a tree beats all alternatives; None where that is a matter of rounding."""
    best = min(alternatives)
    return None if abs(total - best) < TIE else total < best


def joined(around: Surroundings, one, two) -> bool:
    return any(frozenset((u, v)) in around.cross for u in one for v in two)
