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
from ..core.models import DESCRIPTIONS, WEIGHTS, fitting_models, shipped_folder

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
    def sees_coordinates(self) -> bool:
        """Whether symmetric images of an instance are news to its network."""
        return self.facts.get("network") != "relative"

    @property
    def is_distilled(self) -> bool:
        """Whether it was taught by the lookahead, and not after the paper's recipe."""
        return self.facts.get("objective") == "distill"


def shipped_policies() -> list[Model]:
    """Return the policies of the package, by name."""
    return [describe_model(name) for name in fitting_models("policy")]


def policies_in(folder: str | os.PathLike[str]) -> list[Model]:
    """Return the policies in the sub-folders of a folder of runs."""
    path = Path(folder)
    if not path.is_dir():
        raise FormatError(f"{path} is not a folder of trained models")
    inner = list(path.glob(f"*/model/{CONFIG}"))
    runs = {config.parent.parent for config in inner}  # a run's own file describes no model
    configs = inner + [one for one in path.glob(f"*/{CONFIG}") if one.parent not in runs]
    models = [describe_model(str(config.parent)) for config in sorted(configs)]
    # Other models, such as the tour model, choose no Steiner points.
    found = [one for one in models if "candidates" in one.facts and not one.name.endswith(BEGUN)]
    if not found:
        raise FormatError(f"{path} holds no trained models: expected NAME/{CONFIG}")
    return found


def describe_model(argument: str) -> Model:
    """Return the model that the option `model` of a policy names; unknown ones have no facts."""
    if argument in fitting_models("policy"):
        return Model(argument, argument, _facts(shipped_folder(argument) / CONFIG))
    folder = Path(argument).resolve()
    name = folder.parent.name if folder.name == "model" else folder.name
    config = folder / CONFIG
    return Model(name, argument, _facts(config) if config.is_file() else {})


def _facts(config: Path) -> dict[str, Any]:
    """Return what tables show of a training: candidates, data, objective, effort."""
    try:
        meta = json.loads(config.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        raise FormatError(f"{config} is not readable JSON") from None
    if not isinstance(meta, dict) or not isinstance(meta.get("candidates"), dict):
        return {}
    train, data, reinforce = (
        _table(_table(meta, "config"), name) for name in ("train", "data", "reinforce")
    )
    # The weights tell apart the results of a model and of the same one trained again.
    weights = config.with_name(WEIGHTS)
    digest = blake2b(weights.read_bytes(), digest_size=6) if weights.is_file() else None
    facts: dict[str, Any] = {
        "candidates": meta["candidates"],
        "data": data.get("name"),
        "objective": train.get("objective"),
        "criterion": train.get("criterion") if train.get("objective") != "distill" else None,
        "steps": meta.get("step"),
        "batch": train.get("batch"),
        "minutes": round(meta["elapsed"] / 60, 1) if meta.get("elapsed") else None,
        "trained_on": meta.get("device"),
        "weights": digest.hexdigest() if digest else None,
        "expectation": reinforce.get("expectation") or None,
        "start": train.get("start"),
        "instances_before": meta.get("instances_before"),
        "kept_epoch": meta.get("kept_epoch"),
    }
    if (network := _table(meta, "network").get("kind", "attention")) != "attention":
        facts["network"] = network
    if facts["steps"] and facts["batch"]:
        facts["instances_seen"] = facts["steps"] * facts["batch"]
        if data.get("instances"):
            facts["epochs"] = round(facts["instances_seen"] / data["instances"], 1)
    return {key: value for key, value in facts.items() if value is not None}


def _table(values: dict[str, Any], name: str) -> dict[str, Any]:
    found = values.get(name)
    return found if isinstance(found, dict) else {}
