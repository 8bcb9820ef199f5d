"""A small policy with random weights, which several tests share."""

# ruff: noqa: E402 - networks need torch, which is an extra

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch", reason="needs the extra [learn]")

from deepsteiner.policy.network import MaskedBatchNorm, Policy
from deepsteiner.policy.settings import CandidateSpec, NetworkConfig

torch.set_num_threads(1)  # for networks as small as these a second one only costs

SMALL = NetworkConfig(layers=2, dim=16, heads=4, ff=32, inputs="edge")
SPEC = CandidateSpec("mst", k_star=3)


def build(config: NetworkConfig = SMALL, seed: int = 94) -> Policy:
    """Return a random policy, sharp enough that likelihoods differ; 94 is a lucky one."""
    torch.manual_seed(seed)
    made = Policy(config).eval()
    for module in made.modules():
        if isinstance(module, MaskedBatchNorm):
            module.running_mean.normal_(std=0.1)
            module.running_var.uniform_(0.5, 2.0)
    with torch.no_grad():
        made.decoder.project_graph.weight.mul_(20.0)
    return made
