"""`deepsteiner train`: policies, by REINFORCE or by lookahead distillation."""

from __future__ import annotations

from typing import Any

from ..training import Measure, training_command


@training_command("distill", Measure("gap", " %"))
def train() -> type[Any]:
    """Train a policy, or the scoring network of neural.

    Flavours (paper, paper-short, distill), candidates (mst, knn, grid, all), criteria
    (first-selection, first-increment, all-selection) and data (d1, d2, d3) are composed with
    --config; mst-d1 to grid-d3 are those of the shipped models. Several GPUs:
    torchrun --nproc-per-node 2 -m deepsteiner train ...

    \b
    Examples:
      deepsteiner train --config distill --config mst --out runs/mst-d1 --device cuda
      deepsteiner train -c paper-short -c knn -c first-increment -c d2 --out runs/knn
      deepsteiner train --resume --out runs/knn --minutes 10
      deepsteiner train --labels labels.npz --out runs/neural --set scores.epochs=40
      deepsteiner train -c mst-d1 --out runs/rates --seeds 3 --sweep train.learning_rate=1e-4,1e-3
    """
    from ...policy.training.config import Config

    return Config
