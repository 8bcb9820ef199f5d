"""Complete lists in tiles: the very lists of one piece, whatever the tiles and their margins."""

from __future__ import annotations

import numpy as np
import pytest

from deepsteiner.fst.enumerate.complete.closing_kernels import close_level
from deepsteiner.fst.enumerate.complete.generate import generate
from deepsteiner.fst.enumerate.complete.generation_kernels import begin_tile, with_room
from deepsteiner.fst.enumerate.complete.growth_kernels import (
    finish_level,
    grow_level,
    search_level,
)
from deepsteiner.fst.enumerate.complete.lune_kernels import AHEAD_SCAN
from deepsteiner.fst.enumerate.complete.reach_kernels import look_ahead, note_view
from deepsteiner.fst.enumerate.complete.rebuild_kernels import collect_trees
from deepsteiner.fst.enumerate.tiled import generate as tiled
from deepsteiner.fst.enumerate.tiled.certificate import (
    Findings,
    Margins,
    distances,
    needed,
    widened,
)
from deepsteiner.fst.enumerate.tiled.cut import Cutting, boxes_of
from deepsteiner.fst.enumerate.tiled.task import generate_tile
from deepsteiner.fst.order import in_list_order
from deepsteiner.run.watch import Stopped

KINDS = ["uniform", "clusters", "lattice"]


def ribbon(kind, n, seed=0):
    """Points along a ribbon: so long that tiles hold a part of it only, though they are few."""
    rng = np.random.default_rng(seed)
    if kind == "uniform":
        points = rng.random((n, 2)) * [n / 3.0, 3.0]
    elif kind == "clusters":
        centres = rng.random((n // 6, 2)) * [n / 3.0, 3.0]
        points = centres[rng.integers(0, len(centres), n)] + rng.normal(0.0, 0.1, (n, 2))
    else:  # with many equally short trees
        cells = np.indices((n // 2, 4)).reshape(2, -1).T
        points = cells[np.sort(rng.permutation(len(cells))[:n])].astype(float)
    points -= (points.min(axis=0) + points.max(axis=0)) / 2.0
    return points / np.abs(points).max()


class Here:
    """Hands that make calls in the order given, and remember them."""

    def __init__(self, most=np.inf):
        self.tiles, self.most = [], most

    def each(self, phase, calls, total):
        for number, (function, given) in enumerate(calls):
            if len(self.tiles) >= self.most:
                raise Stopped
            self.tiles.append(given[0])
            yield number, function(*given)

    def go_on(self, phase):
        return True


def assert_equal_lists(one, two):
    for name in ("points", "start", "terminals", "length", "steiner", "edges", "complete"):
        assert np.array_equal(getattr(one, name), getattr(two, name)), name


@pytest.mark.parametrize("kind", KINDS)
def test_the_list_is_that_of_one_piece(kind):
    points, hands = ribbon(kind, 330), Here()
    expected = generate(points)
    assert expected.complete
    found = tiled.generate_in_tiles(points, hands, tile=83)
    assert_equal_lists(found, expected)
    assert found.stats["tiles"] == 4
    if kind != "clusters":  # those reach far
        assert min(len(tile.points) for tile in hands.tiles) < 300


@pytest.mark.heavy
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", [1, 2])
def test_large_lists_are_those_of_one_piece(kind, seed):
    points, hands = ribbon(kind, 3000, seed), Here()
    assert_equal_lists(tiled.generate_in_tiles(points, hands, tile=400), generate(points))
    assert len(hands.tiles[-1].points) < 2500


@pytest.mark.heavy
def test_a_square_is_as_in_one_piece():
    points = np.random.default_rng(5).random((6000, 2)) - 0.5
    hands = Here()
    assert_equal_lists(tiled.generate_in_tiles(points, hands, tile=1500), generate(points))


def test_margins_grow_until_nothing_is_lost(monkeypatch):
    monkeypatch.setattr(tiled, "FIRST_NEAR", 0.4)
    monkeypatch.setattr(tiled, "FIRST_HELD", 1.25)
    points, hands = ribbon("uniform", 320), Here()
    found = tiled.generate_in_tiles(points, hands, tile=80)
    assert found.stats["tiles_made"] > found.stats["tiles"]
    assert generate_tile(hands.tiles[0]).lost > 0
    assert generate_tile(hands.tiles[-1]).lost == 0
    assert_equal_lists(found, generate(points))


def test_a_limit_on_sizes_is_that_of_one_piece():
    points = ribbon("uniform", 300)
    found = tiled.generate_in_tiles(points, Here(), tile=100, max_size=4)
    assert not found.complete
    assert_equal_lists(found, generate(points, max_size=4))


def test_a_stop_leaves_what_is_done():
    points = ribbon("uniform", 300)
    found = tiled.generate_in_tiles(points, Here(most=2), tile=100)
    assert not found.complete
    whole = generate(points)
    assert len(points) - 1 < len(found) < len(whole)
    sets = {tuple(whole.tree(k)[0]) for k in range(len(whole))}
    assert all(tuple(found.tree(k)[0]) in sets for k in range(len(found)))


def test_a_worker_stops_when_told():
    cutting = Cutting.of(ribbon("uniform", 300), 100, None)
    found = generate_tile(cutting.tile(0, 1.0, 1.0), lambda: False)
    assert not found.complete
    assert found.lost == 0


def test_a_view_that_is_not_held_is_lost():
    # Without any margin the branches of a tile look beyond it; with all terminals none does.
    cutting = Cutting.of(ribbon("uniform", 300), 100, None)
    assert generate_tile(cutting.tile(1, 0.0, 0.0)).lost > 0
    everything = cutting.tile(1, 0.0, 9.0)
    assert len(everything.points) == 300
    assert generate_tile(everything).lost == 0
    assert {begin_tile, look_ahead, note_view}  # by `generate_tile`


def test_few_points_stay_in_one_piece():
    assert tiled.LEAST == AHEAD_SCAN


def test_the_order_of_a_list_does_not_depend_on_how_it_was_found():
    points = ribbon("lattice", 60)
    trees = generate(points)
    order = np.arange(60)
    sizes = np.diff(trees.start)
    rows = in_list_order(trees, order)
    kept = [tuple(rows.tree(k)[0]) for k in range(len(rows))]
    beyond = sorted((len(one), one) for one in kept[59:])
    assert [one for _, one in beyond] == kept[59:]
    assert sorted(kept) == sorted(tuple(trees.tree(k)[0]) for k in range(len(trees)))
    assert np.array_equal(np.sort(np.diff(rows.start)), np.sort(sizes))


@pytest.mark.parametrize("kind", KINDS)
def test_cores_are_a_partition(kind):
    points = ribbon(kind, 500)
    cores = boxes_of(points, 60)
    assert max(map(len, cores)) <= 60
    assert np.array_equal(np.sort(np.concatenate(cores)), np.arange(500))


@pytest.mark.parametrize("kind", KINDS)
def test_gaps_of_a_tile_are_bottleneck_distances_among_all(kind):
    cutting = Cutting.of(ribbon(kind, 300), 60, None)
    tile = cutting.tile(2, 0.1, 0.2)
    assert 60 <= len(tile.points) < 300
    for k, (a, b) in enumerate(zip(tile.rank[:-1], tile.rank[1:], strict=True)):
        assert tile.gaps[k] == max(cutting.all.gaps[a:b])


def needed_slowly(apart, margins, found):
    """The three conditions of the certificate, one by one."""
    count = len(apart)
    near, held = np.zeros(count), np.zeros(count)
    for i in range(count):
        for j in range(count):
            if apart[i, j] <= found.farthest[i] + found.farthest[j]:
                near[i] = max(near[i], found.farthest[i] + found.widest[j])
            if apart[i, j] <= found.widest[j]:
                near[i] = max(near[i], found.widest[j])
            if apart[i, j] <= margins.near[i]:
                held[i] = max(held[i], margins.near[i] + found.widest[j])
    return near, held


@pytest.mark.parametrize(
    "kernel",
    [
        begin_tile, grow_level, search_level, close_level, finish_level, collect_trees, with_room,
    ],
)  # fmt: skip
def test_tiles_on_threads_do_not_wait_for_each_other(kernel):
    """Each of these is called by every tile's thread, the first ones for most of its time."""
    assert kernel.targetoptions["nogil"]


@pytest.mark.parametrize("seed", range(5))
def test_margins_are_those_of_the_certificate(seed):
    rng = np.random.default_rng(seed)
    low = rng.random((9, 2)) * 10.0
    apart = distances(low, low + rng.random((9, 2)))
    assert np.array_equal(apart, apart.T)
    margins = Margins(rng.random(9) * 3.0, rng.random(9) * 6.0)
    found = Findings(np.zeros(9), rng.random(9) * 2.0, rng.random(9))
    need = needed(apart, margins, found)
    near, held = needed_slowly(apart, margins, found)
    assert need.near == pytest.approx(near, rel=1e-8)
    assert need.held == pytest.approx(held, rel=1e-8)
    whole = np.arange(9) == 4
    for _ in range(60):
        before, margins = margins, widened(apart, margins, found, whole)
    assert all(
        map(np.array_equal, margins, before)
    )  # the conditions hold, but for the tile that has everything
    need = needed(apart, margins, found)
    assert ((margins.near >= need.near) & (margins.held >= need.held) | whole).all()


def test_what_is_lost_widens_margins():
    apart = distances(np.zeros((1, 2)), np.ones((1, 2)))
    margins = Margins(np.array([5.0]), np.array([9.0]))
    found = Findings(np.array([1]), np.array([1.0]), np.array([1.0]))
    wider = widened(apart, margins, found, np.array([False]))
    assert wider.near[0] > 5.0
    assert wider.held[0] > 9.0
