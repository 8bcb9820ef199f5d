"""REINFORCE with a greedy rollout baseline, for any problem that can be sampled and rolled out.

The baseline is a frozen copy of the network. Its costs on the instances of an epoch are computed
at the epoch's start in large batches: it does not change in between. At the end of an epoch the
network challenges it on trial instances; a one-sided paired t-test decides, and a winner becomes
the new baseline with new trial instances. What is shipped is the baseline.
"""

from __future__ import annotations

import copy
from abc import abstractmethod

import torch
from torch import Tensor, nn

from .config import RunConfig
from .instances import Padded, TrainingStream
from .trainer import Objective
from .validation import Validation


class RolloutReinforce(Objective):
    """The policy-gradient loss; subclasses say how to sample and how to roll out greedily.

    `chunk` is the number of instances rolled out at once where no gradient is needed.
    """

    running: Tensor
    version: Tensor
    kept_epoch: Tensor

    def __init__(
        self,
        policy: nn.Module,
        config: RunConfig,
        stream: TrainingStream,
        validation: Validation,
        chunk: int,
    ) -> None:
        super().__init__(policy, validation)
        self.baseline = copy.deepcopy(policy).requires_grad_(False).eval()
        self.config, self.precision = config.reinforce, config.train.precision
        self.stream, self.group, self.chunk = stream, stream.group, chunk
        # Mean sampled cost, for the warm-up; not a number until the first step.
        self.register_buffer("running", torch.tensor(torch.nan, dtype=torch.float64))
        self.register_buffer("version", torch.tensor(0))
        # Epochs trained when the baseline was last replaced; 0: it is what training began with.
        self.register_buffer("kept_epoch", torch.tensor(0))
        self._expected: Tensor | None = None
        self._defence: tuple[int, Padded, Tensor] | None = None

    @property
    def shipped(self) -> nn.Module:
        """The baseline."""
        return self.baseline

    @abstractmethod
    def sample(self, instances: Padded, draws: Tensor) -> tuple[Tensor, Tensor]:
        """Return costs and log-likelihoods of one sampled solution of each instance."""

    @abstractmethod
    def greedy_costs(self, policy: nn.Module, instances: Padded) -> Tensor:
        """Return the costs that a policy's greedy rollouts have in training."""

    def trial_costs(self, policy: nn.Module, instances: Padded) -> Tensor:
        """Return the costs that decide the t-test."""
        return self.greedy_costs(policy, instances)

    def forward(self, instances: Padded, row: slice, draws: Tensor) -> Tensor:
        """Return the mean of (cost - expected cost) times log-likelihood."""
        self.policy.train()
        cost, likelihood = self.sample(instances, draws)
        cost = cost.detach()
        # `begin_epoch` comes first: it rolled the baseline out, unless this is the warm-up.
        expected = self._running_mean(cost) if self._expected is None else self._expected[row]
        self.stats = {"cost": cost.mean(), "advantage": (cost - expected).mean()}
        return ((cost - expected) * likelihood).mean()

    def _running_mean(self, cost: Tensor) -> Tensor:
        mean = self.group.mean(cost.mean().double())
        beta = self.config.beta
        self.running.copy_(
            torch.where(self.running.isnan(), mean, beta * self.running + (1 - beta) * mean)
        )
        return self.running.to(cost.dtype)

    def begin_epoch(self, epoch: int) -> None:
        """Roll the baseline out on this epoch's instances."""
        self._expected = None
        if epoch >= self.config.warmup_epochs:
            width = max(1, self.chunk * self.group.world // self.stream.batch)
            last = self.stream.steps_per_epoch
            parts = (
                self.stream.steps(epoch, first, min(first + width, last))
                for first in range(0, last, width)
            )
            self._expected = torch.cat([self.greedy_costs(self.baseline, part) for part in parts])

    def end_epoch(self, epoch: int) -> dict[str, float]:
        """Let the policy challenge the baseline."""
        self.policy.eval()
        version, instances, defended = self._trial()
        costs = self._in_chunks(self.policy, instances)
        difference = (costs - defended).double()
        probability = one_sided_p(difference)
        wins = bool(self.group.agree(probability < self.config.alpha, costs.device))
        if wins:
            self.baseline.load_state_dict(self.policy.state_dict())
            self.version.add_(1)
            self.kept_epoch.fill_(epoch + 1)
        return {
            "trial_cost": float(costs.mean()),
            "trial_baseline": float(defended.mean()),
            "trial_p": probability,
            "baseline_version": version + wins,
        }

    def _trial(self) -> tuple[int, Padded, Tensor]:
        """Return the trial instances of the current baseline and its costs on them."""
        version = int(self.version)
        if self._defence is None or self._defence[0] != version:
            instances = self.stream.trial(self.config.instances, version)
            self._defence = version, instances, self._in_chunks(self.baseline, instances)
        return self._defence

    def _in_chunks(self, policy: nn.Module, instances: Padded) -> Tensor:
        parts = instances.chunks(self.chunk)
        return torch.cat([self.trial_costs(policy, part) for part in parts])

    def validate(self) -> dict[str, float]:
        """Measure the baseline, and beside it the policy in training."""
        found = super().validate()
        now = self.validation.measure(self.policy)
        rates = {name for name in now if name.endswith("_per_second")}
        return found | {f"policy_{name}": now[name] for name in now if name not in rates}


def one_sided_p(difference: Tensor) -> float:
    """Return the p-value of "the mean difference is negative" of a paired t-test."""
    from scipy.special import stdtr

    deviation = float(difference.std())
    mean = float(difference.mean())
    if deviation == 0.0:
        return 0.0 if mean < 0 else 1.0
    return float(stdtr(len(difference) - 1, mean / (deviation / len(difference) ** 0.5)))
