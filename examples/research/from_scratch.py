"""From nothing to a row of a table: train a policy, solve test instances, compare with the optimum.

python from_scratch.py --seconds 60
"""

import argparse
import tempfile

import numpy as np
import torch

import deepsteiner as ds
from deepsteiner.policy.training import config
from deepsteiner.policy.training.training import train

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--seconds", type=float, default=3.0, help="of each training")
parser.add_argument("--count", type=int, default=100, help="test instances")
given = parser.parse_args()
torch.set_num_threads(1)  # networks this small gain nothing from more

# Lookahead distillation on D1 with a network for a laptop; every value can be changed.
SMALL = [
    "network.layers=2",
    "network.dim=32",
    "candidates.k_star=5",
    "train.batch=32",
    "train.precision=float32",
    "train.learning_rate=0.002",
    "train.warmup=20",
    "data.instances=320",
    "distill.depth=4",
    "validation.instances=100",
    "validation.every=1000",
    f"train.minutes={given.seconds / 60}",
]


def table_row(name: str, settings: list[str], files: tuple[str, ...] = ("distill", "d1")) -> str:
    """Train a policy and return its row: the mean gap on test instances and its standard error."""
    chosen = config.load(files, [*SMALL, *settings])
    with tempfile.TemporaryDirectory() as folder:
        outcome = train(chosen, folder, device="cpu", quiet=True)
        test = ds.datasets.load("D1", count=given.count, split="test").points
        found = ds.solve_many(test, "policy", model=f"{folder}/model").lengths
    gaps = 100.0 * (found / ds.solve_many(test, "exact").lengths - 1.0)
    error = gaps.std(ddof=1) / np.sqrt(len(gaps))
    seen = outcome.step * chosen.train.batch
    return f"| {name} | {seen:,} instances | {gaps.mean():.2f} ± {error:.2f} % |"


if __name__ == "__main__":
    print(table_row("distilled, MST candidates", []))
