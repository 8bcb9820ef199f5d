"""What sees what and shortest ways, against shapely and plain graph searches."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

shapely = pytest.importorskip("shapely")

from deepsteiner.core.points import Frame  # noqa: E402
from deepsteiner.plane import geodesic_kernels as geodesic  # noqa: E402
from deepsteiner.plane import sight_kernels as sight  # noqa: E402
from deepsteiner.plane.plane import Plane, as_complex, as_pairs  # noqa: E402
from deepsteiner.plane.routes import spanning_tree, way_around  # noqa: E402

FRAME = Frame(np.zeros(2), 0)


def random_plane(seed: int, count: int = 6) -> Plane:
    """Triangles, boxes on a lattice that touch and share walls, and a ring with a hole."""
    random = np.random.default_rng(seed)
    shapes = [shapely.Polygon(random.uniform(-1, 1, (3, 2))) for _ in range(count // 2)]
    shapes += [
        shapely.box(x, y, x + w, y + h)
        for x, y, w, h in random.choice([-0.5, -0.25, 0.25, 0.5], (count, 4))
        if w > 0 and h > 0
    ]
    shapes.append(shapely.box(0.5, 0.5, 0.9, 0.9).difference(shapely.box(0.6, 0.6, 0.8, 0.8)))
    return Plane.of(shapes, 0.0, FRAME)


def free_points(plane: Plane, seed: int, count: int) -> np.ndarray:
    """Points outside, some of them corners or on walls."""
    random = np.random.default_rng(seed)
    points = random.uniform(-1, 1, (4 * count, 2))
    walls = plane.walls
    middles = as_pairs(0.5 * (walls.tail + walls.head))
    points = np.concatenate((as_pairs(walls.tail)[::5], middles[::7], points))
    return points[~plane.inside(points)][:count]


def is_free(plane: Plane, a: np.ndarray, b: np.ndarray) -> bool:
    """Nothing of the segment lies inside the obstacles, shrunk by a hair."""
    shrunk = shapely.buffer(shapely.MultiPolygon(plane.polygons), -1e-10, join_style="mitre")
    return not shapely.LineString([a, b]).intersects(shrunk)


@pytest.mark.parametrize("seed", range(6))
def test_sees_is_what_shapely_says(seed):
    """Also between corners and middles of walls; `all_see` and `sight` are many of the same."""
    plane = random_plane(seed)
    points = free_points(plane, seed, 24)
    places = as_complex(points)
    pairs = np.array(list(itertools.combinations(range(len(points)), 2)))
    seen = sight.all_see(plane.walls, places, pairs)
    table = sight.sight(plane.walls, places, 0, len(places))
    for (i, j), one in zip(pairs.tolist(), seen.tolist(), strict=True):
        assert one == is_free(plane, points[i], points[j]), (points[i], points[j])
        assert table[i, j] == table[j, i] == one == plane.sees(points[i], points[j])


@pytest.mark.parametrize("seed", range(3))
def test_depths_are_distances_to_the_boundary(seed):
    plane = random_plane(seed)
    points = np.random.default_rng(seed).uniform(-1, 1, (200, 2))
    whole = shapely.union_all(plane.polygons)
    expected = [
        whole.boundary.distance(spot) if whole.contains(spot) else 0.0
        for spot in shapely.points(points)
    ]
    np.testing.assert_allclose(sight.depths(plane.walls, as_complex(points)), expected, atol=1e-12)


def test_edges_that_graze_a_corner_are_free():
    plane = Plane.of([shapely.box(-0.3, -0.3, 0.1, 0.1)], 0.0, FRAME)
    for angle in np.linspace(math.pi / 2, math.pi, 50):
        way = np.array([math.cos(angle), math.sin(angle)])
        a, b = np.array([0.1, 0.1]) + way / 3, np.array([0.1, 0.1]) - way / 7
        assert plane.sees(a, b)
        assert not plane.sees(a - 1e-8, b - 1e-8)
    assert not plane.sees([-0.3, -0.3], [0.1, 0.1])  # from corner to corner, inside
    assert plane.sees([-0.3, 0.1], [0.1, 0.1])  # along a wall
    assert not plane.sees([-0.1, 0.1], [0.1, -0.1])  # from wall to wall, inside


def plain_distances(plane: Plane, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Floyd and Warshall over everything that shapely calls free."""
    corners = plane.corners.of(range(len(plane))).places
    nodes = np.concatenate((points, corners))
    size = len(nodes)
    distance = np.full((size, size), np.inf)
    for i, j in itertools.product(range(size), repeat=2):
        if i == j or is_free(plane, nodes[i], nodes[j]):
            distance[i, j] = np.hypot(*(nodes[i] - nodes[j]))
    for k in range(size):
        distance = np.minimum(distance, distance[:, [k]] + distance[[k]])
    return nodes, distance


@pytest.mark.parametrize("seed", range(3))
def test_geodesics_spanning_tree_and_special_distances(seed):
    plane = random_plane(seed, 4)
    points = free_points(plane, seed, 40)[-6:]
    plane_regions = plane.regions(points)
    points = points[plane_regions == plane_regions[0]]
    n = len(points)
    nodes, expected = plain_distances(plane, points)
    places = as_complex(nodes)
    seen = sight.sight(plane.walls, places, 0, len(places))
    distance, following = geodesic.geodesics(places, seen, n)
    np.testing.assert_allclose(distance, expected, atol=1e-12)
    for i, j in itertools.product(range(n), range(len(nodes))):
        node, walked = i, 0.0
        while node != j:
            new = following[node, j]
            walked += abs(places[node] - places[new])
            node = new
        assert walked == pytest.approx(expected[i, j], abs=1e-12)
    for i, j in itertools.combinations(range(n), 2):
        assert way_around(plane, points[i], points[j])[1] == pytest.approx(expected[i, j])
    edges, lengths = geodesic.prim(distance, n)
    best = min(
        sum(expected[i, j] for i, j in tree)
        for tree in itertools.combinations(itertools.combinations(range(n), 2), n - 1)
        if len(connected(tree, n)) == n
    )
    assert lengths.sum() == pytest.approx(best)
    bends, links = spanning_tree(plane, points)
    everything = np.concatenate((points, bends))
    assert np.hypot(*(everything[links[:, 0]] - everything[links[:, 1]]).T).sum() <= best + 1e-9
    special = geodesic.special_distances(distance, edges, lengths)
    np.testing.assert_allclose(special, plain_special(expected, n), atol=1e-12)


def connected(tree, n: int) -> set[int]:
    reached, old = {0}, set()
    while reached != old:
        old = set(reached)
        for i, j in tree:
            if i in reached or j in reached:
                reached |= {i, j}
    return reached


def plain_special(distance: np.ndarray, n: int) -> np.ndarray:
    """Longest links minimised over chains: Floyd and Warshall with terminals in the middle."""
    special = distance.copy()
    for k in range(n):
        special = np.minimum(special, np.maximum(special[:, [k]], special[[k]]))
    np.fill_diagonal(special, 0.0)
    return special
