"""From a policy to trees: Algorithm 1, sampling, images of the instance, and beam search.

All of them take the state of a batch at its start and return its state at the end, the best tree
found for every instance; they run under the rules of the environment's "inference".
"""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from . import graphs
from .candidates import Candidates
from .environment import Environment, State
from .rollout import Chooser, Player, turns
from .sampling import choose, likeliest

IMAGES = 8
# Trees of a beam whose lengths agree to this are the same points added in another order.
_SAME_LENGTH = 1e-12


@torch.inference_mode()
def greedy(player: Player, state: State) -> State:
    """Run Algorithm 1: the likeliest candidate, until the tree would get longer."""
    if graphs.suits(player, state):
        return graphs.greedy(player, state)
    return _roll_out(player, state, lambda scores, rows, step: likeliest(scores))


@torch.inference_mode()
def sample(player: Player, state: State, draws: Tensor) -> State:
    """Return the best of k trees whose steps are drawn.

    `draws` (B, k, steps) are numbers in [0, 1); where one is negative, the likeliest candidate is
    taken.
    """
    number = draws.shape[1]
    flat = draws.reshape(-1, draws.shape[2])

    def pick(scores: Tensor, rows: Tensor, step: int) -> Tensor:
        drawn = flat[rows, step]
        return torch.where(drawn < 0, likeliest(scores), choose(scores, drawn))

    return best_of(_roll_out(player, repeated(state, number), pick), number)


@torch.inference_mode()
def beam(player: Player, state: State, width: int) -> State:
    """Keep the `width` shortest trees, each extended by its `width` likeliest candidates.

    A width of 1 is Algorithm 1.
    """
    best, current, held = state, state, 1
    for step in range(state.width - 2):
        if not bool(current.active.any()) or not player.goes_on(step, best):
            break
        found = player.rules.candidates(current)
        scores = player.score(current, found)
        children, taken = _children(player.rules, current, found, scores, width)
        best = shorter(best, best_of(children, held * taken))
        current, held = _survivors(children, held * taken, width)
    return best


@torch.inference_mode()
def replay(player: Player, state: State, added: Tensor) -> list[tuple[Candidates, Tensor, int]]:
    """Return, for one instance, every step to its tree: candidates, log-probabilities, choice.

    `added` (s, 2) are the tree's Steiner points in their order. Where the instance could go on
    after them, one more step follows: the candidate that was not taken because it would have made
    the tree longer.
    """
    rules = Environment(player.spec, "all_selection")
    steps = []
    for number in range(state.width - 2):
        found = rules.candidates(state)
        scores = player.score(state, found)
        if number < len(added):
            offset = (found.points[0] - added[number]).square().sum(dim=1)
            choice = offset.masked_fill(~found.mask[0], torch.inf).argmin()[None]
        else:
            choice = likeliest(scores)
        steps.append((found, scores[0], int(choice)))
        if number >= len(added):
            break
        state = rules.step(state, choice, found)
    return steps


def images(state: State) -> State:
    """Return every instance eight times, each copy to be seen in another image."""
    image = torch.arange(IMAGES, device=state.count.device).repeat(len(state.count))
    return replace(repeated(state, IMAGES), image=image)


def repeated(state: State, number: int) -> State:
    """Return every instance `number` times, copies side by side."""
    rows = torch.arange(len(state.count), device=state.count.device)
    return state.take(rows.repeat_interleave(number))


def best_of(state: State, number: int) -> State:
    """Return the shortest of every `number` neighbouring rows, the first of equals."""
    lengths = state.length.view(-1, number)
    first = torch.arange(len(lengths), device=lengths.device) * number
    return state.take(first + lengths.argmin(dim=1))


def _roll_out(player: Player, state: State, pick: Chooser) -> State:
    """Play to the end, or until the report says no."""
    result = state

    def go_on(step: int) -> bool:
        return player.goes_on(step, result)

    for turn in turns(player, state, pick, go_on=go_on):
        result = result.put(turn.rows, turn.after)
    return result


def _children(
    rules: Environment, state: State, found: Candidates, scores: Tensor, width: int
) -> tuple[State, int]:
    """Return every tree extended by each of its likeliest candidates, and by how many."""
    taken = min(width, scores.shape[1])
    choice = scores.sort(dim=1, descending=True, stable=True).indices[:, :taken]
    if width == 1:
        choice = likeliest(scores)[:, None]
    rows = torch.arange(len(scores), device=scores.device).repeat_interleave(taken)
    chosen = found.points[rows, choice.reshape(-1)][:, None]
    single = replace(found, points=chosen, mask=found.mask[rows, :1], ends=found.ends[rows, :1])
    return rules.step(state.take(rows), torch.zeros_like(rows), single), taken


def _survivors(children: State, number: int, width: int) -> tuple[State, int]:
    """Return the shortest different trees that can go on, of every `number` neighbouring rows."""
    length = children.length.masked_fill(~children.active, torch.inf).view(-1, number)
    length, order = length.sort(dim=1, stable=True)
    again = torch.zeros_like(length, dtype=torch.bool)
    again[:, 1:] = length[:, 1:] <= length[:, :-1] * (1.0 + _SAME_LENGTH)
    length, position = length.masked_fill(again, torch.inf).sort(dim=1, stable=True)
    held = min(width, number)
    order = order.gather(1, position[:, :held])
    first = torch.arange(len(order), device=order.device)[:, None] * number
    kept = children.take((first + order).reshape(-1))
    return replace(kept, active=(length[:, :held] < torch.inf).reshape(-1), dense=False), held


def shorter(one: State, other: State) -> State:
    """Return, row by row, the state of the shorter tree."""
    rows = (other.length < one.length).nonzero()[:, 0]
    return one.put(rows, other.take(rows))
