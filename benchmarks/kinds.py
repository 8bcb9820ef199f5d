"""Points that people have, and points that are hard: of any size and seed, for benchmarks.

Settings are tried on these, so that nothing is chosen by looking at public sets alone. A kind may
return a few points more or fewer than n, none of them twice.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from yardstick.cases import board

Points = np.ndarray
Kind = Callable[[np.random.Generator, int], Points]


def drawn(kind: str, n: int, seed: int) -> Points:
    """Return an instance of a kind; the same for the same kind, n and seed."""
    stream = np.random.default_rng([list(KINDS).index(kind), n, seed])
    return np.unique(KINDS[kind](stream, n), axis=0)


def uniform(rng: np.random.Generator, n: int) -> Points:
    """Return points uniform in the unit square."""
    return rng.random((n, 2))


def clusters(rng: np.random.Generator, n: int, spread: float) -> Points:
    """Return normal clusters of about 15 points each, `spread` of the square wide."""
    centres = rng.random((max(3, n // 15), 2))
    return centres[rng.integers(0, len(centres), n)] + spread * rng.standard_normal((n, 2))


def lattice(rng: np.random.Generator, n: int, jitter: float = 0.0) -> Points:
    """Return a square lattice whose points are moved by about `jitter` steps."""
    side = round(n**0.5)
    whole = np.stack(np.meshgrid(np.arange(side), np.arange(side)), axis=-1).reshape(-1, 2)
    return whole + jitter * rng.standard_normal(whole.shape)


def holed_lattice(rng: np.random.Generator, n: int, share: float) -> Points:
    """Return so large a share of a square lattice, at random."""
    whole = lattice(rng, round(n / share))
    return whole[rng.permutation(len(whole))[:n]]


def triangular_lattice(rng: np.random.Generator, n: int) -> Points:
    """Return a lattice of equilateral triangles."""
    column, row = lattice(rng, n).T
    return np.stack((column + 0.5 * (row % 2), row * np.sqrt(0.75)), axis=1)


def rounded(rng: np.random.Generator, n: int) -> Points:
    """Return uniform points at few digits, some 20 places for each."""
    return rng.integers(0, round((20 * n) ** 0.5), (n, 2)).astype(float)


def drilled_rows(rng: np.random.Generator, n: int) -> Points:
    """Return rows of drilled holes at few pitches, whose parts are anywhere on a grid."""
    side = max(10.0, round(1.6 * n**0.5))
    rows, count = [], 0
    while count < n:
        row = np.arange(rng.integers(2, 13)) * rng.choice([1.0, 1.0, 1.5, 2.0])
        part = np.stack((row, np.zeros(len(row))), axis=1)
        part = part[:, ::-1] if rng.random() < 0.5 else part
        rows.append(part + np.round(2.0 * side * rng.random(2)) / 2.0)
        count += len(row)
    return np.concatenate(rows)[:n]


def panel(rng: np.random.Generator, n: int) -> Points:
    """Return one small board again and again, in rows with gaps: a panel before it is cut."""
    one = board(rng, min(n, 40))
    one = one[:, ::-1] if rng.random() < 0.5 else one
    copies = -(-n // len(one))
    columns = max(1, round(copies**0.5))
    step = np.ptp(one, axis=0) + rng.integers(2, 9, 2)
    corners = np.stack(np.divmod(np.arange(copies), columns), axis=1) * step
    return (corners[:, None] + one).reshape(-1, 2)


def ladders(rng: np.random.Generator, n: int) -> Points:
    """Return ladders: two long rows each, rungs and gaps of their own, side by side and apart."""
    parts, top, count = [], 0.0, 0
    while count < n:
        rungs = int(rng.integers(10, 41))
        step, width = rng.choice([1.0, 1.0, 2.0]), rng.choice([0.8, 1.0, 1.5, 2.5])
        along = np.arange(rungs) * step + rng.integers(0, 6)
        part = np.array([(x, y) for y in (0.0, width) for x in along])
        parts.append(part + np.array([0.0, top]))
        top += width + rng.choice([1.0, 3.0, 8.0])
        count += 2 * rungs
    return np.concatenate(parts)[:n]


def strips(rng: np.random.Generator, n: int) -> Points:
    """Return blocks of three to five long rows with a step across that differs from that along."""
    parts, top, count = [], 0.0, 0
    while count < n:
        rows, columns = int(rng.integers(3, 6)), int(rng.integers(12, 31))
        step = np.array([1.0, rng.choice([0.7, 1.0, 1.3, 1.8])])
        part = np.stack(np.divmod(np.arange(rows * columns), columns), axis=1)[:, ::-1] * step
        parts.append(part + np.array([rng.integers(0, 9), top]))
        top += rows * step[1] + rng.choice([2.0, 6.0])
        count += rows * columns
    return np.concatenate(parts)[:n]


def streets(rng: np.random.Generator, n: int) -> Points:
    """Return houses on both sides of crossing streets, at whole metres."""
    side = 12.0 * n**0.5
    lines = [np.round(np.sort(rng.random(max(2, round(n**0.5 / 2)))) * side) for _ in range(2)]
    upright, along = rng.random(n) < 0.5, np.round(rng.random(n) * side)
    on = np.where(upright, rng.choice(lines[0], n), rng.choice(lines[1], n))
    on += rng.choice([-4.0, 4.0], n)
    return np.stack((np.where(upright, on, along), np.where(upright, along, on)), axis=1)


def ring(rng: np.random.Generator, n: int) -> Points:
    """Return points at equal distances on a circle, and a few inside."""
    angles = 2.0 * np.pi * np.arange(n) / n
    inside = rng.normal(0.0, 0.3, (n // 20, 2))
    return np.concatenate((np.stack((np.cos(angles), np.sin(angles)), axis=1), inside))


def spiral(rng: np.random.Generator, n: int) -> Points:
    """Return points along a spiral whose arms are as far apart as its points, and further out."""
    turn = 2.0 * np.pi * np.sqrt(np.arange(1, n + 1) * rng.uniform(0.2, 0.5))
    return turn[:, None] * np.stack((np.cos(turn), np.sin(turn)), axis=1)


def scales(rng: np.random.Generator, n: int) -> Points:
    """Return clusters of clusters, each level a tenth as wide as the one above."""
    points = np.zeros((n, 2))
    for level in range(5):
        names = rng.integers(0, 4**level, n)
        points += rng.random((4**level, 2))[names] * 10.0**-level
    return points + 1e-5 * rng.random((n, 2))


# The order is part of the random streams: new kinds go to the end.
KINDS: dict[str, Kind] = {
    "uniform": uniform,
    **{f"clusters {s:g}": partial(clusters, spread=s) for s in (0.1, 0.03, 0.01, 0.003, 0.001)},
    **{f"jittered {s:g}": partial(lattice, jitter=s) for s in (0.3, 0.15, 0.07, 0.03, 0.01)},
    "lattice": lattice,
    "triangles": triangular_lattice,
    "half a lattice": partial(holed_lattice, share=0.5),
    "rounded": rounded,
    "board": board,
    "drilled rows": drilled_rows,
    "panel": panel,
    "ladders": ladders,
    "strips": strips,
    "streets": streets,
    "ring": ring,
    "spiral": spiral,
    "scales": scales,
}  # fmt: skip
