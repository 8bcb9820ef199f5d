"""Trees through soft regions at their best places, and the list that they are chosen from."""

from __future__ import annotations

import math

import numpy as np
import pytest

import deepsteiner as ds

shapely = pytest.importorskip("shapely")
pytest.importorskip("pythoncdt")

from deepsteiner.core.points import Frame  # noqa: E402
from deepsteiner.fst.enumerate.nearby.small_listing_kernels import list_grown  # noqa: E402
from deepsteiner.fst.union_kernels import caterpillar_edges  # noqa: E402
from deepsteiner.plane import soft_web_kernels as kernels  # noqa: E402
from deepsteiner.plane.plane import Plane, as_complex, as_pairs  # noqa: E402
from deepsteiner.plane.routes import pruned  # noqa: E402
from deepsteiner.plane.soft import Soft  # noqa: E402
from deepsteiner.run.method import Run  # noqa: E402
from deepsteiner.run.monitor import Monitor  # noqa: E402
from deepsteiner.solvers.around.soft_listing import Pool  # noqa: E402
from deepsteiner.solvers.around.soft_relaxation import FINE, ROUGH, Web, relaxed  # noqa: E402

FRAME = Frame(np.zeros(2), 0)


def soft_of(*shapes: tuple[object, float], hard: tuple[object, ...] = ()) -> Soft:
    return Soft.of(list(shapes), Plane(tuple(map(shapely.orient_polygons, hard)), FRAME), FRAME)


def random_soft(seed: int) -> Soft:
    random = np.random.default_rng(seed)
    spots = random.uniform(-0.8, 0.5, (3, 2))
    sizes = random.uniform(0.1, 0.5, (3, 2))
    boxes = [shapely.box(*spot, *(spot + size)) for spot, size in zip(spots, sizes, strict=True)]
    return soft_of(*((box, float(w)) for box, w in zip(boxes, (1.2, 1.5, 3.0), strict=True)))


def random_tree(seed: int, terminals: int, others: int) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    nodes = random.uniform(-1, 1, (terminals + others, 2))
    edges = [(int(random.integers(v)), v) for v in range(1, len(nodes))]
    return nodes, np.array(edges)


def is_tree(count: int, edges: np.ndarray) -> bool:
    seen, waiting = {0}, [0]
    while waiting:
        v = waiting.pop()
        near = set(edges[(edges == v).any(axis=1)].ravel().tolist()) - seen
        seen |= near
        waiting += near
    return len(edges) == count - 1 and len(seen) == count


@pytest.mark.parametrize("seed", range(6))
def test_changes_keep_a_tree_and_never_make_it_dearer(seed):
    """`moved`, `cut_short`, `turned`, `branched`, `joined_where_met` through `relaxed_web`."""
    soft = random_soft(seed)
    nodes, edges = random_tree(seed, 5, 5)
    before = float(soft.costs(nodes, edges).sum())
    web = relaxed(soft, nodes, 5, edges)
    assert is_tree(len(web.nodes), web.edges)
    assert (web.nodes[:5] == nodes[:5]).all()
    assert web.cost <= before
    assert web.cost == pytest.approx(float(soft.costs(web.nodes, web.edges).sum()), abs=1e-12)
    assert web.cost == kernels.tree_cost(soft.ground, as_complex(web.nodes), web.edges)
    assert relaxed(soft, web.nodes, 5, web.edges).cost <= web.cost * (1 + 1e-12)
    degree = np.bincount(web.edges.ravel(), minlength=len(web.nodes))
    assert (degree[5:] >= 2).all()


def test_one_relaxation_finds_fermat_refraction_and_the_way_around():
    turn = np.exp(2j * np.pi * np.arange(3) / 3)
    far = soft_of((shapely.box(5, 5, 6, 6), 2.0))
    places, _, cost = kernels.relaxed_web(
        far.ground, np.append(turn, 0.3 + 0.2j), 3, np.array([[0, 3], [1, 3], [2, 3]]), *FINE
    )
    assert abs(places[3]) < 1e-9
    assert cost == pytest.approx(3.0)
    below = soft_of((shapely.box(-9, -9, 9, 0), 2.0))
    web = relaxed(below, np.array([[-1.0, 1.0], [1.0, -1.0]]), 2, np.array([[0, 1]]))
    x = web.nodes[2, 0]
    sines = (x + 1) / math.hypot(x + 1, 1), (1 - x) / math.hypot(1 - x, 1)
    assert sines[0] == pytest.approx(2.0 * sines[1], abs=1e-9)
    wall = soft_of((shapely.box(-0.125, -3, 0.125, 0.5), 50.0))
    nodes = np.array([[-1.0, 0.0], [1.0, 0.0], [-0.125, 0.5], [0.0, 0.7], [0.125, 0.5]])
    web = relaxed(wall, nodes, 2, np.array([[0, 2], [2, 3], [3, 4], [4, 1]]))
    assert web.cost == pytest.approx(2 * math.hypot(0.875, 0.5) + 0.25, abs=1e-9)


def test_a_free_junction_is_as_good_as_the_best_of_a_grid():
    """One junction inside a region: the cost is convex there, and a fine grid has its least."""
    soft = soft_of((shapely.box(-0.5, -0.5, 0.5, 0.5), 1.4))
    ends = np.array([[-0.4, -0.3], [0.45, -0.2], [0.1, 0.45]])
    web = relaxed(soft, np.concatenate((ends, [[0.0, 0.1]])), 3, np.array([[0, 3], [1, 3], [2, 3]]))
    x, y = np.meshgrid(np.linspace(-0.49, 0.49, 197), np.linspace(-0.49, 0.49, 197))
    grid = np.stack((x.ravel(), y.ravel()), axis=1)
    least = 1.4 * np.hypot(*(grid[:, None] - ends).transpose(2, 0, 1)).sum(axis=1).min()
    assert least * (1 - 1e-3) <= web.cost <= least


@pytest.mark.parametrize("seed", range(3))
def test_edges_are_split_where_weights_change(seed):
    """`split_at_walls`: the pieces cost the same, and no piece has two weights."""
    soft = random_soft(seed)
    nodes, edges = random_tree(seed, 8, 0)
    places, links, wall = kernels.split_at_walls(soft.ground, as_complex(nodes), 8, edges)
    pairs = as_pairs(places)
    whole, parts = soft.costs(nodes, edges).sum(), soft.costs(pairs, links)
    assert parts.sum() == pytest.approx(float(whole), abs=1e-9)
    lengths = np.abs(places[links[:, 0]] - places[links[:, 1]])
    ratios = parts / lengths
    assert all(min(abs(ratio - w) for w in (1.0, *soft.weights)) < 1e-6 for ratio in ratios)
    assert (wall[:8] == -1).all()
    assert (wall[8:] >= 0).all()


@pytest.mark.parametrize("seed", range(4))
def test_loose_ends_go(seed):
    """`without_loose_ends` (and `incident`) against `pruned`."""
    nodes, edges = random_tree(seed, 6, 12)
    places, links = kernels.without_loose_ends(as_complex(nodes), 6, edges)
    more, expected = pruned(nodes, 6, edges)
    assert (as_pairs(places) == np.concatenate((nodes[:6], more))).all()
    ours, theirs = (set(map(tuple, np.sort(one, axis=1).tolist())) for one in (links, expected))
    assert ours == theirs


def test_corners_are_known_by_their_place():
    """`ways_from` and `at_corner` against a look at all walls."""
    hard = shapely.box(0.7, 0.7, 0.9, 0.9)
    boxes = (shapely.box(-0.5, -0.5, 0, 0), 2.0), (shapely.box(0, -0.5, 0.5, 0), 1.5)
    soft = soft_of(*boxes, hard=(hard,))
    tree = soft.ground.soft
    for place in (*tree.tail.tolist(), 0.7 + 0.7j, 0.1 + 0.1j, -0.25 + 0j):
        ends = [*tree.head[tree.tail == place], *tree.tail[tree.head == place]]
        found = kernels.ways_from(tree, place)
        assert sorted(found.tolist(), key=str) == sorted(ends, key=str)
        assert kernels.at_corner(soft.ground, place) == ((place.real, place.imag) in soft.corners)


def test_listed_trees_cost_what_each_costs_alone():
    """`relaxed_costs` against `relaxed`, tree by tree."""
    soft = random_soft(1)
    points = np.random.default_rng(5).uniform(-1, 1, (9, 2))
    trees = list_grown(points, 5)
    links = caterpillar_edges(trees.start)
    count = len(trees.length)
    rows = as_complex(points), trees.start, trees.terminals, as_complex(trees.steiner), links
    worth = np.full(count, 9.0)
    costs = kernels.relaxed_costs(soft.ground, *rows, worth, 0, count, *ROUGH)
    for f in range(count):
        low, high = trees.start[f], trees.start[f + 1]
        steiner = trees.steiner[low - 2 * f : high - 2 * (f + 1)]
        places = as_complex(np.concatenate((points[trees.terminals[low:high]], steiner)))
        edges = links[2 * low - 3 * f : 2 * high - 3 * (f + 1)]
        for care in (ROUGH._replace(rounds=1), ROUGH):
            places, edges, cost = kernels.relaxed_web(soft.ground, places, high - low, edges, *care)
        assert costs[f] == pytest.approx(cost, rel=1e-6)
    assert np.isinf(kernels.relaxed_costs(soft.ground, *rows, worth * 0.0, 0, count, *ROUGH)).any()


@pytest.mark.parametrize("seed", range(4))
def test_the_cheapest_tree_of_a_list_is_no_dearer_than_what_came_in(seed):
    soft = random_soft(seed)
    points = np.random.default_rng(seed).uniform(-1, 1, (8, 2))
    pool = Pool.of(Run(points, FRAME, Monitor(), 0), soft)
    nodes, edges = random_tree(seed, 8, 4)
    nodes[:8] = points
    known = relaxed(soft, nodes, 8, edges)
    pool.add_tree(known)
    assert sum(pool.cost.values()) == pytest.approx(known.cost)
    alone = pool.cheapest(np.inf)
    assert alone.cost <= known.cost * (1 + 1e-6)
    assert pool.add_listed()
    best = pool.cheapest(alone.cost) or alone  # none where all else is dearer
    assert best.cost <= alone.cost * (1 + 1e-6)
    assert is_tree(len(best.nodes), best.edges)
    direct = ds.solve(points, "exact").length
    assert best.cost >= direct * (1 - 1e-12)
    assert best.cost <= relaxed_free_tree(soft, points).cost * (1 + 1e-6)


def relaxed_free_tree(soft: Soft, points: np.ndarray) -> Web:
    free = ds.solve(points, "exact")
    return relaxed(soft, np.concatenate((points, free.steiner_points)), len(points), free.edges)


def test_too_many_nodes_are_not_listed():
    soft = random_soft(0)
    points = np.random.default_rng(0).uniform(-1, 1, (150, 2))
    assert Pool.of(Run(points, FRAME, Monitor(), 0), soft) is None
    assert ds.solve(points, "local", obstacles=[(soft.faces[0][0], 1.5)], effort="fast").length > 0
