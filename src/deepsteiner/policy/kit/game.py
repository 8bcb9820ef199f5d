"""The game as the environments of other libraries tell it: fixed shapes, rewards, an action mask.

Fields have the names that libraries for learned optimisation use: `action_mask` marks the
candidates that may be chosen, `reward` is how much shorter the tree got, so an episode's rewards
sum up to the whole saving. All tensors have room for the largest state. An action off the mask
ends the instance's episode without a reward.
"""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from ..candidates import Candidates
from ..environment import Environment, State
from ..settings import CandidateSpec


class Game:
    """A batch of episodes under one set of rules.

    Parameters
    ----------
    size : int
        Terminals of an instance.
    spec : CandidateSpec
        The candidates of every step.
    criterion : str
        When an episode ends, see `kit.criteria`.
    """

    def __init__(self, size: int, spec: CandidateSpec, criterion: str) -> None:
        self.size, self.rules = size, Environment(spec, criterion)
        self.room = max(2 * size - 2, size)
        # The state after the last step has no candidates any more.
        self.actions = max(spec.number(width) for width in range(size, self.room + 1))
        self.state: State | None = None
        self._found: Candidates | None = None

    def reset(self, points: Tensor) -> dict[str, Tensor]:
        """Begin episodes with terminals (B, n, 2); return the observation."""
        # Episodes end one by one, and a caller may go on with what has ended.
        self.state = replace(self.rules.reset(points), full=False, dense=False)
        return self.observation()

    def observation(self) -> dict[str, Tensor]:
        """Return what a policy sees, with zeros in the room that is not in use."""
        assert self.state is not None
        state = self.state
        found = self._found = self.rules.candidates(state)
        batch, number = found.mask.shape
        candidates = state.points.new_zeros((batch, self.actions, 2))
        action_mask = torch.zeros((batch, self.actions), dtype=torch.bool)
        candidates[:, :number] = found.points.masked_fill(~found.mask[:, :, None], 0.0)
        action_mask[:, :number] = found.mask
        # An episode that has ended still offers one action, which does nothing.
        action_mask[:, 0] |= ~state.active
        return {
            "points": state.points.clone(),
            "count": state.count.clone(),
            "candidates": candidates,
            "action_mask": action_mask,
            "length": state.length.clone(),
        }

    def step(self, action: Tensor) -> tuple[dict[str, Tensor], Tensor, Tensor]:
        """Take an action (B,) of each episode; return (observation, reward, done)."""
        assert self.state is not None
        assert self._found is not None
        before, found = self.state, self._found
        inside = action.clamp(max=found.mask.shape[1] - 1)
        allowed = found.mask.gather(1, inside[:, None])[:, 0] & (action == inside)
        live = replace(before, active=before.active & allowed)
        self.state = self.rules.step(live, inside, found)
        reward = before.length - self.state.length
        return self.observation(), reward, ~self.state.active
