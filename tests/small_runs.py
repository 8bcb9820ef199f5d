"""Trainings that take a moment, gradients compared, a plain tree: what several tests share."""

# ruff: noqa: E402 - training needs torch, which is an extra

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from deepsteiner.policy.training import config, training

torch.set_num_threads(1)  # for networks as small as these a second one only costs

SMALL = [
    "network.layers=2",
    "network.dim=16",
    "network.heads=4",
    "network.ff=16",
    "train.batch=8",
    "train.epochs=3",
    "train.warmup=0",
    "train.learning_rate=0.01",
    "train.precision=float64",
    "data.name=uniform",
    "data.n=5",
    "data.instances=24",
    "validation.instances=6",
    "reinforce.instances=20",
    "candidates.k_star=2",
]


def small(flavour: str, *changes: str) -> config.Config:
    return config.load([flavour], [*SMALL, *changes])


def small_tours(*changes: str) -> config.PretrainConfig:
    known = [text for text in SMALL if not text.startswith("candidates")]
    return config.load(["tsp20"], [*known, "tour.n=5", *changes], config.PretrainConfig)


def trainer_of(chosen, tmp_path):
    return training.new_trainer(chosen, training.open_place(tmp_path / "run", "cpu"))


def gradients(module) -> dict[str, torch.Tensor]:
    return {name: value.grad for name, value in module.named_parameters() if value.requires_grad}


def assert_same(left, right, tolerance) -> None:
    assert left.keys() == right.keys()
    for name, value in left.items():
        torch.testing.assert_close(value, right[name], rtol=tolerance, atol=tolerance)


def tree_length(points: np.ndarray) -> float:
    """Prim's algorithm, as slowly and plainly as can be."""
    inside, total = [0], 0.0
    while len(inside) < len(points):
        outside = [k for k in range(len(points)) if k not in inside]
        pairs = [(float(np.hypot(*(points[a] - points[b]))), b) for a in inside for b in outside]
        length, new = min(pairs)
        total += length
        inside.append(new)
    return total
