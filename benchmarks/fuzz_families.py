"""Families of adversarial instances: each a function of a random generator and a size.

They are what people's points look like at their worst: exact and nearly exact symmetry, points that
nearly coincide, scales that differ by twelve orders of magnitude, coordinates at the ends of what
floating point can hold. A family may return a few points more or fewer than n.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Points = NDArray[np.float64]
Family = Callable[[np.random.Generator, int], Points]
FAMILIES: dict[str, Family] = {}

ROOT3 = np.sqrt(3.0)
# Sizes of the disturbance from which a symmetric instance gets one at random, and none.
JITTERS = (0.0, 1e-16, 1e-15, 1e-14, 1e-13, 1e-12, 1e-11, 1e-10, 1e-9, 1e-7, 1e-5, 1e-3)


def family(function: Family) -> Family:
    """Register a family under its function's name."""
    FAMILIES[function.__name__] = function
    return function


def jittered(rng: np.random.Generator, points: Points) -> Points:
    """Return the points, each moved by one of the JITTERS (the same for all)."""
    extent = np.ptp(points, axis=0).max()
    return points + rng.choice(JITTERS) * extent * rng.uniform(-1, 1, points.shape)


def thinned(rng: np.random.Generator, points: Points, n: int) -> Points:
    """Return n of the points, in random order."""
    return points[rng.permutation(len(points))[:n]]


def turned(points: Points, angle: float) -> Points:
    """Return the points turned about the origin."""
    c, s = np.cos(angle), np.sin(angle)
    return points @ np.array([[c, s], [-s, c]])


def circle(angles: Points) -> Points:
    """Return points on the unit circle."""
    return np.stack((np.cos(angles), np.sin(angles)), axis=1)


def square_lattice(rows: int, columns: int) -> Points:
    """Return rows x columns points with distance one."""
    return np.stack(np.divmod(np.arange(rows * columns), columns), axis=1).astype(np.float64)


def triangular_lattice(rows: int, columns: int) -> Points:
    """Return a lattice of equilateral triangles with side one."""
    row, column = np.divmod(np.arange(rows * columns), columns)
    return np.stack((column + 0.5 * (row % 2), row * ROOT3 / 2), axis=1)


@family
def uniform(rng: np.random.Generator, n: int) -> Points:
    return rng.random((n, 2))


@family
def gaussian(rng: np.random.Generator, n: int) -> Points:
    return rng.normal(0.5, 0.2, (n, 2))


@family
def heavy_tails(rng: np.random.Generator, n: int) -> Points:
    return rng.standard_cauchy((n, 2))


@family
def whole_square_lattice(rng: np.random.Generator, n: int) -> Points:
    rows = int(rng.integers(1, max(2, int(np.sqrt(n))) + 1))
    return jittered(rng, square_lattice(rows, max(2, n // rows)))


@family
def thinned_square_lattice(rng: np.random.Generator, n: int) -> Points:
    side = int(np.ceil(np.sqrt(n))) + int(rng.integers(0, 3))
    return jittered(rng, thinned(rng, square_lattice(side, side), n))


@family
def turned_square_lattice(rng: np.random.Generator, n: int) -> Points:
    side = int(np.ceil(np.sqrt(n)))
    return turned(thinned(rng, square_lattice(side, side + 1), n), rng.uniform(0, np.pi))


@family
def oblong_lattice(rng: np.random.Generator, n: int) -> Points:
    stretch = rng.choice([0.5, 1 / ROOT3, 0.75, ROOT3 / 2, 1.01, 2.0])
    return jittered(rng, square_lattice(2, max(2, n // 2)) * [1.0, stretch])


@family
def whole_triangular_lattice(rng: np.random.Generator, n: int) -> Points:
    n = min(n, 16)  # ties make these take long
    rows = int(rng.integers(2, max(3, int(np.sqrt(n)) + 1)))
    return jittered(rng, triangular_lattice(rows, max(2, n // rows)))


@family
def thinned_triangular_lattice(rng: np.random.Generator, n: int) -> Points:
    side = int(np.ceil(np.sqrt(n))) + 1
    return jittered(rng, thinned(rng, triangular_lattice(side, side), min(n, 14)))


@family
def turned_triangular_lattice(rng: np.random.Generator, n: int) -> Points:
    side = int(np.ceil(np.sqrt(n))) + 1
    points = thinned(rng, triangular_lattice(side, side), min(n, 14))
    return turned(points, rng.uniform(0, np.pi))


@family
def honeycomb(rng: np.random.Generator, n: int) -> Points:
    row, column = np.divmod(np.arange(36), 6)
    points = np.stack((column * ROOT3 / 2, row * 1.5 + 0.25 * (-1.0) ** (row + column)), axis=1)
    return jittered(rng, thinned(rng, points, min(n, 14)))


@family
def small_integers(rng: np.random.Generator, n: int) -> Points:
    return rng.integers(0, int(rng.integers(2, 9)), (n, 2)).astype(np.float64)


@family
def integers_to_2_53(rng: np.random.Generator, n: int) -> Points:
    return rng.integers(-(2**53), 2**53, (n, 2)).astype(np.float64)


@family
def integers_next_to_2_53(rng: np.random.Generator, n: int) -> Points:
    return (2**53 - rng.integers(0, 50, (n, 2))).astype(np.float64)


@family
def points_on_a_circle(rng: np.random.Generator, n: int) -> Points:
    return jittered(rng, circle(rng.uniform(0, 2 * np.pi, n)))


@family
def regular_polygon(rng: np.random.Generator, n: int) -> Points:
    return jittered(rng, circle(2 * np.pi * np.arange(n) / n + rng.choice([0.0, 0.1, 1.0])))


@family
def polygon_with_centre(rng: np.random.Generator, n: int) -> Points:
    points = circle(2 * np.pi * np.arange(n - 1) / (n - 1))
    return jittered(rng, np.concatenate((points, np.zeros((1, 2)))))


@family
def closed_ring(rng: np.random.Generator, n: int) -> Points:
    """First and last point equal up to rounding, as files write closed rings."""
    return circle(np.linspace(0, 2 * np.pi * rng.integers(1, 3), n) + rng.uniform(0, 1))


@family
def concentric_rings(rng: np.random.Generator, n: int) -> Points:
    rings = int(rng.integers(2, 4))
    angles = 2 * np.pi * np.arange(n // rings) / max(1, n // rings)
    radii = rng.choice([1.0, 0.5, 1 / ROOT3, 1e-3, 1e-9, 1e-12], rings, replace=False)
    return jittered(rng, np.concatenate([radius * circle(angles) for radius in radii]))


@family
def spiral(rng: np.random.Generator, n: int) -> Points:
    t = np.arange(1, n + 1) * rng.choice([0.3, 2.399963, np.pi / 3])
    return circle(t) * rng.choice([t, np.exp(-t), np.sqrt(t)])[:, None]


@family
def parabola(rng: np.random.Generator, n: int) -> Points:
    x = rng.choice([np.linspace(-1, 1, n), rng.uniform(-1, 1, n)])
    return np.stack((x, x**2 * rng.choice([1.0, 1e-6, 1e-12, 1e6])), axis=1)


@family
def cantor_dust(rng: np.random.Generator, n: int) -> Points:
    digits = rng.integers(0, 2, (n, 2, int(rng.integers(2, 28)))) * 2
    return (digits * 3.0 ** -np.arange(1, digits.shape[2] + 1)).sum(axis=2)


@family
def nested_scales(rng: np.random.Generator, n: int) -> Points:
    return circle(rng.uniform(0, 2 * np.pi, n)) * (10.0 ** -rng.uniform(0, 12, n))[:, None]


@family
def nested_squares(rng: np.random.Generator, n: int) -> Points:
    corners = np.array([[1.0, 1.0], [1.0, -1.0], [-1.0, -1.0], [-1.0, 1.0]])
    scales = 10.0 ** -rng.integers(0, 13, max(1, n // 4))
    return jittered(rng, np.concatenate([scale * corners for scale in scales]))


@family
def nearly_collinear(rng: np.random.Generator, n: int) -> Points:
    points = np.stack((rng.random(n), rng.choice(JITTERS) * rng.uniform(-1, 1, n)), axis=1)
    return turned(points, rng.choice([0.0, np.pi / 6, 0.7]))


@family
def collinear(rng: np.random.Generator, n: int) -> Points:
    return np.outer(rng.choice([rng.random(n), rng.integers(0, 9, n)]), rng.uniform(-1, 1, 2))


@family
def duplicates(rng: np.random.Generator, n: int) -> Points:
    points = rng.random((n, 2))
    return points[rng.integers(0, max(3, n // 2), n)]


@family
def near_duplicates(rng: np.random.Generator, n: int) -> Points:
    """Some points again, at 1e-17 to 1e-8."""
    points = rng.random((n, 2))
    copies = int(rng.integers(1, max(2, n // 2)))
    step = 10.0 ** -rng.uniform(8, 17, copies)[:, None] * circle(rng.uniform(0, 7, copies))
    points[-copies:] = points[:copies] + step
    return rng.permutation(points)


@family
def near_duplicates_in_line(rng: np.random.Generator, n: int) -> Points:
    """Chains of points at steps around the tolerance for coinciding."""
    points = rng.random((n, 2))
    chain = int(rng.integers(2, max(3, n - 1)))
    step = 2.0**-36 * rng.choice([0.1, 0.5, 0.99, 1.0, 1.01, 2.0, 10.0])
    points[:chain] = points[0] + np.arange(chain)[:, None] * step * circle(rng.uniform(0, 7, 1))
    return points


@family
def near_duplicates_of_a_lattice(rng: np.random.Generator, n: int) -> Points:
    points = thinned(rng, square_lattice(3, 4), max(3, n // 2))
    step = 10.0 ** -rng.uniform(8, 17)
    return np.concatenate((points, points + step * rng.uniform(-1, 1, points.shape)))


@family
def symmetric_pairs(rng: np.random.Generator, n: int) -> Points:
    """Pairs mirrored in the axis towards which their tree leads, at 1e-17 to 1e-6."""
    half = max(2, n // 2)
    x = rng.uniform(-1, 1, half)
    y = np.where(
        np.arange(half) < half // 2, rng.uniform(0.2, 1, half), 10.0 ** -rng.uniform(6, 17)
    )
    return np.stack((np.tile(x, 2), np.concatenate((y, -y))), axis=1)


@family
def huge_offset(rng: np.random.Generator, n: int) -> Points:
    return rng.random((n, 2)) + 10.0 ** rng.integers(3, 15) * rng.uniform(-1, 1, 2)


@family
def tiny_scale(rng: np.random.Generator, n: int) -> Points:
    return rng.random((n, 2)) * 10.0 ** -rng.integers(50, 300)


@family
def huge_scale(rng: np.random.Generator, n: int) -> Points:
    return (rng.random((n, 2)) - 0.5) * 10.0 ** rng.integers(50, 150)


@family
def denormals(rng: np.random.Generator, n: int) -> Points:
    return rng.integers(-1000, 1000, (n, 2)) * 5e-324


@family
def mixed_magnitudes(rng: np.random.Generator, n: int) -> Points:
    signs = rng.choice([-1.0, 1.0], (n, 2))
    return signs * 10.0 ** rng.uniform(-300, 140, (n, 2))


@family
def ladder(rng: np.random.Generator, n: int) -> Points:
    rungs = max(2, n // 2)
    gap = rng.choice([0.1, 0.5, 1.0, 1 / ROOT3, ROOT3, 3.0])
    return jittered(rng, square_lattice(rungs, 2) * [1.0, gap])


@family
def zigzag(rng: np.random.Generator, n: int) -> Points:
    height = rng.choice([0.1, 0.5, ROOT3 / 2, ROOT3, 1e-9])
    index = np.arange(n)
    return jittered(rng, np.stack((index, height * (index % 2)), axis=1).astype(np.float64))


@family
def equilateral_chain(rng: np.random.Generator, n: int) -> Points:
    """Triangles in a row, each sharing a side with the next."""
    index = np.arange(n)
    return jittered(rng, np.stack((0.5 * index, ROOT3 / 2 * (index % 2)), axis=1))


@family
def star_of_120_degrees(rng: np.random.Generator, n: int) -> Points:
    """Arms that meet at exactly or nearly 120 degrees, in a point that may be a terminal."""
    arms = 2 * np.pi / 3 * np.arange(3) + rng.choice([0.0, 0.3])
    arms = arms + rng.choice(JITTERS) * rng.uniform(-1, 1, 3)
    radii = rng.choice([1.0, 0.5, rng.random()], (max(1, n // 3), 3))
    points = np.concatenate([circle(arms) * row[:, None] for row in np.cumsum(radii, axis=0)])
    return np.concatenate((points, np.zeros((1, 2)))) if rng.random() < 0.5 else points


@family
def corner_of_120_degrees(rng: np.random.Generator, n: int) -> Points:
    """A corner of 120 degrees up to rounding, and some points elsewhere."""
    angle = 2 * np.pi / 3 + rng.choice([0.0, 1.0, -1.0]) * rng.choice(JITTERS)
    corner = np.array([[1.0, 0.0], [0.0, 0.0], [np.cos(angle), np.sin(angle)]])
    return np.concatenate((corner, rng.uniform(2, 4, (max(0, n - 3), 2))))


@family
def full_tree_leaves(rng: np.random.Generator, n: int) -> Points:
    """Leaves of one large full Steiner tree with edges of few lengths."""
    steps = rng.choice([1.0, 1.0, 2.0, rng.random()], 2 * n)
    points, open_ends = [], [(np.zeros(2), 0.0)]
    for step in steps:
        place, heading = open_ends.pop(int(rng.integers(len(open_ends))))
        ahead = place + step * np.array([np.cos(heading), np.sin(heading)])
        if len(points) + len(open_ends) + 2 <= n:
            open_ends += [(ahead, heading + np.pi / 3), (ahead, heading - np.pi / 3)]
        else:
            points.append(ahead)
        if not open_ends:
            break
    return np.array([np.zeros(2), *points, *(end for end, _ in open_ends)])


@family
def points_on_few_lines(rng: np.random.Generator, n: int) -> Points:
    lines = rng.uniform(-1, 1, (int(rng.integers(1, 4)), 2, 2))
    chosen = lines[rng.integers(0, len(lines), n)]
    points = chosen[:, 0] + rng.random((n, 1)) * chosen[:, 1]
    return jittered(rng, points)


@family
def cross(rng: np.random.Generator, n: int) -> Points:
    arm = np.arange(1, max(2, n // 4 + 1))[:, None]
    directions = np.array([[1, 0], [0, 1], [-1, 0], [0, -1]])
    points = np.concatenate([arm * direction for direction in directions]).astype(np.float64)
    return jittered(rng, turned(points, rng.choice([0.0, np.pi / 4, 0.3])))


@family
def anisotropic(rng: np.random.Generator, n: int) -> Points:
    return rng.random((n, 2)) * [1.0, 10.0 ** -rng.integers(1, 16)]


@family
def clusters(rng: np.random.Generator, n: int) -> Points:
    centres = rng.random((max(2, n // 4), 2))
    spread = 10.0 ** -rng.uniform(1, 12)
    return centres[rng.integers(0, len(centres), n)] + spread * rng.normal(0, 1, (n, 2))


@family
def clusters_of_lattices(rng: np.random.Generator, n: int) -> Points:
    centres = rng.random((max(2, n // 4), 2))
    spread = 10.0 ** -rng.uniform(1, 13)
    return np.concatenate([centre + spread * square_lattice(2, 2) for centre in centres])


@family
def drilled_board(rng: np.random.Generator, n: int) -> Points:
    """Rows of equally spaced holes at few pitches, as on circuit boards."""
    parts = []
    while sum(map(len, parts)) < n:
        row = np.arange(rng.integers(2, 6)) * rng.choice([1.0, 1.0, 2.0, 2.54])
        place = rng.integers(0, 12, 2)
        part = np.stack((row, np.zeros(len(row))), axis=1)
        parts.append(place + (part if rng.random() < 0.5 else part[:, ::-1]))
    return jittered(rng, np.concatenate(parts)[:n])


@family
def street_grid(rng: np.random.Generator, n: int) -> Points:
    streets = np.sort(rng.random((2, max(2, n // 3))), axis=1)
    along = rng.random(n) * streets[0].max()
    on = rng.choice(streets[1], n)
    upright = rng.random(n) < 0.5
    return np.stack((np.where(upright, on, along), np.where(upright, along, on)), axis=1)


@family
def rounded_decimals(rng: np.random.Generator, n: int) -> Points:
    return np.round(rng.random((n, 2)), int(rng.integers(1, 5)))


@family
def two_far_clouds(rng: np.random.Generator, n: int) -> Points:
    half = n // 2
    near = rng.random((half, 2)) * 10.0 ** -rng.uniform(0, 12)
    far = rng.random((n - half, 2)) + np.array([10.0 ** rng.integers(0, 6), 0.0])
    return np.concatenate((near, far))
