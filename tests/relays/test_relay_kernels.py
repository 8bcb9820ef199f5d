"""The kernels that place relays against slow twins."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy.sparse.csgraph import minimum_spanning_tree

from deepsteiner.geometry.random_kernels import new_state
from deepsteiner.plane.sight_kernels import Walls
from deepsteiner.relays.local_kernels import (
    BLOCKED,
    JOINED,
    REACH,
    bottlenecks,
    meeting,
    partners,
    relays_on,
    saving,
    span,
)
from deepsteiner.relays.search_kernels import Ground, Network, improve, network_cost

RADIUS = 0.23
NO_WALLS = Walls(np.empty(0, complex), np.empty(0, complex), np.empty(0, np.int64))
OPEN = Ground(NO_WALLS, np.empty((0, 4)), np.empty(0, complex))


def relays_between(points, radius):
    """Twin: the relays of every pair of points."""
    return np.array(
        [[max(math.ceil(abs(a - b) / radius - 1e-9) - 1, 0) for a in points] for b in points],
        dtype=float,
    )


def spanning_cost(weights):
    """Twin: the cost of a spanning tree, by scipy, which takes zeros for no edge."""
    return minimum_spanning_tree(weights + 1.0).sum() - (len(weights) - 1)


@pytest.fixture
def piece():
    rng = np.random.default_rng(5)
    points = rng.random(14) + 1j * rng.random(14)
    return points, relays_between(points, RADIUS)


def test_relays_on_edges_of_whole_numbers_of_radii():
    assert [relays_on(length, 0.1) for length in (0.0, 0.05, 0.1, 0.1001, 0.3, 0.1 + 0.2)] == [
        0, 0, 0, 1, 2, 2,
    ]  # fmt: skip


def test_spanning_trees_and_their_greatest_weights(piece):
    points, weights = piece
    n = len(points)
    parent, alive, longest = np.empty(n, np.int64), np.ones(n, bool), np.zeros((n, n))
    assert span(weights, alive, n, parent) == spanning_cost(weights)
    bottlenecks(weights, alive, n, parent, longest)
    least = weights.copy()  # twin: the least greatest weight over all ways, by Floyd and Warshall
    for k in range(n):
        least = np.minimum(least, np.maximum(least[:, k : k + 1], least[k : k + 1]))
    apart = ~np.eye(n, dtype=bool)
    assert (longest[apart] == least[apart]).all()


def test_what_joined_nodes_cost(piece):
    points, weights = piece
    weights[2, 9] = weights[9, 2] = JOINED
    parent, alive = np.empty(len(points), np.int64), np.ones(len(points), bool)
    free = np.maximum(weights, 0.0)
    assert span(weights, alive, len(points), parent) == spanning_cost(free)


def test_saving_of_a_hub_is_that_of_the_spanning_trees(piece):
    points, weights = piece
    n = len(points)
    parent, alive, longest = np.empty(n, np.int64), np.ones(n, bool), np.zeros((n, n))
    before = span(weights, alive, n, parent)
    bottlenecks(weights, alive, n, parent, longest)
    chosen, costs = np.empty(REACH, np.int64), np.empty(REACH)
    rng = np.random.default_rng(0)
    best = 0
    for place in rng.random(300) + 1j * rng.random(300):
        size = partners(NO_WALLS, points, alive, n, place, RADIUS, longest, chosen, costs)
        gain = saving(longest, chosen, costs, size)
        with_hub = relays_between([*points, place], RADIUS)
        assert gain == before - spanning_cost(with_hub) - 1
        best = max(best, gain)
    assert best > 0


def test_circles_meet_on_the_side_asked_for():
    for near in (0.5 + 1j, 0.5 - 1j):
        place = meeting(0j, 1.0, 1 + 0j, 1.0, near)
        assert abs(abs(place) - 1) < 1e-12
        assert abs(abs(place - 1) - 1) < 1e-12
        assert (place.imag > 0) == (near.imag > 0)
    assert meeting(0j, 1.0, 3 + 0j, 1.0, 7j) == 7j


def network_of(points):
    n, room = len(points), 4 * len(points) + 80
    places, alive, edges = np.zeros(room, complex), np.zeros(room, bool), np.zeros((room, 2), int)
    places[:n], alive[:n] = points, True
    tree = minimum_spanning_tree(np.abs(points[:, None] - points)).nonzero()
    edges[: n - 1] = np.stack(tree, axis=1)
    return Network(places, alive, edges, np.array([n, n, n - 1]))


def is_tree(network):
    _, used, count = network.counts
    nodes = {v for v in range(used) if network.alive[v]}
    edges = network.edges[:count].tolist()
    reached, waiting = {0}, [0]
    while waiting:
        at = waiting.pop()
        for a, b in edges:
            for one, other in ((a, b), (b, a)):
                if one == at and other not in reached:
                    reached.add(other)
                    waiting.append(other)
    return reached == nodes and len(edges) == len(nodes) - 1


def test_improving_keeps_a_tree_and_counts_right():
    rng = np.random.default_rng(8)
    points = rng.random(40) + 1j * rng.random(40)
    network, state = network_of(points), new_state(1)
    cost = network_cost(network, 0.1)
    for _ in range(20):
        saved = improve(network, OPEN, 0.1, 10, state)
        assert saved >= 0
        assert network_cost(network, 0.1) == cost - saved
        cost -= saved
        assert is_tree(network)
    assert cost < spanning_cost(relays_between(points, 0.1))


def crosses(p, q, a, b):
    """Twin: whether two segments cross in their insides."""

    def side(u, v, w):
        return ((v - u).conjugate() * (w - u)).imag

    return side(p, q, a) * side(p, q, b) < 0 and side(a, b, p) * side(a, b, q) < 0


def test_no_edge_goes_through_a_wall():
    rng = np.random.default_rng(2)
    points = rng.random(24) + 1j * rng.random(24)
    points = points.real * 0.45 + 0.55 * (points.real > 0.5) + 1j * points.imag
    ring = np.array([0.49 + 0.1j, 0.51 + 0.1j, 0.51 + 2j, 0.49 + 2j])
    walls = Walls(ring, np.roll(ring, -1), np.zeros(4, np.int64))
    ground = Ground(walls, np.array([[0.49, 0.1, 0.51, 2.0]]), ring)
    order = np.argsort(points.imag - 10 * points.imag * (points.real > 0.5))
    network, state = network_of(points[order]), new_state(3)
    # Around the lower end of the wall: two hubs there, between the lowest on either side.
    left = np.flatnonzero(network.places[:24].real < 0.5)
    right = np.flatnonzero(network.places[:24].real > 0.5)
    network.places[24:26], network.alive[24:26] = ring[:2], True
    pairs = [*itertools.pairwise(left), *itertools.pairwise(right)]
    pairs += [(left[0], 24), (24, 25), (25, right[0])]
    network.edges[: len(pairs)] = pairs
    network.counts[1:] = 26, len(pairs)
    before = network_cost(network, 0.08)
    for _ in range(15):
        improve(network, ground, 0.08, 10, state)
    assert is_tree(network)
    assert network_cost(network, 0.08) < min(before, BLOCKED)
    sides = list(zip(ring, np.roll(ring, -1), strict=True))
    for a, b in network.places[network.edges[: network.counts[2]]]:
        assert not any(crosses(a, b, *side) for side in sides)
