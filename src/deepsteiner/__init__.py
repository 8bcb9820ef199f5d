"""deepsteiner: shortest networks between points on a plane.

`solve(points)` returns a validated `Solution`; `methods()` lists the ways to get there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.2.0"

if TYPE_CHECKING:
    from . import datasets as datasets
    from . import errors as errors
    from .api import solve as solve
    from .batch import solve_many as solve_many
    from .core.errors import DeepSteinerError as DeepSteinerError
    from .core.solution import Solution as Solution
    from .core.solutions import Solutions as Solutions
    from .fleet.stream import solve_stream as solve_stream
    from .io import load_instances as load_instances
    from .io import load_points as load_points
    from .io import save_points as save_points
    from .refinement import refine as refine
    from .registry import methods as methods
    from .relays.network import RelayNetwork as RelayNetwork
    from .relays.place import place_relays as place_relays
    from .run.monitor import Progress as Progress

# Resolved on first use, so that importing the package costs nothing.
_LAZY = {
    "DeepSteinerError": "core.errors",
    "Progress": "run.monitor",
    "RelayNetwork": "relays.network",
    "Solution": "core.solution",
    "Solutions": "core.solutions",
    "load_instances": "io",
    "load_points": "io",
    "methods": "registry",
    "place_relays": "relays.place",
    "refine": "refinement",
    "save_points": "io",
    "solve": "api",
    "solve_many": "batch",
    "solve_stream": "fleet.stream",
}
_MODULES = ("datasets", "errors")

__all__ = sorted([*_LAZY, *_MODULES])


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name in _MODULES:
        return import_module(f".{name}", __name__)
    if name not in _LAZY:
        raise AttributeError(f"module 'deepsteiner' has no attribute {name!r}")
    value = getattr(import_module(f".{_LAZY[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    # Not what is in the namespace: that grows by every module that is imported on the way.
    return [*__all__, "__version__"]
