"""Choosing by probability with random numbers that were drawn beforehand."""

from __future__ import annotations

import torch
from torch import Tensor


def choose(log_probs: Tensor, draws: Tensor | None) -> Tensor:
    """Return an index per row: the likeliest, or the one that a number in [0, 1) falls on.

    An index of probability zero is never chosen.
    """
    if draws is None:
        return log_probs.argmax(-1)
    reached = log_probs.detach().double().exp().cumsum(-1)
    wanted = draws.double().unsqueeze(-1) * reached[..., -1:]
    return (reached <= wanted).sum(-1).clamp(max=log_probs.shape[-1] - 1)


def autocast(device: torch.device, precision: str) -> torch.autocast:
    """Return the context in which a network runs at a precision."""
    return torch.autocast(device.type, torch.bfloat16, enabled=precision == "bfloat16")
