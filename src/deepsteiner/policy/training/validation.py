"""Measuring a model while it trains, on instances it is never trained on, and writing it down."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor, nn

from ...core.points import FloatArray
from .. import checkpoint
from ..cards import policy_card
from ..decoding import greedy
from ..environment import Environment
from ..network import Policy
from ..rollout import Player, play
from ..settings import CandidateSpec
from .instances import Padded

if TYPE_CHECKING:
    from ...core.solution import Solution

CHUNK = 2048
PICTURES = 8


class Validation(ABC):
    """Validation instances, and what is known about the run: its `meta` data."""

    def __init__(self, instances: Padded, meta: dict[str, Any]) -> None:
        self.instances, self.meta = instances, meta

    def measure(self, model: nn.Module) -> dict[str, float]:
        """Return measures of the greedy solutions, and how many were found per second."""
        started = time.perf_counter()
        with torch.no_grad(), self._uncompiled():
            parts = [self.lengths(model, part) for part in self.instances.chunks(CHUNK)]
            found = torch.cat(parts).double().cpu().numpy()
        spent = time.perf_counter() - started
        return {**self.summary(found), "greedy_per_second": len(found) / spent}

    def _uncompiled(self) -> AbstractContextManager[Any]:
        """Leave a network that is compiled for training aside: it would be compiled once more."""
        if self.meta["config"]["train"]["compile"]:
            stance: AbstractContextManager[Any] = torch.compiler.set_stance("force_eager")
            return stance
        return nullcontext()

    @abstractmethod
    def lengths(self, model: nn.Module, instances: Padded) -> Tensor:
        """Return the lengths (B,) of a model's greedy solutions."""

    @abstractmethod
    def summary(self, lengths: FloatArray) -> dict[str, float]:
        """Return the measures of these lengths."""

    @abstractmethod
    def write(self, folder: Path, model: nn.Module, facts: dict[str, Any]) -> None:
        """Write a model with what is known about its training."""

    def solutions(self, model: nn.Module) -> list[Solution]:
        """Return a few solved instances, for a picture."""
        return []


class PolicyValidation(Validation):
    """The trees of Algorithm 1, compared with the optimal lengths where these are known.

    Policies are measured at full precision, whatever they are trained in.
    """

    def __init__(
        self,
        instances: Padded,
        optima: FloatArray | None,
        spec: CandidateSpec,
        meta: dict[str, Any],
    ) -> None:
        super().__init__(instances, meta)
        self.spec, self._optima = spec, optima
        start = Environment(spec).reset(instances.points, instances.count)
        self._trees = start.length.double().cpu().numpy()

    def lengths(self, model: nn.Module, instances: Padded) -> Tensor:
        """Return the lengths (B,) of Algorithm 1's trees."""
        return play(Player(model, self.spec), instances)[0]

    def summary(self, lengths: FloatArray) -> dict[str, float]:
        """Return the mean length, and the mean saving and gap in percent."""
        found = {
            "length": float(lengths.mean()),
            "saving": 100.0 * float(np.mean(1.0 - lengths / self._trees)),
        }
        if self._optima is not None:
            found["gap"] = 100.0 * float(np.mean(lengths / self._optima - 1.0))
        return found

    def write(self, folder: Path, model: nn.Module, facts: dict[str, Any]) -> None:
        """Write a policy."""
        assert isinstance(model, Policy)
        meta = {**self.meta, **facts}
        card = policy_card(folder.resolve().parent.name, meta)
        checkpoint.save(folder, model, self.spec, meta, card=card)

    def solutions(self, model: nn.Module) -> list[Solution]:
        """Return the policy's trees of the first instances."""
        from ...core.solution import Solution
        from ...core.trees import tree_length

        some, player = self.instances[:PICTURES], Player(model, self.spec)
        with self._uncompiled():
            state = greedy(player, player.rules.reset(some.points, some.count))
        trees = []
        for row, (terminals, count) in enumerate(zip(state.terminals, state.count, strict=True)):
            points = state.points[row, :count].double().cpu().numpy()
            edges = state.edges[row, : count - 1].cpu().numpy()
            length = tree_length(points, edges)
            given, steiner = points[:terminals], points[terminals:]
            trees.append(Solution(given, steiner, edges, length, method="policy"))
        return trees
