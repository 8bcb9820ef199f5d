"""Measuring a policy while it trains: Algorithm 1 on instances that are never trained on."""

from __future__ import annotations

import time
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import nn

from ...core.points import FloatArray
from .. import checkpoint
from ..candidates import CandidateSpec
from ..cards import policy_card
from ..environment import Environment
from ..network import Policy
from ..rollout import most_steps, play, score
from .instances import Padded

if TYPE_CHECKING:
    from ...core.solution import Solution

CHUNK = 2048
PICTURES = 8


class Validation:
    """Validation instances, with their optimal lengths where these are known.

    Policies are measured at full precision, whatever they are trained in.
    """

    def __init__(
        self,
        instances: Padded,
        optima: FloatArray | None,
        spec: CandidateSpec,
        meta: dict[str, Any],
    ) -> None:
        self.instances, self.spec, self.meta = instances, spec, meta
        self._rules = Environment(spec, "inference")
        self._optima = optima
        start = self._rules.reset(instances.points, instances.count).length
        self._trees = start.double().cpu().numpy()

    def measure(self, policy: nn.Module) -> dict[str, float]:
        """Return the mean length, saving and gap (in percent), and instances per second."""
        started = time.perf_counter()
        with self._uncompiled():
            lengths = self._lengths(policy)
        spent = time.perf_counter() - started
        found = {
            "length": float(lengths.mean()),
            "saving": 100.0 * float(np.mean(1.0 - lengths / self._trees)),
            "greedy_per_second": len(lengths) / spent,
        }
        if self._optima is not None:
            found["gap"] = 100.0 * float(np.mean(lengths / self._optima - 1.0))
        return found

    def _uncompiled(self) -> AbstractContextManager[Any]:
        """Leave a network that is compiled for training aside: it would be compiled once more."""
        if self.meta["config"]["train"]["compile"]:
            stance: AbstractContextManager[Any] = torch.compiler.set_stance("force_eager")
            return stance
        return nullcontext()

    @torch.no_grad()
    def _lengths(self, policy: nn.Module) -> FloatArray:
        parts = []
        for start in range(0, len(self.instances), CHUNK):
            part = self.instances[start : start + CHUNK]
            parts.append(play(policy, self._rules, part)[0])
        lengths: FloatArray = torch.cat(parts).double().cpu().numpy()
        return lengths

    def write(self, folder: Path, policy: Policy, facts: dict[str, Any]) -> None:
        """Write a policy with what is known about its training."""
        meta = {**self.meta, **facts}
        card = policy_card(folder.resolve().parent.name, meta)
        checkpoint.save(folder, policy, meta, spec=self.spec, card=card)

    @torch.no_grad()
    def solutions(self, policy: nn.Module) -> list[Solution]:
        """Return the policy's trees of the first instances."""
        from ...core.solution import Solution

        some = self.instances[:PICTURES]
        state = self._rules.reset(some.points, some.count)
        with self._uncompiled():
            for _ in range(most_steps(self._rules, some.points.shape[1])):
                found = self._rules.candidates(state)
                choice = score(policy, self._rules, state, found).argmax(dim=1)
                state = self._rules.step(state, choice, found)
        trees = []
        for row in range(len(some)):
            terminals, count = int(state.terminals[row]), int(state.count[row])
            points = state.points[row, :count].double().cpu().numpy()
            edges = state.edges[row, : count - 1].cpu().numpy()
            lengths = np.linalg.norm(points[edges[:, 0]] - points[edges[:, 1]], axis=1)
            trees.append(
                Solution(
                    points[:terminals],
                    points[terminals:],
                    edges,
                    float(lengths.sum()),
                    method="policy",
                )
            )
        return trees
