"""Spanning trees against slow, obvious twins."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import deepsteiner.geometry.spanning_trees as mst_module
from deepsteiner.core.trees import pack_one, tree_length
from deepsteiner.geometry.spanning_kernels import heaviest_between, merge_tree, spanning_tree
from deepsteiner.geometry.spanning_trees import minimum_spanning_tree, mst_batch
from deepsteiner.geometry.triangulation import TILED_FROM


def reference_length(points: np.ndarray) -> float:
    """Prim in plain Python."""
    inside, best = {0}, {i: (np.hypot(*(points[i] - points[0])), 0) for i in range(1, len(points))}
    total = 0.0
    while best:
        node = min(best, key=lambda i: best[i])
        total += best.pop(node)[0]
        inside.add(node)
        for other in best:
            best[other] = min(best[other], (np.hypot(*(points[other] - points[node])), node))
    return total


def check(points: np.ndarray, expected: float) -> None:
    edges = minimum_spanning_tree(points)
    pack_one(points, np.empty((0, 2)), edges).check()
    assert tree_length(points, edges) == pytest.approx(expected, rel=1e-12, abs=1e-300)


@given(st.integers(1, 30), st.integers(0, 10_000), st.booleans())
def test_small_trees_equal_plain_prim(n, seed, on_grid):
    rng = np.random.default_rng(seed)
    points = rng.integers(0, 4, (n, 2)).astype(float) if on_grid else rng.random((n, 2))
    check(points, reference_length(points))


@pytest.fixture
def sparse_everywhere(monkeypatch):
    """Send even small instances through the triangulation."""
    monkeypatch.setattr(mst_module, "DENSE_LIMIT", 3)


@settings(max_examples=60)
@given(st.integers(4, 60), st.integers(0, 10_000), st.sampled_from(["uniform", "grid", "line"]))
def test_triangulated_trees_equal_plain_prim(n, seed, kind):
    rng = np.random.default_rng(seed)
    points = rng.random((n, 2))
    if kind == "grid":
        points = rng.integers(0, 5, (n, 2)).astype(float)
    if kind == "line":
        points[:, 1] = 0.25 * points[:, 0]
    limit, mst_module.DENSE_LIMIT = mst_module.DENSE_LIMIT, 3
    try:
        check(points, reference_length(points))
    finally:
        mst_module.DENSE_LIMIT = limit


@pytest.mark.usefixtures("sparse_everywhere")
def test_points_that_qhull_drops_are_kept():
    rng = np.random.default_rng(0)
    clusters = np.concatenate([c + 1e-16 * rng.random((5, 2)) for c in rng.random((10, 2))])
    points = np.unique(clusters, axis=0)
    check(points, reference_length(points))


@pytest.mark.usefixtures("sparse_everywhere")
@pytest.mark.parametrize("shape", ["uniform", "lattice", "collinear", "duplicates", "clusters"])
def test_large_instances(shape):
    rng = np.random.default_rng(1)
    points = rng.random((3000, 2))
    if shape == "lattice":
        points = np.stack(np.meshgrid(np.arange(50.0), np.arange(60.0)), axis=-1).reshape(-1, 2)
    if shape == "collinear":
        points[:, 1] = 3 * points[:, 0] + 1
    if shape == "duplicates":
        points = np.concatenate((points[:1600], points[:1400]))
    if shape == "clusters":
        points = rng.random((10, 2)).repeat(300, axis=0) + 1e-7 * points
    dense = spanning_tree(points)  # equal to plain Prim by the tests above
    check(points, tree_length(points, dense))


def test_threads_do_not_change_the_tree():
    points = np.random.default_rng(4).random((TILED_FROM + 2000, 2))
    one, three = minimum_spanning_tree(points), minimum_spanning_tree(points, threads=3)
    assert np.array_equal(one, three)


def test_batch_equals_one_by_one():
    batch = np.random.default_rng(2).random((50, 12, 2))
    edges = mst_batch(batch)
    for points, tree in zip(batch, edges, strict=True):
        assert (tree == minimum_spanning_tree(points)).all()


@given(st.integers(2, 20), st.integers(0, 10_000))
def test_heaviest_edge_between_two_nodes(n, seed):
    rng = np.random.default_rng(seed)
    points = rng.integers(0, 6, (n, 2)).astype(float)
    edges = minimum_spanning_tree(points)
    lengths = np.hypot(*(points[edges[:, 0]] - points[edges[:, 1]]).T)
    order = np.argsort(lengths, kind="stable")
    up, rank = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
    merge_tree(n, edges, order, up, rank)
    position = np.argsort(order)

    def walk(u: int, target: int, came_from: int) -> int | None:
        if u == target:
            return -1
        for e, (a, b) in enumerate(edges.tolist()):
            for x, y in ((a, b), (b, a)):
                if x == u and y != came_from:
                    rest = walk(y, target, u)
                    if rest is not None:
                        return max(rest, int(position[e]))
        return None

    u, v = rng.integers(0, n, 2)
    assert heaviest_between(u, v, up, rank) == walk(u, v, -1)


def test_unique_pairs():
    pairs = np.random.default_rng(0).integers(0, 9, (60, 2))
    expected = np.unique(np.sort(pairs, axis=1), axis=0)
    assert np.array_equal(mst_module.unique_pairs(9, pairs), expected)
    assert mst_module.unique_pairs(9, pairs[:0]).shape == (0, 2)
