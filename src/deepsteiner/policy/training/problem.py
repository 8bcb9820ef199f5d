"""What a network is trained for: its instances, the cost of its solutions, and its folder.

A `Problem` is all that objectives and the training loop know about Steiner trees (`steiner`) or
tours (`policy.tours.problem`).
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import time
from abc import ABC, abstractmethod
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from ...core.points import FloatArray
from .config import DataConfig, RunConfig
from .group import Place
from .instances import Padded, TrainingStream, pad, validation_set

if TYPE_CHECKING:
    from ...core.solution import Solution

# Instances that are rolled out at once for a measure or a baseline, where no gradient is needed.
MEASURED = 2048
ROLLED_OUT = 10_240


class Problem(ABC):
    """A network at its start, the instances it learns from, and how it is judged.

    Attributes
    ----------
    model : nn.Module
        The network that is trained.
    stream : TrainingStream
        The training instances.
    held_out : Padded
        The validation instances.
    optima : array or None
        Their optimal lengths, where these are known.
    meta : dict
        What a model's description says about its training, whatever comes of it.
    draws : int
        How many random numbers it takes to sample one solution.
    chunk : int
        Instances that are rolled out at once where no gradient is needed.
    judged_in : str
        The precision in which the network is validated.
    """

    draws: int
    chunk = ROLLED_OUT

    def __init__(self, config: RunConfig, data: DataConfig, place: Place) -> None:
        train, device = config.train, place.device
        dtype = torch.float64 if train.precision == "float64" else torch.float32
        self.config, self.precision, self.judged_in = config, train.precision, train.precision
        self.stream = TrainingStream(data, train.batch, place, dtype)
        self.points, self.optima = validation_set(data, config.validation)
        self.held_out = pad(self.points).to(device, dtype)
        self.meta: dict[str, Any] = {
            "command": shlex.join(sys.argv),
            "commit": source_commit(),
            "seed": train.seed,
            "torch": torch.__version__,
            "device": torch.cuda.get_device_name() if device.type == "cuda" else "cpu",
            "config": asdict(config),
        }
        with torch.random.fork_rng(devices=[]):  # the weights depend on this seed alone
            torch.manual_seed(train.seed)
            self.model = self.build().to(device, dtype)

    @abstractmethod
    def build(self) -> nn.Module:
        """Return the network at its start."""

    @abstractmethod
    def sample(self, model: nn.Module, instances: Padded, draws: Tensor) -> tuple[Tensor, Tensor]:
        """Return costs and log-likelihoods (B,) of one sampled solution of each instance."""

    @abstractmethod
    def lengths(self, model: nn.Module, instances: Padded, precision: str) -> Tensor:
        """Return the lengths (B,) of the solutions that the model would be used for."""

    def greedy_costs(self, model: nn.Module, instances: Padded) -> Tensor:
        """Return the costs (B,) that likeliest solutions have in training."""
        return self.lengths(model, instances, self.precision)

    @abstractmethod
    def summary(self, lengths: FloatArray) -> dict[str, float]:
        """Return measures of the lengths of the validation instances' solutions."""

    @abstractmethod
    def write(self, folder: Path, model: nn.Module, facts: dict[str, Any]) -> None:
        """Write a model with what is known about its training."""

    def solutions(self, model: nn.Module) -> list[Solution]:
        """Return a few solved instances, for a picture."""
        return []

    def measure(self, model: nn.Module) -> dict[str, float]:
        """Return measures on the validation instances, and how many were solved per second."""
        started = time.perf_counter()
        with torch.no_grad(), self.uncompiled():
            parts = self.held_out.chunks(MEASURED)
            found = torch.cat([self.lengths(model, part, self.judged_in) for part in parts])
            lengths = found.double().cpu().numpy()
        spent = time.perf_counter() - started
        return {**self.summary(lengths), "greedy_per_second": len(lengths) / spent}

    def uncompiled(self) -> AbstractContextManager[Any]:
        """Leave a network that is compiled for training aside: it would be compiled once more."""
        if self.config.train.compile:
            stance: AbstractContextManager[Any] = torch.compiler.set_stance("force_eager")
            return stance
        return nullcontext()


def source_commit() -> str | None:
    """Return the commit of a source checkout, None for an installed package.

    A copy of a checkout without its history is told by the variable DEEPSTEINER_COMMIT.
    """
    if told := os.environ.get("DEEPSTEINER_COMMIT"):
        return told
    call = ["git", "-C", str(Path(__file__).parent), "rev-parse", "--short", "HEAD"]
    try:
        done = subprocess.run(call, capture_output=True, text=True, check=False)
    except OSError:
        return None
    return done.stdout.strip() or None
