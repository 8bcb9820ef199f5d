"""Many walls: boxes, triangles, cells, and trees of any size, against plain twins."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import deepsteiner as ds

shapely = pytest.importorskip("shapely")
pytest.importorskip("pythoncdt")

from deepsteiner.core.points import Frame  # noqa: E402
from deepsteiner.plane import box_tree_kernels as boxes  # noqa: E402
from deepsteiner.plane import cell_kernels, mesh_kernels  # noqa: E402
from deepsteiner.plane import sight_kernels as sight  # noqa: E402
from deepsteiner.plane.geodesic_kernels import geodesics, prim  # noqa: E402
from deepsteiner.plane.plane import Plane, as_complex  # noqa: E402
from deepsteiner.plane.routes import few_spanned, spanning_tree  # noqa: E402
from deepsteiner.plane.triangulation import triangulated  # noqa: E402

FRAME = Frame(np.zeros(2), 0)


def random_map(seed: int, n: int, count: int, radius: float) -> tuple[np.ndarray, Plane]:
    """Random polygons that may overlap, a lattice of boxes that touch; points of one region."""
    random = np.random.default_rng(seed)
    shapes = []
    for _ in range(count):
        turn = np.sort(random.random(random.integers(3, 7))) * 2 * np.pi
        shapes.append(
            shapely.Polygon(random.random(2) + radius * np.c_[np.cos(turn), np.sin(turn)])
        )
    corners = random.integers(0, 8, (count // 4, 2)) / 8
    shapes += [shapely.box(x, y, x + 1 / 8, y + 1 / 8) for x, y in corners]
    plane = Plane.of(shapes, 0.0, FRAME)
    walls = plane.walls
    points = np.concatenate(
        (random.random((3 * n, 2)), np.c_[walls.tail.real, walls.tail.imag][:5])
    )
    points = points[~plane.inside(points)]
    region = plane.regions(points)
    kinds, counts = np.unique(region, return_counts=True)
    return points[region == kinds[counts.argmax()]][:n], plane


@pytest.mark.parametrize("seed", range(8))
def test_boxes_answer_as_all_walls_do(seed):
    """`clear_edges` and `deep_places`: also between corners, and along walls."""
    points, plane = random_map(seed, 30, 4 + 5 * seed, 0.15)
    walls = plane.walls
    places = as_complex(np.concatenate((points, np.c_[walls.tail.real, walls.tail.imag][:20])))
    pairs = np.array(list(itertools.combinations(range(len(places)), 2)))
    expected = sight.all_see(walls, places, pairs)
    assert (boxes.clear_edges(plane.boxes, places, pairs) == expected).all()
    spots = as_complex(np.random.default_rng(seed).uniform(-0.2, 1.2, (400, 2)))
    deep = sight.depths(walls, spots) > sight.DEPTH
    assert (boxes.deep_places(plane.boxes, spots) == deep).all()


@pytest.mark.parametrize("seed", range(3))
def test_triangles_fill_the_free_plane(seed):
    """`free_triangles` and `neighbours_of_vertices`."""
    points, plane = random_map(seed, 20, 12, 0.1)
    mesh, number = triangulated(points, [ring for ring, _ in plane.rings], plane.boxes)
    assert (mesh.places[number] == as_complex(points)).all()
    triangles = mesh.places[mesh.corners]
    one, two = triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0]
    areas = 0.5 * (one.conj() * two).imag
    assert (areas > -1e-12).all()
    low, high = mesh.places.real.min(), mesh.places.real.max()
    tall = mesh.places.imag.max() - mesh.places.imag.min()
    covered = shapely.union_all(plane.polygons).area
    assert areas.sum() == pytest.approx((high - low) * tall - covered, abs=1e-9)
    for v in range(len(mesh.places)):
        some = mesh.around[mesh.start[v] : mesh.start[v + 1]]
        assert (mesh.corners[some] == v).any(axis=1).all()
        assert len(some) == (mesh.corners == v).any(axis=1).sum()


@pytest.mark.parametrize("seed", range(8))
def test_the_spanning_tree_is_a_shortest_one(seed):
    """`cells`, `meetings`, `spanning_pairs` and `ways`: no longer than Prim's over all pairs.

    Ways that share bends are joined there, so that it may be shorter.
    """
    points, plane = random_map(seed, 25, 3 + 4 * seed, 0.12)
    corners = plane.corners.of(range(len(plane))).places
    places = as_complex(np.concatenate((points, corners)))
    seen = sight.sight(plane.walls, places, 0, len(places))
    distance, _ = geodesics(places, seen, len(points))
    _, lengths = prim(distance, len(points))
    bends, edges = spanning_tree(plane, points)
    nodes = np.concatenate((points, bends))
    total = np.hypot(*(nodes[edges[:, 0]] - nodes[edges[:, 1]]).T).sum()
    assert len(edges) == len(nodes) - 1
    assert total <= lengths.sum() * (1 + 1e-12)
    assert total >= 0.9 * lengths.sum()
    assert plane.clear(nodes, edges).all()


def test_a_few_points_are_spanned_alike_and_a_stop_still_gives_a_tree():
    """`few_spanned`; `bordering_pairs` where there is no time for more."""
    points, plane = random_map(3, 5, 15, 0.12)
    nodes = [np.concatenate((points, bends)) for bends, _ in
             (few_spanned(plane, points), spanning_tree(plane, points))]  # fmt: skip
    lengths = [
        np.hypot(*(some[edges[:, 0]] - some[edges[:, 1]]).T).sum()
        for some, (_, edges) in zip(
            nodes, (few_spanned(plane, points), spanning_tree(plane, points)), strict=True
        )
    ]
    assert lengths[0] == pytest.approx(lengths[1], rel=1e-9)
    bends, edges = spanning_tree(plane, points, np.ones(1, np.int64))
    assert len(edges) == len(points) + len(bends) - 1
    assert plane.clear(np.concatenate((points, bends)), edges).all()


@settings(max_examples=6, deadline=None)
@given(st.integers(0, 1000), st.sampled_from(["fast", "default"]))
def test_local_is_valid_and_no_longer_than_the_spanning_tree(seed, effort):
    points, plane = random_map(seed, 40, 12, 0.1)
    shapes = list(plane.polygons)
    spanning = ds.solve(points, "mst", obstacles=shapes)
    solution = ds.solve(points, "local", obstacles=shapes, effort=effort)
    assert solution.length <= spanning.length * (1 + 1e-12)
    assert solution.validate() is solution


def test_more_points_than_all_pairs_could_serve():
    points, plane = random_map(0, 2500, 120, 0.02)
    shapes = list(plane.polygons)
    spanning = ds.solve(points, "mst", obstacles=shapes)
    stopped = ds.solve(points, "local", obstacles=shapes, on_progress=lambda one: False)
    assert stopped.status == "interrupted"
    assert stopped.length >= 0.9 * spanning.length


def test_cells_have_the_distances_of_all_pairs():
    """The nearest terminal of every corner, its way there, and pairs across the borders."""
    points, plane = random_map(5, 8, 12, 0.12)
    corners = plane.corners.of(range(len(plane))).places
    n = len(points)
    places = as_complex(np.concatenate((points, corners)))
    seen = sight.sight(plane.walls, places, 0, len(places))
    distance, _ = geodesics(places, seen, n)
    mesh, number = triangulated(
        np.concatenate((points, corners)), [ring for ring, _ in plane.rings], plane.boxes
    )
    is_root = np.zeros(len(mesh.places), np.bool_)
    is_root[number] = True
    go = np.zeros(1, np.int64)
    found = cell_kernels.cells(mesh, plane.boxes, number[:n], is_root, go)
    np.testing.assert_allclose(found.distance[number], distance[:n].min(axis=0), atol=1e-12)
    bounds, _, _ = cell_kernels.along_edges(mesh, number[:n])
    assert (bounds[number] >= found.distance[number] - 1e-12).all()
    order = np.argsort(found.triangle, kind="stable")
    pairs, lengths = cell_kernels.meetings(mesh, found, order, go)
    cheapest = np.argsort(lengths, kind="stable")
    kept, parent = cell_kernels.spanning_pairs(mesh, plane.boxes, found, pairs, cheapest, go)
    _, expected = prim(distance, n)
    assert lengths[kept].sum() == pytest.approx(expected.sum(), rel=1e-12)
    edges = cell_kernels.ways(found, pairs[kept])
    spans = np.abs(mesh.places[edges[:, 0]] - mesh.places[edges[:, 1]])
    assert spans.sum() == pytest.approx(expected.sum(), rel=1e-12)
    assert len(cell_kernels.bordering_pairs(mesh, found, parent)) == 0
    assert len(cell_kernels.bordering_pairs(mesh, found, np.arange(len(parent)))) == n - 1


def test_triangles_around_a_wall_are_free_on_both_sides():
    places = np.array([0, 1, 1 + 1j, 1j])
    corners, across = np.array([[0, 1, 2], [0, 2, 3]]), np.array([[-1, -1, 1], [0, -1, -1]])
    nothing = Plane((), FRAME).boxes
    kept, beyond = mesh_kernels.free_triangles(places, corners, across, nothing)
    assert sorted(map(tuple, kept.tolist())) == [(0, 1, 2), (0, 2, 3)]
    assert (beyond >= 0).sum() == 2
    start, around = mesh_kernels.neighbours_of_vertices(kept, 4)
    assert np.diff(start).tolist() == [2, 1, 2, 1]
    assert len(around) == 6


@pytest.mark.parametrize("seed", range(4))
def test_what_of_segments_is_outside(seed):
    """`free_spans` and `contacts_with`: places along segments, asked one by one."""
    from deepsteiner.plane.joining.span_kernels import contacts_with, free_spans

    _, plane = random_map(seed, 5, 10, 0.2)
    random = np.random.default_rng(seed)
    ring = plane.rings[0][0]
    tails = np.concatenate((random.random((20, 2)), ring[:2]))
    heads = np.concatenate((random.random((20, 2)), 2.0 * ring[1:2] - ring[:1], ring[2:3]))
    rows, shares = free_spans(plane.boxes, as_complex(tails), as_complex(heads))
    assert (shares[:, 0] <= shares[:, 1]).all()
    for k in range(len(tails)):
        t = random.random(300)
        deep = plane.inside(tails[k] + t[:, None] * (heads[k] - tails[k]))
        own = shares[rows == k]
        assert (own[1:, 0] >= own[:-1, 1]).all()
        edge = np.abs(t[:, None] - own.ravel()).min(axis=1, initial=1.0) < 1e-6
        free = ((own[:, :1] <= t) & (t <= own[:, 1:])).any(axis=0)
        assert (free[~edge] == ~deep[~edge]).all()
        found = contacts_with(plane.boxes, complex(*tails[k]), complex(*heads[k]))
        ends = own[(own > 1e-9) & (own < 1 - 1e-9)]
        assert all(np.abs(found - one).min() < 1e-9 for one in ends)
