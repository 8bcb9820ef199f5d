"""The pool of full Steiner trees around obstacles, against shortest trees."""

from __future__ import annotations

import numpy as np
import pytest

import deepsteiner as ds
from deepsteiner.core.points import Problem
from deepsteiner.plane.plane import Plane
from deepsteiner.run.method import Run
from deepsteiner.run.monitor import Monitor
from deepsteiner.solvers.around.pool import Piece, Pool
from deepsteiner.solvers.around.proof import Proof
from deepsteiner.solvers.around.repair import Best, repaired


def town(seed: int, n: int = 12) -> Run:
    """Return a run on a map."""
    shapely = pytest.importorskip("shapely")
    made = ds.datasets.generate_map("convex", n, obstacles=8, cover=0.25, seed=seed)
    problem = Problem.of(made.points)
    shapes = [shapely.Polygon(rings[0]) for rings in made.obstacles]
    plane = Plane.of(shapes, 0.0, problem.frame)
    return Run(problem.points, problem.frame, Monitor(), 0, plane=plane)


def length_of(run: Run, best: Best) -> float:
    """Return the length of a tree, after a look at whether it is one and free."""
    nodes = np.concatenate((run.points, best.steiner, best.bends))
    assert len(best.edges) == len(nodes) - 1
    assert run.plane.clear(nodes, best.edges).all()
    return float(np.hypot(*(nodes[best.edges[:, 0]] - nodes[best.edges[:, 1]]).T).sum())


@pytest.mark.parametrize("seed", range(3))
def test_what_a_proof_lists_gives_the_shortest_tree(seed):
    run = town(seed)
    start = repaired(run)
    proof = Proof(run, start)
    proven = proof.go()
    assert proven.optimal
    pool = Pool(run)
    pool.add_bare()
    pool.add_tree(start)
    pool.add_window(proof.listed)
    best = pool.best(start)
    assert length_of(run, best) == pytest.approx(best.length)
    assert best.length == pytest.approx(proven.lower_bound, rel=1e-9)


def test_a_tree_comes_back_from_its_own_pieces():
    run = town(4)
    tree = repaired(run)
    pool = Pool(run)
    pool.add_tree(tree)
    longer = Best(tree.steiner, tree.bends, tree.edges, 2.0 * tree.length)
    assert pool.best(longer).length == pytest.approx(tree.length)
    assert pool.best(tree) is tree


def test_pieces_that_cross_obstacles_stay_out():
    run = town(5)
    pool = Pool(run)
    pool.add_bare()
    for piece in pool.pieces.values():
        places = np.concatenate((run.points[piece.leaves], piece.steiner))
        assert run.plane.clear(places, piece.edges).all()


@pytest.mark.parametrize("effort", ["fast", "default"])
def test_local_is_near_the_shortest_tree(effort):
    made = ds.datasets.generate_map("convex", 25, obstacles=12, cover=0.2, seed=1)
    best = ds.solve(made.points, "exact", obstacles=made.obstacles)
    found = ds.solve(made.points, "local", obstacles=made.obstacles, effort=effort)
    assert best.status == "optimal"
    assert 1 - 1e-9 <= found.length / best.length <= 1.002


def test_a_terminal_on_a_corner_is_not_joined_to_itself():
    run = town(4)
    pool = Pool(run)
    # A terminal and the corner at its place have one number.
    itself = Piece(np.array([0, 0]), np.empty((0, 2)), np.array([[0, 1]]), 0.0)
    thrice = Piece(np.array([0, 0, 1]), np.empty((0, 2)), np.array([[0, 1], [1, 2]]), 0.0)
    pool._add(iter([itself, thrice]))
    assert not pool.pieces
