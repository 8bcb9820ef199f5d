"""The classical heuristics: their kernels against slow twins, their gaps, traces and limits."""

from __future__ import annotations

import itertools
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial import Delaunay

import deepsteiner as ds
from deepsteiner.core.errors import OptionError
from deepsteiner.core.points import Frame
from deepsteiner.core.trees import tree_length
from deepsteiner.geometry import gift_wrapping_kernels
from deepsteiner.geometry.relaxation import refine, relax
from deepsteiner.geometry.spanning_trees import minimum_spanning_tree
from deepsteiner.geometry.vector_kernels import fermat_point, places_of, points_of
from deepsteiner.solvers import batches
from deepsteiner.solvers.kernels import (
    dreyer_insertion_kernels,
    dreyer_kernels,
    slot_kernels,
    smith_kernels,
    thompson_kernels,
    walk_kernels,
)
from plain import mst_length, random_points, star_length, weiszfeld

VARIANTS = [
    ("smith", {}),
    ("smith", {"refine": False}),
    ("thompson", {}),
    ("dreyer", {}),
    ("dreyer", {"variant": "insertion"}),
    ("bereta", {}),
]
every_variant = pytest.mark.parametrize(("method", "options"), VARIANTS)


def cosine(points: np.ndarray, v: int, a: int, b: int) -> float:
    p, q = points[a] - points[v], points[b] - points[v]
    return float(p @ q / np.linalg.norm(p) / np.linalg.norm(q))


# Kernels and their slow twins.


@settings(max_examples=30)
@given(st.integers(0, 10_000))
def test_fermat_point_is_the_best_meeting_point(seed):
    points = random_points(seed, 3)
    place, corner = fermat_point(*places_of(points))
    centre = np.array([place.real, place.imag])
    assert star_length(points, centre) == pytest.approx(weiszfeld(points), rel=1e-7)
    if corner >= 0:
        assert (centre == points[corner]).all()
    else:
        centred = np.concatenate(([centre], points))
        for a, b in itertools.combinations((1, 2, 3), 2):
            assert cosine(centred, 0, a, b) == pytest.approx(-0.5, abs=1e-6)


def test_fermat_point_of_equal_points():
    assert fermat_point(0.5 + 0.5j, 0.5 + 0.5j, 1 + 0j) == (0.5 + 0.5j, 0)


@given(st.integers(0, 10_000), st.integers(3, 40))
def test_gift_wrapping_finds_the_delaunay_triangulation(seed, n):
    points = random_points(seed, n)
    triangles, neighbours = gift_wrapping_kernels.triangulate(points)
    expected = {frozenset(t) for t in Delaunay(points).simplices.tolist()}
    assert {frozenset(t) for t in triangles.tolist()} == expected
    for t, k in itertools.product(range(len(triangles)), range(3)):
        if neighbours[t, k] >= 0:
            shared = set(triangles[t]) & set(triangles[neighbours[t, k]])
            assert shared == set(triangles[t]) - {triangles[t, k]}
            assert t in neighbours[neighbours[t, k]]


def test_gift_wrapping_of_lines_and_lattices():
    line = np.stack((np.arange(7.0), 2 * np.arange(7.0)), axis=1) / 16
    assert len(gift_wrapping_kernels.triangulate(line)[0]) == 0
    lattice = np.stack(np.meshgrid(np.arange(5.0), np.arange(5.0)), axis=-1).reshape(-1, 2) / 8
    triangles, _ = gift_wrapping_kernels.triangulate(lattice)
    assert 32 <= len(triangles) <= 50
    for corners in lattice[triangles]:  # empty circles: all triangles are half a cell
        sides = np.linalg.norm(corners - np.roll(corners, 1, axis=0), axis=1)
        assert sorted(sides) == pytest.approx([1 / 8, 1 / 8, np.sqrt(2) / 8])


@given(st.integers(0, 10_000))
def test_four_terminals_against_relaxation(seed):
    points = random_points(seed, 4)
    length, *steiner = smith_kernels.four_tree(*places_of(points))
    edges = [[0, 4], [1, 4], [4, 5], [2, 5], [3, 5]]
    best = relax(points, points[[0, 2]] / 2 + points[[1, 3]] / 2, edges)
    nodes = np.concatenate((points, best.steiner))
    shortest = np.linalg.norm(nodes[edges][:, 0] - nodes[edges][:, 1], axis=1).min()
    if np.isfinite(length):
        assert length == pytest.approx(best.length, rel=1e-8)
        nodes = np.concatenate((points, points_of(np.array(steiner))))
        assert tree_length(nodes, np.array(edges)) == pytest.approx(length, rel=1e-12)
    else:
        assert shortest < 1e-6


def slow_smith(points: np.ndarray) -> float:
    """Smith, Lee and Liebman's rule over scipy's triangulation, with relaxed topologies."""
    n = len(points)
    tree = {frozenset(edge) for edge in minimum_spanning_tree(points).tolist()}
    length_of = {edge: float(np.linalg.norm(np.diff(points[list(edge)], axis=0))) for edge in tree}
    triangles = [frozenset(t) for t in Delaunay(points).simplices.tolist()]
    pairs = itertools.combinations(triangles, 2)
    options = [(t, frozenset()) for t in triangles]
    options += [(a | b, a & b) for a, b in pairs if len(a & b) == 2]
    found = []
    for chosen, common in options:
        inner = [edge for edge in tree if edge <= chosen]
        if len(inner) != len(chosen) - 1:
            continue
        for nodes, edges in topologies(chosen, common):
            best = relax(points[nodes], points[nodes[: len(nodes) - 2]], edges)
            places = np.concatenate((points[nodes], best.steiner))
            gaps = np.linalg.norm(places[edges][:, 0] - places[edges][:, 1], axis=1)
            if gaps.min() > 1e-6:
                found.append((best.length / sum(length_of[e] for e in inner), best.length, nodes))
    part = list(range(n))
    total = 0.0
    for _, length, nodes in [*sorted(found), *((0, length_of[e], list(e)) for e in tree)]:
        if len({part[v] for v in nodes}) == len(nodes):
            total += length
            joined = {part[v] for v in nodes}
            part = [part[nodes[0]] if p in joined else p for p in part]
    return total


def topologies(chosen, common):
    if len(chosen) == 3:
        yield sorted(chosen), np.array([[0, 3], [1, 3], [2, 3]])
        return
    p, s = sorted(chosen - common)
    q, r = sorted(common)
    edges = np.array([[0, 4], [1, 4], [4, 5], [2, 5], [3, 5]])
    yield [p, q, s, r], edges
    yield [p, r, s, q], edges


@pytest.mark.parametrize("n", [3, 6, 12, 25])
def test_smith_against_its_rule_in_python(n):
    for seed in range(6):
        points = np.random.default_rng(seed).random((n, 2))
        frame = Frame.of(points)
        expected = slow_smith(frame.into(points)) * frame.unit
        assert ds.solve(points, "smith", refine=False).length == pytest.approx(expected, rel=1e-8)


def test_smith_beyond_the_small_triangulation(monkeypatch):
    points = np.random.default_rng(0).random((200, 2))
    own = ds.solve(points, "smith").length
    monkeypatch.setattr("deepsteiner.solvers.textbook.smith.BATCH_LIMIT", 100)
    assert ds.solve(points, "smith").length == pytest.approx(own, rel=1e-12)


class SlowTree:
    """A tree as a dictionary of neighbours, for twins."""

    def __init__(self, points: np.ndarray) -> None:
        self.points = [*points]
        self.near: dict[int, list[int]] = {v: [] for v in range(len(points))}
        self.edges = minimum_spanning_tree(points)
        for a, b in self.edges.tolist():
            self.near[a].append(b)
            self.near[b].append(a)

    def put(self, v: int, a: int, b: int, place: np.ndarray) -> None:
        """Join v, a and b by a new point instead of the edges va and vb."""
        new = len(self.points)
        self.points.append(place)
        self.near[new] = [a, b, v]
        self.near[v] = [u for u in self.near[v] if u not in (a, b)] + [new]
        for u in (a, b):
            self.near[u] = [new if w == v else w for w in self.near[u]]

    def all_edges(self) -> list[tuple[int, int]]:
        return sorted((v, u) for v in self.near for u in self.near[v] if v < u)


def slow_thompson(points: np.ndarray) -> SlowTree:
    """Insert at the narrowest angle of the whole tree, looked for afresh every time."""
    tree = SlowTree(points)
    while True:
        places = np.array(tree.points)
        angles = [
            (cosine(places, v, a, b), v, a, b)
            for v in range(len(points))
            for a, b in itertools.combinations(tree.near[v], 2)
        ]
        widest, v, a, b = max(angles, default=(-1.0, -1, -1, -1))
        if widest <= -0.5 + 1e-7:
            return tree
        place, _ = fermat_point(*(places[[a, b, v]] @ [1, 1j]))
        tree.put(v, a, b, np.array([place.real, place.imag]))


@pytest.mark.parametrize("n", [3, 7, 20, 60])
def test_thompson_inserts_at_the_narrowest_angle(n):
    for seed in range(5):
        points = random_points(seed, n)
        slow = slow_thompson(points)
        state = thompson_kernels.begin(points, minimum_spanning_tree(points))
        saved = thompson_kernels.insert_some(n, state, n)
        count = int(state.tree.size[0])
        assert count == len(slow.points)
        places = points_of(state.tree.places)
        np.testing.assert_allclose(places[:count], np.array(slow.points), rtol=1e-12, atol=1e-12)
        edges = slot_kernels.edges_of(state.tree)
        assert sorted(map(tuple, edges.tolist())) == slow.all_edges()
        assert mst_length(points) - saved == pytest.approx(tree_length(places, edges))


def slow_insertion(points: np.ndarray) -> SlowTree:
    """Dreyer and Overton's first heuristic up to the optimisation, by dictionaries."""
    tree = SlowTree(points)
    lengths = np.linalg.norm(points[tree.edges[:, 0]] - points[tree.edges[:, 1]], axis=1)
    for edge in tree.edges[np.argsort(-lengths, kind="stable")].tolist():
        for v, x in (edge, edge[::-1]):
            if x not in tree.near[v]:
                continue
            places = np.array(tree.points)
            others = [(cosine(places, v, x, z), z) for z in tree.near[v] if z != x]
            if not others or max(others)[0] <= -0.5 + 1e-7:
                continue
            z = max(others)[1]
            p, q = places[x] - places[v], places[z] - places[v]
            a, b = np.linalg.norm(p), np.linalg.norm(q)
            nudge = dreyer_insertion_kernels.NUDGE * min(a, b)
            tree.put(v, x, z, places[v] + nudge * (p / a + q / b))
    return tree


@pytest.mark.parametrize("n", [3, 8, 30])
def test_dreyer_insertion_against_dictionaries(n):
    for seed in range(5):
        points = np.random.default_rng(seed).random((n, 2))
        frame = Frame.of(points)
        slow = slow_insertion(frame.into(points))
        solution = ds.solve(points, "dreyer", variant="insertion", trace=True)
        assert len(solution.info["trace"]) == len(slow.points) - n
        for record in solution.info["trace"]:
            assert len(set(record["between"])) == 3
        nodes = np.array(slow.points)
        steiner, edges = refine(nodes[:n], nodes[n:], np.array(slow.all_edges()))
        expected = tree_length(np.concatenate((nodes[:n], steiner)), edges) * frame.unit
        assert solution.length == pytest.approx(expected, rel=1e-9)


def slow_growth(points: np.ndarray, order: np.ndarray, parent: np.ndarray) -> float:
    """Dreyer and Overton's second heuristic with the whole tree relaxed for every edge tried."""
    n, steiner = len(points), np.empty((0, 2))
    edges = [[int(order[0]), int(order[1])]]
    members = [int(order[0]), int(order[1])]
    for t in map(int, order[2:]):
        members.append(t)
        nodes = np.concatenate((points, steiner))
        before = tree_length(nodes, np.array(edges))
        tried = []
        for row, (u, v) in enumerate(edges):
            place, corner = fermat_point(*(nodes[[u, v, t]] @ [1, 1j]))
            if corner in (0, 1) and (u, v)[corner] >= n:
                continue
            centre = [place.real, place.imag]
            growth = star_length(nodes[[u, v, t]], np.array(centre))
            tried.append((growth - np.linalg.norm(nodes[u] - nodes[v]), row, centre, corner))
        direct = float(np.linalg.norm(points[t] - points[parent[t]]))
        best = (before + direct, [*edges, [int(parent[t]), t]], steiner)
        for growth, row, centre, corner in sorted(tried)[: dreyer_kernels.TRIES]:
            u, v = edges[row]
            rest = edges[:row] + edges[row + 1 :]
            if corner in (0, 1):
                option = (before + growth, [*edges, [(u, v)[corner], t]], steiner)
            elif corner == 2:
                option = (before + growth, [*rest, [u, t], [v, t]], steiner)
            else:
                new = n + len(steiner)
                grown = [*rest, [u, new], [v, new], [t, new]]
                option = relaxed(points, members, np.concatenate((steiner, [centre])), grown)
            best = min(best, option, key=lambda one: one[0])
        _, edges, steiner = best
    return tree_length(np.concatenate((points, steiner)), np.array(edges))


def relaxed(points, members, steiner, edges):
    """Relax the tree over the terminals that have joined."""
    n = len(points)
    names = {v: i for i, v in enumerate(members)}
    names.update({n + i: len(members) + i for i in range(len(steiner))})
    local = [[names[a], names[b]] for a, b in edges]
    result = relax(points[members], steiner, local)
    return result.length, edges, result.steiner


@pytest.mark.parametrize("n", [3, 5, 9, 14])
def test_dreyer_growth_against_relaxing_everything(n):
    for seed in range(5):
        points = random_points(seed, n)
        walk = walk_kernels.breadth_first(minimum_spanning_tree(points))
        order, parent = walk.order, walk.parent
        tree = dreyer_kernels.begin(points, order)
        near = np.empty((n, 0), dtype=np.int64)
        first = float(np.linalg.norm(points[order[0]] - points[order[1]]))
        grown = first + dreyer_kernels.grow(tree, walk, near, 2, n)
        count = int(tree.sizes[0])
        assert tree_length(points_of(tree.places), tree.ends[: count - 1]) == pytest.approx(
            grown, rel=1e-9
        )
        assert grown == pytest.approx(slow_growth(points, order, parent), rel=1e-8)


def test_dreyer_loses_little_by_trying_near_edges_only(monkeypatch):
    points = np.random.default_rng(3).random((120, 2))
    everything = ds.solve(points, "dreyer").length
    monkeypatch.setattr("deepsteiner.solvers.textbook.dreyer.BATCH_LIMIT", 10)
    assert ds.solve(points, "dreyer").length == pytest.approx(everything, rel=2e-3)


def test_pieces_are_connected_and_cut_at_terminals():
    points = random_points(0, 400)
    edges = refine(points, [], minimum_spanning_tree(points))[1]
    labels = walk_kernels.piece_labels(400, edges, 40)
    assert 4 <= len(np.unique(labels)) <= 10
    shared: dict[int, set[int]] = {}
    for label in np.unique(labels):
        piece = edges[labels == label]
        assert len(np.unique(piece)) == len(piece) + 1  # acyclic and as many: connected
        for v in np.unique(piece):
            shared.setdefault(int(v), set()).add(int(label))
    assert all(v < 400 for v, pieces in shared.items() if len(pieces) > 1)


def test_refining_in_pieces_is_strict_and_nearly_as_good(monkeypatch):
    points = np.random.default_rng(0).random((600, 2))
    whole = ds.solve(points, "thompson").length
    monkeypatch.setattr(batches, "_PIECE", 100)
    pieces = ds.solve(points, "thompson").validate(strict=True)
    assert whole <= pieces.length * (1 + 1e-12)
    assert pieces.length < whole * 1.0005
    phases = []
    ds.solve(points, "thompson", on_progress=lambda progress: phases.append(progress.phase))
    assert phases.count("refining") >= 4
    stopped = ds.solve(
        points, "thompson", on_progress=lambda progress: progress.phase != "refining"
    )
    assert stopped.validate().status == "interrupted"
    assert stopped.length >= whole


# All of them.

GAP_RANGES = {  # per cent, at n = 20 and n = 100
    ("smith", "refined"): (0.15, 0.35),
    ("smith", "published"): (0.3, 0.45),
    ("thompson", ""): (0.25, 0.45),
    ("dreyer", "incremental"): (0.1, 0.3),
    ("dreyer", "insertion"): (0.35, 0.6),
}


@pytest.mark.parametrize(("method", "kind"), list(GAP_RANGES))
@pytest.mark.parametrize("name", ["u20", "u100"])
def test_gaps_and_shares_on_golden_instances(golden, method, kind, name):
    options = {"dreyer": {"variant": kind}, "smith": {"refine": kind != "published"}}
    points, optimum = golden(name, 400)
    lengths = ds.solve_many(points, method, **options.get(method, {})).lengths
    spanning = ds.solve_many(points, "mst").lengths
    low, high = GAP_RANGES[method, kind]
    assert low < 100 * (lengths / optimum - 1).mean() < high
    assert (lengths / optimum - 1).min() > -1e-9
    assert (spanning - lengths).sum() > 0.8 * (spanning - optimum).sum()


@every_variant
def test_variants_on_degenerate_instances(method, options, zoo_points):
    solution = ds.solve(zoo_points, method, **options).validate(strict=True)
    spanning = ds.solve(zoo_points, "mst").length
    assert spanning * np.sqrt(3) / 2 * (1 - 1e-9) <= solution.length <= spanning * (1 + 1e-12)


@every_variant
def test_alone_and_in_a_batch_are_the_same(method, options):
    for n in (3, 4, 11, 40):
        points = np.random.default_rng(n).random((5, n, 2))
        batch = ds.solve_many(points, method, seed=2, **options)
        threads = ds.solve_many(points, method, seed=2, workers=2, **options)
        for index, one in enumerate(points):
            alone = ds.solve(one, method, seed=2, **options)
            for other in (batch[index], threads[index]):
                assert other.length == alone.length
                assert (other.edges == alone.edges).all()
                assert (other.steiner_points == alone.steiner_points).all()


@every_variant
def test_trace_does_not_change_the_tree(method, options):
    points = np.random.default_rng(9).random((25, 2))
    plain = ds.solve(points, method, **options)
    traced = ds.solve(points, method, trace=True, **options)
    assert traced.length == plain.length
    assert traced.info["trace"]


@pytest.mark.parametrize("method", ["thompson", "dreyer", "smith"])
def test_traces_add_up(method):
    points = np.random.default_rng(9).random((25, 2))
    options = {"refine": False} if method == "smith" else {}
    solution = ds.solve(points, method, trace=True, **options)
    saved = sum(record["saving"] for record in solution.info["trace"])
    reached = ds.solve(points, "mst").length - saved
    if method == "smith":
        assert reached == pytest.approx(solution.length)
    else:  # the relaxation that follows is not part of the trace
        assert reached == pytest.approx(solution.info["trace"][-1]["length"])
        assert reached * 0.98 < solution.length <= reached * (1 + 1e-12)


@every_variant
def test_limits_hold_on_larger_instances(method, options):
    points = np.random.default_rng(1).random((1900, 2))
    ds.solve(points[:300], method, **options)  # compiles
    for limit in (0.0, 0.05):
        started = time.perf_counter()
        solution = ds.solve(points, method, time_limit=limit, **options)
        assert time.perf_counter() - started < 2.0  # a busy machine needs the room
        solution.validate()
        assert solution.length <= mst_length(points) * (1 + 1e-12)


@pytest.mark.parametrize(
    ("method", "options", "message"),
    [
        ("dreyer", {"variant": "both"}, "one of incremental, insertion"),
        ("bereta", {"iterations": -1}, "at least 0"),
        ("bereta", {"population": 0}, "at least 1"),
        ("bereta", {"write_back": 1.5}, "at most 1"),
        ("smith", {"refine": 1}, "must be bool"),
    ],
)
def test_bad_options(method, options, message):
    with pytest.raises(OptionError, match=message):
        ds.solve([[0, 0], [1, 0], [0, 1]], method, **options)


def test_or_library_instances(shared_data):
    with np.load(shared_data / "orlib_estein.npz") as data:
        for n in (50, 250, 1000):
            points, optimum = data[f"points_{n}"], data[f"optimal_{n}"]
            lengths = ds.solve_many(points, "smith").validate(strict=True).lengths
            assert (lengths / optimum - 1).mean() < 0.0043


def test_smith_takes_no_tree_whose_steiner_point_is_a_terminal():
    # By symmetry the second Steiner point of ab|cd falls on the third terminal.
    points = np.array([[6240.0, 6952.0], [6384.0, 7172.0], [6384.0, 6732.0], [6480.0, 6732.0]])
    inside = Frame.of(points).into(points)
    assert smith_kernels.four_tree(*places_of(inside))[0] == np.inf
    ds.solve(points, "smith", refine=False).validate(strict=True)
