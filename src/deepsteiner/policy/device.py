"""Where torch works: "cpu", "cuda", or "auto" for the accelerator where there is one."""

from __future__ import annotations

import torch

from ..core.device import Place, resolve_device


def resolve(name: str) -> torch.device:
    """Return the device of that name, or say in one sentence why it cannot be had.

    >>> resolve("cpu")
    device(type='cpu')
    """
    return torch_device(resolve_device(name))


def torch_device(place: Place) -> torch.device:
    """Return a place that is there as torch names it."""
    if place == "cuda":
        # cuDNN plans its attention anew for every batch size, and ours shrink as instances stop:
        # with it, distillation ran at 4,500 states a second instead of over 30,000.
        torch.backends.cuda.enable_cudnn_sdp(False)
    return torch.device(place)
