"""Where torch works: "cpu", "cuda", or "auto" for the accelerator where there is one."""

from __future__ import annotations

import torch

from ..core.errors import OptionError


def resolve(name: str) -> torch.device:
    """Return the device of that name, or say in one sentence why it cannot be had.

    >>> resolve("cpu")
    device(type='cpu')
    """
    if name not in ("cpu", "cuda", "auto"):
        raise OptionError(f"device must be 'cpu', 'cuda' or 'auto', got {name!r}")
    available = torch.cuda.is_available()
    if name == "cuda" and not available:
        raise OptionError(
            "device 'cuda' was asked for, but torch finds no CUDA device; use 'cpu' or 'auto'"
        )
    if name == "cpu" or not available:
        return torch.device("cpu")
    # cuDNN plans its attention anew for every batch size, and ours shrink as instances stop:
    # with it, distillation ran at 4,500 states a second instead of over 30,000.
    torch.backends.cuda.enable_cudnn_sdp(False)
    return torch.device("cuda")
