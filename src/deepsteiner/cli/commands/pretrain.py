"""`deepsteiner pretrain`: a model of tours, to start policies from."""

from __future__ import annotations

from typing import Any

from ..training import Measure, training_command


@training_command("tsp20", Measure("tour_length"))
def pretrain() -> type[Any]:
    """Train an attention model on tours of 20 cities.

    A policy starts from it with `deepsteiner train --set train.start=FOLDER/model`.

    \b
    Examples:
      deepsteiner pretrain --out runs/tsp20 --device cuda --minutes 10
      deepsteiner pretrain --out runs/small --set tour.n=10 --set train.epochs=5
    """
    from ...policy.training.config import PretrainConfig

    return PretrainConfig
