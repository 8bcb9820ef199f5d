"""Obstacles as they come: forms, unions, clearance, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

import deepsteiner as ds

shapely = pytest.importorskip("shapely")
SQUARE = [[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]]
BOX = shapely.box(0.3, 0.3, 0.7, 0.7)
RING = np.asarray(BOX.exterior.coords)
FEATURE: dict = {"type": "Feature", "properties": {}, "geometry": shapely.geometry.mapping(BOX)}


COLLECTION = {"type": "FeatureCollection", "features": [FEATURE]}


class Described:
    @property
    def __geo_interface__(self):
        return COLLECTION


FORMS = {
    "polygon": BOX,
    "list of polygons": [BOX],
    "multipolygon": shapely.MultiPolygon([BOX]),
    "ring": RING,
    "open ring": RING[:-1],
    "list of rings": [RING.tolist()],
    "geometry": shapely.geometry.mapping(BOX),
    "feature": FEATURE,
    "collection": COLLECTION,
    "described": Described(),
    "overlapping": [shapely.box(0.3, 0.3, 0.6, 0.7), shapely.box(0.5, 0.3, 0.7, 0.7)],
    "touching": [shapely.box(0.3, 0.3, 0.5, 0.7), shapely.box(0.5, 0.3, 0.7, 0.7)],
    "nested": [BOX, shapely.box(0.4, 0.4, 0.5, 0.5)],
    "cracked": [shapely.box(0.3, 0.3, 0.5, 0.7), shapely.box(0.5 + 1e-15, 0.3, 0.7, 0.7)],
    "widened": [shapely.box(0.35, 0.35, 0.65, 0.65), 0.05],
    "a line, widened": [shapely.LineString([(0.3, 0.5), (0.7, 0.5)]), 0.2],
}


@pytest.mark.parametrize("name", FORMS)
def test_every_form_is_the_same_square(name):
    given, clearance = FORMS[name], 0.0
    if "widened" in name:
        given, clearance = given
    solution = ds.solve(SQUARE, "mst", obstacles=given, clearance=clearance)
    (polygon,) = solution.obstacles
    area = shapely.Polygon(polygon[0]).area
    if "line" in name:  # mitred ends reach beyond the line
        assert 0.16 - 1e-9 <= area <= 0.32
    else:
        assert area == pytest.approx(0.16)
        assert solution.length == pytest.approx(3.0)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("lakes", "obstacles must be shapely polygons, GeoJSON"),
        ([[[0, 0], [1, 1]]], r"has 2 points; a ring needs at least 3"),
        ([[[0, 0], [1, 1], [float("nan"), 0]]], "not finite"),
        ({"type": "Polygon"}, "not a GeoJSON geometry"),
        (shapely.LineString([(0.5, -1), (0.5, 2)]), "blocks nothing without a clearance"),
        ((BOX, 0.5), "weight"),
        ((BOX, -2.0), "a weight is a number of at least 1"),
        (shapely.box(-0.5, -0.5, 0.5, 0.5), r"point 0 at \(0, 0\) is inside an obstacle"),
        (
            shapely.box(-1, -1, 0.5, 0.5).difference(shapely.box(-0.1, -0.1, 0.1, 0.1)),
            "point 1 at .* is cut off from point 0",
        ),
    ],
)
def test_what_cannot_be_used_is_refused_in_one_sentence(given, message):
    with pytest.raises(ds.errors.ObstacleError, match=message):
        ds.solve(SQUARE, "mst", obstacles=given)


def test_arguments_are_checked():
    with pytest.raises(ds.errors.OptionError, match="clearance must be a length of at least 0"):
        ds.solve(SQUARE, "mst", obstacles=BOX, clearance=-1)
    with pytest.raises(ds.errors.OptionError, match="'greedy' does not take obstacles; auto, mst"):
        ds.solve(SQUARE, "greedy", obstacles=BOX)
    with pytest.raises(ds.errors.OptionError, match="no options of its own"):
        ds.solve(SQUARE, "exact", obstacles=BOX, max_fst_size=3)


def test_no_obstacles_are_no_obstacles():
    for nothing in (None, [], {"type": "FeatureCollection", "features": []}):
        assert ds.solve(SQUARE, "mst", obstacles=nothing).obstacles == ()


def test_terminals_may_lie_on_the_boundary_and_in_holes():
    edge = ds.solve([[0.3, 0.5], [0.7, 0.5], [0.3, 0.3]], "mst", obstacles=BOX)
    assert edge.length == pytest.approx(0.2 + 0.4 + 0.2)
    yard = shapely.box(-1, -1, 2, 2).difference(shapely.box(-0.5, -0.5, 1.5, 1.5))
    assert ds.solve(SQUARE, "mst", obstacles=yard).length == pytest.approx(3.0)
    corner = shapely.Polygon(
        [(0, 0), (3, 0), (3, 3), (0, 3)], [[(0, 0), (2, 1), (1, 2)]]
    )  # the hole can be left through its corner
    way = ds.solve([[1.0, 1.0], [-1.0, -1.0]], "mst", obstacles=corner)
    assert way.length == pytest.approx(2 * 2**0.5)


def test_solutions_with_bends_survive_every_format(tmp_path):
    points = [[0, 0], [1, 0.1], [0.5, 1.2]]
    solution = ds.solve(points, "mst", obstacles=shapely.box(0.2, -0.5, 0.8, 1.0))
    assert len(solution.bends) > 0
    for suffix in ("json", "geojson", "csv"):
        solution.save(tmp_path / f"tree.{suffix}")
        again = ds.Solution.load(tmp_path / f"tree.{suffix}")
        assert again.to_dict() == solution.to_dict()
    for suffix in ("svg", "png", "pdf"):
        solution.save(tmp_path / f"tree.{suffix}")
    assert "hatch" in (tmp_path / "tree.svg").read_text()
    graph = solution.to_networkx()
    assert [kind for _, kind in graph.nodes(data="kind")].count("bend") == len(solution.bends)
    relayed = solution.with_max_edge(0.2).validate()
    assert relayed.edge_lengths().max() <= 0.2 + 1e-12
    assert relayed.length == solution.length


def test_validate_finds_edges_through_obstacles():
    solution = ds.solve(SQUARE, "mst")
    (outline,) = ds.solve(SQUARE, "mst", obstacles=BOX).obstacles
    moved = tuple(ring + np.array([0.0, -0.4]) for ring in outline)
    from dataclasses import replace

    with pytest.raises(ds.errors.TreeError, match="goes through obstacle 0"):
        replace(solution, obstacles=(moved,)).validate()


def test_obstacles_are_projected_with_the_points():
    pytest.importorskip("pyproj")
    lake = shapely.box(7.03, 49.99, 7.07, 50.06)
    points = [[7.0, 50.0], [7.1, 50.0], [7.05, 50.08]]
    free = ds.solve(points, "mst", crs="EPSG:4326")
    near = ds.solve(points, "mst", crs="EPSG:4326", obstacles=lake)
    wide = ds.solve(points, "mst", crs="EPSG:4326", obstacles=lake, clearance=100.0)
    assert free.length < near.length < wide.length < near.length + 400
    assert np.abs(near.bends - [7.05, 50.0]).max() < 0.1


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e6])
def test_walls_of_no_width_are_none_however_large_the_map_is(scale):
    """A terminal lies on the wall, which no rounding may open or close."""
    low, high = [-0.1, 0.32538824769091623], [0.8, 0.32538824769091623]
    points = np.array([low, [0.35, high[1]], [0.35, 0.5], [0.35, 0.1], high]) * scale
    ring = [low, [0.75, low[1]], [0.75, low[1] + 1e-11], [-0.1, low[1] + 1e-11]]
    triangle = [low, [0.75, low[1]], [0.75, low[1] + 3e-10]]
    far = shapely.box(-3.0, -3.0, -2.5, -2.5)
    free = ds.solve(points, "exact")
    for shape in (ring, triangle):
        wall = shapely.affinity.scale(shapely.Polygon(shape), scale, scale, origin=(0, 0))
        beyond = shapely.affinity.scale(far, scale, scale, origin=(0, 0))
        for obstacles in ([wall], [wall, beyond]):
            solution = ds.solve(points, "exact", obstacles=obstacles)
            assert solution.status == "optimal"
            assert solution.length == pytest.approx(free.length, rel=1e-12)
    thick = shapely.Polygon(
        [(x * scale, y * scale) for x, y in [*ring[:2], (0.75, 0.33), (-0.1, 0.33)]]
    )
    assert ds.solve(points[2:4], "exact", obstacles=[thick]).length > 1.01 * 0.4 * scale


@pytest.mark.parametrize("beyond", [0.0, 1e-13, -1e-13])
def test_a_terminal_on_the_wall_of_a_hole_is_in_the_hole(beyond):
    pierced = shapely.box(0.3, 0.3, 0.7, 0.7) - shapely.box(0.4, 0.4, 0.6, 0.6)
    points = [[0.4 - beyond, 0.5], [0.0, 0.0], [1.0, 0.2]]
    with pytest.raises(ds.errors.ObstacleError, match="cut off"):
        ds.solve(points, obstacles=[pierced])
    inside = ds.solve([points[0], [0.6 + beyond, 0.55]], obstacles=[pierced])
    assert inside.length == pytest.approx(np.hypot(0.2, 0.05), rel=1e-9)


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e6])
@pytest.mark.parametrize("width", [3e-11, 4e-10])
def test_thin_parts_of_thick_obstacles_are_opened(scale, width):
    """A wall between two boxes: too thin to be one, or not."""
    boxes = [shapely.box(0.0, 0.0, 0.4, 1.0), shapely.box(0.6, 0.0, 1.0, 1.0)]
    points = np.array([[0.5, 0.2], [0.5, 0.9], [0.45, 0.7]])

    def solved(thickness):
        wall = shapely.box(0.3, 0.5, 0.7, 0.5 + thickness)
        given = [shapely.affinity.scale(one, scale, scale, origin=(0, 0)) for one in [*boxes, wall]]
        return ds.solve(points * scale, "exact", obstacles=given)

    opened, walled = solved(width), solved(1e-6)
    assert len(opened.obstacles) == 2
    assert opened.status == walled.status == "optimal"
    assert opened.length == pytest.approx(ds.solve(points, "exact").length * scale, rel=1e-9)
    assert walled.length > 2.0 * scale


def test_opening_leaves_the_rest_as_it_is():
    """Needles keep their tips, slits stay open, and corners stay where they were given."""
    from deepsteiner.plane.shapes import unite

    slit = shapely.box(0, 0, 1, 1) - shapely.box(0.5, 0.3, 0.5 + 1e-10, 1.0)
    needle = shapely.Polygon([(2, 0), (3, 0.5), (2, 1e-3), (2, 1e-3 - 1e-10)])
    for given in (slit, needle):
        assert 0.0 < given.minimum_clearance < 1e-9
        (found,) = unite([given], 0.0, 1.0)
        assert found.symmetric_difference(given).area < 1e-12
        places = {tuple(one) for one in shapely.get_coordinates(given)}
        assert {tuple(one) for one in shapely.get_coordinates(found)} <= places
    walled = shapely.union_all([needle, shapely.box(2.5, -1.0, 2.5 + 1e-10, 0.2)])
    assert len(unite([walled], 0.0, 1.0)) == 1
    assert unite([walled], 0.0, 1.0)[0].symmetric_difference(needle).area < 1e-12


def test_ways_bend_where_rings_touch():
    """The hole is left through a point at which no corner of either ring is convex."""
    hole, notch = [(0.4, 0.5), (0.6, 0.5), (0.5, 0.7)], [(0.5, 0.7), (0.4, 1.0), (0.6, 1.0)]
    shape = shapely.box(0, 0, 1, 1) - shapely.Polygon(hole) - shapely.Polygon(notch)
    points = [[0.45, 0.52], [0.5, 1.3], [0.55, 0.52]]
    for method in ("mst", "local", "exact"):
        way = ds.solve(points[:2], method, obstacles=shape)
        assert way.bends.tolist() == [[0.5, 0.7]]
        assert way.length == pytest.approx(np.hypot(0.05, 0.18) + 0.6)
        tree = ds.solve(points, method, obstacles=shape)
        inner = 2 * np.hypot(0.05, 0.18) if method == "mst" else 0.18 + 0.05 * 3**0.5
        assert tree.length <= inner + 0.6 + 1e-9
