"""Lookahead distillation: the savings of all candidates teach the policy on states it visits.

One step plays `batch` games. In every state on the way the one-step saving of each candidate is
known, and the target is softmax(saving / (temperature * best saving)). The game goes on with the
policy's own choice, sampled or likeliest; where that would lengthen the tree although another
candidate shortens it, the best candidate is taken, so that later states are seen as well. A game
ends where no candidate saves more than a threshold. All states of one depth have the same number
of points, so nothing is padded.

With `lookahead = 2` the worth of a state's `width` best candidates is their saving and the best
saving after them, and targets are made of that.
"""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from ..candidates import Candidates
from ..environment import Environment, State
from ..network import Network
from ..sampling import choose
from ..settings import CandidateSpec
from .instances import Padded
from .steiner import Steiner
from .trainer import Objective


class Distill(Objective):
    """The mean divergence of the policy from the lookahead's targets over visited states."""

    policy: Network

    def __init__(self, problem: Steiner) -> None:
        super().__init__(problem)
        self.config, self.group = problem.config.distill, problem.stream.group
        self.player = problem.player(problem.model, "inference")
        self.rules = self.player.rules
        # One number says whether an instance explores, then one for each of its steps.
        self.draws = 2 + self.config.depth

    def forward(self, instances: Padded, row: slice | Tensor, draws: Tensor) -> Tensor:
        """Play the games and return the loss."""
        self.policy.train()
        size = instances.points.shape[1]
        deepest = min(self.config.depth + 1, self.rules.most_steps(size))
        state = self.rules.reset(instances.points, instances.count)
        losses, captured = [], []
        states = 0
        for depth in range(deepest):
            state, found, saving, draws, playing = self._worth_playing(state, draws)
            if not self._anyone_plays(saving):
                break
            log_probs = self.player.score(state, found)[playing].to(saving.dtype)
            worth = self._worth(state, found, saving, playing)
            best, teacher = worth.max(dim=1)
            losses.append(divergence(log_probs, worth, best, self.config.temperature).sum())
            sampled = choose(log_probs.detach(), draws[playing, 1 + depth])
            explores = draws[playing, 0] < self.config.explore
            choice = torch.where(explores, sampled, choose(log_probs.detach(), None))
            gained = saving.gather(1, choice[:, None])[:, 0]
            captured.append((gained.clamp(min=0.0) / saving.amax(dim=1)).sum())
            states += len(saving)
            if depth + 1 < deepest:
                choices = choice.new_zeros(len(draws))
                choices[playing] = torch.where(gained > 0, choice, teacher)
                state = self.rules.step(state, choices, found)
        return self._mean(losses, captured, states, instances)

    def _worth_playing(
        self, state: State, draws: Tensor
    ) -> tuple[State, Candidates, Tensor, Tensor, Tensor | slice]:
        """Leave only the games in which a candidate saves something.

        Return (state, candidates, savings, draws, rows). Games that have ended leave the batch,
        and `rows` are all that remain; where processes play together they stay, inactive, and
        savings are those of the `rows` that play on.
        """
        with torch.no_grad():
            found = self.rules.candidates(state)
            saving = self.rules.lookahead(state, found)
            least = self.config.threshold * state.length
            going = (saving.amax(dim=1) > least) & state.active
        rows = going.nonzero()[:, 0]
        if self._together:
            masked = replace(found, mask=found.mask & going[:, None], dense=False)
            return replace(state, active=going, dense=False), masked, saving[rows], draws, rows
        some = replace(found.take(rows), dense=found.full)
        return state.take(rows), some, saving[rows], draws[rows], slice(None)

    @torch.no_grad()
    def _worth(
        self, state: State, found: Candidates, saving: Tensor, playing: Tensor | slice
    ) -> Tensor:
        """Return what every candidate of the playing rows is worth."""
        if self.config.lookahead == 1:
            return saving
        if isinstance(playing, Tensor):
            state, found = state.take(playing), found.take(playing)
        return two_steps(self.player.spec, state, found, saving, self.config.width)

    @property
    def _together(self) -> bool:
        """Whether the processes share batch statistics, and so must take the same steps."""
        return self.group.world > 1 and self.policy.config.norm == "batch"

    def _anyone_plays(self, saving: Tensor) -> bool:
        if not self._together:
            return len(saving) > 0
        return bool(self.group.mean(saving.new_tensor(float(len(saving)))) > 0)

    def _mean(
        self, losses: list[Tensor], captured: list[Tensor], states: int, instances: Padded
    ) -> Tensor:
        if not losses:
            # Terminals on a line: nothing to learn, but every process takes part in the step.
            sums = [parameter.sum() for parameter in self.policy.parameters()]
            return torch.stack(sums).sum() * 0.0
        number = instances.points.new_tensor(states)
        mean_number = self.group.mean(number)
        self.stats = {
            "captured": torch.stack(captured).sum() / number,
            "states_per_instance": number / len(instances),
        }
        return torch.stack(losses).sum() / mean_number


def two_steps(
    spec: CandidateSpec, state: State, found: Candidates, saving: Tensor, width: int
) -> Tensor:
    """Return (B, C): savings, those of the `width` best with the best saving after them added.

    A candidate that saves nothing stays as it is: Algorithm 1 would stop there.
    """
    rules = Environment(spec, "all_selection")
    width = min(width, saving.shape[1])
    first, chosen = saving.topk(width, dim=1)
    rows = torch.arange(len(saving), device=saving.device).repeat_interleave(width)
    after = rules.step(state.take(rows), chosen.reshape(-1), found.take(rows))
    second = rules.lookahead(after, rules.candidates(after)).amax(dim=1).view_as(first)
    worth = first + second.clamp(min=0.0)
    return saving.scatter(1, chosen, torch.where(first > 0, worth, first))


def divergence(log_probs: Tensor, saving: Tensor, best: Tensor, temperature: float) -> Tensor:
    """Return (B,): the Kullback-Leibler divergence of the policy from the soft targets.

    `saving` is -inf where there is no candidate, and `best` its positive maximum.
    """
    real = saving > -torch.inf
    wanted = (saving / (temperature * best[:, None])).log_softmax(dim=1)
    difference = (wanted - log_probs).masked_fill(~real, 0.0)
    return (wanted.exp() * difference).sum(dim=1)
