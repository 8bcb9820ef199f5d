"""Recorded games: the loop that replays them here, the recordings themselves where CUDA is."""
# ruff: noqa: E402 - the modules under test need torch, which is an extra

from __future__ import annotations

from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import deepsteiner as ds
from deepsteiner.policy import checkpoint, decoding, graphs
from deepsteiner.policy.network import Policy
from deepsteiner.policy.rollout import Player
from deepsteiner.policy.settings import CandidateSpec, NetworkConfig

needs_cuda = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")


class Replayed(graphs.Recording):
    """A recording whose steps are simply taken again."""

    def _record(self, state):
        steps = range(state.width - 2)
        self._graphs = [SimpleNamespace(replay=partial(self._step, number)) for number in steps]


def small_player(kind: str) -> Player:
    torch.manual_seed(3)
    policy = Policy(NetworkConfig(layers=1, dim=16, heads=4, ff=16, norm="layer", inputs="edge"))
    return Player(policy.double().eval(), CandidateSpec(kind, k_star=2, grid=5))


@pytest.mark.parametrize("kind", ["mst", "knn", "grid"])
def test_replayed_games_give_the_trees_of_the_plain_loop(kind):
    player = small_player(kind)
    points = torch.from_numpy(np.random.default_rng(1).random((40, 6, 2)))
    with torch.inference_mode():
        start = player.rules.reset(points)
        recording = Replayed(player, start)
        for shift in (0.0, 0.1):
            start = player.rules.reset(points * (1.0 - shift))
            found, expected = recording.play(start, None), decoding.greedy(player, start)
            torch.testing.assert_close(found.length, expected.length, rtol=1e-12, atol=0.0)
            assert torch.equal(found.count, expected.count)
            assert torch.equal(found.edges, expected.edges)


def test_a_report_can_stop_a_replay():
    player = small_player("mst")
    with torch.inference_mode():
        start = player.rules.reset(torch.from_numpy(np.random.default_rng(2).random((1, 8, 2))))
        seen = []

        def report(step, state):
            seen.append((step, int(state.steps[0])))
            return step < 1

        found = Replayed(player, start).play(start, report)
    assert seen[0] == (0, 0)
    assert int(found.steps[0]) <= 1


def test_nothing_is_recorded_without_cuda_or_unasked():
    player = small_player("mst")
    start = player.rules.reset(torch.rand((2, 5, 2), dtype=torch.float64))
    assert not graphs.suits(player, start)
    points = np.random.default_rng(0).random((10, 2))
    plain = ds.solve(points, "policy")
    assert ds.solve(points, "policy", graphs=True).length == plain.length


@needs_cuda
@pytest.mark.parametrize("batch", [1, 16])
@pytest.mark.parametrize("n", [3, 10, 12])
def test_recorded_games_give_the_trees_of_the_plain_loop(n, batch):
    policy, meta = checkpoint.load("mst-d1", "cuda")
    plain = Player(policy, checkpoint.candidate_spec(meta))
    recorded = Player(policy, plain.spec, graphs=True)
    for seed in range(3):
        points = torch.from_numpy(np.random.default_rng(seed).random((batch, n, 2))).cuda()
        start = plain.rules.reset(points)
        assert graphs.suits(recorded, start)
        found, expected = decoding.greedy(recorded, start), decoding.greedy(plain, start)
        torch.testing.assert_close(found.length, expected.length, rtol=1e-9, atol=0.0)


@needs_cuda
def test_recordings_are_few_and_large_batches_are_not_recorded():
    policy, meta = checkpoint.load("mst-d1", "cuda")
    player = Player(policy, checkpoint.candidate_spec(meta), graphs=True)
    for n in range(4, 4 + graphs.KEPT + 2):
        points = torch.rand((1, n, 2), dtype=torch.float64, device="cuda")
        decoding.greedy(player, player.rules.reset(points))
    assert len(graphs._recordings) <= graphs.KEPT
    large = torch.rand((2000, 10, 2), dtype=torch.float64, device="cuda")
    assert not graphs.suits(player, player.rules.reset(large))


@needs_cuda
def test_single_solves_with_graphs_equal_those_without():
    for points in np.random.default_rng(5).random((6, 10, 2)):
        plain = ds.solve(points, "policy", device="cuda", precision="float32")
        found = ds.solve(points, "policy", device="cuda", precision="float32", graphs=True)
        assert found.length == pytest.approx(plain.length, rel=1e-9)
