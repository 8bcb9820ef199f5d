"""Starting from a model of something else: tensors of equal name and shape are taken over."""

from __future__ import annotations

from typing import NamedTuple

from torch import Tensor, nn


class Transfer(NamedTuple):
    """Which tensors were loaded, which stay random, and which of the source found no place."""

    loaded: list[str]
    random: list[str]
    unused: list[str]

    def __str__(self) -> str:
        if not self.random and not self.unused:
            return f"loaded all {len(self.loaded)} tensors"
        return (
            f"loaded {len(self.loaded)} tensors: {_summary(self.loaded)}; "
            f"random: {_summary(self.random)}; not used: {_summary(self.unused)}"
        )


def transfer(source: dict[str, Tensor], policy: nn.Module) -> Transfer:
    """Copy the tensors of `source` that fit into `policy`, and say what happened to all others.

    From a tour model these are the input embedding and the first encoder layers with the
    statistics of their batch normalisation; its decoder only fits the released decoder.
    """
    target = policy.state_dict()
    fitting = {
        name: value
        for name, value in source.items()
        if name in target and target[name].shape == value.shape
    }
    policy.load_state_dict(fitting, strict=False)
    return Transfer(
        [name for name in target if name in fitting],
        [name for name in target if name not in fitting],
        [name for name in source if name not in fitting],
    )


def _summary(names: list[str]) -> str:
    """Name the modules that tensors belong to, each once: embed, encoder.layers.0, ..."""
    modules = []
    for name in names:
        parts = name.split(".")
        depth = 3 if parts[0] == "encoder" else max(1, len(parts) - 1)
        modules.append(".".join(parts[:depth]))
    return ", ".join(dict.fromkeys(modules)) or "none"
