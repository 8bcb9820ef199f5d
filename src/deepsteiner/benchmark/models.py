"""Trained models to measure: those of the package and those in folders of runs.

Only descriptions are read here, so torch is not needed. A model is known by the name of its
folder, or of the run's folder where it lies in `<run>/model`.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any

from ..core.errors import FormatError
from ..core.models import DESCRIPTIONS, SHIPPED, WEIGHTS

CONFIG = DESCRIPTIONS["policy"]
# The earlier part of a training that went on under the name without it; not measured itself.
BEGUN = "-begun"


@dataclass(frozen=True)
class Model:
    """A policy: its name, what to give to the method as `model`, and the facts of its training."""

    name: str
    argument: str
    facts: dict[str, Any]

    @property
    def kind(self) -> str:
        """The kind of its candidates."""
        return str(self.facts["candidates"]["kind"])

    @property
    def is_distilled(self) -> bool:
        """Whether it was taught by the lookahead, and not after the paper's recipe."""
        return self.facts.get("objective") == "distill"


def shipped_policies() -> list[Model]:
    """Return the policies of the package, by name."""
    return _policies(SHIPPED, shipped=True)


def policies_in(folder: str | os.PathLike[str]) -> list[Model]:
    """Return the policies in the sub-folders of a folder of runs."""
    path = Path(folder)
    if not path.is_dir():
        raise FormatError(f"{path} is no folder of trained models")
    found = _policies(path, shipped=False)
    if not found:
        raise FormatError(f"{path} holds no trained models: expected NAME/{CONFIG}")
    return found


def describe_model(argument: str) -> Model:
    """Return the model that the option `model` of a policy names; unknown ones have no facts."""
    shipped = SHIPPED / argument / CONFIG
    if argument == Path(argument).name and shipped.is_file():
        return Model(argument, argument, _facts(shipped))
    path = Path(argument)
    config = path / CONFIG
    return Model(_name(path), argument, _facts(config) if config.is_file() else {})


def _policies(folder: Path, *, shipped: bool) -> list[Model]:
    inner = list(folder.glob(f"*/model/{CONFIG}"))
    runs = {config.parent.parent for config in inner}  # whose own file is no model's
    configs = inner + [path for path in folder.glob(f"*/{CONFIG}") if path.parent not in runs]
    models = []
    for config in sorted(configs):
        facts = _facts(config)
        name = _name(config.parent)
        # Others, as the tour model, choose no Steiner points.
        if "candidates" in facts and not name.endswith(BEGUN):
            models.append(Model(name, name if shipped else str(config.parent), facts))
    return models


def _name(folder: Path) -> str:
    resolved = folder.resolve()
    return resolved.parent.name if resolved.name == "model" else resolved.name


def _facts(config: Path) -> dict[str, Any]:
    """Return what tables show of a training: candidates, data, objective, effort."""
    try:
        meta = json.loads(config.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        raise FormatError(f"{config} is not readable JSON") from None
    if not isinstance(meta, dict) or not isinstance(meta.get("candidates"), dict):
        return {}
    config_of = meta.get("config")
    tables = config_of if isinstance(config_of, dict) else {}
    train, data, reinforce = (
        table if isinstance(table := tables.get(name), dict) else {}
        for name in ("train", "data", "reinforce")
    )
    weights = config.with_name(WEIGHTS)
    facts: dict[str, Any] = {
        "candidates": meta["candidates"],
        "data": data.get("name"),
        "objective": train.get("objective"),
        "criterion": train.get("criterion") if train.get("objective") != "distill" else None,
        "steps": meta.get("step"),
        "batch": train.get("batch"),
        "minutes": round(meta["elapsed"] / 60, 1) if meta.get("elapsed") else None,
        "trained_on": meta.get("device"),
        # Results of a model that was trained anew are told apart by its weights.
        "weights": blake2b(weights.read_bytes(), digest_size=6).hexdigest()
        if weights.is_file()
        else None,
        "expectation": reinforce.get("expectation") or None,
        "start": train.get("start"),
        "instances_before": meta.get("instances_before"),
        "kept_epoch": meta.get("kept_epoch"),
    }
    if facts["steps"] and facts["batch"]:
        facts["instances_seen"] = facts["steps"] * facts["batch"]
        if data.get("instances"):
            facts["epochs"] = round(facts["instances_seen"] / data["instances"], 1)
    return {key: value for key, value in facts.items() if value is not None}
