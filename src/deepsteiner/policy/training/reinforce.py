"""REINFORCE with a greedy rollout baseline (Algorithm 2), for any problem.

The baseline is a frozen copy of the network. Its costs on the instances of an epoch are computed
at the epoch's start in large batches: it does not change in between. At the end of an epoch the
network challenges it on trial instances; a one-sided paired t-test decides, and a winner becomes
the new baseline with new trial instances. What is shipped is the baseline.

For Steiner trees, a sampled tree's cost and likelihood count every step of the criterion, the
worsening one of `first_increment` included. Criterion `inference` samples Algorithm 1's own games:
a point that would lengthen the tree is not added, but its choice, which ends the game, counts in
the likelihood. The t-test compares the trees of Algorithm 1.
"""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from .instances import Padded
from .problem import Problem
from .steiner import Steiner
from .trainer import Objective


class Reinforce(Objective):
    """The policy-gradient loss, with the paper's minus sign put right: costs are minimised."""

    running: Tensor
    version: Tensor
    kept_epoch: Tensor

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem)
        self.baseline = copy.deepcopy(self.policy).requires_grad_(False).eval()
        self.config, self.draws = problem.config.reinforce, problem.draws
        self.stream, self.group, self.chunk = problem.stream, problem.stream.group, problem.chunk
        # Mean sampled cost, for the warm-up; not a number until the first step.
        on = self.stream.device
        self.register_buffer("running", torch.tensor(torch.nan, dtype=torch.float64, device=on))
        self.register_buffer("version", torch.tensor(0))
        # Epochs trained when the baseline was last replaced; 0: it is what training began with.
        self.register_buffer("kept_epoch", torch.tensor(0))
        # The baseline's costs on this epoch's instances, None in the warm-up. They stay in one
        # place, `_costs`, because a recorded step reads them there.
        self._expected: Tensor | None = None
        self._costs: Tensor | None = None
        self.fixed_shapes = True
        self._defence: tuple[int, Padded, Tensor] | None = None

    @property
    def shipped(self) -> nn.Module:
        """The baseline."""
        return self.baseline

    @property
    def stage(self) -> str:
        """Name what the costs are compared with."""
        return "warm-up" if self._expected is None else "rollout"

    def forward(self, instances: Padded, row: slice | Tensor, draws: Tensor) -> Tensor:
        """Return the mean of (cost - expected cost) times log-likelihood."""
        self.policy.train()
        cost, likelihood = self.problem.sample(self.policy, instances, draws)
        cost = cost.detach()
        # `begin_epoch` comes first: it rolled the baseline out, unless this is the warm-up.
        expected = self._running_mean(cost) if self._expected is None else self._expected[row]
        self.stats = {"cost": cost.mean(), "advantage": (cost - expected).mean()}
        return ((cost - expected) * likelihood).mean()

    def _running_mean(self, cost: Tensor) -> Tensor:
        mean, beta = self.group.mean(cost.mean().double()), self.config.beta
        moved = beta * self.running + (1 - beta) * mean
        self.running.copy_(torch.where(self.running.isnan(), mean, moved))
        return self.running.to(cost.dtype)

    @torch.no_grad()
    def begin_epoch(self, epoch: int) -> None:
        """Roll the baseline out on this epoch's instances."""
        self._expected = None
        if epoch >= self.config.warmup_epochs:
            width = max(1, self.chunk * self.group.world // self.stream.batch)
            last = self.stream.steps_per_epoch
            costs = [
                self.problem.greedy_costs(
                    self.baseline, self.stream.steps(epoch, first, min(first + width, last))
                )
                for first in range(0, last, width)
            ]
            if self._costs is None:
                self._costs = torch.cat(costs)
            self._expected = self._costs.copy_(torch.cat(costs))

    def end_epoch(self, epoch: int) -> dict[str, float]:
        """Let the policy challenge the baseline."""
        self.policy.eval()
        version, instances, defended = self._trial()
        costs = self._trial_costs(self.policy, instances)
        probability = one_sided_p((costs - defended).double())
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
            self._defence = version, instances, self._trial_costs(self.baseline, instances)
        return self._defence

    @torch.no_grad()
    def _trial_costs(self, model: nn.Module, instances: Padded) -> Tensor:
        lengths, precision = self.problem.lengths, self.problem.precision
        return torch.cat([lengths(model, part, precision) for part in instances.chunks(self.chunk)])

    def validate(self) -> dict[str, float]:
        """Measure the baseline, and beside it the policy in training."""
        found, now = super().validate(), self.problem.measure(self.policy)
        beside = {f"policy_{name}": now[name] for name in now if not name.endswith("_per_second")}
        return found | beside

    def write_model(self, folder: Path, facts: dict[str, Any]) -> None:
        """Write the baseline's weights, and from which epoch they are."""
        super().write_model(folder, facts | {"kept_epoch": int(self.kept_epoch)})


class FirstStepExpectation(Reinforce):
    """The mean cost over all first candidates, weighted by the policy.

    This is what the sampled loss of `first_selection` has as its mean, without the noise of
    drawing.
    """

    problem: Steiner

    def forward(self, instances: Padded, row: slice | Tensor, draws: Tensor) -> Tensor:
        """Return the expected cost, up to the length of the spanning trees."""
        self.policy.train()
        player = self.problem.player(self.policy, "first_selection")
        rules = player.rules
        state = rules.reset(instances.points, instances.count)
        found = rules.candidates(state)
        log_probs = player.score(state, found)
        saving = rules.lookahead(state, found).masked_fill(~found.mask, 0.0)
        expected = (log_probs.to(saving.dtype).exp() * saving).sum(dim=1)
        self.stats = {"cost": (state.length - expected.detach()).mean()}
        return -expected.mean()

    def begin_epoch(self, epoch: int) -> None:
        """Do nothing: this loss does not need the baseline's costs."""


def reinforce(problem: Problem) -> Reinforce:
    """Return the objective by a draw, or in expectation where the configuration says so."""
    if isinstance(problem, Steiner) and problem.config.reinforce.expectation:
        return FirstStepExpectation(problem)
    return Reinforce(problem)


def one_sided_p(difference: Tensor) -> float:
    """Return the p-value of "the mean difference is negative" of a paired t-test.

    >>> round(one_sided_p(torch.tensor([-1.0, -2.0, -3.0])), 3)
    0.037
    """
    from scipy.special import stdtr

    deviation = float(difference.std())
    mean = float(difference.mean())
    if deviation == 0.0:
        return 0.0 if mean < 0 else 1.0
    return float(stdtr(len(difference) - 1, mean / (deviation / len(difference) ** 0.5)))
