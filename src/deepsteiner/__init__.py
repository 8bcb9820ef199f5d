"""deepsteiner: shortest networks between points on a plane.

`solve(points)` returns a validated `Solution`; `methods()` lists the ways to get there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from . import datasets, errors
    from .api import solve
    from .batch import solve_many
    from .core.errors import DeepSteinerError
    from .core.solution import Solution
    from .core.solutions import Solutions
    from .io import load_instances, load_points, save_points
    from .refinement import refine
    from .registry import methods
    from .run.monitor import Progress

# Resolved on first use, so that importing the package costs nothing.
_LAZY = {
    "DeepSteinerError": "core.errors",
    "Progress": "run.monitor",
    "Solution": "core.solution",
    "Solutions": "core.solutions",
    "load_instances": "io",
    "load_points": "io",
    "methods": "registry",
    "refine": "refinement",
    "save_points": "io",
    "solve": "api",
    "solve_many": "batch",
}
_MODULES = ("datasets", "errors")

__all__ = [
    "DeepSteinerError",
    "Progress",
    "Solution",
    "Solutions",
    "datasets",
    "errors",
    "load_instances",
    "load_points",
    "methods",
    "refine",
    "save_points",
    "solve",
    "solve_many",
]


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
