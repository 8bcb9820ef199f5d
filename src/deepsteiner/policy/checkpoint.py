"""Models on disk: a folder with the weights, a description that says how to build them, and a card.

    weights.safetensors   the tensors, nothing else; never a pickle
    config.json           format version, network, candidates, training command, commit, seed, ...
    card.md               for people: data, metrics, limits

Shipped models are such folders inside the package, with 16-bit weights. Loading is strict: every
tensor of the network must be there, with its shape, and no other.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any, TypeVar

import torch
from safetensors import SafetensorError
from safetensors.torch import load as load_tensors
from safetensors.torch import save as save_tensors
from torch import nn

from ..core.errors import FormatError, InputError
from ..core.models import CARD, DESCRIPTIONS, WEIGHTS, ModelFiles, read_model
from ..io.atomic import atomic_write
from .network import Policy
from .settings import CandidateSpec, NetworkConfig

FORMAT = 1
CONFIG = DESCRIPTIONS["policy"]

Section = TypeVar("Section", NetworkConfig, CandidateSpec)


def save(
    folder: str | os.PathLike[str],
    policy: Policy,
    spec: CandidateSpec,
    meta: Mapping[str, Any],
    *,
    card: str = "",
    half: bool = False,
) -> Path:
    """Write a policy and the candidates it chooses among; `half` stores 16-bit weights.

    `meta` goes into the description as it is. Return the folder.
    """
    description = {**meta, "network": asdict(policy.config), "candidates": asdict(spec)}
    return write_folder(Path(folder), policy, description, card, half=half)


def write_folder(
    folder: Path, model: nn.Module, facts: Mapping[str, Any], card: str, *, half: bool = False
) -> Path:
    """Write the folder of any model; each of its files appears whole or not at all."""
    folder.mkdir(parents=True, exist_ok=True)
    tensors = {
        name: (value.half() if half and value.is_floating_point() else value).cpu().contiguous()
        for name, value in model.state_dict().items()
    }
    description = json.dumps({**facts, "format": FORMAT}, indent=2) + "\n"
    contents = {
        WEIGHTS: save_tensors(tensors),
        CONFIG: description.encode(),
        CARD: card.encode(),
    }
    for name, content in contents.items():
        with atomic_write(folder / name, "wb") as stream:
            stream.write(content)
    return folder


def load(
    model: str | os.PathLike[str], device: str | torch.device = "cpu"
) -> tuple[Policy, dict[str, Any]]:
    """Return (policy in eval mode, description) of a shipped name or a folder.

    Whatever is wrong with it is said in one sentence.
    """
    return build(read_model(model, "policy"), device)


def build(files: ModelFiles, device: str | torch.device) -> tuple[Policy, dict[str, Any]]:
    """Return (policy in eval mode, description) from the files of a model."""
    folder = files.folder
    meta = _description(files)
    config = _section(NetworkConfig, meta.get("network"), "network", folder)
    _section(CandidateSpec, meta.get("candidates"), "candidates", folder)
    tensors = read_tensors(files)
    policy = Policy(config)
    _check_tensors(policy, tensors, folder)
    kept = policy.state_dict()
    policy.load_state_dict({name: value.to(kept[name].dtype) for name, value in tensors.items()})
    policy = policy.eval().to(device)
    if next(policy.parameters()).device.type == "cpu":
        _store_transposed(policy)
    return policy, meta


def _store_transposed(policy: Policy) -> None:
    """Lay the matrices out in the order in which a product reads them: same bits, less time."""
    for module in policy.modules():
        if isinstance(module, nn.Linear):
            module.weight.data = module.weight.data.t().contiguous().t()


def candidate_spec(meta: Mapping[str, Any]) -> CandidateSpec:
    """Return the candidates that a loaded model was trained to choose among."""
    return CandidateSpec(**meta["candidates"])


def _description(files: ModelFiles) -> dict[str, Any]:
    """Return the description of a model, its format checked."""
    folder = files.folder
    try:
        meta = json.loads(files.description)
    except (ValueError, RecursionError):
        raise FormatError(f"{folder / CONFIG} is not readable JSON") from None
    version = meta.get("format") if isinstance(meta, dict) else None
    if isinstance(version, bool) or not isinstance(version, int) or version < 1:
        raise FormatError(f"{folder / CONFIG} does not describe a model: it names no format")
    if version > FORMAT:
        raise FormatError(
            f"model {folder.name!r} has format {version}; this version of deepsteiner reads "
            f"formats up to {FORMAT}, so a newer one is needed"
        )
    return dict(meta)


def _section(kind: type[Section], values: Any, name: str, folder: Path) -> Section:
    """Build one part of the description, refusing unknown fields and bad values."""
    if not isinstance(values, Mapping):
        raise FormatError(f"{folder / CONFIG} has no section {name!r}")
    known = {field.name for field in fields(kind)}
    unknown = sorted(set(values) - known)
    if unknown:
        raise FormatError(
            f"{folder / CONFIG}: section {name!r} has no field {unknown[0]!r}; its fields are "
            f"{', '.join(sorted(known))}"
        )
    try:
        return kind(**values)
    except InputError as error:
        raise FormatError(f"{folder / CONFIG}: {error}") from None


def read_tensors(files: ModelFiles) -> dict[str, torch.Tensor]:
    """Return the weights of a model, whatever its network is; pickles are refused."""
    path, content = files.folder / WEIGHTS, files.weights
    if content[:2] in (b"PK", b"\x80\x02", b"\x80\x03", b"\x80\x04", b"\x80\x05"):
        raise FormatError(f"{path} is a pickle, not a safetensors file; it is not loaded")
    try:
        return load_tensors(content)
    except (SafetensorError, ValueError, KeyError):
        raise FormatError(
            f"{path} is damaged or cut off: it is no complete safetensors file"
        ) from None


def _check_tensors(policy: Policy, tensors: Mapping[str, torch.Tensor], folder: Path) -> None:
    expected = policy.state_dict()
    problems = [
        *(f"{name} is missing" for name in expected if name not in tensors),
        *(f"{name} is not part of the network" for name in tensors if name not in expected),
        *(
            f"{name} has shape {tuple(value.shape)} instead of {tuple(expected[name].shape)}"
            for name, value in tensors.items()
            if name in expected and value.shape != expected[name].shape
        ),
        *(
            f"{name} holds values that are not finite"
            for name, value in tensors.items()
            if value.is_floating_point() and not bool(value.isfinite().all())
        ),
    ]
    if problems:
        more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
        raise FormatError(
            f"model {folder.name!r}: the weights do not fit the network that {CONFIG} describes: "
            f"{problems[0]}{more}"
        )
