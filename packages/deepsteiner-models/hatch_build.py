"""The models of the checkout that the wheel of deepsteiner leaves out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

MODELS = Path(__file__).resolve().parents[2] / "src" / "deepsteiner" / "models"
SMALL_MODELS = {"neural"}


class Contents(BuildHookInterface):  # type: ignore[type-arg,misc]
    """Adds the folders of the models."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add every model but those that come with deepsteiner itself."""
        for path in sorted(MODELS.iterdir()):
            if path.is_dir() and path.name not in SMALL_MODELS:
                build_data["force_include"][str(path)] = f"deepsteiner_models/{path.name}"
