"""The policy network: the paper's formulas, padding, statistics, and its options."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs the extra [learn]")

from deepsteiner.policy.environment import Environment  # noqa: E402
from deepsteiner.policy.network import MaskedBatchNorm, Policy, edge_features  # noqa: E402
from deepsteiner.policy.settings import CandidateSpec, NetworkConfig  # noqa: E402

torch.set_num_threads(1)

SMALL = NetworkConfig(layers=2, dim=16, heads=4, ff=32)
VARIANTS = [
    SMALL,
    replace(SMALL, norm="layer"),
    replace(SMALL, inputs="edge"),
    replace(SMALL, decoder="released"),
    replace(SMALL, norm="layer", inputs="edge", decoder="released"),
]


def build(config: NetworkConfig, seed: int = 0) -> Policy:
    """Return a policy with random statistics, so that normalisation does something in eval mode."""
    torch.manual_seed(seed)
    policy = Policy(config).double().eval()
    for module in policy.modules():
        if isinstance(module, MaskedBatchNorm):
            module.running_mean.normal_()
            module.running_var.uniform_(0.5, 2.0)
    return policy


def situation(sizes, kind="mst"):
    """Return an environment, a state of random instances of these sizes, and its candidates."""
    rng = np.random.default_rng(3)
    points = torch.tensor(rng.random((len(sizes), max(sizes), 2)))
    environment = Environment(CandidateSpec(kind, k_star=2, grid=3))
    count = None if len(set(sizes)) == 1 else torch.tensor(sizes)
    state = environment.reset(points, count)
    return environment, state, environment.candidates(state)


def log_probs(policy, state, found):
    return policy(state.points[:, : state.width], state.visible, found)


def reference(policy: Policy, points: np.ndarray, found: np.ndarray) -> np.ndarray:
    """The paper's formulas for one instance, head by head, in numpy (raw, batch norm, paper)."""
    weights = {name: value.numpy() for name, value in policy.state_dict().items()}
    config = policy.config
    size = config.dim // config.heads
    tokens = np.concatenate((points, found)) @ weights["embed.weight"].T + weights["embed.bias"]
    for layer in range(config.layers):
        name = f"encoder.layers.{layer}."
        projections = weights[name + "project_qkv.weight"].reshape(3, config.heads, size, -1)
        attended = np.zeros_like(tokens)
        for head in range(config.heads):
            query, key, value = (tokens @ projections[part, head].T for part in range(3))
            score = np.exp(query @ key.T / math.sqrt(size))
            mixed = score @ value / score.sum(axis=1, keepdims=True)
            out = weights[name + "project_out.weight"][:, head * size : (head + 1) * size]
            attended += mixed @ out.T
        tokens = normalised(tokens + attended, weights, name + "norm_attention.")
        hidden = tokens @ weights[name + "ff_in.weight"].T + weights[name + "ff_in.bias"]
        forward = np.maximum(hidden, 0) @ weights[name + "ff_out.weight"].T
        forward += weights[name + "ff_out.bias"]
        tokens = normalised(tokens + forward, weights, name + "norm_ff.")
    graph = tokens[: len(points)].mean(axis=0)
    query = weights["decoder.project_graph.weight"] @ graph
    keys = tokens[len(points) :] @ weights["decoder.project_nodes.weight"].T
    chance = np.exp(keys @ query / math.sqrt(size))
    return np.log(chance / chance.sum())


def normalised(tokens, weights, name):
    centred = tokens - weights[name + "running_mean"]
    scaled = centred / np.sqrt(weights[name + "running_var"] + 1e-5)
    return scaled * weights[name + "weight"] + weights[name + "bias"]


def test_the_network_computes_the_papers_formulas():
    policy = build(SMALL)
    _, state, found = situation([6, 6, 6])
    with torch.no_grad():
        got = log_probs(policy, state, found)
    for row in range(3):
        expected = reference(policy, state.points[row, :6].numpy(), found.points[row].numpy())
        np.testing.assert_allclose(got[row].numpy(), expected, atol=1e-10)


def test_the_papers_sizes_are_the_defaults():
    policy = Policy()
    shapes = {name: tuple(value.shape) for name, value in policy.named_parameters()}
    assert shapes["embed.weight"] == (128, 2)
    assert shapes["encoder.layers.4.ff_in.weight"] == (512, 128)
    assert shapes["decoder.project_graph.weight"] == (16, 128)
    assert shapes["decoder.project_nodes.weight"] == (16, 128)
    assert "encoder.layers.0.project_qkv.bias" not in shapes


@pytest.mark.parametrize("config", VARIANTS, ids=str)
@pytest.mark.parametrize("kind", ["mst", "knn", "grid"])
def test_padding_changes_nothing(config, kind):
    """Instances of different sizes together give what each gives alone."""
    policy = build(config)
    sizes = [7, 3, 5, 4]
    environment, state, found = situation(sizes, kind)
    together = log_probs(policy, state, found)
    assert (together.isinf() == ~found.mask).all()
    assert torch.allclose(together.exp().sum(dim=1), torch.ones(4, dtype=torch.float64))
    for row, size in enumerate(sizes):
        alone = environment.reset(state.points[row : row + 1, :size])
        chances = log_probs(policy, alone, environment.candidates(alone))
        assert torch.allclose(together[row][found.mask[row]], chances[0], atol=1e-10)


@pytest.mark.parametrize("config", VARIANTS, ids=str)
def test_full_batches_need_no_masks(config):
    policy = build(config)
    _, state, found = situation([6, 6])
    assert found.full
    assert found.dense
    plain = log_probs(policy, state, found)
    masked = log_probs(policy, state, replace(found, full=False, dense=False))
    assert torch.allclose(plain, masked, atol=1e-12)


def test_stopped_instances_have_no_candidates_and_no_nan():
    policy = build(SMALL)
    environment, state, _ = situation([6, 4, 2])
    found = environment.candidates(state)
    chances = log_probs(policy, state, found)
    assert chances[2].isinf().all()
    assert not chances.isnan().any()
    policy.train()
    chances = log_probs(policy, state, found)
    chances[0, 0].backward()
    assert all(p.grad is None or p.grad.isfinite().all() for p in policy.parameters())


def test_batch_statistics_ignore_padding():
    torch.manual_seed(1)
    tokens = torch.randn(3, 7, 5, dtype=torch.float64, requires_grad=True)
    mask = torch.arange(7) < torch.tensor([[7], [2], [4]])
    masked, plain = MaskedBatchNorm(5).double(), torch.nn.BatchNorm1d(5).double()
    got = masked(tokens, mask)[mask]
    expected = plain(tokens[mask])
    assert torch.allclose(got, expected, atol=1e-12)
    assert torch.allclose(masked.running_mean, plain.running_mean)
    assert torch.allclose(masked.running_var, plain.running_var)
    assert masked.num_batches_tracked == plain.num_batches_tracked
    direction = torch.randn_like(got)
    (own,) = torch.autograd.grad((got * direction).sum(), tokens)
    (twin,) = torch.autograd.grad((expected * direction).sum(), tokens)
    assert torch.allclose(own, twin, atol=1e-12)
    poisoned = torch.where(mask[:, :, None], tokens, 1e6)
    assert torch.allclose(masked(poisoned, mask)[mask], got, atol=1e-12)


def test_training_statistics_of_a_ragged_batch_are_those_of_its_real_tokens():
    """What ends in the running statistics does not depend on how much padding there is."""
    means = []
    for extra in (0, 5):
        policy = build(SMALL).train()
        rng = np.random.default_rng(4)
        points = torch.zeros((3, 6 + extra, 2), dtype=torch.float64)
        points[:, :6] = torch.tensor(rng.random((3, 6, 2)))
        environment = Environment(CandidateSpec(k_star=2))
        state = environment.reset(points, torch.tensor([6, 3, 5]))
        log_probs(policy, state, environment.candidates(state))
        means.append(torch.cat([b for name, b in policy.named_buffers() if "running" in name]))
    assert torch.allclose(means[0], means[1], atol=1e-12)


def test_stopped_instances_leave_the_statistics_alone():
    policy = build(SMALL).train()
    environment, state, _ = situation([6, 6, 6])
    stopped = replace(state, active=torch.tensor([True, False, True]), dense=False)
    log_probs(policy, stopped, environment.candidates(stopped))
    twin = build(SMALL).train()
    rest = environment.reset(state.points[[0, 2], :6])
    log_probs(twin, rest, environment.candidates(rest))
    for (name, own), (_, other) in zip(policy.named_buffers(), twin.named_buffers(), strict=True):
        assert torch.allclose(own, other, atol=1e-12), name


def test_edge_features_describe_the_candidates_edge():
    _, state, found = situation([5, 5])
    features = edge_features(state.points[:, :5], found)
    first, second = state.points[0, found.ends[0, 3]]
    assert torch.allclose(features[0, 3, :2], found.points[0, 3] - (first + second) / 2)
    assert torch.allclose(features[0, 3, 2:], second - first)
    _, state, found = situation([5, 5], "grid")
    assert (edge_features(state.points[:, :5], found) == 0).all()


def test_released_logits_are_clipped():
    policy = build(replace(SMALL, decoder="released"))
    with torch.no_grad():
        policy.decoder.project_out.weight.mul_(1e4)
    _, state, found = situation([6, 6])
    chances = log_probs(policy, state, found)
    assert (chances.amax(dim=1) - chances.amin(dim=1)).max() <= 20 + 1e-9


def test_half_precision_stays_close():
    policy = build(SMALL).float()
    environment, state, found = situation([6, 6])
    full = log_probs(policy, state, found)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        half = log_probs(policy, state, found)
    assert half.dtype == torch.float32
    assert (full - half).abs().max() < 0.2
    policy.train()
    stopped = replace(state, active=torch.tensor([True, False]), dense=False)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        chances = log_probs(policy, stopped, environment.candidates(stopped))
    assert chances.isfinite().all()
