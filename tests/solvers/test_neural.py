"""`neural`: kernels against slow twins, the network against torch, and whole solves."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest

import deepsteiner as ds
from deepsteiner.core.errors import FormatError
from deepsteiner.core.models import SHIPPED
from deepsteiner.core.points import Frame
from deepsteiner.scoring import weights as neural_weights
from deepsteiner.solvers import neural
from list_twins import labels_after

GOLDEN = Path(__file__).parents[1] / "golden"


def framed(points):
    return Frame.of(points).into(points)


def listed(n, seed, largest=6):
    from deepsteiner.fst.enumerate.nearby.small_listing_kernels import list_grown

    points = framed(np.random.default_rng(seed).random((n, 2)))
    return points, list_grown(points, largest)


def tree_edges(points, listing, f):
    """Return the coordinates and the edges of one tree of a list."""
    _, start, terminals, _, steiner = listing
    own = terminals[start[f] : start[f + 1]]
    k = len(own)
    places = np.concatenate((points[own], steiner[start[f] - 2 * f :][: max(k - 2, 0)]))
    if k == 2:
        return places, [(0, 1)]
    edges = [(i, k + min(max(i - 1, 0), k - 3)) for i in range(k)]
    return places, edges + [(k + i, k + i + 1) for i in range(k - 3)]


@pytest.mark.parametrize("n", [12, 60])
def test_grown_trees_are_full_steiner_trees(n):
    points, listing = listed(n, 1)
    sizes = set()
    for f in range(n - 1, len(listing.length)):
        places, edges = tree_edges(points, listing, f)
        own = listing.terminals[listing.start[f] : listing.start[f + 1]]
        sizes.add(len(own))
        assert len(set(own.tolist())) == len(own)
        total = sum(np.hypot(*(places[a] - places[b])) for a, b in edges)
        assert total == pytest.approx(listing.length[f], rel=1e-9)
        for s in range(len(own), len(places)):
            ends = [b if a == s else a for a, b in edges if s in (a, b)]
            units = [(places[e] - places[s]) / np.hypot(*(places[e] - places[s])) for e in ends]
            for u, v in itertools.combinations(units, 2):
                assert u @ v == pytest.approx(-0.5, abs=1e-6)
    assert sizes >= {3, 4}


def test_trees_of_five_are_those_that_pairs_and_thirds_give():
    from deepsteiner.fst.enumerate.nearby.small_listing_kernels import list_small

    known, found = set(), set()
    for seed in range(12):
        points, listing = listed(60, seed, 5)
        for target, (_, start, terminals, *_) in ((found, listing), (known, list_small(points, 5))):
            for f in range(len(start) - 1):
                if start[f + 1] - start[f] == 5:
                    target.add((seed, *sorted(terminals[start[f] : start[f + 1]].tolist())))
    assert len(known) > 40
    assert found <= known
    assert len(known - found) <= 0.06 * len(known)


def test_list_holds_nearly_all_parts_of_shortest_trees():
    from deepsteiner.fst.component_kernels import components

    parts = missing = 0
    for seed in range(10):
        points, (_, start, terminals, *_) = listed(40, seed)
        names = {tuple(sorted(terminals[a:b])) for a, b in itertools.pairwise(start)}
        best = ds.solve(points, "exact")
        at, members, *_ = components(best.terminals, best.steiner_points, best.edges)
        wanted = [tuple(sorted(members[a:b])) for a, b in itertools.pairwise(at)]
        parts += len(wanted)
        missing += sum(name not in names for name in wanted)
    assert missing <= 0.01 * parts


def test_relations_against_a_slow_twin():
    from deepsteiner.scoring.network_kernels import STRIDE, described, savings

    points, listing = listed(30, 3)
    _, start, terminals, length, _ = listing
    _, begin, links = described(listing, True)
    saving = savings(listing).base - length
    units = []
    for f in range(len(length)):
        places, edges = tree_edges(points, listing, f)
        k = start[f + 1] - start[f]
        unit = {}
        for a, b in edges:
            for x, y in ((a, b), (b, a)):
                if x < k:
                    way = places[y] - places[x]
                    unit[int(terminals[start[f] + x])] = way / np.hypot(*way)
        units.append(unit)
    for f in range(len(length)):
        mine = {}
        for g in range(len(length)):
            common = sorted(set(units[f]) & set(units[g]))
            if g == f or not common:
                continue
            better = int(saving[g] > saving[f])
            if len(common) > 1:
                mine[g] = 3 + better
            else:
                apart = units[f][common[0]] @ units[g][common[0]] <= -0.5 + 1e-6
                mine[g] = 0 if apart else 1 + better
        theirs = {int(x) // STRIDE: int(x) % STRIDE for x in links[begin[f] : begin[f + 1]]}
        assert theirs == mine


def test_features_do_not_change_when_the_plane_is_turned_and_scaled():
    from deepsteiner.fst.enumerate.nearby.small_listing_kernels import list_grown
    from deepsteiner.scoring.network_kernels import scores

    weights = neural_weights.load_weights()
    points = np.random.default_rng(8).random((40, 2)) - 0.5
    turn = np.array([[np.cos(1.0), np.sin(1.0)], [-np.sin(1.0), np.cos(1.0)]])
    found = []
    for moved in (points, 0.37 * points @ turn):
        moved = np.ascontiguousarray(moved)
        listing = list_grown(moved, 6)
        _, start, terminals, *_ = listing
        logits = scores(listing, weights)
        found.append(
            {
                tuple(sorted(terminals[a:b])): z
                for (a, b), z in zip(itertools.pairwise(start), logits, strict=True)
            }
        )
    assert found[0].keys() == found[1].keys()
    for name, logit in found[0].items():
        assert found[1][name] == pytest.approx(logit, abs=1e-3)


def test_numba_and_torch_agree():
    torch = pytest.importorskip("torch")
    from safetensors.torch import load_file

    from deepsteiner.scoring.network import ListGraph, ListNetwork
    from deepsteiner.scoring.network_kernels import described, scores

    weights = neural_weights.load_weights()
    network = ListNetwork(len(weights.own))
    network.load_state_dict(load_file(SHIPPED / "neural" / "weights.safetensors"))
    for seed, n in ((0, 5), (1, 30), (2, 100)):
        _, listing = listed(n, seed)
        logits = scores(listing, weights)
        graph = ListGraph.of(described(listing, True))
        with torch.no_grad():
            wanted = network(graph).numpy()
        scale = max(1.0, float(np.abs(wanted).max()))
        assert np.abs(logits - wanted).max() <= 1e-5 * scale


def test_a_region_keeps_the_tree_whole_and_never_longer():
    from deepsteiner.fst.select.hypergraph import Budget, Hypergraph
    from deepsteiner.fst.select.search.region_kernels import solve_region
    from deepsteiner.fst.select.search.window_kernels import Selection, by_first_terminal

    points, (_, start, terminals, length, _) = listed(80, 4)
    n = len(points)
    graph = Hypergraph(n, start, terminals, length)
    picked, local = np.arange(len(length)) < n - 1, np.full(n, -1, dtype=np.int64)
    selection = Selection(graph, by_first_terminal(graph), picked)
    total = length[picked].sum()
    for corner in itertools.product((0, 1), repeat=2):
        side = np.where(corner, points, -points)
        members = np.flatnonzero((side > -0.1).all(axis=1))
        saved = solve_region(selection, members, Budget(1e6, 50_000), local)
        assert saved >= 0.0
        sets = [terminals[start[f] : start[f + 1]].tolist() for f in np.flatnonzero(picked)]
        assert len(set(labels_after(n, sets) or range(n))) == 1
        assert length[picked].sum() == pytest.approx(total - saved, rel=1e-12)
        assert (local == -1).all()
        total -= saved
    assert total < 0.985 * length[: n - 1].sum()


LIMITS = {  # mean gap in %, an order above what was measured
    "fast": {"u10": 0.1, "u20": 0.1, "u100": 0.05, "c50": 0.1, "i30": 0.2},
    "default": {"u10": 0.02, "u20": 0.04, "u100": 0.01, "c50": 0.05, "i30": 0.05},
}


@pytest.mark.parametrize("effort", list(LIMITS))
@pytest.mark.parametrize("name", ["u10", "u20", "u100", "c50", "i30"])
def test_golden_gap(name, effort):
    with np.load(GOLDEN / f"{name}.npz") as data:
        points, optima = data["points"][:20], data["optimal_length"][:20]
    solutions = ds.solve_many(points, "neural", effort=effort)
    gaps = 100.0 * (solutions.lengths / optima - 1.0)
    assert gaps.min() > -1e-7
    assert gaps.mean() < LIMITS[effort][name]
    for solution in solutions:
        solution.validate(strict=True)


@pytest.mark.parametrize("n", [3, 4, 7, 40, 300])
def test_batch_and_single_agree(n):
    points = np.random.default_rng(n).random((3, n, 2))
    together = ds.solve_many(points, "neural").lengths
    for one, length in zip(points, together, strict=True):
        solution = ds.solve(one, "neural")
        solution.validate(strict=True)
        assert solution.length == length


def test_large_instance_without_pieces_and_with_a_start():
    points = np.random.default_rng(1).random((400, 2))
    plain = ds.solve(points, "neural", pieces="none")
    full = ds.solve(points, "neural")
    whole = ds.solve(points, "neural", pieces="any")
    again = ds.solve(points, "neural", effort="fast", start=plain)
    spanning = ds.solve(points, "mst").length
    assert whole.length <= full.length <= plain.length < 0.975 * spanning
    assert again.length <= plain.length
    assert ds.solve(points, "neural", threads=2).length == full.length


def test_a_stop_gives_a_tree():
    points = np.random.default_rng(2).random((500, 2))
    solution = ds.solve(points, "neural", on_progress=lambda progress: False)
    assert solution.status == "interrupted"
    solution = ds.solve(points, "neural", time_limit=1e-4)
    assert solution.status == "time_limit"
    assert solution.length <= ds.solve(points, "mst").length * (1.0 + 1e-12)


def test_trace_has_improvements():
    points = np.random.default_rng(3).random((60, 2))
    solution = ds.solve(points, "neural", trace=True)
    trace = solution.info["trace"]
    assert trace[0]["step"] == "start"
    assert all(record["saving"] > 0 for record in trace)
    spanning = ds.solve(points, "mst").length
    assert trace[0]["length"] + trace[0]["saving"] == pytest.approx(spanning)
    for before, after in itertools.pairwise(trace):
        assert after["length"] == pytest.approx(before["length"] - after["saving"])
    assert trace[-1]["length"] == pytest.approx(solution.length)


@pytest.mark.parametrize(
    "points",
    [
        [[0, 0], [1, 0], [2, 0], [3, 0], [7, 0]],
        [[x, y] for x in range(5) for y in range(5)],
        [[np.cos(t), np.sin(t)] for t in np.arange(12) * np.pi / 6],
        [[0, 0], [1e-9, 0], [0, 1e-9], [1, 1], [1 + 1e-9, 1]],
        [[1e7 + x, 1e7 + y] for x, y in ((0, 0), (3, 1), (1, 2), (4, 4), (2, 5))],
    ],
)
def test_degenerate_points(points):
    points = np.array(points, dtype=float)
    solution = ds.solve(points, "neural")
    solution.validate()
    assert solution.length <= ds.solve(points, "mst").length * (1.0 + 1e-12)
    assert solution.length >= ds.solve(points, "exact").length * (1.0 - 1e-9)


def test_bad_models_are_refused(tmp_path):
    points = np.random.default_rng(0).random((10, 2))
    with pytest.raises(FormatError, match=r"neural\.json"):
        ds.solve(points, "neural", model=str(tmp_path / "nothing"))
    (tmp_path / "neural.json").write_text('{"format": 1, "rounds": 2}')
    (tmp_path / "weights.safetensors").write_bytes(b"none")
    with pytest.raises(FormatError, match="safetensors"):
        ds.solve(points, "neural", model=str(tmp_path))


def test_efforts_are_described():
    assert {"effort", "pieces", "model", "start", "threads", "turns"} == {
        o.name for o in neural.INFO.options
    }


@pytest.mark.parametrize("n", [3, 4, 5])
def test_a_trace_of_very_few_points(n):
    """They take the way of large instances, whose windows have a share of the points."""
    points = np.random.default_rng(n).random((n, 2))
    solution = ds.solve(points, "neural", trace=True)
    assert solution.info["trace"]
    assert solution.length <= ds.solve(points, "mst").length
