"""Relaxation and refinement: against independent certificates, slow twins and degenerate input."""

import math

import numpy as np
import pytest
from heuristics.relaxation import bound_at, random_full_topology
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from deepsteiner.core.errors import DeepSteinerError
from deepsteiner.core.trees import check_strict
from deepsteiner.geometry.refine_kernels import refine_tree
from deepsteiner.geometry.relaxation import refine, refine_batch, relax


def random_tree(rng, count):
    """A random tree over `count` nodes, with any degrees."""
    order = rng.permutation(count)
    return np.array([[order[i], order[rng.integers(i)]] for i in range(1, count)]).reshape(-1, 2)


def prim(points):
    """Minimum spanning tree, the slow obvious way."""
    inside, edges = [0], []
    while len(inside) < len(points):
        outside = [i for i in range(len(points)) if i not in inside]
        distance = np.linalg.norm(points[inside][:, None] - points[outside][None], axis=2)
        a, b = np.unravel_index(int(np.argmin(distance)), distance.shape)
        edges.append([inside[a], outside[b]])
        inside.append(outside[b])
    return np.array(edges, dtype=np.int64).reshape(-1, 2)


def length_of(terminals, steiner, edges):
    nodes = np.concatenate((np.reshape(terminals, (-1, 2)), np.reshape(steiner, (-1, 2))))
    return float(np.linalg.norm(nodes[edges[:, 0]] - nodes[edges[:, 1]], axis=1).sum())


def assert_certified(terminals, steiner, edges):
    """Within 1e-11 of a bound; each guess which edges are collapsed gives a bound."""
    length = length_of(terminals, steiner, edges)
    assert any(
        length <= (1 + 1e-11) * bound_at(terminals, steiner, edges, 10.0**k)
        for k in (-7, -5, -9, -11)
    )


def scipy_optimum(terminals, start, edges):
    """Independent solver: trust regions on the smoothed length, the smoothing driven to 1e-12."""
    n, s = len(terminals), len(start)

    def parts(x, eps):
        nodes = np.concatenate((terminals, x.reshape(-1, 2)))
        r = nodes[edges[:, 0]] - nodes[edges[:, 1]]
        return r, np.sqrt((r**2).sum(axis=1) + eps**2)

    def gradient(x, eps):
        r, w = parts(x, eps)
        total = np.zeros((n + s, 2))
        np.add.at(total, edges[:, 0], r / w[:, None])
        np.add.at(total, edges[:, 1], -r / w[:, None])
        return total[n:].ravel()

    def hessian(x, eps):
        r, w = parts(x, eps)
        total = np.zeros((n + s, 2, n + s, 2))
        for (a, b), vector, size in zip(edges, r, w, strict=True):
            block = (np.eye(2) - np.outer(vector, vector) / size**2) / size
            for i, j, sign in ((a, a, 1), (b, b, 1), (a, b, -1), (b, a, -1)):
                total[i, :, j] += sign * block
        return total[n:, :, n:].reshape(2 * s, 2 * s)

    x = np.ravel(start).copy()
    for k in range(25):
        eps = 10.0 ** (-k / 2)
        x = minimize(
            lambda z, eps=eps: parts(z, eps)[1].sum(),
            x,
            jac=lambda z, eps=eps: gradient(z, eps),
            hess=lambda z, eps=eps: hessian(z, eps),
            method="trust-exact",
            options={"gtol": 1e-10, "maxiter": 60},
        ).x
    return length_of(terminals, x.reshape(-1, 2), edges)


def assert_strict(terminals, steiner, edges):
    """Degrees, angles and distances of a locally best tree; equal terminals may share an edge."""
    nodes = np.concatenate((np.reshape(terminals, (-1, 2)), steiner))
    n = len(terminals)
    assert len(edges) == len(nodes) - 1
    around = [[] for _ in nodes]
    for a, b in edges:
        around[a].append(b)
        around[b].append(a)
    seen, stack = {0}, [0]
    while stack:
        fresh = [w for w in around[stack.pop()] if w not in seen]
        seen.update(fresh)
        stack += fresh
    assert len(seen) == len(nodes)
    rounding = 64 * np.spacing(np.abs(nodes).max())
    for v, neighbours in enumerate(around):
        vectors = nodes[neighbours] - nodes[v]
        sizes = np.linalg.norm(vectors, axis=1)
        if v >= n:
            assert len(neighbours) == 3
            assert sizes.min() > 0
        vectors = vectors[sizes > 0]
        sizes = sizes[sizes > 0]
        if len(sizes) < 2:
            continue
        angles = np.sort(np.arctan2(vectors[:, 1], vectors[:, 0]))
        gaps = np.diff(np.append(angles, angles[0] + 2 * math.pi))
        tolerance = 1e-6 + rounding / sizes.min()
        if v >= n:
            assert np.abs(gaps - 2 * math.pi / 3).max() < tolerance
        else:
            assert gaps.min() > 2 * math.pi / 3 - tolerance


def lattice(k):
    return np.stack(np.meshgrid(np.arange(k), np.arange(k)), axis=-1).reshape(-1, 2) / k - 0.5


def triangles(k):
    x, y = np.meshgrid(np.arange(k), np.arange(k))
    return np.stack((x + y / 2, y * math.sqrt(3) / 2), axis=-1).reshape(-1, 2) / k - 0.5


def zoo(rng, kind, n):
    """Point sets that break careless geometry."""
    if kind == "uniform":
        return rng.random((n, 2)) - 0.5
    if kind == "lattice":
        return lattice(4)[:n]
    if kind == "triangles":
        return triangles(4)[:n]
    if kind == "collinear":
        return rng.random((n, 1)) * np.array([[1.0, 0.3]])
    if kind == "duplicates":
        return rng.integers(0, 3, (n, 2)) / 4.0
    if kind == "clusters":
        return rng.random((4, 2))[rng.integers(4, size=n)] + 1e-6 * rng.random((n, 2))
    if kind == "circle":
        turn = 2 * math.pi * np.arange(n) / n
        return np.stack((np.cos(turn), np.sin(turn)), axis=1)
    return np.full((n, 2), 0.3)


KINDS = [
    "uniform",
    "lattice",
    "triangles",
    "collinear",
    "duplicates",
    "clusters",
    "circle",
    "equal",
]


def test_random_full_topologies_reach_the_optimum():
    rng = np.random.default_rng(0)
    for _ in range(1000):
        terminals, edges = rng.random((100, 2)), random_full_topology(rng, 100)
        result = relax(terminals, rng.random((98, 2)), edges)
        assert result.converged
        assert result.gap < 1e-12
        assert_certified(terminals, result.steiner, edges)


@pytest.mark.parametrize(("n", "count"), [(4, 300), (5, 300), (20, 100)])
def test_length_meets_an_independent_certificate(n, count):
    rng = np.random.default_rng(n)
    for _ in range(count):
        terminals, edges = rng.random((n, 2)), random_full_topology(rng, n)
        result = relax(terminals, rng.random((n - 2, 2)), edges)
        assert result.length == pytest.approx(
            length_of(terminals, result.steiner, edges), rel=1e-13
        )
        assert_certified(terminals, result.steiner, edges)


def test_length_equals_an_independent_solver():
    rng = np.random.default_rng(1)
    for n in (4, 6, 8, 10):
        terminals, start = rng.random((n, 2)), rng.random((n - 2, 2))
        edges = random_full_topology(rng, n)
        reference = scipy_optimum(terminals, start, edges)
        result = relax(terminals, start, edges)
        assert result.length == pytest.approx(reference, rel=1e-9)
        assert result.lower_bound <= reference * (1 + 1e-13)


@pytest.mark.parametrize("kind", KINDS)
def test_any_topology_over_any_points(kind):
    rng = np.random.default_rng(2)
    for trial in range(60):
        n = int(rng.integers(3, 14))
        terminals = zoo(rng, kind, n)
        s = int(rng.integers(0, 15))
        edges = random_tree(rng, n + s)
        start = [np.zeros((s, 2)), rng.random((s, 2)), terminals[rng.integers(n, size=s)]][
            trial % 3
        ]
        result = relax(terminals, start, edges)
        before = length_of(terminals, start, edges)
        assert length_of(terminals, result.steiner, edges) <= before * (1 + 1e-14)
        assert result.length == pytest.approx(
            length_of(terminals, result.steiner, edges), rel=1e-12, abs=1e-15
        )
        assert result.lower_bound <= result.length
        assert result.gap < 1e-9


def test_steiner_points_of_degree_one_and_two_straighten_out():
    result = relax([[0.0, 0.0], [1.0, 0.0]], [[0.3, 5.0], [9.0, 9.0]], [[0, 2], [2, 1], [2, 3]])
    assert result.length == pytest.approx(1.0, rel=1e-12)


def test_cross_of_degree_four():
    corners = [[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]]
    result = relax(corners, [[0.7, 0.6]], [[0, 4], [1, 4], [2, 4], [3, 4]])
    assert result.length == pytest.approx(4.0, rel=1e-13)
    np.testing.assert_allclose(result.steiner, [[0.0, 0.0]], atol=1e-7)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("start", ["tree", "full"])
def test_refine_gives_strict_trees(kind, start):
    rng = np.random.default_rng(3)
    for _ in range(25):
        n = int(rng.integers(3, 17))
        terminals = zoo(rng, kind, n)
        steiner, edges = np.zeros((0, 2)), None
        if start == "tree":
            edges = prim(terminals)
        else:
            steiner, edges = rng.random((n - 2, 2)), random_full_topology(rng, n)
        fresh, links = refine(terminals, steiner, edges)
        assert length_of(terminals, fresh, links) <= length_of(terminals, steiner, edges) * (
            1 + 1e-14
        )
        assert_strict(terminals, fresh, links)


@pytest.mark.parametrize(
    "shift", [0.0, 1e-12, -1e-12, 1e-9, -1e-9, 1e-7, -1e-7, -1e-6, 1e-3, -1e-3]
)
def test_refine_at_120_degrees(shift):
    angle = 2 * math.pi / 3 + shift
    terminals = np.array([[0.0, 0.0], [1.0, 0.0], [0.4 * math.cos(angle), 0.4 * math.sin(angle)]])
    for start in ([[0.01, 0.01]], [[0.0, 0.0]]):
        steiner, edges = refine(terminals, start, [[0, 3], [1, 3], [2, 3]])
        assert_strict(terminals, steiner, edges)
        assert len(steiner) == (shift < -5e-7) or -5e-7 <= shift < 0
        assert length_of(terminals, steiner, edges) <= 1.4


def test_refine_keeps_detail_of_a_tiny_cluster():
    terminals = np.array([[0.0, 0.0], [1e-6, 0.0], [0.5e-6, 0.9e-6], [1.0, 1.0]])
    steiner, edges = refine(terminals, np.zeros((0, 2)), prim(terminals))
    assert len(steiner) > 0
    assert_strict(terminals, steiner, edges)


def test_refine_is_idempotent():
    rng = np.random.default_rng(4)
    terminals = rng.random((40, 2))
    steiner, edges = refine(terminals, np.zeros((0, 2)), prim(terminals))
    again, links = refine(terminals, steiner, edges)
    np.testing.assert_allclose(again, steiner, atol=1e-12)
    np.testing.assert_array_equal(links, edges)


def test_small_inputs():
    for terminals, edges in (([[1.0, 2.0]], []), ([[1.0, 2.0], [3.0, 4.0]], [[0, 1]])):
        assert relax(terminals, [], edges).length == pytest.approx(
            length_of(terminals, [], np.reshape(edges, (-1, 2)).astype(int))
        )
        steiner, links = refine(terminals, [], edges)
        assert steiner.shape == (0, 2)
        assert links.tolist() == edges


def test_batch_equals_one_by_one():
    rng = np.random.default_rng(5)
    terminals = rng.random((30, 8, 2))
    steiner, edges, start = [], [], [0]
    for points in terminals:
        full = rng.random() < 0.5
        steiner.append(rng.random((6, 2)) if full else np.zeros((0, 2)))
        edges.append(random_full_topology(rng, 8) if full else prim(points))
        start.append(start[-1] + len(steiner[-1]))
    packed, offsets, links = refine_batch(
        terminals, start, np.concatenate(steiner), np.concatenate(edges)
    )
    for b in range(30):
        one, one_edges = refine(terminals[b], steiner[b], edges[b])
        low, high = offsets[b], offsets[b + 1]
        np.testing.assert_array_equal(packed[low:high], one)
        np.testing.assert_array_equal(links[low + 7 * b : high + 7 * (b + 1)], one_edges)


def test_empty_batch():
    steiner, start, edges = refine_batch(np.zeros((0, 5, 2)), [0], [], [])
    assert steiner.shape == edges.shape == (0, 2)
    assert start.tolist() == [0]


def test_kernel_for_other_kernels_equals_the_function():
    from deepsteiner.geometry.refine_kernels import refine_tree

    rng = np.random.default_rng(8)
    terminals, start, edges = rng.random((9, 2)), rng.random((7, 2)), random_full_topology(rng, 9)
    steiner, links, rounds = refine_tree(terminals, start, edges, 50)
    expected, expected_links = refine(terminals, start, edges)
    np.testing.assert_array_equal(steiner, expected)
    np.testing.assert_array_equal(links, expected_links)
    assert 1 <= rounds < 50


def test_many_terminals():
    n = 20_001
    rng = np.random.default_rng(6)
    terminals = np.stack((np.arange(n) / n, 0.9 / n * rng.random(n)), axis=1)
    count = (n - 1) // 2
    left = 2 * np.arange(count)
    edges = np.stack(
        (np.repeat(n + np.arange(count), 3), (left[:, None] + np.arange(3)).ravel()), 1
    )
    result = relax(terminals, terminals[left + 1], edges)
    assert result.gap < 1e-13
    steiner, links = refine(terminals, result.steiner, edges)
    assert length_of(terminals, steiner, links) <= result.length


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.integers(-20, 20), st.integers(-20, 20)), min_size=3, max_size=9),
    st.integers(0, 2**32 - 1),
    st.sampled_from([2.0**-30, 1.0, 2.0**30]),
)
def test_scale_and_grid_points(points, seed, scale):
    rng = np.random.default_rng(seed)
    terminals = scale * np.array(points, dtype=float)
    n = len(terminals)
    edges = random_full_topology(rng, n)
    start = scale * rng.integers(-20, 20, (n - 2, 2)).astype(float)
    result = relax(terminals, start, edges)
    assert result.gap < 1e-9
    steiner, links = refine(terminals, start, edges)
    assert length_of(terminals, steiner, links) <= result.length * (1 + 1e-13)
    assert_strict(terminals, steiner, links)


@pytest.mark.parametrize(
    ("edges", "fault"),
    [
        ([[0, 1], [1, 2]], "has 3 edges"),
        ([[0, 3], [1, 3], [0, 1]], "do not connect"),  # a cycle
        ([[0, 3], [1, 3], [2, 4]], "a node that does not exist"),
        ([[0, 3], [1, 3], [2, -1]], "a node that does not exist"),
    ],
)
def test_what_is_not_a_tree_is_refused(edges, fault):
    for method in (relax, refine):
        with pytest.raises(DeepSteinerError, match=fault):
            method(np.eye(3, 2), [[0.1, 0.1]], edges)


def test_inputs_are_not_changed():
    rng = np.random.default_rng(7)
    terminals, start, edges = rng.random((9, 2)), rng.random((7, 2)), random_full_topology(rng, 9)
    copies = terminals.copy(), start.copy(), edges.copy()
    relax(terminals, start, edges)
    refine(terminals, start, edges)
    for before, after in zip(copies, (terminals, start, edges), strict=True):
        np.testing.assert_array_equal(before, after)


def test_refine_ends_with_relaxed_places_where_splitting_and_contracting_alternate():
    """A corner a little below 120 degrees in a square that is a hundred-thousandth of the tree.

    Its Steiner point saves less than what counts as collapsed; when the rounds are used up, the
    places must still be the best ones of the last topology.
    """
    rng = np.random.default_rng(0)
    corners = np.array([[1.0, 1.0], [1.0, -1.0], [-1.0, -1.0], [-1.0, 1.0]])
    for _ in range(5):
        inner = 1e-5 * (corners + 1e-4 * rng.uniform(-1, 1, (4, 2)))
        points = 0.5 * np.concatenate((corners, inner))
        steiner = np.array([[0.0, -8e-6], [0.0, -0.2], [0.0, 8e-6], [0.0, 0.2]])
        edges = [[4, 5], [8, 5], [6, 8], [1, 9], [2, 9], [8, 9]]
        edges += [[10, 4], [7, 10], [0, 11], [3, 11], [10, 11]]
        tree = points, steiner, np.array(edges)
        for rounds in (1, 2, 5, 50):
            fresh, links, _ = refine_tree(*tree, rounds)
            check_strict(np.concatenate((points, fresh)), links, 8, 0)
