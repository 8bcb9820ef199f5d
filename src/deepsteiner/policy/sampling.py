"""Choosing by probability: the likeliest, or with random numbers that were drawn beforehand."""

from __future__ import annotations

import torch
from torch import Tensor

# Log-probabilities closer than this count as equal and the first candidate is taken: rounding,
# which depends on the other instances of a batch, must not decide between twins.
TIE = 1e-5


def likeliest(log_probs: Tensor) -> Tensor:
    """Return the first index of every row that is as good as the best (to within TIE).

    >>> likeliest(torch.tensor([[0.2, 0.4 - 1e-7, 0.4]]).log())
    tensor([1])
    """
    best = log_probs.amax(dim=1, keepdim=True)
    return (log_probs >= best - TIE).to(torch.int8).argmax(dim=1)


def choose(log_probs: Tensor, draws: Tensor | None) -> Tensor:
    """Return an index per row: the likeliest, or the one that a number in [0, 1) falls on.

    An index of probability zero is never chosen.

    Parameters
    ----------
    log_probs : Tensor
        (..., C) log-probabilities.
    draws : Tensor or None
        (...) random numbers in [0, 1); None takes the likeliest.

    Examples
    --------
    >>> choose(torch.tensor([[0.5, 0.0, 0.5]]).log().expand(3, -1), torch.tensor([0.0, 0.4, 0.6]))
    tensor([0, 0, 2])
    """
    if draws is None:
        return log_probs.argmax(-1)
    reached = log_probs.detach().double().exp().cumsum(-1)
    wanted = draws.double().unsqueeze(-1) * reached[..., -1:]
    return (reached <= wanted).sum(-1).clamp(max=log_probs.shape[-1] - 1)


def autocast(device: torch.device, precision: str) -> torch.autocast:
    """Return the context in which a network runs at a precision."""
    return torch.autocast(device.type, torch.bfloat16, enabled=precision == "bfloat16")
