"""Lists of large instances: slices, tiles and threads change nothing; waiting is heard of."""

from __future__ import annotations

import itertools
import threading
import time

import numpy as np
import pytest

from deepsteiner.fst.enumerate.nearby import grown as grown_lists
from deepsteiner.fst.enumerate.nearby.listing import list_trees, survey
from deepsteiner.run.monitor import Monitor
from deepsteiner.run.threads import Workers
from deepsteiner.run.watch import Stopped, Watch, waited


def points_in_order(n: int, seed: int) -> np.ndarray:
    from deepsteiner.fst.enumerate.nearby.neighbour_kernels import nearby_order

    points = 2.0 * np.random.default_rng(seed).random((n, 2)) - 1.0
    return points[nearby_order(points)]


def grown(points: np.ndarray, threads: int, largest: int):
    watch = Watch(Monitor(), patient=False)
    with Workers(threads) as workers:
        ground = survey(points, workers)
        return grown_lists.list_grown_trees(ground, workers, largest, lambda *_: True, watch)


@pytest.mark.parametrize("largest", [5, 6])
def test_tiles_give_the_same_list_as_the_whole(largest, monkeypatch):
    points = points_in_order(700, 1)
    monkeypatch.setattr(grown_lists, "TILE", 10**6)
    whole = grown(points, 1, largest)
    sizes = np.diff(whole.start)
    assert (sizes == largest).sum() > 3
    for tile, threads in ((1, 1), (37, 3), (300, 2)):
        monkeypatch.setattr(grown_lists, "TILE", tile)
        tiled = grown(points, threads, largest)
        for name in ("start", "terminals", "length", "steiner", "edges"):
            assert np.array_equal(getattr(whole, name), getattr(tiled, name)), name


def test_a_part_of_a_list_holds_its_trees():
    points = points_in_order(200, 2)
    with Workers(1) as workers:
        listing = list_trees(survey(points, workers), workers, 5, lambda *_: True)
    keep = np.random.default_rng(0).random(len(listing)) < 0.4
    part = listing.part(keep)
    assert len(part) == keep.sum()
    for new, old in enumerate(np.flatnonzero(keep)):
        for one, f in ((listing, old), (part, new)):
            low, high = one.start[f], one.start[f + 1]
            trees = (one.terminals[low:high], one.steiner[low - 2 * f : high - 2 * f - 2])
            if one is listing:
                wanted = (*trees, one.length[f])
        assert all(
            np.array_equal(a, b) for a, b in zip(wanted, (*trees, one.length[f]), strict=True)
        )
    steiner, edges = listing.union(np.arange(len(listing)) < len(points) - 1)
    assert len(steiner) == 0
    assert np.array_equal(edges, listing.terminals[: 2 * len(points) - 2].reshape(-1, 2))


@pytest.mark.parametrize("most", [2, 3, 5])
def test_the_shortest_pairs_stay_in_whatever_order_they_come(most):
    from deepsteiner.fst.enumerate.nearby import neighbour_kernels as kernels

    rng = np.random.default_rng(most)
    for _ in range(20):
        points = rng.integers(0, 6, (15, 2)).astype(float)
        pairs = np.array(list(itertools.combinations(range(15), 2)))
        pairs = pairs[rng.random(len(pairs)) < 0.4]
        stretch = rng.random(len(pairs))
        squared = ((points[pairs[:, 0]] - points[pairs[:, 1]]) ** 2).sum(axis=1)
        order = np.argsort(squared, kind="stable")
        wanted = kernels.close_pairs(15, pairs[order], squared[order], stretch[order], 0.8, most)
        found = kernels.shortest_pairs(points, pairs, stretch, 0.8, most)
        assert set(map(tuple, wanted.ends.tolist())) == set(map(tuple, pairs[found].tolist()))
        assert sorted(wanted.bound) == sorted(squared[found])


def test_close_pairs_stand_by_place():
    from deepsteiner.fst.enumerate.nearby.neighbour_kernels import placed_pairs

    rng = np.random.default_rng(3)
    pairs = np.array(list(itertools.combinations(range(12), 2)))
    rng.shuffle(pairs)
    bound, keep = rng.random(len(pairs)), rng.random(len(pairs)) < 0.5
    rows = np.flatnonzero(keep)
    rows = rows[np.lexsort(pairs[rows].T)]
    placed, bounds, *_ = placed_pairs(12, pairs, bound, keep)
    assert np.array_equal(placed, pairs[rows])
    assert np.array_equal(bounds, bound[rows])


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("heavy", [False, True])
def test_slices_come_back_in_order(threads, heavy):
    heard = []

    def tell(phase, done, total):
        heard.append((phase, done, total))
        return True

    with Workers(threads) as workers:
        spans = workers.map(lambda *span: span, 1000, 7, tell, "some", heavy)
    assert [v for a, b in spans for v in range(a, b)] == list(range(1000))
    assert heard[-1] == ("some", 1000, 1000)
    assert [done for _, done, _ in heard] == sorted(done for _, done, _ in heard)


@pytest.mark.parametrize("threads", [1, 3])
def test_a_stopped_map_gives_the_first_slices(threads):
    def run(first, last):
        time.sleep(0.002)
        return first, last

    with Workers(threads) as workers:
        spans = workers.map(run, 10**6, 5, lambda phase, done, total: done < 10, "some")
    covered = [v for a, b in spans for v in range(a, b)]
    assert covered == list(range(len(covered)))
    assert 10 <= len(covered) < 1000


def test_slow_items_are_heard_of_meanwhile():
    calls = []
    with Workers(1) as workers:
        workers.map(
            lambda *_: time.sleep(0.2), 1, 1, lambda *told: calls.append(told) or True, "", True
        )
    assert len(calls) >= 3


def test_a_slow_item_can_be_left_behind():
    release, ended = threading.Event(), []

    def run(first, last):
        ended.append(release.wait(60))

    with Workers(1) as workers:
        spans = workers.map(run, 5, 1, lambda *told: False, "some", True, True)
        assert spans == []
        assert workers.map(lambda *span: span, 2, 2, None, "", True) == [(0, 2)]
    assert ended == []  # nobody has waited for it
    release.set()


def test_an_error_in_a_slice_is_raised():
    def run(first, last):
        raise ZeroDivisionError

    for threads in (1, 2):
        with Workers(threads) as workers, pytest.raises(ZeroDivisionError):
            workers.map(run, 10, 1)


@pytest.mark.parametrize("threads", [1, 3])
def test_each_item_once_and_in_order(threads):
    taken = []

    def run(item):
        time.sleep(0.002 * (item % 3))
        taken.append(item)
        return -item

    with Workers(threads) as workers:
        assert workers.each(run, range(40)) == [-item for item in range(40)]
        assert workers.each(run, []) == []
        assert sorted(taken) == list(range(40))
        with pytest.raises(ZeroDivisionError):
            workers.each(lambda item: 1 // (item - 20), range(40))


def test_waiting_asks_now_and_then():
    asked = []
    assert waited(lambda: time.sleep(0.15) or 5, lambda: asked.append(1) or True) == 5
    assert len(asked) >= 2
    with pytest.raises(Stopped):
        waited(lambda: time.sleep(0.2), lambda: False)


def test_long_reductions_are_heard_of_and_cost_no_slices(monkeypatch):
    from deepsteiner.fst.enumerate.complete.generate import generate
    from deepsteiner.fst.select.exact import blocks_kernels, concatenation

    trees = generate(np.random.default_rng(5).random((60, 2)))
    wanted = concatenation.concatenate(trees)
    settle, phases = blocks_kernels.settle, []

    def slow(*given):
        time.sleep(0.1)
        return settle(*given)

    monkeypatch.setattr(concatenation, "LONG", 0)
    monkeypatch.setattr(blocks_kernels, "settle", slow)
    found = concatenation.concatenate(
        trees, keep_going=lambda phase, *_: phases.append(phase) or True
    )
    assert np.array_equal(found.selected, wanted.selected)
    assert phases.count(concatenation.WAITING) >= 2
    stopped = concatenation.concatenate(
        trees, keep_going=lambda phase, *_: phase != concatenation.WAITING
    )
    assert not stopped.optimal
    assert stopped.length >= wanted.length
