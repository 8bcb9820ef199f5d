"""Folders of tour models: `weights.safetensors`, `config.json` and `card.md`; no pickle."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load, save
from torch import Tensor

from ...core.errors import FormatError
from ...io.atomic import atomic_write
from ..network import NetworkConfig
from .network import TourModel

FORMAT = 1
KIND = "tour"


def save_tour_model(folder: Path, model: TourModel, facts: dict[str, Any]) -> None:
    """Write a tour model with what is known about its training."""
    folder.mkdir(parents=True, exist_ok=True)
    weights = {
        name: value.detach().cpu().contiguous() for name, value in model.state_dict().items()
    }
    settings = {
        "format": FORMAT,
        "kind": KIND,
        "network": asdict(model.config),
        "clip": model.decoder.clip,
        "training": facts,
    }
    with atomic_write(folder / "weights.safetensors", "wb") as stream:
        stream.write(save(weights))
    with atomic_write(folder / "config.json") as stream:
        json.dump(settings, stream, indent=1)
    with atomic_write(folder / "card.md") as stream:
        stream.write(_card(model, facts))


def load_tour_model(folder: Path) -> TourModel:
    """Read a tour model."""
    settings = read_settings(folder)
    if settings.get("kind") != KIND or settings.get("format") != FORMAT:
        raise FormatError(f"{folder} holds no tour model of format {FORMAT}")
    model = TourModel(NetworkConfig(**settings["network"]), settings["clip"])
    try:
        model.load_state_dict(read_weights(folder), strict=True)
    except RuntimeError as error:
        raise FormatError(f"{folder}: the weights do not fit config.json") from error
    return model.eval()


def read_settings(folder: Path) -> dict[str, Any]:
    """Return the content of a model folder's config.json."""
    path = folder / "config.json"
    if not path.is_file():
        raise FormatError(f"{folder} is no model folder: it has no config.json")
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise FormatError(f"{path} is not JSON: {error}") from error
    if not isinstance(content, dict):
        raise FormatError(f"{path} must hold an object")
    return content


def read_weights(folder: Path) -> dict[str, Tensor]:
    """Return the tensors of a model folder, at full precision."""
    path = folder / "weights.safetensors"
    try:
        tensors: dict[str, Tensor] = load(path.read_bytes())
    except FileNotFoundError as error:
        raise FormatError(f"{folder} is no model folder: it has no {path.name}") from error
    except SafetensorError as error:
        raise FormatError(f"{path} is damaged: {error}") from error
    return {
        name: value.to(torch.float32) if value.is_floating_point() else value
        for name, value in tensors.items()
    }


def _card(model: TourModel, facts: dict[str, Any]) -> str:
    results = facts.get("results", {})
    lines = [f"- {name}: {value:.6g}" for name, value in results.items()]
    return "\n".join(
        [
            "# A tour model to start policies from",
            "",
            f"An attention model for tours with {model.config.layers} encoder layers, trained "
            "with REINFORCE and a greedy rollout baseline on uniform random points.",
            "It finds tours, not Steiner trees; a policy takes over its embedding and encoder.",
            "",
            *lines,
            "",
            f"Trained with `{facts.get('command', 'unknown')}`, {facts.get('step', 0)} steps, "
            f"{facts.get('elapsed', 0.0) / 60:.1f} minutes.",
            "",
        ]
    )
