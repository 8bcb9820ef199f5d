"""What goes into the wheel besides the sources: every model, or instead the prebuilt kernels.

`pip install .` gives a wheel for every platform, with all models in it. `make wheel` sets
DEEPSTEINER_KERNELS to the folder of kernels that it has compiled: that wheel is for one Python and
one kind of machine, and leaves the large models to a package of their own.
"""

from __future__ import annotations

import os
import sys
import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

KERNELS = "DEEPSTEINER_KERNELS"
MODELS = Path("src", "deepsteiner", "models")
SMALL_MODELS = {"neural"}  # which are in every wheel
MODELS_PACKAGE = "deepsteiner-models>=0.2; extra == 'learn'"


class Contents(BuildHookInterface):  # type: ignore[type-arg,misc]
    """Decides what the wheel holds."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add to the wheel; an editable one only points to the checkout."""
        if self.target_name != "wheel" or version == "editable":
            return
        root = Path(self.root)
        kernels = os.environ.get(KERNELS)
        added = build_data["force_include"]
        for path in sorted((root / MODELS).iterdir()):
            if path.is_dir() and (not kernels or path.name in SMALL_MODELS):
                added[str(path)] = f"deepsteiner/models/{path.name}"
        if not kernels:
            return
        for path in sorted(Path(kernels).glob("*.kernels")):
            added[str(path)] = f"deepsteiner/prebuilt/{path.name}"
        build_data["dependencies"].append(MODELS_PACKAGE)
        python = f"cp{sys.version_info.major}{sys.version_info.minor}"
        build_data["pure_python"] = False
        build_data["tag"] = f"{python}-{python}-{platform_tag()}"


def platform_tag() -> str:
    """Return the platform of the wheel, in pip's words.

    Kernels refer to no library but numba, and one that does not fit is compiled: any system of the
    kind may have the wheel.
    """
    name = sysconfig.get_platform().replace("-", "_").replace(".", "_")
    return name.replace("linux_", "manylinux_2_17_", 1) if name.startswith("linux_") else name
