"""Where a training run stands, in one file that is replaced as a whole.

`training.safetensors` holds the tensors of the objective (network, baseline, counters) and of
Adam; its header holds step, elapsed seconds and results as JSON. No pickle.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor, nn
from torch.optim import Optimizer

from ...core.errors import FormatError
from ...io.atomic import atomic_write

NAME = "training.safetensors"
FORMAT = 1


def save_state(
    folder: Path, objective: nn.Module, optimizer: Optimizer, facts: dict[str, Any]
) -> None:
    """Write everything a run needs to go on exactly where it is."""
    tensors = {f"objective.{name}": value for name, value in objective.state_dict().items()}
    for index, values in optimizer.state_dict()["state"].items():
        tensors |= {f"adam.{index}.{name}": value for name, value in values.items()}
    plain = {name: value.detach().cpu().contiguous().clone() for name, value in tensors.items()}
    content = save(plain, metadata={"format": str(FORMAT), "facts": json.dumps(facts)})
    with atomic_write(folder / NAME, "wb", sync=True) as stream:
        stream.write(content)


def load_state(folder: Path, objective: nn.Module, optimizer: Optimizer) -> dict[str, Any]:
    """Put a saved run into a fresh objective and optimizer; return the facts saved with it."""
    tensors, header = _read(folder / NAME)
    if header.get("format") != str(FORMAT):
        raise FormatError(
            f"{folder / NAME} has format {header.get('format')}, this version reads {FORMAT}"
        )
    parts: dict[str, dict[str, Tensor]] = {"objective": {}, "adam": {}}
    for name, value in tensors.items():
        part, _, rest = name.partition(".")
        parts[part][rest] = value
    try:
        objective.load_state_dict(parts["objective"], strict=True)
    except RuntimeError as error:
        raise FormatError(f"{folder / NAME} was written by another configuration") from error
    state: dict[int, dict[str, Tensor]] = {}
    for name, value in parts["adam"].items():
        index, _, key = name.partition(".")
        state.setdefault(int(index), {})[key] = value
    optimizer.load_state_dict({**optimizer.state_dict(), "state": state})
    facts: dict[str, Any] = json.loads(header["facts"])
    return facts


def _read(path: Path) -> tuple[dict[str, Tensor], dict[str, str]]:
    if not path.is_file():
        raise FormatError(f"there is nothing to resume: {path} does not exist")
    try:
        with safe_open(path, framework="pt") as stream:
            return {name: stream.get_tensor(name) for name in stream.keys()}, stream.metadata()  # noqa: SIM118
    except SafetensorError as error:
        raise FormatError(f"{path} is damaged: {error}") from error
