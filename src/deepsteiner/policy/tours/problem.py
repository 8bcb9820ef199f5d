"""Tours as a training problem: what policies can start from is pretrained on them."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from torch import Tensor, nn

from ...core.points import FloatArray
from ...io.model_folders import write_model
from ..cards import tour_card
from ..checkpoint import tensor_bytes
from ..sampling import autocast
from ..training.config import PretrainConfig
from ..training.group import Place
from ..training.instances import Padded
from ..training.problem import Problem
from .network import TourModel, tour_lengths


class Tours(Problem):
    """A tour model, trained on uniform cities or on a file of the user's."""

    config: PretrainConfig

    def __init__(self, config: PretrainConfig, place: Place) -> None:
        data = config.data
        if data.path is None:
            data = replace(data, name="uniform", n=config.tour.n)
        super().__init__(config, data, place)
        self.draws = config.tour.n

    def build(self) -> TourModel:
        """Return a tour model with random weights."""
        return TourModel(self.config.network, self.config.tour.clip)

    def sample(self, model: nn.Module, instances: Padded, draws: Tensor) -> tuple[Tensor, Tensor]:
        """Sample a tour of each instance, then score it."""
        assert isinstance(model, TourModel)
        with autocast(instances.points.device, self.precision):
            fixed = model.encode(instances.points)
            tours = model.tours(fixed, draws)
            return tour_lengths(instances.points, tours), model.likelihood(fixed, tours)

    def lengths(self, model: nn.Module, instances: Padded, precision: str) -> Tensor:
        """Return the lengths of the tours of likeliest cities."""
        assert isinstance(model, TourModel)
        with autocast(instances.points.device, precision):
            tours = model.tours(model.encode(instances.points))
        return tour_lengths(instances.points, tours)

    def summary(self, lengths: FloatArray) -> dict[str, float]:
        """Return the mean length."""
        return {"tour_length": float(lengths.mean())}

    def write(self, folder: Path, model: nn.Module, facts: dict[str, Any]) -> None:
        """Write a tour model."""
        assert isinstance(model, TourModel)
        training = {**self.meta, **facts}
        described = {"network": asdict(model.config), "clip": model.decoder.clip}
        description = {"kind": "tour", **described, "training": training}
        card = tour_card(model.config.layers, training)
        write_model(folder, "tour", tensor_bytes(model), description, card)
