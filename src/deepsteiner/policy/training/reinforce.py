"""Algorithm 2: REINFORCE with the rollout baseline, on Steiner trees.

A sampled tree's cost and likelihood count every step of the criterion, the worsening one of
`first_increment` included; the baseline of that criterion is rolled out with Algorithm 1, which
does not add it. Criterion `inference` samples Algorithm 1's own games: a point that would
lengthen the tree is not added, but its choice, which ends the game, counts in the likelihood. The
t-test compares the trees of Algorithm 1.

With `expectation` the loss of the first selection is the mean cost over all candidates, weighted
by the policy: what the sampled loss has as its mean, without the noise of drawing.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from ..rollout import Player, play
from ..settings import Criterion
from .baseline import RolloutReinforce
from .config import Config
from .instances import Padded, TrainingStream
from .validation import Validation

# Tokens (points and candidates) of the largest batch that is rolled out without gradients.
ROLLOUT_TOKENS = 4_000_000
LARGEST_ROLLOUT = 10_240


class Reinforce(RolloutReinforce):
    """The loss of Algorithm 2, with the paper's minus sign put right: costs are minimised."""

    def __init__(
        self, policy: nn.Module, config: Config, stream: TrainingStream, validation: Validation
    ) -> None:
        tokens = config.candidates.number(2 * stream.size - 2) + 2 * stream.size
        chunk = max(1, min(LARGEST_ROLLOUT, ROLLOUT_TOKENS // tokens))
        super().__init__(policy, config, stream, validation, chunk)
        self.spec, self.criterion = config.candidates, config.train.criterion
        self._player = self._playing(policy, self.criterion)
        self.draws = max(1, self._player.rules.most_steps(stream.size))

    def _playing(self, policy: nn.Module, criterion: Criterion) -> Player:
        return Player(policy, self.spec, self.precision, criterion=criterion)

    def forward(self, instances: Padded, row: slice, draws: Tensor) -> Tensor:
        """Return the loss of sampled trees, or its expectation."""
        if not self.config.expectation:
            return super().forward(instances, row, draws)
        self.policy.train()
        rules = self._player.rules
        state = rules.reset(instances.points, instances.count)
        found = rules.candidates(state)
        log_probs = self._player.score(state, found)
        saving = rules.lookahead(state, found).masked_fill(~found.mask, 0.0)
        expected = (log_probs.to(saving.dtype).exp() * saving).sum(dim=1)
        self.stats = {"cost": (state.length - expected.detach()).mean()}
        return -expected.mean()

    def begin_epoch(self, epoch: int) -> None:
        """Roll the baseline out, where the loss needs its costs."""
        if not self.config.expectation:
            super().begin_epoch(epoch)

    def sample(self, instances: Padded, draws: Tensor) -> tuple[Tensor, Tensor]:
        """Sample one tree of each instance from the policy."""
        return play(self._player, instances, draws, self.group)

    @torch.no_grad()
    def greedy_costs(self, policy: nn.Module, instances: Padded) -> Tensor:
        """Return the lengths of greedy rollouts under the training criterion."""
        longer = self.criterion == "first_increment"
        player = self._playing(policy, "inference" if longer else self.criterion)
        return play(player, instances)[0]

    @torch.no_grad()
    def trial_costs(self, policy: nn.Module, instances: Padded) -> Tensor:
        """Return the lengths of Algorithm 1's trees."""
        return play(self._playing(policy, "inference"), instances)[0]

    def write_model(self, folder: Path, facts: dict[str, Any]) -> None:
        """Write the baseline's weights, and from which epoch they are."""
        super().write_model(folder, facts | {"kept_epoch": int(self.kept_epoch)})
