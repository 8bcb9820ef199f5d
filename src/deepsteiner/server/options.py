"""Which methods and options a request may name: none that reads or writes files here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ..core.errors import OptionError
from ..core.options import OptionInfo
from ..registry import get_method, methods

# Paths on the server, threads of its cores, and what has a field of its own in the request.
CLOSED = ("save_fsts", "load_fsts", "threads", "start")
MODELS = Path(__file__).resolve().parents[1] / "models"


def open_options(method: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return a request's options, or say which of them it may not set."""
    for name, value in options.items():
        if name in CLOSED:
            raise OptionError(f"option {name!r} of method {method!r} cannot be set by a request")
        if name == "model" and value not in shipped_models():
            names = ", ".join(shipped_models())
            raise OptionError(f"model must be one that is shipped ({names}), got {value!r}")
    return dict(options)


def takes_start(method: str) -> bool:
    """Return whether a method can begin from a tree."""
    return any(info.name == "start" for info in get_method(method, {}).info.options)


@cache
def shipped_models() -> tuple[str, ...]:
    """Return the names of the models that come with the package (without loading torch)."""
    return tuple(sorted(config.parent.name for config in MODELS.glob("*/config.json")))


def describe_methods() -> list[dict[str, Any]]:
    """Return every method with the options that requests may set."""
    return [
        {
            "name": info.name,
            "summary": info.summary,
            "guarantee": info.guarantee,
            "needs": list(info.needs),
            "available": all(find_spec(name) is not None for name in info.needs),
            "strict": info.strict,
            "random": info.random,
            "takes_start": takes_start(info.name),
            "options": [_describe(one) for one in info.options if one.name not in CLOSED],
        }
        for info in methods().values()
    ]


def _describe(info: OptionInfo) -> dict[str, Any]:
    described = {key: value for key, value in asdict(info).items() if value is not None}
    if info.name == "model":
        described["choices"] = shipped_models()
    return {"default": None, **described}
