"""Full Steiner trees over terminals and corners, against every topology built by hand."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from melzak import as_complex, full_tree

shapely = pytest.importorskip("shapely")

from deepsteiner.core.points import Frame  # noqa: E402
from deepsteiner.fst.enumerate.complete.arc_kernels import Arc, turn  # noqa: E402
from deepsteiner.fst.enumerate.corners import block_kernels as blocks  # noqa: E402
from deepsteiner.fst.enumerate.corners import growth_kernels as growth  # noqa: E402
from deepsteiner.fst.enumerate.corners import landscape_kernels as landscape  # noqa: E402
from deepsteiner.fst.enumerate.corners import march_kernels as marching  # noqa: E402
from deepsteiner.fst.enumerate.corners.generate import _Growth, generate  # noqa: E402
from deepsteiner.fst.enumerate.corners.growth_kernels import straight_edges  # noqa: E402
from deepsteiner.fst.select.optional.concatenation import concatenate  # noqa: E402
from deepsteiner.plane import sight_kernels as sight  # noqa: E402
from deepsteiner.plane.plane import Plane, as_pairs  # noqa: E402
from deepsteiner.solvers.around.proof import landscape_of  # noqa: E402

FRAME = Frame(np.zeros(2), 0)


def setting(seed: int, n: int = 4, obstacles: int = 2):
    """Random terminals around random triangles, all in play."""
    random = np.random.default_rng(seed)
    shapes = []
    for _ in range(obstacles):
        turn = np.sort(random.random(3)) * 2 * np.pi
        middle = random.uniform(-0.4, 0.4, 2)
        ring = middle + random.uniform(0.2, 0.4) * np.c_[np.cos(turn), np.sin(turn)]
        shapes.append(shapely.Polygon(ring))
    plane = Plane.of(shapes, 0.0, FRAME)
    points = random.uniform(-0.9, 0.9, (60, 2))
    points = points[~plane.inside(points)][:n]
    return plane, *landscape_of(plane, points, set(range(len(plane))))[:2]


def topologies(leaves):
    """All rooted binary trees over some leaves, as nested pairs."""
    if len(leaves) == 1:
        return [leaves[0]]
    first, rest = leaves[0], leaves[1:]
    found = []
    for size in range(len(rest)):
        for more in itertools.combinations(rest, size):
            others = tuple(leaf for leaf in rest if leaf not in more)
            pairs = itertools.product(topologies((first, *more)), topologies(others))
            found.extend(pairs)
    return found


def every_tree(plane, places, most: int):
    """The shortest free full tree of each set of up to `most` nodes."""
    shrunk = shapely.buffer(shapely.MultiPolygon(plane.polygons), -1e-10, join_style="mitre")

    def is_free(lines) -> bool:
        ends = [[(a.real, a.imag), (b.real, b.imag)] for a, b in lines]
        return not shapely.MultiLineString(ends).intersects(shrunk)

    z = as_complex(as_pairs(places))
    found = {}
    for size in range(2, most + 1):
        for leaves in itertools.combinations(range(len(z)), size):
            if size == 2:
                if is_free([(z[leaves[0]], z[leaves[1]])]):
                    found[leaves] = abs(z[leaves[0]] - z[leaves[1]])
                continue
            for tree in topologies(leaves[:-1]):
                length, steiner = full_tree(tree, leaves[-1], z)
                if not math.isfinite(length) or length >= found.get(leaves, math.inf):
                    continue
                if is_free(drawn_edges(tree, z[leaves[-1]], iter(steiner), z)):
                    found[leaves] = length
    return found


def drawn_edges(tree, top, steiner, z):
    """The edges of a tree whose Steiner points come parents first."""
    if not isinstance(tree, tuple):
        return [(z[tree], top)]
    place = next(steiner)
    edges = [(place, top)]
    for side in tree:
        edges += drawn_edges(side, place, steiner, z)
    return edges


@pytest.mark.parametrize(("seed", "n", "obstacles"), [(0, 4, 1), (1, 4, 1), (2, 3, 2), (3, 3, 2)])
def test_what_is_dropped_is_not_needed(seed, n, obstacles):
    """The pruned list holds a tree as short as the list of everything does."""
    most = 5 if obstacles == 1 else 4
    plane, ground, seen = setting(seed, n, obstacles)
    trees = generate(ground, seen)
    assert trees.complete
    size, n = len(ground.places), ground.terminals
    found = every_tree(plane, ground.places, most)
    everything = concatenate(
        [np.array(leaves) for leaves in found], np.array(list(found.values())), size, n
    )
    choice = concatenate(trees.leaves, trees.length, size, n)
    assert choice.optimal
    assert choice.length <= everything.length + 1e-9
    if max(len(trees.leaves[k]) for k in choice.picked) <= most:
        assert choice.length == pytest.approx(everything.length, abs=1e-9)
    for leaves, length in zip(trees.leaves, trees.length.tolist(), strict=True):
        if len(leaves) <= most:
            assert length == pytest.approx(found[tuple(leaves.tolist())], abs=1e-9)


def test_straight_edges_are_free_pairs_within_the_special_distance():
    _plane, ground, seen = setting(1)
    pairs = {tuple(pair) for pair in straight_edges(ground, seen).tolist()}
    size = len(ground.places)
    for u, v in itertools.combinations(range(size), 2):
        way = ground.places[v] - ground.places[u]
        fits = abs(way) <= ground.special[u, v] + landscape.TIE
        allowed = landscape.is_allowed(ground, u, way) and landscape.is_allowed(ground, v, -way)
        assert ((u, v) in pairs) == bool(seen[u, v] and fits and allowed)


@pytest.mark.parametrize("free", [200, 250, 270, 300, 350])
def test_directions_at_a_corner(free):
    """By the rule itself: some second edge, or two more, can go with it."""
    angle, degrees = math.radians(free), np.arange(free + 1)
    for t in range(360):
        two = t <= free and bool((np.abs(degrees - t) >= 180).any())
        three = 120 <= t <= free - 120
        allowed = landscape.next_allowed(angle, math.radians(t), landscape.PLAY) <= math.radians(t)
        assert allowed == (two or three), t


@pytest.mark.parametrize("seed", range(20))
def test_arcs_are_clipped_to_the_hull_of_allowed_directions(seed):
    random = np.random.default_rng(seed)
    _, ground, _ = setting(3)
    node = int(random.integers(ground.terminals, len(ground.places)))
    start, width = random.uniform(0, 2 * np.pi), random.uniform(0.1, 1.0)
    arc = Arc(True, complex(np.exp(1j * start)), complex(np.exp(1j * (start + width))))
    clipped = landscape.clip_at_corner(ground, node, 1, arc)
    steps = np.linspace(0.0, width, 2000)
    ways = np.exp(1j * (start + steps + np.pi / 3))
    fits = np.array([landscape.is_allowed(ground, node, complex(way)) for way in ways])
    assert clipped.exists == fits.any() or not fits.sum() > 5
    if fits.any():
        ends = steps[fits][[0, -1]]
        got = np.angle(np.array([clipped.a, clipped.b]) * np.exp(-1j * start))
        np.testing.assert_allclose(got, ends, atol=2e-3)


def test_clearance_is_the_distance_to_the_walls():
    plane, ground, _ = setting(4)
    whole = shapely.MultiPolygon(plane.polygons)
    for x, y in np.random.default_rng(0).uniform(-1, 1, (200, 2)):
        spot = shapely.Point(x, y)
        distance = whole.boundary.distance(spot) * (-1 if whole.contains(spot) else 1)
        got = blocks.clearance(ground.blocks, complex(x, y))
        assert got == pytest.approx(distance, abs=1e-12)


def test_deepest_is_never_deeper_than_the_truth():
    """And it is more than nothing where a wall is crossed: also from inside, and through two."""
    plane, ground, _ = setting(5)
    whole = shapely.MultiPolygon(plane.polygons)
    room = np.empty(blocks.MOST_CROSSED + 2)
    for a, b, c, d in np.random.default_rng(0).uniform(-1, 1, (300, 4)):
        depth = blocks.deepest(ground.blocks, complex(a, b), complex(c - a, d - b), room)
        line = shapely.LineString([(a, b), (c, d)])
        inside = line.intersection(whole)
        if inside.is_empty:
            assert depth == 0.0
        else:
            along = [inside.interpolate(t, normalized=True) for t in np.linspace(0, 1, 50)]
            most = max(whole.boundary.distance(spot) for spot in along)
            assert depth <= most + 0.05
            assert (depth > 0.0) == line.intersects(whole.boundary)


def can_meet(one, two) -> bool:
    """Whether two branches can be left in directions 120 degrees apart."""
    return growth.can_meet(turn(one["a"], 2), turn(one["b"], 2), two["a"], two["b"])


@pytest.mark.parametrize("seed", range(3))
def test_links_and_arcs_that_can_meet(seed):
    """Least special distances by hand; arcs meet where some directions are 120 degrees apart."""
    _, ground, seen = setting(seed, 6, 2)
    grown = _Growth(ground, None)
    grown.run(seen)
    sprouts, count = grown.sprouts, grown.row
    branches, random = sprouts.branches, np.random.default_rng(seed)
    links = np.empty(len(ground.places))
    members = [
        sprouts.members[own["start"] : own["start"] + own["size"]] for own in branches[:count]
    ]
    inner = np.arange(len(ground.places), count)
    for one, two in random.choice(inner, (200, 2)).tolist():
        farthest = growth.links_from(ground.special, sprouts, one, links)
        assert farthest == ground.special[members[one]].min(axis=0)[links >= 0.0].max()
        least = growth.least_link(sprouts, links, two)
        assert growth.least_special(ground.special, sprouts, one, two) == least
        if set(members[one]) & set(members[two]):
            assert least < 0.0
        else:
            assert least == ground.special[np.ix_(members[one], members[two])].min()
        shares = np.linspace(0.0, 1.0, 50)
        ways = [
            np.angle(own["a"]) + shares * np.angle(own["b"] / own["a"])
            for own in (branches[one], branches[two])
        ]
        apart = np.exp(1j * (ways[0][:, None] + 2 * np.pi / 3 - ways[1][None, :]))
        if np.abs(np.angle(apart)).min() < 1e-10:
            assert can_meet(branches[one], branches[two])
        signs = np.sign(np.angle(apart))
        if np.abs(np.angle(apart)).min() > 1e-6 and abs(signs.sum()) == signs.size:
            assert not can_meet(branches[one], branches[two])


@pytest.mark.parametrize("by_place", [True, False])
def test_no_partner_is_missed(by_place):
    """Spans hold all partners within reach, or all that can be left in fitting directions."""
    _, ground, seen = setting(1, 6, 2)
    grown = _Growth(ground, None)
    grown.run(seen)
    branches, first = grown.sprouts.branches, grown.first
    reach = 0.3
    ends = np.zeros(4, np.int64)
    tried = 0
    for size in range(2, min(6, len(first) - 1)):
        partners = growth.partners_of(branches, first[size], first[size + 1], by_place)
        for one in branches[first[2] : first[4]]:
            growth.spans(one, partners, by_place, reach, ends)
            inside = {int(v) for k in (0, 2) for v in partners.rows[ends[k] : ends[k + 1]]}
            for other in range(first[size], first[size + 1]):
                two = branches[other]
                if by_place:
                    far = abs(two["place"].real - one["place"].real)
                    fits = far <= one["spread"] + two["spread"] + reach
                else:
                    fits = can_meet(one, two)
                tried += fits
                assert not fits or other in inside
    assert tried > 100


def test_a_free_edge_is_free_of_every_obstacle():
    """The boxes change nothing: also for edges that graze corners and run along walls."""
    plane, ground, _ = setting(4)
    random = np.random.default_rng(0)
    ends = np.concatenate((random.uniform(-1, 1, (80, 2)), plane.corners.places))
    places = as_complex(ends)
    for p, q in itertools.combinations(places, 2):
        assert blocks.is_free(ground.blocks, p, q) == sight.sees(plane.walls, p, q)


def test_directions_are_those_of_the_drawn_trees():
    """Against the angle between the wall and the edge, by arccosine."""
    plane, ground, seen = setting(0, 4, 1)
    trees = generate(ground, seen)
    directions = iter(trees.directions(ground).tolist())
    corners = {tuple(place): k for k, place in enumerate(plane.corners.places.tolist())}
    seen_corners = 0
    for leaves, steiner, edges in zip(trees.leaves, trees.steiner, trees.edges, strict=True):
        nodes = np.concatenate((as_pairs(ground.places[leaves]), steiner))
        for k in range(len(leaves)):
            (edge,) = edges[(edges == k).any(axis=1)]
            way = nodes[edge.sum() - k] - nodes[k]
            t = next(directions)
            corner = corners.get(tuple(nodes[k].tolist()))
            if corner is None:
                continue
            side = plane.corners.side[corner]
            cosine = (way @ [np.cos(side), np.sin(side)]) / np.hypot(*way)
            apart = np.arccos(np.clip(cosine, -1.0, 1.0))
            assert min(abs(t - apart), abs(2 * np.pi - t - apart)) < 1e-6
            assert t <= plane.corners.free[corner] + 1e-6
            seen_corners += 1
    assert seen_corners > 10


def test_blocks_are_the_walls_of_each_obstacle_and_their_boxes():
    plane, _, _ = setting(4)
    found = blocks.in_blocks(plane.walls)
    assert len(found.low) == len(plane)
    for k, polygon in enumerate(plane.polygons):
        own = slice(found.first[k], found.first[k + 1])
        assert set(plane.walls.owner[own].tolist()) == {k}
        box = (found.low[k].real, found.low[k].imag, found.high[k].real, found.high[k].imag)
        assert box == pytest.approx(polygon.bounds, abs=1e-15)
    assert found.first[-1] == len(plane.walls.tail)


def test_a_sketch_is_the_branch_as_drawn_and_its_longest_edges():
    """Places by the branch's own circles; the longest edge of a path by walking it."""
    _, ground, seen = setting(1, 6, 2)
    grown = _Growth(ground, None)
    grown.run(seen)
    branches = grown.sprouts.branches
    sketch = marching.new_sketch()
    for row in range(grown.first[4], min(grown.first[4] + 20, grown.first[5])):
        count = marching.sketch_branch(ground, branches, row, branches[row]["a"], sketch)
        assert count == 2 * branches[row]["size"] - 1
        marching.by_shortcuts(ground.blocks, sketch, count)
        spots = sketch.spots[:count]
        for v in range(count):
            own = branches[spots[v]["branch"]]
            if own["size"] == 1:
                assert spots[v]["place"] == ground.places[spots[v]["branch"]]
            path, edges = v, []
            while path > 0:
                above = spots[path]["parent"]
                edges.append(abs(spots[path]["place"] - spots[above]["place"]))
                path = above
            assert sketch.longest[v, 0] == pytest.approx(max(edges, default=0.0), abs=1e-12)
