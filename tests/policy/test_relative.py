"""The relative network: nothing changes when an instance is moved, turned, mirrored or scaled."""
# ruff: noqa: E402 - the modules under test need torch

from __future__ import annotations

import math

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import deepsteiner as ds
from deepsteiner.policy.environment import Environment
from deepsteiner.policy.network import build_network
from deepsteiner.policy.relative.features import closure, measure
from deepsteiner.policy.settings import CandidateSpec, NetworkConfig
from deepsteiner.policy.spanning import bottlenecks, spanning_tree


@pytest.fixture
def network():
    with torch.random.fork_rng():
        torch.manual_seed(3)
        config = NetworkConfig("relative", layers=2, dim=16, heads=4, ff=16, norm="layer")
        return build_network(config).double().eval()


def places(batch, size, seed=0):
    return torch.from_numpy(np.random.default_rng(seed).random((batch, size, 2)))


def log_probs(network, points, spec, count=None, pause=None):
    rules = Environment(spec)
    state = rules.reset(points, count)
    found = rules.candidates(state)
    with torch.no_grad():
        return network(state.points[:, : points.shape[1]], state.count, found, pause)


@pytest.mark.parametrize("kind", ["mst", "knn"])
def test_images_of_an_instance_look_alike(network, kind):
    # An even number: candidates in the middle of an arc have two nearest ends.
    spec, points = CandidateSpec(kind, k_star=4), places(3, 7)
    turn = torch.tensor([[math.cos(0.7), -math.sin(0.7)], [math.sin(0.7), math.cos(0.7)]])
    image = (points @ turn.double().T) * 3.1 + 5.0
    image[:, :, 0] *= -1.0
    one, other = log_probs(network, points, spec), log_probs(network, image, spec)
    # Mirrored, the sides of an edge change places.
    assert torch.allclose(one.sort(dim=1).values, other.sort(dim=1).values, atol=1e-9)


@pytest.mark.parametrize("kind", ["mst", "knn", "grid"])
def test_padding_takes_no_part(network, kind):
    spec, points = CandidateSpec(kind, k_star=3, grid=5), places(2, 6)
    alone = log_probs(network, points, spec)
    padded = torch.cat((points, places(2, 3, seed=1)), dim=1)
    beside = log_probs(network, padded, spec, torch.tensor([6, 6]))
    some = beside[torch.isfinite(beside)].view(2, -1)
    assert torch.allclose(some, alone, atol=1e-9)
    assert torch.isfinite(log_probs(network, padded, spec, torch.tensor([9, 3]))[:, :3]).all()


def test_parts_with_pauses_give_what_all_candidates_at_once_give(network, monkeypatch):
    monkeypatch.setattr("deepsteiner.policy.relative.network._PIECE", 50)
    points, pauses = places(1, 8), []
    whole = log_probs(network, points, CandidateSpec())
    parts = log_probs(network, points, CandidateSpec(), pause=lambda: pauses.append(1))
    assert torch.allclose(whole, parts, atol=1e-12)
    assert len(pauses) > 10


def test_bottlenecks_from_distances_alone_are_those_of_the_tree():
    points, count = places(4, 9), torch.tensor([9, 9, 5, 1])
    tree = measure(points, count, full=False)
    real = torch.arange(9) < count[:, None]
    both = real[:, None] & real[:, :, None]
    expected = bottlenecks(*spanning_tree(points, count)).masked_fill(~both, 0.0)
    found = closure(tree.distance, real).masked_fill(~both, 0.0)
    assert torch.allclose(tree.bottleneck, expected)
    assert torch.allclose(found, expected)


def test_gradients_reach_every_parameter_and_stay_finite(network):
    network.train()
    rules = Environment(CandidateSpec(k_star=2))
    state = rules.reset(places(4, 6), torch.tensor([6, 6, 4, 3]))
    found = rules.candidates(state)
    chosen = network(state.points[:, :6], state.count, found).max(dim=1).values
    chosen.sum().backward()
    for name, parameter in network.named_parameters():
        assert parameter.grad is not None, name
        assert torch.isfinite(parameter.grad).all(), name


def test_the_shipped_model_is_near_the_optimum():
    points = np.random.default_rng(11).random((40, 10, 2))
    best = ds.solve_many(points, "exact").lengths
    gap = ds.solve_many(points, "policy", model="relative").lengths / best - 1.0
    assert gap.mean() < 0.003
    again = ds.solve_many(points[:3], "policy").lengths
    assert np.allclose(again, (gap[:3] + 1.0) * best[:3])
