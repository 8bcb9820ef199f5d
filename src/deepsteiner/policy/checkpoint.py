"""Policies on disk, in the folders of `io.model_folders`.

Shipped models are such folders inside the package, with 16-bit weights. Loading is strict: every
tensor of the network must be there, with its shape, and no other.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any, TypeVar

import torch
from safetensors.torch import load as load_tensors
from safetensors.torch import save as save_tensors
from torch import nn

from ..core.errors import FormatError, InputError, OptionError
from ..core.models import CARD, DESCRIPTIONS, ModelFiles, read_model
from ..io.atomic import atomic_write
from ..io.model_folders import check_tensors, read_description, read_tensors, write_model
from .cards import hub_card
from .kit.registries import CANDIDATE_SETS, DECODERS, NETWORKS, Registry
from .network import Network, build_network
from .settings import CandidateSpec, NetworkConfig

Section = TypeVar("Section", NetworkConfig, CandidateSpec)
# What a section names that somebody may have registered.
PARTS: dict[type, dict[str, Registry]] = {
    NetworkConfig: {"kind": NETWORKS, "decoder": DECODERS},
    CandidateSpec: {"kind": CANDIDATE_SETS},
}


def save(
    folder: str | os.PathLike[str],
    policy: Network,
    spec: CandidateSpec,
    meta: Mapping[str, Any],
    *,
    card: str = "",
    half: bool = False,
) -> Path:
    """Write a policy and the candidates it chooses among.

    Parameters
    ----------
    folder : path
        Where to write; it is made if it does not exist.
    policy : Network
        The network.
    spec : CandidateSpec
        The candidates it was trained to choose among.
    meta : mapping
        What else the description says; JSON-able.
    card : str
        The text of the card.
    half : bool
        Store 16-bit weights.

    Returns
    -------
    Path
        The folder.

    Examples
    --------
    >>> import tempfile
    >>> policy = build_network(NetworkConfig(layers=1, dim=8, heads=2, ff=8))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = save(folder, policy, CandidateSpec("knn"), {"seed": 3})
    ...     again, meta = load(folder)
    >>> meta["seed"], candidate_spec(meta).kind, torch.equal(again.embed.bias, policy.embed.bias)
    (3, 'knn', True)
    """
    facts = {**meta, "network": asdict(policy.config), "candidates": asdict(spec)}
    write_model(Path(folder), "policy", tensor_bytes(policy, half=half), facts, card)
    return Path(folder)


def tensor_bytes(model: nn.Module, *, half: bool = False) -> bytes:
    """Return the tensors of any network in the format of safetensors, in 16 bits if `half`."""
    tensors = {
        name: (value.half() if half and value.is_floating_point() else value).cpu().contiguous()
        for name, value in model.state_dict().items()
    }
    return save_tensors(tensors)


def load(
    model: str | os.PathLike[str], device: str | torch.device = "cpu"
) -> tuple[Network, dict[str, Any]]:
    """Return (policy in eval mode, description) of a shipped name or a folder.

    Raises
    ------
    FormatError
        If there is no such model, or its files are damaged or do not fit each other.
    """
    return build(read_model(model, "policy"), device)


def write_for_hub(model: str | os.PathLike[str], folder: str | os.PathLike[str]) -> Path:
    """Write a policy as the Hugging Face hub keeps models: its card is README.md, facts in front.

    Raises
    ------
    FormatError
        If there is no such model.
    OptionError
        If there is something at that place already.
    """
    files, target = read_model(model, "policy"), Path(folder)
    meta = read_description(files, "policy")
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise OptionError(f"{target} is not an empty folder: choose another one")
    card = files.folder / CARD
    text = card.read_text(encoding="utf-8") if card.is_file() else f"# {target.name}\n"
    write_model(target, "policy", files.weights, meta, text)
    with atomic_write(target / "README.md") as stream:
        stream.write(hub_card(target.name, meta, text))
    return target


def build(files: ModelFiles, device: str | torch.device) -> tuple[Network, dict[str, Any]]:
    """Return (policy in eval mode, description) from the files of a model."""
    meta = read_description(files, "policy")
    config = _section(NetworkConfig, meta, "network", files)
    _section(CandidateSpec, meta, "candidates", files)
    policy = build_network(config)
    tensors = read_tensors(files, load_tensors)
    shapes = {name: tuple(value.shape) for name, value in policy.state_dict().items()}
    check_tensors(files, "policy", tensors, shapes)
    policy.load_state_dict(tensors)  # which converts 16-bit weights
    policy = policy.eval().to(device)
    if next(policy.parameters()).device.type == "cpu":
        _store_transposed(policy)
    return policy, meta


def _store_transposed(policy: Network) -> None:
    """Lay the matrices out in the order in which a product reads them: same bits, less time."""
    for module in policy.modules():
        if isinstance(module, nn.Linear):
            module.weight.data = module.weight.data.t().contiguous().t()


def candidate_spec(meta: Mapping[str, Any]) -> CandidateSpec:
    """Return the candidates that a loaded model was trained to choose among."""
    return CandidateSpec(**meta["candidates"])


def _section(kind: type[Section], meta: Mapping[str, Any], name: str, files: ModelFiles) -> Section:
    """Build one part of the description, refusing unknown fields and bad values."""
    path, values = files.folder / DESCRIPTIONS["policy"], meta.get(name)
    if not isinstance(values, Mapping):
        raise FormatError(f"{path} has no section {name!r}")
    known = {field.name for field in fields(kind)}
    unknown = sorted(set(values) - known)
    if unknown:
        raise FormatError(
            f"{path}: section {name!r} has no field {unknown[0]!r}; its fields are "
            f"{', '.join(sorted(known))}"
        )
    try:
        return kind(**values)
    except InputError as error:
        own = any(
            values.get(key, next(iter(part))) not in part for key, part in PARTS[kind].items()
        )
        way = "import its file, or name it with --plugin"
        hint = f"; a part of your own must be registered first: {way}" if own else ""
        raise FormatError(f"{path}: {error}{hint}") from None
