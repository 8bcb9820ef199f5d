"""Playing whole games: from terminals to the tree that a policy builds, for a batch at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

import torch
from torch import Tensor, nn

from .candidates import Candidates
from .environment import Environment, State
from .network import Pause
from .sampling import autocast, choose
from .settings import CandidateSpec
from .training.group import ALONE, Group
from .training.instances import Padded

# Rows of log-probabilities, which rows they are, and the step's number in; choices out.
Chooser = Callable[[Tensor, Tensor, int], Tensor]
# Called before every step with its number and the trees so far; False ends the search.
Report = Callable[[int, State], bool]
# Whether to take the step of this number.
GoOn = Callable[[int], bool]


@dataclass(frozen=True)
class Player:
    """A policy at the table: its network, its candidates, and the precision it computes in.

    The network calls `pause` every now and then, and a search `report` before every step. With
    `graphs`, greedy games of small batches on CUDA are recorded and replayed. `criterion` ends the
    games: Algorithm 1's, unless a training has another. With `fixed_shapes` games take as many
    steps as any game could, and the device is never asked how they stand.
    """

    policy: nn.Module
    spec: CandidateSpec
    precision: str = "float32"
    pause: Pause | None = None
    report: Report | None = None
    graphs: bool = False
    criterion: str = "inference"
    fixed_shapes: bool = False

    @property
    def rules(self) -> Environment:
        """The environment of its games."""
        return Environment(self.spec, self.criterion)

    def goes_on(self, step: int, state: State) -> bool:
        """Report the trees before a step; return whether it is to be taken."""
        return self.report is None or self.report(step, state)

    def score(self, state: State, found: Candidates) -> Tensor:
        """Return the log-probabilities (B, C) of a state's candidates."""
        points = state.points[:, : state.width]
        if state.image is not None:
            points = turned(points, state.image)
            found = replace(found, points=turned(found.points, state.image))
        if self.fixed_shapes and not self.rules.rule.together:
            # Games end one by one, and all steps make their statistics in the same way.
            found = replace(found, unasked=True)
        with autocast(points.device, self.precision):
            scores: Tensor = self.policy(points, state.visible, found, self.pause)
        return scores


def turned(points: Tensor, image: Tensor) -> Tensor:
    """Return points (B, N, 2) as image 0..7 (B,) of the unit square's symmetries shows them."""
    bits = image[:, None]
    x, y = points[:, :, 0], points[:, :, 1]
    x = torch.where((bits & 1) > 0, 1.0 - x, x)
    y = torch.where((bits & 2) > 0, 1.0 - y, y)
    swap = (bits & 4) > 0
    return torch.stack((torch.where(swap, y, x), torch.where(swap, x, y)), dim=2)


class Turn(NamedTuple):
    """One step of a batch's games.

    `rows` (k,) are the games that took part. `before` and `after` are their states, `log_probs`
    (k, C) the policy's view of the candidates, and `choice` (k,) the one that was taken.
    """

    rows: Tensor
    before: State
    log_probs: Tensor
    choice: Tensor
    after: State


def _always(step: int) -> bool:
    return True


def turns(
    player: Player, state: State, pick: Chooser, group: Group = ALONE, go_on: GoOn = _always
) -> Iterator[Turn]:
    """Play to the end, or until `go_on` answers no to the number of the next step.

    Games that have ended leave the batch: they cost no more time and take no part in batch
    statistics. The processes of a `group` share these statistics, so there all take equally many
    steps, and games that have ended stay, masked. So they do where the player has `fixed_shapes`.
    """
    rules = player.rules
    rows = torch.arange(len(state.count), device=state.count.device)
    for step in range(rules.most_steps(state.width)):
        if group.world > 1:
            if not bool(group.mean(state.active.any().to(state.length.dtype))):
                return
        elif not state.dense and not player.fixed_shapes:
            state, kept = state.going()
            rows = rows[kept]
        if len(rows) == 0 or not go_on(step):
            return
        found = rules.candidates(state)
        log_probs = player.score(state, found)
        choice = pick(log_probs, rows, step)
        after = rules.step(state, choice, found)
        yield Turn(rows, state, log_probs, choice, after)
        state = after


def rollout(
    player: Player, instances: Padded, draws: Tensor | None = None, group: Group = ALONE
) -> tuple[Tensor, Tensor]:
    """Return the final lengths (B,) and the log-likelihoods (B,) of the steps taken.

    Steps are the likeliest ones, or those that `draws` (B, steps) fall on.
    """

    def pick(log_probs: Tensor, rows: Tensor, step: int) -> Tensor:
        return choose(log_probs, None if draws is None else draws[rows, step])

    start = player.rules.reset(instances.points, instances.count)
    length, likelihood = start.length, torch.zeros_like(start.length)
    for turn in turns(player, start, pick, group):
        taken = turn.log_probs.gather(1, turn.choice[:, None])[:, 0].to(likelihood.dtype)
        likelihood = likelihood.index_add(0, turn.rows, taken.where(turn.before.active, 0.0))
        length = length.index_copy(0, turn.rows, turn.after.length)
    return length, likelihood
