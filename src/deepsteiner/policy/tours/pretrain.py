"""Pretraining on tours: REINFORCE with the rollout baseline, and the folder it leaves behind."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from ...core.points import FloatArray
from ...io.model_folders import write_model
from ..cards import tour_card
from ..checkpoint import tensor_bytes
from ..sampling import autocast
from ..training.baseline import RolloutReinforce
from ..training.config import PretrainConfig
from ..training.instances import Padded, TrainingStream
from ..training.validation import Validation
from .network import TourModel, tour_lengths

# Instances rolled out at once where no gradient is needed.
CHUNK = 10_240


class TourReinforce(RolloutReinforce):
    """The policy-gradient loss of tours."""

    policy: TourModel

    def __init__(
        self,
        model: TourModel,
        config: PretrainConfig,
        stream: TrainingStream,
        validation: Validation,
    ) -> None:
        super().__init__(model, config, stream, validation, CHUNK)
        self.draws = config.tour.n

    def sample(self, instances: Padded, draws: Tensor) -> tuple[Tensor, Tensor]:
        """Sample a tour of each instance, then score it."""
        with autocast(instances.points.device, self.precision):
            fixed = self.policy.encode(instances.points)
            tours = self.policy.tours(fixed, draws)
            likelihood = self.policy.likelihood(fixed, tours)
            return tour_lengths(instances.points, tours), likelihood

    def greedy_costs(self, policy: nn.Module, instances: Padded) -> Tensor:
        """Return the lengths of greedy tours."""
        return greedy_lengths(policy, instances, self.precision)


@torch.no_grad()
def greedy_lengths(model: nn.Module, instances: Padded, precision: str) -> Tensor:
    """Return the lengths (B,) of a model's greedy tours."""
    assert isinstance(model, TourModel)
    with autocast(instances.points.device, precision):
        tours = model.tours(model.encode(instances.points))
    return tour_lengths(instances.points, tours)


class TourValidation(Validation):
    """The lengths of greedy tours."""

    def lengths(self, model: nn.Module, instances: Padded) -> Tensor:
        """Return the lengths (B,) of greedy tours, at the precision of the training."""
        return greedy_lengths(model, instances, self.meta["config"]["train"]["precision"])

    def summary(self, lengths: FloatArray) -> dict[str, float]:
        """Return the mean length."""
        return {"tour_length": float(lengths.mean())}

    def write(self, folder: Path, model: nn.Module, facts: dict[str, Any]) -> None:
        """Write a tour model."""
        assert isinstance(model, TourModel)
        training = {**self.meta, **facts}
        description = {
            "kind": "tour",
            "network": asdict(model.config),
            "clip": model.decoder.clip,
            "training": training,
        }
        card = tour_card(model.config.layers, training)
        write_model(folder, "tour", tensor_bytes(model), description, card)
