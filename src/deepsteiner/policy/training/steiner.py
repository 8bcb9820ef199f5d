"""Steiner trees as a training problem: games under a criterion, judged by Algorithm 1."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from safetensors.torch import load as load_tensors
from torch import Tensor, nn

from ...core.errors import OptionError
from ...core.models import read_model
from ...core.points import FloatArray
from ...io.model_folders import read_tensors
from .. import checkpoint
from ..cards import policy_card
from ..decoding import greedy
from ..kit.registries import CRITERIA
from ..network import Network, build_network
from ..rollout import Player, rollout
from .config import Config
from .group import Place
from .instances import Padded
from .problem import ROLLED_OUT, Problem
from .transfer import transfer

if TYPE_CHECKING:
    from ...core.solution import Solution

# Tokens (points and candidates) of the largest batch that is rolled out without gradients.
ROLLOUT_TOKENS = 4_000_000
PICTURES = 8

Optima = Callable[[FloatArray | list[FloatArray]], FloatArray | None]


class Steiner(Problem):
    """A policy, the criterion of its training games, and optimal lengths to compare it with.

    Policies are judged by the trees of Algorithm 1 at full precision, whatever they are trained in.
    """

    config: Config
    model: Network

    def __init__(self, config: Config, place: Place, optima: Optima | None = None) -> None:
        super().__init__(config, config.data, place)
        self.spec, self.judged_in = config.candidates, "float32"
        if self.optima is None and optima is not None:
            self.optima = optima(self.points)
        size = self.stream.size
        tokens = self.spec.number(2 * size - 2) + 2 * size
        self.chunk = max(1, min(ROLLED_OUT, ROLLOUT_TOKENS // tokens))
        rules = self.player(self.model, config.train.criterion).rules
        self.draws = max(1, rules.most_steps(size))
        start = rules.reset(self.held_out.points, self.held_out.count)
        self._spanning = start.length.double().cpu().numpy()

    def build(self) -> Network:
        """Return a policy with random weights, or with what fits of the model to start from."""
        policy, model = build_network(self.config.network), self.config.train.start
        self.meta["start"] = None
        if model is None:
            return policy
        files = read_model(model, "policy", "tour")
        moved = transfer(read_tensors(files, load_tensors), policy)
        if not moved.loaded:
            raise OptionError(f"train.start: no tensor of {files.folder} fits this network")
        self.meta["start"] = f"start from {model}: {moved}"
        facts = json.loads(files.description)
        if "candidates" in facts:  # a policy: the instances that it has seen count, tours do not
            seen = facts.get("step", 0) * facts["config"]["train"]["batch"]
            self.meta["instances_before"] = int(seen + facts.get("instances_before", 0))
        return policy

    def player(self, model: nn.Module, criterion: str) -> Player:
        """Return a model that plays the games of a criterion, at the precision of training."""
        return Player(model, self.spec, self.precision, criterion=criterion)

    def sample(self, model: nn.Module, instances: Padded, draws: Tensor) -> tuple[Tensor, Tensor]:
        """Sample one tree of each instance under the training criterion."""
        player = self.player(model, self.config.train.criterion)
        player = replace(player, fixed_shapes=self.config.train.graphs)
        return rollout(player, instances, draws, self.stream.group)

    def greedy_costs(self, model: nn.Module, instances: Padded) -> Tensor:
        """Return the lengths of likeliest trees under the training criterion.

        For `first_increment` these are Algorithm 1's, without the point that ends the game, unless
        `reinforce.keep_worsening` asks for that point as well.
        """
        name = self.config.train.criterion
        own = None if self.config.reinforce.keep_worsening else CRITERIA[name].baseline
        player = self.player(model, own or name)
        return rollout(player, instances)[0]

    def lengths(self, model: nn.Module, instances: Padded, precision: str) -> Tensor:
        """Return the lengths of Algorithm 1's trees."""
        return rollout(Player(model, self.spec, precision), instances)[0]

    def summary(self, lengths: FloatArray) -> dict[str, float]:
        """Return the mean length, and the mean saving and gap in percent."""
        found = {
            "length": float(lengths.mean()),
            "saving": 100.0 * float(np.mean(1.0 - lengths / self._spanning)),
        }
        if self.optima is not None:
            found["gap"] = 100.0 * float(np.mean(lengths / self.optima - 1.0))
        return found

    def write(self, folder: Path, model: nn.Module, facts: dict[str, Any]) -> None:
        """Write a policy."""
        assert isinstance(model, Network)
        meta = {**self.meta, **facts}
        card = policy_card(folder.resolve().parent.name, meta)
        checkpoint.save(folder, model, self.spec, meta, card=card)

    def solutions(self, model: nn.Module) -> list[Solution]:
        """Return the policy's trees of the first validation instances."""
        from ...core.solution import Solution
        from ...core.trees import tree_length

        some, player = self.held_out[:PICTURES], Player(model, self.spec)
        with self.uncompiled():
            state = greedy(player, player.rules.reset(some.points, some.count))
        trees = []
        for row, (terminals, count) in enumerate(zip(state.terminals, state.count, strict=True)):
            points = state.points[row, :count].double().cpu().numpy()
            edges = state.edges[row, : count - 1].cpu().numpy()
            length = tree_length(points, edges)
            given, steiner = points[:terminals], points[terminals:]
            trees.append(Solution(given, steiner, edges, length, method="policy"))
        return trees
