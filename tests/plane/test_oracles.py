"""Trees around obstacles whose lengths are known in closed form, or from the literature."""

from __future__ import annotations

import math

import numpy as np
import pytest

import deepsteiner as ds

shapely = pytest.importorskip("shapely")
SQUARE = [[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]]


def centred_square(side: float) -> list[list[float]]:
    low, high = 0.5 - side / 2, 0.5 + side / 2
    return [[low, low], [high, low], [high, high], [low, high]]


@pytest.mark.parametrize("height", [0.1, 1.0, 3.0])
@pytest.mark.parametrize("method", ["mst", "local", "exact", "auto"])
def test_two_points_and_a_wall(height, method):
    """The way leads over the wall's end: along its top, and straight to both points."""
    half = 0.05
    wall = shapely.box(-half, -height, half, height)
    solution = ds.solve([[-1, 0], [1, 0]], method, obstacles=wall)
    assert solution.length == pytest.approx(2 * math.hypot(1 - half, height) + 2 * half, abs=1e-12)
    assert len(solution.bends) == 2


@pytest.mark.parametrize(
    ("side", "length"), [(0.2, 2.739937261), (0.6, 2.814927675), (0.95, 2.971351598)]
)
def test_a_square_around_a_square(side, length):
    """The last has corners of degree 3."""
    solution = ds.solve(SQUARE, "exact", obstacles=[centred_square(side)])
    assert solution.status == "optimal"
    assert solution.length == pytest.approx(length, abs=1e-9)


@pytest.mark.parametrize(
    ("radius", "length"),
    [(0.1, 3.009975), (0.2, 3.039851), (0.3, 3.090238), (0.4, 3.161243), (0.5, 3.254156)],
)
def test_three_points_around_a_round_lake(radius, length):
    angle = np.arange(3) * 2 * np.pi / 3
    turn = np.arange(24) * 2 * np.pi / 24
    lake = radius * np.c_[np.cos(turn), np.sin(turn)]
    solution = ds.solve(np.c_[np.cos(angle), np.sin(angle)], "exact", obstacles=[lake])
    assert solution.status == "optimal"
    assert solution.length == pytest.approx(length, abs=1e-6)


@pytest.mark.parametrize("width", [3e-9, 1e-8, 1e-7, 1e-5])
@pytest.mark.parametrize("off", [0.0, 1e-13])
def test_a_wall_that_is_hardly_there_costs_hardly_anything(width, off):
    """Directions of edges as short as the wall is wide are known to a few digits only."""
    block = shapely.box(0.0, 0.25, 0.5, 0.5)
    wall = shapely.box(0.75, -1.0, 1.5, -1.0 + width)
    points = [[1.5, -1.0], [0.75 + off, -1.0 + off], [0.25 + off, 0.25 + off], [0.4, 0.98]]
    without = ds.solve(points, "exact", obstacles=[block])
    solution = ds.solve(points, "exact", obstacles=[block, wall])
    assert solution.status == without.status == "optimal"
    assert without.length <= solution.length * (1 + 1e-12)
    assert solution.length <= without.length + 2.5 * width


def test_an_obstacle_out_of_the_way_changes_nothing():
    free = ds.solve(SQUARE, "exact")
    solution = ds.solve(SQUARE, "exact", obstacles=[centred_square(1e-3)])
    assert solution.status == "optimal"
    assert free.length <= solution.length <= free.length + 1e-3
    aside = ds.solve(SQUARE, "exact", obstacles=[[[5, 5], [6, 5], [6, 6]]])
    assert aside.length == pytest.approx(free.length, rel=1e-12)
    assert len(aside.bends) == 0


def grid_length(points: np.ndarray, obstacles: list, step: float) -> float:
    """The shortest tree in a graph: a grid, the points and the corners; never below the optimum.

    Dreyfus and Wagner's programme over subsets of the points, on all pairs of nodes that see each
    other within some steps.
    """
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import dijkstra

    union = shapely.unary_union([shapely.Polygon(one) for one in obstacles])
    low, high = points.min(axis=0) - step, points.max(axis=0) + step
    grid = np.stack(np.meshgrid(*(np.arange(a, b, step) for a, b in zip(low, high, strict=True))))
    nodes = np.concatenate((points, shapely.get_coordinates(union), grid.reshape(2, -1).T))
    nodes = nodes[~shapely.contains_properly(union, shapely.points(nodes))]
    rows, columns = np.triu_indices(len(nodes), 1)
    lengths = np.hypot(*(nodes[rows] - nodes[columns]).T)
    near = lengths < 4.2 * step
    rows, columns, lengths = rows[near], columns[near], lengths[near]
    lines = shapely.linestrings(np.stack((nodes[rows], nodes[columns]), axis=1))
    free = ~shapely.intersects(shapely.buffer(union, -1e-9), lines)
    rows, columns, lengths = rows[free], columns[free], lengths[free]
    size, n = len(nodes), len(points)
    graph = csr_array((lengths, (rows, columns)), shape=(size, size))
    cost = {1 << k: dijkstra(graph, directed=False, indices=k) for k in range(n)}
    for subset in range(1, 1 << n):
        if subset in cost:
            continue
        part = (subset - 1) & subset
        best = np.full(size, np.inf)
        while part:
            best = np.minimum(best, cost[part] + cost[subset ^ part])
            part = (part - 1) & subset
        start = csr_array(
            (np.append(lengths, best), (np.append(rows, np.full(size, size)),
                                        np.append(columns, np.arange(size)))),
            shape=(size + 1, size + 1),
        )  # fmt: skip
        cost[subset] = dijkstra(start, directed=False, indices=size)[:size]
    return float(cost[(1 << n) - 1][0])


@pytest.mark.parametrize(
    "seeds",
    [
        range(4),
        *(pytest.param(range(k, k + 50), marks=pytest.mark.heavy) for k in range(0, 500, 50)),
    ],
    ids=lambda seeds: f"{seeds.start}-{seeds.stop - 1}",
)
def test_a_grid_is_never_better_and_not_much_worse(seeds):
    for seed in seeds:
        compare_with_a_grid(seed)


def compare_with_a_grid(seed):
    """Four points and three polygons at random: `exact`, `local` and `mst` against a grid."""
    random = np.random.default_rng(seed)
    points = random.random((4, 2))
    obstacles = []
    while len(obstacles) < 3:
        middle, radius = random.random(2), random.uniform(0.05, 0.2)
        turn = np.sort(random.random(5)) * 2 * np.pi
        ring = middle + radius * np.c_[np.cos(turn), np.sin(turn)]
        if not shapely.Polygon(ring).buffer(1e-3).intersects(shapely.MultiPoint(points)):
            obstacles.append(ring)
    solution = ds.solve(points, "exact", obstacles=obstacles)
    assert solution.status == "optimal"
    coarse = grid_length(points, obstacles, 0.07 * float(np.ptp(points, axis=0).max()))
    assert solution.length <= coarse + 1e-9
    assert solution.length >= 0.97 * coarse
    for method in ("mst", "local"):
        assert ds.solve(points, method, obstacles=obstacles).length >= solution.length - 1e-12
