"""Playing whole games: from terminals to the tree that a policy builds, for a batch at once."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from .candidates import Candidates
from .environment import Environment, State
from .sampling import choose
from .training.group import Group
from .training.instances import Padded

# Points, their number and the candidates in; log-probabilities of the candidates out.
Scorer = Callable[[Tensor, Tensor, Candidates], Tensor]


def play(
    policy: Scorer,
    environment: Environment,
    instances: Padded,
    draws: Tensor | None = None,
    group: Group | None = None,
) -> tuple[Tensor, Tensor]:
    """Return the final lengths (B,) and the log-likelihoods (B,) of the steps taken.

    Steps are the likeliest ones, or those that `draws` (B, steps) fall on. Instances that have
    stopped leave the batch, so they take no part in batch statistics. The processes of a `group`
    share these statistics: they take equally many steps, with stopped instances masked instead.
    """
    together = group is not None and group.world > 1
    state = environment.reset(instances.points, instances.count)
    length = state.length
    likelihood = torch.zeros_like(length)
    rows = torch.arange(len(length), device=length.device)
    for step in range(most_steps(environment, instances.points.shape[1])):
        if together:
            assert group is not None
            if not bool(group.mean(state.active.any().to(length.dtype))):
                break
        elif _may_have_stopped(environment, instances, step):
            state, going = state.going()
            rows = rows[going]
            if len(rows) == 0:
                break
        found = environment.candidates(state)
        log_probs = score(policy, environment, state, found)
        choice = choose(log_probs, None if draws is None else draws[rows, step])
        taken = log_probs.gather(1, choice[:, None])[:, 0].to(likelihood.dtype)
        likelihood = likelihood.index_add(0, rows, taken.where(state.active, 0.0))
        state = environment.step(state, choice, found)
        length = length.index_copy(0, rows, state.length)
    return length, likelihood


def score(policy: Scorer, environment: Environment, state: State, found: Candidates) -> Tensor:
    """Return the policy's log-probabilities of the candidates of a state."""
    return policy(state.points[:, : state.width], environment.visible(state), found)


def most_steps(environment: Environment, size: int) -> int:
    """Return after how many steps all instances of at most `size` points have stopped."""
    return min(1, max(0, size - 2)) if environment.criterion == "first_selection" else size - 2


def _may_have_stopped(environment: Environment, instances: Padded, step: int) -> bool:
    """Say whether it is worth asking the device which instances go on."""
    if instances.count is not None:
        return True
    return step > 0 and environment.criterion != "all_selection"
