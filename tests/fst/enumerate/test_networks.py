"""Full Steiner trees that join networks, against every topology minimised numerically."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy.optimize import minimize

shapely = pytest.importorskip("shapely")

from deepsteiner.fst.enumerate.networks import branch_kernels as branching  # noqa: E402
from deepsteiner.fst.enumerate.networks import march_kernels as marching  # noqa: E402
from deepsteiner.fst.enumerate.networks import site_kernels as sites  # noqa: E402
from deepsteiner.fst.enumerate.networks.generate import generate  # noqa: E402
from deepsteiner.fst.enumerate.networks.growth_kernels import head_on  # noqa: E402
from deepsteiner.fst.enumerate.networks.site import layout_of, site_of  # noqa: E402
from deepsteiner.fst.select.optional.concatenation import concatenate  # noqa: E402
from deepsteiner.plane import contact_kernels as contact  # noqa: E402


def setting(seed: int, n: int, parts: int, optional: int = 0):
    """Random terminals and parts, each a line of one or two segments, apart from one another."""
    random = np.random.default_rng(seed)
    places = random.uniform(-1, 1, (n, 2)) @ [1, 1j]
    tail, head, owner, drawn = [], [], [], []
    while len(drawn) < parts:
        middle = random.uniform(-0.8, 0.8, 2) @ [1, 1j]
        steps = random.normal(size=(random.integers(1, 3), 2)) @ [0.25, 0.25j]
        chain = middle + np.concatenate(([0], np.cumsum(steps)))
        line = shapely.LineString(np.stack((chain.real, chain.imag), axis=1))
        if any(line.distance(other) < 1e-3 for other in drawn):
            continue
        part = len(drawn)
        drawn.append(line)
        for a, b in itertools.pairwise(chain):
            tail.append(a)
            head.append(b)
            owner.append(n + part)
    layout = layout_of(
        places, np.arange(n), np.array(tail), np.array(head), np.array(owner), n + parts
    )
    return layout, n + parts - optional


def ends_of(layout, node: int) -> list[tuple[complex, complex]]:
    """What a leaf of a node may lie on: a point, or one of some segments."""
    points = [(z, z) for z, own in zip(layout.places, layout.node, strict=True) if own == node]
    return points + [
        (layout.tail[k], layout.head[k]) for k in range(layout.first[node], layout.first[node + 1])
    ]


def topologies(leaves: int) -> list[list[tuple[int, int]]]:
    """All full topologies, as edges; leaves come first, then Steiner points."""
    if leaves == 2:
        return [[(0, 1)]]
    found = [[(0, leaves), (1, leaves), (2, leaves)]]
    for new in range(3, leaves):
        more = []
        for edges in found:
            for k, (a, b) in enumerate(edges):
                middle = leaves + new - 2
                more.append([*edges[:k], *edges[k + 1 :], (a, middle), (b, middle), (new, middle)])
        found = more
    return found


def least_length(ends: list[tuple[complex, complex]], edges: list[tuple[int, int]]) -> float:
    """The least length of a topology whose leaves may slide along segments: it is convex."""
    count, random = len(ends), np.random.default_rng(0)
    tail, head = (np.array([one[side] for one in ends]) for side in range(2))
    starts, stops = np.array(edges).T
    inner = count - 2

    def measured(x):
        share, free = x[:count], x[count:]
        places = np.concatenate((tail + share * (head - tail), free[:inner] + 1j * free[inner:]))
        way = places[starts] - places[stops]
        size = np.sqrt(np.abs(way) ** 2 + 1e-24)
        pull = np.zeros(len(places), complex)
        np.add.at(pull, starts, way / size)
        np.add.at(pull, stops, -way / size)
        slide = (pull[:count] * np.conj(head - tail)).real
        return size.sum(), np.concatenate((slide, pull[count:].real, pull[count:].imag))

    middle = np.concatenate((tail, head)).mean()
    spread = random.normal(size=2 * inner) * 0.1
    begin = np.concatenate(
        (np.full(count, 0.5), np.full(inner, middle.real), np.full(inner, middle.imag))
    )
    begin[count:] += spread
    limits = [(0.0, 1.0)] * count + [(None, None)] * (2 * inner)
    done = minimize(
        measured, begin, jac=True, bounds=limits, method="L-BFGS-B",
        options={"ftol": 1e-15, "gtol": 1e-10, "maxiter": 2000},
    )  # fmt: skip
    return float(done.fun)


def by_brute_force(layout, mandatory: int) -> float:
    """The shortest tree: every set of nodes as one full tree, or as two trees that share a node."""
    count = len(layout.first) - 1
    full = {}
    for size in range(2, count + 1):
        for nodes in itertools.combinations(range(count), size):
            choices = itertools.product(*(ends_of(layout, node) for node in nodes))
            full[frozenset(nodes)] = min(
                least_length(list(ends), edges)
                for ends in choices
                for edges in topologies(size)
            )  # fmt: skip
    best = {frozenset([node]): 0.0 for node in range(count)}
    for nodes, length in full.items():  # smaller sets come first
        best[nodes] = length
        for size in range(2, len(nodes)):
            for one in itertools.combinations(sorted(nodes), size):
                rest = nodes - set(one)
                for shared in one:
                    split = best[frozenset(one)] + best[rest | {shared}]
                    best[nodes] = min(best[nodes], split)
    needed = frozenset(range(mandatory))
    return min(length for nodes, length in best.items() if needed <= nodes)


def shortest(layout, mandatory: int):
    site, distance = site_of(layout, mandatory)
    trees = generate(site, layout, distance)
    assert trees.complete
    choice = concatenate(trees.nodes, trees.length, len(layout.first) - 1, mandatory)
    assert choice.optimal
    return trees, choice


@pytest.mark.parametrize(
    ("seed", "n", "parts", "optional"),
    [(0, 2, 1, 0), (1, 3, 1, 0), (2, 2, 1, 1), (3, 2, 2, 0), (5, 3, 1, 1), (8, 1, 2, 0)],
)  # fmt: skip
def test_no_tree_is_shorter(seed, n, parts, optional):
    layout, mandatory = setting(seed, n, parts, optional)
    assert shortest(layout, mandatory)[1].length == pytest.approx(
        by_brute_force(layout, mandatory), abs=1e-6
    )


@pytest.mark.heavy
@pytest.mark.parametrize("seed", range(100, 160))
def test_no_tree_is_shorter_often(seed):
    random = np.random.default_rng(seed)
    n, parts = [(3, 1), (2, 2), (3, 2), (4, 1), (1, 3)][random.integers(5)]
    layout, mandatory = setting(seed, n, parts, int(random.integers(0, parts + (n > 1))))
    assert shortest(layout, mandatory)[1].length == pytest.approx(
        by_brute_force(layout, mandatory), abs=1e-6
    )


def along(layout, node: int, samples: int = 400) -> np.ndarray:
    """Places of a node, many of them."""
    share = np.linspace(0.0, 1.0, samples)
    return np.concatenate([a + share * (b - a) for a, b in ends_of(layout, node)])


@pytest.mark.parametrize("seed", range(3))
def test_distances_of_nodes_against_samples(seed):
    layout, mandatory = setting(seed, 2, 3, 1)
    count = len(layout.first) - 1
    distance = contact.node_distances(layout)
    for u, v in itertools.combinations(range(count), 2):
        gaps = np.abs(along(layout, u)[:, None] - along(layout, v)[None, :])
        assert gaps.min() - 2e-3 <= distance[u, v] <= gaps.min() + 1e-12
        p, q = contact.closest_places(layout, u, v)
        assert abs(p - q) == pytest.approx(distance[u, v], abs=1e-12)
    chains = contact.chained(distance, mandatory)
    expected = distance.copy()
    for u, v in itertools.permutations(range(count), 2):
        for c in range(mandatory, count):
            expected[u, v] = min(expected[u, v], distance[u, c] + distance[c, v])
    assert chains == pytest.approx(expected)
    rows = np.array([[0, 1], [1, 2]])
    ours, theirs = contact.contacts(layout.tail, layout.head, rows)
    for k, (i, j) in enumerate(rows.tolist()):
        pair = contact.closest(layout.tail[i], layout.head[i], layout.tail[j], layout.head[j])
        assert (ours[k], theirs[k]) == pair
    for place in layout.places:
        spots = along(layout, count - 1)
        nearest = contact.nearest_in(layout, count - 1, place)
        assert abs(nearest - place) <= np.abs(spots - place).min() + 1e-12
        assert np.abs(spots - nearest).min() < 2e-3


def test_the_foot_of_a_perpendicular():
    assert contact.foot(0j, 2 + 0j, 1 + 3j) == 1 + 0j
    assert contact.foot(0j, 2 + 0j, 5 + 3j) == 2 + 0j
    assert contact.foot(1j, 1j, 5 + 3j) == 1j
    u = complex(0.0, 1.0)
    a, b = u * np.exp(-0.5j), u * np.exp(0.5j)
    assert head_on(1 + 0j, a, b, 0 + 2j, 3 + 2j) == 1 + 2j
    assert math.isnan(head_on(1 + 0j, a, b, 2 + 2j, 3 + 2j).real)  # beside the segment
    assert math.isnan(head_on(1 + 0j, a, b, 0 - 2j, 3 - 2j).real)  # behind


def test_an_edge_that_crosses_still_does_when_its_ends_move_a_little():
    random = np.random.default_rng(0)
    crossing = 0
    for _ in range(300):
        p, q, a, b = random.uniform(-1, 1, (4, 2)) @ [1, 1j]
        lines = [shapely.LineString([(z.real, z.imag) for z in ends]) for ends in ((p, q), (a, b))]
        room = sites.crossing_room(p, q, a, b)
        assert (room > 0.0) == lines[0].crosses(lines[1])
        for turn in random.random(10) * 2 * np.pi if room > 0.0 else ():
            moved = p + 0.999 * room * np.exp(1j * turn), q + 0.999 * room * np.exp(-2j * turn)
            assert sites.crossing_room(*moved, a, b) > 0.0
            crossing += 1
    assert crossing > 100


def test_what_vertices_and_nodes_allow():
    """A corner of 90 degrees: edges leave at 90 degrees or more from both segments."""
    layout = layout_of(
        np.array([2 + 2j]), np.array([0]), np.array([0j, 0j]), np.array([-1 + 0j, -1j]),
        np.array([1, 1]), 2,
    )  # fmt: skip
    site, distance = site_of(layout, 2)
    corner = int(np.flatnonzero(site.layout.places == 0)[0])
    for angle in np.linspace(0.0, 2 * np.pi, 100, endpoint=False):
        free = -1e-9 <= angle <= np.pi / 2 + 1e-9
        assert sites.may_leave(site, corner, np.exp(1j * angle)) == free
    assert sites.to_node(site.layout, 1, 3 + 4j) == pytest.approx(5.0)
    assert sites.to_node(site.layout, 0, 3 + 4j) == math.inf
    assert distance[0, 1] == pytest.approx(math.sqrt(8))
    assert sites.crosses(site.layout, -0.5 - 1j, -0.5 + 1j)
    assert not sites.crosses(site.layout, 0.5 - 1j, 0.5 + 1j)
    straight = np.array([1 + 0j, -1 + 0j])
    assert sites.widest_gap(straight) == pytest.approx(np.pi)
    assert sites.widest_gap(np.array([1 + 0j, 1j, -1j])) == pytest.approx(np.pi)
    clipped = sites.clip_at_vertex(site, corner, 0, sites.Arc(True, np.exp(-0.3j), np.exp(0.3j)))
    assert clipped.exists
    assert np.angle(clipped.a) == pytest.approx(0.0, abs=1e-8)
    special = np.array([[0.0, 1.0, 3.0], [1.0, 0.0, 2.0], [3.0, 2.0, 0.0]])
    assert sites.spanning_cost(special, np.arange(3), 3) == 3.0


@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(seed, marks=pytest.mark.heavy) for seed in (1, 2, 3))]
)
def test_what_is_ruled_out_at_the_end_of_an_arc_is_ruled_out_all_along(seed):
    """A test that fires at a direction fires at every direction within the angle that it names."""
    layout, mandatory = setting(seed, 5, 3)
    site, _ = site_of(layout, mandatory)
    twigs = branching.new_twigs(site, 2000, 8000)
    count = row = len(site.layout.places)
    member = count
    for left, right in itertools.permutations(range(count), 2):
        if site.special[site.layout.node[left], site.layout.node[right]] > 0.0 and row < 200:
            branching.join(site, twigs, left, right, row, member)
            row += twigs.branches[row]["size"] == 2
            member += 2
    random, fired = np.random.default_rng(seed), 0
    tests = (marching.by_shortcuts, marching.by_lunes, marching.by_one_leaf, marching.by_crossings)
    for branch in range(count, row):
        u = np.exp(2j * np.pi * random.random())
        for rule in tests:
            given = (site, twigs.branches, twigs.sketch)
            if rule is marching.by_crossings:
                given = (site, twigs.sketch)
            size = marching.sketch_branch(twigs.branches, branch, u, twigs.sketch)
            angle = rule(*given, size)
            for share in (0.3, 0.9) if angle > 0.0 else ():
                turned = u * np.exp(1j * share * min(angle, 1.0))
                size = marching.sketch_branch(twigs.branches, branch, turned, twigs.sketch)
                assert rule(*given, size) > 0.0
                fired += 1
    assert fired > 20
