"""Pretraining on tours: REINFORCE with the rollout baseline, and the folder it leaves behind."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from ..sampling import autocast
from ..training.baseline import RolloutReinforce
from ..training.config import PretrainConfig
from ..training.group import Group
from ..training.instances import Padded, TrainingStream
from .network import TourModel, tour_lengths

# Instances rolled out at once where no gradient is needed.
CHUNK = 10_240


class TourReinforce(RolloutReinforce):
    """The policy-gradient loss of tours."""

    def __init__(
        self,
        model: TourModel,
        stream: TrainingStream,
        config: PretrainConfig,
        validation: Padded,
        *,
        group: Group,
        meta: dict[str, Any],
    ) -> None:
        super().__init__(model, stream, config.reinforce, group=group, chunk=CHUNK)
        self.precision = config.train.precision
        self._validation, self._meta = validation, meta
        self.draws = config.tour.n

    def sample(self, instances: Padded, draws: Tensor) -> tuple[Tensor, Tensor]:
        """Sample a tour of each instance, then score it."""
        model = self.policy
        assert isinstance(model, TourModel)
        with autocast(instances.points.device, self.precision):
            fixed = model.encode(instances.points)
            tours = model.tours(fixed, draws)
            return tour_lengths(instances.points, tours), model.likelihood(fixed, tours)

    @torch.no_grad()
    def greedy_costs(self, policy: nn.Module, instances: Padded) -> Tensor:
        """Return the lengths of greedy tours."""
        assert isinstance(policy, TourModel)
        with autocast(instances.points.device, self.precision):
            tours = policy.tours(policy.encode(instances.points))
        return tour_lengths(instances.points, tours)

    def validate(self) -> dict[str, float]:
        """Return the mean length of greedy tours of the baseline and of the policy."""
        self.policy.eval()
        started = time.perf_counter()
        length = float(self._in_chunks(self.baseline, self._validation).mean())
        spent = time.perf_counter() - started
        return {
            "tour_length": length,
            "policy_tour_length": float(self._in_chunks(self.policy, self._validation).mean()),
            "greedy_per_second": len(self._validation) / spent,
        }

    def write_model(self, folder: Path, facts: dict[str, Any]) -> None:
        """Write the baseline, which is what is shipped."""
        from .files import save_tour_model

        assert isinstance(self.baseline, TourModel)
        save_tour_model(folder, self.baseline, {**self._meta, **facts})
