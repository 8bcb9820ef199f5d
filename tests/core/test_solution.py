"""Solution: validation, relays, representation."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import deepsteiner as ds
from deepsteiner.core.errors import OptionError, TreeError

POINTS = np.random.default_rng(2).random((9, 2))
TREE = ds.solve(POINTS, "greedy")


def test_identity_equality_and_frozen():
    assert TREE == TREE
    assert ds.solve(POINTS, "greedy") != TREE
    with pytest.raises(AttributeError):
        TREE.length = 1.0


def test_repr_is_one_line_and_svg_is_svg():
    assert repr(TREE).startswith("<Solution greedy: 9 terminals")
    assert "\n" not in repr(TREE)
    assert TREE._repr_svg_().lstrip().startswith("<svg")


BROKEN = [
    ({"length": TREE.length * 1.001}, "the edges sum to"),
    ({"length": float("nan")}, "the edges sum to"),
    ({"edges": TREE.edges[:-1]}, "edges, got an array of shape"),
    ({"edges": np.zeros_like(TREE.edges)}, "do not connect all points"),
    ({"edges": TREE.edges + 1}, "names a node that does not exist"),
    ({"edges": TREE.edges - 1}, "names a node that does not exist"),
    ({"lower_bound": TREE.length * 1.01}, "lower bound .* exceeds the length"),
    ({"lower_bound": float("nan")}, "lower bound .* exceeds the length"),
    ({"status": "great"}, "status must be one of"),
    ({"steiner_points": TREE.steiner_points * np.nan}, "not finite"),
]


@pytest.mark.parametrize(("change", "message"), BROKEN)
def test_broken_trees_are_refused(change, message):
    with pytest.raises(TreeError, match=message):
        replace(TREE, **change).validate()


def test_strict_asks_for_degree_three_and_120_degrees():
    bare = ds.solve(np.random.default_rng(0).random((12, 2)), "greedy", relax=False)
    bare.validate()
    with pytest.raises(TreeError, match=r"Steiner point of degree 2|do not meet at 120"):
        bare.validate(strict=True)
    moved = TREE.steiner_points + 1e-4
    length = float(replace(TREE, steiner_points=moved).edge_lengths().sum())
    with pytest.raises(TreeError, match="do not meet at 120 degrees"):
        replace(TREE, steiner_points=moved, length=length).validate(strict=True)


def test_gap():
    assert TREE.gap is None
    assert replace(TREE, lower_bound=TREE.length / 2).gap == pytest.approx(1)
    assert ds.solve([[1, 1]], "mst").gap == 0
    assert replace(TREE, lower_bound=0.0).gap == np.inf


@given(st.floats(0.01, 3))
def test_relays_make_every_edge_short_enough(limit):
    relayed = TREE.with_max_edge(limit).validate(strict=True)
    assert relayed.edge_lengths().max() <= limit * (1 + 1e-9)
    expected = np.ceil(TREE.edge_lengths() / limit * (1 - 1e-12)).sum() - len(TREE.edges)
    assert relayed.info["relays"] == expected
    assert len(relayed.steiner_points) == len(TREE.steiner_points) + expected
    assert relayed.length == TREE.length
    assert (relayed.terminals == TREE.terminals).all()


def test_relays_on_exact_multiples():
    line = ds.solve([[0, 0], [3, 0]], "mst").with_max_edge(1)
    assert line.info["relays"] == 2
    assert line.steiner_points.tolist() == [[1, 0], [2, 0]]
    assert ds.solve([[0, 0], [3, 0]], "mst").with_max_edge(3).info["relays"] == 0


@pytest.mark.parametrize("limit", [0, -1, float("nan"), "1", True, None])
def test_bad_relay_limits(limit):
    with pytest.raises(OptionError, match="limit must be a length greater than 0"):
        TREE.with_max_edge(limit)


def test_relays_are_not_inserted_twice_or_without_end():
    with pytest.raises(OptionError, match="already inserted"):
        TREE.with_max_edge(0.1).with_max_edge(0.05)
    with pytest.raises(OptionError, match="at most 10000000 are inserted"):
        TREE.with_max_edge(1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_components_are_counted_alike_with_and_without_numba(seed, monkeypatch):
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    from deepsteiner.core import trees

    rng = np.random.default_rng(seed)
    for _ in range(40):
        number = int(rng.integers(2, 40))
        edges = rng.integers(0, number, (number - 1, 2))
        packed = trees.pack_one(rng.random((number, 2)), np.empty((0, 2)), edges)
        graph = coo_array((np.ones(number - 1), tuple(edges.T)), shape=(number, number))
        expected = connected_components(graph, directed=False)[0]
        for loaded in ({"numba": None}, {}):
            monkeypatch.setattr(trees, "sys", SimpleNamespace(modules=loaded))
            assert packed._component_count() == expected


# --- exports ------------------------------------------------------------------------------------

DOUBLED = ds.solve(np.concatenate((POINTS, POINTS[:2])), "greedy")
LONE = ds.solve([[2, 3]], "mst")


@pytest.mark.parametrize("solution", [TREE, DOUBLED, LONE, TREE.with_max_edge(0.1)])
def test_shapely_takes_a_solution_for_a_geometry(solution):
    shapely = pytest.importorskip("shapely")
    shape = shapely.geometry.shape(solution)
    assert shape.geom_type == "MultiLineString"
    assert shape.equals_exact(solution.to_shapely(), 0.0)
    assert shape.length == pytest.approx(solution.length)
    assert len(shape.geoms) == len(solution.edges)
    assert shapely.geometry.mapping(shape)["type"] == solution.__geo_interface__["type"]
    for line, ends in zip(shape.geoms, solution.edges, strict=True):
        assert np.array_equal(shapely.get_coordinates(line), solution.coordinates[ends])


def test_the_geometry_is_plain_json_in_the_solutions_coordinates():
    import json

    assert json.loads(json.dumps(TREE.__geo_interface__)) == TREE.__geo_interface__
    pytest.importorskip("pyproj")
    degrees = ds.solve([[13.0, 52.0], [14.0, 52.0], [13.5, 53.0]], "mst", crs="EPSG:4326")
    ends = np.array(degrees.__geo_interface__["coordinates"]).reshape(-1, 2)
    assert {tuple(end) for end in ends} == {tuple(point) for point in degrees.terminals}


@pytest.mark.parametrize("solution", [TREE, DOUBLED, LONE, TREE.with_max_edge(0.1)])
def test_scipy_gets_every_edge_twice(solution):
    from scipy.sparse import csgraph

    graph = solution.to_scipy_sparse()
    size = len(solution.coordinates)
    assert (graph.format, graph.shape, graph.nnz) == ("csr", (size, size), 2 * size - 2)
    dense = graph.toarray()
    assert np.array_equal(dense, dense.T)
    assert np.array_equal(
        dense[solution.edges[:, 0], solution.edges[:, 1]], solution.edge_lengths()
    )
    assert graph.sum() / 2 == pytest.approx(solution.length)
    # Edges of length 0 are edges as well.
    assert csgraph.connected_components(graph, directed=False)[0] == 1


def test_paths_through_the_sparse_graph_are_those_of_the_tree():
    nx = pytest.importorskip("networkx")
    from scipy.sparse import csgraph

    found = csgraph.shortest_path(DOUBLED.to_scipy_sparse(), directed=False)
    known = dict(nx.all_pairs_dijkstra_path_length(DOUBLED.to_networkx(), weight="length"))
    for start, lengths in known.items():
        for end, length in lengths.items():
            assert found[start, end] == pytest.approx(length)
    assert found[0, 9] == 0.0
