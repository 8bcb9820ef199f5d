"""What the yardstick measures: fixed instances of every kind, and the methods that solve them.

Instances are drawn here, from seeds of their own, and not by the package: an older or a newer
checkout is given the very same points. Their hash stands beside the stored lengths, so that a
random generator that changes under us is noticed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Literal

import numpy as np

Mode = Literal["single", "batch", "first"]
SEED = 64


@dataclass(frozen=True)
class Case:
    """A method on `count` instances of a kind: one by one, as a batch, or in a fresh process.

    `options` are given to `solve` and `solve_many` as they are.
    """

    method: str
    mode: Mode
    kind: str
    n: int
    count: int
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The case in words; `--only` chooses by them, and rows are stored under them."""
        effort = f" {self.options['effort']}" if "effort" in self.options else ""
        return f"{self.method}{effort} {self.mode} {self.kind} {self.n}"

    @property
    def points(self) -> np.ndarray:
        """The instances, (count, n, 2) numbers."""
        return instances(self.kind, self.n, self.count)

    @property
    def set(self) -> str:
        """The name of the instances, under which their best lengths are stored."""
        return f"{self.kind} {self.n}"


def cases() -> list[Case]:
    """Return everything that is measured, the quick ones first."""
    found = [
        Case("exact", "single", "uniform", n, count)
        for n, count in {10: 100, 20: 40, 50: 16, 100: 8, 200: 3, 500: 1, 1000: 1}.items()
    ]
    found += [
        Case("exact", "single", kind, n, count)
        for kind, n, count in (
            ("clustered", 60, 3),
            ("board", 150, 2),
            ("lattice", 25, 1),
            ("jittered", 36, 2),
        )
    ]
    found += [Case("exact", "batch", "uniform", n, count) for n, count in ((10, 400), (20, 60))]
    for method in ("local", "neural"):
        found += [
            _threaded(method, "single", kind, n, count)
            for kind, n, count in (
                ("uniform", 100, 16),
                ("uniform", 1000, 2),
                ("clustered", 100, 10),
                ("board", 300, 3),
                ("lattice", 256, 1),
                ("jittered", 64, 4),
            )
        ]
        found.append(_threaded(method, "batch", "uniform", 20, 200))
        found.append(_threaded(method, "single", "uniform", 5000, 1, effort="fast"))
    found.append(Case("policy", "single", "uniform", 10, 3))
    found.append(Case("policy", "batch", "uniform", 20, 4))
    found += [
        Case(method, "first", "uniform", n, 1)
        for method, n in (
            ("exact", 10),
            ("auto", 100),
            ("local", 100),
            ("neural", 100),
            ("policy", 10),
        )
    ]
    return found


def _threaded(
    method: str, mode: Mode, kind: str, n: int, count: int, effort: str = "default"
) -> Case:
    """Return a case of a method that would take every core; one is less noisy."""
    return Case(method, mode, kind, n, count, {"effort": effort, "threads": 1})


def chosen(words: list[str]) -> list[Case]:
    """Return the cases whose name has every word of any of the texts; all where there are none."""
    wanted = [text.split() for text in words]
    return [
        case
        for case in cases()
        if not wanted or any(set(some) <= set(case.name.split()) for some in wanted)
    ]


def sets() -> dict[str, np.ndarray]:
    """Return all instances by name, as many as any case needs."""
    needed: dict[str, np.ndarray] = {}
    for case in cases():
        if case.count > len(needed.get(case.set, ())):
            needed[case.set] = case.points
    return needed


def content_hash(points: np.ndarray) -> str:
    """Return a name that only these points have."""
    digest = hashlib.blake2b(digest_size=12)
    digest.update(repr(points.shape).encode())
    digest.update(np.ascontiguousarray(points, dtype="<f8").tobytes())
    return digest.hexdigest()


@cache
def instances(kind: str, n: int, count: int) -> np.ndarray:
    """Return instances of a kind and size, each from its own stream: more begin as fewer do."""
    keys = [(list(KINDS).index(kind), n, number) for number in range(count)]
    streams = [np.random.SeedSequence(SEED, spawn_key=key) for key in keys]
    return np.stack([KINDS[kind](np.random.default_rng(stream), n) for stream in streams])


def uniform(rng: np.random.Generator, n: int) -> np.ndarray:
    """Return points uniform in the unit square."""
    return rng.random((n, 2))


def clustered(rng: np.random.Generator, n: int) -> np.ndarray:
    """Return points around ten centres, a hundredth of the square wide."""
    centres = rng.random((10, 2))
    return centres[np.arange(n) % 10] + rng.normal(0.0, 0.01, (n, 2))


def lattice(rng: np.random.Generator, n: int) -> np.ndarray:
    """Return a square lattice."""
    side = round(n**0.5)
    return np.stack(np.meshgrid(np.arange(side), np.arange(side)), axis=-1).reshape(-1, 2) * 1.0


def jittered(rng: np.random.Generator, n: int) -> np.ndarray:
    """Return a square lattice whose points are moved by about a twentieth of its step."""
    return lattice(rng, n) + rng.normal(0.0, 0.05, (n, 2))


def board(rng: np.random.Generator, n: int) -> np.ndarray:
    """Return holes of a drilled board: chips, connectors and vias on a grid, none twice.

    A chip has two rows of pins 3 steps apart, a connector one row; pins are 1 step apart, and vias
    lie on half steps. Parts stand upright or lie, at whole steps.
    """
    side = max(12, round(2.0 * n**0.5))
    taken: dict[tuple[int, int], None] = {}
    while len(taken) < n:
        part = _chip(rng) if rng.random() < 0.6 else _connector(rng)
        if rng.random() < 0.5:
            part = [(y, x) for x, y in part]
        if rng.random() < 0.3:
            part = [(0, 0)]
            corner = rng.integers(0, 2 * side, 2)  # a via: half steps
        else:
            corner = 2 * rng.integers(0, side, 2)
        holes = [(int(corner[0]) + 2 * x, int(corner[1]) + 2 * y) for x, y in part]
        inside = all(0 <= value <= 2 * side for hole in holes for value in hole)
        if inside and not any(hole in taken for hole in holes):
            taken.update(dict.fromkeys(holes))
    return np.array(list(taken)[:n], dtype=float)


def _chip(rng: np.random.Generator) -> list[tuple[int, int]]:
    pins = int(rng.choice([4, 7, 8, 10]))
    return [(x, y) for y in (0, 3) for x in range(pins)]


def _connector(rng: np.random.Generator) -> list[tuple[int, int]]:
    return [(x, 0) for x in range(int(rng.integers(2, 9)))]


# The order is part of the random streams.
KINDS: dict[str, Callable[[np.random.Generator, int], np.ndarray]] = {
    "uniform": uniform,
    "clustered": clustered,
    "lattice": lattice,
    "board": board,
    "jittered": jittered,
}
