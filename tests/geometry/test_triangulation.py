"""The tiled triangulation against the one call, and what limits make of large instances."""

from __future__ import annotations

import itertools
import time

import numpy as np
import pytest
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.spatial import Delaunay

import deepsteiner as ds
from deepsteiner.core.trees import pack_one, tree_length
from deepsteiner.geometry.spanning_trees import (
    _edges_of,
    minimum_spanning_tree,
    path_through_strips,
)
from deepsteiner.geometry.triangulation import TILED_FROM, Triangulation, triangulate
from deepsteiner.run.monitor import Monitor
from deepsteiner.run.watch import Stopped, Watch


def cloud(shape: str, n: int, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    if shape == "normal":
        return rng.normal(size=(n, 2))
    if shape == "disc":
        radius, angle = np.sqrt(rng.random(n)), rng.random(n) * 2 * np.pi
        return np.stack((radius * np.cos(angle), radius * np.sin(angle)), axis=1)
    if shape == "tilted strip":
        return rng.random((n, 2)) * [1, 0.01] @ [[0.8, 0.6], [-0.6, 0.8]]
    if shape == "clusters and dust":
        clusters = rng.random((15, 2)).repeat(n // 16, axis=0)
        clusters += 1e-2 * rng.normal(size=clusters.shape)
        return np.concatenate((clusters, rng.random((n - len(clusters), 2))))
    if shape == "arc":  # every point is on the hull: no tile is sure of anything
        angle = rng.random(n)
        return np.stack((np.cos(angle), np.sin(angle)), axis=1)
    return rng.random((n, 2))


SHAPES = ["uniform", "normal", "disc", "tilted strip", "clusters and dust"]


def triangle_set(triangles: np.ndarray) -> set[tuple[int, ...]]:
    return set(map(tuple, np.sort(triangles, axis=1).tolist()))


@pytest.mark.parametrize(
    ("shape", "n", "tile"),
    [*((shape, *size) for shape in SHAPES for size in [(1200, 60), (4000, 500)]), ("arc", 900, 60)],
)
def test_tiles_give_the_triangles_of_one_call(shape, n, tile):
    for seed in range(3):
        points = cloud(shape, n, seed)
        found = triangulate(points, tile=tile)
        assert triangle_set(found.triangles) == triangle_set(Delaunay(points).simplices)
        assert len(found.triangles) == len(triangle_set(found.triangles))
        assert len(found.ties) == 0


def test_threads_do_not_change_the_triangulation():
    points = cloud("uniform", 3000)
    one, three = triangulate(points, tile=200), triangulate(points, tile=200, threads=3)
    assert (one.triangles == three.triangles).all()


def test_triangles_turn_left():
    points = cloud("uniform", 2000)
    a, b, c = np.moveaxis(points[triangulate(points, tile=150).triangles], 1, 0)
    assert (np.cross(np.c_[b - a, 0 * a[:, :1]], np.c_[c - a, 0 * a[:, :1]])[:, 2] > 0).all()


def bare(triangles: np.ndarray) -> Triangulation:
    nothing = np.empty((0, 2), dtype=np.int64)
    return Triangulation(triangles, nothing, nothing[:, 0])


def test_adjacency_equals_scipys():
    points = cloud("normal", 500)
    whole = Delaunay(points)
    across, edges = bare(whole.simplices.astype(np.int64)).adjacency(500)
    assert (across == whole.neighbors).all()
    sides = np.concatenate([whole.simplices[:, [k, (k + 1) % 3]] for k in range(3)])
    pairs = {frozenset(pair) for pair in sides.tolist()}
    assert {frozenset(pair) for pair in edges.tolist()} == pairs
    assert len(edges) == len(pairs)


def test_a_hub_with_thousands_of_edges_takes_no_quadratic_time():
    ring = np.arange(1, 60_001)
    triangles = np.stack((np.zeros(60_000, dtype=np.int64), ring, ring % 60_000 + 1), axis=1)
    across, edges = bare(triangles).adjacency(60_001)
    assert len(edges) == 120_000
    assert (across[:, 0] == -1).all()
    assert (across[:, 1:] >= 0).all()


@pytest.mark.parametrize("shape", ["lattice", "triangular", "columns", "near twins"])
def test_ties_leave_a_connected_graph_with_the_spanning_tree(shape):
    rng = np.random.default_rng(2)
    points = np.stack(np.meshgrid(np.arange(50.0), np.arange(60.0)), axis=-1).reshape(-1, 2)
    if shape == "triangular":
        points = points * [1.0, np.sqrt(0.75)] + np.c_[points[:, 1] % 2 / 2, 0 * points[:, 1]]
    if shape == "columns":
        points = points * [10.0, 0.01]
    if shape == "near twins":
        points = np.concatenate((points, points[:300] + 1e-15 * rng.random((300, 2))))
        points = np.unique(points, axis=0)
    found = triangulate(points, tile=200)
    edges = np.concatenate((found.adjacency(len(points))[1], found.ties))
    graph = coo_array((np.ones(len(edges)), tuple(edges.T)), shape=(len(points),) * 2)
    assert connected_components(graph, directed=False)[0] == 1
    # At a lattice point every nearest neighbour is joined to it.
    lengths = np.linalg.norm(points[edges[:, 0]] - points[edges[:, 1]], axis=1)
    if shape in ("lattice", "columns"):
        near = (1.0, 50 * 59) if shape == "lattice" else (0.01, 50 * 59)
        assert np.isclose(lengths, near[0]).sum() >= near[1]


@pytest.mark.parametrize("shape", ["uniform", "lattice", "clusters", "twins", "line", "star"])
def test_large_spanning_trees_are_minimal(shape):
    rng, n = np.random.default_rng(5), TILED_FROM + 4000
    points = rng.random((n, 2))
    if shape == "lattice":
        points = np.stack(np.meshgrid(np.arange(150.0), np.arange(170.0)), axis=-1).reshape(-1, 2)
    if shape == "clusters":
        points = rng.random((20, 2)).repeat(n // 20, axis=0) + 1e-5 * points
    if shape == "twins":
        points = np.concatenate((points, points[:500] + 1e-17))
    if shape == "line":  # nearly: rounding leaves slivers
        points = points[:, :1] * [[0.6, 0.8]]
    if shape == "star":
        angle = np.linspace(0, 2 * np.pi, n, endpoint=False)
        points = np.stack((np.cos(angle), np.sin(angle)), axis=1) + 1e-9 * points
        points[0] = 0.0
    solution = ds.solve(points, "mst").validate()
    if shape == "line":
        assert solution.length == pytest.approx(np.ptp(np.hypot(*points.T)), rel=1e-12)
        return
    whole = Delaunay(solution.terminals - solution.terminals.mean(axis=0))
    pairs = np.concatenate([whole.simplices[:, [0, 1]], whole.simplices[:, [1, 2]]])
    pairs = np.concatenate([pairs, whole.simplices[:, [2, 0]], whole.coplanar[:, [0, 2]]])
    squared = ((points[pairs[:, 0]] - points[pairs[:, 1]]) ** 2).sum(axis=1)
    expected = kruskal_length(len(points), pairs, np.sqrt(squared))
    assert solution.length <= expected * (1 + 1e-12)
    assert solution.length >= expected * (1 - 1e-6)


def kruskal_length(n: int, pairs: np.ndarray, lengths: np.ndarray) -> float:
    """Kruskal in plain Python."""
    parent, total = list(range(n)), 0.0

    def root(v: int) -> int:
        while parent[v] != v:
            parent[v] = parent[parent[v]]
            v = parent[v]
        return v

    for k in np.argsort(lengths).tolist():
        a, b = root(int(pairs[k, 0])), root(int(pairs[k, 1]))
        if a != b:
            parent[a] = b
            total += lengths[k]
    return total


def test_a_watch_stops_between_tiles():
    reports: list[ds.Progress] = []
    monitor = Monitor(on_progress=lambda report: reports.append(report) or len(reports) < 5)
    with pytest.raises(Stopped):
        triangulate(cloud("uniform", 3000), tile=100, watch=Watch(monitor, patient=False))
    assert monitor.stop_reason == "interrupted"
    assert reports[-1].total == 30


def test_a_watch_reports_while_a_call_runs_and_may_leave_it():
    reports: list[ds.Progress] = []
    watch = Watch(Monitor(on_progress=reports.append))
    assert watch.wait("sleep", lambda: time.sleep(0.2) or 7) == 7
    assert len(reports) >= 3
    with pytest.raises(ZeroDivisionError):
        watch.wait("error", lambda: 1 // 0)
    began = time.perf_counter()
    with pytest.raises(Stopped):
        Watch(Monitor(time_limit=0.1)).wait("sleep", lambda: time.sleep(3.0))
    assert time.perf_counter() - began < 1.5


def test_a_reserve_is_kept_back():
    monitor = Monitor(time_limit=100.0)
    assert Watch(monitor, reserve=50.0).go_on("early")
    assert not Watch(monitor, reserve=100.0).go_on("late")
    assert monitor.stop_reason == "time_limit"


def test_a_path_through_strips_is_a_tree():
    for points in (cloud("uniform", 5000), cloud("uniform", 50) * [0.0, 1.0]):
        pack_one(points, np.empty((0, 2)), path_through_strips(points)).check()


def test_a_path_through_strips_is_not_much_longer_than_the_spanning_tree():
    """About 45 % on uniform points; up one strip and down the next, not along one axis."""
    for seed in range(3):
        points = cloud("uniform", 4000, seed)
        path = tree_length(points, path_through_strips(points))
        shortest = tree_length(points, minimum_spanning_tree(points))
        assert shortest < path < 1.7 * shortest


@pytest.mark.parametrize("method", ["mst", "local", "smith", "thompson"])
def test_no_time_at_all_still_gives_a_tree(method):
    solution = ds.solve(cloud("uniform", 30_000), method, time_limit=0.0).validate()
    assert solution.status == "time_limit"


def test_a_gap_between_triangles_is_closed():
    points = cloud("uniform", TILED_FROM + 500)
    whole = triangulate(points)
    far = np.isin(whole.triangles, np.flatnonzero(points[:, 0] < 0.1)).any(axis=1)
    torn = Triangulation(whole.triangles[~far], whole.ties, whole.loose)
    pairs = _edges_of(points, torn)
    graph = coo_array((np.ones(len(pairs)), tuple(pairs.T)), shape=(len(points),) * 2)
    assert connected_components(graph, directed=False)[0] == 1


@pytest.mark.parametrize("kind", ["uniform", "circle"])
def test_rim_counts_what_no_segment_passes_below_or_above(kind):
    """A slow twin: a point is off the lower rim where a segment between two others is below it."""
    from deepsteiner.geometry.triangulation_kernels import rim

    rng = np.random.default_rng(3)
    angles = rng.uniform(0, 2 * np.pi, 40)
    circle = np.stack((np.cos(angles), np.sin(angles)), axis=1)
    points = rng.random((40, 2)) if kind == "uniform" else circle
    expected = []
    for sign in (1.0, -1.0):
        on_rim = 0
        for x, y in points.tolist():
            others = itertools.permutations(points.tolist(), 2)
            levels = [
                ay + (by - ay) * (x - ax) / (bx - ax)
                for (ax, ay), (bx, by) in others
                if ax < x < bx
            ]
            on_rim += all(sign * (y - level) <= 1e-9 for level in levels)
        expected.append(on_rim)
    assert rim(points, np.lexsort((points[:, 1], points[:, 0]))) == tuple(expected)
