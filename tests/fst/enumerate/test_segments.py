"""Full Steiner trees that end inside segments, among obstacles, against Newton's method."""

from __future__ import annotations

import numpy as np
import pytest

shapely = pytest.importorskip("shapely")
pytest.importorskip("pythoncdt")

from deepsteiner.core.points import Frame  # noqa: E402
from deepsteiner.fst.enumerate.corners import segment_kernels as ending  # noqa: E402
from deepsteiner.fst.enumerate.corners.segments import (  # noqa: E402
    _SegmentGrowth,
    generate_with_segments,
)
from deepsteiner.plane.joining.outside import outside  # noqa: E402
from deepsteiner.plane.networks import Network, read_network  # noqa: E402
from deepsteiner.plane.plane import Plane, as_pairs  # noqa: E402
from deepsteiner.run.method import Run  # noqa: E402
from deepsteiner.run.monitor import Monitor  # noqa: E402
from deepsteiner.solvers.both.ground import Ground  # noqa: E402
from deepsteiner.solvers.both.relaxation import Slide, full_trees, relaxed  # noqa: E402
from deepsteiner.solvers.both.rounds import field_of  # noqa: E402

FRAME = Frame(np.zeros(2), 0)


def field(seed: int, n: int = 6):
    """Return terminals, lines and triangles as what a generator takes, and the obstacles."""
    random = np.random.default_rng(seed)
    turns = np.sort(random.random((3, 3)), axis=1) * 2 * np.pi
    rings = random.random((3, 1, 2)) + 0.15 * np.stack((np.cos(turns), np.sin(turns)), axis=-1)
    plane = Plane.of([shapely.Polygon(ring) for ring in rings], 0.0, FRAME)
    points = random.random((9 * n, 2))
    points = points[~plane.inside(points)][:n]
    heights = random.random((2, 2)) * 0.3
    lines = [[[-0.2, 0.1 + a], [1.2, 0.1 + a]] for a in heights[:1, 0]]
    lines += [[[-0.2, 0.6 + b], [1.2, 0.5 + c]] for b, c in heights[1:]]
    network = Network.of(read_network(list(lines)), points, np.asarray, FRAME)
    network = outside(network, plane, points, np.arange(n))
    ground = Ground.of(Run(points, FRAME, Monitor(), 0, plane=plane, network=network))
    return field_of(ground, set(range(len(plane)))), plane


@pytest.mark.parametrize("seed", [0, 1, 2, 4, 5])
def test_trees_end_where_they_are_shortest(seed):
    """`close_on_segments` and `feet_of_nodes`: right angles, free edges, shortest of their kind."""
    area, plane = field(seed)
    ground = area.ground
    trees = generate_with_segments(ground, area.seen)
    assert trees.complete
    assert trees.segments
    sizes = set()
    for leaves, places, edges, k, length in zip(
        trees.leaves, trees.places, trees.edges, trees.segments, trees.length, strict=True
    ):
        nodes = np.concatenate((as_pairs(ground.places[leaves]), places))
        sizes.add(len(leaves))
        assert len({*area.node[leaves].tolist(), int(area.segment_node[k])}) == len(leaves) + 1
        assert plane.clear(nodes, edges).all()
        steiner = np.arange(len(nodes)) > len(leaves)
        ends = as_pairs(np.array([ground.tails[k], ground.heads[k]]))
        found = relaxed(nodes, edges, steiner, {len(leaves): Slide(ends[0], ends[1])})
        assert found == pytest.approx(nodes, abs=1e-7)
        ways = nodes[edges[:, 0]] - nodes[edges[:, 1]]
        assert np.hypot(*ways.T).sum() == pytest.approx(length, abs=1e-12)
    assert max(sizes) >= 2


def test_lengths_at_ends():
    """`end_length`: the Simpson line, and none to a part that the branch has already."""
    area, _ = field(1)
    ground = area.ground
    growth = _SegmentGrowth(ground, None)
    growth.run(area.seen)
    found = [tree for some in growth.found for tree in some]
    assert found
    for tree in found:
        branch, k = int(tree["branch"]), int(tree["segment"])
        anchor, end = int(ground.anchors[k]), complex(tree["end"])
        own = growth.sprouts.branches[branch]
        line = ending.end_length(ground, growth.sprouts, branch, anchor, end)
        assert line == pytest.approx(abs(end - own["equilateral"]))
        assert line == pytest.approx(float(tree["length"]))
        leaf = int(growth.sprouts.members[own["start"]])
        assert ending.end_length(ground, growth.sprouts, branch, leaf, end) == -1.0


def test_full_trees_of_a_graph():
    steiner = np.array([False, False, False, True, True, False, False])
    edges = np.array([[0, 3], [1, 3], [3, 4], [4, 2], [4, 5], [5, 6]])
    assert [rows.tolist() for rows in full_trees(edges, steiner)] == [[0, 1, 2, 3, 4]]


def test_an_end_stops_at_the_end_of_its_segment():
    places = np.array([[0.0, 1.0], [0.5, 1.0], [0.1, 0.0], [0.2, 0.5]])
    edges, steiner = np.array([[0, 3], [1, 3], [2, 3]]), np.arange(4) == 3
    free = relaxed(places, edges, steiner, {2: Slide(np.array([0.0, 0.0]), np.array([1.0, 0.0]))})
    assert free is not None
    assert free[2] == pytest.approx([0.25, 0.0])
    held = relaxed(places, edges, steiner, {2: Slide(np.array([0.0, 0.0]), np.array([0.2, 0.0]))})
    assert held is not None
    assert held[2] == pytest.approx([0.2, 0.0])
