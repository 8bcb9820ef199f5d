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

from ..environment import Environment
from ..network import Policy
from ..rollout import most_steps, play, score
from ..sampling import autocast
from .baseline import RolloutReinforce
from .config import ReinforceConfig
from .group import Group
from .instances import Padded, TrainingStream
from .validation import Validation


class Reinforce(RolloutReinforce):
    """The loss of Algorithm 2, with the paper's minus sign put right: costs are minimised."""

    def __init__(
        self,
        policy: Policy,
        environment: Environment,
        stream: TrainingStream,
        config: ReinforceConfig,
        validation: Validation,
        *,
        group: Group,
        precision: str,
        chunk: int,
    ) -> None:
        super().__init__(policy, stream, config, group=group, chunk=chunk)
        self.environment = environment
        greedy = environment.criterion
        self._greedy = Environment(
            environment.spec, "inference" if greedy == "first_increment" else greedy
        )
        self._inference = Environment(environment.spec, "inference")
        self.validation, self.precision = validation, precision
        self.draws = max(1, most_steps(environment, stream.size))

    def forward(self, instances: Padded, row: slice, draws: Tensor) -> Tensor:
        """Return the loss of sampled trees, or its expectation."""
        if not self.config.expectation:
            return super().forward(instances, row, draws)
        self.policy.train()
        state = self.environment.reset(instances.points, instances.count)
        found = self.environment.candidates(state)
        with autocast(instances.points.device, self.precision):
            log_probs = score(self.policy, self.environment, state, found)
        saving = self.environment.lookahead(state, found).masked_fill(~found.mask, 0.0)
        expected = (log_probs.to(saving.dtype).exp() * saving).sum(dim=1)
        self.stats = {"cost": (state.length - expected.detach()).mean()}
        return -expected.mean()

    def begin_epoch(self, epoch: int) -> None:
        """Roll the baseline out, where the loss needs its costs."""
        if not self.config.expectation:
            super().begin_epoch(epoch)

    def sample(self, instances: Padded, draws: Tensor) -> tuple[Tensor, Tensor]:
        """Sample one tree of each instance from the policy."""
        with autocast(instances.points.device, self.precision):
            return play(self.policy, self.environment, instances, draws, self.group)

    def greedy_costs(self, policy: nn.Module, instances: Padded) -> Tensor:
        """Return the lengths of greedy rollouts under the training criterion."""
        return self._lengths(policy, self._greedy, instances)

    def trial_costs(self, policy: nn.Module, instances: Padded) -> Tensor:
        """Return the lengths of Algorithm 1's trees."""
        return self._lengths(policy, self._inference, instances)

    @torch.no_grad()
    def _lengths(self, policy: nn.Module, rules: Environment, instances: Padded) -> Tensor:
        with autocast(instances.points.device, self.precision):
            return play(policy, rules, instances)[0]

    def validate(self) -> dict[str, float]:
        """Measure the baseline, which is what is shipped, and beside it the policy in training."""
        self.policy.eval()
        now = self.validation.measure(self.policy)
        return self.validation.measure(self.baseline) | {
            f"policy_{name}": value
            for name, value in now.items()
            if not name.endswith("_per_second")
        }

    def write_model(self, folder: Path, facts: dict[str, Any]) -> None:
        """Write the baseline's weights."""
        assert isinstance(self.baseline, Policy)
        kept = {"kept_epoch": int(self.kept_epoch)}
        self.validation.write(folder, self.baseline, facts | kept)

    def samples(self) -> list[Any]:
        """Return trees of the baseline."""
        return self.validation.solutions(self.baseline)
