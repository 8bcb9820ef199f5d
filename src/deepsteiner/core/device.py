"""Where a method works: the one place that turns "auto" into a device, or says what is missing."""

from __future__ import annotations

import os
import sys
from typing import Any, Literal, get_args

from .errors import MissingDependencyError, OptionError

Device = Literal["cpu", "cuda", "auto"]
Place = Literal["cpu", "cuda"]
DEVICES: tuple[Device, ...] = get_args(Device)


def resolve_device(device: str, served: tuple[Place, ...] = ("cpu", "cuda")) -> Place:
    """Return where a method works that serves these places; torch is loaded only to look for CUDA.

    A method that cannot use an accelerator works on the processor, whatever the device. For the
    others "auto" is CUDA where torch finds it, and "cuda" without it is refused.

    >>> resolve_device("cpu"), resolve_device("auto", ("cpu",))
    ('cpu', 'cpu')
    """
    if device not in DEVICES:
        raise OptionError(f"device must be 'cpu', 'cuda' or 'auto', got {device!r}")
    if device == "cpu" or "cuda" not in served:
        return "cpu"
    try:
        found = has_cuda()
    except MissingDependencyError:
        if device == "cuda":
            raise
        return "cpu"
    if device == "cuda" and not found:
        raise OptionError("device 'cuda': torch finds no CUDA device; use 'cpu' or 'auto'")
    return "cuda" if found else "cpu"


def has_cuda() -> bool:
    """Return whether torch finds an accelerator."""
    return bool(load_torch("device 'cuda'").cuda.is_available())


def load_torch(what: str) -> Any:
    """Return torch, or say in one sentence what needs it and how to install it."""
    if "torch" not in sys.modules:
        # Threads that spin while they wait make a busy machine many times slower.
        os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    try:
        import torch
    except ImportError:
        raise MissingDependencyError(
            f"{what} needs torch; install it with: pip install 'deepsteiner[learn]'"
        ) from None
    return torch
