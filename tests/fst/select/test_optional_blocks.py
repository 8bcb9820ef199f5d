"""Blocks, the frontier programme and probes of lists with optional nodes, against all choices."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import deepsteiner as ds
from deepsteiner.core.trees import offsets
from deepsteiner.fst.select.exact.frontier_kernels import DEAD, DONE, STATUS, trace_back
from deepsteiner.fst.select.exact.prune_kernels import incidence
from deepsteiner.fst.select.hypergraph import Hypergraph
from deepsteiner.fst.select.optional import concatenation as choosing
from deepsteiner.fst.select.optional import frontier_kernels as frontier
from deepsteiner.fst.select.optional import probe_kernels as probing
from deepsteiner.fst.select.optional import reduction_kernels as reduction
from deepsteiner.fst.select.optional.programme import Ask, Programme
from deepsteiner.fst.select.optional.turn_kernels import no_turns
from deepsteiner.maps import generate_map

NOTHING = np.empty((0, 0))


def sparse_list(seed: int, size: int, terminals: int, many: int = 11):
    """Some pairs and triples of nodes, most of them of nodes that follow each other."""
    random = np.random.default_rng(seed)
    leaves: set[tuple[int, ...]] = set()
    while len(leaves) < many:
        first = int(random.integers(size))
        reach = 3 if random.random() < 0.8 else size
        some = {first, *((first + random.integers(1, 1 + reach, random.integers(1, 3))) % size)}
        if len(some) > 1:
            leaves.add(tuple(sorted(int(v) for v in some)))
    names = random.permutation(size)
    listed = [np.sort(names[list(some)]) for some in sorted(leaves)]
    length = np.array([len(some) - 1 + random.random() for some in listed])
    return listed, length, size, terminals


def hypergraph(leaves, length, size) -> Hypergraph:
    return Hypergraph(size, offsets([len(one) for one in leaves]), np.concatenate(leaves), length)


def families(leaves, terminals: range):
    """Yield all choices that connect the terminals and have no other part; whether it is a tree."""
    for flags in itertools.product((False, True), repeat=len(leaves)):
        own = [set(one.tolist()) for one, taken in zip(leaves, flags, strict=True) if taken]
        nodes = set().union(*own, terminals)
        joins = sum(len(one) - 1 for one in own)
        parts = [{v} for v in nodes]
        for one in own:
            touched = [part for part in parts if part & one]
            parts = [part for part in parts if not part & one] + [set().union(*touched)]
        if len(parts) == 1:
            yield np.array(flags), joins == len(nodes) - 1


def solutions(leaves, terminals: range, twice: bool):
    """Return all trees among the choices; `twice`: whose optional nodes have two trees."""
    return [
        flags
        for flags, is_tree in families(leaves, terminals)
        if is_tree and not (twice and ends(leaves, flags, terminals))
    ]


def ends(leaves, flags, terminals: range) -> bool:
    """Whether an optional node has one tree only."""
    own = [v for k in np.flatnonzero(flags) for v in leaves[k].tolist()]
    return any(own.count(v) == 1 for v in set(own) - set(terminals))


@pytest.mark.parametrize("seed", range(60))
def test_blocks_are_problems_of_their_own(seed):
    size, terminals = 8, 2 + seed % 5
    leaves, length, *_ = sparse_list(seed, size, terminals, 9 + seed % 4)
    graph = hypergraph(leaves, length, size)
    alive, chosen = np.ones(len(leaves), np.bool_), np.zeros(len(leaves), np.bool_)
    optional = np.arange(size) >= terminals
    turns = no_turns(len(graph.terminals), size)
    blocks = reduction.reduced(graph, alive, chosen, np.arange(size), optional, turns)
    every = solutions(leaves, range(terminals), twice=True)
    if blocks.number < 0:
        assert not every
        return
    undecided = [blocks.trees[blocks.first[b] : blocks.first[b + 1]] for b in range(blocks.number)]
    assert sorted(np.concatenate([[], *undecided])) == np.flatnonzero(alive).tolist()
    inside = []
    for b, trees in enumerate(undecided):
        own = blocks.names.items[blocks.names.first[b] : blocks.names.first[b + 1]]
        rows = [blocks.local[blocks.begin[k] : blocks.begin[k + 1]]
                for k in range(blocks.first[b], blocks.first[b + 1])]  # fmt: skip
        order = np.argsort(optional[own], kind="stable")
        rows = [np.argsort(order)[row] for row in rows]
        needed = range(int((~optional[own]).sum()))
        assert len(needed) >= 2
        inside.append({tuple(trees[flags]) for flags in solutions(rows, needed, twice=False)})
    for flags in every:
        assert flags[chosen].all()
        assert not flags[~alive & ~chosen].any()
        for trees, known in zip(undecided, inside, strict=True):
            assert tuple(trees[flags[trees]]) in known
    # And any choice in each is a tree together.
    whole = {tuple(np.flatnonzero(one)) for one in solutions(leaves, range(terminals), twice=False)}
    for some in itertools.islice(itertools.product(*inside), 50):
        picked = np.sort(np.concatenate([np.flatnonzero(chosen), *some]).astype(np.int64))
        assert tuple(picked) in whole


def programmed(graph, optional, special, room=np.inf, budget=np.inf):
    """The frontier programme by itself: its status and what it takes."""
    at = incidence(graph, np.ones(len(graph.length), np.bool_))
    order, work = frontier.best_order(graph, at, optional, 3, 1e9)
    assert np.isfinite(work)
    names, forced = np.arange(graph.n), np.zeros(len(order), np.bool_)
    prices = frontier.prices_beside_optional(graph, optional)
    problem = frontier.Problem(graph, order, forced, optional, prices, special, names)
    unmet = int((~optional).sum())
    progress = frontier.depart(problem, np.diff(at.first), room - prices.sum(), unmet)
    while True:
        progress = frontier.decide_next(problem, progress, budget, 1 << 20)
        if progress.record[STATUS] not in (0, 1) or progress.record[STATUS] == DONE:
            break
    picked = np.zeros(len(order), np.bool_)
    if progress.record[STATUS] == DONE:
        trace_back(progress, picked)
    return progress.record[STATUS], picked


def connected_list(seed: int, size: int, terminals: int):
    """A list whose trees reach all nodes from the first."""
    for more in itertools.count():
        given = sparse_list(1000 * more + seed, size, terminals)
        reached, before = {0}, set()
        while reached != before:
            before = set(reached)
            for one in given[0]:
                if reached & set(one.tolist()):
                    reached |= set(one.tolist())
        if len(reached) == size:
            return given
    raise AssertionError


@pytest.mark.parametrize("seed", range(30))
def test_the_frontier_programme_finds_the_shortest_choice(seed):
    leaves, length, size, terminals = connected_list(seed, 8, 3 + seed % 3)
    graph, optional = hypergraph(leaves, length, size), np.arange(size) >= terminals
    every = solutions(leaves, range(terminals), twice=False)
    status, picked = programmed(graph, optional, NOTHING, budget=3.0 if seed % 2 else np.inf)
    if not every:
        assert status == DEAD
        return
    least = min(length[flags].sum() for flags in every)
    assert status == DONE
    assert length[picked].sum() == pytest.approx(least, rel=1e-12)
    assert any((picked == flags).all() for flags in every)
    assert programmed(graph, optional, NOTHING, room=least * 1.0001)[0] == DONE
    assert programmed(graph, optional, NOTHING, room=least * 0.999)[0] == DEAD


def special_of(leaves, length, size, terminals):
    """Special distances by the pairs of a list: ways broken at terminals, by their longest part."""
    apart = np.full((size, size), np.inf)
    np.fill_diagonal(apart, 0.0)
    for one, long in zip(leaves, length, strict=True):
        if len(one) == 2:
            apart[one[0], one[1]] = apart[one[1], one[0]] = min(apart[one[0], one[1]], long)
    for v in range(size):
        apart = np.minimum(apart, apart[:, v, None] + apart[v])
    for v in range(terminals):
        apart = np.minimum(apart, np.maximum(apart[:, v, None], apart[v]))
    return apart


@pytest.mark.parametrize("seed", range(30))
def test_special_distances_lose_no_shortest_choice(seed):
    """With pairs of all nodes; where even more than a tree would connect at less, all may go."""
    leaves, _, size, terminals = connected_list(seed, 6, 3)
    leaves = [one for one in leaves if len(one) > 2][:5]
    leaves += [np.array(two) for two in itertools.combinations(range(size), 2)][seed % 4 :: 2]
    random = np.random.default_rng(seed)
    places = random.random((size, 2))
    length = np.array([spanned(places[one]) * random.uniform(0.85, 1.0) for one in leaves])
    graph, optional = hypergraph(leaves, length, size), np.arange(size) >= terminals
    special = special_of(leaves, length, size, terminals)
    whole = list(families(leaves, range(terminals)))
    every = [(length[flags].sum(), is_tree) for flags, is_tree in whole]
    least = min(long for long, _ in every)
    status, picked = programmed(graph, optional, special)
    if (least, True) in every:
        assert status == DONE
        assert length[picked].sum() == pytest.approx(least, rel=1e-12)
    best = min(long for long, is_tree in every if is_tree)
    alive = np.ones(len(leaves), np.bool_)
    probes = probing.set_up_probes(
        graph, optional, special, np.arange(size), best * (1 + 1e-9), alive
    )
    at = decided = 0
    while at < size and decided >= 0:
        at, decided = probing.probe_all(probes, 6, 1000, at, 1)
    if best == least:
        assert decided >= 0
        for flags, _ in whole:
            if length[flags].sum() == least:
                assert alive[flags].all()
                assert flags[probes.forced].all()


def spanned(places) -> float:
    """Length of the spanning tree of a few points."""
    reached, total = [0], 0.0
    while len(reached) < len(places):
        apart, k = min(
            (float(np.hypot(*(places[u] - places[v]))), v)
            for u in reached for v in range(len(places)) if v not in reached
        )  # fmt: skip
        total += apart
        reached.append(k)
    return total


def test_prices_never_exceed_what_a_choice_costs():
    for seed in range(30):
        leaves, length, size, terminals = sparse_list(seed, 7, 3)
        optional = np.arange(size) >= terminals
        prices = frontier.prices_beside_optional(hypergraph(leaves, length, size), optional)
        assert not prices[optional].any()
        for flags in solutions(leaves, range(terminals), twice=False):
            for root in range(terminals):
                assert length[flags].sum() >= prices[:terminals].sum() - prices[root] - 1e-12


def used_key(label: dict[int, int]) -> int:
    """Number the groups by their first slot, four bits a slot; fifteen for what is unused."""
    names: dict[int, int] = {}
    key = 0
    for s in sorted(label):
        name = 15 if label[s] == 31 else names.setdefault(label[s], len(names))
        key |= name << (4 * s)
    return key


def test_keys_and_closing_of_slots_that_may_be_unused():
    random = np.random.default_rng(0)
    verdicts = []
    for _ in range(600):
        slots = np.sort(random.choice(15, int(random.integers(1, 7)), replace=False))
        names = random.choice([0, 3, 17, 30, 31, 31], len(slots))
        label = np.zeros(15, np.int64)
        label[slots] = names
        mine = dict(zip(slots.tolist(), names.tolist(), strict=True))
        assert frontier.pack_used(label, slots) == used_key(mine)
        closing = [s for s in mine if random.random() < 0.5]
        unmet = int(random.integers(2))
        found = frontier.close_used(
            label, sum(1 << s for s in mine), sum(1 << s for s in closing), unmet
        )
        groups = {name for name in mine.values() if name != 31}
        staying = {mine[s] for s in mine if s not in closing}
        gone = groups - staying
        # A part that leaves is the last of all, and nothing is to come.
        assert found == (not gone or (len(groups) == 1 and not unmet))
        verdicts.append(found)
    assert 0.1 < np.mean(verdicts) < 0.9


def test_a_finer_partition_that_is_cheaper_drops_a_coarser_one():
    """Slots 0 and 1 together at 5, apart at 3: joined they cost 3 and what lies between."""
    near = np.full((15, 15), np.inf)
    slots = np.array([0, 1])
    for second in (0, 1, 15):  # together, apart, the second unused
        for apart in (1.5, 2.5):
            near[0, 1] = near[1, 0] = apart
            layer = frontier.empty_layer(2)
            table = np.full(16, -1)
            count = frontier.insert_state(0, 5.0, -1, table, layer, 0)
            if second:
                count = frontier.insert_state(second << 4, 3.0, -1, table, layer, count)
            left = frontier.drop_longer(3, near, table, layer, count)
            assert left == (1 if not second or apart == 1.5 else 2)
            assert math.isclose(layer.costs[0], 3.0 if left == 1 and second else 5.0)
    assert slots.size == 2


EASIEST = ((0.0, 0, 0, 0, 0),)
PROBED = ((0.0, 0, 0, 0, 0), (0.0, 0, 5, 20, 1), (1e9, 1 << 20, 8, 50, 1))


@pytest.mark.parametrize("levels", [EASIEST, PROBED])
@pytest.mark.parametrize("seed", range(8))
def test_every_level_finds_the_same(seed, levels, monkeypatch):
    leaves, length, size, terminals = connected_list(seed, 12, 6)
    random = np.random.default_rng(seed)
    for _ in range(14):
        leaves.append(np.sort(random.choice(size, 2, replace=False)))
    length = np.append(length, 1.0 + random.random(14))
    expected = Programme(leaves, length, Ask(size, terminals, np.inf, None)).run(None)
    monkeypatch.setattr(choosing, "LEVELS", tuple(choosing.Level(*one) for one in levels))
    found = choosing.concatenate(leaves, length, size, terminals)
    assert found.length == pytest.approx(expected.length, rel=1e-9)
    assert found.optimal == expected.optimal
    below = choosing.concatenate(leaves, length, size, terminals, ceiling=0.98 * found.length)
    assert below.lower_bound >= 0.98 * found.length


def test_whoever_stops_gets_a_bound():
    leaves, length, size, terminals = connected_list(3, 12, 6)
    choice = choosing.concatenate(leaves, length, size, terminals, lambda *_: False)
    free = choosing.concatenate(leaves, length, size, terminals)
    assert choice.lower_bound <= free.length


@pytest.mark.parametrize(("seed", "n", "obstacles"), [(0, 6, 8), (1, 12, 20), (2, 25, 12)])
def test_lists_of_maps_against_the_linear_programme(seed, n, obstacles, monkeypatch):
    """What special distances rule out is in no shortest tree around obstacles."""
    pytest.importorskip("shapely")
    chosen = choosing.concatenate
    compared = []

    def both(leaves, length, size, terminals, keep_going=None, **given):
        found = chosen(leaves, length, size, terminals, keep_going, **given)
        if "special" in given:
            ask = Ask(size, terminals, given["ceiling"], given["turns"])
            other = Programme(leaves, length, ask).run(None)
            compared.append((found.length, other.length))
        return found

    monkeypatch.setattr(choosing, "concatenate", both)
    world = generate_map("convex", n, obstacles=obstacles, cover=0.25, seed=seed)
    assert ds.solve(world.points, "exact", obstacles=world.obstacles).status == "optimal"
    assert compared
    for found, other in compared:
        assert found == pytest.approx(other, rel=1e-9)
